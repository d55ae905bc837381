/**
 * `capstan webhooks`: prints the configurations of the webhooks that modules register, for
 * `kubectl apply -f`.
 */
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { type WebhookConfigurationsOptions, webhookConfigurations } from 'capstan/webhook';
import { CapstanError } from 'capstan/workqueue';
import { attempt } from './attempt.ts';
import { yamlOf } from './yaml.ts';

/** The function that a module exports. It gets an object in place of a manager. */
const SETUP = 'setupWebhooks';

/** The options of the command. */
export interface WebhookFlags {
  /** `namespace/name` or `namespace/name:port`. */
  readonly service?: string | undefined;
  readonly url?: string | undefined;
  /** The path of a file with certificates. */
  readonly ca?: string | undefined;
  /** Default: the name of the Service, or `capstan`. */
  readonly name?: string | undefined;
}

/**
 * YAML with one document per configuration, the mutating one first. The webhooks of all modules are
 * in one of each kind.
 *
 * @throws CapstanError INVALID_ARGUMENT for a module without `setupWebhooks` or that cannot be
 *   loaded, and for wrong options
 */
export async function webhookManifests(
  paths: readonly string[],
  flags: WebhookFlags,
): Promise<string> {
  const options = await optionsOf(flags);
  const setups: ((manager: object) => unknown)[] = [];
  for (const path of paths) {
    const module = await attempt(
      `${path} could not be loaded`,
      async () => (await import(pathToFileURL(path).href)) as Record<string, unknown>,
    );
    const setup = module[SETUP];
    if (typeof setup !== 'function')
      throw new CapstanError(
        'INVALID_ARGUMENT',
        `${path} expected an exported function ${SETUP}(manager) that calls newWebhookManagedBy`,
      );
    setups.push(setup as (manager: object) => unknown);
  }
  const configurations = webhookConfigurations((manager) => {
    for (const setup of setups) setup(manager);
  }, options);
  return configurations.map(yamlOf).join('---\n');
}

async function optionsOf({
  service,
  url,
  ca,
  name,
}: WebhookFlags): Promise<WebhookConfigurationsOptions> {
  if ((service === undefined) === (url === undefined))
    throw new CapstanError(
      'INVALID_ARGUMENT',
      'webhooks expected either --service <namespace>/<name> or --url <url>; ' +
        'see capstan webhooks --help',
    );
  const caBundle =
    ca === undefined
      ? undefined
      : await attempt(`${ca} could not be read`, () => readFileSync(ca, 'utf8'));
  if (url !== undefined) return { name: name ?? 'capstan', clientConfig: { url }, caBundle };
  const [, namespace = '', own = '', port] =
    /^([a-z0-9-]+)\/([a-z0-9-]+)(?::(\d+))?$/.exec(service ?? '') ?? [];
  if (own === '')
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `--service expected <namespace>/<name>, such as default/website-webhook, got "${service}"`,
    );
  return {
    name: name ?? own,
    clientConfig: {
      service: { namespace, name: own, ...(port === undefined ? {} : { port: Number(port) }) },
    },
    caBundle,
  };
}
