/**
 * `npm run bench:cache-pauses -- [--seconds 60] [--rounds 5] [--live 100000] [--rate 10000] [--json
 * yes]`: how long the event loop stands still, and how much the garbage collector works, while 10
 * 000 updates a second of 4.7 KB come over loopback into a cache of 100 000 Pods; our informer and
 * a cache of parsed objects in turn (A B A B), each in a process of its own, with a server of its
 * own; medians. The goal is a quarter of the parsed objects' for the 99.9th percentile of the delay
 * and for the time in collections. A reader that only counts bytes shows the delay that machine and
 * socket cause.
 */

import { layout, median, showCount } from '../measure/figures.ts';
import { flagsOrExit } from '../measure/flags.ts';
import { inTurn, runOnce, verdictOf } from '../measure/rounds.ts';
import { withServer } from '../measure/servers.ts';
import { type CachePauses, PAUSES_PEERS } from './peers.ts';

const GOAL = 0.25;

const flags = flagsOrExit('npm run bench:cache-pauses --', {
  seconds: 60,
  rounds: 5,
  live: 100_000,
  rate: 10_000,
  json: ['no', 'yes'],
});
const { seconds, rounds, live, rate, json } = flags;
const runs = await inTurn(PAUSES_PEERS, rounds, (peer) =>
  withServer('cache/pods-server.ts', [String(live)], (url) => {
    const args = [
      '--peer',
      peer,
      '--seconds',
      String(seconds),
      '--live',
      String(live),
      '--rate',
      String(rate),
    ];
    const limitMs = (seconds + 180) * 1000;
    return runOnce<CachePauses>(
      'cache/pauses-load.ts',
      [...args, '--port', new URL(url).port],
      limitMs,
    );
  }),
);

type Column = Exclude<keyof CachePauses, 'peer'>;
const of = (peer: string, column: Column): number =>
  median((runs.get(peer) ?? []).map((one) => one[column]));
const ratio = (column: Column): number => of('capstan', column) / of('map', column);
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

const print = json === 'yes' ? console.error : console.log;
if (json === 'yes') {
  for (const peer of PAUSES_PEERS) {
    const figures = Object.fromEntries(columns.map(([column]) => [column, of(peer, column)]));
    console.log(
      JSON.stringify({
        peer,
        work: 'cache-pauses',
        n: live,
        events: of(peer, 'events'),
        ...figures,
      }),
    );
  }
} else {
  console.log(
    `\n${showCount(rate)} updates a second into ${showCount(live)} Pods, ${seconds} s, median ` +
      `of ${rounds}, Node ${process.version}; milliseconds\n`,
  );
  const rows = PAUSES_PEERS.map((peer) => [
    peer,
    ...columns.map(([column]) =>
      column === 'gcCount' ? String(of(peer, column)) : ms(of(peer, column)),
    ),
  ]);
  rows.push(['ratio', ...columns.map(([column]) => ratio(column).toFixed(2))]);
  console.log(layout([['', ...columns.map(([, title]) => title)], ...rows]));
  console.log();
}
print(verdictOf('p99.9 of the delay, of the parsed objects', ratio('p999'), GOAL));
print(verdictOf('time in collections, of the parsed objects', ratio('gcMs'), GOAL));
const asked = rate * seconds;
for (const [peer, all] of runs) {
  const least = Math.min(...all.map((one) => one.events));
  if (least < asked * 0.99) print(`${peer} did not keep up: ${least} of ${asked} updates`);
}
