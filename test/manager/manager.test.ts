/**
 * The life of a manager. It has the counterparts of controller-runtime's
 * pkg/manager/manager_test.go that need no server.
 */
import { defineResource } from 'capstan/cache';
import type { Client, ClientOptions } from 'capstan/client';
import { newManager } from 'capstan/manager';
import { ApiServer } from 'capstan/testing';
import { CapstanError, FakeClock } from 'capstan/workqueue';
import { describe, expect, onTestFinished, test } from 'vitest';
import { collectErrorValues } from '../helpers/reported-errors.ts';
import {
  managerOf,
  noServer,
  others,
  recordedRunnable,
  startManager,
} from './recording-runnables.ts';

const reported = collectErrorValues();

const ConfigMap = defineResource<{ metadata: { name: string; namespace?: string } }>()({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
});

describe('newManager', () => {
  test.each([
    ['nothing', undefined, '"options" expected an object'],
    ['no transport', {}, '"options.transport.request" expected a function'],
    [
      'a logger that is none',
      { transport: noServer, logger: { info: () => undefined } },
      '"options.logger.debug"',
    ],
    [
      'a tracer that is none',
      { transport: noServer, tracer: {} },
      '"options.tracer.startActiveSpan"',
    ],
    [
      'a grace that is no number',
      { transport: noServer, gracefulShutdownTimeout: '30s' },
      '"options.gracefulShutdownTimeout"',
    ],
    [
      'a port alone',
      { transport: noServer, metrics: { bindAddress: '8080' } },
      '"options.metrics.bindAddress" expected an address',
    ],
    [
      'profiles for everyone',
      { transport: noServer, profiling: { bindAddress: ':6060' } },
      'allowRemote: true',
    ],
    [
      'a page for everyone',
      { transport: noServer, debugPage: { bindAddress: '0.0.0.0:80' } },
      'allowRemote: true',
    ],
    [
      'an election without a name',
      { transport: noServer, leaderElection: { namespace: 'a' } },
      '"options.leaderElection.id"',
    ],
    [
      'an election without a namespace outside of a cluster ' +
        '(…namespace not set and not running in cluster)',
      { transport: noServer, leaderElection: { id: 'a' } },
      '"options.leaderElection.namespace" is needed',
    ],
    [
      'times that cannot work (should return an error if leader election param incorrect)',
      { transport: noServer, leaderElection: { id: 'a', namespace: 'b', renewDeadline: 20_000 } },
      'must be greater than renewDeadline',
    ],
  ])('refuses %s', (_, options, message) => {
    expect(() => newManager(options as never)).toThrow(message);
    expect(() => newManager(options as never)).toThrow(CapstanError);
  });

  test('leads from the start without an election', async () => {
    const { manager, clock } = managerOf();
    expect(manager.holdsLease()).toBe(true);
    const { stop, done } = startManager(manager, clock);
    await manager.elected();
    stop();
    await done;
  });
});

describe('the client of a manager', () => {
  test('reads from its cache, writes to the server, and reads its own writes', async () => {
    const server = await ApiServer.start();
    onTestFinished(() => server.stop());
    const manager = newManager({ transport: server.transport() });
    const stopper = new AbortController();
    const done = manager.start({ signal: stopper.signal });
    await manager.elected();
    const written = await manager.client.create(ConfigMap, {
      metadata: { name: 'a', namespace: 'default' },
    });
    const key = { namespace: 'default', name: 'a' };
    const read = await manager.client.get(ConfigMap, key);
    expect(read.metadata).toMatchObject({
      name: 'a',
      resourceVersion: Object(written.metadata).resourceVersion,
    });
    expect(manager.cache.lister(ConfigMap).get('default/a')).toBe(read);
    stopper.abort();
    await done;
  });

  test('may be made by newClient (…defined in by the new client function)', () => {
    const client = {} as Client;
    const requested: ClientOptions[] = [];
    const { manager, clock } = managerOf({
      client: { fieldOwner: 'tests' },
      newClient: (options) => {
        requested.push(options);
        return client;
      },
    });
    expect(manager.client).toBe(client);
    expect(requested).toMatchObject([
      { cache: manager.cache, transport: manager.transport, clock, fieldOwner: 'tests' },
    ]);
  });

  test.each([
    ['is async', () => Promise.reject(new Error('no client'))],
    ['gives nothing', () => undefined],
  ])('is refused if newClient %s', (_, newClient) => {
    // Story: the rejection of an async newClient had no receiver and ended the process.
    expect(() => managerOf({ newClient: newClient as never })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  });

  test('that cannot be made fails newManager (…create a client.Client)', () => {
    const failure = new Error('no client');
    const newClient = () => {
      throw failure;
    };
    expect(() => managerOf({ newClient })).toThrow(failure);
  });
});

// They were TypeErrors of members that null and numbers do not have.
test.each([null, 5, 'a'])('shards: %j is refused', (shards) => {
  expect(() => managerOf({ shards: shards as never })).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
  );
});

describe('the start of a manager', () => {
  test('goes through the groups in order (should start the cache before…)', async () => {
    const log: string[] = [];
    const { manager, clock } = managerOf();
    const gate = (name: string) => {
      const opened = Promise.withResolvers<void>();
      const ready = async (): Promise<void> => {
        await opened.promise;
        log.push(`${name} is ready`);
      };
      return { ready, open: () => opened.resolve() };
    };
    const cache = gate('cache');
    const webhook = gate('webhook');
    manager.add(
      recordedRunnable(log, 'leader', { warmup: async () => void log.push('leader warms up') }),
    );
    manager.add(recordedRunnable(log, 'other', others));
    manager.add(recordedRunnable(log, 'cache', { group: 'caches', ready: cache.ready }));
    manager.add(recordedRunnable(log, 'webhook', { group: 'webhooks', ready: webhook.ready }));
    manager.add(recordedRunnable(log, 'server', { group: 'HTTP servers' }));
    const { stop, done } = startManager(manager, clock);
    await clock.settle();
    expect(log).toEqual(['server starts', 'webhook starts']);
    webhook.open();
    await clock.settle();
    expect(log.slice(2)).toEqual(['webhook is ready', 'cache starts']);
    cache.open();
    await manager.elected();
    expect(log.slice(4)).toEqual([
      'cache is ready',
      'other starts',
      'leader warms up',
      'leader starts',
    ]);
    stop();
    await done;
  });

  test('happens once (should fail if attempted to start a second time)', async () => {
    const { manager, clock } = managerOf();
    const { stop, done } = startManager(manager, clock);
    await expect(manager.start()).rejects.toMatchObject({ code: 'ALREADY_STARTED' });
    stop();
    await done;
    await expect(manager.start()).rejects.toMatchObject({ code: 'ALREADY_STARTED' });
  });

  test('starts nothing if the signal has already fired', async () => {
    const log: string[] = [];
    const { manager } = managerOf();
    manager.add(recordedRunnable(log, 'a'));
    await manager.start({ signal: AbortSignal.abort() });
    expect(log).toEqual([]);
    expect(() => manager.add(recordedRunnable(log, 'b'))).toThrow('being stopped');
  });

  test('starts later runnables at once (should immediately start the Component…)', async () => {
    const log: string[] = [];
    const { manager, clock } = managerOf();
    const { stop, done } = startManager(manager, clock);
    await manager.elected();
    manager.add(recordedRunnable(log, 'late'));
    manager.add(recordedRunnable(log, 'late other', others));
    manager.add(recordedRunnable(log, 'late cache', { group: 'caches' }));
    expect(log).toEqual(['late starts', 'late other starts', 'late cache starts']);
    stop();
    await done;
  });

  test('starts requested caches, also later ones (…caches added after…)', async () => {
    const server = await ApiServer.start();
    onTestFinished(() => server.stop());
    await server.transport().request({
      method: 'POST',
      path: '/api/v1/namespaces/default/configmaps',
      body: JSON.stringify({ metadata: { name: 'a' } }),
    });
    const manager = newManager({ transport: server.transport() });
    const before = manager.cache.informerFor(ConfigMap);
    const stopper = new AbortController();
    const done = manager.start({ signal: stopper.signal });
    await manager.elected();
    expect(before.hasSynced()).toBe(true);
    const later = manager.cache.informerFor(ConfigMap, { namespace: 'default' });
    await later.hasSyncedChecker().done;
    expect(later.getIndexer().listKeys()).toEqual(['default/a']);
    stopper.abort();
    await done;
    expect([before.isStopped(), later.isStopped()]).toEqual([true, true]);
    expect(() => manager.cache.informerFor(ConfigMap, { namespace: 'other' })).toThrow('shut down');
  });

  test('logs the caches that it waits for', async () => {
    const logged: unknown[][] = [];
    const nothing = (): void => undefined;
    const logger = {
      debug: nothing,
      info: nothing,
      error: nothing,
      warn: (...line: unknown[]) => void logged.push(line),
    };
    const { manager, clock } = managerOf({ logger });
    manager.cache.informerFor(ConfigMap);
    const { stop, done } = startManager(manager, clock);
    await clock.run(20_000);
    const waits = logged.filter(([message]) => message === 'waiting for caches to sync');
    expect(waits).toEqual(
      [1, 2].map(() => ['waiting for caches to sync', { missing: ['configmaps/v1'] }]),
    );
    stop();
    await done;
  });

  test('restricts the informers of a resource as its options say', async () => {
    const { manager } = managerOf({
      cache: { selections: new Map([[ConfigMap, { labelSelector: 'app=web' }]]) },
    });
    manager.cache.informerFor(ConfigMap);
    manager.cache.informerFor(ConfigMap, { labelSelector: '' });
    expect([...manager.cache.informers().keys()]).toEqual([
      'configmaps/v1 with labels app=web',
      'configmaps/v1',
    ]);
  });
});

describe('the end of a manager', () => {
  test('stops others, leader’s, caches, webhooks, HTTP servers, in this order', async () => {
    const log: string[] = [];
    const { manager, clock } = managerOf();
    for (const name of ['HTTP servers', 'webhooks', 'caches'])
      manager.add(recordedRunnable(log, name, { group: name }));
    manager.add(recordedRunnable(log, 'leader'));
    manager.add(recordedRunnable(log, 'other', others));
    const { stop, done } = startManager(manager, clock);
    await manager.elected();
    log.length = 0;
    stop();
    await done;
    expect(log).toEqual(
      ['other', 'leader', 'caches', 'webhooks', 'HTTP servers'].flatMap((name) => [
        `${name} is stopped`,
        `${name} ends`,
      ]),
    );
  });

  test('waits for runnables before it stops the next group (…to stop)', async () => {
    const log: string[] = [];
    const { manager, clock } = managerOf();
    const slow = recordedRunnable(log, 'slow', { endsBySignal: false });
    manager.add(slow);
    manager.add(recordedRunnable(log, 'cache', { group: 'caches' }));
    const { stop, done } = startManager(manager, clock);
    await manager.elected();
    log.length = 0;
    stop();
    await clock.run(29_000);
    expect(log).toEqual(['slow is stopped']);
    slow.finish();
    await done;
    expect(log).toEqual(['slow is stopped', 'slow ends', 'cache is stopped', 'cache ends']);
  });

  test('names runnables that have not ended in time (…only stop errors…)', async () => {
    const log: string[] = [];
    const { manager, clock } = managerOf({ gracefulShutdownTimeout: 5000 });
    manager.add(recordedRunnable(log, 'slow', { endsBySignal: false }));
    manager.add(recordedRunnable(log, 'quick'));
    manager.add(recordedRunnable(log, 'cache', { group: 'caches' }));
    const { stop, done } = startManager(manager, clock);
    await manager.elected();
    stop();
    await clock.run(5000);
    await expect(done).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: 'not ended within the grace period of 5000 ms: slow (leader election)',
    });
    expect(log).toContain('cache is stopped');
    expect(clock.timers()).toBe(0);
  });

  test('does not wait if gracefulShutdownTimeout is 0 (should not wait…)', async () => {
    const log: string[] = [];
    const { manager, clock } = managerOf({ gracefulShutdownTimeout: 0 });
    const slow = recordedRunnable(log, 'slow', { endsBySignal: false });
    manager.add(slow);
    const { stop, done } = startManager(manager, clock);
    await manager.elected();
    stop();
    await done;
    expect(log).toEqual(['slow starts', 'slow is stopped']);
  });

  test('waits for ever if gracefulShutdownTimeout is negative (…wait forever…)', async () => {
    const log: string[] = [];
    const { manager, clock } = managerOf({ gracefulShutdownTimeout: -1 });
    const slow = recordedRunnable(log, 'slow', { endsBySignal: false });
    manager.add(slow);
    const { stop, done } = startManager(manager, clock);
    await manager.elected();
    stop();
    let ended = false;
    void done.then(() => {
      ended = true;
    });
    await clock.run(1e9);
    expect(ended).toBe(false);
    slow.finish();
    await done;
  });

  test('rejects with the first error of a runnable (…only runnables error…)', async () => {
    const log: string[] = [];
    const failure = new Error('not feeling like that');
    const { manager, clock } = managerOf();
    manager.add({ start: () => Promise.reject(failure) });
    manager.add(recordedRunnable(log, 'other'));
    await expect(startManager(manager, clock).done).rejects.toBe(failure);
    expect(log).toEqual(['other starts', 'other is stopped', 'other ends']);
  });

  test('rejects with both errors if a runnable and the stop fail (…both…)', async () => {
    const failure = new Error('not feeling like that');
    const { manager, clock } = managerOf({ gracefulShutdownTimeout: 1 });
    manager.add({ start: () => Promise.reject(failure) });
    manager.add(recordedRunnable([], 'slow', { endsBySignal: false }));
    const { done } = startManager(manager, clock);
    await clock.run(1);
    const error: AggregateError = await done.then(
      () => undefined,
      (reason) => reason,
    );
    expect(error).toBeInstanceOf(AggregateError);
    expect(error.errors).toEqual([failure, expect.objectContaining({ code: 'TIMEOUT' })]);
    expect(error.message).toContain('not feeling like that; not ended within');
  });

  test('refuses new runnables (should refuse to add runnable if stop…)', async () => {
    const log: string[] = [];
    const { manager, clock } = managerOf();
    const slow = recordedRunnable(log, 'slow', { endsBySignal: false });
    manager.add(slow);
    const { stop, done } = startManager(manager, clock);
    await manager.elected();
    stop();
    expect(() => manager.add(recordedRunnable(log, 'late'))).toThrow(
      expect.objectContaining({ code: 'STOPPED' }),
    );
    slow.finish();
    await done;
    expect(() => manager.add(recordedRunnable(log, 'late'))).toThrow(
      expect.objectContaining({ code: 'STOPPED' }),
    );
    expect(log).not.toContain('late starts');
  });

  test('is no error for a runnable that ends by its signal’s reason (…Canceled…)', async () => {
    const { manager, clock } = managerOf();
    const rejects = (reason: (signal: AbortSignal) => unknown) =>
      manager.add({
        start: ({ signal }) =>
          new Promise((_, reject) =>
            signal.addEventListener('abort', () => reject(reason(signal))),
          ),
      });
    rejects((signal) => signal.reason);
    rejects(() => new DOMException('aborted', 'AbortError'));
    rejects((signal) => new Error('wrapped', { cause: signal.reason }));
    const { stop, done } = startManager(manager, clock);
    await manager.elected();
    stop();
    await done;
    expect(reported).toEqual([]);
  });

  test('reports the rejection of a runnable after the stop has begun', async () => {
    const failure = new Error('while ending');
    const { manager, clock } = managerOf();
    manager.add({
      start: ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(failure))),
    });
    const { stop, done } = startManager(manager, clock);
    await manager.elected();
    stop();
    await done;
    expect(reported).toEqual([failure]);
  });

  test('during the start starts nothing more', async () => {
    const log: string[] = [];
    const { manager, clock } = managerOf();
    manager.add(
      recordedRunnable(log, 'cache', {
        group: 'caches',
        ready: () => new Promise(() => undefined),
      }),
    );
    manager.add(recordedRunnable(log, 'other', others));
    manager.add(recordedRunnable(log, 'leader'));
    const { stop, done } = startManager(manager, clock);
    await clock.settle();
    stop();
    await done;
    expect(log).toEqual(['cache starts', 'cache is stopped', 'cache ends']);
  });

  test('starts when a cache fails (…error if it can’t start the cache)', async () => {
    const log: string[] = [];
    const failure = new Error('no cache');
    const { manager, clock } = managerOf();
    manager.add({
      group: 'caches',
      start: () => Promise.reject(failure),
      ready: () => new Promise(() => undefined),
    });
    manager.add(recordedRunnable(log, 'leader'));
    await expect(startManager(manager, clock).done).rejects.toBe(failure);
    expect(log).toEqual([]);
  });
});

describe('the report of a manager', () => {
  test('has the runnables by group and the reports of controllers', async () => {
    const clock = new FakeClock(1000);
    const manager = newManager({ transport: noServer, clock });
    const requested: unknown[] = [];
    const report = (options: unknown): never => {
      requested.push(options);
      return { name: 'websites' } as never;
    };
    manager.add(recordedRunnable([], 'websites', { report }));
    manager.cache.informerFor(ConfigMap);
    expect(manager.report().startedAgoMs).toBeUndefined();
    const { stop, done } = startManager(manager, clock);
    await clock.run(500);
    const { version, startedAgoMs, now, stopping, controllers, informers, runnables, leader } =
      manager.report({
        filter: 'a',
      });
    expect({ startedAgoMs, now, stopping, leader }).toEqual({
      startedAgoMs: 500,
      now: 1500,
      stopping: false,
    });
    expect(version).toMatch(/^\d+\.\d+\.\d+/);
    expect([controllers, requested.at(-1)]).toEqual([[{ name: 'websites' }], { filter: 'a' }]);
    expect(informers).toMatchObject([
      { key: 'configmaps/v1', resource: 'configmaps/v1', hasSynced: false },
    ]);
    expect(runnables).toEqual([
      { name: 'informers', group: 'caches', state: 'running' },
      { name: 'websites', group: 'leader election', state: 'waiting for leadership' },
    ]);
    stop();
    await done;
    expect(manager.report().stopping).toBe(true);
  });

  test('has the error of a failed runnable', async () => {
    const { manager, clock } = managerOf();
    manager.add({
      name: 'broken',
      start: () => Promise.reject(new CapstanError('TERMINAL', 'no way')),
    });
    await expect(startManager(manager, clock).done).rejects.toThrow('no way');
    expect(manager.report().runnables.at(-1)).toEqual({
      name: 'broken',
      group: 'leader election',
      state: 'failed',
      error: { name: 'CapstanError TERMINAL', message: 'no way', agoMs: 0 },
    });
  });
});
