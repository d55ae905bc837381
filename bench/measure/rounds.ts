/**
 * Measures peers in turn (A B A B). Each run is a process of its own that prints one JSON line. A
 * run takes seconds to minutes, so its result is printed to stderr when it ends.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { median } from './figures.ts';
import { at } from './programs.ts';

const run = promisify(execFile);

/** Parsed lists of 100 000 Pods need more memory than V8's default limit. */
const HEAP_MIB = 12_000;

/** One run of a script of this folder: what it printed. */
export async function runOnce<R>(
  script: string,
  args: readonly string[],
  limitMs: number,
): Promise<R> {
  const node = ['--expose-gc', `--max-old-space-size=${HEAP_MIB}`, at(script), ...args];
  const { stdout } = await run(process.execPath, node, { timeout: limitMs, killSignal: 'SIGKILL' });
  const line = stdout.split('\n').find((each) => each.startsWith('{'));
  if (line === undefined) throw new Error(`${script} ${args.join(' ')}: printed no figures`);
  return JSON.parse(line) as R;
}

/** Runs `count` rounds over the peers. Returns the results by peer. */
export async function inTurn<R>(
  peers: readonly string[],
  count: number,
  measure: (peer: string) => Promise<R>,
): Promise<Map<string, R[]>> {
  const all = new Map(peers.map((peer) => [peer, [] as R[]]));
  for (let round = 0; round < count; round++) {
    for (const peer of peers) {
      const measured = await measure(peer);
      all.get(peer)?.push(measured);
      process.stderr.write(`round ${round + 1}: ${JSON.stringify(measured)}\n`);
    }
  }
  return all;
}

/** The median and the range of one figure. */
export interface Spread {
  median: number;
  min: number;
  max: number;
}

export function spread(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/** `12.3 (11.9-14.0)`. */
export function showSpread({ median: middle, min, max }: Spread, digits = 1): string {
  return `${middle.toFixed(digits)} (${min.toFixed(digits)}-${max.toFixed(digits)})`;
}

/** `0.24, goal 0.25: met`. */
export function verdictOf(what: string, got: number, goal: number, digits = 2): string {
  return (
    `${what}: ${got.toFixed(digits)}, goal ${goal.toFixed(digits)}: ` +
    `${got <= goal ? 'met' : 'MISSED'}`
  );
}
