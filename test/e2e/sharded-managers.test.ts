/**
 * Managers that share the objects of a real API server, with ShardedListAndWatch and without: 1, 2,
 * 3 and 2 of them while objects change all the time. No key is run by two, no update is lost, and
 * nobody is told of a deletion that did not happen.
 */
import { randomUUID } from 'node:crypto';
import { defineResource, type KubeObject } from 'capstan/cache';
import { newClient } from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import { createController } from 'capstan/controller';
import { type ControllerManager, newManager } from 'capstan/manager';
import type { Request } from 'capstan/workqueue';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../helpers/control-plane/conditions.ts';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import { expectRejection } from '../helpers/expect-error.ts';
import { Random, testSeed } from '../helpers/random.ts';
import { readKubeConfig } from './same-answers/servers.ts';

interface Counter extends KubeObject {
  metadata: { name: string; namespace: string; uid?: string; resourceVersion?: string };
  data?: { asked?: string; done?: string; count?: string };
}
const Counters = defineResource<Counter>()({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
});
const Namespaces = defineResource<KubeObject & { metadata: { name: string } }>()({
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
});

const TEAMS = Array.from({ length: 24 }, (_, i) => `team-${i}`);
const PER_TEAM = 4;
const OBJECTS = TEAMS.length * PER_TEAM;
const MINUTES = 60_000;
const seed = testSeed();

const keyOf = ({ namespace, name }: { namespace: string; name: string }): string =>
  `${namespace}/${name}`;
const isCounter = ({ metadata }: Counter): boolean => metadata.name.startsWith('counter-');

describe.each([true, false])(`managers, with the gate %s (CAPSTAN_SEED=${seed})`, (gate) => {
  let plane: ControlPlane;
  let transport: ReturnType<typeof kubeConfigTransport>;
  let client: ReturnType<typeof newClient>;

  beforeAll(async () => {
    plane = await ControlPlane.start({ gates: gate ? ['ShardedListAndWatch'] : [] });
    transport = kubeConfigTransport(await readKubeConfig(plane));
    client = newClient({ transport });
    for (const name of ['shards', ...TEAMS])
      await client.create(Namespaces, { metadata: { name } });
    for (const namespace of TEAMS)
      for (let i = 0; i < PER_TEAM; i++)
        await client.create(Counters, {
          metadata: { namespace, name: `counter-${i}` },
          data: { asked: '1' },
        });
  });

  afterAll(async () => {
    await transport?.close?.();
    await plane?.stop();
  });

  afterEach(({ task }) => {
    if (task.result?.state === 'fail') plane?.keepLogs();
  });

  test(
    'share the work, and lose nothing',
    async () => {
      const random = new Random(seed);
      const running = new Map<string, string>();
      const overlaps: string[] = [];
      const deletions: string[] = [];
      const failures: unknown[] = [];
      let writes = 0;

      const start = async (name: string, strictWrites: boolean) => {
        const line = kubeConfigTransport(await readKubeConfig(plane));
        const end = new AbortController();
        const manager = newManager({
          transport: line,
          shards: {
            id: 'counters',
            namespace: 'shards',
            replica: name,
            retryPeriod: 500, // with Leases as long as by default, for a machine that is busy
            strictWrites,
          },
        });
        createController({
          manager,
          for: Counters,
          name: `counters-${name}-${randomUUID()}`,
          maxConcurrentReconciles: 8,
          reconcile: (request, { get, signal }) =>
            reconcile(name, manager, request, get(request), signal),
        });
        manager.cache.informerFor(Counters).addEventHandler({
          onDelete: (object) => void deletions.push(JSON.stringify(object)),
        });
        const ended = manager.start({ signal: end.signal });
        onTestFinished(async () => {
          end.abort();
          await ended;
          await line.close?.();
        });
        return {
          name,
          manager,
          async stop(): Promise<number> {
            const from = performance.now();
            end.abort();
            await ended;
            return performance.now() - from;
          },
        };
      };

      const reconcile = async (
        name: string,
        manager: ControllerManager,
        request: Request,
        counter: Counter | undefined,
        signal: AbortSignal,
      ): Promise<void> => {
        if (counter === undefined || !isCounter(counter)) return;
        const key = keyOf(request);
        const other = running.get(key);
        if (other !== undefined) overlaps.push(`${key}: ${name} beside ${other}`);
        running.set(key, name);
        try {
          const { asked, done, count = '0' } = counter.data ?? {};
          if (asked === done) return;
          await new Promise((resolve) => setTimeout(resolve, random.int(20)));
          const data = { ...counter.data, done: asked, count: String(Number(count) + 1) } as const;
          try {
            await manager.client.update(
              Counters,
              { ...structuredClone(counter), data } as Counter,
              {
                signal,
              },
            );
            writes++;
          } catch (error) {
            // A change that came meanwhile: its event asks again.
            if ((error as { status?: number }).status === 409) return;
            failures.push(error);
            throw error;
          }
        } finally {
          running.delete(key);
        }
      };

      let asked = 1;
      let changing = true;
      onTestFinished(() => {
        changing = false;
      });
      const changes = (async () => {
        while (changing) {
          const namespace = random.pick(TEAMS);
          const key = { namespace, name: `counter-${random.int(PER_TEAM)}` };
          const body = { data: { asked: String(++asked) } };
          await client.patch(Counters, key, { type: 'merge', body });
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      })();

      type Running = Awaited<ReturnType<typeof start>>;
      const shared = (among: Running[]): Promise<unknown> =>
        eventually(
          `${among.length} managers share the slots`,
          () => {
            const slots = among.map(({ manager }) => manager.shards?.slots.length ?? 0);
            const isWhole = slots.reduce((sum, one) => sum + one, 0) === 64;
            const teams = among.map(
              ({ manager }) =>
                TEAMS.filter((namespace) => manager.shards?.owns({ namespace, name: 'x' })).length,
            );
            const least = TEAMS.length / among.length / 2;
            const isLevel = Math.min(...teams) > least;
            return isWhole && isLevel ? true : `slots ${slots}, namespaces ${teams}`;
          },
          2 * MINUTES,
        );

      const a = await start('a', false);
      await shared([a]);
      const b = await start('b', true);
      await shared([a, b]);
      const c = await start('c', false);
      await shared([a, b, c]);
      // Each has a part: in all as many as there are. The old owner of a slot drops its objects
      // after the new one has opened it.
      let cached: number[] = [];
      await eventually('each object is in one cache', () => {
        cached = [a, b, c].map(
          ({ manager }) =>
            manager.cache.informerFor(Counters).getIndexer().list().filter(isCounter).length,
        );
        return cached.reduce((sum, one) => sum + one, 0) === OBJECTS || `cached ${cached}`;
      });
      expect(Math.max(...cached)).toBeLessThan(OBJECTS * 0.6);
      const theirs = TEAMS.find((namespace) => !a.manager.shards?.owns({ namespace, name: 'x' }));
      const key = { namespace: theirs ?? '', name: 'counter-0' };
      expect((await a.manager.client.get(Counters, key)).metadata.name).toBe('counter-0');
      await expectRejection(a.manager.client.delete(Counters, key), 'SHARD_NOT_OWNED');
      // The coordinator goes.
      const tookMs = await a.stop();
      await shared([b, c]);
      changing = false;
      await changes;
      await eventually('all that was asked is done', async () => {
        const { items } = await client.list(Counters);
        const late = items.filter(isCounter).filter(({ data }) => data?.asked !== data?.done);
        return late.length === 0 ? true : `${late.length} are not`;
      });
      const { items } = await client.list(Counters);
      const counted = items.filter(isCounter).map(({ data }) => Number(data?.count));
      await Promise.all([b.stop(), c.stop()]);
      const leases = await client.list(
        defineResource<KubeObject & { spec: { holderIdentity?: string } }>()({
          group: 'coordination.k8s.io',
          version: 'v1',
          kind: 'Lease',
          plural: 'leases',
          namespaced: true,
        }),
        { namespace: 'shards' },
      );
      expect(leases.items.map(({ spec }) => spec.holderIdentity || 'none')).toEqual(
        leases.items.map(() => 'none'),
      );
      console.log(
        `gate ${gate}: ${asked} changes, ${writes} writes, cached ${cached.join(' + ')}, ` +
          `the end of the coordinator took ${Math.round(tookMs)} ms`,
      );
      expect(overlaps).toEqual([]);
      expect(deletions).toEqual([]);
      expect(failures).toEqual([]);
      expect(counted.length).toBe(OBJECTS);
      expect(counted.reduce((sum, one) => sum + one, 0)).toBe(writes);
    },
    6 * MINUTES,
  );
});
