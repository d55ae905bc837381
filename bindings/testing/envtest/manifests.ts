/** Checks the objects that `startEnvtest` installs, and writes kubeconfigs. */
import { invalid } from '../../base/errors.ts';
import type { CustomResourceDefinition } from '../../client/crd/definition.ts';

/** A definition, or the definition in a result of defineCustomResource. */
export function definitionIn(value: object): CustomResourceDefinition {
  const { kind, crd } = value as { kind?: unknown; crd?: unknown };
  if (kind === 'CustomResourceDefinition') return value as CustomResourceDefinition;
  if (typeof crd === 'object' && crd !== null) return definitionIn(crd);
  throw invalid('crds[]', 'a CustomResourceDefinition, or a result of defineCustomResource', value);
}

const WEBHOOKS: Readonly<Record<string, string>> = {
  ValidatingWebhookConfiguration: 'validatingwebhookconfigurations',
  MutatingWebhookConfiguration: 'mutatingwebhookconfigurations',
};

/** A webhook configuration and its resource. */
export function webhookConfiguration(object: object) {
  const { kind = '', webhooks = [] } = object as {
    kind?: string;
    webhooks?: { name?: string; clientConfig?: { url?: string } }[];
  };
  const plural = Object.hasOwn(WEBHOOKS, kind) ? WEBHOOKS[kind] : undefined;
  if (plural === undefined)
    throw invalid('webhooks[].kind', Object.keys(WEBHOOKS).join(' or '), kind);
  for (const { clientConfig } of webhooks)
    if (typeof clientConfig?.url !== 'string')
      throw invalid(
        'webhooks[].clientConfig.url',
        'the address of the webhook, as Services do not work here',
        clientConfig?.url,
      );
  const group = { group: 'admissionregistration.k8s.io', version: 'v1', indexers: {} };
  return { object, resource: { ...group, kind, plural, namespaced: false } };
}

/**
 * A kubeconfig of one cluster and one user, as text: JSON, which is YAML.
 *
 * @param user the members of the user, such as `token`
 * @param authority the certificate, as PEM text, that signed the server's
 */
export function kubeconfigFor(
  url: string,
  name: string,
  user: object,
  authority?: string | undefined,
): string {
  const trust =
    authority === undefined
      ? {}
      : { 'certificate-authority-data': Buffer.from(authority).toString('base64') };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server: url, ...trust } }],
    users: [{ name, user }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: name } }],
    'current-context': 'test',
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}
