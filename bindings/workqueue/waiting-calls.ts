/**
 * The calls that wait: get() for an item, and shutDownWithDrain() for the end of the work. A signal
 * ends a call of either kind.
 */
import { leaving } from '../base/cancellable-generator.ts';
import { aborted, type CapstanError } from '../base/errors.ts';
import { isSignal, type Names, namesOf, requireNames } from '../base/names.ts';

/** What get() gives: an item, or the news that the queue has shut down and is empty. */
export type Got<T> = { item: T; shutdown: false } | { item: undefined; shutdown: true };

/** The answer of a get(); `undefined` says shutdown. */
export function gotten<T>(item: T | undefined): Got<T> {
  return item === undefined ? { item: undefined, shutdown: true } : { item, shutdown: false };
}

/** Of `get`. */
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
 * What is wrong with the options of a get(), or undefined. The names are compared here first, as a
 * look into the table costs 15 ns of the 80 that get() and done() take, and a microsecond where a
 * request comes now and then.
 */
export function problemOfGet<T>(options: GetOptions<T> | undefined): unknown {
  if (options === undefined) return undefined;
  const signal = options?.signal; // null is no object
  let known = signal === undefined || isSignal(signal);
  for (const name in options) known &&= name === 'signal' || name === 'taken';
  const has = signal !== undefined || typeof options.taken === 'function';
  return known && has ? undefined : problemOf(options, 'get()', GET_NAMES);
}

/** What is wrong with the options of a call that rejects, or undefined. */
export function problemOf(options: object | undefined, call: string, names: Names): unknown {
  if (options === undefined) return undefined;
  try {
    requireNames('options', options, `option of ${call}`, names);
  } catch (error) {
    return error;
  }
  return undefined;
}

/** Wraps `answer` in a call of `taken` with the item. */
export function withTaken<T, G>(
  taken: ((item: T) => void) | undefined,
  answer: (item: T | undefined) => G,
): (item: T | undefined) => G {
  if (taken === undefined) return answer;
  return (item) => {
    if (item !== undefined) taken(item);
    return answer(item);
  };
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
  stopListening(): void;
}

interface Line<V> {
  join(waiter: Waiter<V>): void;
  leave(waiter: Waiter<V>): void;
}

/** One call, which listens to its signal. */
class WaitingCall<V, R> implements Waiter<V> {
  readonly #line: Line<V>;
  readonly #call: string;
  readonly #signal: AbortSignal | undefined;
  readonly #answer: (value: V) => R;
  readonly #resolve: (result: R) => void;
  readonly #reject: (error: unknown) => void;

  constructor(
    line: Line<V>,
    call: string,
    signal: AbortSignal | undefined,
    answer: (value: V) => R,
    resolve: (result: R) => void,
    reject: (error: unknown) => void,
  ) {
    this.#line = line;
    this.#call = call;
    this.#signal = signal;
    this.#answer = answer;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  resolve(value: V): void {
    try {
      this.#resolve(this.#answer(value));
    } catch (error) {
      this.#reject(error); // only this call fails, not the one that resolves it
    }
  }

  reject(error: unknown): void {
    this.#reject(error);
  }

  stopListening(): void {
    this.#signal?.removeEventListener('abort', this);
  }

  /** The signal has fired. */
  handleEvent(): void {
    this.#line.leave(this);
    this.#reject(aborted(this.#call, this.#signal?.reason));
  }
}

/** The promise of a call that waits in `line`. `answer` is called when the call is resolved. */
function waitIn<V, R>(
  line: Line<V>,
  call: string,
  signal: AbortSignal | undefined,
  answer: (value: V) => R,
): Promise<R> {
  return new Promise((resolve, reject) => {
    const waiter = new WaitingCall(line, call, signal, answer, resolve, reject);
    signal?.addEventListener('abort', waiter, { once: true });
    line.join(waiter);
    if (signal?.aborted) waiter.handleEvent(); // a clock or an order may have fired it
  });
}

function endAll<V>(waiters: Iterable<Waiter<V | undefined>>, error?: CapstanError): void {
  for (const waiter of waiters) {
    waiter.stopListening();
    if (error === undefined) waiter.resolve(undefined);
    else waiter.reject(error);
  }
}

/** The get() calls that wait, in the order in which they came. */
export class Gets<T> implements Line<T | undefined> {
  // Not empty only while nothing is ready. Mostly there is one, which needs no set.
  #next: Waiter<T | undefined> | undefined;
  readonly #others = new Set<Waiter<T | undefined>>();

  get size(): number {
    return this.#next === undefined ? 0 : 1 + this.#others.size;
  }

  wait<G>(signal: AbortSignal | undefined, answer: (item: T | undefined) => G): Promise<G> {
    return waitIn(this, 'get()', signal, answer);
  }

  join(waiter: Waiter<T | undefined>): void {
    if (this.#next === undefined) this.#next = waiter;
    else this.#others.add(waiter);
  }

  leave(waiter: Waiter<T | undefined>): void {
    if (this.#next === waiter) this.#first();
    else this.#others.delete(waiter);
  }

  /**
   * Hands out ready items to the waiters, the first one first. `take` and `taken` run user code (an
   * order, a clock, metrics), which may call back: `take` may end waiters, and takes no item when
   * none is left; before `taken` is called, the waiter has its item. What `take` throws rejects the
   * first waiter, as it rejects a get() that finds a key ready, and not the call that made the key
   * ready.
   */
  serve(queue: { take(waiting: Gets<T>): T | undefined; taken(): (() => void) | undefined }): void {
    while (this.#next !== undefined) {
      let item: T | undefined;
      try {
        item = queue.take(this);
      } catch (error) {
        const waiter = this.#first();
        if (waiter === undefined) throw error;
        waiter.stopListening();
        waiter.reject(error);
        continue;
      }
      if (item === undefined) return;
      const waiter = this.#first() as Waiter<T | undefined>;
      const tell = queue.taken();
      waiter.stopListening();
      waiter.resolve(item);
      tell?.();
    }
  }

  #first(): Waiter<T | undefined> | undefined {
    const waiter = this.#next;
    this.#next = undefined;
    if (this.#others.size > 0) {
      const [next] = this.#others;
      this.#next = next;
      this.#others.delete(next as Waiter<T | undefined>);
    }
    return waiter;
  }

  /** Ends all: with the shutdown, or with an error. */
  end(error?: CapstanError): void {
    const first = this.#next;
    if (first === undefined) return;
    const all = [first, ...this.#others];
    this.#next = undefined;
    this.#others.clear();
    endAll(all, error);
  }
}

/**
 * The shutDownWithDrain() calls that wait, woken one at a time as client-go's condition variable
 * does.
 */
export class Drains implements Line<void> {
  #waiters: Waiter<void>[] = []; // the first is woken next

  get size(): number {
    return this.#waiters.length;
  }

  wait(signal: AbortSignal | undefined): Promise<void> {
    return waitIn(this, 'shutDownWithDrain()', signal, () => undefined);
  }

  /**
   * A drain begins with a broadcast: the drains that waited wake, find keys in processing and wait
   * again, behind the new one.
   */
  join(waiter: Waiter<void>): void {
    this.#waiters.unshift(waiter);
  }

  leave(waiter: Waiter<void>): void {
    this.#waiters = this.#waiters.filter((other) => other !== waiter);
  }

  /** Wakes one: it ends when nothing is being processed, else it waits again, behind the others. */
  signal(processing: number): void {
    const first = this.#waiters.shift();
    if (first === undefined) return;
    if (processing > 0) this.#waiters.push(first);
    else endAll([first]);
  }

  /** Ends all of them, with an error if there is one. */
  end(error?: CapstanError): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    endAll(waiters, error);
  }
}
