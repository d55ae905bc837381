/**
 * Certificates that the replicas of a program make themselves and share through a Secret. Each
 * replica reads the Secret once a minute. If something is due, it writes the Secret by
 * compare-and-swap, and the other replicas read it. rotation.ts computes the content.
 *
 * Invariant: a replica that has not read the Secret for half the overlap returns no bundle.
 * Otherwise it could replace a newer bundle that another replica has installed.
 */
import { Backoff } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import { CapstanError } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import { defineResource, type Resource } from '../base/resource.ts';
import { sleep } from '../base/wait.ts';
import {
  type Client,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type ObjectMeta,
} from '../client/index.ts';
import type { GroupedRunnable, SelfManagedCertificates } from '../manager/index.ts';
import type { WebhookCertificates } from '../manager/webhook-server.ts';
import {
  type CertificateState,
  NO_STATE,
  nextState,
  ROTATION_TIMES,
  type RotationTimes,
} from './rotation.ts';
import { type CertificateMaker, loadMaker } from './x509.ts';

/** How often a write is tried when others write at the same time. */
const ATTEMPTS = 10;

const LABEL = 'app.kubernetes.io/managed-by';
const OWNER = 'capstan-webhooks';

interface Secret {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  type?: string;
  data?: Record<string, string>;
}

const secrets: Resource<Secret> = defineResource<Secret>()({
  group: '',
  version: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  namespaced: true,
});

/** The parts of a manager that the certificates need. */
export interface SelfManagedOptions extends SelfManagedCertificates {
  readonly client: Client;
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
  readonly logger?: Logger | undefined;
  /** Whether the API server trusts this bundle. */
  readonly isInstalled: (bundle: string) => boolean;
  /** Default: ten years, ninety days. */
  readonly times?: RotationTimes | undefined;
}

export class SelfManaged implements GroupedRunnable, WebhookCertificates {
  readonly name = 'webhook certificates';
  /** The first group, as servers of all groups may need the certificates. */
  readonly group = 'HTTP servers';
  readonly #options: SelfManagedOptions;
  readonly #times: RotationTimes;
  readonly #ready = Promise.withResolvers<void>();
  #state: CertificateState = NO_STATE;
  /** In milliseconds of the clock. */
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(options: SelfManagedOptions) {
    this.#options = options;
    this.#times = options.times ?? ROTATION_TIMES;
    this.#ready.promise.catch(() => undefined); // the callers that wait get the error
  }

  needLeaderElection(): boolean {
    return false;
  }

  /** The pair to serve. Waits for the first one. */
  readonly current = async (): Promise<{ cert: string; key: string }> => {
    await this.#ready.promise;
    const { serving } = this.#state;
    return { cert: serving?.certificate.pem ?? '', key: serving?.key ?? '' };
  };

  /** The certificates of all authorities. Waits for the first one. */
  readonly authority = async (): Promise<string> => {
    await this.#ready.promise;
    const { clock, namespace, secretName } = this.#options;
    const age = clock.now() - this.#readAt;
    if (age > this.#times.overlap / 2)
      throw new CapstanError(
        'TIMEOUT',
        `the Secret ${namespace}/${secretName} was not read for ${Math.round(age / 1000)} s, so ` +
          'its authorities are not installed: see the earlier errors of webhook certificates',
      );
    return bundleOf(this.#state);
  };

  async start({ signal }: { signal: AbortSignal }): Promise<void> {
    const { clock, logger = silentLogger } = this.#options;
    const backoff = new Backoff(clock, Math.random);
    try {
      const maker = await loadMaker();
      while (!signal.aborted) {
        let wait = this.#times.read;
        try {
          await this.#sync(maker, signal);
          this.#ready.resolve();
        } catch (error) {
          if (signal.aborted) return;
          if (logger === silentLogger) handleError(error, this.name);
          else logger.error('webhook certificates could not be read or written', { error });
          wait = backoff.next();
        }
        await sleep(clock, wait, signal);
      }
    } catch (error) {
      this.#ready.reject(error);
      throw error;
    } finally {
      this.#ready.reject(new CapstanError('STOPPED', 'the manager is being stopped'));
    }
  }

  discard(): void {
    this.#ready.reject(new CapstanError('STOPPED', 'the manager was never started'));
  }

  async #sync(maker: CertificateMaker, signal: AbortSignal): Promise<void> {
    const { client, namespace, secretName, dnsNames, wallNow, isInstalled } = this.#options;
    for (let attempt = 1; ; attempt++) {
      const readAt = this.#options.clock.now();
      const secret = await this.#read(signal);
      // If the Secret was deleted, its authorities stay in the bundle, and its keys are replaced.
      const state =
        secret === undefined
          ? { ...this.#state, authorityKey: '' }
          : await stateOf(secret, maker, this.#state);
      const next = await nextState({
        state,
        now: wallNow(),
        names: dnsNames,
        times: this.#times,
        maker,
        isInstalled: isInstalled(bundleOf(state)),
      });
      if (next !== state || secret === undefined) {
        const written: Secret = {
          ...(secret ?? { type: 'kubernetes.io/tls' }),
          metadata: {
            ...(secret?.metadata ?? { name: secretName, namespace }),
            labels: { ...secret?.metadata.labels, [LABEL]: OWNER },
          },
          data: { ...secret?.data, ...dataOf(next) },
        };
        const options = { signal, fieldOwner: OWNER };
        try {
          if (secret === undefined) await client.create(secrets, written, options);
          else await client.update(secrets, written, options);
        } catch (error) {
          // Another replica has written the Secret.
          if (attempt < ATTEMPTS && (isAlreadyExists(error) || isConflict(error))) continue;
          throw error;
        }
        this.#options.logger?.info('webhook certificates were renewed', {
          secret: `${namespace}/${secretName}`,
          authorities: next.authorities.length,
          until: new Date(next.serving?.certificate.notAfter ?? 0).toISOString(),
        });
      }
      this.#state = next;
      this.#readAt = readAt;
      return;
    }
  }

  async #read(signal: AbortSignal): Promise<Secret | undefined> {
    const { client, namespace, secretName: name } = this.#options;
    try {
      const secret = await client.get(secrets, { namespace, name }, { live: true, signal });
      const { data, metadata } = secret;
      if (metadata.labels?.[LABEL] !== OWNER && Object.keys(data ?? {}).length > 0)
        throw new CapstanError(
          'INVALID_ARGUMENT',
          `the Secret ${namespace}/${name} has data, and expected the label ${LABEL}: ${OWNER}: ` +
            'choose another selfManaged.secretName',
        );
      return secret;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}

const FILES = { authorities: 'ca.crt', authorityKey: 'ca.key', cert: 'tls.crt', key: 'tls.key' };

const bundleOf = ({ authorities }: CertificateState): string =>
  authorities.map(({ pem }) => pem).join('');

function dataOf(state: CertificateState): Record<string, string> {
  const { authorityKey, serving } = state;
  const texts = {
    [FILES.authorities]: bundleOf(state),
    [FILES.authorityKey]: authorityKey,
    [FILES.cert]: serving?.certificate.pem ?? '',
    [FILES.key]: serving?.key ?? '',
  };
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, Buffer.from(text).toString('base64')]),
  );
}

/** The content of the Secret; `known` itself if it has not changed. */
async function stateOf(
  { data = {} }: Secret,
  maker: CertificateMaker,
  known: CertificateState,
): Promise<CertificateState> {
  const same = dataOf(known);
  if (Object.entries(same).every(([name, value]) => data[name] === value)) return known;
  const textOf = (name: string): string => Buffer.from(data[name] ?? '', 'base64').toString();
  const [certificate] = await maker.read(textOf(FILES.cert));
  const key = textOf(FILES.key);
  return {
    authorityKey: textOf(FILES.authorityKey),
    authorities: await maker.read(textOf(FILES.authorities)),
    serving: certificate === undefined ? undefined : await maker.pair(certificate, key),
  };
}
