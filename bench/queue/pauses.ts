/**
 * `npm run bench:pauses -- [--items fresh|request|same] [--seconds 60] [--rounds 5] [--live
 * 1000000] [--rate 200000]`: how long the event loop stands still, and how much the garbage
 * collector works, under a steady load on a large queue; ours and the naive port in turn (A B A B),
 * each run in a process of its own, medians. The goal is a quarter of the naive port's for the
 * 99.9th percentile of the delay and for the time in collections.
 *
 * Two lower limits run once: `ring` only holds the same items, so its collections show the cost of
 * the items; `none` has no queue and no items, so its delays show those of the machine and the
 * timer.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { layout, median, showCount } from '../measure/figures.ts';
import { flagsOrExit } from '../measure/flags.ts';
import { ITEMS, type PeerName } from './load-peers.ts';
import type { Pauses } from './pauses-load.ts';

const GOAL = 0.25;

const flags = flagsOrExit('npm run bench:pauses --', {
  items: ITEMS,
  seconds: 60,
  rounds: 5,
  live: 1_000_000,
  rate: 200_000,
});

const run = promisify(execFile);

async function load(peer: PeerName): Promise<Pauses> {
  const { items, seconds, live, rate } = flags;
  const script = fileURLToPath(new URL('./pauses-load.ts', import.meta.url));
  const args = ['--expose-gc', script, '--peer', peer, '--items', items];
  args.push('--seconds', String(seconds), '--live', String(live), '--rate', String(rate));
  const { stdout } = await run(process.execPath, args, {
    timeout: (seconds + 120) * 1000,
    killSignal: 'SIGKILL',
  });
  const pauses = JSON.parse(stdout) as Pauses;
  process.stderr.write(
    `${peer}: p99.9 ${pauses.p999.toFixed(2)} ms, collections ${pauses.gcMs.toFixed(0)} ms, CPU ` +
      `${pauses.cpuMs.toFixed(0)} ms\n`,
  );
  return pauses;
}

type Column = Exclude<keyof Pauses, 'peer'>;
const of = (runs: readonly Pauses[], column: Column): number =>
  median(runs.map((one) => one[column]));

const runs: Record<string, Pauses[]> = { capstan: [], naive: [], ring: [], none: [] };
for (let round = 0; round < flags.rounds; round++) {
  for (const peer of ['capstan', 'naive'] as const) runs[peer]?.push(await load(peer));
}
for (const peer of ['ring', 'none'] as const) runs[peer]?.push(await load(peer));

const ms = (value: number): string => (value < 10 ? value.toFixed(2) : value.toFixed(0));
const columns: readonly (readonly [Column, string])[] = [
  ['p50', 'delay p50'],
  ['p99', 'p99'],
  ['p999', 'p99.9'],
  ['max', 'max'],
  ['gcMs', 'collections'],
  ['gcMax', 'longest'],
  ['gcCount', 'number'],
  ['cpuMs', 'CPU'],
];
const rows = Object.entries(runs).map(([peer, all]) => [
  all.length > 1 ? peer : `${peer} (once)`,
  ...columns.map(([column]) =>
    column === 'gcCount' ? String(of(all, column)) : ms(of(all, column)),
  ),
]);
const ours = runs.capstan ?? [];
const theirs = runs.naive ?? [];
const ratio = (column: Column): number => of(ours, column) / of(theirs, column);
rows.push(['ratio', ...columns.map(([column]) => ratio(column).toFixed(2))]);

const asked = flags.rate * flags.seconds;
console.log(
  `\n${showCount(flags.rate)} cycles a second on ${flags.items} items, ${showCount(flags.live)} ` +
    `live, ${flags.seconds} s, median of ${flags.rounds}, ` +
    `Node ${process.version}; milliseconds\n`,
);
console.log(layout([['', ...columns.map(([, title]) => title)], ...rows]));
console.log();
for (const [column, title] of [
  ['p999', 'p99.9 of the delay'],
  ['gcMs', 'time in collections'],
] as const) {
  console.log(
    `${title}: ${ratio(column).toFixed(2)} of naive, goal ${GOAL}: ` +
      `${ratio(column) <= GOAL ? 'met' : 'MISSED'}`,
  );
}
const strings = of(runs.ring ?? [], 'gcMs') / of(theirs, 'gcMs');
console.log(
  `lower limit: the items alone cost ${strings.toFixed(2)} of naive's time in collections`,
);
for (const [peer, all] of Object.entries(runs)) {
  const least = Math.min(...all.map((one) => one.cycles));
  if (least < asked * 0.99) console.log(`${peer} did not keep up: ${least} of ${asked} cycles`);
}
