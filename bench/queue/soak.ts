/**
 * `npm run soak -- [--cycles N] [--live N]`: the soak of soak-run.ts on the built
 * package, by default 10^8 cycles with 10^6 keys live. Prints progress and a verdict; exits 1
 * unless the Wasm pages at a tenth and at the end are equal, the JS heap has grown by less than 2
 * MiB, and nothing was lost or came out too often.
 */
import { flagsOrExit } from '../measure/flags.ts';
import { wasmPages } from '../measure/wasm-memory.ts';
import { type SoakSample, soak } from './soak-run.ts';

const { cycles, live } = flagsOrExit('npm run soak --', {
  cycles: 100_000_000,
  live: 1_000_000,
});
const collect = globalThis.gc;
if (collect === undefined) throw new Error('expected node --expose-gc');
const mib = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
const show = ({ cycles: done, pages, heap, ns }: SoakSample): string =>
  `${String(Math.round((done / cycles) * 100)).padStart(3)} %  ${ns.toFixed(0).padStart(5)} ns ` +
  `a cycle  ${pages} pages  JS heap ${mib(heap)}`;

console.log(`${cycles} cycles, each on a new key, ${live} keys live, Node ${process.version}`);
const start = performance.now();
const report = await soak({
  cycles,
  live,
  pages: wasmPages,
  collect,
  progress: (sample) => console.log(show(sample)),
});
const { early, late, handedOut, problems } = report;
const seconds = ((performance.now() - start) / 1000).toFixed(0);
console.log(
  `\n${handedOut} handed out in ${seconds} s; pages ${early.pages} at 10 %, ${late.pages} at ` +
    '100 %; ' +
    `JS heap after collection ${mib(early.heap)} and ${mib(late.heap)}, ` +
    `${((late.heap - early.heap) / 1024).toFixed(0)} KiB more`,
);
for (const problem of problems) console.log(`FAILED: ${problem}`);
console.log(problems.length === 0 ? 'ok: nothing lost, nothing doubled, memory flat' : 'not ok');
process.exitCode = problems.length === 0 ? 0 : 1;
