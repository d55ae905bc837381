/**
 * `npm run bench:requests -- [--json yes]`: how many requests our informer and client-go's send
 * until they have recovered from the same faults, script by script (fault-scripts.ts). Both run in
 * processes of their own, at the same time. The goal: at most 1.1 times client-go's in all, and no
 * list but the first where the server only throttles. Takes a minute or two, as both wait between
 * their attempts.
 */

import { layout } from '../measure/figures.ts';
import { flagsOrExit } from '../measure/flags.ts';
import { buildGo, figuresOf, figuresOfScript, reasonOf } from '../measure/programs.ts';
import { verdictOf } from '../measure/rounds.ts';
import { FAULT_SCRIPTS, type FaultScript, FaultyServer } from './fault-scripts.ts';

const GOAL = 1.1;
/** The number of scripts that run at once; nearly all of their time is waiting. */
const AT_ONCE = 4;

const { json } = flagsOrExit('npm run bench:requests --', { json: ['no', 'yes'] });
const clientGo = await buildGo('client-go');

interface Counts {
  lists: number;
  watches: number;
}

/** Runs a client until it has got the first update, which the server sends after its faults. */
async function play(
  script: FaultScript,
  run: (url: string) => Promise<unknown>,
): Promise<Counts | string> {
  const server = await FaultyServer.start(script);
  try {
    await run(server.url);
    return { lists: server.lists, watches: server.watches };
  } catch (error) {
    return `failed: ${reasonOf(error)}`;
  } finally {
    server.stop();
  }
}

interface Row {
  script: FaultScript;
  ours: Counts | string;
  theirs: Counts | string | undefined;
}

async function both(script: FaultScript): Promise<Row> {
  const [ours, theirs] = await Promise.all([
    play(script, (url) => figuresOfScript('cache/capstan-informer.ts', [url, '1'])),
    'program' in clientGo
      ? play(script, (url) => figuresOf(clientGo.program, ['informer', url, '1']))
      : undefined,
  ]);
  process.stderr.write(`${script.name}\n`);
  return { script, ours, theirs };
}

const rows: Row[] = [];
const waiting = FAULT_SCRIPTS.map((script, i) => ({ script, i }));
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      rows[next.i] = await both(next.script);
  }),
);

const all = ({ lists, watches }: Counts): number => lists + watches;
const show = (counts: Counts | string | undefined): string =>
  counts === undefined
    ? '-'
    : typeof counts === 'string'
      ? counts
      : `${all(counts)} (${counts.lists} + ${counts.watches})`;
const print = json === 'yes' ? console.error : console.log;

let [ours, theirs] = [0, 0];
for (const row of rows) {
  if (typeof row.ours === 'string') throw new Error(`${row.script.name}: ours ${row.ours}`);
  if (json === 'yes') {
    console.log(
      JSON.stringify({
        peer: 'capstan',
        work: 'requests-under-faults',
        script: row.script.name,
        ...row.ours,
      }),
    );
  }
  if (row.theirs === undefined || typeof row.theirs === 'string') continue;
  ours += all(row.ours);
  theirs += all(row.theirs);
  if (json === 'yes') {
    console.log(
      JSON.stringify({
        peer: 'client-go',
        work: 'requests-under-faults',
        script: row.script.name,
        ...row.theirs,
      }),
    );
  }
}
if (json === 'no') {
  console.log(`\nrequests, lists + watches, Node ${process.version}\n`);
  console.log(
    layout([
      ['the server answers', 'capstan', 'client-go'],
      ...rows.map((row) => [row.script.name, show(row.ours), show(row.theirs)]),
    ]),
  );
  console.log();
}
if ('missing' in clientGo) print(`client-go is not measured: ${clientGo.missing}`);
else print(verdictOf(`all ${ours} requests, of client-go's ${theirs}`, ours / theirs, GOAL));
const relisted = rows.filter(
  ({ script, ours: counts }) => script.oneList && typeof counts !== 'string' && counts.lists > 1,
);
print(
  relisted.length === 0
    ? 'throttling led to no list'
    : `MISSED: throttling led to a list: ${relisted.map((row) => row.script.name).join('; ')}`,
);
