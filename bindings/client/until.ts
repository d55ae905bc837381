/**
 * Waits by a watch until one object is in a state, and polls any other condition.
 * client-go: tools/watch/until.go; apimachinery: pkg/util/wait; kube-rs: runtime::wait.
 */
import { BACKOFF_NAMES, Backoff, type BackoffOptions, guardRandom } from '../base/backoff.ts';
import { type Clock, requireClock, systemClock } from '../base/clock.ts';
import { aborted, CapstanError, invalid, requireFunction, requireMs } from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { FromServer } from '../base/object.ts';
import type { Resource } from '../base/resource.ts';
import { deferred, onAbort, sleep } from '../base/wait.ts';
import { ListWatch } from '../cache/reflector/list-watch.ts';
import { Reflector } from '../cache/reflector/reflector.ts';
import type { WatchErrorHandler } from '../cache/reflector/status.ts';
import { isDenied } from '../cache/rest/status-error.ts';
import type { Transport } from '../cache/rest/transport.ts';
import { objectPath, requireNamespace } from './paths.ts';
import { transportOf } from './transport-of.ts';
import type { Client, ObjectKey } from './types.ts';

/** Options of {@link watchObject}. */
export interface WatchObjectOptions {
  /** Ends the loop, without an error. */
  readonly signal?: AbortSignal | undefined;
  /** Gets each failure after which the watch continues. Default: failures are not reported. */
  readonly watchErrorHandler?: WatchErrorHandler | undefined;
  readonly clock?: Clock | undefined;
}

/** Options of {@link until}. */
export interface UntilOptions {
  /** Ends the wait with the error ABORTED. */
  readonly signal?: AbortSignal | undefined;
  /** In milliseconds. Then the wait ends with the error TIMEOUT. Default: no timeout. */
  readonly timeout?: number | undefined;
  readonly clock?: Clock | undefined;
}

/** Options of {@link pollUntil}. */
export interface PollOptions extends UntilOptions {
  /**
   * The pauses between calls. Default: `{ duration: 1000, factor: 1, jitter: 0.1, cap: 30_000 }`,
   * which is about one second. With a `factor` of 2 each pause is twice as long, up to `cap`.
   */
  readonly backoff?: BackoffOptions | undefined;
  /** Whether the first call comes without a pause. Default true. */
  readonly immediate?: boolean | undefined;
  /** Random numbers in [0, 1), for the jitter. Default Math.random. */
  readonly random?: (() => number) | undefined;
}

const WATCH_NAMES = namesOf<WatchObjectOptions>()({
  signal: 1,
  watchErrorHandler: 1,
  clock: 1,
});
const UNTIL_NAMES = namesOf<UntilOptions>()({ signal: 1, timeout: 1, clock: 1 });
const POLL_NAMES = namesOf<PollOptions>()({
  ...UNTIL_NAMES,
  backoff: BACKOFF_NAMES,
  immediate: 1,
  random: 1,
});

/**
 * The states of one object: first the present one, then each newer one, and `undefined` if the
 * object does not exist. A loop that is slower than the changes gets only the newest state. The
 * watch is opened again when it ends or fails. It needs the verbs `list` and `watch`. client-go: a
 * ListWatch of fields.OneTermEqualSelector("metadata.name", name).
 *
 * @param from a client of `newClient`, `fakeClient` or a manager, or a transport
 * @throws CapstanError INVALID_ARGUMENT; StatusError if the server forbids it (401, 403)
 * @example
 * const key = { namespace: 'default', name: 'settings' };
 * for await (const settings of watchObject(client, ConfigMap, key, { signal }))
 *   use(settings?.data ?? {});
 */
export function watchObject<T extends object>(
  from: Client | Transport,
  resource: Resource<T, string>,
  key: ObjectKey,
  options: WatchObjectOptions = {},
): AsyncGenerator<FromServer<T> | undefined, void, undefined> {
  requireNames('options', options, 'option of watchObject()', WATCH_NAMES);
  const { clock, watchErrorHandler, signal } = options;
  if (watchErrorHandler !== undefined)
    requireFunction('options.watchErrorHandler', watchErrorHandler);
  return new ObjectWatch<T>(from, resource, key, clock, watchErrorHandler).states(signal);
}

/**
 * Watches one object until the predicate returns true. Resolves with the object, or with
 * `undefined` if the predicate accepts that it does not exist. The predicate gets the present state
 * first, then each newer one. States that arrive while it runs are skipped, except the newest.
 * client-go: watchtools.UntilWithSync.
 *
 * @param from a client of `newClient`, `fakeClient` or a manager, or a transport
 * @param predicate may return a promise; its error rejects the wait
 * @throws CapstanError TIMEOUT, with the last failure of the watch as its cause; ABORTED;
 *   INVALID_ARGUMENT; StatusError if the server forbids it (401, 403)
 * @example
 * const key = { namespace: 'default', name: 'web-0' };
 * const running = await until(client, Pod, key, (pod) => pod?.status?.phase === 'Running', {
 *   timeout: 60_000,
 *   signal,
 * });
 * await client.delete(Pod, key);
 * await until(client, Pod, key, (pod) => pod?.metadata.uid !== running?.metadata.uid, { signal });
 */
export async function until<T extends object>(
  from: Client | Transport,
  resource: Resource<T, string>,
  key: ObjectKey,
  predicate: (object: FromServer<T> | undefined) => boolean | Promise<boolean>,
  options: UntilOptions = {},
): Promise<FromServer<T> | undefined> {
  requireNames('options', options, 'option of until()', UNTIL_NAMES);
  requireFunction('predicate', predicate);
  const { clock = systemClock, signal } = options;
  const watch = new ObjectWatch<T>(from, resource, key, clock);
  const end = new Deadline(clock, signal, options.timeout, `waiting for ${watch.what}`);
  try {
    for await (const object of watch.states(end.signal)) {
      const isMet: unknown = await end.orEnd(predicate(object), () => watch.lastFailure);
      if (typeof isMet !== 'boolean') throw invalid('predicate()', 'true or false', isMet);
      if (isMet) return object;
    }
    throw end.error(watch.lastFailure);
  } finally {
    end.clear();
  }
}

/**
 * Calls a function until its result is neither `undefined` nor `false`, and resolves with the
 * result. `backoff` sets the pauses. An error of the function rejects at once: catch the errors
 * that you expect. For an object of the API server {@link until} needs fewer requests.
 * apimachinery: wait.PollUntilContextTimeout, wait.ExponentialBackoffWithContext.
 *
 * @throws CapstanError TIMEOUT, ABORTED, INVALID_ARGUMENT
 * @example
 * const answer = await pollUntil(
 *   async () => {
 *     const response = await fetch('https://example.com/healthz').catch(() => undefined);
 *     return response?.ok ? response.text() : undefined;
 *   },
 *   { timeout: 60_000, backoff: { duration: 500, factor: 2, cap: 10_000 }, signal },
 * );
 */
export async function pollUntil<V>(
  check: (options: {
    signal: AbortSignal;
  }) => Promise<V | undefined | false> | V | undefined | false,
  options: PollOptions = {},
): Promise<V> {
  requireNames('options', options, 'option of pollUntil()', POLL_NAMES);
  requireFunction('check', check);
  const { clock = systemClock, signal, immediate = true, random = Math.random } = options;
  requireClock('options.clock', clock);
  const pauses = new Backoff(clock, guardRandom(random), {
    duration: 1000,
    factor: 1,
    jitter: 0.1,
    ...options.backoff,
  });
  const end = new Deadline(clock, signal, options.timeout, 'pollUntil()');
  try {
    for (let isFirst = immediate; !end.signal.aborted; isFirst = false) {
      if (!isFirst) await sleep(clock, pauses.next(), end.signal);
      if (end.signal.aborted) break;
      const value = await end.orEnd(check({ signal: end.signal }));
      if (value !== undefined && value !== false) return value;
    }
    throw end.error();
  } finally {
    end.clear();
  }
}

/** A signal that fires with the signal of the caller, or after the timeout. */
class Deadline {
  readonly #end = new AbortController();
  readonly #timeout: number | undefined;
  readonly #outer: AbortSignal | undefined;
  readonly #what: string;
  readonly #clear: () => void;

  /** @param what what has the deadline, for messages */
  constructor(
    clock: Clock,
    outer: AbortSignal | undefined,
    timeout: number | undefined,
    what: string,
  ) {
    requireClock('options.clock', clock);
    if (timeout !== undefined) requireMs('options.timeout', timeout);
    this.#timeout = timeout;
    this.#outer = outer;
    this.#what = what;
    const ends = timeout !== undefined && timeout !== Number.POSITIVE_INFINITY;
    const timer = ends ? clock.setTimer(() => this.#end.abort(), timeout) : undefined;
    const unlisten = onAbort(outer, () => this.#end.abort(outer?.reason));
    this.#clear = () => {
      unlisten();
      if (timer !== undefined) clock.clearTimer(timer);
    };
  }

  get signal(): AbortSignal {
    return this.#end.signal;
  }

  clear(): void {
    this.#clear();
    this.#end.abort();
  }

  /** Resolves with the value; rejects with the error of the deadline if the signal fires first. */
  orEnd<V>(value: V | Promise<V>, cause?: () => unknown): Promise<V> {
    return new Promise((resolve, reject) => {
      const unlisten = onAbort(this.signal, () => reject(this.error(cause?.())));
      Promise.resolve(value).then(resolve, reject).then(unlisten);
    });
  }

  error(cause?: unknown): CapstanError {
    if (this.#outer?.aborted) return aborted(this.#what, this.#outer.reason);
    const text = `${this.#what}: the condition was not met within ${this.#timeout} ms`;
    return new CapstanError('TIMEOUT', text, { cause });
  }
}

/** Watches one object by a reflector with a field selector. */
class ObjectWatch<T extends object> {
  /** For messages: `Pod default/web-0`. */
  readonly what: string;
  readonly #listWatch: ListWatch<T, string>;
  readonly #clock: Clock;
  readonly #onError: WatchErrorHandler | undefined;
  /** The last failure of the watch. */
  lastFailure: unknown;

  constructor(
    from: Client | Transport,
    resource: Resource<T, string>,
    key: ObjectKey,
    clock: Clock = systemClock,
    onError?: WatchErrorHandler,
  ) {
    const transport = transportOf('from', from);
    requireClock('options.clock', clock);
    objectPath(resource, key); // throws for an invalid key
    const namespace = requireNamespace(resource, key.namespace);
    this.what = `${resource.kind} ${namespace === '' ? '' : `${namespace}/`}${key.name}`;
    this.#clock = clock;
    this.#onError = onError;
    this.#listWatch = new ListWatch(transport, resource, {
      namespace,
      fieldSelector: `metadata.name=${key.name}`,
    });
  }

  async *states(
    signal: AbortSignal | undefined,
  ): AsyncGenerator<FromServer<T> | undefined, void, undefined> {
    const run = new AbortController();
    const unlisten = onAbort(signal, () => run.abort());
    const newest = new Newest<FromServer<T> | undefined>();
    const set = (object: T | undefined): void => newest.set(object as FromServer<T> | undefined);
    const store = {
      add: set,
      update: set,
      delete: () => set(undefined),
      replace: ([object]: readonly T[]) => set(object),
    };
    const reflector = new Reflector<T, string>(this.#listWatch, store, {
      clock: this.#clock,
      watchErrorHandler: (error, failure) => {
        this.lastFailure = error;
        if (isDenied(error)) newest.fail(error);
        else this.#onError?.(error, failure);
      },
    });
    const running = reflector.run({ signal: run.signal }).then(
      () => newest.end(),
      (error: unknown) => newest.fail(error),
    );
    try {
      for (;;) {
        const next = await newest.take();
        if (next === undefined || signal?.aborted) return;
        yield next.value;
      }
    } finally {
      unlisten();
      run.abort();
      await running;
    }
  }
}

/** Keeps the newest value for one reader. */
class Newest<V> {
  #value: { readonly value: V } | undefined;
  #error: { readonly error: unknown } | undefined;
  #ended = false;
  #wake = deferred();

  set(value: V): void {
    this.#value = { value };
    this.#wake.resolve();
  }

  fail(error: unknown): void {
    this.#error = { error };
    this.#wake.resolve();
  }

  end(): void {
    this.#ended = true;
    this.#wake.resolve();
  }

  /** Resolves with `undefined` at the end. */
  async take(): Promise<{ readonly value: V } | undefined> {
    await this.#wake.promise;
    this.#wake = deferred();
    if (this.#error !== undefined) throw this.#error.error;
    const value = this.#value;
    this.#value = undefined;
    if (this.#ended) this.#wake.resolve();
    return value;
  }
}
