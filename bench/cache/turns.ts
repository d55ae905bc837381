/**
 * `npm run bench:turns -- [--live 100000] [--rounds 3] [--only WORK]`: how long an informer of a
 * hundred thousand Pods of 4.7 KB holds the event loop: in its first list, for a late handler, in a
 * relist of the same and of changed Pods, a resync, 10 000 updates at once, a list by selector and
 * for a new index; each in a process of its own, with a server of its own. *late* is the longest
 * delay of a timer of 1 ms, *delay* the same by monitorEventLoopDelay, *CPU of a turn* the most CPU
 * time of the thread between two runs of that timer, on which other processes have no influence.
 */
import { layout, showCount } from '../measure/figures.ts';
import { flagsOrExit } from '../measure/flags.ts';
import { inTurn, runOnce, showSpread, spread, verdictOf } from '../measure/rounds.ts';
import { withServer } from '../measure/servers.ts';
import { TURNS, type TurnFigures } from './peers.ts';

const GOAL_MS = 10;

const { live, rounds, only } = flagsOrExit('npm run bench:turns --', {
  live: 100_000,
  rounds: 3,
  only: ['all', ...TURNS],
});
const works = TURNS.filter((work) => only === 'all' || work === only);
const runs = await inTurn(works, rounds, (work) =>
  withServer('cache/pods-server.ts', [String(live)], (url) =>
    runOnce<TurnFigures>(
      'cache/turns-load.ts',
      ['--work', work, '--live', String(live), '--port', new URL(url).port],
      120_000,
    ),
  ),
);
type Column = Exclude<keyof TurnFigures, 'work'>;
const columns: readonly (readonly [Column, string])[] = [
  ['late', 'late'],
  ['max', 'delay'],
  ['turnCpu', 'CPU of a turn'],
  ['p99', 'delay p99'],
  ['gcMax', 'longest collection'],
  ['totalMs', 'total'],
  ['cpuMs', 'CPU'],
];
const of = (work: string, column: Column) =>
  spread((runs.get(work) ?? []).map((one) => one[column]));
console.log(
  `\n${showCount(live)} Pods, median of ${rounds} (least-most), Node ${process.version}; ` +
    'milliseconds\n',
);
console.log(
  layout([
    ['', ...columns.map(([, title]) => title)],
    ...works.map((work) => [work, ...columns.map(([column]) => showSpread(of(work, column), 0))]),
  ]),
);
console.log();
for (const work of works)
  console.log(verdictOf(`CPU of a turn, ${work}`, of(work, 'turnCpu').median, GOAL_MS, 1));
