/**
 * The client: newClient and its options, checked before anything is built. controller-runtime:
 * pkg/client/client.go New.
 */

import { type Clock, systemClock } from '../base/clock.ts';
import {
  invalid,
  requireBoolean,
  requireFunction,
  requireInteger,
  requireNumber,
} from '../base/errors.ts';
import { guardedLogger, type Logger, requireLogger } from '../base/logger.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { SharedInformerFactory } from '../cache/informer/factory.ts';
import type { Transport } from '../cache/rest/transport.ts';
import { CachedClient } from './cached-client.ts';
import { LiveClient } from './live-client.ts';
import { requireResource } from './paths.ts';
import { limiterOf, type RateLimitOptions, type RequestRateLimiter } from './rate-limit.ts';
import { RestClient } from './rest-client.ts';
import type { AnyResource, Client, WriteOptions } from './types.ts';
import type { Warning } from './warnings.ts';

export interface ClientOptions {
  /** The way to the server: `fetchTransport`, or one of `capstan/client-node`. */
  readonly transport: Transport;
  /**
   * Where `get` and `list` read. The first read of a resource asks it for an informer, starts that
   * and waits until it has synced; the factory's `shutdown` ends it. Without a cache every read
   * asks the server, and so does one of a namespace that is not among those of the cache, or of a
   * resource that the server does not have: a 404, and no informer that waits for it.
   */
  readonly cache?: SharedInformerFactory | undefined;
  /** Resources that are never read from the cache, such as Secrets of which there are many. */
  readonly disableFor?: readonly AnyResource[] | undefined;
  /**
   * A cached read of a resource without an informer is an error NOT_CACHED, instead of making one.
   * Default false.
   */
  readonly readerFailOnMissingInformer?: boolean | undefined;
  /**
   * How long the first read of a resource waits for its cache, in milliseconds. Default 120 000, as
   * for controllers. A kind that the server forbids to list or to watch is not waited for: the read
   * fails with its 403, until it is allowed.
   */
  readonly cacheSyncTimeout?: number | undefined;
  /**
   * Whether a cached read waits until the cache has what this client wrote before. Default true.
   * See {@link newClient}.
   */
  readonly readYourWrites?: boolean | undefined;
  /**
   * How long it waits, in milliseconds. Default 5000. After that, or as soon as the cache's watch
   * is seen to be down, the server is asked, and later reads do not wait for these writes again.
   */
  readonly readYourWritesTimeout?: number | undefined;
  /**
   * Who owns the fields that are written; server-side apply needs it. Single calls may say
   * otherwise.
   */
  readonly fieldOwner?: string | undefined;
  /**
   * What the server does about fields that it does not know, for all writes but apply, which is
   * always strict. Default: the server's, `Warn`.
   */
  readonly fieldValidation?: WriteOptions['fieldValidation'] | undefined;
  /**
   * A limit on requests. `true`: client-go's, 5 a second and 10 at once. Default: none, as in
   * controller-runtime.
   */
  readonly rateLimit?: boolean | RateLimitOptions | RequestRateLimiter | undefined;
  /**
   * The longest answer of the server, in bytes; a longer one is rejected with CapstanError
   * TOO_LARGE before it fills the memory. Default 256 MiB; V8 has no texts beyond 512 MiB. Long
   * lists are read by pages: `limit` and `continue`.
   */
  readonly maxAnswerBytes?: number | undefined;
  /** Told of each warning of the server. Default: the logger's `warn`. */
  readonly onWarning?: ((warning: Warning) => void) | undefined;
  /** Default: silent. */
  readonly logger?: Logger | undefined;
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
 * A client for all resources of a server: typed by the resource that a call names, and without any
 * registry of types.
 *
 * With a `cache`, `get` and `list` read from it and so cost no request; what they give is shared
 * with everybody who reads that cache, and read-only: change a copy (`structuredClone`, or
 * `createOrUpdate`, which makes one). `live: true` asks the server.
 *
 * **Read your own writes.** A cache follows the server, so it may be behind. After a write through
 * this client a cached read of that object waits until the cache has the written version, or a
 * newer one; after a deletion until the object is gone, or marked; a list waits for all that this
 * client has written in its namespace. It does not wait for what cannot come: a dry run, an object
 * that the cache's selectors leave out, one that others have deleted. A cache that does not come
 * within `readYourWritesTimeout` costs a request: the server is asked instead, with the same
 * selectors. Only a list by an index, which the server does not have, is rejected then, with
 * TIMEOUT. Not covered are writes that go around this client, and a write whose answer was lost on
 * the way. A deletion of an object that the cache did not have costs the next read of it a request
 * (a list that waits for many of them, one in all), as the server does not say at which version it
 * deleted something. `readYourWrites: false` reads what is there.
 *
 * Requests are repeated where client-go's are: any on 429 and 5xx with Retry-After, ten times at
 * most; a GET also when its connection was reset. A write whose connection is lost is rejected with
 * a TransportError: it may have been carried out.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const cache = newSharedInformerFactory(transport);
 * const client = newClient({ transport, cache, fieldOwner: 'website-controller' });
 * const pod = await client.get(Pod, { namespace: 'default', name: 'web-0' }, { signal });
 * const { items } = await client.list(Pod, { namespace: 'default', labelSelector: 'app=web', signal });
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
  requireFunction(
    'options.transport.request',
    (transport as Partial<Transport> | undefined)?.request,
  );
  if (cache !== undefined)
    requireFunction('options.cache.informerFor', (cache as Partial<typeof cache>)?.informerFor);
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
  if (cache === undefined) return new LiveClient(rest, defaults);
  return new CachedClient(rest, defaults, {
    factory: cache,
    ...{ clock, disableFor, readYourWrites, readYourWritesTimeout },
    syncTimeout: cacheSyncTimeout,
    failOnMissingInformer: readerFailOnMissingInformer,
  });
}

/** apiserver: at most 128 characters. Throws CapstanError INVALID_ARGUMENT. */
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
