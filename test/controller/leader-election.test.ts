/**
 * Controllers of a manager with an election: warm-up before they lead, and no reconcile without a
 * lease. controller-runtime: controller_test.go, Warmup.
 */
import {
  createController,
  enqueueRequestForObject,
  newControllerManagedBy,
} from 'capstan/controller';
import { PriorityQueue } from 'capstan/workqueue';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { causeOf, rig, TestSource } from '../helpers/controller/controller-rig.ts';
import type { TestObject } from '../helpers/controller/fake-cluster.ts';
import { FakeManager } from '../helpers/controller/fake-manager.ts';
import { TestWidget, testWidget } from '../helpers/controller/resources.ts';
import { ignoreErrors } from '../helpers/reported-errors.ts';

ignoreErrors();
afterEach(() => {
  vi.restoreAllMocks();
});

const never = new Promise<void>(() => undefined);
const ended = { signal: AbortSignal.abort() };
const open = () => ({ signal: new AbortController().signal });

describe('the warm-up', () => {
  test('starts the sources, and a later start does not start them again', async () => {
    const { source, calls, start, clock, controller } = rig(undefined, { enableWarmup: true });
    await controller.warmup(open());
    source.add('a');
    await clock.settle();
    expect(source.starts).toBe(1);
    expect(calls).toEqual([]);
    expect(controller.report()).toMatchObject({
      state: 'waiting for leadership',
      queue: { ready: 1 },
    });
    await start();
    expect(source.starts).toBe(1);
    expect(calls).toEqual(['a@0']);
  });

  test('does nothing without enableWarmup, and the start does all', async () => {
    const { source, start, controller } = rig();
    await controller.warmup(open());
    expect(source.starts).toBe(0);
    await start();
    expect(source.starts).toBe(1);
  });

  test('waits until the sources have synced', async () => {
    const { source, clock, controller } = rig(undefined, { enableWarmup: true });
    const gate = Promise.withResolvers<void>();
    source.sync = gate.promise;
    let isWarm = false;
    const warm = controller.warmup(open()).then(() => {
      isWarm = true;
    });
    await clock.settle();
    expect(isWarm).toBe(false);
    expect(controller.report().state).toBe('warming up');
    gate.resolve();
    await warm;
  });

  test('rejects if a source fails or has not synced in time, as does the start then', async () => {
    const fails = () => Promise.reject(new Error('away'));
    for (const [code, what, answer] of [
      ['SOURCE_FAILED', 'sync', fails],
      ['SOURCE_FAILED', 'begin', fails],
      ['CACHE_SYNC_TIMEOUT', 'sync', () => never],
      ['CACHE_SYNC_TIMEOUT', 'begin', () => never],
    ] as const) {
      const { source, clock, controller, start, errors } = rig(undefined, {
        enableWarmup: true,
        cacheSyncTimeout: 100,
      });
      source[what] = answer();
      source[what].catch(() => undefined);
      const warm = expect(controller.warmup(open())).rejects.toMatchObject({ code });
      await clock.run(100);
      await warm;
      await start();
      expect(errors).toEqual([expect.objectContaining({ code })]);
    }
  });

  test('is ended by its signal without an error, also while a source starts', async () => {
    for (const what of ['begin', 'sync'] as const) {
      const { source, clock, controller } = rig(undefined, { enableWarmup: true });
      source[what] = never;
      const end = new AbortController();
      const warm = controller.warmup({ signal: end.signal });
      await clock.settle();
      end.abort();
      await warm;
      expect(source.started?.signal.aborted).toBe(true);
      expect([controller.report().state, clock.timers()]).toEqual(['ended', 0]);
    }
    const { source, controller } = rig(undefined, { enableWarmup: true });
    await controller.warmup(ended);
    expect(source.starts).toBe(0);
  });

  test('ends for good with its signal, although it never led', async () => {
    const { source, clock, controller } = rig(undefined, { enableWarmup: true });
    const end = new AbortController();
    await controller.warmup({ signal: end.signal });
    source.add('a', { after: 1000 });
    end.abort();
    await clock.settle();
    expect([controller.report().state, clock.timers()]).toEqual(['ended', 0]);
    await controller.run();
  });

  test('that ends before it leads releases its name and everything that it holds', async () => {
    const manager = new FakeManager();
    const make = () =>
      createController({
        manager,
        name: 'warm',
        for: TestWidget,
        enableWarmup: true,
        reconcile: () => undefined,
      });
    make();
    await manager.warmup();
    expect(make).toThrow(/exists already/);
    const disposals = vi.spyOn(PriorityQueue.prototype, 'dispose');
    manager.stop();
    await manager.clock.settle();
    expect(disposals).toHaveBeenCalledTimes(1);
    expect(make).not.toThrow();
  });

  test('several times at once, also during the start, starts the sources once', async () => {
    const { source, start, clock, controller } = rig(undefined, { enableWarmup: true });
    const begin = Promise.withResolvers<void>();
    source.begin = begin.promise;
    const done: number[] = [];
    const warm = [0, 1, 2].map((i) => controller.warmup(open()).then(() => done.push(i)));
    await start();
    expect([done, controller.report().state]).toEqual([[], 'waiting for caches']);
    begin.resolve();
    await Promise.all(warm);
    await clock.settle();
    expect([source.starts, controller.report().state]).toEqual([1, 'running']);
  });

  test('a source that is added after it starts at once', async () => {
    const { controller } = rig(undefined, { enableWarmup: true });
    await controller.warmup(open());
    const late = new TestSource('late');
    controller.watch(late);
    expect(late.starts).toBe(1);
  });
});

describe('without a valid lease', () => {
  const build = (manager: FakeManager, options = {}) => {
    const calls: string[] = [];
    const source = new TestSource();
    const causes: string[][] = [];
    const controller = newControllerManagedBy(manager)
      .watchesRawSource(source)
      .withOptions({ skipNameValidation: true, ...options })
      .named('leader')
      .build(({ name }, context) => {
        calls.push(`${name}@${manager.clock.now()}`);
        causes.push(context.causes.map(({ kind }) => kind));
      });
    return { calls, source, controller, causes };
  };

  test.each([true, false])(
    'no reconcile begins; what was queued begins when there is one (priorities: %s)',
    async (usePriorityQueue) => {
      const manager = new FakeManager();
      const { calls, source, controller, causes } = build(manager, {
        usePriorityQueue,
        maxConcurrentReconciles: 3,
      });
      manager.holds = false;
      await manager.start();
      source.add('a', {}, causeOf('create'));
      source.add('a', {}, causeOf('update'));
      source.add('b', {}, causeOf('create'));
      await manager.clock.run(60_000);
      expect(calls).toEqual([]);
      expect(controller.report()).toMatchObject({
        state: 'waiting for leadership',
        queue: { ready: 2, processing: 0 },
      });
      manager.holds = true;
      await manager.clock.run(100);
      expect(calls.map((call) => call.split('@')[0]).sort()).toEqual(['a', 'b']);
      expect(causes.sort()).toEqual([['create'], ['create', 'update']]);
      expect(controller.report().state).toBe('running');
    },
  );

  test('requests keep their priorities', async () => {
    const manager = new FakeManager();
    const { calls, source } = build(manager);
    manager.holds = false;
    await manager.start();
    source.add('low', { priority: -100 });
    await manager.clock.run(500);
    source.add('high', { priority: 7 });
    source.add('normal');
    await manager.clock.run(500);
    manager.holds = true;
    await manager.clock.run(100);
    expect(calls.map((call) => call.split('@')[0])).toEqual(['high', 'normal', 'low']);
  });

  test('waiting is one timer, whatever the workers, and none after the end', async () => {
    const manager = new FakeManager();
    const { source } = build(manager, { maxConcurrentReconciles: 5 });
    manager.holds = false;
    let asked = 0;
    manager.holdsLease = () => {
      asked++;
      return manager.holds;
    };
    await manager.start();
    for (let i = 0; i < 5; i++) source.add(`r${i}`);
    await manager.clock.settle();
    expect(manager.clock.timers()).toBe(1);
    asked = 0;
    await manager.clock.run(1000);
    expect(asked).toBeLessThanOrEqual(10);
    manager.stop();
    await Promise.all(manager.ended);
    expect(manager.clock.timers()).toBe(0);
    expect(manager.errors).toEqual([]);
  });

  test('a lease that expires during work is noticed before the next reconcile', async () => {
    const manager = new FakeManager();
    const { calls, source } = build(manager);
    await manager.start();
    source.add('a');
    await manager.clock.settle();
    manager.holds = false;
    source.add('b');
    await manager.clock.run(500);
    expect(calls).toEqual(['a@0']);
  });

  test('a controller that needs no leader goes on', async () => {
    const manager = new FakeManager();
    const { calls, source, controller } = build(manager, { needLeaderElection: false });
    manager.holds = false;
    await manager.start();
    source.add('a');
    await manager.clock.settle();
    expect(calls).toEqual(['a@0']);
    expect(controller.needLeaderElection()).toBe(false);
  });
});

test('a warmed-up controller reconciles at once when it leads', async () => {
  const manager = new FakeManager();
  manager.transport.put('widgets', testWidget('a'));
  const calls: string[] = [];
  createController<TestObject>({
    manager,
    for: TestWidget,
    enableWarmup: true,
    skipNameValidation: true,
    watches: [{ resource: TestWidget, handler: enqueueRequestForObject() }],
    reconcile: ({ name }, { get }) =>
      void calls.push(`${name} ${get({ namespace: 'default', name })?.metadata.name}`),
  });
  await manager.warmup();
  expect(calls).toEqual([]);
  expect(manager.transport.watches()).toBe(1);
  await manager.start();
  expect(calls).toEqual(['a a']);
  expect(manager.transport.watches()).toBe(1);
});
