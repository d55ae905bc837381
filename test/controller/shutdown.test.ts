/** The end of a controller: what it waits for, what it aborts, and which metrics remain. */
import {
  ControllerMetrics,
  channelSource,
  createController,
  EventChannel,
  enqueueRequestsFromMapFunc,
  kindSource,
  newControllerManagedBy,
  type Reconcile,
  type Source,
  TerminalError,
  timerSource,
  watching,
} from 'capstan/controller';
import {
  FakeClock,
  ItemExponentialFailureRateLimiter,
  PrometheusProvider,
  requestKey,
} from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { requestOf, rig, TestSource } from '../helpers/controller/controller-rig.ts';
import { FakeCluster } from '../helpers/controller/fake-cluster.ts';
import { FakeManager } from '../helpers/controller/fake-manager.ts';
import { TestWidget, testWidget } from '../helpers/controller/resources.ts';
import { collectErrorValues } from '../helpers/reported-errors.ts';
import { FakeTracer } from './fake-tracer.ts';

const reported = collectErrorValues();

const figures = (metrics: ControllerMetrics): Record<string, number> =>
  Object.fromEntries(
    metrics
      .text()
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => {
        const at = line.lastIndexOf(' ');
        return [line.slice('controller_runtime_'.length, at), Number(line.slice(at + 1))];
      })
      .filter(([name]) => !String(name).includes('_bucket')),
  );

/** Rejects with what `how` makes of the signal's reason when the signal fires. */
const untilAborted =
  (how: (reason: unknown) => unknown): Reconcile<object> =>
  (_, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(how(signal.reason)), { once: true });
    });

const named = (name: string): Error => Object.assign(new Error('was told to end'), { name });

// reconcile_errors_total rose with each rollout, because each process that was told to end counted
// the reconciles that it aborted.
describe('a reconcile that the end of its controller aborts is no failure', () => {
  const ways: Record<string, (reason: unknown) => unknown> = {
    'the reason of its signal': (reason) => reason,
    'a DOMException AbortError': () => new DOMException('This operation was aborted', 'AbortError'),
    'an AbortError of Node': () => named('AbortError'),
    'a CanceledError of a library': () => named('CanceledError'),
    'an error that is caused by it': (reason) =>
      new Error('update', { cause: new Error('request', { cause: reason }) }),
    'a terminal error that is caused by it': (reason) => new TerminalError('no', { cause: reason }),
    'an AggregateError of such errors': (reason) =>
      new AggregateError([reason, named('AbortError')], 'all failed'),
  };
  for (const [what, how] of Object.entries(ways)) {
    test(`that rejects with ${what}`, async () => {
      const metrics = new ControllerMetrics();
      const logged: string[] = [];
      const log = (level: string) => (message: string) => void logged.push(`${level} ${message}`);
      const [debug, info, warn, error] = ['debug', 'info', 'warn', 'error'].map(log) as [
        ReturnType<typeof log>,
        ReturnType<typeof log>,
        ReturnType<typeof log>,
        ReturnType<typeof log>,
      ];
      const tracer = new FakeTracer();
      const { source, start, controller, ended, clock } = rig(untilAborted(how), {
        metrics,
        tracer,
        logger: { debug, info, warn, error },
      });
      await start();
      source.add('a');
      await clock.settle();
      await controller.stop();
      await ended();
      const { 'reconcile_time_seconds_count{controller="test"}': count, ...others } =
        figures(metrics);
      expect([count, Object.values(others).every((value) => value === 0)]).toEqual([0, true]);
      expect(logged.filter((line) => !line.startsWith('info'))).toEqual([
        'debug Reconcile aborted by the end of the controller',
      ]);
      expect(controller.report().totals).toMatchObject({ error: 0, terminal: 0, aborted: 1 });
      expect(tracer.spans.map(({ attributes }) => attributes.outcome)).toEqual(['aborted']);
      expect(tracer.spans.flatMap(({ exceptions }) => exceptions)).toEqual([]);
      expect(reported).toEqual([]);
    });
  }

  test('but another error at that moment is a failure', async () => {
    const metrics = new ControllerMetrics();
    const { source, start, controller, clock } = rig(
      untilAborted(() => new AggregateError([named('AbortError'), new Error('disk full')])),
      { metrics },
    );
    await start();
    source.add('a');
    await clock.settle();
    await controller.stop();
    expect(figures(metrics)['reconcile_errors_total{controller="test"}']).toBe(1);
    expect(reported).toHaveLength(1);
  });

  test('but the abort of another signal is a failure while the controller runs', async () => {
    const metrics = new ControllerMetrics();
    const mine = new AbortController();
    const { source, calls, start, clock, controller } = rig(
      (_, { signal }) =>
        new Promise((_resolve, reject) => {
          const either = AbortSignal.any(mine.signal.aborted ? [signal] : [mine.signal, signal]);
          either.addEventListener('abort', () => reject(either.reason), { once: true });
        }),
      { metrics },
    );
    await start();
    source.add('a');
    await clock.settle();
    mine.abort();
    await clock.run(4);
    expect(figures(metrics)['reconcile_errors_total{controller="test"}']).toBe(1);
    expect(reported).toEqual([mine.signal.reason]);
    expect(calls).toHaveLength(1);
    await clock.run(1);
    expect(calls).toHaveLength(2); // it is retried
    await controller.stop();
  });

  test('but a reconcile that its own timeout had ended before is a failure', async () => {
    const metrics = new ControllerMetrics();
    const gate = Promise.withResolvers<void>();
    const { source, start, controller, clock } = rig(
      async (_, { signal }) => {
        await gate.promise;
        signal.throwIfAborted();
      },
      { metrics, reconciliationTimeout: 100 },
    );
    await start();
    source.add('a');
    await clock.run(100);
    const stopped = controller.stop();
    gate.resolve();
    await stopped;
    expect(figures(metrics)).toMatchObject({
      'reconcile_errors_total{controller="test"}': 1,
      'reconcile_timeouts_total{controller="test"}': 1,
    });
  });
});

/** A controller with this name that reconciles one request and ends. */
async function lived(
  name: string,
  options: { metrics?: ControllerMetrics; metricsProvider?: PrometheusProvider },
): Promise<void> {
  const clock = new FakeClock();
  const source = new TestSource();
  const controller = createController<object>({
    transport: new FakeCluster(),
    name,
    clock,
    sources: [source],
    ...options,
    reconcile: () => undefined,
  });
  const run = controller.run();
  await clock.settle();
  source.add('a');
  await clock.settle();
  await controller.stop();
  await run;
}

const series = (text: string): Set<string> =>
  new Set([...text.matchAll(/(?:controller|name)="([^"]*)"/g)].map(([, name]) => name as string));

// A process with a controller for each tenant kept the series of all that had ended.
describe('the series of controllers that have ended', () => {
  test('stay until another one ends, and are dropped then', async () => {
    const metrics = new ControllerMetrics();
    const metricsProvider = new PrometheusProvider();
    for (let i = 0; i < 30; i++) {
      await lived(`tenant-${i}`, { metrics, metricsProvider });
      expect([...series(metrics.text())]).toEqual([`tenant-${i}`]);
      expect([...series(metricsProvider.text())]).toEqual([`tenant-${i}`]);
    }
    expect(metrics.text()).toContain(
      'reconcile_total{controller="tenant-29",result="success"} 1\n',
    );
    expect(metricsProvider.text()).toContain('workqueue_adds_total{name="tenant-29"} 1\n');
    expect(metricsProvider.text()).not.toContain('workqueue_depth');
  });

  test('continue if the name is used next, and begin at 0 otherwise', async () => {
    const metrics = new ControllerMetrics();
    const metricsProvider = new PrometheusProvider();
    const all = { metrics, metricsProvider };
    const counts = (name: string) => [
      figures(metrics)[`reconcile_total{controller="${name}",result="success"}`],
      /^workqueue_adds_total\{name="(.*)"\} (\d+)$/m.exec(metricsProvider.text())?.slice(1),
    ];
    await lived('a', all);
    await lived('a', all);
    expect(counts('a')).toEqual([2, ['a', '2']]);
    await lived('b', all);
    await lived('a', all);
    expect(counts('a')).toEqual([1, ['a', '1']]);
  });

  test('stay while a controller with the name runs', async () => {
    const metrics = new ControllerMetrics();
    const metricsProvider = new PrometheusProvider();
    const all = { metrics, metricsProvider };
    const { start, source, clock, controller } = rig(undefined, { name: 'a', ...all });
    await start();
    source.add('a');
    await clock.settle();
    await lived('a', all);
    await lived('b', all);
    expect(series(metrics.text())).toEqual(new Set(['a', 'b']));
    expect(figures(metrics)['reconcile_total{controller="a",result="success"}']).toBe(2);
    expect(metricsProvider.text()).toContain('workqueue_adds_total{name="a"} 2\n');
    await controller.stop();
    expect([...series(metrics.text())]).toEqual(['a']);
    expect([...series(metricsProvider.text())]).toEqual(['a']);
  });

  test('are dropped too if the controller never ran, or its manager refused it', async () => {
    const metrics = new ControllerMetrics();
    await createController<object>({
      transport: new FakeCluster(),
      name: 'never',
      metrics,
      sources: [new TestSource()],
      reconcile: () => undefined,
    }).stop();
    const manager = new FakeManager();
    manager.add = () => {
      throw new Error('too late');
    };
    const refused = newControllerManagedBy(manager)
      .named('refused')
      .watchesRawSource(new TestSource())
      .withOptions({ metrics });
    expect(() => refused.complete(() => undefined)).toThrow('too late');
    await lived('other', { metrics });
    expect([...series(metrics.text())]).toEqual(['other']);
  });
});

test('the end leaves no timer behind', async () => {
  const { source, start, controller, clock, ended } = rig(() => ({ requeueAfter: 25_000 }), {
    debounceMs: 50,
    rateLimiter: new ItemExponentialFailureRateLimiter(60_000, 60_000, { key: requestKey }),
  });
  await start();
  source.add('a');
  await clock.run(60);
  source.add('b', { after: 30_000 });
  source.add('c', { rateLimited: true });
  source.add(requestOf('d').name);
  expect(clock.timers()).toBeGreaterThan(0);
  await controller.stop();
  await ended();
  expect(clock.timers()).toBe(0);
});

/** A map function whose calls end when `release` is called. */
function slowMap() {
  const gate = Promise.withResolvers<void>();
  const events: string[] = [];
  return {
    events,
    release: gate.resolve,
    map: async () => {
      events.push('begins');
      await gate.promise;
      events.push('ends');
      return [requestOf('mapped')];
    },
  };
}

// `run` resolved too early, so that a program closed what its map functions were still using.
describe('the end of a controller waits for handlers and map functions that are under way', () => {
  const widgets = (): FakeCluster => {
    const cluster = new FakeCluster();
    cluster.put('widgets', testWidget('a'));
    return cluster;
  };
  const handlerOf = (map: ReturnType<typeof slowMap>['map']) =>
    enqueueRequestsFromMapFunc<object>(map);
  const channelOf = (map: ReturnType<typeof slowMap>['map']): Source => {
    const events = new EventChannel<object>();
    events.trySend({ metadata: { namespace: 'default', name: 'a' } });
    return channelSource({ events, handler: handlerOf(map) });
  };

  const kinds: Record<
    string,
    (map: ReturnType<typeof slowMap>['map'], clock: FakeClock) => object
  > = {
    'a watch': (map) => ({ watches: [watching(TestWidget, handlerOf(map))] }),
    'a channel': (map) => ({ sources: [channelOf(map)] }),
    'a timer with a handler': (map, clock) => ({
      sources: [timerSource({ period: 1, clock, handler: handlerOf(map) })],
    }),
    'a timer with a function': (map, clock) => ({
      sources: [timerSource({ period: 1, clock, requests: map })],
    }),
  };
  for (const [what, options] of Object.entries(kinds)) {
    for (const how of ['stop', 'signal'] as const) {
      test(`of ${what}, by ${how}`, async () => {
        const { events, map, release } = slowMap();
        const clock = new FakeClock();
        const reconciled: string[] = [];
        const controller = createController<object>({
          transport: widgets(),
          name: 'ends',
          clock,
          sources: [new TestSource()],
          ...options(map, clock),
          reconcile: ({ name }) => void reconciled.push(name),
        });
        const signal = new AbortController();
        const run = controller.run({ signal: signal.signal }).then(() => events.push('run'));
        await clock.run(2);
        if (how === 'stop') void controller.stop().then(() => events.push('stop'));
        else signal.abort();
        await clock.run(2);
        expect(events).toEqual(['begins']);
        release();
        await run;
        await controller.stop();
        expect(events.slice(0, 2)).toEqual(['begins', 'ends']);
        expect([reconciled, reported, clock.timers()]).toEqual([[], [], 0]);
      });
    }
  }

  test('of a source that was removed before, and on caches of a manager', async () => {
    const manager = new FakeManager();
    manager.transport.put('widgets', testWidget('a'));
    const { events, map, release } = slowMap();
    const controller = createController<object>({
      manager,
      name: 'ends',
      sources: [new TestSource()],
      reconcile: () => undefined,
    });
    const { cache, clock } = manager;
    const remove = controller.watch(
      kindSource({ cache, resource: TestWidget, clock, handler: handlerOf(map) }),
    );
    await manager.start();
    expect(events).toEqual(['begins']);
    remove();
    manager.stop();
    const ended = Promise.all(manager.ended).then(() => events.push('run'));
    await clock.settle();
    expect(events).toEqual(['begins']);
    release();
    await ended;
    expect(events).toEqual(['begins', 'ends', 'run']);
  });

  test('but stop, called by one of them, waits only for reconciles', async () => {
    const clock = new FakeClock();
    const cluster = new FakeCluster();
    const events: string[] = [];
    const gate = Promise.withResolvers<void>();
    const source = new TestSource();
    const controller = createController<object>({
      transport: cluster,
      name: 'ends',
      clock,
      sources: [source],
      watches: [
        watching(
          TestWidget,
          enqueueRequestsFromMapFunc(async () => {
            await controller.stop();
            events.push('stopped');
            await gate.promise;
            events.push('mapped');
            return [];
          }),
        ),
      ],
      reconcile: async (_, { signal }) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        await clock.settle();
        events.push('reconciled');
      },
    });
    const run = controller.run().then(() => events.push('run'));
    await clock.settle();
    source.add('a');
    await clock.settle();
    cluster.put('widgets', testWidget('a'));
    await clock.settle();
    await clock.settle();
    expect(events).toEqual(['reconciled', 'stopped']);
    gate.resolve();
    await run;
    expect(events.slice(2)).toEqual(['mapped', 'run']);
    expect([clock.timers(), reported]).toEqual([0, []]);
  });

  test('no longer than shutdownTimeout, and names the late source', async () => {
    const cluster = new FakeCluster();
    cluster.put('widgets', testWidget('a'));
    const { source, start, controller, clock, ended } = rig(undefined, {
      transport: cluster,
      shutdownTimeout: 500,
      watches: [
        watching(
          TestWidget,
          enqueueRequestsFromMapFunc(() => new Promise<never>(() => undefined)),
        ),
      ],
    });
    await start();
    source.add('a');
    const stopped = controller.stop();
    await clock.run(499);
    expect(reported).toEqual([]);
    await clock.run(1);
    await stopped;
    await ended();
    expect(reported).toMatchObject([
      {
        code: 'TIMEOUT',
        message:
          'the controller "test" was stopped, and within 500 ms calls of the handlers or ' +
          'map functions of these sources have not ended: watches Widget. They go on; ' +
          '"shutdownTimeout" is how long they are waited for',
      },
    ]);
    expect(clock.timers()).toBe(0);
  });
});
