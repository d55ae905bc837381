/**
 * Makes the configurations that tell an API server to call webhooks, from the registrations.
 * admissionregistration.k8s.io/v1 MutatingWebhookConfiguration, ValidatingWebhookConfiguration.
 */
import { CapstanError, invalid, requireFunction, requireString } from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';
import { defineResource, type Resource } from '../base/resource.ts';
import type { ObjectMeta } from '../client/metadata.ts';
import type { WebhookClientConfig, WebhookOptions } from '../manager/webhook-server.ts';
import { RecordedWebhooks } from './recorded.ts';
import type { WebhookRegistration } from './registration.ts';

/** A webhook configuration, as plain data for `kubectl apply` or a client. */
export interface WebhookConfiguration {
  apiVersion: 'admissionregistration.k8s.io/v1';
  kind: 'MutatingWebhookConfiguration' | 'ValidatingWebhookConfiguration';
  metadata: ObjectMeta;
  webhooks: ({ name: string; clientConfig: object } & Readonly<Record<string, unknown>>)[];
}

/** Options of {@link webhookConfigurations}. */
export interface WebhookConfigurationsOptions {
  /** The name of the configurations. Each program needs its own. */
  readonly name: string;
  /** How the API server reaches the webhooks. */
  readonly clientConfig: WebhookClientConfig;
  /** The certificates, as PEM text, of the authorities that the API server trusts. */
  readonly caBundle?: string | undefined;
}

const NAMES = namesOf<WebhookConfigurationsOptions>()({
  name: 1,
  clientConfig: namesOf<WebhookClientConfig>()({
    service: namesOf<NonNullable<WebhookClientConfig['service']>>()({
      namespace: 1,
      name: 1,
      port: 1,
    }),
    url: 1,
  }),
  caBundle: 1,
});

const KINDS = {
  mutating: 'MutatingWebhookConfiguration',
  validating: 'ValidatingWebhookConfiguration',
} as const;

const resourceOf = (kind: string, plural: string): Resource<WebhookConfiguration> =>
  defineResource<WebhookConfiguration>()({
    group: 'admissionregistration.k8s.io',
    version: 'v1',
    kind,
    plural,
    namespaced: false,
  });

/** The resources of the configurations. */
export const CONFIGURATION_RESOURCES: Readonly<
  Record<WebhookRegistration['type'], Resource<WebhookConfiguration>>
> = {
  mutating: resourceOf(KINDS.mutating, 'mutatingwebhookconfigurations'),
  validating: resourceOf(KINDS.validating, 'validatingwebhookconfigurations'),
};

/**
 * The configurations of the webhooks that `setup` registers. `setup` gets an object in place of a
 * manager; nothing is served. `capstan webhooks` prints the configurations.
 *
 * @throws CapstanError INVALID_ARGUMENT, also if no webhook is registered
 * @example
 * const setupWebhooks = (manager: object) =>
 *   newWebhookManagedBy(manager).for(Website).withDefaulter(() => undefined).complete();
 * const configurations = webhookConfigurations(setupWebhooks, {
 *   name: 'website',
 *   clientConfig: { service: { namespace: 'default', name: 'website-webhook' } },
 * });
 */
export function webhookConfigurations(
  setup: (manager: object) => void,
  options: WebhookConfigurationsOptions,
): WebhookConfiguration[] {
  requireFunction('setup', setup);
  requireNames('options', options, 'option of webhookConfigurations()', NAMES);
  requireString('options.name', options.name);
  const { service, url } = options.clientConfig ?? {};
  if ((service === undefined) === (url === undefined))
    throw invalid('options.clientConfig', 'either service or url', options.clientConfig);
  const recorded = new RecordedWebhooks();
  setup(recorded);
  if (recorded.registrations.length === 0)
    throw new CapstanError(
      'INVALID_ARGUMENT',
      recorded.conversions.size === 0
        ? 'setup expected to register a webhook, got none'
        : 'setup expected to register a defaulter or a validator, got only conversions: use ' +
            'conversionDefinitions() for these',
    );
  return configurationsOf(recorded.registrations, options);
}

/** The configurations with at least one webhook, the mutating one first. */
export function configurationsOf(
  registrations: readonly WebhookRegistration[],
  options: WebhookConfigurationsOptions,
): WebhookConfiguration[] {
  return (['mutating', 'validating'] as const).flatMap((type) => {
    const webhooks = registrations
      .filter((registration) => registration.type === type)
      .map((registration) => webhookOf(registration, options));
    return webhooks.length === 0 ? [] : [configurationOf(type, options.name, webhooks)];
  });
}

export const configurationOf = (
  type: WebhookRegistration['type'],
  name: string,
  webhooks: WebhookConfiguration['webhooks'],
): WebhookConfiguration => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: KINDS[type],
  metadata: { name },
  webhooks,
});

function webhookOf(
  {
    type,
    name,
    path,
    resource,
    subResource,
    operations,
    timeoutSeconds,
    options,
  }: WebhookRegistration,
  given: WebhookConfigurationsOptions,
): WebhookConfiguration['webhooks'][number] {
  const { group, version, plural, namespaced } = resource;
  return {
    name,
    admissionReviewVersions: ['v1'],
    clientConfig: clientConfigOf(given, path),
    rules: [
      {
        apiGroups: [group],
        apiVersions: [version],
        resources: [subResource === '' ? plural : `${plural}/${subResource}`],
        operations: [...operations],
        scope: namespaced ? 'Namespaced' : 'Cluster',
      },
    ],
    failurePolicy: options.failurePolicy ?? 'Fail',
    sideEffects: options.sideEffects ?? 'None',
    timeoutSeconds,
    matchPolicy: options.matchPolicy ?? 'Equivalent',
    ...present({
      matchConditions: options.matchConditions,
      namespaceSelector: options.namespaceSelector,
      objectSelector: options.objectSelector,
    }),
    ...(type === 'mutating' ? { reinvocationPolicy: options.reinvocationPolicy ?? 'Never' } : {}),
  };
}

const present = (members: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));

/** The `clientConfig` of a webhook or a conversion at a path. */
export function clientConfigOf(
  { clientConfig, caBundle }: Pick<WebhookConfigurationsOptions, 'clientConfig' | 'caBundle'>,
  path: string,
): object {
  const { service, url } = clientConfig;
  return {
    ...(service === undefined
      ? { url: `${url?.replace(/\/+$/, '')}${path}` }
      : { service: { ...present(service), path } }),
    ...(caBundle === undefined ? {} : { caBundle: Buffer.from(caBundle).toString('base64') }),
  };
}

/**
 * How the API server reaches the webhook server of a manager, and the name of the configurations.
 * Throws CapstanError INVALID_ARGUMENT without `clientConfig` and without the name of a Service.
 */
export function reachOf(
  options: WebhookOptions,
): Pick<WebhookConfigurationsOptions, 'name' | 'clientConfig'> {
  const { selfManaged, clientConfig, configurationName } = options;
  const name = configurationName ?? selfManaged?.secretName ?? 'capstan';
  if (clientConfig !== undefined) return { name, clientConfig };
  for (const host of selfManaged?.dnsNames ?? []) {
    const [, service, namespace] = /^([a-z0-9-]+)\.([a-z0-9-]+)\.svc(?:\.|$)/.exec(host) ?? [];
    if (service !== undefined && namespace !== undefined)
      return { name, clientConfig: { service: { namespace, name: service } } };
  }
  throw new CapstanError(
    'INVALID_ARGUMENT',
    'options.webhook.clientConfig expected { service: { namespace, name } } or { url }, got ' +
      'neither it nor a name such as "web.default.svc" in selfManaged.dnsNames',
  );
}
