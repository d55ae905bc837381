/**
 * The end of a manager: it waits for running handlers and map functions, and what it aborts is no
 * error.
 */
import { TransportError } from 'capstan/cache';
import { createController, enqueueRequestsFromMapFunc, watching } from 'capstan/controller';
import { newManager } from 'capstan/manager';
import { FakeClock } from 'capstan/workqueue';
import { expect, test } from 'vitest';
import { metricsOfManager } from '../../bindings/controller/metrics.ts';
import { FakeCluster } from '../helpers/controller/fake-cluster.ts';
import { RecordingLogger } from '../helpers/controller/fake-manager.ts';
import { Part, TestWidget, testWidget } from '../helpers/controller/resources.ts';
import { collectErrorValues } from '../helpers/reported-errors.ts';
import { startManager } from './recording-runnables.ts';

const reported = collectErrorValues();

function set() {
  const cluster = new FakeCluster();
  cluster.put('widgets', testWidget('a'));
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const bad = () => logger.lines.filter(({ level }) => level === 'warn' || level === 'error');
  return { cluster, clock, logger, bad };
}

// `start` resolved too early, and a program closed what its handlers were still using.
test('start resolves after map functions and handlers of informers have ended', async () => {
  const { cluster, clock, logger, bad } = set();
  const manager = newManager({ transport: cluster, clock, logger });
  const events: string[] = [];
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  createController<object>({
    manager,
    name: 'ends-map',
    watches: [
      watching(
        TestWidget,
        enqueueRequestsFromMapFunc(async () => {
          await gates[0].promise;
          events.push('mapped');
          return [];
        }),
      ),
    ],
    reconcile: () => undefined,
  });
  manager.cache.informerFor(TestWidget).addEventHandler({
    async onAdd() {
      await gates[1].promise;
      events.push('handled');
    },
  });
  const { done, stop } = startManager(manager, clock);
  const ended = done.then(() => events.push('start'));
  await clock.settle();
  stop();
  await clock.run(100);
  gates[0].resolve();
  await clock.run(100);
  expect(events).toEqual(['mapped']);
  gates[1].resolve();
  await ended;
  expect(events).toEqual(['mapped', 'handled', 'start']);
  expect([bad(), reported, clock.timers()]).toEqual([[], [], 0]);
});

test('a handler that never returns takes ten seconds and is named', async () => {
  const { cluster, clock, logger } = set();
  const manager = newManager({ transport: cluster, clock, logger });
  const never = { onAdd: (): Promise<void> => new Promise(() => undefined) };
  manager.cache.informerFor(TestWidget).addEventHandler(never, { name: 'stuck' });
  const { done, stop } = startManager(manager, clock);
  await clock.settle();
  stop();
  await clock.run(10_000);
  await done;
  expect(reported).toEqual([
    expect.objectContaining({ code: 'TIMEOUT', message: expect.stringContaining('stuck') }),
  ]);
});

// Each rollout raised reconcile_errors_total and fired alerts.
test('requests and reconciles that it aborts are neither counted nor logged', async () => {
  const { cluster, clock, logger, bad } = set();
  const hanging: string[] = [];
  const manager = newManager({
    transport: {
      request: (request) => {
        if (request.method === 'GET' && !request.path.includes('/parts'))
          return cluster.request(request);
        hanging.push(`${request.method} ${request.path}`);
        return new Promise((_, reject) => {
          request.signal?.addEventListener('abort', () =>
            reject(new TransportError('aborted', 'the request was aborted')),
          );
        });
      },
    },
    clock,
    logger,
  });
  createController({
    manager,
    name: 'ends-abort',
    for: TestWidget,
    maxConcurrentReconciles: 2,
    reconcile: async (request, { get, signal }) => {
      const object = structuredClone(get(request) as object);
      await Promise.all([
        manager.client.update(TestWidget, object as never, { signal }),
        manager.client.get(Part, request, { signal }),
      ]);
    },
  });
  const { done, stop } = startManager(manager, clock);
  await clock.settle();
  expect(hanging.some((one) => one.startsWith('PUT'))).toBe(true);
  expect(hanging.some((one) => one.includes('/parts'))).toBe(true);
  stop();
  await clock.settle();
  await done;
  const metrics = metricsOfManager(manager).text();
  expect(metrics).toContain('reconcile_errors_total{controller="ends-abort"} 0\n');
  expect(metrics).toContain('reconcile_total{controller="ends-abort",result="error"} 0\n');
  expect([bad(), reported, clock.timers()]).toEqual([[], [], 0]);
});
