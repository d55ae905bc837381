/**
 * The contract of the work queue family and of the index maps in plain TypeScript: obviously right
 * rather than fast. It is the model of the randomised tests. Keys are strings here; a test maps its
 * items to keys one to one. Where client-go leaves a choice to chance, the model holds our own
 * promise and says so.
 */

/** What a `get` was answered: the key, or undefined for shutdown. */
export type GetCallback = (key: string | undefined) => void;

/** client-go: util/workqueue/queue.go Typed. */
export class ModelQueue {
  #order: string[] = []; // keys to hand out: dirty and not processing
  readonly #dirty = new Set<string>();
  readonly #processing = new Set<string>();
  #gets: GetCallback[] = []; // waiting, oldest first
  #drains: (() => void)[] = []; // waiting, newest first
  #down = false;

  add(key: string): void {
    if (this.#down || this.#dirty.has(key)) return;
    this.#dirty.add(key);
    if (!this.#processing.has(key)) this.#push(key);
  }

  len(): number {
    return this.#order.length;
  }

  tryGet(): string | undefined {
    const key = this.#order.shift();
    if (key === undefined) return undefined;
    this.#dirty.delete(key);
    this.#processing.add(key);
    return key;
  }

  /** Answers at once, or when there is a key, or at shutdown. */
  get(answer: GetCallback): void {
    const key = this.tryGet();
    if (key !== undefined || this.#down) answer(key);
    else this.#gets.push(answer);
  }

  /** Takes back a `get` that still waits. */
  cancelGet(answer: GetCallback): void {
    this.#gets = this.#gets.filter((waiting) => waiting !== answer);
  }

  /**
   * Of a key that is not being processed: no effect (client-go queues it twice if it is queued,
   * which is a misuse).
   */
  done(key: string): void {
    if (!this.#processing.delete(key)) return;
    const requeued = this.#dirty.has(key);
    if (requeued) this.#push(key);
    // client-go signals its condition variable when a key is queued again or none is processed. One
    // drain wakes, of those that wait the newest (each new one wakes the others, and they line up
    // behind it), and waits again if keys are left.
    if (!requeued && this.#processing.size > 0) return;
    const woken = this.#drains.shift();
    if (woken !== undefined && this.#processing.size > 0) this.#drains.push(woken);
    else woken?.();
  }

  shutDown(): void {
    this.#down = true;
    const drains = this.#drains;
    this.#drains = [];
    for (const ended of drains) ended();
    this.#answerAll();
  }

  /**
   * Ends when nothing is being processed (what is queued does not count), or at the next shutDown.
   */
  shutDownWithDrain(ended: () => void): void {
    this.#down = true;
    if (this.#processing.size === 0) ended();
    else this.#drains.unshift(ended);
    this.#answerAll();
  }

  shuttingDown(): boolean {
    return this.#down;
  }

  /** Keys to be handed out, now or after done. */
  depth(): number {
    return this.#dirty.size;
  }

  isQueued(key: string): boolean {
    return this.#dirty.has(key);
  }

  processing(): readonly string[] {
    return [...this.#processing];
  }

  #push(key: string): void {
    this.#order.push(key);
    const answer = this.#gets.shift();
    if (answer !== undefined) answer(this.tryGet());
  }

  /** A get waits only while nothing is queued, so at shutdown every one of them is told of it. */
  #answerAll(): void {
    const gets = this.#gets;
    this.#gets = [];
    for (const answer of gets) answer(undefined);
  }
}

/** What an add does to a wait of the same key; nothing, in client-go. */
export interface ModelRules {
  readonly addEndsWait?: boolean;
  readonly addKeepsBackoff?: boolean;
}

/** client-go: util/workqueue/delaying_queue.go. Time is told by `advance`. */
export class ModelDelayingQueue extends ModelQueue {
  #now = 0;
  #inserted = 0;
  readonly #waiting = new Map<string, { at: number; order: number; backoff: boolean }>();
  readonly #rules: ModelRules;

  constructor(rules: ModelRules = {}) {
    super();
    this.#rules = rules;
  }

  override add(key: string): void {
    if (this.shuttingDown()) return;
    const wait = this.#waiting.get(key);
    if (wait?.backoff && this.#rules.addKeepsBackoff) return;
    if (this.#rules.addEndsWait) this.#waiting.delete(key);
    super.add(key);
  }

  /**
   * The earliest time of a key wins, or the one that `mode` says. ≤ 0: added at once; a wait that
   * there is goes on.
   */
  addAfter(
    key: string,
    ms: number,
    mode: 'earliest' | 'latest' | 'replace' = 'earliest',
    backoff = false,
  ): void {
    if (this.shuttingDown()) return;
    const known = this.#waiting.get(key);
    if (ms <= 0) {
      if (mode === 'latest' && known !== undefined) return;
      if (mode === 'replace') this.#waiting.delete(key);
      this.add(key);
      return;
    }
    const at = this.#now + ms;
    if (known !== undefined) {
      known.backoff ||= backoff;
      const stays =
        mode === 'earliest' ? known.at <= at : mode === 'latest' ? known.at >= at : known.at === at;
      if (stays) return;
    }
    this.#waiting.set(key, {
      at,
      order: this.#inserted++,
      backoff: backoff || known?.backoff === true,
    });
  }

  cancel(key: string): boolean {
    return this.#waiting.delete(key);
  }

  /** Until when a key waits, on the model's clock that began at 0. */
  waitsUntil(key: string): number | undefined {
    return this.#waiting.get(key)?.at;
  }

  waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Moves the time and adds what is due by its time; of one time, in the order in which that time
   * was set (our promise).
   */
  advance(ms: number): void {
    this.#now += ms;
    const due = [...this.#waiting].filter(([, { at }]) => at <= this.#now);
    due.sort(([, a], [, b]) => a.at - b.at || a.order - b.order);
    for (const [key] of due) {
      this.#waiting.delete(key);
      super.add(key);
    }
  }

  override shutDown(): void {
    this.#waiting.clear();
    super.shutDown();
  }

  override shutDownWithDrain(ended: () => void): void {
    this.#waiting.clear();
    super.shutDownWithDrain(ended);
  }
}

export interface ModelLimiter {
  when(key: string): number;
  forget(key: string): void;
  numRequeues(key: string): number;
}

/** client-go: util/workqueue/rate_limiting_queue.go. */
export class ModelRateLimitingQueue extends ModelDelayingQueue {
  readonly #limiter: ModelLimiter;

  constructor(limiter: ModelLimiter, rules?: ModelRules) {
    super(rules);
    this.#limiter = limiter;
  }

  /** The limiter is asked, and counts, also after shutdown. */
  addRateLimited(key: string): void {
    this.addAfter(key, this.#limiter.when(key), 'earliest', true);
  }

  /** A full queue has refused the item. */
  failWithoutAdd(key: string): void {
    this.#limiter.when(key);
  }

  forget(key: string): void {
    this.#limiter.forget(key);
  }

  numRequeues(key: string): number {
    return this.#limiter.numRequeues(key);
  }
}

/** Failures by key. client-go: util/workqueue/default_rate_limiters.go, as all limiters here. */
abstract class ModelFailures implements ModelLimiter {
  readonly #failures = new Map<string, number>();

  when(key: string): number {
    const failures = this.numRequeues(key);
    this.#failures.set(key, failures + 1);
    return this.delay(failures);
  }

  forget(key: string): void {
    this.#failures.delete(key);
  }

  numRequeues(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** The delay after `failures` earlier ones. */
  abstract delay(failures: number): number;
}

export class ModelExponential extends ModelFailures {
  readonly #base: number;
  readonly #max: number;

  constructor(base: number, max: number) {
    super();
    this.#base = base;
    this.#max = max;
  }

  delay(failures: number): number {
    return this.#base === 0 ? 0 : Math.min(this.#base * 2 ** failures, this.#max);
  }
}

export class ModelFastSlow extends ModelFailures {
  readonly #fast: number;
  readonly #slow: number;
  readonly #maxFast: number;

  constructor(fast: number, slow: number, maxFast: number) {
    super();
    this.#fast = fast;
    this.#slow = slow;
    this.#maxFast = maxFast;
  }

  delay(failures: number): number {
    return failures < this.#maxFast ? this.#fast : this.#slow;
  }
}

/**
 * golang.org/x/time/rate: `Reserve` on a bucket that starts full; all keys share it, and each call
 * takes a token.
 */
export class ModelBucket implements ModelLimiter {
  readonly #qps: number;
  readonly #burst: number;
  readonly #now: () => number;
  #tokens: number;
  #last: number;

  constructor(qps: number, burst: number, now: () => number) {
    this.#qps = qps;
    this.#burst = burst;
    this.#now = now;
    this.#tokens = burst;
    this.#last = now();
  }

  when(_key: string): number {
    const now = this.#now();
    this.#tokens =
      Math.min(this.#burst, this.#tokens + ((now - this.#last) / 1000) * this.#qps) - 1;
    this.#last = now;
    return this.#tokens >= 0 ? 0 : (-this.#tokens / this.#qps) * 1000;
  }

  forget(_key: string): void {}

  numRequeues(_key: string): number {
    return 0;
  }
}

export class ModelMaxOf implements ModelLimiter {
  readonly #limiters: readonly ModelLimiter[];

  constructor(...limiters: ModelLimiter[]) {
    this.#limiters = limiters;
  }

  when(key: string): number {
    return Math.max(0, ...this.#limiters.map((limiter) => limiter.when(key)));
  }

  forget(key: string): void {
    for (const limiter of this.#limiters) limiter.forget(key);
  }

  numRequeues(key: string): number {
    return Math.max(0, ...this.#limiters.map((limiter) => limiter.numRequeues(key)));
  }
}

export class ModelMaxWait implements ModelLimiter {
  readonly #limiter: ModelLimiter;
  readonly #max: number;

  constructor(limiter: ModelLimiter, max: number) {
    this.#limiter = limiter;
    this.#max = max;
  }

  when(key: string): number {
    return Math.min(this.#limiter.when(key), this.#max);
  }

  forget(key: string): void {
    this.#limiter.forget(key);
  }

  numRequeues(key: string): number {
    return this.#limiter.numRequeues(key);
  }
}

/**
 * Index values to the slots of the objects that have them. A value that nothing has any more is
 * gone.
 */
export class ModelIndexMap {
  readonly #values = new Map<number, ReadonlySet<string>>(); // of a slot

  /** The slot has these values now, and no others. */
  set(slot: number, values: readonly string[]): void {
    this.#values.set(slot, new Set(values));
  }

  clear(slot: number): void {
    this.#values.delete(slot);
  }

  /** Sorted. */
  slots(value: string): number[] {
    const slots = [...this.#values].filter(([, values]) => values.has(value)).map(([slot]) => slot);
    return slots.sort((a, b) => a - b);
  }

  /** Sorted by code units. */
  values(): string[] {
    return [...new Set([...this.#values.values()].flatMap((values) => [...values]))].sort();
  }
}
