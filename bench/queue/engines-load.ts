/**
 * Runs the works of the queues beside the naive port in any engine; engines.ts bundles this file.
 * As a program it takes the arguments `WORK KEYS,KEYS ROUNDS` and prints a JSON line for each
 * figure; the worker of a page calls `measureWork`.
 *
 * Rounds are in turn, A B A B, and the first is not counted. Before each round the collector runs,
 * if the engine lets programs call it.
 */
import { summarize } from '../measure/figures.ts';
import { naive } from '../peers/naive-ts/naive.mjs';
import { names, workloads } from '../peers/naive-ts/workloads.mjs';
import { capstan, release } from './capstan-peer.ts';

/** A round repeats the work until it has handled KEYS keys or made OPERATIONS operations. */
const KEYS = 300_000;
const OPERATIONS = 1_000_000;

interface Engine {
  gc?: () => void;
  Bun?: { gc(force: boolean): void };
  Deno?: { args: string[] };
  process?: { argv: string[] };
  measureWork?: typeof measureWork;
  document?: unknown;
}
const engine = globalThis as Engine;

function collect(): void {
  if (engine.Bun) engine.Bun.gc(true);
  else engine.gc?.();
}

/** Calls `print` with a JSON line of the figure of each peer, for each number of keys. */
export function measureWork(
  work: string,
  counts: readonly number[],
  rounds: number,
  print: (line: string) => void,
): void {
  const run = workloads[work];
  if (run === undefined)
    throw new Error(`work expected one of ${Object.keys(workloads)}, got ${work}`);
  for (const n of counts) {
    const data = names(n);
    const peers = [capstan, naive].map((peer) => ({ peer, samples: [] as number[] }));
    for (let round = 0; round <= rounds; round++) {
      for (const { peer, samples } of peers) {
        release();
        collect();
        const start = performance.now();
        let operations = 0;
        for (let keys = 0; keys < KEYS && operations < OPERATIONS; keys += n)
          operations += run(peer, n, data);
        if (round > 0) samples.push(((performance.now() - start) * 1e6) / operations);
      }
    }
    release();
    for (const { peer, samples } of peers)
      print(JSON.stringify(summarize(peer.peer, work, n, samples)));
  }
}

engine.measureWork = measureWork;
const args = engine.Deno?.args ?? engine.process?.argv.slice(2) ?? [];
const [work, counts = '', rounds = ''] = args;
if (work) measureWork(work, counts.split(',').map(Number), Number(rounds), (l) => console.log(l));
