/**
 * The webhooks of a kind: defaults, rules, and its schema. `capstan webhooks
 * examples/webhooks/webhooks.ts --service default/site-webhook` prints the configurations.
 */
import { defineCustomResource } from 'capstan/client';
import { AdmissionDenied, newWebhookManagedBy, schemaValidator } from 'capstan/webhook';
import * as z from 'zod';

export const Site = defineCustomResource({
  group: 'demo.capstan.dev',
  version: 'v1',
  kind: 'Site',
  scope: 'Namespaced',
  spec: z.object({
    host: z.string(),
    replicas: z.int().optional(),
    contact: z
      .string()
      .refine((text) => text.includes('@'), 'expected an address such as ops@example.com')
      .optional(),
  }),
});

export function setupWebhooks(manager: object): void {
  newWebhookManagedBy(manager)
    .for(Site.resource)
    .withDefaulter((site) => {
      site.spec.replicas ??= 1;
    })
    .withValidator({
      validateCreate(site, request) {
        if (!site.spec.host.includes('.')) request.warn('spec.host has no domain');
      },
      validateUpdate(old, now) {
        if (old.spec.host === now.spec.host) return;
        throw new AdmissionDenied('host is immutable', {
          causes: [{ field: 'spec.host', message: `was ${old.spec.host}` }],
        });
      },
      validateDelete(site) {
        if (site.metadata.labels?.keep === 'yes') throw new AdmissionDenied('it is to be kept');
      },
    })
    .complete();
  newWebhookManagedBy(manager)
    .for(Site.resource)
    .withValidator(schemaValidator(Site), {
      name: 'schema.site.demo.capstan.dev',
      path: '/schema-of-sites',
    })
    .complete();
}
