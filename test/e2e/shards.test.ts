/**
 * Replicas of shards as processes on a real API server, with and without ShardedListAndWatch. They
 * are started, ended, killed, stopped for longer than a lease and cut off, and the map is deleted
 * and changed by hand, while objects change all the time. What the processes recorded is judged at
 * the end: nothing is worked on by two, no change is lost, and no deletion is told.
 * CAPSTAN_SHARD_REAL_CHANGES is the number of changes, CAPSTAN_SEED repeats their order.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { newClient } from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import { ConfigMap } from 'capstan/kinds';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../helpers/control-plane/conditions.ts';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import { Random, testSeed } from '../helpers/random.ts';
import { gapsOf, judgeShards } from '../helpers/shards/judge-shards.ts';
import { readKubeConfig } from './same-answers/servers.ts';
import { Fleet, sharedNow } from './shards/fleet.ts';
import { GROUP, SHARD_DURATIONS } from './shards/settings.ts';

const CHANGES = Number(process.env.CAPSTAN_SHARD_REAL_CHANGES ?? 12);
const seed = testSeed();
const NAMESPACES = 40;
const OBJECTS = 400;
const { leaseDuration } = SHARD_DURATIONS;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

type Fault =
  | 'start'
  | 'terminate'
  | 'kill'
  | 'freeze'
  | 'freeze while it hands over'
  | 'cut'
  | 'delete the map'
  | 'change the map'
  | 'put an old map back'
  | 'delete a Lease';
const FAULTS: readonly Fault[] = [
  'start',
  'terminate',
  'kill',
  'freeze',
  'freeze while it hands over',
  'cut',
  'delete the map',
  'change the map',
  'put an old map back',
  'delete a Lease',
];

const ENDS: readonly Fault[] = ['terminate', 'kill', 'freeze while it hands over'];

beforeAll(() => {
  // Plain Node runs the replicas, so `capstan` resolves to the built package.
  const built = fileURLToPath(new URL('../../dist/index.js', import.meta.url));
  if (!existsSync(built)) throw new Error('dist/ is missing: run "npm run build" first');
});

const GATES = process.env.CAPSTAN_SHARD_GATE;
const gates = GATES === undefined ? [true, false] : [GATES === 'true'];

describe.each(gates)(`a server with the gate %s (CAPSTAN_SEED=${seed})`, (gate) => {
  let plane: ControlPlane;
  let transport: ReturnType<typeof kubeConfigTransport>;
  let client: ReturnType<typeof newClient>;
  let fleet: Fleet;
  const random = new Random(seed);

  beforeAll(async () => {
    plane = await ControlPlane.start({ gates: gate ? ['ShardedListAndWatch'] : [] });
    transport = kubeConfigTransport(await readKubeConfig(plane));
    client = newClient({ transport });
    fleet = new Fleet(plane, client, transport, random);
    await fleet.fill(NAMESPACES, OBJECTS);
  });

  afterAll(async () => {
    await fleet?.end();
    await transport?.close?.();
    await plane?.stop();
  });

  afterEach(({ task }) => {
    if (task.result?.state === 'fail') plane?.keepLogs();
  });

  const map = (): Promise<{ data?: Record<string, string> }> =>
    client.get(ConfigMap, { namespace: GROUP.namespace, name: GROUP.id });

  async function putMap(data: Record<string, string>): Promise<void> {
    const path = `/api/v1/namespaces/${GROUP.namespace}/configmaps/${GROUP.id}`;
    const headers = { 'content-type': 'application/merge-patch+json' };
    const body = JSON.stringify({ data });
    const response = await transport.request({ method: 'PATCH', path, headers, body });
    for await (const _ of response.body);
  }

  async function force(fault: Fault, old: Record<string, string>): Promise<void> {
    const victim = await fleet.pick();
    switch (fault) {
      case 'start':
        await fleet.start();
        break;
      case 'terminate':
        fleet.remove(victim);
        await victim.end();
        break;
      case 'kill':
        fleet.remove(victim);
        await victim.kill();
        break;
      case 'freeze':
        victim.freeze();
        await pause(1.7 * leaseDuration);
        victim.thaw();
        break;
      case 'freeze while it hands over': {
        // It gives its slots away, is stopped in the middle, and finds its Lease gone.
        fleet.remove(victim);
        const ended = victim.end();
        await eventually('a slot is handed over', async () => {
          const { slots } = await fleet.overview();
          return slots.some(({ step }) => step !== undefined);
        });
        victim.freeze();
        await pause(1.7 * leaseDuration);
        victim.thaw();
        await ended;
        break;
      }
      case 'cut':
        victim.proxy.shut();
        await pause(1.7 * leaseDuration);
        victim.proxy.open();
        break;
      case 'delete the map':
        await client.delete(ConfigMap, { namespace: GROUP.namespace, name: GROUP.id });
        break;
      case 'change the map':
        await putMap({ map: '{"slots":[]}' });
        break;
      case 'put an old map back':
        await putMap(old);
        break;
      case 'delete a Lease': {
        const { replicas } = await fleet.overview();
        const of = replicas.find(({ name }) => name.startsWith(`${victim.identity}-`));
        const path = `/apis/coordination.k8s.io/v1/namespaces/${GROUP.namespace}/leases/${GROUP.id}-${of?.name}`;
        const response = await transport.request({ method: 'DELETE', path });
        for await (const _ of response.body);
      }
    }
  }

  test(`nothing is worked on by two, and no change is lost, over ${CHANGES} changes`, async () => {
    const gaps: Record<string, number[]> = {};
    while (fleet.live.length < 3) await fleet.start();
    await fleet.settled();
    const { data: old = {} } = await map();
    let change = 0;
    // Also of a run that fails.
    onTestFinished(() => {
      const { runs, writes, refused } = judgeShards(fleet.logs());
      const figures = { change, updates: fleet.updates, runs, writes, refused, gaps };
      console.log(`gate ${gate}, seed ${seed}: ${JSON.stringify(figures)}`);
    });
    for (; change < CHANGES; change++) {
      let fault = FAULTS[change % FAULTS.length] as Fault;
      if (change >= FAULTS.length) fault = random.pick(FAULTS);
      if (fleet.live.length >= 4 && fault === 'start') fault = 'terminate';
      if (fleet.live.length <= 2 && ENDS.includes(fault)) fault = 'start';
      fleet.update();
      const since = sharedNow();
      await force(fault, old);
      await fleet.settled();
      await fleet.everythingDone();
      const longest = Math.max(0, ...gapsOf(fleet.logs(), since));
      gaps[fault] = [...(gaps[fault] ?? []), Math.round(longest)];
      const { overlaps, deletions } = judgeShards(fleet.logs());
      expect({ change, fault, overlaps, deletions }).toEqual({
        change,
        fault,
        overlaps: [],
        deletions: [],
      });
    }
    const { writes } = judgeShards(fleet.logs());
    expect(writes).toBeGreaterThan(fleet.updates / 4);
  }, 3_600_000);
});
