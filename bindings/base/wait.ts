/**
 * Waits that can end early: on a clock, for a promise that may never settle, for a turn of the
 * event loop. They leave no timer, listener or unhandled rejection behind.
 */
import { type Clock, macrotask } from './clock.ts';
import { aborted } from './errors.ts';

/**
 * Calls the function once when the signal fires, or at once if it has fired. Returns a function
 * that removes the listener: a long-lived signal keeps the function and all that it refers to in
 * memory. Without a signal it is never called.
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
 * Whether the promise, which must not reject, settles within `ms` on the clock. 0 does not wait,
 * Infinity waits for ever.
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
 * Resolves when the signal fires. Its listener stays until then: use it only for a signal that ends
 * together with what waits.
 */
export function whenAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) =>
    signal.addEventListener('abort', () => resolve(), { once: true }),
  );
}

/**
 * The promise, or a rejection with code ABORTED as soon as the signal fires. `Promise.race` with
 * one long-lived promise would keep one reaction per call in memory.
 */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const unlisten = onAbort(signal, () => reject(aborted('the call', signal.reason)));
    promise.then(resolve, reject).then(unlisten);
  });
}

/** Whether a value is a promise or another thenable. */
export function isThenable<V>(value: V): value is V & PromiseLike<Awaited<V>> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

/** A promise and its resolver. Resolving again has no effect. */
export function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/**
 * How long a batch may hold the event loop before timers and I/O run, in milliseconds. Lease
 * renewals and health checks run on the same thread; a delay of 4 ms does not matter to their
 * deadlines, and a turn of the event loop (some microseconds) costs less than a percent.
 */
const SLICE_MS = 4;
/**
 * Reading the clock takes 50 to 60 ns, up to a tenth of a short step: while steps are far shorter
 * than a slice, not each of them reads it.
 */
const MOST_STEPS = 8;
/** The time that the steps between two readings may take together. */
const SHORT_MS = SLICE_MS / 16;

/**
 * Time slices of a long loop: `if (slice.over()) await slice.yield()`. Uses the injected clock, so
 * that with a fake clock no batch is cut and tests are deterministic.
 */
export class TimeSlice {
  readonly #clock: Clock;
  #end: number;
  #looked: number;
  /**
   * The steps between two readings of the clock: doubled while they take next to nothing, else 1.
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

  /** Call it after each step. */
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

  /** @param after awaited first */
  async yield(after?: Promise<void>): Promise<void> {
    await after;
    await macrotask();
    this.start();
  }
}

/** client-go: tools/cache/wait.go DoneChecker. */
export interface DoneChecker {
  readonly name: string;
  /** Resolves when it is done; may never resolve. */
  readonly done: Promise<void>;
}
