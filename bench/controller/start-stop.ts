/**
 * `npm run soak:start-stop -- [--cycles N] [--seed N]`: the starts and stops of start-stop-run.ts
 * on the built package, by default a thousand. Exits 1 unless all held and, from a fifth of them to
 * the end, heap and external memory have grown by no more than two MiB.
 */
import { Random, testSeed } from '../../test/helpers/random.ts';
import { flagsOrExit } from '../measure/flags.ts';
import { grewTooMuch, startStop } from './start-stop-run.ts';

const { cycles, seed } = flagsOrExit('npm run soak:start-stop --', {
  cycles: 1000,
  seed: testSeed() || 1,
});
const collect = globalThis.gc;
if (collect === undefined) throw new Error('expected node --expose-gc');

const mib = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(2)} MiB`;
console.log(`CAPSTAN_SEED=${seed}: ${cycles} starts and stops, Node ${process.version}`);
const start = performance.now();
const random = new Random(seed);
const report = await startStop({
  cycles,
  collect: () => collect(),
  random: () => random.next(),
  progress: (done, bytes) => {
    if (done % 100 === 0) console.log(`${String(done).padStart(6)}  ${mib(bytes)}`);
  },
});
const { problems, reconciles, worked, led, failed, early, late } = report;
if (grewTooMuch(report)) problems.push(`memory has grown by ${mib(late - early)}`);
console.log(
  `\n${((performance.now() - start) / 1000).toFixed(0)} s: ${reconciles} reconciles, in ` +
    `${worked} cycles; ${led} led by a lease, ${failed} ended by a failure; ` +
    `memory after collection ${mib(early)} at a fifth, ${mib(late)} at the end`,
);
for (const problem of problems) console.log(`FAILED: ${problem}`);
console.log(problems.length === 0 ? 'ok: nothing is left' : 'not ok');
process.exitCode = problems.length === 0 ? 0 : 1;
