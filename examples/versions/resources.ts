/**
 * A kind in two versions, and how objects of the old one become those of the new one and come back.
 * What the old version cannot say is kept in an annotation. `npx capstan crd` prints the
 * definition.
 */
import { defineCustomResource, type ObjectOf } from 'capstan/client';
import { type Conversion, conversionDefinitions, newWebhookManagedBy } from 'capstan/webhook';
import * as z from 'zod';

const named = { group: 'demo.capstan.dev', kind: 'Site', scope: 'Namespaced' } as const;

export const V1 = defineCustomResource({
  ...named,
  version: 'v1',
  spec: z.object({
    host: z.string().regex(/^[a-z.-]+$/),
    port: z.int().min(1).max(65535).optional(),
    replicas: z.int().min(0).default(1),
  }),
});

export const V1beta1 = defineCustomResource({
  ...named,
  version: 'v1beta1',
  deprecated: 'use v1',
  spec: z.object({ address: z.string().regex(/^[a-z.-]+(:[1-9]\d{0,3})?$/) }),
});

/** Has the spec of v1 as JSON, as far as v1beta1 cannot say it. */
const REST = 'demo.capstan.dev/v1';

export const fromBeta: Conversion<ObjectOf<typeof V1beta1>, ObjectOf<typeof V1>> = {
  version: 'v1beta1',
  toHub({ metadata, spec: { address } }) {
    const [host = '', port] = address.split(':');
    const { [REST]: kept, ...annotations } = metadata.annotations ?? {};
    const rest = kept === undefined ? { replicas: 1 } : JSON.parse(kept);
    const isEmpty = Object.keys(annotations).length === 0;
    return {
      metadata: { ...metadata, annotations: isEmpty ? undefined : annotations },
      spec: { ...rest, host, ...(port === undefined ? {} : { port: Number(port) }) },
    };
  },
  fromHub({ metadata, spec: { host, port, ...rest } }) {
    // A port of five digits has no place in an address of v1beta1.
    const isShort = port === undefined || port < 10_000;
    const kept = JSON.stringify(isShort ? rest : { ...rest, port });
    const annotations = { ...metadata.annotations, [REST]: kept };
    return {
      metadata: kept === '{"replicas":1}' ? metadata : { ...metadata, annotations },
      spec: { address: port === undefined || !isShort ? host : `${host}:${port}` },
    };
  },
};

/** For a manager with the option `webhook`, and for `conversionDefinitions`. */
export function setupWebhooks(manager: object): void {
  newWebhookManagedBy(manager).for(V1.resource).withConversion(fromBeta).complete();
}

export const definitions = conversionDefinitions(setupWebhooks, [V1, V1beta1], {
  clientConfig: { service: { namespace: 'default', name: 'site-webhook' } },
});
