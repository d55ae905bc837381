/**
 * Time is a parameter everywhere: production code reads `systemClock`, tests step a `FakeClock`. No
 * other file reads the host's clock or sets a host timer. Times are milliseconds on a monotonic
 * scale whose zero means nothing.
 */
import { invalid, requireFunction } from './errors.ts';

export interface Clock {
  /** Milliseconds, monotonic, may have a fraction. */
  now(): number;
  /**
   * Runs once, after at least `ms` (≤ 0: as soon as possible, never inside this call). Any length,
   * also above 2^31 ms.
   */
  setTimer(run: () => void, ms: number): unknown;
  /** A timer that has fired or was cleared before: no effect. */
  clearTimer(timer: unknown): void;
}

/**
 * Hosts keep delays in a signed 32-bit integer: `setTimeout(f, 2 ** 31)` fires after 1 ms. Longer
 * ones are chained.
 */
const LONGEST = 2 ** 31 - 1;

interface HostTimer {
  id: ReturnType<typeof setTimeout> | undefined;
}

/**
 * Throws CapstanError INVALID_ARGUMENT. Duck-typed: a clock may come from another realm. None at
 * all will do, for the system's.
 */
export function requireClock(name: string, clock: Clock | undefined): void {
  if (clock === undefined) return;
  for (const method of ['now', 'setTimer', 'clearTimer'] as const)
    requireFunction(`${name}.${method}`, clock?.[method]);
}

export const systemClock: Clock = {
  now: () => performance.now(),
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

/**
 * The time of day in milliseconds since 1970, for what others read. It may jump either way: nothing
 * here is measured by it.
 */
export const systemWallNow = (): number => Date.now();

interface FakeTimer {
  at: number;
  order: number; // of two timers due at one moment the one that was set first runs first
  run: () => void;
}

const isBefore = (a: FakeTimer, b: FakeTimer): boolean =>
  a.at < b.at || (a.at === b.at && a.order < b.order);

/**
 * A clock that moves only when told to.
 *
 * @example
 * const clock = new FakeClock();
 * const queue = new DelayingQueue({ clock });
 * queue.addAfter('a', 50);
 * clock.step(50); // queue.len() === 1
 */
export class FakeClock implements Clock {
  #now: number;
  #order = 0;
  readonly #timers = new Set<FakeTimer>();
  /**
   * All timers, the next one first: a binary heap. Those that are no longer set are dropped when
   * they come up, or are more than the others.
   */
  #heap: FakeTimer[] = [];

  constructor(startMs = 0) {
    if (!Number.isFinite(startMs)) throw invalid('startMs', 'a finite number', startMs);
    this.#now = startMs;
  }

  now(): number {
    return this.#now;
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
    // what is sorted is a heap
    this.#heap = [...this.#timers].sort((a, b) => (isBefore(a, b) ? -1 : 1));
  }

  /** How many timers are set. */
  timers(): number {
    return this.#timers.size;
  }

  /**
   * One jump: `now()` is the target at once, and what became due on the way fires synchronously, in
   * order of its time.
   */
  step(ms: number): void {
    requireForward(ms);
    this.#now += ms;
    for (let next = this.#due(this.#now); next !== undefined; next = this.#due(this.#now))
      this.#fire(next);
  }

  /**
   * Stops at every deadline on the way, fires it and lets everything run that can, before time
   * moves on.
   */
  async run(ms: number): Promise<void> {
    requireForward(ms);
    const target = this.#now + ms;
    await this.settle();
    for (let next = this.#due(target); next !== undefined; next = this.#due(target)) {
      this.#now = Math.max(this.#now, next.at);
      this.#fire(next);
      await this.settle();
    }
    this.#now = Math.max(this.#now, target); // somebody else may have moved it further meanwhile
  }

  /**
   * Resolves when nothing can run without time passing: all promise reactions, and what they
   * queued, have run. That cannot be asked of a host, so it lets the event loop turn 64 times:
   * enough for chains of promises and immediates, and for a few dozen exchanges with a server in
   * the same process. Work that waits longer for sockets or threads must be awaited by the test
   * itself.
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

  #fire(timer: FakeTimer): void {
    this.#timers.delete(timer);
    timer.run();
  }
}

/** A finite time: with a timer that sets itself again an endless one would never be reached. */
function requireForward(ms: unknown): void {
  if (typeof ms !== 'number' || !(ms >= 0) || ms === Number.POSITIVE_INFINITY)
    throw invalid('ms', 'a finite number >= 0', ms);
}

/**
 * With 4 turns, a reconcile of three requests to a server in the process was overtaken by time; 11
 * settles of 64 take 45 ms.
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
