/**
 * ListWatch: the list and watch requests of one resource at one server, with their paths, selectors
 * and headers, and the expected kind of the objects. client-go: tools/cache/listwatch.go.
 */
import {
  CapstanError,
  hasCode,
  invalid,
  requireBoolean,
  requireFunction,
  requireInteger,
  requireMs,
  requireString,
  show,
} from '../../base/errors.ts';
import { handleError } from '../../base/handle-error.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import { groupVersion, notResource, type Resource } from '../../base/resource.ts';
import { pathSegment } from '../../base/urls.ts';
import { isThenable } from '../../base/wait.ts';
import {
  describeKind,
  type ExpectedKind,
  jsonDecoder,
  type ListPage,
  type PageReader,
} from '../decode/decoder.ts';
import { type Exchange, tooLargeError } from '../rest/exchange.ts';
import type { HashRanges } from '../rest/hash-ranges.ts';
import { noteMetadataOnly } from '../rest/metadata-only.ts';
import { type Caller, type RepeatOptions, sendWithRepeats } from '../rest/rest.ts';
import { isTooLargeResourceVersion, statusErrorFromAnswer } from '../rest/status-error.ts';
import { requireTransport, type Transport, type TransportRequest } from '../rest/transport.ts';
import { adviceOn404, confirmAbsence, groupVersionPath } from './discovery.ts';
import type { ListQuery } from './pager.ts';
import type { Selection } from './selection.ts';

/** Which objects of a resource to list and watch, and limits of the requests. */
export interface ListWatchOptions {
  /** One namespace. Default, or "": all namespaces. */
  namespace?: string | undefined;
  /** A selector as text, such as `app=web`; `labelSelectorText` converts a selector object. */
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
  /**
   * Request PartialObjectMetadata: objects with metadata only. They show the kind and apiVersion of
   * the resource, as in controller-runtime's cache. If the server sends whole objects, that is a
   * DECODE error. Default false.
   */
  metadataOnly?: boolean | undefined;
  /**
   * Changes the query of each request in place, such as `query.fieldSelector = 'metadata.name=a'`.
   * It may override parameters of the reflector. If it adds parameters that are not known here,
   * such as `shardSelector`, a client with this cache asks the server whether the cache selects an
   * object that it wrote, and handlers do not get tombstones of unseen writes. client-go:
   * WithTweakListOptions.
   */
  tweak?: ((query: Record<string, string>) => void) | undefined;
  /**
   * Milliseconds without a byte after which a watch counts as a lost connection. It is opened again
   * from the last version, without a list and without an error, unless the server answers that it
   * has not reached that version, as after a restore from an older backup: then the reflector
   * relists. Default 150 000; 0: never. kube-apiserver sends a bookmark about each minute; with a
   * server that sends none, each timeout costs two requests. `capstan/client-node` detects dead
   * connections within 45 s by other means; over fetch this is the only one.
   */
  idleTimeout?: number | undefined;
  /**
   * The longest answer to one list request, in bytes; a longer one is a failure with CapstanError
   * TOO_LARGE (class `decode`), and the cache keeps its content. Default 2 GiB if objects are kept
   * as bytes, 512 MiB if they are decoded at once. kube-apiserver answers a list from its watch
   * cache in one piece, whatever its limit. See also `maxObjectBytes` of informers.
   */
  maxListBytes?: number | undefined;
  /**
   * Whether lists come compressed by gzip: `'auto'`, the default, unless the server is on this
   * machine, where bytes cost less than decompressing them; `'gzip'`; or `'identity'`, never.
   * kube-apiserver compresses answers of more than 128 KiB, real Pods to about a twentieth. Watches
   * are never compressed. A body that grows more than 250 times, beyond 32 MiB, is a failure with
   * CapstanError TOO_LARGE, one that ends early or is broken with DECODE; after either, `'auto'`
   * asks for uncompressed lists. A transport of your own sees it as `compression` of a request.
   */
  compression?: 'auto' | 'gzip' | 'identity' | undefined;
}

type Compression = NonNullable<ListWatchOptions['compression']>;
const COMPRESSIONS: readonly unknown[] = ['auto', 'gzip', 'identity'] satisfies Compression[];

export const LIST_WATCH_NAMES = namesOf<ListWatchOptions>()({
  namespace: 1,
  labelSelector: 1,
  fieldSelector: 1,
  metadataOnly: 1,
  tweak: 1,
  idleTimeout: 1,
  maxListBytes: 1,
  compression: 1,
});

export interface WatchQuery {
  /** "": the newest version of the server. */
  resourceVersion: string;
  /** Seconds after which the server ends the watch. */
  timeoutSeconds: number;
  /** Begin with all objects as ADDED events, followed by a bookmark. KEP-3157. */
  sendInitialEvents?: boolean;
  /** See {@link Decoder.leavesOutManagedFields}. */
  leavesOutManagedFields?: boolean | undefined;
  /** Ask only for objects in these ranges; a server may send more. */
  ranges?: HashRanges | undefined;
}

/**
 * The longest silence of a list. kube-apiserver answers every request except a watch within 60 s
 * (--request-timeout), in the worst case with 504. After that the connection is dead; TCP alone may
 * take half an hour to detect that.
 */
export const LIST_IDLE_MS = 90_000;
/** Two bookmarks of kube-apiserver (one a minute), and half a minute more. */
const WATCH_IDLE_MS = 150_000;
/** Query parameters that do not restrict the objects, or whose restriction is known. */
const KNOWN_PARAMETERS = new Set([
  ...['labelSelector', 'fieldSelector', 'limit', 'continue', 'resourceVersion', 'pretty'],
  ...['resourceVersionMatch', 'watch', 'allowWatchBookmarks', 'sendInitialEvents'],
  'timeoutSeconds',
]);
const MAX_LIST_BYTES = 2 ** 31;
const TOO_LONG =
  'stream it (`watchList: true`), select less by namespace or selector, or set `maxListBytes`; ' +
  'a client reads it by pages (`limit` and `continue`)';
/** A watch that has not ended this long after its timeoutSeconds counts as dead. */
const WATCH_GRACE_MS = 30_000;

/**
 * What to list and watch, for a {@link SharedIndexInformer}, a {@link Reflector} or a {@link
 * RetryWatcher}. For a resource whose kind is not known, use {@link resourceOf}. client-go:
 * tools/cache/listwatch.go ListWatch.
 *
 * @throws CapstanError INVALID_ARGUMENT, also for a namespace with a cluster-scoped resource
 * @example
 * const listWatch = new ListWatch(transport, Pod, { namespace: 'default' });
 * const informer = new SharedIndexInformer(listWatch);
 */
export class ListWatch<T, I extends string = never> {
  readonly resource: Resource<T, I>;
  /** @internal The expected kind of the objects. */
  readonly expected: ExpectedKind;
  readonly #transport: Transport;
  readonly #path: string;
  #advice: Promise<string | undefined> | undefined;
  #hasSucceeded = false;
  #refusesShards = false;
  readonly #namespace: string;
  readonly #selectors: Record<string, string>;
  readonly #metadataOnly: boolean;
  readonly #what: string;
  readonly #tweak: ((query: Record<string, string>) => void) | undefined;
  readonly #idleTimeout: number;
  readonly #maxListBytes: number | undefined;
  #compression: Compression;

  constructor(transport: Transport, resource: Resource<T, I>, options: ListWatchOptions = {}) {
    requireTransport('transport', transport);
    if (typeof resource?.plural !== 'string') throw notResource('resource', resource);
    requireNames('options', options, 'option of a ListWatch', LIST_WATCH_NAMES);
    const {
      namespace,
      labelSelector,
      fieldSelector,
      metadataOnly = false,
      idleTimeout = WATCH_IDLE_MS,
      compression = 'auto',
    } = options;
    requireBoolean('metadataOnly', metadataOnly);
    requireMs('idleTimeout', idleTimeout);
    if (options.maxListBytes !== undefined) requireInteger('maxListBytes', options.maxListBytes, 1);
    if (!COMPRESSIONS.includes(compression))
      throw invalid('compression', "'auto', 'gzip' or 'identity'", compression);
    if (options.tweak !== undefined) requireFunction('tweak', options.tweak);
    this.resource = resource;
    this.#transport = transport;
    this.#namespace = namespace ?? '';
    this.#path = resourcePath(resource, this.#namespace);
    this.#selectors = {};
    for (const [name, selector] of Object.entries({ labelSelector, fieldSelector })) {
      if (selector === undefined || selector === '') continue;
      requireString(name, selector); // null may be a selector that was not found: not everything
      this.#selectors[name] = selector;
    }
    this.#metadataOnly = metadataOnly;
    if (metadataOnly) noteMetadataOnly(resource);
    this.#tweak = options.tweak;
    this.#idleTimeout = idleTimeout;
    this.#maxListBytes = options.maxListBytes;
    this.#compression = compression;
    const whole = { apiVersion: groupVersion(resource), kind: resource.kind };
    this.#what = describeKind(whole);
    this.expected = metadataOnly
      ? {
          apiVersion: 'meta.k8s.io/v1',
          kind: 'PartialObjectMetadata',
          listKind: 'PartialObjectMetadataList',
          shown: whole,
        }
      : whole;
  }

  /**
   * @internal Gets one page; `reader` gets its bytes as they arrive, and is always closed. Rejects
   *   with StatusError, TransportError, or CapstanError DECODE for a body that is not a list.
   */
  async list(
    query: ListQuery,
    caller: Caller,
    reader: PageReader<T> = jsonDecoder<T>(this.expected).page(),
  ): Promise<ListPage<T>> {
    const parameters: Record<string, string> = { ...this.#selectors };
    if (query.limit > 0) parameters.limit = String(query.limit);
    if (query.continue !== '') parameters.continue = query.continue;
    if (query.resourceVersion !== '') parameters.resourceVersion = query.resourceVersion;
    try {
      const exchange = await this.#get(
        parameters,
        {
          metadataAs: 'PartialObjectMetadataList',
          leavesOutManagedFields: reader.leavesOutManagedFields,
          compression: this.#compression,
          ranges: query.ranges,
        },
        { ...caller, idleMs: LIST_IDLE_MS },
      );
      const most = this.#maxListBytes ?? reader.mostBytes ?? MAX_LIST_BYTES;
      let bytes = 0;
      try {
        for (
          let chunk = await exchange.read();
          chunk !== undefined;
          chunk = exchange.arrived() ?? (await exchange.read())
        ) {
          bytes += chunk.length;
          if (bytes > most) throw tooLargeError(`GET ${this.#path}`, most, TOO_LONG);
          reader.push(chunk);
        }
        return reader.end();
      } finally {
        exchange.close();
      }
    } catch (error) {
      // The compressed body may be broken, or a proxy may have compressed it in another way.
      if (this.#compression === 'auto' && (hasCode(error, 'DECODE') || hasCode(error, 'TOO_LARGE')))
        this.#compression = 'identity';
      throw error;
    } finally {
      reader.close();
    }
  }

  /** @internal Opens a watch. Rejects with StatusError or TransportError. */
  async watch(query: WatchQuery, caller: Caller): Promise<Exchange> {
    const parameters: Record<string, string> = {
      ...this.#selectors,
      allowWatchBookmarks: 'true',
      watch: 'true',
    };
    if (query.resourceVersion !== '') parameters.resourceVersion = query.resourceVersion;
    if (query.sendInitialEvents) {
      parameters.sendInitialEvents = 'true';
      parameters.resourceVersionMatch = 'NotOlderThan';
    }
    parameters.timeoutSeconds = String(query.timeoutSeconds);
    const totalMs = query.timeoutSeconds * 1000 + WATCH_GRACE_MS;
    const { leavesOutManagedFields, ranges } = query;
    return this.#get(
      parameters,
      { metadataAs: 'PartialObjectMetadata', leavesOutManagedFields, ranges },
      { ...caller, totalMs, idleMs: this.#idleTimeout },
    );
  }

  /**
   * @internal Checks whether the server has reached `resourceVersion`; one that was restored from
   *   an older backup may not have, and a watch would wait silently. Resolves with the server's
   *   error if it has not, otherwise, and if unsure, with `undefined`. Never rejects.
   */
  async behind(resourceVersion: string, caller: Caller): Promise<unknown> {
    const query = {
      ...this.#selectors,
      limit: '1',
      resourceVersion,
      resourceVersionMatch: 'NotOlderThan',
    };
    try {
      (
        await this.#get(
          query,
          { metadataAs: 'PartialObjectMetadataList' },
          { ...caller, idleMs: LIST_IDLE_MS, repeats: 0 },
        )
      ).close();
      return undefined;
    } catch (error) {
      return isTooLargeResourceVersion(error) ? error : undefined;
    }
  }

  /**
   * @internal Whether the error of a list means that the server no longer serves the resource in
   *   any version of its group. Reads discovery: one request, and one for each version. Never
   *   rejects; false if unsure.
   */
  isGone(error: unknown, caller: Caller): Promise<boolean> {
    return confirmAbsence(this.#transport, this.resource, error, caller);
  }

  /**
   * The namespace and selectors of the requests, including changes by `tweak`, which may differ for
   * list and watch.
   */
  selection(): Required<Omit<Selection, 'covers'>> & Selection & { metadataOnly: boolean } {
    const query: Record<string, string> = { ...this.#selectors };
    const watchQuery: Record<string, string> = { ...query, watch: 'true' };
    this.#applyTweak(query);
    this.#applyTweak(watchQuery);
    const { labelSelector = '', fieldSelector = '' } = query;
    const others: Record<string, string> = {};
    for (const [name, value] of Object.entries({ ...watchQuery, ...query }))
      if (!KNOWN_PARAMETERS.has(name)) others[name] = value;
    const isUnknown =
      Object.keys(others).length > 0 ||
      ['labelSelector', 'fieldSelector'].some((name) => watchQuery[name] !== query[name]);
    return {
      namespace: this.#namespace,
      ...{ labelSelector, fieldSelector, others, isUnknown },
      metadataOnly: this.#metadataOnly,
    };
  }

  /**
   * @internal Throws CapstanError SHARD_SELECTOR if `tweak` sets a shardSelector: a cache with
   *   ranges would take the objects that it leaves out for deleted.
   */
  requireNoShardSelector(): void {
    const { others = {} } = this.selection();
    if (others.shardSelector !== undefined) throw this.#twoSelectors(others.shardSelector);
  }

  /** @internal Whether the server has refused a shardSelector, which is not sent again. */
  get refusesShards(): boolean {
    return this.#refusesShards;
  }

  /** `v1 ConfigMap`, for messages; also with `metadataOnly`. */
  describe(): string {
    return this.#what;
  }

  /** The RBAC rule for the message of a 403. It has both verbs, as a cache needs both. */
  #missingRule(): string {
    const { group, plural } = this.resource;
    const resources = `apiGroups: [${show(group)}], resources: [${show(plural)}]`;
    const rule = `{ ${resources}, verbs: ["list", "watch"] }`;
    const where =
      this.#namespace === ''
        ? 'a ClusterRole, by a ClusterRoleBinding'
        : `a Role of the namespace ${show(this.#namespace)}, by a RoleBinding`;
    return `; a cache needs the rule ${rule} in ${where}`;
  }

  /**
   * What the server serves instead of the resource, for the message of a 404. Requested once, and
   * not after a request has succeeded.
   */
  async #adviceOn404(text: string, { clock, signal, terse }: Caller): Promise<string> {
    if (this.#hasSucceeded || terse) return '';
    this.#advice ??= adviceOn404(this.#transport, this.resource, { clock, signal }, text);
    return (await this.#advice) ?? '';
  }

  #noShards(): void {
    if (this.#refusesShards) return;
    this.#refusesShards = true;
    const message =
      `the server refuses a shardSelector for ${this.#what} and answers without one: it sends ` +
      'all objects, and those outside of the ranges of this cache are dropped here';
    handleError(new CapstanError('SHARD_SELECTOR', message), 'reflector');
  }

  #twoSelectors(given: unknown): CapstanError {
    return new CapstanError(
      'SHARD_SELECTOR',
      `tweak() of ${this.#what}: expected no shardSelector, as the cache has ranges of its own ` +
        `and would take what another selector leaves out for deleted, got ${show(given)}`,
    );
  }

  #applyTweak(query: Record<string, string>): void {
    const answer: unknown = this.#tweak?.(query);
    // Changes after a promise would be too late for the request.
    if (isThenable(answer))
      throw invalid('tweak()', 'nothing, from a function that is not async', answer);
  }

  async #get(
    query: Record<string, string>,
    wanted: Wanted,
    options: Caller & Pick<RepeatOptions, 'idleMs' | 'totalMs' | 'repeats'>,
  ): Promise<Exchange> {
    const { metadataAs, leavesOutManagedFields = false, compression = 'identity', ranges } = wanted;
    const isAsked = ranges !== undefined && !ranges.byName && !this.#refusesShards;
    if (isAsked) query.shardSelector = ranges.selector();
    const selector = query.shardSelector;
    this.#applyTweak(query);
    if (ranges !== undefined && query.shardSelector !== selector)
      throw this.#twoSelectors(query.shardSelector);
    const plain = this.#metadataOnly
      ? `application/json;as=${metadataAs};g=meta.k8s.io;v=v1`
      : 'application/json';
    const accept = leavesOutManagedFields ? withoutManagedFields(plain) : plain;
    // Identity: kube-apiserver ends a gzip member at each flush of a compressed watch, and some
    // runtimes read only the first.
    const headers = { accept, 'accept-encoding': 'identity' };
    const request: TransportRequest = { method: 'GET', path: this.#path, query, headers };
    if (compression !== 'identity') request.compression = compression;
    // Only bytes of successful answers count as a sign of life.
    let succeeded = false;
    const onBytes = (now: number): void => {
      if (succeeded) options.onBytes?.(now);
    };
    const send = () => sendWithRepeats(this.#transport, request, { ...options, onBytes });
    let exchange = await send();
    // kube-apiserver answers 500 to a selector that it cannot read.
    if (isAsked && (exchange.status === 500 || exchange.status === 400)) {
      exchange.close();
      delete query.shardSelector;
      exchange = await send();
      if (exchange.status === 200) this.#noShards();
    }
    if (exchange.status !== 200) {
      const text = await exchange.explanation();
      const advice =
        exchange.status === 403
          ? this.#missingRule()
          : exchange.status === 404
            ? await this.#adviceOn404(text, options)
            : '';
      throw statusErrorFromAnswer(exchange.status, text, `GET ${this.#path}`, advice);
    }
    succeeded = true;
    this.#hasSucceeded = true;
    try {
      onBytes(options.clock.now());
    } catch (error) {
      exchange.close(); // the user's clock may throw
      throw error;
    }
    return exchange;
  }
}

/** The wanted form of an answer. */
interface Wanted {
  /** With `metadataOnly`, the kind that metadata come as. */
  metadataAs: string;
  leavesOutManagedFields?: boolean | undefined;
  compression?: Compression | undefined;
  ranges?: HashRanges | undefined;
}

/**
 * KEP-5958. A kube-apiserver that does not know the parameter ignores it; a server that refuses
 * unknown parameters takes the second type.
 */
function withoutManagedFields(type: string): string {
  return `${type};drop=metadata.managedFields,${type};q=0.9`;
}

function resourcePath<T, I extends string>(resource: Resource<T, I>, namespace: string): string {
  const { plural, namespaced } = resource;
  if (namespace !== '' && !namespaced)
    throw invalid('namespace', `none, as ${plural} are not namespaced`, namespace);
  const scope = namespace === '' ? '' : `/namespaces/${pathSegment('namespace', namespace)}`;
  return `${groupVersionPath(resource)}${scope}/${pathSegment('plural', plural)}`;
}
