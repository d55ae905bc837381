/**
 * `npm run bench:memory -- [--live 1000000]`: bytes per live key, JS heap after collection and Wasm
 * memory together, ours beside the naive port, with items of three kinds, each in a process of its
 * own. The goal is 0.6 of the naive port's.
 *
 * `ready` is right after the keys were added; `passed` is when three times as many have passed
 * through; `processing` is when all are handed out. The memory of the items counts on both sides,
 * because both hand out the items that were added. `items` is a ring that only holds the items; the
 * last columns are without its memory, so they show what the queue itself needs.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { layout, showCount } from '../measure/figures.ts';
import { flagsOrExit } from '../measure/flags.ts';
import { ITEMS, type ItemKind, type PeerName } from './load-peers.ts';
import type { Bytes, Memory } from './memory-load.ts';

const GOAL = 0.6;
const { live } = flagsOrExit('npm run bench:memory --', { live: 1_000_000 });
const run = promisify(execFile);

async function load(peer: PeerName, items: ItemKind): Promise<Memory> {
  const script = fileURLToPath(new URL('./memory-load.ts', import.meta.url));
  const args = ['--expose-gc', script, '--peer', peer, '--items', items, '--live', String(live)];
  const { stdout } = await run(process.execPath, args, { timeout: 300_000, killSignal: 'SIGKILL' });
  return JSON.parse(stdout) as Memory;
}

const all = ({ heap, wasm }: Bytes): number => heap + wasm;
const bytes = (value: number): string => value.toFixed(0);

const lines: string[][] = [];
const verdicts: string[] = [];
for (const items of ITEMS) {
  const [ours, theirs, ring] = [
    await load('capstan', items),
    await load('naive', items),
    await load('ring', items),
  ];
  for (const state of ['ready', 'passed', 'processing'] as const) {
    const [a, b, floor] = [
      ours[state],
      theirs[state],
      all(ring[state === 'ready' ? 'ready' : 'passed']),
    ];
    const ratio = all(a) / all(b);
    lines.push([
      `${items}, ${state}`,
      `${bytes(all(a))} (${bytes(a.heap)} + ${bytes(a.wasm)})`,
      bytes(all(b)),
      ratio.toFixed(2),
      bytes(floor),
      bytes(all(a) - floor),
      bytes(all(b) - floor),
      ((all(a) - floor) / (all(b) - floor)).toFixed(2),
    ]);
    verdicts.push(
      `${items}, ${state}: ${ratio.toFixed(2)} of naive, goal ${GOAL}: ` +
        `${ratio <= GOAL ? 'met' : 'MISSED'}`,
    );
  }
}
console.log(`bytes per live key, ${showCount(live)} live, Node ${process.version}\n`);
console.log(
  layout([
    [
      'items, state',
      'capstan (heap + Wasm)',
      'naive',
      'ratio',
      'items',
      'capstan without',
      'naive without',
      'ratio',
    ],
    ...lines,
  ]),
);
console.log(`\n${verdicts.join('\n')}`);
