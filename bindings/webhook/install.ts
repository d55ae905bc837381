/**
 * Applies what has the certificates of the authorities: webhook configurations and conversions. It
 * does so when the server listens, and when the certificates change. A failure is logged and tried
 * again. The replica serves meanwhile, but is not ready before the first success.
 */
import { Backoff } from '../base/backoff.ts';
import { handleError } from '../base/handle-error.ts';
import { silentLogger } from '../base/logger.ts';
import { sleep } from '../base/wait.ts';
import { isNotFound } from '../client/index.ts';
import type { ControllerManager, GroupedRunnable } from '../manager/index.ts';
import {
  CONFIGURATION_RESOURCES,
  configurationOf,
  configurationsOf,
  reachOf,
  type WebhookConfigurationsOptions,
} from './configurations.ts';
import type { WebhookRegistration } from './registration.ts';

/** In milliseconds: how often the certificates of the authorities are read. */
const CHECK_MS = 10_000;
/** In milliseconds: how often everything is applied again, to undo changes of others. */
const AGAIN_MS = 600_000;

/** Applies objects that have the certificates of the authorities. */
export type Installer = (given: Installed, options: { signal: AbortSignal }) => Promise<void>;

/** The name of the configurations, and how the API server reaches the webhooks. */
export type Installed = WebhookConfigurationsOptions;

export class Installation implements GroupedRunnable {
  readonly name = 'webhook configurations';
  /** The webhooks listen by then. */
  readonly group = 'caches';
  readonly #manager: ControllerManager;
  readonly #reach: ReturnType<typeof reachOf>;
  readonly #authority: () => Promise<string | undefined>;
  readonly #installers: Installer[] = [];
  #installed: { readonly caBundle: string | undefined } | undefined;

  /** Throws CapstanError INVALID_ARGUMENT without a `clientConfig`, see `reachOf`. */
  constructor(manager: ControllerManager, server: NonNullable<ControllerManager['webhookServer']>) {
    this.#manager = manager;
    this.#reach = reachOf(server.options);
    this.#authority = () => server.authority();
  }

  needLeaderElection(): boolean {
    return false;
  }

  add(installer: Installer): void {
    this.#installers.push(installer);
  }

  /** The failure of the readiness check; `undefined` after the first success. */
  problem(): string | undefined {
    return this.#installed === undefined
      ? 'the webhook configurations are not applied yet'
      : undefined;
  }

  /** Whether the last apply had these certificates. */
  has(caBundle: string): boolean {
    return this.#installed?.caBundle === caBundle;
  }

  async start({ signal }: { signal: AbortSignal }): Promise<void> {
    const { clock, logger } = this.#manager;
    const backoff = new Backoff(clock, Math.random);
    let last: { readonly caBundle: string | undefined; readonly at: number } | undefined;
    while (!signal.aborted) {
      let wait = CHECK_MS;
      try {
        const caBundle = await this.#authority();
        const now = clock.now();
        if (last === undefined || last.caBundle !== caBundle || now - last.at >= AGAIN_MS) {
          for (const installer of this.#installers)
            await installer({ ...this.#reach, caBundle }, { signal });
          last = { caBundle, at: now };
          this.#installed = { caBundle };
        }
      } catch (error) {
        if (signal.aborted) return;
        if (logger === silentLogger) handleError(error, this.name);
        else logger.error('webhook configurations could not be applied', { error });
        wait = backoff.next();
      }
      await sleep(clock, wait, signal);
    }
  }
}

/** Applies the configurations of `registrations`, which it reads each time. */
export function configurationInstaller(
  { client }: Pick<ControllerManager, 'client'>,
  registrations: readonly WebhookRegistration[],
): Installer {
  return async (given, { signal }) => {
    const apply = { signal, force: true, fieldOwner: 'capstan-webhooks' };
    const all = configurationsOf(registrations, given);
    for (const type of ['mutating', 'validating'] as const) {
      const resource = CONFIGURATION_RESOURCES[type];
      const own = all.find(({ kind }) => kind === resource.kind);
      if (own !== undefined) await client.apply(resource, own, apply);
      // An older version of the program may have had webhooks of this type.
      else if (await exists(client, given.name, type, signal))
        await client.apply(resource, configurationOf(type, given.name, []), apply);
    }
  };
}

async function exists(
  client: ControllerManager['client'],
  name: string,
  type: WebhookRegistration['type'],
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await client.get(CONFIGURATION_RESOURCES[type], { name }, { live: true, signal });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}
