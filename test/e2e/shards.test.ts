/**
 * Replicas of shards as processes on a real API server, with and without ShardedListAndWatch. They
 * are started, ended, killed, stopped for longer than a lease and cut off, and the map is deleted
 * and changed by hand, while objects change all the time. What the processes recorded is judged at
 * the end: nothing is worked on by two, no change is lost, and no deletion is told.
 * CAPSTAN_SHARD_REAL_CHANGES is the number of changes, CAPSTAN_SEED repeats their order.
 */
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../helpers/control-plane/conditions.ts';
import { Random, testSeed } from '../helpers/random.ts';
import { gapsOf, judgeShards } from '../helpers/shards/judge-shards.ts';
import { Fleet, requireBuilt, sharedNow } from './shards/fleet.ts';
import { SHARD_DURATIONS } from './shards/settings.ts';

const CHANGES = Number(process.env.CAPSTAN_SHARD_REAL_CHANGES ?? 12);
const seed = testSeed();
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

beforeAll(requireBuilt);

const GATES = process.env.CAPSTAN_SHARD_GATE;
const gates = GATES === undefined ? [true, false] : [GATES === 'true'];

describe.each(gates)(`a server with the gate %s (CAPSTAN_SEED=${seed})`, (gate) => {
  let fleet: Fleet;
  const random = new Random(seed);

  beforeAll(async () => {
    fleet = await Fleet.on({ gate, namespaces: 40, objects: 400 }, random);
  });

  afterAll(() => fleet?.end());

  afterEach(({ task }) => {
    if (task.result?.state === 'fail') fleet?.keepLogs();
  });

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
        await fleet.deleteMap();
        break;
      case 'change the map':
        await fleet.putMap({ map: '{"slots":[]}' });
        break;
      case 'put an old map back':
        await fleet.putMap(old);
        break;
      case 'delete a Lease':
        await fleet.deleteLease(victim);
    }
  }

  test(`nothing is worked on by two, and no change is lost, over ${CHANGES} changes`, async () => {
    const gaps: Record<string, number[]> = {};
    while (fleet.live.length < 3) await fleet.start();
    await fleet.settled();
    const { data: old = {} } = await fleet.map();
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
      const { outdated } = fleet;
      expect({ change, fault, overlaps, deletions, outdated }).toEqual({
        change,
        fault,
        overlaps: [],
        deletions: [],
        outdated: [],
      });
    }
    const { writes } = judgeShards(fleet.logs());
    expect(writes).toBeGreaterThan(fleet.updates / 4);
  }, 3_600_000);
});
