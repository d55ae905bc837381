/**
 * A replica of shards that is stopped by SIGSTOP, for longer than its lease, at the worst moments:
 * right after a slot was closed, before it acknowledges that it let a slot go, and in a write,
 * between the check of the client and the answer of the API server. Another replica takes its slots
 * meanwhile. What the API server stores then decides.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../helpers/control-plane/conditions.ts';
import { Random, testSeed } from '../helpers/random.ts';
import { judgeShards } from '../helpers/shards/judge-shards.ts';
import { Fleet, type FleetMember, requireBuilt, sharedNow } from './shards/fleet.ts';
import type { Behaviour } from './shards/settings.ts';

const seed = testSeed();
const MINUTES = 60_000;
/** A reconcile takes less before its write, so an older run waits for the answer to its write. */
const IN_WRITE_MS = 300;

beforeAll(requireBuilt);

describe(`a replica that is stopped (CAPSTAN_SEED=${seed})`, () => {
  let fleet: Fleet;

  beforeAll(async () => {
    fleet = await Fleet.on({ gate: true, namespaces: 40, objects: 200 }, new Random(seed));
    await fleet.start();
    await fleet.start();
  });

  afterAll(() => fleet?.end());

  afterEach(({ task }) => {
    if (task.result?.state === 'fail') fleet?.keepLogs();
  });

  /** A third replica, which has its share of the slots. */
  async function start(behaviour: Behaviour): Promise<FleetMember> {
    const victim = await fleet.start({ behaviour });
    await fleet.getsSlots(victim);
    fleet.update();
    return victim;
  }

  /** While it is stopped, the other replicas take its slots and reconcile its objects. */
  async function othersTakeOver(victim: FleetMember): Promise<void> {
    fleet.remove(victim);
    await fleet.settled();
    await fleet.everythingDone();
  }

  async function goesOn(victim: FleetMember): Promise<void> {
    fleet.update();
    victim.thaw();
    if (victim.isLeaving) expect(await victim.ended()).toBe(0);
    else fleet.live.push(victim);
    await fleet.settled();
    await fleet.everythingDone();
    const { overlaps, deletions } = judgeShards(fleet.logs());
    expect({ overlaps, deletions }).toEqual({ overlaps: [], deletions: [] });
    if (victim.isLeaving) return;
    fleet.remove(victim);
    await victim.end();
    await fleet.settled();
  }

  /** Reconciles that have begun and not ended. */
  function underWay(victim: FleetMember): { run: number; key: string; at: number }[] {
    const entries = victim.entries();
    const ended = new Set(entries.flatMap((one) => (one.kind === 'end' ? [one.run] : [])));
    return entries.flatMap((one) =>
      one.kind === 'begin' && !ended.has(one.run) ? [{ ...one }] : [],
    );
  }

  /** The outcomes of reconciles: the error, or that the API server acknowledged the write. */
  function outcomes(victim: FleetMember, runs: readonly { run: number }[]): string[] {
    const entries = victim.entries();
    return runs.map(({ run }) => {
      const end = entries.find(
        (one) => (one.kind === 'wrote' || one.kind === 'refused') && one.run === run,
      );
      return end?.kind === 'refused' ? end.message : (end?.kind ?? 'nothing');
    });
  }

  test.each(['closed', 'before it acknowledges'] as const)(
    '%s, while it hands over: others take its slots',
    async (stops) => {
      const victim = await start({ stops });
      const stopped = victim.stopsItself();
      victim.leave();
      await stopped;
      await othersTakeOver(victim);
      await goesOn(victim);
    },
    6 * MINUTES,
  );

  test(
    'between the first check of the client and the bytes of a write: it is not sent',
    async () => {
      const victim = await start({ stops: 'before a write', writes: 'patch' });
      await victim.stopsItself();
      const runs = underWay(victim);
      expect(runs.length).toBeGreaterThan(0);
      await othersTakeOver(victim);
      const before = await fleet.versions();
      victim.thaw();
      await eventually('its runs end', () => !outcomes(victim, runs).includes('nothing'));
      expect(outcomes(victim, runs)).toEqual(
        runs.map(() => expect.stringContaining('was not sent')),
      );
      expect(await fleet.versions()).toEqual(before);
      await goesOn(victim);
    },
    6 * MINUTES,
  );

  /** Stops it after it has sent writes, which the proxy keeps from the API server. */
  async function stopInWrites(victim: FleetMember): Promise<{ run: number; key: string }[]> {
    victim.proxy.hold();
    await eventually('it waits for answers', () => {
      const now = sharedNow();
      return underWay(victim).some(({ at }) => now - at > IN_WRITE_MS);
    });
    victim.freeze();
    const frozenAt = sharedNow();
    return underWay(victim).filter(({ at }) => frozenAt - at > IN_WRITE_MS);
  }

  test.each(['update', 'strict patch'] as const)(
    'with a write on its way (%s): the API server refuses it',
    async (writes) => {
      const victim = await start({ writes });
      const runs = await stopInWrites(victim);
      await othersTakeOver(victim);
      const before = await fleet.versions();
      await victim.proxy.release();
      expect(await fleet.versions()).toEqual(before);
      await goesOn(victim);
      expect(outcomes(victim, runs)).not.toContain('wrote');
      expect(outcomes(victim, runs)).not.toContain('nothing');
    },
    6 * MINUTES,
  );

  test(
    'with a patch without resourceVersion on its way: it takes effect, and the owner repairs it',
    async () => {
      const victim = await start({ writes: 'patch' });
      const runs = await stopInWrites(victim);
      await othersTakeOver(victim);
      for (const { key } of runs) await fleet.change(key);
      await fleet.everythingDone();
      const before = await fleet.versions();
      await victim.proxy.release();
      await fleet.everythingDone();
      const after = await fleet.versions();
      const changed = [...after].flatMap(([key, version]) =>
        before.get(key) === version ? [] : [key],
      );
      const keys = runs.map(({ key }) => key);
      expect(changed).toEqual(expect.arrayContaining(keys));
      await goesOn(victim);
    },
    6 * MINUTES,
  );
});
