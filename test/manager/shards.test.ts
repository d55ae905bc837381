/**
 * Managers that share the objects, in virtual time on the embedded server: each change is
 * reconciled by one of them, no key by two at once, and what another one has is neither written nor
 * taken for absent.
 */
import { defineResource, type KubeObject, type Transport } from 'capstan/cache';
import { type Client, newClient } from 'capstan/client';
import {
  createController,
  defineRequest,
  enqueueRequestsFromMapFunc,
  type ReconcileContext,
  type RequestType,
  timerSource,
  watching,
} from 'capstan/controller';
import { type ControllerManager, type ManagerOptions, newManager } from 'capstan/manager';
import { FakeClock, fakeTransport } from 'capstan/testing';
import type { Request } from 'capstan/workqueue';
import { describe, expect, onTestFinished, test } from 'vitest';
import { whenAborted } from '../../bindings/base/wait.ts';
import { expectError, expectRejection } from '../helpers/expect-error.ts';
import { Random, testSeed } from '../helpers/random.ts';
import { collectErrors } from '../helpers/reported-errors.ts';
import {
  at,
  ConfigMaps,
  configMap,
  Namespaces,
  type Widget,
  Widgets,
} from '../helpers/resources.ts';

const seed = testSeed();
const reported = collectErrors();

const Classes = defineResource<KubeObject & { metadata: { name: string } }>()({
  group: 'example.com',
  version: 'v1',
  kind: 'Class',
  plural: 'classes',
  namespaced: false,
});

interface Told extends KubeObject {
  readonly reason?: string;
  readonly type?: string;
  readonly regarding?: { readonly kind?: string; readonly uid?: string };
}
const Events = defineResource<Told>()({
  group: 'events.k8s.io',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  namespaced: true,
});

const Leases = defineResource<KubeObject & { spec: { holderIdentity?: string } }>()({
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
});

const TEAMS = Array.from({ length: 40 }, (_, i) => `team-${i}`);
const keyOf = ({ namespace, name }: Request): string => `${namespace}/${name}`;

type Work = (
  request: Request,
  context: ReconcileContext<Widget>,
  process: Process,
) => Promise<unknown> | unknown;

/** A process with a manager whose line to the server can be cut. */
class Process {
  readonly name: string;
  readonly manager: ControllerManager;
  readonly running = new Set<string>();
  runs = 0;
  isCut = false;
  ended: string | undefined;
  readonly #end = new AbortController();
  #started: Promise<void> | undefined;

  constructor(rig: Rig, name: string, options: Partial<ManagerOptions>) {
    this.name = name;
    this.manager = newManager({
      transport: this.#line(rig.transport),
      clock: rig.clock,
      ...options,
      shards: { id: 'web', namespace: 'default', replica: name, ...options.shards },
    });
  }

  start(): void {
    this.#started = this.manager.start({ signal: this.#end.signal }).then(
      () => {
        this.ended = 'ended';
      },
      (error: unknown) => {
        this.ended = String(error);
      },
    );
  }

  terminate(): void {
    this.#end.abort();
  }

  settled(): Promise<void> | undefined {
    return this.#started;
  }

  #line(inner: Transport): Transport {
    return {
      ...inner,
      request: async (request) => {
        if (this.isCut) {
          const { signal = new AbortController().signal } = request;
          await whenAborted(signal);
          throw signal.reason;
        }
        return inner.request(request);
      },
    };
  }
}

class Rig {
  readonly clock = new FakeClock();
  readonly transport = fakeTransport({
    clock: this.clock,
    resources: [Widgets, Classes],
    objects: ['default', ...TEAMS].map((name) => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name },
    })),
  });
  readonly others: Client = newClient({ transport: this.transport });
  readonly processes: Process[] = [];
  readonly overlaps: string[] = [];
  readonly seen = new Map<string, number>();

  /** A process with a controller of Widgets. */
  start(
    name: string,
    work: Work = () => undefined,
    options: Partial<ManagerOptions> = {},
  ): Process {
    const process = this.make(name, options);
    createController({
      manager: process.manager,
      for: Widgets,
      name: `widgets-${name}-${this.processes.length}`,
      maxConcurrentReconciles: TEAMS.length,
      reconcile: async (request, context) => {
        const key = keyOf(request);
        for (const other of this.processes)
          if (other.running.has(key)) this.overlaps.push(`${key}: ${name} beside ${other.name}`);
        process.running.add(key);
        process.runs++;
        const size = context.get(request)?.spec?.size;
        try {
          return (await work(request, context, process)) as undefined;
        } finally {
          if (size !== undefined) this.seen.set(key, size);
          process.running.delete(key);
        }
      },
    });
    process.start();
    return process;
  }

  make(name: string, options: Partial<ManagerOptions> = {}): Process {
    const process = new Process(this, name, options);
    this.processes.push(process);
    onTestFinished(async () => {
      process.isCut = false;
      process.terminate();
      for (let i = 0; i < 40 && process.ended === undefined; i++) await this.clock.run(1000);
      await process.settled();
    });
    return process;
  }

  async fill(sizes = 1): Promise<void> {
    for (const namespace of TEAMS)
      for (let i = 0; i < sizes; i++)
        await this.others.create(Widgets, {
          metadata: { namespace, name: `w${i}` },
          spec: { size: 1 },
        });
  }

  /** Waits in the clock of the rig. */
  wait(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.clock.setTimer(resolve, ms);
      signal?.addEventListener('abort', () => {
        this.clock.clearTimer(timer);
        resolve();
      });
    });
  }

  async until(holds: () => boolean, ms = 90_000): Promise<void> {
    for (let left = ms; !holds(); left -= 200) {
      if (left <= 0) throw new Error(`not within ${ms} ms: ${holds}`);
      await this.clock.run(200);
    }
  }

  slots(...processes: Process[]): number[] {
    return processes.flatMap(({ manager }) => manager.shards?.slots ?? []).sort((a, b) => a - b);
  }

  /** All slots are open, each process has some, and none is on its way. */
  isSettled(...processes: Process[]): boolean {
    return (
      this.slots(...processes).length === 64 &&
      processes.every(({ manager }) => {
        const { slots = [] } = manager.shards ?? {};
        return slots.length > 9 && manager.shards?.status().moves.length === 0;
      })
    );
  }
}

const rig = (): Rig => new Rig();

describe(`managers with shards (CAPSTAN_SEED=${seed})`, () => {
  test('reconcile each change in one replica at a time, while some join and leave', async () => {
    const cluster = rig();
    const random = new Random(seed);
    await cluster.fill(2);
    const work: Work = (_, { signal }) => cluster.wait(50 + random.int(400), signal);
    const a = cluster.start('a', work);
    await cluster.until(() => cluster.isSettled(a));
    expect(a.manager.shards?.slots.length).toBe(64);
    let size = 1;
    const change = async (): Promise<void> => {
      for (let i = 0; i < 5; i++) {
        const key = { namespace: random.pick(TEAMS), name: `w${random.int(2)}` };
        const spec = { spec: { size: ++size } };
        await cluster.others.patch(Widgets, key, { type: 'merge', body: spec });
      }
      await cluster.clock.run(300);
    };
    const grow = async (name: string): Promise<Process> => {
      const process = cluster.start(name, work);
      const all = cluster.processes.filter(({ ended }) => ended === undefined);
      for (let i = 0; i < 300 && !cluster.isSettled(...all); i++) await change();
      expect(cluster.isSettled(...all)).toBe(true);
      return process;
    };
    const b = await grow('b');
    const c = await grow('c');
    b.terminate();
    for (let i = 0; i < 100 && b.ended === undefined; i++) await change();
    expect(b.ended).toBe('ended');
    await cluster.until(() => cluster.slots(a, c).length === 64);
    await cluster.clock.run(3000);
    expect(cluster.overlaps).toEqual([]);
    expect(Math.min(a.runs, b.runs, c.runs)).toBeGreaterThan(10);
    const { items } = await cluster.others.list(Widgets);
    for (const { metadata, spec } of items)
      expect([metadata.name, cluster.seen.get(`${metadata.namespace}/${metadata.name}`)]).toEqual([
        metadata.name,
        spec?.size,
      ]);
    // Each one's cache has its part.
    const cached = [a, c].map(
      ({ manager }) => manager.cache.informerFor(Widgets).getIndexer().listKeys().length,
    );
    expect(cached[0]! + cached[1]!).toBe(80);
    expect(reported).toEqual([]);
  }, 240_000);

  test('show their state in the report, and record Events on the map', async () => {
    const cluster = rig();
    await cluster.fill();
    const a = cluster.start('a');
    await cluster.until(() => cluster.isSettled(a));
    const b = cluster.start('b');
    await cluster.until(() => cluster.isSettled(a, b));
    const { shards, runnables } = b.manager.report();
    expect(shards).toMatchObject({ id: 'web', map: 'good', isReady: true, unownedMs: 0 });
    expect(shards?.coordinator).toMatch(/^a-/);
    expect(shards?.states.filter((state) => state === 'open').length).toBeGreaterThan(9);
    expect(shards?.replicas.map(({ state }) => state)).toEqual(['live', 'live']);
    expect(runnables).toContainEqual(
      expect.objectContaining({ name: 'events of capstan.dev/shards', state: 'running' }),
    );
    expect(a.manager.report().shards?.moves.rebalance).toBeGreaterThan(9);
    a.isCut = true;
    await cluster.until(() => cluster.slots(b).length === 64);
    await cluster.clock.run(5000);
    const map = await cluster.others.get(ConfigMaps, { namespace: 'default', name: 'web' });
    const { items } = await cluster.others.list(Events, { namespace: 'default' });
    const told = items.map(({ reason, type, regarding }) => [reason, type, regarding?.kind]);
    expect(told).toContainEqual(['ShardMapWritten', 'Normal', 'ConfigMap']);
    expect(told).toContainEqual(['ShardsRebalanced', 'Normal', 'ConfigMap']);
    expect(told).toContainEqual(['ShardReplicaLost', 'Warning', 'ConfigMap']);
    const lost = items.find(({ reason }) => reason === 'ShardReplicaLost');
    expect(lost?.regarding?.uid).toBe(map.metadata.uid);
    a.isCut = false;
  });

  test('wait for a running reconcile before another replica opens the slot', async () => {
    const cluster = rig();
    await cluster.fill();
    const release = new AbortController();
    const slotOf = (key: string): number | undefined =>
      cluster.processes[0]?.manager.shards?.slotOf(at('', key.split('/')[0]));
    const a = cluster.start('a', () => whenAborted(release.signal));
    await cluster.until(() => a.running.size === TEAMS.length);
    const held = [...a.running].map(slotOf);
    const b = cluster.start('b');
    // Some of them are asked for.
    await cluster.until(() => {
      const { moves = [] } = a.manager.shards?.status() ?? {};
      return moves.some(
        ({ slot }) => held.includes(slot) && !a.manager.shards?.slots.includes(slot),
      );
    });
    await cluster.clock.run(5000);
    for (const slot of held) expect(b.manager.shards?.slots).not.toContain(slot);
    release.abort();
    await cluster.until(() => cluster.isSettled(a, b));
    expect(cluster.overlaps).toEqual([]);
    expect(held.some((slot) => b.manager.shards?.slots.includes(slot as number))).toBe(true);
  });

  test('abort running reconciles when the Lease may have expired, and write nothing', async () => {
    const cluster = rig();
    await cluster.fill();
    const reasons: unknown[] = [];
    let outcome: unknown;
    const a = cluster.start('a', async (request, { signal }, { manager, isCut }) => {
      if (request.namespace !== 'team-0') return;
      await cluster.wait(60_000, signal);
      if (!signal.aborted || !isCut) reasons.push(signal.reason);
      const body = { metadata: { labels: { late: 'yes' } } };
      outcome = await manager.client
        .patch(Widgets, request, { type: 'merge', body })
        .catch((error: unknown) => error);
    });
    await cluster.until(() => a.running.size === 1);
    const b = cluster.start('b', () => undefined);
    await cluster.until(() => (b.manager.shards?.slots.length ?? 0) > 10);
    a.isCut = true;
    await cluster.clock.run(12_500);
    expect(reasons).toMatchObject([{ code: 'SHARD_NOT_OWNED' }]);
    expect(outcome).toMatchObject({ code: 'SHARD_NOT_OWNED' });
    expect(a.manager.shards?.slots).toEqual([]);
    await cluster.until(() => cluster.slots(b).length === 64);
    a.isCut = false;
    await cluster.until(() => cluster.isSettled(a, b));
    const { metadata } = await cluster.others.get(Widgets, at('w0', 'team-0'));
    expect(metadata.labels).toBeUndefined();
    expect(cluster.overlaps).toEqual([]);
  });

  test('read objects of other replicas live, and refuse to write them', async () => {
    const cluster = rig();
    await cluster.fill();
    const got: unknown[] = [];
    const a = cluster.start('a', (_, { get }) => {
      for (const namespace of TEAMS)
        try {
          get(at('w0', namespace));
        } catch (error) {
          got.push(error);
        }
    });
    const b = cluster.start('b', undefined, {
      shards: { id: 'web', namespace: 'default', foreignReads: 'error' },
    });
    await cluster.until(() => cluster.isSettled(a, b));
    const { client } = a.manager;
    const owned = (process: Process): string[] =>
      TEAMS.filter((namespace) => process.manager.shards?.owns(at('w0', namespace)));
    const [mine = ''] = owned(a);
    const [theirs = ''] = owned(b);
    expect(owned(a).length + owned(b).length).toBe(TEAMS.length);
    expect(await client.get(Widgets, at('w0', theirs))).toMatchObject({ spec: { size: 1 } });
    expect((await client.list(Widgets, { namespace: theirs })).items.length).toBe(1);
    expect((await client.list(Widgets)).items.length).toBe(TEAMS.length);
    expect((await client.get(Widgets, at('w0', mine))).spec?.size).toBe(1);
    await expectRejection(b.manager.client.get(Widgets, at('w0', mine)), 'SHARD_NOT_OWNED');
    await expectRejection(b.manager.client.list(Widgets), 'SHARD_NOT_OWNED', 'all namespaces');
    expect((await b.manager.client.get(Widgets, at('w0', theirs))).spec?.size).toBe(1);
    const index = { name: 'byColor', value: 'red' };
    await expectRejection(client.list(Widgets, { index }), 'SHARD_NOT_OWNED', 'byColor');

    const patch = { type: 'merge', body: { spec: { size: 7 } } } as const;
    await expectRejection(client.patch(Widgets, at('w0', theirs), patch), 'SHARD_NOT_OWNED');
    const made = { metadata: { namespace: theirs, name: 'new' } };
    await expectRejection(client.create(Widgets, made), 'SHARD_NOT_OWNED', 'POST');
    await expectRejection(client.delete(Widgets, at('w0', theirs)), 'SHARD_NOT_OWNED');
    await expectRejection(client.delete(Namespaces, at(theirs, '')), 'SHARD_NOT_OWNED');
    await client.patch(Widgets, at('w0', mine), patch);
    expect((await cluster.others.get(Widgets, at('w0', mine))).spec?.size).toBe(7);
    await cluster.until(() => got.length > 0);
    expect(got[0]).toMatchObject({ code: 'SHARD_NOT_OWNED' });
  });

  test('each have all objects and events of a shared kind', async () => {
    const cluster = rig();
    await cluster.fill();
    const options = { cache: { perResource: new Map([[Classes, { shared: true }]]) } };
    const runs: string[] = [];
    const start = (name: string): Process => {
      const process = cluster.make(name, options);
      const handler = enqueueRequestsFromMapFunc(() => TEAMS.map((team) => at('w0', team)));
      createController({
        manager: process.manager,
        for: Widgets,
        name: `shared-${name}`,
        watches: [watching(Classes, handler)],
        reconcile: async (request) => {
          runs.push(`${name} ${keyOf(request)}`);
          await process.manager.client.get(Classes, at('gold', ''));
        },
      });
      process.start();
      return process;
    };
    await cluster.others.create(Classes, { metadata: { name: 'gold' } });
    const [a, b] = [start('a'), start('b')];
    await cluster.until(() => cluster.isSettled(a, b));
    await cluster.clock.run(2000);
    runs.length = 0;
    const body = { metadata: { labels: { now: 'yes' } } };
    await cluster.others.patch(Classes, at('gold', ''), { type: 'merge', body });
    await cluster.clock.run(1000);
    expect(runs.map((run) => run.slice(2)).sort()).toEqual(TEAMS.map((t) => `${t}/w0`).sort());
    await b.manager.client.patch(Classes, at('gold', ''), { type: 'merge', body });
    await a.manager.client.patch(Classes, at('gold', ''), { type: 'merge', body });
    expect(reported).toEqual([]);
  });

  test('drop requests of timers for slots that have moved, and for slots of others', async () => {
    const cluster = rig();
    await cluster.fill();
    const runs: string[] = [];
    const start = (name: string): Process => {
      const process = cluster.make(name);
      createController({
        manager: process.manager,
        for: Widgets,
        name: `timers-${name}`,
        sources: [
          timerSource({
            period: 10_000,
            clock: cluster.clock,
            requests: () => TEAMS.map((team) => at('timed', team)),
          }),
        ],
        reconcile: (request) => {
          runs.push(`${name} ${keyOf(request)}`);
          return { requeueAfter: 15_000 };
        },
      });
      process.start();
      return process;
    };
    const a = start('a');
    await cluster.until(() => cluster.isSettled(a));
    const b = start('b');
    await cluster.until(() => cluster.isSettled(a, b));
    await cluster.clock.run(20_000);
    runs.length = 0;
    await cluster.clock.run(60_000);
    for (const run of runs) {
      const [name = '', key = ''] = run.split(' ');
      const owner = name === 'a' ? a : b;
      expect(owner.manager.shards?.owns(at('', key.split('/')[0]))).toBe(true);
    }
    expect(new Set(runs.map((run) => run.slice(2))).size).toBe(2 * TEAMS.length);
  });

  test('end in their grace period although a reconcile runs until its signal fires', async () => {
    const cluster = rig();
    await cluster.fill();
    const a = cluster.start('a', (_, { signal }) => whenAborted(signal));
    await cluster.until(() => a.running.size === TEAMS.length);
    a.terminate();
    await cluster.clock.run(14_000);
    expect(a.ended).toBeUndefined();
    expect(a.running.size).toBe(TEAMS.length);
    await cluster.clock.run(2000);
    expect(a.ended).toBe('ended');
    expect(a.running.size).toBe(0);
    const { items } = await cluster.others.list(Leases, { namespace: 'default' });
    expect(items.map(({ spec }) => spec.holderIdentity ?? '')).toEqual(['', '']);
  });

  test('add uid and resourceVersion to each write with strictWrites', async () => {
    const cluster = rig();
    await cluster.fill();
    const a = cluster.start('a', undefined, {
      shards: { id: 'web', namespace: 'default', strictWrites: true },
    });
    await cluster.until(() => cluster.isSettled(a));
    const { client } = a.manager;
    const keys = ['team-1', 'team-3', 'team-4'].map((team) => at('w0', team));
    const [first, second, third] = keys as [Request, Request, Request];
    const read = await client.get(Widgets, first);
    const removed = cluster.transport.inject({ do: 'hang', verb: 'watch', path: '/widgets' });
    cluster.transport.dropConnections();
    const theirs = { type: 'merge', body: { spec: { size: 5 } } } as const;
    for (const key of keys) await cluster.others.patch(Widgets, key, theirs);
    const mine = { type: 'merge', body: { spec: { size: 6 } } } as const;
    const changed = { ...structuredClone(read), spec: { size: 6 } };
    await expect(client.update(Widgets, changed)).rejects.toMatchObject({ status: 409 });
    await expect(client.patch(Widgets, second, mine)).rejects.toMatchObject({ status: 409 });
    await expect(client.delete(Widgets, third)).rejects.toMatchObject({ status: 409 });
    const bare = { metadata: { namespace: 'team-1', name: 'w0' }, spec: { size: 6 } };
    await expectRejection(client.update(Widgets, bare), 'INVALID_ARGUMENT', 'resourceVersion');
    await expectRejection(client.deleteAllOf(Widgets, { namespace: 'team-1' }), 'INVALID_ARGUMENT');
    removed();
    for (const key of keys) expect((await cluster.others.get(Widgets, key)).spec?.size).toBe(5);
    const other = at('w0', 'team-2');
    await client.patch(Widgets, other, mine);
    expect((await cluster.others.get(Widgets, other)).spec?.size).toBe(6);
  });

  test('throw SHARD_CROSSED for kinds that are divided in different ways', async () => {
    const cluster = rig();
    const { manager } = cluster.make('a');
    const reconcile = (): void => undefined;
    const handler = enqueueRequestsFromMapFunc(() => [at('x', 'other')]);
    const make = (options: object) => (): unknown =>
      createController({ manager, name: 'refused', reconcile, ...options });
    expectError(make({ for: Classes, owns: [Widgets] }), 'SHARD_CROSSED', 'owns Widget', 'Class');
    expectError(
      make({ for: Widgets, watches: [watching(Classes, handler)] }),
      'SHARD_CROSSED',
      'shared: true',
    );
    make({ for: Namespaces, owns: [Widgets] })();
    const both = { id: 'x', namespace: 'default' };
    const { transport, clock } = cluster;
    expectError(
      () => newManager({ transport, clock, shards: both, leaderElection: both }),
      'INVALID_ARGUMENT',
      'leaderElection',
    );
    expectError(
      () => newManager({ transport, shards: { ...both, strictWrite: true } as never }),
      'INVALID_ARGUMENT',
      'strictWrites',
    );
    expectError(
      () => newManager({ transport, shards: { ...both, foreignReads: 'cache' as never } }),
      'INVALID_ARGUMENT',
      'live',
    );
  });

  test('report a map function that returns a request for another namespace', async () => {
    const cluster = rig();
    const process = cluster.make('a');
    const handler = enqueueRequestsFromMapFunc(() => [at('x', 'team-1')]);
    createController({
      manager: process.manager,
      for: Widgets,
      name: 'crossing',
      watches: [watching(ConfigMaps, handler)],
      reconcile: () => undefined,
    });
    process.start();
    await cluster.until(() => cluster.isSettled(process));
    await cluster.others.create(ConfigMaps, configMap('c', {}, { namespace: 'team-2' }));
    await cluster.clock.run(1000);
    const codes = reported.map(({ error }) => (error as { code?: string }).code);
    expect(new Set(codes)).toEqual(new Set(['SHARD_CROSSED']));
    reported.length = 0;
  });

  test('share requests of a type of a program by namespace, and refuse those without', async () => {
    interface Part {
      readonly team: string;
      readonly what: string;
    }
    const cluster = rig();
    await cluster.fill();
    const ran = new Map<string, string[]>();
    const start = (name: string): Process => {
      const { manager } = cluster.make(name);
      const key = ({ team, what }: Part): string => `${team}:${what}`;
      const bare = defineRequest({ key });
      const handlerOf = (request: RequestType<Part>) =>
        enqueueRequestsFromMapFunc(
          ({ metadata }: KubeObject) =>
            ['cpu', 'disk'].map((what) => ({ team: metadata?.namespace ?? '', what })),
          { request },
        );
      const make = (request: RequestType<Part>): unknown =>
        createController({
          manager,
          name: `parts-${name}`,
          request,
          watches: [watching(Widgets, handlerOf(request))],
          reconcile: (part) => {
            const by = ran.get(key(part)) ?? [];
            ran.set(key(part), by.concat(name));
          },
        });
      expectError(() => make(bare), 'INVALID_ARGUMENT', 'defineRequest', '"namespace"');
      make(defineRequest({ key, namespace: ({ team }: Part) => team }));
      const process = cluster.processes.at(-1) as Process;
      process.start();
      return process;
    };
    const a = start('a');
    await cluster.until(() => cluster.isSettled(a));
    await cluster.clock.run(1000);
    const all = TEAMS.flatMap((team) => [`${team}:cpu`, `${team}:disk`]).sort();
    expect([...ran.keys()].sort()).toEqual(all);
    const b = start('b');
    await cluster.until(() => cluster.isSettled(a, b));
    await cluster.clock.run(1000);
    const owns = ({ manager }: Process, team: string): boolean =>
      manager.shards?.owns(at('w0', team)) === true;
    const moved = TEAMS.filter((team) => owns(b, team));
    expect(moved.length).toBeGreaterThan(5);
    for (const team of TEAMS)
      expect(ran.get(`${team}:disk`), team).toEqual(moved.includes(team) ? ['a', 'b'] : ['a']);
    const body = { spec: { size: 7 } };
    ran.clear();
    for (const team of TEAMS)
      await cluster.others.patch(Widgets, at('w0', team), { type: 'merge', body });
    await cluster.clock.run(1000);
    for (const team of TEAMS)
      expect(ran.get(`${team}:cpu`), team).toEqual([owns(b, team) ? 'b' : 'a']);
    expect(reported).toEqual([]);
  });

  test('are ready when their slots are open', async () => {
    const cluster = rig();
    await cluster.fill();
    const a = cluster.start('a');
    let isReady = false;
    void a.manager.shards?.ready().then(() => {
      isReady = true;
    });
    await cluster.clock.settle();
    expect(isReady).toBe(false);
    await cluster.until(() => isReady);
    expect(a.manager.shards?.slots.length).toBe(64);
    expect(a.manager.shards?.status().owners.size).toBe(1);
    const abort = new AbortController();
    a.isCut = true;
    await cluster.clock.run(13_000);
    const waiting = a.manager.shards?.ready({ signal: abort.signal });
    await cluster.clock.settle();
    abort.abort();
    await expectRejection(waiting as Promise<void>, 'ABORTED');
  });
});
