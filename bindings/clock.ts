/**
 * Time is a parameter everywhere: production code reads `systemClock`, tests step a `FakeClock`. No other file reads
 * the host's clock or sets a host timer. Times are milliseconds on a monotonic scale whose zero means nothing.
 */
import { invalid } from './errors.ts';

export interface Clock {
  /** Milliseconds, monotonic, may have a fraction. */
  now(): number;
  /** Runs once, after at least `ms` (≤ 0: as soon as possible, never inside this call). Any length, also above 2^31 ms. */
  setTimer(run: () => void, ms: number): unknown;
  /** A timer that has fired or was cleared before: no effect. */
  clearTimer(timer: unknown): void;
}

/** Hosts keep delays in a signed 32-bit integer: `setTimeout(f, 2 ** 31)` fires after 1 ms. Longer ones are chained. */
const LONGEST = 2 ** 31 - 1;

interface HostTimer {
  id: ReturnType<typeof setTimeout> | undefined;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  setTimer(run, ms) {
    const timer: HostTimer = { id: undefined };
    const arm = (left: number): void => {
      timer.id = setTimeout(() => (left > LONGEST ? arm(left - LONGEST) : run()), Math.min(Math.max(left, 0), LONGEST));
    };
    arm(ms);
    return timer;
  },
  clearTimer(timer) {
    clearTimeout((timer as HostTimer | undefined)?.id);
  },
};

interface FakeTimer {
  at: number;
  order: number; // of two timers due at one moment the one that was set first runs first
  run: () => void;
}

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

  constructor(startMs = 0) {
    if (!Number.isFinite(startMs)) throw invalid('startMs', 'a finite number', startMs);
    this.#now = startMs;
  }

  now(): number {
    return this.#now;
  }

  setTimer(run: () => void, ms: number): unknown {
    const timer: FakeTimer = { at: this.#now + Math.max(ms, 0), order: this.#order++, run };
    this.#timers.add(timer);
    return timer;
  }

  clearTimer(timer: unknown): void {
    this.#timers.delete(timer as FakeTimer);
  }

  /** How many timers are set. */
  timers(): number {
    return this.#timers.size;
  }

  /** One jump: `now()` is the target at once, and what became due on the way fires synchronously, in order of its time. */
  step(ms: number): void {
    if (!(ms >= 0)) throw invalid('ms', 'a number >= 0', ms);
    this.#now += ms;
    for (let next = this.#due(this.#now); next !== undefined; next = this.#due(this.#now)) this.#fire(next);
  }

  /** Stops at every deadline on the way, fires it and lets everything run that can, before time moves on. */
  async run(ms: number): Promise<void> {
    if (!(ms >= 0)) throw invalid('ms', 'a number >= 0', ms);
    const target = this.#now + ms;
    await this.settle();
    for (let next = this.#due(target); next !== undefined; next = this.#due(target)) {
      this.#now = Math.max(this.#now, next.at);
      this.#fire(next);
      await this.settle();
    }
    this.#now = target;
  }

  /** Resolves when nothing can run without time passing: all promise reactions, and what they queued, have run. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < SETTLE_TURNS; turn++) await macrotask();
  }

  #due(limit: number): FakeTimer | undefined {
    let first: FakeTimer | undefined;
    for (const timer of this.#timers) {
      if (timer.at > limit) continue;
      if (first === undefined || timer.at < first.at || (timer.at === first.at && timer.order < first.order))
        first = timer;
    }
    return first;
  }

  #fire(timer: FakeTimer): void {
    this.#timers.delete(timer);
    timer.run();
  }
}

/** Every macrotask drains the promise queue; several turns let code that itself yields to a macrotask come to rest. */
const SETTLE_TURNS = 4;

/** One turn of the event loop. */
export function macrotask(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === 'function') {
      setImmediate(resolve);
      return;
    }
    const { port1, port2 } = new MessageChannel(); // browsers: setTimeout(0) is clamped to 4 ms when nested
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}
