/**
 * A rolling update of replicas of shards to a later release, as processes on a real API server,
 * while objects change. A release with fields that this one does not know works beside it. When a
 * release with another form of the map has written the map, the replicas of this one end with
 * SHARD_OUTDATED and leave the map alone.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Random, testSeed } from '../helpers/random.ts';
import { judgeShards } from '../helpers/shards/judge-shards.ts';
import { Fleet, requireBuilt } from './shards/fleet.ts';

const seed = testSeed();
const MINUTES = 60_000;
const REPLICAS = 3;

beforeAll(requireBuilt);

describe.each(['fields', 'format'] as const)(
  `replicas of two releases (CAPSTAN_SEED=${seed}): other %s`,
  (later) => {
    let fleet: Fleet;

    beforeAll(async () => {
      fleet = await Fleet.on({ gate: true, namespaces: 40, objects: 200 }, new Random(seed));
      for (let i = 0; i < REPLICAS; i++) await fleet.start();
      await fleet.settled();
    });

    afterAll(() => fleet?.end());

    afterEach(({ task }) => {
      if (task.result?.state === 'fail') fleet?.keepLogs();
    });

    async function step(change: () => Promise<void>): Promise<void> {
      fleet.update();
      await change();
      await fleet.settled();
      await fleet.everythingDone();
      const { overlaps, deletions } = judgeShards(fleet.logs());
      expect({ overlaps, deletions }).toEqual({ overlaps: [], deletions: [] });
    }

    const written = async (): Promise<{ version: number; more?: unknown }> =>
      JSON.parse((await fleet.map()).data?.map ?? '{}');

    test(
      'work on nothing together and lose no change, one way and back',
      async () => {
        const old = [...fleet.live];
        for (let i = 0; i < REPLICAS; i++) {
          // As in a rollout with maxSurge 1: one starts, one ends.
          await step(async () => {
            const started = await fleet.start({ later });
            if (i > 0) return;
            await fleet.settled();
            await fleet.makeCoordinator(started);
            // It writes the map in its own form, beside replicas of the old release.
            await fleet.deleteMap();
          });
          await step(async () => {
            const next = old.find((one) => fleet.live.includes(one));
            if (next === undefined) return; // it has ended as outdated
            fleet.remove(next);
            await next.end();
          });
        }
        expect(await written()).toMatchObject({ more: { by: ['a later release'] } });
        expect(new Set(fleet.outdated)).toEqual(new Set(later === 'fields' ? [] : old));
        const { runs, writes } = judgeShards(fleet.logs());
        const { updates, outdated } = fleet;
        const figures = { updates, runs, writes, outdated: outdated.length };
        console.log(`later ${later}, seed ${seed}: ${JSON.stringify(figures)}`);
        const back = await fleet.start();
        if (later === 'fields') {
          expect(fleet.outdated).toEqual([]);
          await step(async () => undefined);
          expect((await fleet.overview()).replicas.length).toBeGreaterThan(REPLICAS);
          return;
        }
        // It says what is wrong, and ends; the others go on.
        expect(await back.ended()).toBe(1);
        expect(back.tail()).toContain('SHARD_OUTDATED');
        await step(async () => undefined);
        expect(fleet.outdated).toContain(back);
        expect(await written()).toMatchObject({ version: 2 });
      },
      9 * MINUTES,
    );
  },
);
