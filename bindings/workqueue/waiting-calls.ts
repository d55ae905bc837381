/**
 * The calls that wait: get() for an item, and shutDownWithDrain() for the end of the work. A signal
 * ends a call of either kind.
 */
import { leaving } from '../base/cancellable-generator.ts';
import { aborted, type CapstanError } from '../base/errors.ts';
import { isSignal, namesOf, requireNames } from '../base/names.ts';

/** What get() gives: an item, or the news that the queue has shut down and is empty. */
export type Got<T> = { item: T; shutdown: false } | { item: undefined; shutdown: true };

/** The answer of a get(); `undefined` says shutdown. */
export function gotten<T>(item: T | undefined): Got<T> {
  return item === undefined ? { item: undefined, shutdown: true } : { item, shutdown: false };
}

/** The options of `get()`. */
export interface GetOptions<T> {
  /** Ends the wait: it rejects with ABORTED then. */
  signal?: AbortSignal | undefined;
  /**
   * Called with the item at the moment at which it is handed out. The promise resolves later, when
   * the same item may have been added again. What it throws rejects the promise; the item is handed
   * out all the same.
   */
  taken?: ((item: T) => void) | undefined;
}

const GET_NAMES = namesOf<GetOptions<never>>()({ signal: 1, taken: 1 });

/**
 * Checks the options of a get(). The names are compared here first, as a look into the table costs
 * 15 ns of the 80 that get() and done() take, and a microsecond where a request comes now and then.
 */
export function requireGetOptions<T>(options: GetOptions<T> | undefined): void {
  if (options === undefined) return;
  const signal = options?.signal; // null is no object
  let known = signal === undefined || isSignal(signal);
  for (const name in options) known &&= name === 'signal' || name === 'taken';
  const has = signal !== undefined || typeof options?.taken === 'function';
  if (!known || !has) requireNames('options', options, 'option of get()', GET_NAMES);
}

/**
 * The items that a queue hands out, until its shutdown. A loop that ends while it waits gets no
 * item, because the item would stay in processing.
 */
export function itemsOf<T>(queue: {
  get(options: GetOptions<T>): Promise<Got<T>>;
}): AsyncIterator<T> {
  const left = new AbortController();
  return leaving(itemsUntil(left.signal, queue), () => left.abort());
}

async function* itemsUntil<T>(
  signal: AbortSignal,
  queue: { get(options: GetOptions<T>): Promise<Got<T>> },
): AsyncGenerator<T, void, undefined> {
  try {
    for (let got = await queue.get({ signal }); !got.shutdown; got = await queue.get({ signal }))
      yield got.item;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

interface Waiter<V> {
  resolve(value: V): void;
  reject(error: unknown): void;
}

/** One call, which listens to its signal. */
class WaitingCall<V, R> implements Waiter<V | undefined> {
  readonly #all: WaitingCalls<V>;
  readonly #signal: AbortSignal | undefined;
  readonly #answer: (value: V | undefined) => R;
  readonly #resolve: (result: R) => void;
  readonly #reject: (error: unknown) => void;

  constructor(
    all: WaitingCalls<V>,
    signal: AbortSignal | undefined,
    answer: (value: V | undefined) => R,
    resolve: (result: R) => void,
    reject: (error: unknown) => void,
  ) {
    this.#all = all;
    this.#signal = signal;
    this.#answer = answer;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  resolve(value: V | undefined): void {
    this.#signal?.removeEventListener('abort', this);
    try {
      this.#resolve(this.#answer(value));
    } catch (error) {
      this.#reject(error); // only this call fails, not the one that resolves it
    }
  }

  reject(error: unknown): void {
    this.#signal?.removeEventListener('abort', this);
    this.#reject(error);
  }

  /** The signal has fired. */
  handleEvent(): void {
    this.#all.leave(this);
    this.#reject(aborted(this.#all.call, this.#signal?.reason));
  }
}

/** The calls of one kind that wait, in the order in which they are served. */
export class WaitingCalls<V> {
  /** As errors name it. */
  readonly call: string;
  // Mostly there is one, which needs no set.
  #next: Waiter<V | undefined> | undefined;
  #others = new Set<Waiter<V | undefined>>();

  constructor(call: string) {
    this.call = call;
  }

  get size(): number {
    return this.#next === undefined ? 0 : 1 + this.#others.size;
  }

  /**
   * Waits behind the others, or before them. `answer` is called when the call is resolved;
   * undefined says shutdown.
   */
  wait<R>(
    signal: AbortSignal | undefined,
    answer: (value: V | undefined) => R,
    before = false,
  ): Promise<R> {
    return new Promise((resolve, reject) => {
      const waiter = new WaitingCall(this, signal, answer, resolve, reject);
      signal?.addEventListener('abort', waiter, { once: true });
      if (this.#next === undefined) this.#next = waiter;
      else if (before) {
        this.#others = new Set([this.#next, ...this.#others]);
        this.#next = waiter;
      } else this.#others.add(waiter);
      if (signal?.aborted) waiter.handleEvent(); // a clock or an order may have fired it
    });
  }

  leave(waiter: Waiter<V | undefined>): void {
    if (this.#next === waiter) this.#first();
    else this.#others.delete(waiter);
  }

  /**
   * Hands out ready items to the calls that wait. `take` and `taken` run user code (an order, a
   * clock, metrics), which may call back: `take` may end calls, and takes no item when none is
   * left; before `taken` is called, the call has its item. What `take` throws rejects the first
   * call, as it rejects a get() that finds a key ready, and not the call that made the key ready.
   */
  serve(queue: {
    take(waiting: WaitingCalls<V>): V | undefined;
    taken(): (() => void) | undefined;
  }): void {
    while (this.#next !== undefined) {
      let item: V | undefined;
      try {
        item = queue.take(this);
      } catch (error) {
        const first = this.#first();
        if (first === undefined) throw error;
        first.reject(error);
        continue;
      }
      if (item === undefined) return;
      const first = this.#first() as Waiter<V | undefined>;
      const tell = queue.taken();
      first.resolve(item);
      tell?.();
    }
  }

  /** Wakes the first: it ends, or waits again behind the others. */
  wake(isOver: boolean): void {
    const first = this.#first();
    if (isOver) first?.resolve(undefined);
    else if (this.#next === undefined) this.#next = first;
    else if (first !== undefined) this.#others.add(first);
  }

  #first(): Waiter<V | undefined> | undefined {
    const waiter = this.#next;
    this.#next = undefined;
    if (this.#others.size > 0) {
      const [next] = this.#others;
      this.#next = next;
      this.#others.delete(next as Waiter<V | undefined>);
    }
    return waiter;
  }

  /** Ends all: with the shutdown, or with an error. */
  end(error?: CapstanError): void {
    if (this.#next === undefined) return;
    const all = [this.#next, ...this.#others];
    this.#next = undefined;
    this.#others.clear();
    for (const waiter of all) {
      if (error === undefined) waiter.resolve(undefined);
      else waiter.reject(error);
    }
  }
}
