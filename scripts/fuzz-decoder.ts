/**
 * Fuzzes the decoders of watches and lists: by default with a million damaged inputs each.
 *
 *     node scripts/fuzz-decoder.ts [--inputs N] [--decoder NAME] [--seed N]
 */
import { parseArgs } from 'node:util';
import { fuzz } from '../test/cache/fuzz/fuzz.ts';
import { subjects } from '../test/cache/fuzz/subjects.ts';

const STEP = 50_000;
const { values } = parseArgs({
  options: {
    inputs: { type: 'string', default: '1000000' },
    decoder: { type: 'string' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 32)) },
  },
});
const inputs = Number(values.inputs);
const first = Number(values.seed);
if (!Number.isInteger(inputs) || inputs < 1)
  throw new RangeError(`--inputs expected a number, got ${values.inputs}`);
if (!Number.isInteger(first)) throw new RangeError(`--seed expected a number, got ${values.seed}`);
const chosen = subjects.filter(
  ({ name }) => values.decoder === undefined || name === values.decoder,
);
if (chosen.length === 0)
  throw new RangeError(`--decoder expected one of ${subjects.map(({ name }) => name).join(', ')}`);

for (const subject of chosen) {
  const total = { inputs: 0, frames: 0, pages: 0, errors: 0 };
  const started = performance.now();
  // Each step has a seed of its own, so that a failure can be repeated without the steps before it.
  for (let step = 0; total.inputs < inputs; step++) {
    const report = fuzz(subject, {
      seed: (first + step) >>> 0,
      inputs: Math.min(STEP, inputs - total.inputs),
    });
    for (const name of ['inputs', 'frames', 'pages', 'errors'] as const)
      total[name] += report[name];
    const seconds = ((performance.now() - started) / 1000).toFixed(0);
    console.log(
      `${subject.name}: ${total.inputs} inputs, ${total.frames} frames, ${total.pages} pages, ` +
        `${total.errors} errors, ` +
        `${seconds} s (seed ${(first + step) >>> 0})`,
    );
  }
}
