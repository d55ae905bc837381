/**
 * One work with one n over the peers that run in this process, in turn (A B A B), and a JSON line for each:
 *
 *     node --expose-gc bench/time-works.ts WORK N ROUNDS
 *
 * It is a process per work, because what one work teaches the compiler about the shared loops must not slow the next.
 * A round is as much work for small n as for large n; the first is a warm-up and not counted, the collector runs before
 * each, outside the timing. Every work checks its own result and throws if it is wrong.
 */
import { Bench } from 'tinybench';
import { capstan, release } from './capstan-peer.ts';
import { summarize } from './figures.ts';
import { indexerWorks } from './indexer-works.ts';
import { naive } from './peers/naive-ts/naive.mjs';
import { names, type Peer, workloads } from './peers/naive-ts/workloads.mjs';

/** A round of a small n repeats the work until it has made about this many operations. */
const OPERATIONS = 1_000_000;

interface Contender {
  peer: string;
  /** Runs the work once and returns how many operations that was. */
  run(): number;
}

function contenders(work: string, n: number): Contender[] {
  const indexer = indexerWorks[work];
  if (indexer) return [{ peer: 'capstan', run: indexer(n) }];
  const workload = workloads[work];
  if (workload === undefined) {
    throw new Error(`work expected one of ${[...Object.keys(workloads), ...Object.keys(indexerWorks)]}, got ${work}`);
  }
  const data = names(n);
  const repeats = Math.ceil(300_000 / n);
  const over = (peer: Peer) => (): number => {
    let operations = 0;
    for (let k = 0; k < repeats && operations < OPERATIONS; k++) operations += workload(peer, n, data);
    return operations;
  };
  return [capstan, naive].map((peer) => ({ peer: peer.peer, run: over(peer) }));
}

const [work = '', n = '', rounds = ''] = process.argv.slice(2);
const gc = globalThis.gc;
if (gc === undefined) throw new Error('expected node --expose-gc: garbage of one peer must not be paid by the next');

const bench = new Bench({ iterations: 1, time: 0, warmup: false, retainSamples: true, throws: true });
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
for (const [peer, times] of samples) console.log(JSON.stringify(summarize(peer, work, Number(n), times)));
