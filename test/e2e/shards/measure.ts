/**
 * What a replica of shards costs when N of them share the objects: bytes from the API server, CPU
 * and memory. By hand, after `npm run build`, with KUBEBUILDER_ASSETS:
 *
 *     node test/e2e/shards/measure.ts on|off N[,N…] [objects] [seconds]
 *
 * The first argument is the feature gate ShardedListAndWatch. Prints a line of JSON for each N,
 * with the mean and the greatest figure of a replica: kB and milliseconds of CPU for 1000 updates.
 */
import { eventually } from '../../helpers/control-plane/conditions.ts';
import { Random } from '../../helpers/random.ts';
import { Fleet, type FleetMember } from './fleet.ts';

const [gate = 'on', sizes = '3', objects = '4000', seconds = '20'] = process.argv.slice(2);
const NAMESPACES = 200;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const fleet = await Fleet.on(
  { gate: gate === 'on', namespaces: NAMESPACES, objects: Number(objects) },
  new Random(1),
);
try {
  for (const size of sizes.split(',').map(Number)) {
    await Promise.all(Array.from({ length: size }, () => fleet.start()));
    await level(size);
    console.log(JSON.stringify(await measured(size)));
    await Promise.all(fleet.live.map((one) => one.end()));
    fleet.live = [];
  }
} finally {
  await fleet.end();
}

async function level(size: number): Promise<void> {
  await eventually(
    'the objects are shared out evenly',
    async () => {
      await fleet.settled();
      const { replicas } = await fleet.overview();
      const loads = replicas.map((one) => one.objects);
      // A replica reports the objects of a slot only some time after it got the slot.
      const areCounted = loads.reduce((sum, load) => sum + load, 0) > 0.98 * Number(objects);
      const isLevel = Math.max(...loads) < (1.1 * Number(objects)) / size;
      return (areCounted && isLevel) || `loads ${loads}`;
    },
    180_000,
  );
  await pause(3000);
}

function usage(member: FleetMember): { cpuMs: number; rss: number } {
  const last = member.entries().findLast(({ kind }) => kind === 'usage');
  return last?.kind === 'usage' ? last : { cpuMs: 0, rss: 0 };
}

async function measured(size: number): Promise<object> {
  const before = fleet.live.map((one) => ({ ...usage(one), bytes: one.proxy.sent }));
  const updated = fleet.updates;
  console.error('it measures');
  fleet.update(200);
  await pause(Number(seconds) * 1000);
  await fleet.everythingDone();
  await pause(1500); // the last entry of usage
  const updates = fleet.updates - updated;
  const costs = fleet.live.map((one, i) => {
    const { cpuMs, rss } = usage(one);
    const from = before[i] ?? { cpuMs: 0, bytes: 0 };
    return {
      kB: (one.proxy.sent - from.bytes) / updates,
      cpuMs: ((cpuMs - from.cpuMs) * 1000) / updates,
      rssMiB: rss / 2 ** 20,
    };
  });
  const figures = (of: 'kB' | 'cpuMs' | 'rssMiB'): number[] => {
    const all = costs.map((one) => one[of]);
    const mean = all.reduce((sum, one) => sum + one, 0) / size;
    return [Math.round(mean), Math.round(Math.max(...all))];
  };
  const [kB, cpuMs, rssMiB] = [figures('kB'), figures('cpuMs'), figures('rssMiB')];
  return { gate, size, objects: Number(objects), updates, kB, cpuMs, rssMiB };
}
