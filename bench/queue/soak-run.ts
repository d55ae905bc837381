/**
 * The soak: every cycle adds a new key, while the given number of keys stay live in all states at
 * once. Memory must depend on the live keys only, not on the number of keys that were ever added,
 * and each key must come out exactly as often as it was added.
 *
 * What happens to a key: a quarter of the keys wait first, at most for the time in which half of
 * the live keys are handed out. All become ready, are handed out in turn, stay in processing while
 * a quarter of the live keys is handed out, and are finished by an equal string, not by the same
 * one. One in 64 is added again while it is processed and comes a second time. One in 16 is too
 * long for its record. One in 16 that is ready is added again at once, which must have no effect.
 */
import { DelayingQueue, FakeClock } from 'capstan/workqueue';

export interface SoakSample {
  cycles: number;
  pages: number;
  /** Bytes of the JS heap; right after a collection only at a tenth and at the end. */
  heap: number;
  ns: number; // per cycle since the sample before
}

export interface SoakReport {
  handedOut: number;
  /** At a tenth of the cycles, and at the end, while all keys are live. */
  early: SoakSample;
  late: SoakSample;
  /** The problems that were found, as text; empty for none. */
  problems: string[];
}

export interface SoakOptions {
  cycles: number;
  live: number;
  pages(): number;
  collect(): void;
  progress?(sample: SoakSample): void;
}

const HEAP_GROWTH_LIMIT = 2 * 1024 * 1024;

const CYCLES_A_MS = 64; // so often the fake clock moves by a millisecond
const FIRST_NUMBER = 1_000_000_000; // so that all keys have ten digits

// The recorded states of a key, in arrays by its number modulo a length that is greater than the
// number of live keys.
const GONE = 0;
const QUEUED = 1;
const PROCESSING = 2;
const PROCESSING_TO_COME_AGAIN = 3;
const QUEUED_AGAIN = 4;
const PROCESSING_AGAIN = 5;

const namespaces = Array.from({ length: 200 }, (_, i) => `team-${String(i).padStart(3, '0')}`);
const SHORT = 'web-frontend-';
const LONG = 'web-frontend-of-a-deployment-with-a-name-that-no-record-has-room-for-';

/** A new string at each call, as an event handler makes it. */
function keyOf(i: number): string {
  return `${namespaces[i % 200]}/${i % 16 === 3 ? LONG : SHORT}${FIRST_NUMBER + i}`;
}

function numberOf(key: string): number {
  let number = 0;
  for (let at = key.length - 9; at < key.length; at++)
    number = number * 10 + key.charCodeAt(at) - 48;
  return number;
}

const waits = (i: number): boolean => i % 4 === 0;

class Soak {
  readonly problems: string[] = [];
  handedOut = 0;
  #again = 0; // adds of keys in processing
  readonly #clock = new FakeClock();
  readonly #queue = new DelayingQueue({ clock: this.#clock });
  readonly #live: number;
  readonly #longestWait: number; // ms
  readonly #books: Uint8Array;
  // numbers of the keys in processing, in the order in which they were handed out
  readonly #held: Int32Array;
  #heldFrom = 0;
  #heldTo = 0;

  constructor(live: number) {
    this.#live = live;
    this.#longestWait = Math.max(1, Math.floor(live / 2 / CYCLES_A_MS));
    this.#books = new Uint8Array(8 * live + 1);
    this.#held = new Int32Array(live);
  }

  /** Cycle i. The first ones only fill the queue. */
  cycle(i: number): void {
    this.#add(i);
    if (i % CYCLES_A_MS === 0) this.#clock.step(1);
    if (i < this.#live - (this.#live >> 2)) return;
    let turns = 1;
    for (let turn = 0; turn < turns; turn++) {
      const number = this.#get();
      if (number % 64 === 5 && this.#books[number % this.#books.length] === PROCESSING) {
        this.#queue.add(keyOf(number));
        this.#books[number % this.#books.length] = PROCESSING_TO_COME_AGAIN;
        this.#again++;
        turns = 2; // the key comes out twice, so one more get keeps the queue from growing
      }
      if (this.#heldTo - this.#heldFrom > this.#live >> 2) this.#done();
    }
  }

  /** Takes out all keys and checks the totals. */
  async finish(added: number): Promise<void> {
    this.#clock.step(this.#longestWait + 1);
    while (this.#heldFrom < this.#heldTo || this.#queue.len() > 0) {
      if (this.#queue.len() > 0) this.#get();
      if (this.#queue.len() === 0 || this.#heldTo - this.#heldFrom > this.#live >> 2) this.#done();
    }
    const left = this.#books.reduce((sum, state) => sum + (state === GONE ? 0 : 1), 0);
    if (left > 0) this.#problem(`${left} keys were lost`);
    const expected = added + this.#again;
    if (this.handedOut !== expected)
      this.#problem(`${this.handedOut} handed out, expected ${expected}`);
    let drained = false;
    void this.#queue.shutDownWithDrain().then(() => {
      drained = true;
    });
    for (let turn = 0; turn < 10; turn++) await undefined;
    if (!drained) this.#problem('keys that were done are still in processing');
    this.#queue.dispose();
  }

  #add(i: number): void {
    const at = i % this.#books.length;
    if (this.#books[at] !== GONE)
      this.#problem(`a key was lost that was added ${this.#books.length} cycles before ${i}`);
    this.#books[at] = QUEUED;
    if (waits(i)) this.#queue.addAfter(keyOf(i), 1 + ((i * 7919) % this.#longestWait));
    else this.#queue.add(keyOf(i));
    if (i % 16 === 7) this.#queue.add(keyOf(i));
  }

  #get(): number {
    const item = this.#queue.tryGet();
    if (item === undefined) {
      this.#problem('nothing was handed out though keys were ready');
      return 0;
    }
    this.handedOut++;
    const number = numberOf(item);
    const state = this.#books[number % this.#books.length];
    if (state === QUEUED) this.#books[number % this.#books.length] = PROCESSING;
    else if (state === QUEUED_AGAIN) this.#books[number % this.#books.length] = PROCESSING_AGAIN;
    else this.#problem(`${item} was handed out in state ${state}`);
    this.#held[this.#heldTo++ % this.#held.length] = number;
    return number;
  }

  #done(): void {
    const number = this.#held[this.#heldFrom++ % this.#held.length] as number;
    this.#queue.done(keyOf(number));
    const at = number % this.#books.length;
    this.#books[at] = this.#books[at] === PROCESSING_TO_COME_AGAIN ? QUEUED_AGAIN : GONE;
  }

  #problem(text: string): void {
    if (this.problems.length < 10) this.problems.push(text);
  }
}

export async function soak(options: SoakOptions): Promise<SoakReport> {
  const { cycles, live } = options;
  if (cycles < 30 * live)
    throw new RangeError(
      `cycles expected at least 30 times ${live}, so that all settles in a tenth of them; got ` +
        `${cycles}`,
    );
  const run = new Soak(live);
  let from = 0;
  let start = performance.now();
  const sample = (now: number, collected: boolean): SoakSample => {
    const ns = ((performance.now() - start) * 1e6) / (now - from);
    if (collected) for (let i = 0; i < 3; i++) options.collect();
    const taken = { cycles: now, pages: options.pages(), heap: process.memoryUsage().heapUsed, ns };
    options.progress?.(taken);
    from = now;
    start = performance.now();
    return taken;
  };
  const early = Math.ceil(cycles / 10);
  const every = Math.ceil(cycles / 20);
  let atTenth: SoakSample | undefined;
  for (let i = 0; i < cycles; i++) {
    run.cycle(i);
    const done = i + 1;
    if (done === early) atTenth = sample(done, true);
    else if (done % every === 0 && done !== cycles) sample(done, false);
  }
  const late = sample(cycles, true);
  await run.finish(cycles);
  const first = atTenth as SoakSample;
  const problems = [...run.problems];
  if (first.pages !== late.pages)
    problems.push(`the Wasm memory had ${first.pages} pages at a tenth and has ${late.pages} now`);
  if (late.heap - first.heap > HEAP_GROWTH_LIMIT) {
    problems.push(
      `the JS heap has grown by ${late.heap - first.heap} bytes since a tenth, the limit is ` +
        `${HEAP_GROWTH_LIMIT}`,
    );
  }
  return { handedOut: run.handedOut, early: first, late, problems };
}
