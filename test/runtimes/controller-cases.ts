/**
 * Controllers, clients and elections over fetch, on every runtime: existing and new objects are
 * reconciled with their causes, failures are retried, clients read their writes, and one candidate
 * leads at a time. Each case has its own server, in another process.
 */
import { defineResource, fetchTransport, newSharedInformerFactory } from 'capstan/cache';
import {
  type Client,
  ignoreAlreadyExists,
  isConflict,
  isNotFound,
  newClient,
  type OwnerReference,
  setControllerReference,
} from 'capstan/client';
import {
  type Controller,
  type ControllerOptions,
  createController,
  type Logger,
  timerSource,
} from 'capstan/controller';
import { LeaderElector, LeaseLock } from 'capstan/leaderelection';
import { afterEach, describe, expect, test } from 'vitest';
import {
  type CaseConfigMap,
  CaseConfigMaps,
  CaseServer,
  fastClock,
  until,
} from './cache-cluster.ts';
import type { ClusterClaims } from './report.ts';
import { CONTROLLER_CASES } from './titles.ts';

interface Secret {
  metadata: { name: string; namespace?: string; ownerReferences?: OwnerReference[] };
  stringData?: Record<string, string>;
}

const Secrets = defineResource<Secret>()({
  ...{ group: '', version: 'v1', namespaced: true },
  ...{ kind: 'Secret', plural: 'secrets' },
});

const namespace = 'default';
const keyOf = (name: string): { namespace: string; name: string } => ({ namespace, name });
const mapOf = (name: string, data?: Record<string, string>): CaseConfigMap => ({
  metadata: keyOf(name),
  ...(data === undefined ? {} : { data }),
});

/** For expected failures. The package's silent logger would pass them to the error handler. */
const quiet: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export function controllerCases(claims: ClusterClaims): void {
  /** The cleanup functions of a case, called in reverse order. */
  const begun: (() => Promise<void>)[] = [];

  async function start(): Promise<CaseServer> {
    const server = await CaseServer.start(claims);
    begun.push(() => server.call({ do: 'stop' }));
    return server;
  }

  function run(
    server: CaseServer,
    options: Omit<ControllerOptions<CaseConfigMap>, 'for' | 'transport'>,
  ): Controller {
    const transport = fetchTransport(server.url);
    const controller = createController({
      transport,
      for: CaseConfigMaps,
      clock: fastClock,
      ...options,
    });
    const running = controller.run();
    begun.push(async () => {
      await controller.stop();
      await running;
    });
    return controller;
  }

  function cached(server: CaseServer): Client {
    const transport = fetchTransport(server.url);
    const cache = newSharedInformerFactory(transport);
    begun.push(() => cache.shutdown());
    return newClient({ transport, cache, fieldOwner: 'cases' });
  }

  describe(CONTROLLER_CASES, () => {
    afterEach(async () => {
      for (const end of begun.splice(0).reverse()) await end();
    });

    test('existing and new objects are reconciled, with their causes', async () => {
      const server = await start();
      await server.create('a', { n: '1' });
      const runs: string[] = [];
      run(server, {
        reconcile: ({ name }, { get, causes, attempt, reconcileId }) => {
          expect(reconcileId).toMatch(/^[0-9a-f-]{36}$/);
          const seen = get(keyOf(name))?.data?.n ?? 'gone';
          runs.push(
            `${name} ${seen}, ` +
              `${causes.map(({ kind, source }) => `${kind} ${source}`)}, ` +
              `try ${attempt}`,
          );
        },
      });
      await until('the first run', () => runs.length === 1);
      await server.create('b', { n: '1' });
      await until('a second run', () => runs.length === 2);
      await server.update('a', { n: '2' });
      await until('a third run', () => runs.length === 3);
      await server.delete('b');
      await until('a fourth run', () => runs.length === 4);
      expect(runs).toEqual([
        'a 1, create for ConfigMap, try 1',
        'b 1, create for ConfigMap, try 1',
        'a 2, update for ConfigMap, try 1',
        'b gone, delete for ConfigMap, try 1',
      ]);
    });

    test('a failed run is retried, and requeueAfter comes again', async () => {
      const server = await start();
      await server.create('a');
      const runs: string[] = [];
      const controller = run(server, {
        name: 'again',
        logger: quiet,
        reconcile: (_request, { attempt, causes }) => {
          runs.push(`${attempt} ${causes.map(({ kind }) => kind)}`);
          if (runs.length < 3) throw new Error('not yet');
          return runs.length === 3 ? { requeueAfter: 50 } : undefined;
        },
      });
      await until('four runs', () => runs.length === 4);
      expect(runs).toEqual(['1 create', '2 retry', '3 retry', '1 requeueAfter']);
      await until('the last run has ended', () => controller.report().totals.success === 1);
      expect(controller.report().totals).toMatchObject({ error: 2, requeueAfter: 1, success: 1 });
    });

    test('owned objects are created, and recreated after a deletion', async () => {
      const server = await start();
      const client = newClient({ transport: fetchTransport(server.url) });
      const names = ['a', 'b', 'c'];
      run(server, {
        owns: [Secrets],
        maxConcurrentReconciles: 2,
        logger: quiet,
        reconcile: async (request, { get, signal }) => {
          const owner = get(request);
          if (owner === undefined || get(request, Secrets) !== undefined) return;
          const secret: Secret = { metadata: keyOf(request.name), stringData: owner.data ?? {} };
          const owned = setControllerReference(owner, secret, CaseConfigMaps);
          await client.create(Secrets, owned, { signal }).catch(ignoreAlreadyExists);
        },
      });
      const there = (name: string) => (): Promise<boolean> =>
        client.get(Secrets, keyOf(name)).then(
          ({ metadata }) => metadata.ownerReferences?.[0]?.name === name,
          (error: unknown) => {
            if (isNotFound(error)) return false;
            throw error;
          },
        );
      for (const name of names) {
        await server.create(name, { of: name });
        await until('what belongs to it', there(name));
        await server.call({ do: 'dropConnections' });
        await client.delete(Secrets, keyOf(name));
        await until('what belongs to it is back', there(name));
      }
    });

    test('a timer leads to runs, and debouncing waits until it is quiet', async () => {
      const server = await start();
      await server.create('a');
      const causes: string[][] = [];
      run(server, {
        debounceMs: 5000,
        sources: [
          timerSource({ period: 20_000, requests: () => [keyOf('tick')], clock: fastClock }),
        ],
        reconcile: (request, context) => {
          causes.push([
            request.name,
            ...context.causes.map(({ kind, source }) => `${kind} ${source}`),
          ]);
        },
      });
      await until(
        'the object and the timer',
        () => new Set(causes.map(([name]) => name)).size === 2,
      );
      const before = causes.length;
      for (let n = 0; n < 5; n++) await server.update('a', { n: `${n}` });
      await until('a run for the updates', () =>
        causes.slice(before).some(([name]) => name === 'a'),
      );
      const update = causes.slice(before).find(([name]) => name === 'a');
      expect(update?.[1]).toBe('update for ConfigMap');
      expect(update?.length).toBeGreaterThan(2);
    });

    test('a client reads its own writes from its cache at once', async () => {
      const client = cached(await start());
      const readBack = async (): Promise<string | undefined> =>
        (await client.get(CaseConfigMaps, keyOf('a'))).data?.n;
      await client.create(CaseConfigMaps, mapOf('a', { n: '0' }));
      expect(await readBack()).toBe('0');
      for (let n = 1; n <= 10; n++) {
        const before = await client.get(CaseConfigMaps, keyOf('a'));
        await client.update(CaseConfigMaps, { ...before, data: { n: `${n}` } });
        expect(await readBack()).toBe(`${n}`);
      }
      await client.patch(CaseConfigMaps, keyOf('a'), {
        type: 'merge',
        body: { data: { n: 'merged' } },
      });
      expect(await readBack()).toBe('merged');
      await client.apply(CaseConfigMaps, { ...mapOf('b', { n: 'applied' }) });
      const { items } = await client.list(CaseConfigMaps, { namespace });
      expect(items.map(({ metadata, data }) => `${metadata.name} ${data?.n}`).sort()).toEqual([
        'a merged',
        'b applied',
      ]);
      const stale = mapOf('a');
      stale.metadata.resourceVersion = '1';
      expect(
        isConflict(await client.update(CaseConfigMaps, stale).catch((error: unknown) => error)),
      ).toBe(true);
      await client.delete(CaseConfigMaps, keyOf('a'));
      expect(
        isNotFound(await client.get(CaseConfigMaps, keyOf('a')).catch((error: unknown) => error)),
      ).toBe(true);
    });

    test('one candidate leads at a time, and the next after its release', async () => {
      const server = await start();
      const log: string[] = [];
      const candidate = (
        identity: string,
      ): { elector: LeaderElector; end: () => Promise<void> } => {
        const stopper = new AbortController();
        const elector = new LeaderElector({
          lock: new LeaseLock(fetchTransport(server.url), { namespace, name: 'cases', identity }),
          // Far longer than the case may take: a case that waits for its expiry has failed.
          ...{ leaseDuration: 120_000, renewDeadline: 80_000, retryPeriod: 200 },
          releaseOnCancel: true,
          callbacks: {
            onStartedLeading: (lost) => {
              log.push(`${identity} leads, ${elector.holdsLease() ? 'with' : 'without'} a lease`);
              return new Promise((ended) => lost.addEventListener('abort', () => ended()));
            },
            onStoppedLeading: () => void log.push(`${identity} stops`),
          },
        });
        const running = elector.run({ signal: stopper.signal });
        const end = (): Promise<void> => {
          stopper.abort();
          return running;
        };
        begun.push(end);
        return { elector, end };
      };
      const first = candidate('first');
      await until('the first leads', () => log.length === 1);
      const second = candidate('second');
      await until('the second knows who leads', () => second.elector.getLeader() === 'first');
      expect([first.elector.holdsLease(), second.elector.holdsLease()]).toEqual([true, false]);
      await first.end();
      expect(first.elector.holdsLease()).toBe(false);
      await until('the second leads', () => log.length === 3);
      await second.end();
      expect(log).toEqual([
        'first leads, with a lease',
        'first stops',
        'second leads, with a lease',
        'second stops',
      ]);
    });
  });
}
