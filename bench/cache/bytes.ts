/**
 * `npm run bench:cache-bytes -- [--live 100000] [--events 40000] [--rounds 5] [--peers all|goal]
 * [--json yes]`: random updates of Pods of 4.7 KB, from memory into a cache of 100 000. It prints
 * µs an update, the median of the rounds. Each peer of peers.ts runs in turn in a process of its
 * own. The goal: at least 4 times faster than TextDecoder and JSON.parse alone, which keep nothing.
 * `--peers goal` omits the Map.
 */

import { type Figure, layout, showCount } from '../measure/figures.ts';
import { flagsOrExit } from '../measure/flags.ts';
import { inTurn, runOnce, showSpread, spread, verdictOf } from '../measure/rounds.ts';
import { BYTES_PEERS } from './peers.ts';

const GOAL = 0.25;
const LIMIT_MS = 5 * 60_000;

const { live, events, rounds, peers, json } = flagsOrExit('npm run bench:cache-bytes --', {
  live: 100_000,
  events: 40_000,
  rounds: 5,
  peers: ['all', 'goal'],
  json: ['no', 'yes'],
});
const chosen = BYTES_PEERS.filter((peer) => peers === 'all' || peer !== 'map');
const args = (peer: string): string[] => [
  '--peer',
  peer,
  '--live',
  String(live),
  '--events',
  String(events),
];
const runs = await inTurn(chosen, rounds, (peer) =>
  runOnce<Figure>('cache/bytes-load.ts', args(peer), LIMIT_MS),
);

const rows = [...runs].map(([peer, all]) => ({
  peer,
  wall: spread(all.map((figure) => figure.ns / 1000)),
  cpu: spread(all.map((figure) => (figure.cpu ?? Number.NaN) / 1000)),
}));
const floor = rows.find((row) => row.peer === 'parse');
if (floor === undefined) throw new Error('JSON.parse was not measured');
if (json === 'yes') {
  for (const { peer, wall, cpu } of rows) {
    const {
      median: ns,
      min,
      max,
    } = spread([wall.min, wall.median, wall.max].map((us) => us * 1000));
    const figure: Figure = {
      peer,
      work: 'cache-bytes',
      n: live,
      ns,
      min,
      max,
      cpu: cpu.median * 1000,
    };
    console.log(JSON.stringify(figure));
  }
} else {
  console.log(
    `\n${showCount(events)} updates of 4.7 KB into a cache of ${showCount(live)}, µs each, ` +
      `median of ${rounds} (min-max), Node ${process.version}\n`,
  );
  const lines = rows.map(({ peer, wall, cpu }) => [
    peer,
    showSpread(wall, 2),
    showSpread(cpu, 2),
    (wall.median / floor.wall.median).toFixed(2),
  ]);
  console.log(layout([['', 'time', 'CPU', 'of parse'], ...lines]));
  console.log();
}
for (const { peer, wall } of rows) {
  if (peer === 'parse' || peer === 'map') continue;
  const text = verdictOf(
    `${peer}, time of TextDecoder and JSON.parse alone`,
    wall.median / floor.wall.median,
    GOAL,
  );
  (json === 'yes' ? console.error : console.log)(text);
}
