/**
 * Makes `spec.conversion` of CustomResourceDefinitions from registered conversions: for whole
 * definitions, or to apply it to definitions in a cluster.
 */
import { CapstanError, requireFunction } from '../base/errors.ts';
import { type CustomResourceDefinition, combineVersions, crdResource } from '../client/index.ts';
import type { ControllerManager } from '../manager/index.ts';
import { clientConfigOf, type WebhookConfigurationsOptions } from './configurations.ts';
import { CONVERT_PATH, type ConversionRegistration } from './conversion.ts';
import type { Installer } from './install.ts';
import { RecordedWebhooks } from './recorded.ts';

type Reach = Pick<WebhookConfigurationsOptions, 'clientConfig' | 'caBundle'>;

/**
 * The definitions of the kinds whose conversions `setup` registers. Each has all versions, the hub
 * as the storage version, and `spec.conversion`. `setup` gets an object in place of a manager;
 * nothing is served.
 *
 * @param versions results of `defineCustomResource`, one for each version
 * @throws CapstanError INVALID_ARGUMENT if no conversion is registered, and for a version without a
 *   conversion or a conversion without a version
 * @example
 * import * as z from 'zod';
 *
 * const named = { group: 'example.com', kind: 'Site', scope: 'Namespaced' } as const;
 * const spec = z.object({ host: z.string() });
 * const V1 = defineCustomResource({ ...named, version: 'v1', spec });
 * const V1beta1 = defineCustomResource({
 *   ...named,
 *   version: 'v1beta1',
 *   spec: z.object({ domain: z.string() }),
 * });
 * const setupWebhooks = (manager: object) =>
 *   newWebhookManagedBy(manager)
 *     .for(V1.resource)
 *     .withConversion<ObjectOf<typeof V1beta1>>({
 *       version: 'v1beta1',
 *       toHub: ({ spec: { domain }, ...site }) => ({ ...site, spec: { host: domain } }),
 *       fromHub: ({ spec: { host }, ...site }) => ({ ...site, spec: { domain: host } }),
 *     })
 *     .complete();
 * const [crd] = conversionDefinitions(setupWebhooks, [V1, V1beta1], {
 *   clientConfig: { service: { namespace: 'default', name: 'site-webhook' } },
 * });
 */
export function conversionDefinitions(
  setup: (manager: object) => void,
  versions: readonly { readonly crd: CustomResourceDefinition }[],
  options: Reach,
): CustomResourceDefinition[] {
  requireFunction('setup', setup);
  const recorded = new RecordedWebhooks();
  setup(recorded);
  if (recorded.conversions.size === 0)
    throw new CapstanError('INVALID_ARGUMENT', 'setup expected to register a conversion, got none');
  return [...recorded.conversions.values()].map((registration) => {
    const { resource } = registration;
    const own = versions.filter(
      ({ crd: { spec } }) => spec.group === resource.group && spec.names.kind === resource.kind,
    );
    const defined = own.flatMap(({ crd }) => crd.spec.versions.map(({ name }) => name));
    requireSame(registration, defined);
    const order = versionsOf(registration);
    const first = ({ crd }: (typeof own)[number]): number =>
      order.indexOf(crd.spec.versions[0]?.name ?? '');
    const sorted = [...own].sort((a, b) => first(a) - first(b));
    return combineVersions(sorted, { conversion: conversionOf(options) });
  });
}

/** The hub first. */
const versionsOf = ({ resource, spokes }: ConversionRegistration): string[] => [
  resource.version,
  ...spokes.map(({ version }) => version),
];

function requireSame(registration: ConversionRegistration, defined: readonly string[]): void {
  const { kind } = registration.resource;
  const registered = versionsOf(registration);
  const bare = defined.find((version) => !registered.includes(version));
  if (bare !== undefined)
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `${kind} expected a conversion for each of its versions, ${bare} has none: register it ` +
        'with withConversion()',
    );
  const absent = registered.find((version) => !defined.includes(version));
  if (absent !== undefined)
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `"versions" expected a definition of ${kind} in ${absent}, which has a conversion, got ` +
        `${defined.join(', ') || 'none'}`,
    );
}

const conversionOf = (reach: Reach) => ({
  strategy: 'Webhook' as const,
  webhook: {
    conversionReviewVersions: ['v1'],
    clientConfig: clientConfigOf(reach, CONVERT_PATH),
  },
});

/**
 * Applies `spec.conversion` to the definitions in the cluster, and changes no other field. It reads
 * `kinds` each time. It rejects if a definition has a version without a conversion.
 */
export function conversionInstaller(
  { client }: Pick<ControllerManager, 'client'>,
  kinds: ReadonlyMap<string, ConversionRegistration>,
): Installer {
  return async (given, { signal }) => {
    for (const registration of kinds.values()) {
      const { group, plural, kind } = registration.resource;
      const name = `${plural}.${group}`;
      const { spec } = await client.get(crdResource, { name }, { live: true, signal });
      const registered = versionsOf(registration);
      const bare = spec.versions.find((version) => !registered.includes(version.name));
      if (bare !== undefined)
        throw new CapstanError(
          'INVALID_ARGUMENT',
          `${name} has the version ${bare.name}, which has no conversion of ${kind}: register it ` +
            'with withConversion()',
        );
      const conversion = { metadata: { name }, spec: { conversion: conversionOf(given) } };
      const options = { signal, force: true, fieldOwner: 'capstan-webhooks' };
      await client.apply(crdResource, conversion as never, options);
    }
  };
}
