/**
 * One resource at one server, as two requests: list and watch. It knows paths, selectors and
 * headers, and what an object of this resource looks like; when to ask for what is the reflector's
 * business. client-go: tools/cache/listwatch.go.
 */
import {
  invalid,
  requireFunction,
  requireInteger,
  requireMs,
  requireString,
  show,
} from '../../base/errors.ts';
import { namesOf, requireNames } from '../../base/names.ts';
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
import { noteMetadataOnly } from '../rest/metadata-only.ts';
import { groupVersion, type Resource } from '../rest/resource.ts';
import { type Caller, type RepeatOptions, sendWithRepeats } from '../rest/rest.ts';
import { isTooLargeResourceVersion, statusErrorFromAnswer } from '../rest/status-error.ts';
import type { Transport } from '../rest/transport.ts';
import { adviceOn404, confirmAbsence, groupVersionPath } from './discovery.ts';
import type { ListQuery } from './pager.ts';
import type { Selection } from './selection.ts';

/** Which objects of a resource are asked for. */
export interface ListWatchOptions {
  /** One namespace; none or "" is all of them. */
  namespace?: string | undefined;
  /** As text: `labelSelectorText` makes it of a selector as objects carry it. */
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
  /**
   * Asks for PartialObjectMetadata: objects without spec, status and data. They show the kind and
   * apiVersion of the resource, as in controller-runtime's cache. A server that sends whole objects
   * is refused.
   */
  metadataOnly?: boolean | undefined;
  /**
   * Changes the query of each request before it is sent, such as `query.fieldSelector =
   * 'metadata.name=a'`. It sees what the reflector put there and may overrule it. Where it adds
   * parameters that are not known here, such as `shardSelector`, a client with the cache asks the
   * server which of its writes the cache is to show, and deletions of written objects that no list
   * and no event can tell are not told. client-go: WithTweakListOptions.
   */
  tweak?: ((query: Record<string, string>) => void) | undefined;
  /**
   * Milliseconds without a byte after which a watch counts as a lost connection: it is opened again
   * from the last version, without a list and without an error, unless the server answers that it
   * has not reached that version, as after its restoration from an older backup: then everything is
   * listed. Default 150 000; 0: never. A quiet watch gets a bookmark each minute from
   * kube-apiserver, though none is promised; a server that sends none costs two requests each time.
   * Over `capstan/client-node` dead connections are found within 45 s by other means; over fetch
   * this is the only one.
   */
  idleTimeout?: number | undefined;
  /**
   * The longest answer to one request for a list, in bytes; a longer one is a failure with
   * CapstanError TOO_LARGE (class `decode`), and what is cached stays. Default 2 GiB where objects
   * are kept as bytes, 512 MiB where they are decoded at once. kube-apiserver answers a list from
   * its watch cache in one piece, whatever its limit. See also `maxObjectBytes` of informers.
   */
  maxListBytes?: number | undefined;
}

export const LIST_WATCH_NAMES = namesOf<ListWatchOptions>()({
  namespace: 1,
  labelSelector: 1,
  fieldSelector: 1,
  metadataOnly: 1,
  tweak: 1,
  idleTimeout: 1,
  maxListBytes: 1,
});

export interface WatchQuery {
  /** "" is: whatever the server has now. */
  resourceVersion: string;
  /** When the server is to end the watch. */
  timeoutSeconds: number;
  /** Begin with all objects as ADDED events, and end those by a bookmark. KEP-3157. */
  sendInitialEvents?: boolean;
}

/**
 * A list may be silent for this long. kube-apiserver answers any request but a watch within 60 s
 * (--request-timeout), if only with 504; beyond that the connection is dead, and TCP alone would
 * take up to half an hour to say so.
 */
export const LIST_IDLE_MS = 90_000;
/** Two bookmarks of kube-apiserver's (one a minute) may be missed, and half a minute more. */
const WATCH_IDLE_MS = 150_000;
/** Those that leave nothing out, or of which it is known what they do. */
const KNOWN_PARAMETERS = new Set([
  ...['labelSelector', 'fieldSelector', 'limit', 'continue', 'resourceVersion', 'pretty'],
  ...['resourceVersionMatch', 'watch', 'allowWatchBookmarks', 'sendInitialEvents'],
  'timeoutSeconds',
]);
const MOST_LIST_BYTES = 2 ** 31;
const TOO_LONG =
  'stream it (`watchList: true`), select less by namespace or selector, or set `maxListBytes`; a client reads it by pages (`limit` and `continue`)';
/** How long after its own timeoutSeconds a watch that the server did not end counts as dead. */
const WATCH_GRACE_MS = 30_000;

/**
 * What to list and watch, for a {@link SharedIndexInformer}, a {@link Reflector} or a {@link
 * RetryWatcher}. Kinds that are not known ahead are described by {@link resourceOf}.
 *
 * @throws CapstanError INVALID_ARGUMENT, also for a namespace with a resource that has none
 * @example
 * const informer = new SharedIndexInformer(new ListWatch(transport, Pod, { namespace: 'default' }));
 */
export class ListWatch<T, I extends string = never> {
  readonly resource: Resource<T, I>;
  /** @internal What the objects of list and watch are. */
  readonly expected: ExpectedKind;
  readonly #transport: Transport;
  readonly #path: string;
  #advice: Promise<string | undefined> | undefined;
  #served = false;
  readonly #namespace: string;
  readonly #selectors: Record<string, string>;
  readonly #metadataOnly: boolean;
  readonly #what: string;
  readonly #tweak: ((query: Record<string, string>) => void) | undefined;
  readonly #idleTimeout: number;
  readonly #maxListBytes: number | undefined;

  constructor(transport: Transport, resource: Resource<T, I>, options: ListWatchOptions = {}) {
    requireFunction('transport.request', (transport as Partial<Transport> | undefined)?.request);
    if (typeof resource?.plural !== 'string')
      throw invalid('resource', 'what defineResource returns', resource);
    requireNames('options', options, 'option of a ListWatch', LIST_WATCH_NAMES);
    const {
      namespace,
      labelSelector,
      fieldSelector,
      metadataOnly = false,
      idleTimeout = WATCH_IDLE_MS,
    } = options;
    requireMs('idleTimeout', idleTimeout);
    if (options.maxListBytes !== undefined) requireInteger('maxListBytes', options.maxListBytes, 1);
    if (options.tweak !== undefined) requireFunction('tweak', options.tweak);
    this.resource = resource;
    this.#transport = transport;
    this.#namespace = namespace ?? '';
    this.#path = resourcePath(resource, this.#namespace);
    this.#selectors = {};
    for (const [name, selector] of Object.entries({ labelSelector, fieldSelector })) {
      if (!selector) continue;
      requireString(name, selector);
      this.#selectors[name] = selector;
    }
    this.#metadataOnly = metadataOnly;
    if (metadataOnly) noteMetadataOnly(resource);
    this.#tweak = options.tweak;
    this.#idleTimeout = idleTimeout;
    this.#maxListBytes = options.maxListBytes;
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
   * @internal One page, read by `reader` as its bytes arrive; the reader is closed in any case.
   * Rejects with StatusError, TransportError, or CapstanError DECODE for a body that is not a list.
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
      const exchange = await this.#get(parameters, 'PartialObjectMetadataList', {
        ...caller,
        idleMs: LIST_IDLE_MS,
      });
      const most = this.#maxListBytes ?? reader.mostBytes ?? MOST_LIST_BYTES;
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
    } finally {
      reader.close();
    }
  }

  /**
   * @internal The open stream, whose bytes are frames. Rejects with StatusError or TransportError.
   */
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
    return this.#get(parameters, 'PartialObjectMetadata', {
      ...caller,
      totalMs,
      idleMs: this.#idleTimeout,
    });
  }

  /**
   * @internal The refusal by a server that has not reached `resourceVersion`, as one that was
   * restored from an older backup, where a watch would wait for it without a word. Never rejects:
   * in doubt, `undefined`.
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
        await this.#get(query, 'PartialObjectMetadataList', {
          ...caller,
          idleMs: LIST_IDLE_MS,
          repeats: 0,
        })
      ).close();
      return undefined;
    } catch (error) {
      return isTooLargeResourceVersion(error) ? error : undefined;
    }
  }

  /**
   * @internal Whether `error`, with which a list was refused, means that the server no longer knows
   * the resource, in any version of its group. Asks discovery: one request, and one for each
   * version that is left. Never rejects: in doubt, false.
   */
  isGone(error: unknown, caller: Caller): Promise<boolean> {
    return confirmAbsence(this.#transport, this.resource, error, caller);
  }

  /**
   * What the requests are restricted to, as the server is asked: lists and watches, which a tweak
   * may treat in different ways.
   */
  selection(): Required<Selection> & { metadataOnly: boolean } {
    const query: Record<string, string> = { ...this.#selectors };
    const watchQuery: Record<string, string> = { ...query, watch: 'true' };
    this.#change(query);
    this.#change(watchQuery);
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

  /** `v1 ConfigMap`, for messages; also where only metadata are asked for. */
  describe(): string {
    return this.#what;
  }

  /** A cache needs both verbs, and a list that is allowed does not say that a watch is. */
  #missingRule(): string {
    const { group, plural } = this.resource;
    const rule = `{ apiGroups: [${show(group)}], resources: [${show(plural)}], verbs: ["list", "watch"] }`;
    const where =
      this.#namespace === ''
        ? 'a ClusterRole, by a ClusterRoleBinding'
        : `a Role of the namespace ${show(this.#namespace)}, by a RoleBinding`;
    return `; a cache needs the rule ${rule} in ${where}`;
  }

  /** Asked for once, and not of a resource that has been served. */
  async #instead(text: string, { clock, signal, terse }: Caller): Promise<string> {
    if (this.#served || terse) return '';
    this.#advice ??= adviceOn404(this.#transport, this.resource, { clock, signal }, text);
    return (await this.#advice) ?? '';
  }

  #change(query: Record<string, string>): void {
    const answer: unknown = this.#tweak?.(query);
    // What it changes later is in no request.
    if (isThenable(answer))
      throw invalid('tweak()', 'nothing, from a function that is not async', answer);
  }

  async #get(
    query: Record<string, string>,
    metadataAs: string,
    options: Caller & Pick<RepeatOptions, 'idleMs' | 'totalMs' | 'repeats'>,
  ) {
    this.#change(query);
    const accept = this.#metadataOnly
      ? `application/json;as=${metadataAs};g=meta.k8s.io;v=v1`
      : 'application/json';
    // Identity: kube-apiserver ends a gzip member at each flush of a compressed watch, and hosts
    // differ in reading past the first.
    const headers = { accept, 'accept-encoding': 'identity' };
    const request = { method: 'GET', path: this.#path, query, headers };
    // The bytes of a refusal are no sign of life: what they say is not what a cache holds.
    let served = false;
    const onBytes = (now: number): void => {
      if (served) options.onBytes?.(now);
    };
    const exchange = await sendWithRepeats(this.#transport, request, { ...options, onBytes });
    if (exchange.status !== 200) {
      const text = await exchange.explanation();
      const advice =
        exchange.status === 403
          ? this.#missingRule()
          : exchange.status === 404
            ? await this.#instead(text, options)
            : '';
      throw statusErrorFromAnswer(exchange.status, text, `GET ${this.#path}`, advice);
    }
    served = true;
    this.#served = true;
    try {
      onBytes(options.clock.now());
    } catch (error) {
      exchange.close(); // a clock that throws, which is a user's
      throw error;
    }
    return exchange;
  }
}

function resourcePath<T, I extends string>(resource: Resource<T, I>, namespace: string): string {
  const { plural, namespaced } = resource;
  if (namespace !== '' && !namespaced)
    throw invalid('namespace', `none, as ${plural} are not namespaced`, namespace);
  const scope = namespace === '' ? '' : `/namespaces/${pathSegment('namespace', namespace)}`;
  return `${groupVersionPath(resource)}${scope}/${pathSegment('plural', plural)}`;
}
