/**
 * The model of the priority queue for randomised tests, in plain TypeScript: controller-runtime's
 * rules as its source states them, and ours for aging, delay modes and draining. Keys are strings.
 */
import type { ModelLimiter } from './queue-model.ts';

interface Entry {
  readonly key: string;
  priority: number;
  counter: number;
  readyAt: number | undefined; // undefined: ready
  becameReady: number;
}

export interface ModelAddOptions {
  readonly after?: number;
  readonly rateLimited?: boolean;
  readonly priority?: number;
}

export type DelayMode = 'earliest' | 'latest' | 'replace';

/** What a get was answered; undefined for shutdown. */
export type ModelGot = { readonly key: string; readonly priority: number } | undefined;

export class ModelPriorityQueue {
  readonly #entries = new Map<string, Entry>();
  readonly #locked = new Set<string>();
  readonly #limiter: ModelLimiter;
  readonly #everyMs: number | undefined;
  #gets: ((got: ModelGot) => void)[] = [];
  #counter = 0;
  #now = 0;
  #state: 'open' | 'draining' | 'down' = 'open';
  /** How often something was added with a delay. */
  retries = 0;

  constructor(limiter: ModelLimiter, everyMs?: number) {
    this.#limiter = limiter;
    this.#everyMs = everyMs;
  }

  addWithOpts(
    { after = 0, rateLimited = false, priority = 0 }: ModelAddOptions,
    ...keys: string[]
  ): void {
    if (this.#state !== 'open') return;
    for (const key of keys) {
      let wait = after;
      if (rateLimited) {
        const limited = this.#limiter.when(key);
        if (wait === 0 || limited < wait) wait = limited;
      }
      this.#put(key, wait, priority, 'earliest');
    }
    this.#serve();
  }

  addAfter(key: string, ms: number, mode: DelayMode = 'earliest'): void {
    if (this.#state !== 'open') return;
    this.#put(key, ms, 0, mode);
    this.#serve();
  }

  #put(key: string, wait: number, priority: number, mode: DelayMode): void {
    if (wait > 0) this.retries++;
    const readyAt = wait > 0 ? this.#now + wait : undefined;
    const entry = this.#entries.get(key);
    if (entry === undefined) {
      this.#entries.set(key, {
        key,
        priority,
        counter: this.#counter++,
        readyAt,
        becameReady: this.#now,
      });
      return;
    }
    const isLeft = entry.readyAt !== undefined && readyAt === undefined && mode === 'latest';
    if (priority > entry.priority) {
      entry.priority = priority;
      if (!isLeft) entry.counter = this.#counter++;
    }
    if (isLeft) return;
    if (entry.readyAt === undefined) return; // a delay for a ready key is ignored
    if (readyAt === undefined) {
      entry.readyAt = undefined;
      entry.becameReady = this.#now;
    } else if (readyAt < entry.readyAt ? mode !== 'latest' : mode !== 'earliest') {
      // a wait that is put off begins anew
      if (readyAt > entry.readyAt) entry.counter = this.#counter++;
      entry.readyAt = readyAt;
    }
  }

  cancel(key: string): boolean {
    if (this.#entries.get(key)?.readyAt === undefined) return false;
    return this.#entries.delete(key);
  }

  forget(key: string): void {
    this.#limiter.forget(key);
  }

  numRequeues(key: string): number {
    return this.#limiter.numRequeues(key);
  }

  /** Everything ready, those that are processed included. */
  len(): number {
    return this.#ready().length;
  }

  depth(): Map<number, number> {
    const depth = new Map<number, number>();
    for (const { priority } of this.#ready()) depth.set(priority, (depth.get(priority) ?? 0) + 1);
    return depth;
  }

  longestWait(): Map<number, number> {
    const longest = new Map<number, number>();
    for (const { priority, becameReady } of this.#ready())
      longest.set(priority, Math.max(longest.get(priority) ?? 0, this.#now - becameReady));
    return longest;
  }

  #ready(): Entry[] {
    return [...this.#entries.values()].filter((entry) => entry.readyAt === undefined);
  }

  /** Answers at once, or when there is a key, or at the end. */
  get(answer: (got: ModelGot) => void): void {
    this.#gets.push(answer);
    this.#serve();
  }

  /** The key that a get would be given now. */
  next(): string | undefined {
    return this.#first()?.key;
  }

  #first(): Entry | undefined {
    if (this.#state === 'down') return undefined;
    let first: Entry | undefined;
    for (const entry of this.#entries.values()) {
      if (entry.readyAt !== undefined || this.#locked.has(entry.key)) continue;
      if (first === undefined || this.#comesBefore(entry, first)) first = entry;
    }
    return first;
  }

  #comesBefore(a: Entry, b: Entry): boolean {
    if (this.#everyMs !== undefined) {
      const rank = (entry: Entry) => entry.becameReady - entry.priority * (this.#everyMs as number);
      if (rank(a) !== rank(b)) return rank(a) < rank(b);
    }
    if (a.priority !== b.priority) return a.priority > b.priority;
    if (this.#everyMs !== undefined && a.becameReady !== b.becameReady)
      return a.becameReady < b.becameReady;
    return a.counter < b.counter;
  }

  #serve(): void {
    for (
      let first = this.#first();
      first !== undefined && this.#gets.length > 0;
      first = this.#first()
    ) {
      this.#entries.delete(first.key);
      this.#locked.add(first.key);
      this.#gets.shift()?.({ key: first.key, priority: first.priority });
    }
    if (!this.#isOver()) return;
    const gets = this.#gets;
    this.#gets = [];
    for (const answer of gets) answer(undefined);
  }

  #isOver(): boolean {
    return this.#state === 'down' || (this.#state === 'draining' && this.len() === 0);
  }

  done(key: string): void {
    this.#locked.delete(key);
    this.#serve();
  }

  processing(): string[] {
    return [...this.#locked];
  }

  /** One jump: what became due becomes ready in the order of its times. */
  advance(ms: number): void {
    this.#now += ms;
    const due = [...this.#entries.values()].filter(
      ({ readyAt }) => readyAt !== undefined && readyAt <= this.#now,
    );
    due.sort(
      (a, b) =>
        (a.readyAt as number) - (b.readyAt as number) ||
        b.priority - a.priority ||
        a.counter - b.counter,
    );
    for (const entry of due) {
      entry.readyAt = undefined;
      entry.becameReady = this.#now;
      entry.counter = this.#counter++;
    }
    this.#serve();
  }

  shutDown(): void {
    this.#state = 'down';
    this.#dropWaiting();
    this.#serve();
  }

  drain(): void {
    if (this.#state !== 'open') return;
    this.#state = 'draining';
    this.#dropWaiting();
    this.#serve();
  }

  #dropWaiting(): void {
    for (const { key, readyAt } of [...this.#entries.values()])
      if (readyAt !== undefined) this.#entries.delete(key);
  }

  isDrained(): boolean {
    return this.#isOver() && this.#locked.size === 0;
  }
}
