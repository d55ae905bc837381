/**
 * Waits that can end early: on a clock, for a promise that may never settle, for a turn of the
 * event loop. They leave no timer, listener or unhandled rejection behind.
 */
import { type Clock, macrotask, systemClock } from './clock.ts';
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
 * renewals and health checks run on the same thread, and a collection of up to 7 ms may fall into a
 * slice. A turn of the event loop (some microseconds) costs less than a percent.
 */
const SLICE_MS = 2.5;
/**
 * Reading the clock takes 50 to 60 ns, up to a tenth of a short step: while steps are far shorter
 * than a slice, not each of them reads it.
 */
const MOST_STEPS = 8;
/** The time that the steps between two readings may take together. */
const SHORT_MS = SLICE_MS / 16;

/** The time at which a slice was last found to be over, on the system's clock. */
let lastOver = Number.NEGATIVE_INFINITY;
/**
 * Work that begins this soon after other work most likely runs in the same turn of the event loop.
 */
const SAME_TURN_MS = 0.5;
/** Loops that wait for a turn of the event loop. */
const loops: (() => void)[] = [];

/** Resolves in a turn of the event loop in which no other waiting loop goes on. */
function ownTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (loops.push(resolve) === 1) void runLoops();
  });
}

async function runLoops(): Promise<void> {
  while (loops.length > 0) {
    await macrotask();
    loops.shift()?.();
  }
}

/**
 * Time slices of a long loop: `if (slice.over()) await slice.yield()`. Slices of several loops do
 * not share a turn of the event loop. Uses the injected clock, so that with a fake clock no batch
 * is cut and tests are deterministic.
 */
export class TimeSlice {
  readonly #clock: Clock;
  #end: number;
  #looked: number;
  /**
   * The number of steps between two readings of the clock: doubled while steps take hardly any
   * time, else 1.
   */
  #stride = 1;
  #steps = 0;
  /**
   * Whether the clock is the system's. With another one, times say nothing about turns of the event
   * loop.
   */
  readonly #isSystems: boolean;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#isSystems = clock === systemClock;
    this.#looked = clock.now();
    this.#end = this.#looked + SLICE_MS;
  }

  /**
   * Begins a slice. If this loop worked just now, its last slice goes on. If another loop's slice
   * ended just now, this one has room for a single step, because both run in the same turn.
   *
   * @param now the clock's time, where the caller has read it
   */
  start(now: number = this.#clock.now()): void {
    const goesOn = this.#isSystems && now - this.#looked < SAME_TURN_MS;
    this.#looked = now;
    if (goesOn) return;
    const isLate = this.#isSystems && now - lastOver < SAME_TURN_MS;
    this.#end = isLate ? now : now + SLICE_MS;
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
    if (now < this.#end) return false;
    if (this.#isSystems) lastOver = now;
    return true;
  }

  /** @param after awaited first */
  async yield(after?: Promise<void>): Promise<void> {
    await after;
    await ownTurn();
    this.#looked = this.#clock.now();
    this.#end = this.#looked + SLICE_MS;
  }
}

/**
 * Work in steps: it yields where its turn may end, and returns its result after the last step. A
 * call of `return` ends it early.
 */
export type Steps<R = void> = Generator<void, R, void>;
/** Asked after each step: whether to yield. */
export type IsOver = () => boolean;
/** Never yields: for work in one turn. */
export const NEVER_OVER: IsOver = () => false;

/** Runs all steps in this turn. */
export function runSteps<R>(steps: Steps<R>): R {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/**
 * Runs steps in time slices: the first slice at once, the others each in a later turn of the event
 * loop.
 *
 * @throws what the steps throw, and CapstanError ABORTED if the signal fires before the last
 */
export async function inTurns<R>(
  makeSteps: (isOver: IsOver) => Steps<R>,
  what: string,
  signal?: AbortSignal,
  clock: Clock = systemClock,
): Promise<R> {
  const slice = new TimeSlice(clock);
  slice.start();
  const steps = makeSteps(() => slice.over());
  try {
    for (;;) {
      if (signal?.aborted) throw aborted(what, signal.reason);
      const { done, value } = steps.next();
      if (done === true) return value;
      await slice.yield();
    }
  } finally {
    steps.return(undefined as R); // no effect after the last
  }
}

/** client-go: tools/cache/wait.go DoneChecker. */
export interface DoneChecker {
  readonly name: string;
  /** Resolves when it is done; may never resolve. */
  readonly done: Promise<void>;
}
