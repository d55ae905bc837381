/**
 * Time as a parameter: production code uses `systemClock`, tests move a `FakeClock`. No other file
 * reads the host's clock or sets a host timer. Durations are measured on a monotonic scale with an
 * arbitrary zero; the time of day is read only for times that others read. Both are milliseconds.
 */
import { invalid, requireFunction } from './errors.ts';
import { keepShape } from './keep-shape.ts';

export interface Clock {
  /** Monotonic milliseconds, which may have a fraction. */
  now(): number;
  /**
   * The time of day in milliseconds since 1970, as `Date.now()`. It may jump, so no duration is
   * measured with it. Default of a clock without this method: `Date.now()`.
   */
  wallNow?(): number;
  /**
   * Calls `run` once after at least `ms`, never inside this call. Any length is allowed, also above
   * 2^31 ms; 0 and less means as soon as possible.
   */
  setTimer(run: () => void, ms: number): unknown;
  /** Clears a timer. No effect if it has fired or was cleared. */
  clearTimer(timer: unknown): void;
}

/**
 * Hosts keep delays in a signed 32-bit integer: `setTimeout(f, 2 ** 31)` fires after 1 ms. Longer
 * delays are chained.
 */
const LONGEST = 2 ** 31 - 1;

interface HostTimer {
  id: ReturnType<typeof setTimeout> | undefined;
}

/**
 * Throws CapstanError INVALID_ARGUMENT. Duck-typed, because a clock may come from another realm.
 * `undefined` is legal: the system's clock.
 */
export function requireClock(name: string, clock: Clock | undefined): void {
  if (clock === undefined) return;
  for (const method of ['now', 'setTimer', 'clearTimer'] as const)
    requireFunction(`${name}.${method}`, clock?.[method]);
  if (clock.wallNow !== undefined) requireFunction(`${name}.wallNow`, clock.wallNow);
}

export const systemClock: Clock = {
  now: () => performance.now(),
  wallNow: () => Date.now(),
  setTimer(run, ms) {
    const timer: HostTimer = { id: undefined };
    const arm = (left: number): void => {
      timer.id = setTimeout(
        () => (left > LONGEST ? arm(left - LONGEST) : run()),
        Math.min(Math.max(left, 0), LONGEST),
      );
    };
    arm(ms);
    return timer;
  },
  clearTimer(timer) {
    clearTimeout((timer as HostTimer | undefined)?.id);
  },
};

/** The host's time of day in milliseconds since 1970. */
export const systemWallNow = (): number => Date.now();

/** A function that returns the clock's time of day, or the host's if the clock has none. */
export function wallNowOf(clock: Clock | undefined): () => number {
  return clock?.wallNow === undefined ? systemWallNow : () => (clock as Required<Clock>).wallNow();
}

/**
 * The result of a timer function that has only set its timer again. `FakeClock.run` then moves on
 * without a turn of the event loop: a test of a week has 60 480 heartbeats of each queue.
 */
export const NOTHING_STARTED = Symbol('nothing started');

interface FakeTimer {
  at: number;
  order: number; // of timers that are due at the same time, the one that was set first runs first
  run: () => unknown;
}

const isBefore = (a: FakeTimer, b: FakeTimer): boolean =>
  a.at < b.at || (a.at === b.at && a.order < b.order);

/**
 * The time of day at which a FakeClock starts without an argument. A fixed one makes tests
 * repeatable; 0 would be falsy.
 */
const WALL_START_MS = Date.UTC(2000, 0, 1);

/**
 * A clock that moves only when a test tells it to: the monotonic time and the time of day together.
 * Give the same clock to all parts of a test: the manager, the controllers, the embedded server.
 *
 * `await clock.run(ms)` moves time and lets everything on the way happen, each timer at its own
 * time. `await clock.settle()` lets happen what needs no time. `step` jumps.
 *
 * @example
 * const clock = new FakeClock(Date.parse('2026-01-05T08:00:00Z'));
 * const queue = new DelayingQueue({ clock });
 * queue.addAfter('a', 50);
 * await clock.run(50); // queue.len() === 1
 * new Date(clock.wallNow()).toISOString(); // '2026-01-05T08:00:00.050Z'
 */
export class FakeClock implements Clock {
  #now: number;
  readonly #wallOffset: number;
  #order = 0;
  readonly #timers = new Set<FakeTimer>();
  /**
   * A binary heap of all timers, the next one first. Cleared timers are dropped when they reach the
   * top, or when they outnumber the others.
   */
  #heap: FakeTimer[] = [];

  /**
   * @param startMs what `now()` returns at the start, in milliseconds. Default 0
   * @param wallStartMs what `wallNow()` returns at the start, in milliseconds since 1970. Default:
   *   `startMs` if it is given, so that one number sets both; else 2000-01-01T00:00:00Z
   */
  constructor(startMs?: number, wallStartMs: number = startMs ?? WALL_START_MS) {
    const start = startMs === undefined ? 0 : startMs;
    if (!Number.isFinite(start)) throw invalid('startMs', 'a finite number', startMs);
    if (!Number.isFinite(wallStartMs))
      throw invalid('wallStartMs', 'milliseconds since 1970', wallStartMs);
    this.#now = start;
    this.#wallOffset = wallStartMs - start;
    keepShape(new.target, FakeClock, () => new FakeClock());
  }

  now(): number {
    return this.#now;
  }

  wallNow(): number {
    return this.#now + this.#wallOffset;
  }

  setTimer(run: () => void, ms: number): unknown {
    requireFunction('run', run);
    if (typeof ms !== 'number' || Number.isNaN(ms))
      throw invalid('ms', 'a number of milliseconds', ms);
    const timer: FakeTimer = { at: this.#now + Math.max(ms, 0), order: this.#order++, run };
    this.#timers.add(timer);
    const heap = this.#heap;
    let at = heap.length;
    for (
      let up = (at - 1) >> 1;
      at > 0 && isBefore(timer, heap[up] as FakeTimer);
      up = (at - 1) >> 1
    ) {
      heap[at] = heap[up] as FakeTimer;
      at = up;
    }
    heap[at] = timer;
    return timer;
  }

  clearTimer(timer: unknown): void {
    this.#timers.delete(timer as FakeTimer);
    if (this.#heap.length <= 2 * this.#timers.size) return;
    // a sorted array is a heap
    this.#heap = [...this.#timers].sort((a, b) => (isBefore(a, b) ? -1 : 1));
  }

  /** The number of timers that are set. */
  timers(): number {
    return this.#timers.size;
  }

  /**
   * Jumps: `now()` is the target at once, and timers that are due fire synchronously in the order
   * of their times.
   */
  step(ms: number): void {
    requireForward(ms);
    this.#now += ms;
    for (let next = this.#due(this.#now); next !== undefined; next = this.#due(this.#now))
      this.#fire(next);
  }

  /**
   * Moves to the target deadline by deadline; fires each timer and lets everything run before time
   * moves on.
   */
  async run(ms: number): Promise<void> {
    requireForward(ms);
    const target = this.#now + ms;
    await this.settle();
    for (let next = this.#due(target); next !== undefined; next = this.#due(target)) {
      this.#now = Math.max(this.#now, next.at);
      if (this.#fire(next) !== NOTHING_STARTED) await this.settle();
    }
    this.#now = Math.max(this.#now, target); // a timer may have moved it further
  }

  /**
   * Resolves when nothing can run without time passing. A host cannot tell that, so this waits for
   * 64 turns of the event loop: enough for chains of promises and immediates, and for a few dozen
   * exchanges with a server in the same process. A test must itself await work that waits longer
   * for sockets or threads.
   */
  async settle(): Promise<void> {
    for (let turn = 0; turn < SETTLE_TURNS; turn++) await macrotask();
  }

  #due(limit: number): FakeTimer | undefined {
    const heap = this.#heap;
    for (let next = heap[0]; next !== undefined; next = heap[0]) {
      if (this.#timers.has(next)) return next.at <= limit ? next : undefined;
      const last = heap.pop() as FakeTimer;
      let at = 0;
      for (let down = 1; down < heap.length; down = 2 * at + 1) {
        if (
          down + 1 < heap.length &&
          isBefore(heap[down + 1] as FakeTimer, heap[down] as FakeTimer)
        )
          down++;
        if (isBefore(last, heap[down] as FakeTimer)) break;
        heap[at] = heap[down] as FakeTimer;
        at = down;
      }
      if (heap.length > 0) heap[at] = last;
    }
    return undefined;
  }

  #fire(timer: FakeTimer): unknown {
    this.#timers.delete(timer);
    return timer.run();
  }
}

/**
 * Requires a finite time: with a timer that sets itself again an endless one would never be
 * reached.
 */
function requireForward(ms: unknown): void {
  if (typeof ms !== 'number' || !(ms >= 0) || ms === Number.POSITIVE_INFINITY)
    throw invalid('ms', 'a finite number >= 0', ms);
}

/**
 * 4 turns were too few: a reconcile that sent three requests to a server in the same process had
 * not ended when the clock moved on. 11 calls of 64 turns take 45 ms.
 */
const SETTLE_TURNS = 64;

/**
 * One turn of the event loop. Browsers have no immediates, and their setTimeout(0) takes 4 ms when
 * nested; workerd may have neither.
 */
export function macrotask(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === 'function') {
      setImmediate(resolve);
    } else if (typeof MessageChannel === 'function') {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => {
        port1.close();
        resolve();
      };
      port2.postMessage(undefined);
    } else {
      setTimeout(resolve, 0);
    }
  });
}
