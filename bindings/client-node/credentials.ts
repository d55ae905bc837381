/**
 * Reads address and credentials from a KubeConfig for each request. Requests that start while a
 * read is pending share it, if cluster and user are still the current ones. After a 401, or if the
 * credentials cannot be used, the next request reads them again.
 */
import { type Agent as HttpAgent, validateHeaderName, validateHeaderValue } from 'node:http';
import type { RequestOptions } from 'node:https';
import { isIP } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { type Clock, systemClock } from '../base/clock.ts';
import { CapstanError, invalid } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import { type ServerURL, serverURL } from '../base/urls.ts';
import { TransportError } from '../cache/rest/transport.ts';
import { Kept, type KubeConfigUser } from './auth-cache.ts';
import type { Destination } from './node-transport.ts';
import { isSocks, proxyURL, Tunnel, throughProxy } from './proxy.ts';
import { sameMaterial, type TlsMaterial, tlsMaterial } from './tls.ts';
import { requireTls } from './tls-check.ts';
import { messageOf, type RequestTarget } from './wire.ts';

/**
 * The two methods of @kubernetes/client-node's `KubeConfig` that are used. Any object with them
 * will do.
 */
export interface KubeConfigLike {
  getCurrentCluster(): {
    readonly server: string;
    readonly proxyUrl?: string | undefined;
    readonly skipTLSVerify?: boolean | undefined;
  } | null;
  applyToHTTPSOptions(options: RequestOptions): Promise<void>;
}

/**
 * Milliseconds between two renewals after a 401, because every request may be answered with one.
 */
const RENEWAL_INTERVAL = 1000;

/**
 * Milliseconds for which a pending read is shared. If an exec plugin hangs, later requests then
 * start another one. The age decides, not the callers, because callers with short time-outs would
 * start as many plugins; at most one more runs, because nothing ends a hanging plugin.
 */
const SHARED_FOR = 30_000;

/** Milliseconds after which a pending read is logged. */
const TOLD_AFTER = 10_000;

/** The cluster and user of the credentials. */
interface Current {
  readonly cluster: object | null;
  readonly user: KubeConfigUser | undefined;
}

type Options = RequestOptions & {
  agent?: HttpAgent | boolean;
  headers: Record<string, string | string[]>;
};

/**
 * The pending reads of a cluster and user. The first success resolves all waiters; if all fail, the
 * last failure rejects them.
 */
interface Shared extends Current, PromiseWithResolvers<Destination> {
  /** When the newest read began. */
  since: number;
  pending: number;
}

export class Credentials {
  readonly #config: KubeConfigLike;
  readonly #clock: Clock;
  readonly #shared = new Set<Shared>();
  /** The pending reads, the newest last. */
  readonly #asking = new Set<Kept>();
  /** The last usable destination, with its cluster and user. */
  #last: (Current & { readonly destination: Destination }) | undefined;
  /** Whether the use of former credentials was reported. */
  #told = false;
  /** Whether the server refused the last credentials. */
  #stale = false;
  #renewals = 0;
  #renewedAt = Number.NEGATIVE_INFINITY;

  constructor(config: KubeConfigLike, clock: Clock = systemClock) {
    this.#config = config;
    this.#clock = clock;
  }

  /**
   * @param before the read that the caller waits for and gets again; another read begins for it
   *   only if cluster and user are the same
   */
  read(before?: Promise<Destination>): Promise<Destination> {
    const current = currentOf(this.#config);
    const now = this.#clock.now();
    const known = [...this.#shared].find((each) => isCurrent(each, current));
    if (before !== undefined && known?.promise !== before) return before;
    if (known !== undefined && (known.pending > 1 || now - known.since < SHARED_FOR))
      return known.promise;
    const shared = known ?? {
      ...current,
      ...Promise.withResolvers<Destination>(),
      since: now,
      pending: 0,
    };
    shared.since = now;
    shared.pending++;
    this.#shared.add(shared);
    this.#ask(current).then(
      (destination) => {
        this.#shared.delete(shared);
        shared.resolve(destination);
      },
      (error: unknown) => {
        if (--shared.pending > 0) return;
        this.#shared.delete(shared);
        shared.reject(error);
      },
    );
    return shared.promise;
  }

  /** The credential source of a pending read, for messages. */
  waitsFor(): string | undefined {
    const newest = [...this.#asking].at(-1);
    return newest && `${newest.asked}${newest.said}`;
  }

  async #ask(current: Current): Promise<Destination> {
    const { url, proxy, authorization } = clusterOf(this.#config);
    const what = `reading the kubeconfig's credentials for ${url.origin}`;
    const kept = new Kept(this.#config, current.user, current.cluster);
    kept.forgetOthers();
    if (proxy !== undefined) kept.forgetAgents();
    this.#renew(kept);
    const renewals = this.#renewals;
    this.#asking.add(kept);
    const late = this.#clock.setTimer(() => {
      const late = `has not answered for ${TOLD_AFTER} ms: requests wait for it`;
      const why = `${kept.asked} ${late}${kept.said}`;
      handleError(new CapstanError('TIMEOUT', why), what);
    }, TOLD_AFTER);
    let why: unknown;
    const goOn = (error: unknown): void => {
      why = error;
      kept.forget();
    };
    try {
      const options = await kept.read(() => this.#apply(), goOn);
      const headers = headersOf(options, kept);
      if (authorization !== undefined) headers.authorization ??= authorization;
      const tls = this.#fitting(tlsMaterial(options), current, goOn);
      const made = proxy && typeof options.agent === 'object' ? options.agent : undefined;
      if (isSocks(made) && isIP(tls.servername ?? '') !== 0) {
        // The agent passes it to node:tls outside of any try: the error ended the process.
        throw new Error(
          'expected a name as tls-server-name with a proxy-url of ' +
            `SOCKS, got the address ${tls.servername}`,
        );
      }
      this.#tell(what, why);
      const former = this.#former(current);
      // An agent was also made for unusable credentials.
      const way =
        tls === former?.tls
          ? (former.tunnel ?? former.agent)
          : proxy && made && throughProxy(made, proxy);
      const { expired } = kept;
      const refusal =
        expired === undefined
          ? undefined
          : new TransportError(
              'unknown',
              `${url.origin} answered 401: ${kept.asked} gave a ` +
                `credential that expired at ${expired}${kept.said}`,
            );
      const destination: Destination = {
        url,
        tls,
        headers,
        ...(way instanceof Tunnel ? { tunnel: way } : { agent: way }),
        // Ignored for a credential that has been replaced. client-go: maybeRefreshCreds,
        // ResetTokenOlderThan.
        refused: () => {
          if (renewals === this.#renewals) this.#stale = true;
          return refusal;
        },
      };
      this.#last = { ...current, destination };
      return destination;
    } catch (error) {
      kept.forget();
      const former = isMissingFile(error) ? this.#former(current) : undefined;
      if (former !== undefined) {
        this.#tell(what, error);
        return former;
      }
      throw new TransportError('unknown', `${what}: ${messageOf(error)}`, { cause: error });
    } finally {
      this.#clock.clearTimer(late);
      this.#asking.delete(kept);
    }
  }

  async #apply(): Promise<Options> {
    const options: Options = { headers: {} };
    await this.#config.applyToHTTPSOptions(options);
    return options;
  }

  #former({ cluster, user }: Current): Destination | undefined {
    return this.#last && isCurrent(this.#last, { cluster, user })
      ? this.#last.destination
      : undefined;
  }

  /**
   * While a certificate and its key are renewed one after the other they do not match, and a CA
   * file that is being written may be empty: then the former ones are used.
   */
  #fitting(tls: TlsMaterial, current: Current, goOn: (why: unknown) => void): TlsMaterial {
    const former = this.#former(current)?.tls;
    if (former !== undefined && sameMaterial(former, tls)) return tls;
    try {
      requireTls(tls, (option) => IN_KUBECONFIG[option] ?? option);
      return tls;
    } catch (error) {
      if (former === undefined) throw error;
      goOn(error);
      return former;
    }
  }

  /** Reports once that requests use former credentials. */
  #tell(what: string, why: unknown): void {
    if (why !== undefined && !this.#told)
      handleError(why, `${what}, going on with the former ones`);
    this.#told = why !== undefined;
  }

  #renew(kept: Kept): void {
    const now = this.#clock.now();
    if (!this.#stale || now - this.#renewedAt < RENEWAL_INTERVAL) return;
    this.#stale = false;
    this.#renewals++;
    this.#renewedAt = now;
    kept.forget();
  }
}

function currentOf(config: KubeConfigLike & { getCurrentUser?: unknown }): Current {
  const user: unknown =
    typeof config.getCurrentUser === 'function' ? config.getCurrentUser() : undefined;
  return {
    cluster: config.getCurrentCluster(),
    user: typeof user === 'object' && user !== null ? user : undefined,
  };
}

/** A file may be deleted before it is written again. A missing plugin's answers end. */
function isMissingFile(error: unknown): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' && syscall === 'open';
}

const IN_KUBECONFIG: Partial<Record<keyof TlsMaterial, string>> = {
  ca: 'certificate-authority',
  cert: 'client-certificate',
  key: 'client-key',
  servername: 'tls-server-name',
};

/** Compares by content, because a wrapper of a KubeConfig may make new objects each time. */
function isCurrent(known: Current, { cluster, user }: Current): boolean {
  return isDeepStrictEqual(known.cluster, cluster) && isDeepStrictEqual(known.user, user);
}

export function clusterOf(config: KubeConfigLike): ServerURL & { proxy: URL | undefined } {
  const cluster = config.getCurrentCluster();
  if (!cluster)
    throw invalid('config', 'a KubeConfig whose current context names a cluster', undefined);
  const { url, authorization } = serverURL("the cluster's server", cluster.server);
  const proxy = cluster.proxyUrl ? proxyURL(cluster.proxyUrl) : undefined;
  if (url.protocol === 'http:' && proxy === undefined && !cluster.skipTLSVerify)
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `"config" expected a server at https, got ${url.origin}: there may be ` +
        'no kubeconfig, for which client-node takes http://localhost:8080; ' +
        'use httpTransport(url) for kubectl proxy',
    );
  return { url, proxy, authorization };
}

function headersOf(options: Options, { asked, said }: Kept): RequestTarget['headers'] {
  const headers: RequestTarget['headers'] = {};
  for (const [name, value] of Object.entries(options.headers)) {
    try {
      validateHeaderName(name);
      headers[name.toLowerCase()] = Array.isArray(value)
        ? value.map((one) => headerValue(name, one))
        : headerValue(name, value);
    } catch (error) {
      throw new Error(`${asked} gave what no header may hold: ${messageOf(error)}${said}`);
    }
  }
  if (typeof options.auth === 'string') {
    headers.authorization ??= `Basic ${Buffer.from(options.auth).toString('base64')}`;
  }
  return headers;
}

function headerValue(name: string, value: unknown): string {
  // A token file often ends with a line feed, which no header may contain. client-go trims too:
  // transport/token_source.go. The server reads UTF-8, and Node writes a character as a byte.
  const bytes = Buffer.from(String(value).trim()).toString('latin1');
  validateHeaderValue(name, bytes);
  return bytes;
}
