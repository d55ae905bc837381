/**
 * A steady load on one peer: each millisecond the same number of keys falls due, and each of them
 * is one cycle: get the oldest key, finish it, add a new one. So the number of live keys stays the
 * same. Runs in a worker.
 *
 * - Open loop: keys fall due at their time, however slow the peer is. So a pause delays all keys
 *   that fall due in it, and counts for each of them.
 * - The worker sends messages to itself all the time. The gap between two of them is a pause,
 *   whatever caused it: the cycles of a millisecond, a growing table, the garbage collector, the
 *   operating system.
 * - Each cycle makes a new key, as long as those of the workloads (36 characters). Both peers get
 *   the same keys.
 */
import { release } from '../queue/capstan-peer.ts';
import {
  BUCKET_MS,
  type PagePeerName,
  STALL_MS,
  type SteadyShape,
  type SteadySlice,
} from './protocol.ts';
import { peers } from './time-work.ts';

const PREFIXES = Array.from(
  { length: 200 },
  (_, i) => `team-${String(i).padStart(3, '0')}/web-frontend-5d8-`,
);
/** The first number of a key, so that all numbers have the same length. */
const FIRST = 1_000_000_000;
const SLICE_MS = 100;

/** The slice that is being collected. */
class Slice {
  readonly #waits: number[] = [];
  readonly #latencies: number[] = [];
  readonly #pauses: number[] = [];
  #longest = 0;
  #stalls = 0;
  #stalledMs = 0;
  #busyMs = 0;
  #cycles = 0;

  batch(due: number, begun: number, done: number, cycles: number): void {
    this.#waits.push(begun - due);
    this.#latencies.push(done - due);
    this.#busyMs += done - begun;
    this.#cycles += cycles;
  }

  gap(ms: number): void {
    this.#longest = Math.max(this.#longest, ms);
    if (ms <= STALL_MS) return;
    this.#stalls++;
    this.#stalledMs += ms;
  }

  bucket(longest: number): void {
    this.#pauses.push(longest);
  }

  take(spanMs: number): SteadySlice {
    const slice = {
      spanMs,
      waits: Float64Array.from(this.#waits),
      latencies: Float64Array.from(this.#latencies),
      pauses: Float64Array.from(this.#pauses),
      longest: this.#longest,
      stalls: this.#stalls,
      stalledMs: this.#stalledMs,
      busyMs: this.#busyMs,
      cycles: this.#cycles,
    };
    this.#waits.length = this.#latencies.length = this.#pauses.length = 0;
    this.#longest = this.#stalls = this.#stalledMs = this.#busyMs = this.#cycles = 0;
    return slice;
  }
}

/** Resolves after the warm-up and the measured time; slices of the warm-up are marked. */
export function steadyLoad(
  peerName: PagePeerName,
  { live, rate, ms, warmUpMs }: SteadyShape,
  send: (slice: SteadySlice, warm: boolean) => void,
): Promise<void> {
  const queue = peers[peerName].queue();
  const batch = rate / 1000;
  let next = 0;
  const addNew = (): void => {
    queue.add(`${PREFIXES[next % PREFIXES.length]}${FIRST + next}`);
    next++;
  };
  const cycle = (): void => {
    const item = queue.tryGet();
    if (item === undefined)
      throw new Error(`steady load: nothing was handed out with ${live} keys in the queue`);
    queue.done(item);
    addNew();
  };
  while (next < live) addNew();

  /**
   * Runs the load for a time. The due times start anew, so that a backlog of the warm-up does not
   * count.
   */
  const run = (duration: number, warm: boolean): Promise<void> =>
    new Promise((resolve, reject) => {
      const slice = new Slice();
      const { port1, port2 } = new MessageChannel(); // a timer would be clamped to 4 ms
      const start = performance.now();
      let last = start;
      let due = start;
      let longest = 0;
      let bucketEnd = start + BUCKET_MS;
      let sent = start;
      const finish = (settle: () => void): void => {
        port1.close();
        settle();
      };
      const turn = (): void => {
        const now = performance.now();
        slice.gap(now - last);
        longest = Math.max(longest, now - last);
        last = now;
        while (now >= bucketEnd && bucketEnd <= start + duration) {
          slice.bucket(longest); // a pause across several buckets counts in each of them
          bucketEnd += BUCKET_MS;
          if (now < bucketEnd) longest = 0;
        }
        if (now >= due && due < start + duration) {
          for (let i = 0; i < batch; i++) cycle();
          slice.batch(due, now, performance.now(), batch);
          due += 1;
        }
        const ended = now >= start + duration;
        if (ended || now - sent >= SLICE_MS) {
          send(slice.take(now - sent), warm);
          sent = now;
        }
        if (ended) {
          if (queue.len() !== live)
            throw new Error(`steady load: ${queue.len()} keys left, expected ${live}`);
          finish(resolve);
          return;
        }
        port2.postMessage(undefined);
      };
      port1.onmessage = () => {
        try {
          turn();
        } catch (error) {
          finish(() => reject(error));
        }
      };
      port2.postMessage(undefined);
    });

  return run(warmUpMs, true)
    .then(() => run(ms, false))
    .finally(release);
}
