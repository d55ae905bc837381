/**
 * Story: a controller wrote `ingress: []` to a NetworkPolicy in each reconcile. The server counted
 * a new generation each time, the watch delivered it, and the next reconcile wrote again: 100
 * writes a second, all successful and unreported.
 */

import { setErrorHandler } from 'capstan';
import { defineResource } from 'capstan/cache';
import { type Client, newClient } from 'capstan/client';
import {
  type Cause,
  ControllerMetrics,
  type ControllerOptions,
  createController,
  type HotLoopReport,
  type Reconcile,
} from 'capstan/controller';
import { ApiServer } from 'capstan/testing';
import { FakeClock } from 'capstan/workqueue';
import { describe, expect, onTestFinished, test } from 'vitest';
import { HotLoops } from '../../bindings/controller/hot-loops.ts';
import { Run } from '../../bindings/controller/run.ts';

interface Thing {
  metadata: {
    name: string;
    namespace: string;
    resourceVersion?: string;
    annotations?: Record<string, string>;
    ownerReferences?: object[];
    uid?: string;
  };
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
}

const define = (group: string, kind: string, plural: string) =>
  defineResource<Thing>()({ group, version: 'v1', kind, plural, namespaced: true });
const Things = define('example.com', 'Thing', 'things');
const Policies = define('networking.k8s.io', 'NetworkPolicy', 'networkpolicies');
const at = (name: string) => ({ namespace: 'default', name });

interface Warned {
  message: string;
  fields: Record<string, unknown>;
}

async function start(
  options: (client: Client) => Partial<ControllerOptions<Thing>> & { reconcile: Reconcile<Thing> },
) {
  const server = await ApiServer.start();
  const transport = server.transport();
  const client = newClient({ transport });
  const metrics = new ControllerMetrics();
  const warned: Warned[] = [];
  const waiting: [number, () => void][] = [];
  let runs = 0;
  const { reconcile, ...rest } = options(client);
  const quiet = () => undefined;
  const controller = createController<Thing>({
    ...{ transport, for: Things, name: 'test', metrics },
    logger: {
      ...{ debug: quiet, info: quiet, error: quiet },
      warn: (message, fields = {}) => warned.push({ message, fields: { ...fields } }),
    },
    ...rest,
    reconcile: async (request, context) => {
      try {
        return await reconcile(request, context);
      } finally {
        runs++;
        for (const [count, resolve] of waiting) if (runs >= count) resolve();
      }
    },
  });
  const running = controller.run();
  onTestFinished(async () => {
    await controller.stop();
    await running;
    await server.stop();
  });
  return {
    ...{ server, client, controller, warned },
    ran: (count: number) =>
      new Promise<void>((resolve) => {
        waiting.push([count, resolve]);
        if (runs >= count) resolve();
      }),
    counted: () =>
      Number(
        /capstan_controller_hot_loop_writes_total\{controller="test"\} (\d+)/.exec(
          metrics.text(),
        )?.[1],
      ),
    loops: () => controller.report().hotLoops,
  };
}

const thing = (name: string, more: object = {}): Thing => ({ metadata: at(name), ...more });

describe('a loop is reported once, counted and shown', () => {
  test('of the time in a status', async () => {
    let now = 0;
    const { client, ran, warned, counted, loops } = await start((client) => ({
      reconcile: async (request) => {
        const lastSync = new Date(Date.UTC(2026, 0, 1) + now++ * 1000).toISOString();
        await client.status().patch(Things, request, {
          type: 'merge',
          body: { status: { lastSync, ready: true } },
        });
      },
    }));
    await client.create(Things, thing('a'));
    await ran(40);
    expect(loops()).toMatchObject([
      { namespace: 'default', name: 'a', object: 'Thing default/a', paths: ['status.lastSync'] },
    ]);
    expect(warned).toHaveLength(1);
    expect(warned[0]).toMatchObject({
      message: expect.stringContaining('Thing default/a again and again'),
      fields: { namespace: 'default', name: 'a', paths: ['status.lastSync'], writes: 16 },
    });
    expect(counted()).toBeGreaterThan(10);
    expect(loops()[0]?.writes).toBeGreaterThan(25);
  });

  test('of an owned object that is written whole, with a list that the server omits', async () => {
    const { client, ran, warned, loops } = await start((client) => ({
      owns: [Policies],
      reconcile: async (request, { get }) => {
        const owner = get(request);
        if (owner === undefined) return;
        const { uid } = owner.metadata;
        const reference = { apiVersion: 'example.com/v1', kind: 'Thing', name: 'a', uid };
        const policy = {
          metadata: { ...at('a'), ownerReferences: [{ ...reference, controller: true }] },
          spec: { podSelector: {}, policyTypes: ['Ingress'], ingress: [] },
        };
        const write = () => client.update(Policies, policy);
        await write().catch(() => client.create(Policies, policy));
      },
    }));
    await client.create(Things, thing('a'));
    await ran(30);
    expect(warned.map(({ fields }) => fields)).toMatchObject([
      { name: 'a', object: 'NetworkPolicy default/a', paths: ['spec.ingress'] },
    ]);
    expect(loops()).toMatchObject([{ name: 'a', paths: ['spec.ingress'] }]);
    await client.delete(Things, at('a'));
  });

  test('of a counter, which looks like progress for a while', async () => {
    const { client, ran, warned, loops } = await start((client) => ({
      reconcile: async (request) => {
        const { status, metadata } = await client.get(Things, request);
        const count = Number(status?.count ?? 0) + 1;
        await client.status().update(Things, { metadata, status: { count } });
      },
    }));
    await client.create(Things, thing('a'));
    await ran(80);
    expect([warned, loops()]).toEqual([[], []]);
    await ran(140);
    expect(loops()).toMatchObject([{ name: 'a', paths: ['status.count'] }]);
    expect(warned).toHaveLength(1);
  });

  test('of two owners that apply in turn', async () => {
    const { client, ran, warned, loops } = await start((client) => ({
      reconcile: async (request) => {
        const set = (size: number, fieldOwner: string) =>
          client.apply(Things, thing(request.name, { spec: { size } }), {
            fieldOwner,
            force: true,
          });
        await set(1, 'one');
        await set(2, 'two');
      },
    }));
    await client.create(Things, thing('a'));
    await ran(40);
    expect(loops()).toMatchObject([{ name: 'a', paths: ['spec.size'] }]);
    expect(warned).toHaveLength(1);
  });

  test('of two controllers that disagree', async () => {
    const { server, client, ran, warned, loops } = await start((client) => ({
      reconcile: async (request, { get }) => {
        if (get(request)?.spec?.replicas === 3) return;
        await client.patch(Things, request, { type: 'merge', body: { spec: { replicas: 3 } } });
      },
    }));
    const transport = server.transport();
    const theirs = newClient({ transport });
    const other = createController<Thing>({
      ...{ transport, for: Things, name: 'other' },
      logger: { debug() {}, info() {}, warn() {}, error() {} },
      reconcile: async (request, { get }) => {
        if (get(request)?.spec?.replicas === 5) return;
        await theirs.patch(Things, request, { type: 'merge', body: { spec: { replicas: 5 } } });
      },
    });
    const running = other.run();
    onTestFinished(async () => {
      await other.stop();
      await running;
    });
    await client.create(Things, thing('a', { spec: { replicas: 1 } }));
    await ran(100);
    expect(loops()).toMatchObject([{ name: 'a', paths: ['spec.replicas'] }]);
    expect(warned).toHaveLength(1);
  });

  test('of two objects that each request the other', async () => {
    const { client, ran, loops } = await start((client) => ({
      reconcile: async (request) => {
        const other = at(request.name === 'a' ? 'b' : 'a');
        const body = { metadata: { annotations: { seen: new Date(turns++).toISOString() } } };
        await client.patch(Things, other, { type: 'merge', body });
      },
    }));
    let turns = 0;
    await client.create(Things, thing('b'));
    await client.create(Things, thing('a'));
    await ran(60);
    expect(loops().map(({ paths }) => paths)).toContainEqual(['metadata.annotations.seen']);
  });

  test('to the error handler without a logger', async () => {
    const errors: unknown[] = [];
    const before = setErrorHandler((error) => errors.push(error));
    onTestFinished(() => void setErrorHandler(before));
    let now = 0;
    const { client, ran } = await start((client) => ({
      logger: undefined,
      reconcile: async (request) => {
        const time = new Date(now++ * 1000).toISOString();
        await client.status().patch(Things, request, { type: 'merge', body: { status: { time } } });
      },
    }));
    await client.create(Things, thing('a'));
    await ran(30);
    expect(errors).toMatchObject([
      { code: 'HOT_LOOP', message: expect.stringContaining('default/a') },
    ]);
  });
});

describe('no loop is detected', () => {
  test('in work with several steps that ends', async () => {
    const { client, ran, warned, loops } = await start((client) => ({
      reconcile: async (request) => {
        const { status, metadata } = await client.get(Things, request);
        const step = Number(status?.step ?? 0);
        if (step < 40)
          await client.status().update(Things, { metadata, status: { step: step + 1 } });
      },
    }));
    await client.create(Things, thing('a'));
    await ran(41);
    expect([warned, loops()]).toEqual([[], []]);
  });

  test('in responses to outside changes, each with a time', async () => {
    const { client, ran, warned, counted } = await start((client) => ({
      reconcile: async (request, { get }) => {
        const { spec, status } = get(request) ?? {};
        if (spec === undefined || spec.count === status?.count) return;
        const at = new Date(Number(spec.count) * 1000).toISOString();
        await client.status().patch(Things, request, {
          type: 'merge',
          body: { status: { count: spec.count, at } },
        });
      },
    }));
    await client.create(Things, thing('a', { spec: { count: 0 } }));
    for (let count = 1; count <= 30; count++) {
      await ran(2 * count);
      await client.patch(Things, at('a'), { type: 'merge', body: { spec: { count } } });
    }
    expect([warned, counted()]).toEqual([[], 0]);
  });

  test('in a value that is toggled from outside and mirrored', async () => {
    const { client, ran, warned, counted } = await start((client) => ({
      reconcile: async (request, { get }) => {
        const { spec, status } = get(request) ?? {};
        if (spec === undefined || spec.on === status?.on) return;
        await client.status().patch(Things, request, {
          type: 'merge',
          body: { status: { on: spec.on } },
        });
      },
    }));
    await client.create(Things, thing('a', { spec: { on: true } }));
    for (let i = 1; i <= 30; i++) {
      await ran(2 * i);
      const body = { spec: { on: i % 2 === 0 } };
      await client.patch(Things, at('a'), { type: 'merge', body });
    }
    expect([warned, counted()]).toEqual([[], 0]);
  });
});

describe('simulated runs', () => {
  function play() {
    const clock = new FakeClock();
    const received: HotLoopReport[] = [];
    let running: Run[] = [];
    let counted = 0;
    let ids = 0;
    const loops = new HotLoops({
      ...{ clock, groupKind: 'Thing.example.com' },
      running: () => running,
      cached: () => undefined,
      onLoopWrite: () => void counted++,
      onLoop: (loop) => void received.push(loop),
    });
    let version = 0;
    const object = (name: string, more: object) => ({
      ...{ apiVersion: 'example.com/v1', kind: 'Thing' },
      ...more,
      metadata: { ...at(name), resourceVersion: String(version) },
    });
    const update = (name: string, resourceVersion: string): Cause => ({
      ...{ kind: 'update', source: 'for Thing', at: clock.now() },
      object: { kind: 'Thing', ...at(name), resourceVersion },
    });
    /** A run with these causes and writes. */
    const run = (name: string, causes: Cause[], ...writes: object[]): string => {
      const cause = { causes, moreCauses: 0 };
      running = [new Run(at(name), String(ids++), 1, cause, clock.now())];
      for (const write of writes) {
        version++;
        const answer = object(name, write);
        const body = JSON.stringify(answer);
        loops.wrote({ resource: Things, method: 'PUT', body, contentType: undefined, answer });
      }
      running = [];
      return String(version);
    };
    return { clock, loops, told: received, run, update, counted: () => counted };
  }
  const alive = (clock: FakeClock) => ({
    status: { seen: new Date(1.7e12 + clock.now()).toISOString() },
  });

  test('a heartbeat every ten seconds is no loop', () => {
    const { clock, told, run, update, counted } = play();
    for (let i = 0; i < 1000; i++) {
      const timer: Cause = { kind: 'requeueAfter', source: 'test', at: 0, due: clock.now() };
      const version = run('a', [timer], alive(clock));
      run('a', [update('a', version)]);
      clock.step(10_000);
    }
    expect([told, counted()]).toEqual([[], 0]);
  });

  test('writes of one run, and writes that take hours, are no loop', () => {
    const { clock, told, run, update } = play();
    let version = run('a', [update('a', '')], alive(clock));
    version = run('a', [update('a', version)], ...Array.from({ length: 50 }, () => alive(clock)));
    for (let i = 0; i < 50; i++) {
      version = run('a', [update('a', version)], alive(clock));
      clock.step(3_600_000);
    }
    expect(told).toEqual([]);
  });

  test('a retry or a requeue is no loop', () => {
    const { told, run } = play();
    for (const kind of ['retry', 'requeue'] as const)
      for (let i = 0; i < 50; i++)
        run('a', [{ kind, source: 'test', at: 0 }], { spec: { size: 1 } });
    expect(told).toEqual([]);
  });

  test('a loop is gone from the report ten minutes after its last write', () => {
    const { clock, loops, run, update } = play();
    let version = '';
    for (let i = 0; i < 20; i++) version = run('a', [update('a', version)], alive(clock));
    expect(loops.report(clock.now())).toHaveLength(1);
    clock.step(600_001);
    expect(loops.report(clock.now())).toEqual([]);
  });

  test('memory is bounded: each key is reported once as long as it is kept', () => {
    const { clock, loops, told, run, update } = play();
    for (let name = 0; name < 3000; name++) {
      let version = '';
      for (let i = 0; i < 18; i++) {
        version = run(`n${name}`, [update(`n${name}`, version)], alive(clock));
        clock.step(1);
      }
    }
    expect(told).toHaveLength(3000);
    expect(loops.report(clock.now())).toHaveLength(20);
    expect(loops.size).toBeLessThanOrEqual(1024);
  });

  test('a time anywhere in a text is ignored', () => {
    const { told, run, update } = play();
    let version = '';
    for (let i = 0; i < 19; i++)
      version = run('a', [update('a', version)], {
        status: {
          message: `synced at 2026-01-02T03:04:${String(i + 10)}.123Z, all is well`,
          at: 1_700_000_000 + i,
          observedGeneration: i,
        },
      });
    expect(told).toMatchObject([
      { paths: ['status.message', 'status.at', 'status.observedGeneration'] },
    ]);
  });
});
