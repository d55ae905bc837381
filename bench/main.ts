/**
 * `npm run bench`: our queues, indexer, informer and controller beside the naive port, client-go,
 * client-node and controller-runtime, on this machine in this run; workloads and units are in
 * peers/README.md. It prints a table with ratios, or with --json a line per figure. The notes below
 * the table name what could not be measured. Progress goes to stderr.
 */
import { cpus } from 'node:os';
import { measureInformers } from './cache/informers.ts';
import { measureControllers } from './controller/controllers.ts';
import { type Figure, isPeer, showCount, table, verdict } from './measure/figures.ts';
import {
  buildGo,
  figuresOf,
  figuresOfScript,
  type GoProgram,
  reasonOf,
} from './measure/programs.ts';
import { type Options, readOptions, USAGE } from './options.ts';

type Kind = 'queue' | 'slots' | 'indexer' | 'informer' | 'controller';

/** The usual sizes: keys, objects, events. */
const SIZES: Record<Kind, readonly number[]> = {
  queue: [1_000, 100_000, 1_000_000],
  slots: [1_000, 100_000, 1_000_000],
  indexer: [100_000],
  informer: [50_000], // the default of bench/peers/watch-server.mjs
  controller: [50_000],
};

const WORKS: Record<string, Kind> = {
  'cycle-same': 'queue',
  'cycle-fresh': 'queue',
  'cycle-request': 'queue',
  'burst-fresh': 'queue',
  'burst-request': 'queue',
  'dedup-fresh': 'queue',
  'add-after': 'queue',
  limiter: 'queue',
  'slot-cycle': 'slots',
  'slot-batch': 'slots',
  'item-batch': 'slots',
  'indexer-add': 'indexer',
  'indexer-update-same': 'indexer',
  'indexer-update-move': 'indexer',
  'indexer-by-index': 'indexer',
  'indexer-get': 'indexer',
  'indexer-get-random': 'indexer',
  informer: 'informer',
  controller: 'controller',
};

/** With a million keys a round takes seconds, and its spread is smaller. */
const roundsFor = (n: number): number => (n > 100_000 ? 5 : 7);

/** The peers in Go, by name, where they could be built. */
type GoPeers = Record<'client-go' | 'controller-runtime', GoProgram>;

async function measure(
  work: string,
  kind: Kind,
  n: number,
  go: GoPeers,
  notes: string[],
): Promise<Figure[]> {
  const clientGo = go['client-go'];
  if (kind === 'informer') return measureInformers(n, clientGo, notes);
  if (kind === 'controller') return measureControllers(n, go['controller-runtime'], notes);
  const figures = await figuresOfScript('queue/time-works.ts', [
    work,
    String(n),
    String(roundsFor(n)),
  ]);
  if ('program' in clientGo && kind !== 'slots') {
    try {
      figures.push(...(await figuresOf(clientGo.program, [kind, work, String(n)])));
    } catch (error) {
      notes.push(`${work} ${n}: client-go failed and is left out: ${reasonOf(error)}`);
    }
  }
  return figures;
}

async function main(options: Options): Promise<void> {
  const start = performance.now();
  const notes: string[] = [];
  const build = async (peer: keyof GoPeers, needed: boolean): Promise<GoProgram> => {
    if (!needed) return { missing: 'it has nothing to measure' };
    process.stderr.write(`building ${peer}\n`);
    const program = await buildGo(peer);
    if ('missing' in program) notes.push(`${peer} is not measured: ${program.missing}`);
    return program;
  };
  const go: GoPeers = {
    'client-go': await build('client-go', options.work !== 'controller'),
    'controller-runtime': await build(
      'controller-runtime',
      [undefined, 'controller'].includes(options.work),
    ),
  };

  const figures: Figure[] = [];
  for (const [work, kind] of Object.entries(WORKS)) {
    if (options.work !== undefined && options.work !== work) continue;
    for (const n of options.n === undefined ? SIZES[kind] : [options.n]) {
      process.stderr.write(`${work} ${showCount(n)}\n`);
      const measured = await measure(work, kind, n, go, notes);
      figures.push(...measured);
      if (options.json)
        for (const figure of measured.filter(isPeer)) console.log(JSON.stringify(figure));
    }
  }

  const seconds = ((performance.now() - start) / 1000).toFixed(0);
  const machine =
    `${process.platform} ${process.arch}, ${cpus().length} x ` + `${cpus()[0]?.model.trim()}`;
  if (!options.json) {
    console.log(
      '\nns per operation, median (min-max); informer and controller: ns of CPU per event. ' +
        `Ratio: ours / the better peer's. Goal: of the ratio, or in ns.`,
    );
    console.log(`Node ${process.version}, ${machine}, ${seconds} s\n`);
    console.log(table(figures));
    if (options.work === undefined) console.log(`\n${verdict(figures)}`);
  }
  for (const note of notes) (options.json ? console.error : console.log)(note);
}

let options: Options;
try {
  options = readOptions(process.argv.slice(2), Object.keys(WORKS));
} catch (error) {
  console.error(`${reasonOf(error)}\n${USAGE}`);
  process.exit(2);
}
await main(options);
