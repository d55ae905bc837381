/**
 * `npm run bench:collisions -- [--keys N] [--length N] [--rounds N]`: what keys cost that were
 * crafted to collide under a known seed
 * (test/helpers/workqueue/colliding-keys.ts), beside random ones of the same length. In a queue
 * with a random seed, as all have, they must cost at most three times as much; in a queue with that
 * very seed they show what the seed is for.
 */
import { WorkQueue } from 'capstan/workqueue';
import { Random } from '../../test/helpers/random.ts';
import {
  collidingKeys,
  randomKeys,
  type Seed,
} from '../../test/helpers/workqueue/colliding-keys.ts';
import { layout, median } from '../measure/figures.ts';
import { flagsOrExit } from '../measure/flags.ts';
import { pinSeed } from '../measure/wasm-memory.ts';

const LIMIT = 3;
const PINNED: Seed = [0x01234567, 0x89abcdef | 0, 0x0f1e2d3c, 0x4b5a6978];
/** Under the pinned seed the cost of a key grows with their number. */
const FEW = 5_000;

const flags = flagsOrExit('npm run bench:collisions --', { keys: 100_000, length: 35, rounds: 9 });
if (flags.length < 24) throw new RangeError(`--length expected at least 24, got ${flags.length}`);

/** ns a key: added, handed out and done, on a queue that lives on. */
function time(queue: WorkQueue, keys: readonly string[]): number {
  const start = performance.now();
  for (const key of keys) queue.add(key);
  for (const _ of keys) queue.done(queue.tryGet() as string);
  const took = performance.now() - start;
  if (queue.len() !== 0) throw new Error(`${queue.len()} keys are left, expected none`);
  return (took * 1e6) / keys.length;
}

const random = new Random(1);
const crafted = collidingKeys(flags.keys, flags.length, PINNED, random);
const others = randomKeys(flags.keys, flags.length, random);

const queue = new WorkQueue(); // with a seed of its own
const samples: { crafted: number[]; random: number[] } = { crafted: [], random: [] };
for (let round = 0; round <= flags.rounds; round++) {
  const [a, b] = [time(queue, crafted), time(queue, others)];
  if (round === 0) continue; // compiled by now, and the tables have their size
  samples.crafted.push(a);
  samples.random.push(b);
}
pinSeed(PINNED);
const known = new WorkQueue();
const few = crafted.slice(0, FEW);
const slow = Math.min(time(known, few), time(known, few));
const fast = Math.min(time(queue, few), time(queue, few));

const ns = (values: readonly number[]): string =>
  `${median(values).toFixed(0)} ` +
  `(${Math.min(...values).toFixed(0)}-${Math.max(...values).toFixed(0)})`;
const ratio = median(samples.crafted) / median(samples.random);
console.log(
  `add, get and done of ${flags.keys} keys of ${flags.length} characters, ns a key, median of ` +
    `${flags.rounds}\n`,
);
console.log(
  layout([
    ['seed', 'crafted', 'random', 'ratio'],
    ['its own', ns(samples.crafted), ns(samples.random), ratio.toFixed(2)],
    [
      `the one crafted against, ${few.length} keys`,
      slow.toFixed(0),
      fast.toFixed(0),
      (slow / fast).toFixed(1),
    ],
  ]),
);
console.log(ratio <= LIMIT ? `\nok: at most ${LIMIT}` : `\nnot ok: the limit is ${LIMIT}`);
process.exitCode = ratio <= LIMIT ? 0 : 1;
