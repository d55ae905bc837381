/**
 * `npm run bench:embedded-server -- [--writes 5000] [--live 100000] [--watchers 10] [--rounds 3]
 * [--json yes]`: how long the embedded API server takes to start, how many writes a second it takes
 * while ten watchers read, and what 100 000 ConfigMaps of 300 bytes take of its memory; in memory
 * and over loopback HTTP, beside a real etcd and kube-apiserver where KUBEBUILDER_ASSETS names
 * them. Medians; each run in a process of its own. A rate counts until every watcher has read every
 * event.
 */

import { layout } from '../measure/figures.ts';
import { flagsOrExit } from '../measure/flags.ts';
import { inTurn, runOnce, showSpread, spread, verdictOf } from '../measure/rounds.ts';
import { SERVER_PEERS, type ServerFigures } from './embedded-server-peers.ts';

const START_GOAL = 50;
const WRITES_GOAL = 1000;
const LIMIT_MS = 5 * 60_000;

const { writes, live, watchers, rounds, json } = flagsOrExit('npm run bench:embedded-server --', {
  writes: 5_000,
  live: 100_000,
  watchers: 10,
  rounds: 3,
  json: ['no', 'yes'],
});
const hasReal = process.env.KUBEBUILDER_ASSETS !== undefined;
const peers = SERVER_PEERS.filter((peer) => hasReal || peer !== 'kube-apiserver');
const runs = await inTurn(peers, rounds, (peer) =>
  runOnce<ServerFigures>(
    'server/embedded-server-load.ts',
    [
      ...['--peer', peer, '--writes', String(writes)],
      ...['--live', String(live), '--watchers', String(watchers)],
    ],
    LIMIT_MS,
  ),
);

type Name = Exclude<keyof ServerFigures, 'peer'>;
const COLUMNS: readonly (readonly [title: string, name: Name])[] = [
  ['import ms', 'load'],
  ['start ms', 'start'],
  ['first answer ms', 'answer'],
  ['create/s', 'create'],
  ['patch/s', 'patch'],
  ['Deployment/s', 'deployment'],
  ['bytes an object', 'bytes'],
  ['list ms', 'list'],
  ['page of 500 ms', 'page'],
];
const figureOf = (peer: string, name: Name): number[] =>
  (runs.get(peer) ?? []).flatMap((run) => run[name] ?? []);

if (json === 'yes') {
  for (const peer of peers) {
    const medians = COLUMNS.map(([, name]) => [name, spread(figureOf(peer, name)).median]);
    console.log(JSON.stringify({ peer, writes, live, watchers, ...Object.fromEntries(medians) }));
  }
} else {
  console.log(`\n${watchers} watchers, median of ${rounds}, Node ${process.version}\n`);
  console.log(
    layout([
      ['', ...peers],
      ...COLUMNS.map(([title, name]) => [
        title,
        ...peers.map((peer) => {
          const values = figureOf(peer, name);
          return values.length === 0 ? '-' : showSpread(spread(values), 0);
        }),
      ]),
    ]),
  );
  if (!hasReal) console.log('\nkube-apiserver: not measured, KUBEBUILDER_ASSETS is not set');
  console.log();
}
const print = json === 'yes' ? console.error : console.log;
const start = spread(
  figureOf('http', 'start').map((ms, i) => ms + (figureOf('http', 'answer')[i] ?? 0)),
);
print(verdictOf('ms until the first answer over HTTP', start.median, START_GOAL, 0));
const slowest = Math.min(
  ...['create', 'patch', 'deployment'].map((name) => spread(figureOf('http', name as Name)).median),
);
print(verdictOf('ms a write over HTTP, the slowest kind', 1000 / slowest, 1000 / WRITES_GOAL));
