/** newClient and its options. controller-runtime: pkg/client/client.go New. */

import { type Clock, systemClock } from '../base/clock.ts';
import {
  invalid,
  requireBoolean,
  requireFunction,
  requireInteger,
  requireIterable,
  requireNumber,
} from '../base/errors.ts';
import { guardedLogger, type Logger, requireLogger } from '../base/logger.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { SharedInformerFactory } from '../cache/informer/factory.ts';
import { requireTransport, type Transport } from '../cache/rest/transport.ts';
import { CachedClient } from './cached-client.ts';
import { LiveClient } from './live-client.ts';
import { requireResource } from './paths.ts';
import { limiterOf, type RateLimitOptions, type RequestRateLimiter } from './rate-limit.ts';
import { RestClient } from './rest-client.ts';
import { noteTransport } from './transport-of.ts';
import type { AnyResource, Client, WriteOptions } from './types.ts';
import type { Warning } from './warnings.ts';

/** Options of `newClient`. */
export interface ClientOptions {
  /** Sends the requests: `fetchTransport`, or a transport of `capstan/client-node`. */
  readonly transport: Transport;
  /**
   * The cache that `get` and `list` read. The first read of a resource gets its informer from the
   * factory, starts it and waits until it has synced; the factory's `shutdown` ends it.
   *
   * Reads ask the server without a cache, in a namespace that the cache does not have, and for a
   * resource that the server does not serve: that is a 404, and no informer waits for it.
   */
  readonly cache?: SharedInformerFactory | undefined;
  /** Resources that are never read from the cache. Default: none. */
  readonly disableFor?: readonly AnyResource[] | undefined;
  /**
   * Rejects a cached read of a resource without an informer with NOT_CACHED, instead of starting
   * one. Default false.
   */
  readonly readerFailOnMissingInformer?: boolean | undefined;
  /**
   * How long the first read of a resource waits for its cache to sync, in milliseconds. Default 120
   * 000. If the server forbids listing or watching the kind, the read fails with that 403 at once.
   */
  readonly cacheSyncTimeout?: number | undefined;
  /**
   * Whether a cached read waits for the writes of this client. Default true. See {@link newClient}.
   */
  readonly readYourWrites?: boolean | undefined;
  /**
   * How long such a read waits, in milliseconds. Default 5000. After that, or once the cache's
   * watch is known to be down, the read asks the server, and later reads no longer wait for these
   * writes.
   */
  readonly readYourWritesTimeout?: number | undefined;
  /**
   * The field manager of writes. Server-side apply needs one. A call can set its own. Default:
   * none.
   */
  readonly fieldOwner?: string | undefined;
  /**
   * What the server does with unknown fields, for all writes but apply, which is always strict.
   * Default: the server's, `Warn`.
   */
  readonly fieldValidation?: WriteOptions['fieldValidation'] | undefined;
  /**
   * A limit on requests. `true` is client-go's default: 5 a second, with bursts of 10. Default:
   * none, as in controller-runtime.
   */
  readonly rateLimit?: boolean | RateLimitOptions | RequestRateLimiter | undefined;
  /**
   * The longest answer, in bytes. A longer one rejects with CapstanError TOO_LARGE before it fills
   * the memory. Default 256 MiB; V8 has no strings beyond 512 MiB. Read long lists by `limit` and
   * `continue`.
   */
  readonly maxAnswerBytes?: number | undefined;
  /** Called for each warning of the server. Default: the logger's `warn`. */
  readonly onWarning?: ((warning: Warning) => void) | undefined;
  /** Logs warnings of the server. Default: silent. */
  readonly logger?: Logger | undefined;
  /** The clock of time limits and of the rate limit. Default: the system's. */
  readonly clock?: Clock | undefined;
}

export const OWN_CLIENT_NAMES = namesOf<Omit<ClientOptions, 'transport' | 'cache'>>()({
  disableFor: 1,
  readerFailOnMissingInformer: 1,
  cacheSyncTimeout: 1,
  readYourWrites: 1,
  readYourWritesTimeout: 1,
  fieldOwner: 1,
  fieldValidation: 1,
  rateLimit: 1,
  maxAnswerBytes: 1,
  onWarning: 1,
  logger: 1,
  clock: 1,
});
const CLIENT_NAMES = namesOf<ClientOptions>()({ ...OWN_CLIENT_NAMES, transport: 1, cache: 1 });

/**
 * Makes a client for all resources of a server. A call names its resource, which gives the type of
 * the objects; there is no scheme to register types in. controller-runtime: client.New.
 *
 * With a `cache`, `get` and `list` read from it and send no request. They return objects that all
 * readers of the cache share and that are read-only: change a copy (`structuredClone`), or use
 * `createOrUpdate`. `live: true` asks the server.
 *
 * **Read your own writes.** A cache follows the server, so it may be behind. A cached read waits
 * until the cache has the writes of this client:
 *
 * - `get` waits for the version that was written, or a newer one; after a deletion it waits until
 *   the object is gone or marked as deleted.
 * - `list` waits for all writes of this client in its namespace.
 * - Nothing waits for what the cache will not see: a dry run, an object that the cache's selectors
 *   exclude, an object that others have deleted.
 * - After `readYourWritesTimeout` the read asks the server, with the same selectors. A list by an
 *   index, which the server does not have, rejects with TIMEOUT instead.
 * - After the deletion of an object that the cache did not have, the next read of it asks the
 *   server (a list that waits for many deletions asks once), because the server does not say at
 *   which version it deleted the object.
 * - Writes that do not go through this client, and writes whose answer was lost, are not waited
 *   for.
 *
 * `readYourWrites: false` reads the cache as it is.
 *
 * **Retries.** As in client-go: any request is repeated on 429 and on 5xx with Retry-After, at most
 * ten times; a GET is also repeated when its connection was reset. A write whose connection was
 * lost rejects with a TransportError, because the server may have carried it out.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const cache = newSharedInformerFactory(transport);
 * const client = newClient({ transport, cache, fieldOwner: 'website-controller' });
 * const pod = await client.get(Pod, { namespace: 'default', name: 'web-0' }, { signal });
 * const { items } = await client.list(Pod, { labelSelector: 'app=web', signal });
 */
export function newClient(options: ClientOptions): Client {
  requireNames('options', options, 'option of newClient()', CLIENT_NAMES);
  const {
    transport,
    cache,
    disableFor = [],
    fieldOwner,
    fieldValidation,
    clock = systemClock,
    logger,
  } = options;
  const { cacheSyncTimeout = 120_000, readYourWritesTimeout = 5000 } = options;
  const { readYourWrites = true, readerFailOnMissingInformer = false } = options;
  requireTransport('options.transport', options.transport);
  if (cache !== undefined)
    requireFunction('options.cache.informerFor', (cache as Partial<typeof cache>)?.informerFor);
  requireIterable('options.disableFor', disableFor);
  for (const resource of disableFor) requireResource(resource);
  for (const [name, ms] of Object.entries({ cacheSyncTimeout, readYourWritesTimeout })) {
    requireNumber(`options.${name}`, ms);
    if (ms < 0) throw invalid(`options.${name}`, 'milliseconds >= 0', ms);
  }
  for (const [name, flag] of Object.entries({ readYourWrites, readerFailOnMissingInformer }))
    requireBoolean(`options.${name}`, flag);
  requireFieldOptions(fieldOwner, fieldValidation);
  if (options.onWarning !== undefined) requireFunction('options.onWarning', options.onWarning);
  if (logger !== undefined) requireLogger('options.logger', logger);
  const onWarning =
    options.onWarning ??
    ((warning: Warning) =>
      logger?.warn(warning.text, { method: warning.method, path: warning.path }));
  const { maxAnswerBytes } = options;
  if (maxAnswerBytes !== undefined) requireInteger('options.maxAnswerBytes', maxAnswerBytes, 1);
  const rest = new RestClient(transport, {
    clock,
    maxAnswerBytes,
    limiter: limiterOf(options.rateLimit, clock),
    onWarning,
    logger: logger && guardedLogger(logger),
  });
  const defaults = { fieldOwner, fieldValidation };
  const client =
    cache === undefined
      ? new LiveClient(rest, defaults)
      : new CachedClient(rest, defaults, {
          factory: cache,
          ...{ clock, disableFor, readYourWrites, readYourWritesTimeout },
          syncTimeout: cacheSyncTimeout,
          failOnMissingInformer: readerFailOnMissingInformer,
        });
  noteTransport(client, transport);
  return client;
}

/** Throws CapstanError INVALID_ARGUMENT. apiserver: a field manager has at most 128 characters. */
export function requireFieldOptions(fieldOwner: unknown, fieldValidation: unknown): void {
  if (
    fieldOwner !== undefined &&
    (typeof fieldOwner !== 'string' || fieldOwner === '' || fieldOwner.length > 128)
  )
    throw invalid('fieldOwner', 'a name of at most 128 characters', fieldOwner);
  if (
    fieldValidation !== undefined &&
    !['Ignore', 'Warn', 'Strict'].includes(fieldValidation as string)
  )
    throw invalid('fieldValidation', "'Ignore', 'Warn' or 'Strict'", fieldValidation);
}
