/**
 * What a replica of shards costs when N of them share the objects: bytes from the API server, CPU
 * and memory. By hand, after `npm run build`, with KUBEBUILDER_ASSETS:
 *
 *     node test/e2e/shards/measure.ts on|off N[,N…] [objects] [seconds] [updates a second]
 *
 * A replica is one file, as `npm run bundle` of a project of `capstan init` makes it. With
 * CAPSTAN_SHARD_BUNDLE=no it loads each module, which takes more memory. The first argument is the
 * feature gate ShardedListAndWatch. Prints a line of JSON for each N, with the mean and the
 * greatest figure of a replica: CPU in milliseconds per second without updates (`rest`); kB and
 * milliseconds of CPU for 1000 updates, after each replica has written 2500 objects; MiB of memory
 * at the end. With 0 objects only what a replica costs by itself.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { eventually } from '../../helpers/control-plane/conditions.ts';
import { Random } from '../../helpers/random.ts';
import { Fleet, type FleetMember, REPLICA } from './fleet.ts';

const [gate = 'on', sizes = '3', objects = '4000', seconds = '20', rate = '300'] =
  process.argv.slice(2);
const NAMESPACES = 200;
/** V8 compiles what ran often: a replica gets a Nth of the updates, and warms up as much later. */
const WARM = 2500;
const AT_ONCE = 8;
const MB = 2 ** 20;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const folder = mkdtempSync(join(tmpdir(), 'capstan-measure-'));
const bundle = join(folder, 'main.mjs');
const isBundled = process.env.CAPSTAN_SHARD_BUNDLE !== 'no';
if (isBundled) await makeBundle();
const fleet = await Fleet.on(
  { gate: gate === 'on', namespaces: NAMESPACES, objects: Number(objects) },
  new Random(1),
);
try {
  for (const size of sizes.split(',').map(Number)) {
    await Promise.all(Array.from({ length: size }, start));
    await level(size);
    if (Number(objects) > 0) await warmUp(size);
    console.log(JSON.stringify(await measured(size)));
    await Promise.all(fleet.live.map((one) => one.end()));
    fleet.live = [];
  }
} finally {
  await fleet.end();
  rmSync(folder, { recursive: true });
}

function start(): Promise<FleetMember> {
  return fleet.start(isBundled ? { program: bundle } : {});
}

/** With the options of the template's bundle.ts. */
async function makeBundle(): Promise<void> {
  const require = `import { createRequire } from 'node:module';
const require = createRequire(import.meta.url);`;
  await build({
    entryPoints: [REPLICA],
    outfile: bundle,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node22.19',
    banner: { js: require },
  });
}

async function level(size: number): Promise<void> {
  await eventually(
    'the objects are shared out evenly',
    async () => {
      await fleet.settled();
      const { replicas } = await fleet.overview();
      const loads = replicas.map((one) => one.objects);
      // A replica reports the objects of a slot only some time after it got the slot.
      const areCounted = loads.reduce((sum, load) => sum + load, 0) >= 0.98 * Number(objects);
      const isLevel = Math.max(...loads) <= (1.1 * Number(objects)) / size;
      return (areCounted && isLevel) || `loads ${loads}`;
    },
    180_000,
  );
  await pause(3000);
}

async function warmUp(size: number): Promise<void> {
  const end = fleet.updates + WARM * size;
  fleet.update({ perSecond: Number.POSITIVE_INFINITY, atOnce: AT_ONCE });
  while (fleet.updates < end) await pause(100);
  await fleet.everythingDone();
  await pause(3000);
}

interface Usage {
  readonly cpuMs: number;
  readonly rss: number;
  readonly heapUsed: number;
  readonly heapTotal: number;
  readonly external: number;
  readonly bytes: number;
}

function usages(): Usage[] {
  return fleet.live.map((member: FleetMember) => {
    const last = member.entries().findLast(({ kind }) => kind === 'usage');
    if (last?.kind !== 'usage') throw new Error(`${member.identity} has written no usage`);
    return { cpuMs: last.cpuMs, ...last.memory, bytes: member.proxy.sent };
  });
}

async function measured(size: number): Promise<object> {
  const figures = (of: (i: number) => number): number[] => {
    const all = Array.from({ length: size }, (_, i) => of(i));
    const mean = all.reduce((sum, one) => sum + one, 0) / size;
    return [mean, Math.max(...all)].map((one) => Math.round(one * 10) / 10);
  };
  const since = (from: Usage[], to: Usage[], of: 'cpuMs' | 'bytes', by: number): number[] =>
    figures((i) => ((to[i]?.[of] ?? 0) - (from[i]?.[of] ?? 0)) / by);

  console.error('it measures');
  const atRest = usages();
  await pause(10_000);
  const before = usages();
  const updated = fleet.updates;
  if (Number(objects) > 0) {
    fleet.update({ perSecond: Number(rate), atOnce: AT_ONCE });
    await pause(Number(seconds) * 1000);
    await fleet.everythingDone();
    await pause(1500); // the last entry of usage
  }
  const after = usages();
  const thousands = (fleet.updates - updated) / 1000;
  const memory = (of: 'rss' | 'heapUsed' | 'heapTotal' | 'external'): number[] =>
    figures((i) => (after[i]?.[of] ?? 0) / MB);
  return {
    ...{ gate, size, objects: Number(objects), isBundled },
    restMsPerS: since(atRest, before, 'cpuMs', 10),
    ...(thousands > 0 && {
      updates: thousands * 1000,
      kB: since(before, after, 'bytes', thousands * 1000),
      cpuMs: since(before, after, 'cpuMs', thousands),
    }),
    rssMiB: memory('rss'),
    heapUsedMiB: memory('heapUsed'),
    heapTotalMiB: memory('heapTotal'),
    externalMiB: memory('external'),
  };
}
