/**
 * A manager leaves nothing behind when it has ended. controller-runtime: manager_test.go, "should
 * not leak goroutines".
 */
import { defineResource } from 'capstan/cache';
import { newManager } from 'capstan/manager';
import { ApiServer } from 'capstan/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Random, testSeed } from '../helpers/random.ts';
import { collectErrorValues } from '../helpers/reported-errors.ts';
import { grownSince, resources } from './active-resources.ts';
import { managerOf, recordedRunnable, startManager } from './recording-runnables.ts';

const reported = collectErrorValues();
const LOCAL = '127.0.0.1:0';
const ConfigMap = defineResource<{ metadata: { name: string } }>()({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
});

const services = {
  metrics: { bindAddress: LOCAL },
  healthProbe: { bindAddress: '127.0.0.2:0' },
  profiling: { bindAddress: LOCAL },
};

describe('a manager that has ended', () => {
  test('leaves no socket, server, timer or listener', async () => {
    const server = await ApiServer.start();
    onTestFinished(() => server.stop());
    const before = await resources();
    const stopper = new AbortController();
    let listeners = 0;
    const { signal } = stopper;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners++;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners--;
      remove(...args);
    };
    const transport = server.transport();
    const manager = newManager({
      transport,
      ...services,
      leaderElection: { id: 'leaks', namespace: 'default', releaseOnCancel: true },
    });
    manager.cache.informerFor(ConfigMap);
    manager.add(recordedRunnable([], 'leader'));
    const done = manager.start({ signal });
    await manager.elected();
    // on a connection that the client keeps
    const kept = await fetch(`${manager.url('metrics')}/metrics`);
    await kept.text();
    stopper.abort();
    await done;
    await transport.close?.();
    expect(await grownSince(before)).toEqual([]);
    expect(listeners).toBe(0);
  });

  test('leaves nothing behind whenever it is stopped', async () => {
    const seed = testSeed();
    console.log(`CAPSTAN_SEED=${seed}`);
    const random = new Random(seed);
    const before = await resources();
    for (let round = 0; round < 50; round++) {
      const { manager, clock } = managerOf({
        ...services,
        gracefulShutdownTimeout: random.int(3) * 1000 - 1000,
      });
      manager.add(recordedRunnable([], 'leader'));
      manager.cache.informerFor(ConfigMap);
      const { stop, done } = startManager(manager, clock);
      for (let turn = random.int(12); turn > 0; turn--) await new Promise(setImmediate);
      stop();
      await done;
      expect(clock.timers()).toBe(0);
    }
    expect(await grownSince(before)).toEqual([]);
  });

  test('was never started: it holds nothing', async () => {
    const before = await resources();
    const { manager } = managerOf(services);
    manager.add(recordedRunnable([], 'leader'));
    expect(await grownSince(before)).toEqual([]);
  });

  const slow = new Error('too slow');
  test.each([
    ['an error is reported', slow, [slow]],
    ['an abort is none', new DOMException('aborted', 'AbortError'), []],
  ])(
    'may leave a runnable that errs late: %s (…after being signaled to stop)',
    async (_, error, reports) => {
      const { manager, clock } = managerOf({ gracefulShutdownTimeout: 1000 });
      const late = Promise.withResolvers<void>();
      manager.add({ name: 'late', start: () => late.promise });
      const { stop, done } = startManager(manager, clock);
      await manager.elected();
      stop();
      await clock.run(1000);
      await expect(done).rejects.toMatchObject({ code: 'TIMEOUT' });
      late.reject(error);
      await clock.settle();
      expect(reported).toEqual(reports);
      expect(clock.timers()).toBe(0);
    },
  );
});
