/**
 * What a replica of shards costs when N of them share the objects: bytes from the API server, CPU
 * and memory. By hand, after `npm run build`, with KUBEBUILDER_ASSETS:
 *
 *     node test/e2e/shards/measure.ts on|off N [objects] [seconds]
 *
 * The first argument is the feature gate ShardedListAndWatch. Prints one line of JSON.
 */
import { eventually } from '../../helpers/control-plane/conditions.ts';
import { Random } from '../../helpers/random.ts';
import { Fleet, type FleetMember } from './fleet.ts';

const [gate = 'on', count = '3', objects = '4000', seconds = '20'] = process.argv.slice(2);
const NAMESPACES = 200;
const size = Number(count);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const fleet = await Fleet.on(
  { gate: gate === 'on', namespaces: NAMESPACES, objects: Number(objects) },
  new Random(1),
);
try {
  await Promise.all(Array.from({ length: size }, () => fleet.start()));
  await fleet.settled();
  await eventually(
    'the objects are shared out evenly',
    async () => {
      await fleet.settled();
      const { replicas } = await fleet.overview();
      const loads = replicas.map((one) => one.objects);
      return Math.max(...loads) < (1.2 * Number(objects)) / size || `loads ${loads}`;
    },
    180_000,
  );
  const usage = (member: FleetMember): { cpuMs: number; rss: number } => {
    const last = member.entries().findLast(({ kind }) => kind === 'usage');
    return last?.kind === 'usage' ? last : { cpuMs: 0, rss: 0 };
  };
  await pause(3000);
  const before = fleet.live.map((one) => ({ ...usage(one), bytes: one.proxy.sent }));
  console.error('it measures');
  const updated = fleet.updates;
  fleet.update(200);
  await pause(Number(seconds) * 1000);
  await fleet.everythingDone();
  await pause(1500); // the last entry of usage
  const replicas = fleet.live.map((one, i) => {
    const { cpuMs, rss } = usage(one);
    const from = before[i] ?? { cpuMs: 0, bytes: 0 };
    return {
      kB: Math.round((one.proxy.sent - from.bytes) / 1000),
      cpuMs: Math.round(cpuMs - from.cpuMs),
      rssMiB: Math.round(rss / 2 ** 20),
    };
  });
  console.log(JSON.stringify({ gate, size, updates: fleet.updates - updated, replicas }));
} finally {
  await fleet.end();
}
