/**
 * A ListWatch made of a program's own functions, for sources that are not an API server. The
 * functions become a transport, so that everything above it works as for a server. client-go:
 * cache.ListWatch with ListFunc and WatchFunc.
 */
import { type Clock, requireClock, systemClock } from '../../base/clock.ts';
import { textOfError } from '../../base/error-text.ts';
import { hasCode, invalid, requireFunction, requireMs } from '../../base/errors.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import type { KubeObject } from '../../base/object.ts';
import { groupVersion, notResource, type Resource } from '../../base/resource.ts';
import { abortable, onAbort, sleep } from '../../base/wait.ts';
import { isStatusError, type Status } from '../rest/status-error.ts';
import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from '../rest/transport.ts';
import { groupVersionPath } from './discovery.ts';
import { ListWatch } from './list-watch.ts';

/** The answer of `list` of {@link ListWatchFunctions}. */
export interface ListedObjects<T> {
  readonly items: readonly T[];
  /** The version of this state, from which `watch` begins. Not read without `watch`. */
  readonly resourceVersion?: string | undefined;
}

/** One change, from `watch` of {@link ListWatchFunctions}. */
export interface ListWatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** With a `metadata.resourceVersion`; of a deletion the last state, with a new version. */
  readonly object: T;
}

/** The functions of a source that is not an API server. */
export interface ListWatchFunctions<T> {
  /** All objects. Each has a `metadata.name`, and a namespace where the resource has namespaces. */
  readonly list: (options: {
    readonly signal: AbortSignal;
  }) => ListedObjects<T> | Promise<ListedObjects<T>>;
  /**
   * The changes after a version, until the signal fires, which it does every five to ten minutes;
   * then, and when the iteration ends, it is called again with the version of the last event. When
   * it fails, the objects are listed again: if it cannot go on from a version, it throws a {@link
   * StatusError} 410. Without this function they are listed every `pollInterval`, and what differs
   * becomes events.
   */
  readonly watch?:
    | ((options: {
        readonly resourceVersion: string;
        readonly signal: AbortSignal;
      }) => AsyncIterable<ListWatchEvent<T>>)
    | undefined;
  /** Milliseconds between two lists, without `watch`. Default 60 000. */
  readonly pollInterval?: number | undefined;
  readonly clock?: Clock | undefined;
}

const NAMES = namesOf<ListWatchFunctions<never>>()({
  list: 1,
  watch: 1,
  pollInterval: 1,
  clock: 1,
});

/**
 * Makes a ListWatch of functions: an informer over it has the objects of another system, with
 * indices, listers, handlers and sources for controllers. Without `watch` the source is listed
 * every `pollInterval`; versions are counted here then. One ListWatch is for one informer.
 *
 * An error of `list` or `watch` is reported as a failure of the informer, which tries again with
 * back-off. client-go: cache.ListWatch.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * interface Repository {
 *   metadata: { name: string };
 *   stars: number;
 * }
 * const Repository = defineResource<Repository>()({
 *   ...{ group: 'git.example.com', version: 'v1', namespaced: false },
 *   kind: 'Repository',
 *   plural: 'repositories',
 * });
 * const list = async ({ signal }: { signal: AbortSignal }) => {
 *   const answer = await fetch('https://git.example.com/repositories', { signal });
 *   const found = (await answer.json()) as { name: string; stars: number }[];
 *   return { items: found.map(({ name, stars }) => ({ metadata: { name }, stars })) };
 * };
 * const informer = new SharedIndexInformer(listWatchFrom(Repository, { list }));
 */
export function listWatchFrom<T extends object, I extends string = never>(
  resource: Resource<T, I>,
  functions: ListWatchFunctions<T>,
): ListWatch<T, I> {
  if (typeof resource?.plural !== 'string') throw notResource('resource', resource);
  requireNames('functions', functions, 'member of the functions of a ListWatch', NAMES);
  requireFunction('functions.list', functions.list);
  if (functions.watch !== undefined) requireFunction('functions.watch', functions.watch);
  const { pollInterval = 60_000, clock = systemClock } = functions;
  requireMs('functions.pollInterval', pollInterval);
  if (pollInterval === 0) throw invalid('functions.pollInterval', 'more than 0', pollInterval);
  requireClock('functions.clock', clock);
  const transport = new FunctionTransport<T>(resource, functions, pollInterval, clock);
  return new ListWatch(transport, resource, { idleTimeout: 0 });
}

type Frame = { type: ListWatchEvent<object>['type'] | 'ERROR' | 'BOOKMARK'; object: object };

class FunctionTransport<T extends object> implements Transport {
  readonly #path: string;
  readonly #kind: { readonly apiVersion: string; readonly kind: string };
  readonly #functions: ListWatchFunctions<T>;
  readonly #pollInterval: number;
  readonly #clock: Clock;
  /** Without `watch`: the last state by key, as JSON without a version. */
  #known = new Map<string, { readonly text: string; readonly version: number }>();
  #version = 0;
  #listedAt = 0;

  constructor(
    resource: Resource<T, string>,
    functions: ListWatchFunctions<T>,
    pollInterval: number,
    clock: Clock,
  ) {
    this.#path = `${groupVersionPath(resource)}/${resource.plural}`;
    this.#kind = { apiVersion: groupVersion(resource), kind: resource.kind };
    this.#functions = functions;
    this.#pollInterval = pollInterval;
    this.#clock = clock;
  }

  async request({ path, query = {}, signal }: TransportRequest): Promise<TransportResponse> {
    const ends = signal ?? new AbortController().signal;
    // There is no discovery. With an answer of 503 the reflector does not take the resource for
    // gone.
    if (path !== this.#path) return answer(503, failure(503, 'ServiceUnavailable', 'no server'));
    if (query.watch !== 'true') {
      // The reflector asks whether the server has reached a version.
      if (query.resourceVersionMatch !== undefined) return answer(200, this.#page([], '1'));
      try {
        return answer(200, await this.#list(ends));
      } catch (error) {
        if (isStatusError(error)) return answer(error.status, statusOf(error.status, error.body));
        throw ends.aborted ? aborted(error) : failed(error);
      }
    }
    if (query.sendInitialEvents !== undefined)
      return answer(422, failure(422, 'Invalid', 'sendInitialEvents is not supported'));
    const { resourceVersion = '', timeoutSeconds = '300' } = query;
    const run = new AbortController();
    const unlisten = onAbort(ends, () => run.abort());
    const timer = this.#clock.setTimer(() => run.abort(), Number(timeoutSeconds) * 1000);
    const frames =
      this.#functions.watch === undefined
        ? this.#poll(resourceVersion, run.signal)
        : this.#watch(this.#functions.watch, resourceVersion, run.signal);
    return {
      ...answer(200, undefined),
      body: encoded(frames, ends, run.signal, () => {
        unlisten();
        this.#clock.clearTimer(timer);
        run.abort();
      }),
    };
  }

  async #list(signal: AbortSignal): Promise<object> {
    const { items, resourceVersion } = await this.#listed(signal);
    if (this.#functions.watch === undefined) {
      this.#changes(items);
      return this.#page(
        items.map((item) => this.#shown(item)),
        String(this.#version),
      );
    }
    if (typeof resourceVersion !== 'string' || resourceVersion === '')
      throw invalid(
        'list().resourceVersion',
        'a version, from which watch() begins',
        resourceVersion,
      );
    return this.#page(
      items.map((item) => this.#object(item, resourceVersion)),
      resourceVersion,
    );
  }

  async #listed(signal: AbortSignal): Promise<ListedObjects<T>> {
    this.#listedAt = this.#clock.now();
    const listed = await abortable(Promise.resolve(this.#functions.list({ signal })), signal);
    if (!Array.isArray(listed?.items)) throw invalid('list().items', 'an array', listed?.items);
    return listed;
  }

  async *#poll(from: string, signal: AbortSignal): AsyncGenerator<Frame> {
    for (let last = from; last === String(this.#version); last = String(this.#version)) {
      const due = this.#listedAt + this.#pollInterval - this.#clock.now();
      await sleep(this.#clock, Math.max(due, 0), signal);
      if (signal.aborted) return;
      const { items } = await this.#listed(signal);
      yield* this.#changes(items);
    }
    // Another informer has listed meanwhile.
    yield { type: 'ERROR', object: failure(410, 'Expired', 'the state is not known') };
  }

  /** Keeps a new state; returns how it differs from the last one. */
  #changes(items: readonly T[]): Frame[] {
    const texts = new Map(
      items.map((item) => {
        const object = this.#object(item, undefined);
        return [keyOf(object), JSON.stringify(object)] as const;
      }),
    );
    if (texts.size < items.length)
      throw invalid('list().items', 'objects with different names', `${items.length} objects`);
    const frames: Frame[] = [];
    const next = new Map<string, { text: string; version: number }>();
    const before = this.#known;
    let version = this.#version;
    for (const [key, { text }] of before)
      if (!texts.has(key)) frames.push({ type: 'DELETED', object: withVersion(text, ++version) });
    for (const [key, text] of texts) {
      const old = before.get(key);
      if (old?.text === text) next.set(key, old);
      else {
        next.set(key, { text, version: ++version });
        const type = old === undefined ? 'ADDED' : 'MODIFIED';
        frames.push({ type, object: withVersion(text, version) });
      }
    }
    this.#version = Math.max(version, 1);
    this.#known = next;
    return frames;
  }

  /** An object of the last state. */
  #shown(item: T): object {
    const { text, version } = this.#known.get(keyOf(item)) as { text: string; version: number };
    return withVersion(text, version);
  }

  async *#watch(
    watch: NonNullable<ListWatchFunctions<T>['watch']>,
    resourceVersion: string,
    signal: AbortSignal,
  ): AsyncGenerator<Frame> {
    const events = watch({ resourceVersion, signal });
    requireFunction('watch()[Symbol.asyncIterator]', events?.[Symbol.asyncIterator]);
    const iterator = events[Symbol.asyncIterator]();
    try {
      for (;;) {
        const { done, value } = await abortable(Promise.resolve(iterator.next()), signal);
        if (done) return;
        const { type, object } = value ?? {};
        if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED')
          throw invalid('type of an event', 'ADDED, MODIFIED or DELETED', type);
        yield { type, object: this.#object(object, undefined, true) };
      }
    } finally {
      // Not waited for: a generator returns only when its pending next() has settled.
      void Promise.resolve(iterator.return?.()).catch(() => undefined);
    }
  }

  #object(item: T, listVersion: string | undefined, needsVersion = false): object {
    const metadata = (item as KubeObject | undefined)?.metadata;
    if (typeof metadata?.name !== 'string' || metadata.name === '')
      throw invalid('object', 'an object with a metadata.name', item);
    const { resourceVersion = listVersion, ...others } = metadata;
    if (needsVersion && !resourceVersion)
      throw invalid('object of an event', 'a metadata.resourceVersion', resourceVersion);
    const version = resourceVersion === undefined ? {} : { resourceVersion };
    const uid = keyOf(item);
    const own = this.#functions.watch === undefined ? {} : version;
    return { ...item, ...this.#kind, metadata: { uid, ...others, ...own } };
  }

  #page(items: readonly object[], resourceVersion: string): object {
    const { apiVersion, kind } = this.#kind;
    return { apiVersion, kind: `${kind}List`, metadata: { resourceVersion }, items };
  }
}

function keyOf(object: object): string {
  const { namespace = '', name = '' } = (object as KubeObject).metadata ?? {};
  return namespace === '' ? name : `${namespace}/${name}`;
}

function withVersion(text: string, version: number): object {
  const object = JSON.parse(text) as { metadata: object };
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
}

function failure(code: number, reason: string, message: string): Status {
  return statusOf(code, { code, reason, message });
}

function statusOf(code: number, body: Status): Status {
  return { ...body, kind: 'Status', apiVersion: 'v1', status: 'Failure', code };
}

function failed(cause: unknown): Error {
  if (hasCode(cause, 'INVALID_ARGUMENT')) return cause as Error;
  return new TransportError('unknown', `the function failed: ${textOfError(cause)}`, { cause });
}

const aborted = (cause: unknown): TransportError =>
  new TransportError('aborted', 'the signal has fired', { cause });

const bytesOf = (value: object): Uint8Array =>
  new TextEncoder().encode(`${JSON.stringify(value)}\n`);

function answer(status: number, value: object | undefined): TransportResponse {
  return { status, headers: { get: () => null }, body: once(value) };
}

async function* once(value: object | undefined): AsyncGenerator<Uint8Array> {
  if (value !== undefined) yield bytesOf(value);
}

/** The bytes of a watch. An error becomes an ERROR event, which is reported; a list follows it. */
async function* encoded(
  frames: AsyncIterable<Frame>,
  signal: AbortSignal,
  over: AbortSignal,
  end: () => void,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const frame of frames) yield bytesOf(frame);
  } catch (error) {
    if (signal.aborted) throw aborted(error);
    if (over.aborted) return;
    const object = isStatusError(error)
      ? statusOf(error.status, error.body)
      : failure(500, 'InternalError', `the function failed: ${textOfError(error)}`);
    yield bytesOf({ type: 'ERROR', object });
  } finally {
    end();
  }
}
