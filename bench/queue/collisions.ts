/**
 * `npm run bench:collisions -- [--blocks N] [--rounds N]`: the time of 2^N keys with the same hash
 * (collidingWholes of test/helpers/workqueue/colliding-keys.ts), beside random keys of the same
 * length. They must take at most three times as long: a queue that finds such keys uses a Map.
 */
import { WorkQueue } from 'capstan/workqueue';
import { Random } from '../../test/helpers/random.ts';
import { collidingWholes, randomKeys } from '../../test/helpers/workqueue/colliding-keys.ts';
import { layout, median } from '../measure/figures.ts';
import { flagsOrExit } from '../measure/flags.ts';

const LIMIT = 3;

const flags = flagsOrExit('npm run bench:collisions --', { blocks: 14, rounds: 9 });

/** Nanoseconds to add a key, get it and finish it, on a queue that is kept. */
function time(queue: WorkQueue, keys: readonly string[]): number {
  const start = performance.now();
  for (const key of keys) queue.add(key);
  for (const _ of keys) queue.done(queue.tryGet() as string);
  const took = performance.now() - start;
  if (queue.len() !== 0) throw new Error(`${queue.len()} keys are left, expected none`);
  return (took * 1e6) / keys.length;
}

const crafted = collidingWholes(flags.blocks);
const length = crafted[0]?.length ?? 0;
const others = randomKeys(crafted.length, length, new Random(1));

const queues = { crafted: new WorkQueue(), random: new WorkQueue() };
const samples: { crafted: number[]; random: number[] } = { crafted: [], random: [] };
for (let round = 0; round <= flags.rounds; round++) {
  const [a, b] = [time(queues.crafted, crafted), time(queues.random, others)];
  if (round === 0) continue; // a warm-up: code is compiled, and tables grow
  samples.crafted.push(a);
  samples.random.push(b);
}

const ns = (values: readonly number[]): string =>
  `${median(values).toFixed(0)} ` +
  `(${Math.min(...values).toFixed(0)}-${Math.max(...values).toFixed(0)})`;
const ratio = median(samples.crafted) / median(samples.random);
console.log(
  `add, get and done of ${crafted.length} keys of ${length} characters, ns a key, median of ` +
    `${flags.rounds}\n`,
);
console.log(
  layout([
    ['crafted', 'random', 'ratio'],
    [ns(samples.crafted), ns(samples.random), ratio.toFixed(2)],
  ]),
);
console.log(ratio <= LIMIT ? `\nok: at most ${LIMIT}` : `\nnot ok: the limit is ${LIMIT}`);
process.exitCode = ratio <= LIMIT ? 0 : 1;
