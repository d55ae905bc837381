/**
 * `npm run bench:pace -- [--kind ConfigMap] [--wire http] [--pace paced] [--rate 500] [--events
 * 8000] [--objects 1000] [--rounds 5] [--priority normal]`: the CPU time of an event if a server
 * sends them one by one, over the first EVENTS of a process: our informer and controller,
 * client-node's informer, a controller made of it (peers/naive-ts), and a reader that counts lines.
 * Each is a process of its own, in turn; each controller reconciles every object in its last
 * version.
 *
 * `--pace saturated` sends as fast as the socket takes them, still one a write. `--priority
 * real-time` runs the measured process before all others (Linux, `chrt`). Without it these figures
 * differ by half on a shared machine.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { layout } from '../measure/figures.ts';
import { flagsOrExit } from '../measure/flags.ts';
import { at } from '../measure/programs.ts';
import { inTurn, showSpread, spread, verdictOf } from '../measure/rounds.ts';
import { withServer } from '../measure/servers.ts';
import { PACE_KINDS, PACE_READERS, type PaceFigures } from './pace-objects.ts';

const { kind, wire, pace, rate, events, objects, rounds, priority } = flagsOrExit(
  'npm run bench:pace --',
  {
    kind: PACE_KINDS,
    wire: ['http', 'https', 'http2'],
    pace: ['paced', 'saturated'],
    rate: 500,
    events: 8000,
    objects: 1000,
    rounds: 5,
    priority: ['normal', 'real-time'],
  },
);
const run = promisify(execFile);
const LIMIT_MS = 600_000;

async function read(reader: string): Promise<PaceFigures> {
  const server = [kind, wire, objects, events, pace === 'paced' ? rate : 0].map(String);
  return withServer('controller/pace-server.ts', server, async (http) => {
    const url = wire === 'http' ? http : http.replace('http:', 'https:');
    const script = [at('controller/pace-load.ts'), url, reader, kind, wire, objects, events].map(
      String,
    );
    const command = [...(priority === 'normal' ? [] : ['chrt', '-r', '5']), process.execPath];
    const [program = '', ...args] = [...command, ...script];
    const { stdout } = await run(program, args, { timeout: LIMIT_MS, killSignal: 'SIGKILL' });
    return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as PaceFigures;
  });
}

const runs = await inTurn(PACE_READERS, rounds, read);
const columns: readonly (readonly [Exclude<keyof PaceFigures, 'reader'>, string, number])[] = [
  ['cpu', 'µs an event', 1],
  ['mainThread', 'of it the main thread', 1],
  ['cpuWithList', 'µs with the list', 1],
  ['handled', 'handled', 0],
  ['resident', 'MB', 0],
];
const of = (reader: string, column: Exclude<keyof PaceFigures, 'reader'>) =>
  spread((runs.get(reader) ?? []).map((one) => one[column]));
const how = pace === 'paced' ? `${rate} a second` : 'as fast as they are taken';
console.log(
  `\n${events} events of ${objects} ${kind}s over ${wire}, ${how}, median of ${rounds} ` +
    `(least-most), Node ${process.version}\n`,
);
console.log(
  layout([
    ['', ...columns.map(([, title]) => title)],
    ...PACE_READERS.map((reader) => [
      reader,
      ...columns.map(([column, , digits]) => showSpread(of(reader, column), digits)),
    ]),
  ]),
);
const cost = (reader: string): number => of(reader, 'cpu').median;
console.log();
console.log(
  verdictOf(
    "the controller's CPU of that on client-node",
    cost('controller') / cost('client-node-queue'),
    pace === 'paced' ? 0.85 : 0.6,
  ),
);
if (pace === 'paced')
  console.log(
    verdictOf(
      'µs of the controller over the informer',
      cost('controller') - cost('informer'),
      15,
      1,
    ),
  );
