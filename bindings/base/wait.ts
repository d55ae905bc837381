/**
 * Waiting that ends early: for a clock, for a promise that may never settle, and for a turn of the
 * event loop. Nothing here leaves a timer, a listener or an unhandled rejection behind.
 */
import { type Clock, macrotask } from './clock.ts';
import { aborted } from './errors.ts';

/**
 * Calls the function once, when the signal fires; at once where it has fired. What it returns takes
 * that back: without it a signal that lives long holds the function and all that it refers to. No
 * signal: never.
 */
export function onAbort(signal: AbortSignal | undefined, run: () => void): () => void {
  if (signal === undefined) return () => undefined;
  if (signal.aborted) run();
  else signal.addEventListener('abort', run, { once: true });
  return () => signal.removeEventListener('abort', run);
}

/** Resolves after `ms` on the clock, or as soon as the signal fires. Never rejects. */
export function sleep(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = clock.setTimer(() => {
      unlisten();
      resolve();
    }, ms);
    const unlisten = onAbort(signal, () => {
      clock.clearTimer(timer);
      resolve();
    });
  });
}

/**
 * Whether the promise, which must not reject, settles within `ms` on the clock; 0 waits not at all,
 * Infinity for ever.
 */
export async function within(
  clock: Clock,
  ms: number,
  promise: Promise<unknown>,
): Promise<boolean> {
  if (ms <= 0) return false;
  const ended = new AbortController();
  let inTime = false;
  const settled = promise.then(() => {
    inTime = true;
  });
  const late = ms === Number.POSITIVE_INFINITY ? [] : [sleep(clock, ms, ended.signal)];
  await Promise.race([settled, ...late]);
  ended.abort();
  return inTime;
}

/**
 * Resolves when the signal fires. For signals that end with what waits for them: the listener stays
 * until then.
 */
export function whenAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) =>
    signal.addEventListener('abort', () => resolve(), { once: true }),
  );
}

/**
 * The promise, or a rejection with code ABORTED as soon as the signal fires. `Promise.race` with
 * one long-lived promise would keep a reaction per call alive until the end.
 */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const unlisten = onAbort(signal, () => reject(aborted('the call', signal.reason)));
    promise.then(resolve, reject).then(unlisten);
  });
}

/** Whether `await` would wait for it. */
export function isThenable<V>(value: V): value is V & PromiseLike<Awaited<V>> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

/** A promise and its resolver; resolving again has no effect. */
export function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/**
 * How long a batch may hold the event loop before timers and I/O get a turn. Lease renewals and
 * health checks live on the same thread; at 4 ms their delay stays below what any of their
 * deadlines notices, and the turn itself (some microseconds) below a percent.
 */
const SLICE_MS = 4;
/**
 * A look at the clock costs 50 to 60 ns, as much as a tenth of a short step: while steps are far
 * shorter than a slice, not each of them looks.
 */
const MOST_STEPS = 8;
/** What the steps between two looks may take together. */
const SHORT_MS = SLICE_MS / 16;

/**
 * Time slices of one long-running loop: `if (slice.over()) await slice.yield()`. Reads the injected
 * clock, so that under a fake clock a batch is never cut and tests stay deterministic.
 */
export class TimeSlice {
  readonly #clock: Clock;
  #end: number;
  #looked: number;
  /**
   * After how many steps the clock is looked at: doubled while these take next to nothing, 1 as
   * soon as they do not.
   */
  #stride = 1;
  #steps = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#looked = clock.now();
    this.#end = this.#looked + SLICE_MS;
  }

  start(): void {
    this.#looked = this.#clock.now();
    this.#end = this.#looked + SLICE_MS;
  }

  /** To be asked after each step. */
  over(): boolean {
    return ++this.#steps >= this.#stride && this.#look();
  }

  #look(): boolean {
    this.#steps = 0;
    const now = this.#clock.now();
    this.#stride = now - this.#looked < SHORT_MS ? Math.min(2 * this.#stride, MOST_STEPS) : 1;
    this.#looked = now;
    return now >= this.#end;
  }

  /** @param after is awaited first */
  async yield(after?: Promise<void>): Promise<void> {
    await after;
    await macrotask();
    this.start();
  }
}

/** client-go: tools/cache/wait.go DoneChecker. */
export interface DoneChecker {
  readonly name: string;
  /** Resolves when it is done; never, if that never happens. */
  readonly done: Promise<void>;
}
