/**
 * The naive port: client-go's work queue on Map and Set, with a binary heap for delays, as an
 * engineer writes it in an afternoon. `capstan bench` measures it beside Capstan.
 */
import type { Clock } from 'capstan/workqueue';

interface Wait {
  readonly key: string;
  at: number;
  /** The place in the heap. */
  place: number;
}

export class NaivePort {
  readonly #clock: Clock;
  readonly #dirty = new Set<string>();
  readonly #processing = new Set<string>();
  readonly #waits = new Map<string, Wait>();
  readonly #heap: Wait[] = [];
  #queue: (string | undefined)[] = [];
  #head = 0;
  #timer: unknown;
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(key: string): void {
    if (this.#dirty.has(key)) return;
    this.#dirty.add(key);
    if (!this.#processing.has(key)) this.#queue.push(key);
  }

  tryGet(): string | undefined {
    if (this.#head === this.#queue.length) return undefined;
    const key = this.#queue[this.#head] as string;
    this.#queue[this.#head++] = undefined;
    if (this.#head > 1024 && this.#head * 2 > this.#queue.length) {
      this.#queue = this.#queue.slice(this.#head);
      this.#head = 0;
    }
    this.#dirty.delete(key);
    this.#processing.add(key);
    return key;
  }

  done(key: string): void {
    this.#processing.delete(key);
    if (this.#dirty.has(key)) this.#queue.push(key);
  }

  /** If the key waits already, the earlier time stays. */
  addAfter(key: string, ms: number): void {
    if (ms <= 0) {
      this.add(key);
      return;
    }
    const at = this.#clock.now() + ms;
    const known = this.#waits.get(key);
    if (known === undefined) {
      const wait = { key, at, place: this.#heap.length };
      this.#waits.set(key, wait);
      this.#heap.push(wait);
      this.#up(wait);
    } else if (at < known.at) {
      known.at = at;
      this.#up(known);
    }
    this.#arm();
  }

  dispose(): void {
    this.#clock.clearTimer(this.#timer);
  }

  #arm(): void {
    const first = this.#heap[0];
    if (first === undefined || first.at >= this.#timerAt) return;
    this.#clock.clearTimer(this.#timer);
    this.#timerAt = first.at;
    const ms = Math.max(first.at - this.#clock.now(), 0);
    this.#timer = this.#clock.setTimer(() => this.#fire(), ms);
  }

  #fire(): void {
    this.#timerAt = Number.POSITIVE_INFINITY;
    const now = this.#clock.now();
    for (let first = this.#heap[0]; first !== undefined && first.at <= now; first = this.#heap[0]) {
      const last = this.#heap.pop() as Wait;
      if (last !== first) {
        last.place = 0;
        this.#heap[0] = last;
        this.#down(last);
      }
      this.#waits.delete(first.key);
      this.add(first.key);
    }
    this.#arm();
  }

  #up(wait: Wait): void {
    while (wait.place > 0) {
      const parent = this.#heap[(wait.place - 1) >> 1] as Wait;
      if (parent.at <= wait.at) return;
      this.#swap(wait, parent);
    }
  }

  #down(wait: Wait): void {
    for (;;) {
      const left = this.#heap[2 * wait.place + 1];
      if (left === undefined) return;
      const right = this.#heap[2 * wait.place + 2];
      const child = right !== undefined && right.at < left.at ? right : left;
      if (wait.at <= child.at) return;
      this.#swap(child, wait);
    }
  }

  #swap(a: Wait, b: Wait): void {
    [a.place, b.place] = [b.place, a.place];
    this.#heap[a.place] = a;
    this.#heap[b.place] = b;
  }
}
