/**
 * `capstan bench`: measures a workload on several queues, in turns A B A B, and says which one
 * wins.
 */
import { readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { Clock } from 'capstan/workqueue';
import { attempt } from './attempt.ts';
import { benchChartOf, benchPageOf } from './bench-chart.ts';
import { type PeerFigures, roundsOf, shareOf } from './bench-figures.ts';
import type { BenchOptions } from './bench-options.ts';
import { type BenchPeer, loadPeer, ownPeers } from './bench-queues.ts';
import { type BenchResult, tableOf } from './bench-table.ts';
import { type Adds, addsOf, generateKeys, keysOfText } from './bench-workload.ts';
import { checkClosed, timeClosed } from './closed-loop.ts';
import { runOpen } from './open-loop.ts';
import { writeWhole } from './whole-file.ts';

/** The clock of the rounds at a constant pace, and the wait for the next turn of the event loop. */
export interface BenchTime {
  readonly clock: Clock;
  readonly turn: (run: () => void) => void;
}

const REAL_TIME: BenchTime = {
  clock: {
    now: () => performance.now(),
    setTimer: (run, ms) => setTimeout(run, Math.max(ms, 0)), // Node warns of a negative time
    clearTimer: (timer) => clearTimeout(timer as NodeJS.Timeout),
  },
  turn: (run) => void setImmediate(run),
};

interface Samples {
  readonly ns: number[];
  readonly adds: number[];
  readonly p50: number[];
  readonly p99: number[];
}

/**
 * Measures, writes the files of `svg` and `html`, and returns the table.
 *
 * @param say gets a line about each step
 * @throws CapstanError INVALID_ARGUMENT if a queue loses a key or hands one out twice at once
 */
export async function runBench(
  options: BenchOptions,
  say: (line: string) => void,
  time: BenchTime = REAL_TIME,
): Promise<string> {
  const keys = await keysFor(options);
  const delayed = options.delayed > 0;
  const peers = ownPeers(delayed);
  if (options.peer !== undefined)
    peers.push(await loadPeer(resolve(options.peer), basename(options.peer), delayed));
  const result: BenchResult = {
    keys: keys.length,
    options,
    figures: await measure(peers, keys, options, say, time),
    node: process.versions.node,
    platform: `${process.platform} ${process.arch}`,
  };
  if (options.svg !== undefined)
    await writeWhole(resolve(options.svg), benchChartOf(result), '--svg');
  if (options.html !== undefined)
    await writeWhole(resolve(options.html), benchPageOf(result), '--html');
  return tableOf(result);
}

function keysFor({ keys, generate, pattern, seed }: BenchOptions): Promise<string[]> | string[] {
  if (keys === undefined) return generateKeys(generate, pattern, seed);
  return attempt(`--keys ${keys} could not be read`, () => readFileSync(keys, 'utf8')).then(
    (text) => keysOfText(text, keys),
  );
}

async function measure(
  peers: readonly BenchPeer[],
  keys: readonly string[],
  options: BenchOptions,
  say: (line: string) => void,
  { clock, turn }: BenchTime,
): Promise<PeerFigures[]> {
  const { rounds, workers, rate, duration } = options;
  const longest = options.delayed > 0 ? options.delay : 0;
  const samples = peers.map((): Samples => ({ ns: [], adds: [], p50: [], p99: [] }));
  const turns = peers.map((peer, i) => ({ peer, into: samples[i] as Samples }));

  say(`seed ${options.seed}: ${peers.map(({ name }) => name).join(', ')}`);
  say('checking each key');
  const fast = addsOf(keys, options.adds, options);
  const expected = new Map(
    peers.map((peer) => [peer, checkClosed(peer, fast, workers, longest)] as const),
  );
  for (let round = 0; round <= rounds; round++) {
    say(round === 0 ? 'cost of the calls: warm-up' : `cost: round ${round} of ${rounds}`);
    for (const { peer, into } of inTurn(turns, round)) {
      const handouts = expected.get(peer) ?? 0;
      const ns = timeClosed(peer, fast, workers, longest, handouts);
      if (round === 0) continue;
      into.ns.push(ns);
      into.adds.push((1e9 * fast.count) / (ns * (fast.count + 2 * handouts)));
    }
  }
  if (rate !== undefined) {
    const paced: Adds = addsOf(keys, Math.max(1, Math.round(rate * duration)), options);
    for (let round = 0; round <= rounds; round++) {
      say(round === 0 ? 'waits in real time: warm-up' : `waits: round ${round} of ${rounds}`);
      for (const { peer, into } of inTurn(turns, round)) {
        const waits = await runOpen(peer, paced, { rate, workers, clock, turn });
        if (round === 0) continue;
        into.p50.push(shareOf(waits, 0.5));
        into.p99.push(shareOf(waits, 0.99));
      }
    }
  }
  return turns.map(({ peer: { name }, into: { ns, adds, p50, p99 } }) => ({
    name,
    ns: roundsOf(ns),
    adds: roundsOf(adds),
    p50: p50.length === 0 ? undefined : roundsOf(p50),
    p99: p99.length === 0 ? undefined : roundsOf(p99),
  }));
}

/** Each round begins with another queue, so that none has always the same place. */
function inTurn<T>(all: readonly T[], round: number): T[] {
  const first = round % all.length;
  return [...all.slice(first), ...all.slice(0, first)];
}
