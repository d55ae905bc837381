/**
 * Measures one work with one n for the peers that run in this process, in turn (A B A B). Prints a
 * JSON line for each:
 *
 *     node --expose-gc bench/queue/time-works.ts WORK N ROUNDS
 *
 * Each work has a process of its own, because V8 optimises the shared loops for the work that ran
 * first, which would slow the next one. A round is as much work for small n as for large n; the
 * first is a warm-up and not counted, the collector runs before each, outside the timing. Every
 * work checks its own result and throws if it is wrong.
 */
import { Bench } from 'tinybench';
import { indexerWorks } from '../cache/indexer-works.ts';
import { summarize } from '../measure/figures.ts';
import { naive } from '../peers/naive-ts/naive.mjs';
import { names, workloads } from '../peers/naive-ts/workloads.mjs';
import { capstan, release } from './capstan-peer.ts';
import { slotWorks } from './slot-works.ts';

/** A round of a small n repeats the work until it has made about this many operations. */
const OPERATIONS = 1_000_000;

interface Contender {
  peer: string;
  /** Runs the work once and returns its number of operations. */
  run(): number;
}

/** Repeats a work until it has made about OPERATIONS, at most `times` times. */
function repeated(times: number, run: () => number): () => number {
  return () => {
    let operations = 0;
    for (let k = 0; k < times && operations < OPERATIONS; k++) operations += run();
    return operations;
  };
}

function contenders(work: string, n: number): Contender[] {
  const indexer = indexerWorks[work];
  if (indexer) return [{ peer: 'capstan', run: repeated(Math.ceil(100_000 / n), indexer(n)) }];
  const slots = slotWorks[work];
  if (slots) return [{ peer: 'capstan', run: slots(n) }];
  const workload = workloads[work];
  if (workload === undefined) {
    const all = [workloads, slotWorks, indexerWorks].flatMap((works) => Object.keys(works));
    throw new Error(`work expected one of ${all}, got ${work}`);
  }
  const data = names(n);
  return [capstan, naive].map((peer) => ({
    peer: peer.peer,
    run: repeated(Math.ceil(300_000 / n), () => workload(peer, n, data)),
  }));
}

const [work = '', n = '', rounds = ''] = process.argv.slice(2);
const gc = globalThis.gc;
if (gc === undefined)
  throw new Error('expected node --expose-gc: garbage of one peer must not be paid by the next');

const bench = new Bench({
  iterations: 1,
  time: 0,
  warmup: false,
  retainSamples: true,
  throws: true,
});
const samples = new Map<string, number[]>();
let operations = 0;
for (const { peer, run } of contenders(work, Number(n))) {
  samples.set(peer, []);
  bench.add(peer, () => {
    operations = run();
  });
}
for (let round = 0; round <= Number(rounds); round++) {
  for (const task of bench.tasks) {
    release();
    gc();
    task.reset();
    const { result } = task.runSync();
    if (result.state !== 'completed') throw new Error(`${work} on ${task.name}: ${result.state}`);
    if (round > 0) samples.get(task.name)?.push((result.latency.mean * 1e6) / operations);
  }
}
for (const [peer, times] of samples)
  console.log(JSON.stringify(summarize(peer, work, Number(n), times)));
