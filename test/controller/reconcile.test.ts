/**
 * One reconcile: its context, panics, timeouts, spans, logs and metrics. controller-runtime:
 * pkg/internal/controller/controller_test.go, Reconciler, and its tests of metrics.
 */
import {
  ControllerMetrics,
  createController,
  type ReconcileContext,
  type Span,
  TerminalError,
  type Tracer,
} from 'capstan/controller';
import { describe, expect, test, vi } from 'vitest';
import { newReconcileId, uuidOf } from '../../bindings/controller/run.ts';
import { fail, reconcileResults, rig } from '../helpers/controller/controller-rig.ts';
import { FakeCluster } from '../helpers/controller/fake-cluster.ts';
import { FakeManager, RecordingLogger } from '../helpers/controller/fake-manager.ts';
import { TestWidget, testWidget } from '../helpers/controller/resources.ts';
import { parseText } from '../helpers/prometheus-text.ts';
import { collectErrors } from '../helpers/reported-errors.ts';
import { FakeTracer } from './fake-tracer.ts';

const reported = collectErrors();

const bug = (): never => {
  throw new TypeError("Cannot read properties of undefined (reading 'spec')");
};

/** A metric of the controller "test". */
function figure(
  metrics: ControllerMetrics,
  name: string,
  labels: Record<string, string> = {},
): number | undefined {
  const samples = parseText(metrics.text()).get(`controller_runtime_${name}`)?.samples ?? [];
  return samples.find((sample) =>
    Object.entries({ controller: 'test', ...labels }).every(
      ([key, value]) => sample.labels[key] === value,
    ),
  )?.value;
}

describe('a panic', () => {
  test.each([{}, { recoverPanic: true }])(
    'is a failure of its request like any other (%o)',
    async (options) => {
      const metrics = new ControllerMetrics();
      const { source, calls, errors, start, clock } = rig(reconcileResults({ a: [bug] }), {
        metrics,
        ...options,
      });
      await start();
      source.add('a');
      source.add('b');
      await clock.run(5);
      expect(calls).toEqual(['a@0', 'b@0', 'a@5']);
      expect(errors).toEqual([]);
      expect(reported.map(({ error }) => error)).toEqual([expect.any(TypeError)]);
      expect([
        figure(metrics, 'reconcile_panics_total'),
        figure(metrics, 'reconcile_errors_total'),
      ]).toEqual([1, 1]);
    },
  );

  test('ends the controller with recoverPanic: false, after the other reconciles', async () => {
    const metrics = new ControllerMetrics();
    const reasons: unknown[] = [];
    const other = ({ signal }: ReconcileContext<object>) =>
      new Promise<undefined>((resolve) =>
        signal.addEventListener('abort', () => {
          reasons.push(signal.reason);
          resolve(undefined);
        }),
      );
    const { source, calls, errors, start, ended } = rig(
      ({ name }, context) => (name === 'a' ? bug() : other(context)),
      {
        metrics,
        recoverPanic: false,
        maxConcurrentReconciles: 2,
      },
    );
    await start();
    source.add('b');
    source.add('a');
    source.add('never');
    await ended();
    expect(errors).toEqual([expect.any(TypeError)]);
    expect(calls).toEqual(['b@0', 'a@0']);
    expect(reasons).toEqual([expect.objectContaining({ code: 'STOPPED' })]);
    expect(figure(metrics, 'reconcile_panics_total')).toBe(1);
    expect(figure(metrics, 'active_workers')).toBe(0);
  });

  test('is an error that the engine throws for a bug, and no other error', async () => {
    const panics = [
      bug,
      () => Promise.reject(new ReferenceError('website is not defined')),
      () => Promise.reject(new RangeError('Maximum call stack size exceeded')),
    ];
    const errors = [
      fail,
      () => Promise.reject(new TypeError('fetch failed', { cause: new Error('ECONNREFUSED') })),
      () => Promise.reject('a string'),
      () => Promise.reject(new TerminalError('no')),
    ];
    const metrics = new ControllerMetrics();
    const { source, start, clock } = rig(reconcileResults({ a: [...panics, ...errors] }), {
      metrics,
    });
    await start();
    source.add('a');
    await clock.run(10_000);
    expect(figure(metrics, 'reconcile_panics_total')).toBe(3);
    expect(figure(metrics, 'reconcile_errors_total')).toBe(7);
    const strict = rig(reconcileResults({ a: errors }), { recoverPanic: false });
    await strict.start();
    strict.source.add('a');
    await strict.clock.run(10_000);
    expect(strict.errors).toEqual([]);
    expect(strict.calls).toHaveLength(4);
  });

  test('ends the manager that runs the controller', async () => {
    const manager = new FakeManager({ controllerDefaults: { recoverPanic: false } });
    manager.transport.put('widgets', testWidget('a'));
    createController({ manager, name: 'panics', for: TestWidget, reconcile: bug });
    await manager.start();
    await Promise.all(manager.ended);
    expect(manager.errors).toEqual([expect.any(TypeError)]);
  });

  test.each([
    [true, false],
    [false, true],
    [undefined, false],
    [undefined, true],
  ])('goes by the controller: the manager says %s, its controller %s', async (manager, own) => {
    const all = new FakeManager({ controllerDefaults: { recoverPanic: manager } });
    all.transport.put('widgets', testWidget('a'));
    createController({
      manager: all,
      name: `panics ${manager} ${own}`,
      for: TestWidget,
      recoverPanic: own,
      reconcile: bug,
    });
    await all.start();
    expect(all.errors).toEqual(own ? [] : [expect.any(TypeError)]);
  });
});

describe('the timeout', () => {
  /** Counts the timeouts of one reconcile. */
  let pause: (context: ReconcileContext<object>, ms: number) => Promise<undefined>;
  async function timeouts(
    reconcile: Parameters<typeof rig>[0],
    { reconciliationTimeout = 50, stopAt = Number.POSITIVE_INFINITY } = {},
  ): Promise<number | undefined> {
    const metrics = new ControllerMetrics();
    const { source, start, clock, controller } = rig(reconcile, { metrics, reconciliationTimeout });
    pause = (_, ms) => new Promise((resolve) => clock.setTimer(() => resolve(undefined), ms));
    await start();
    source.add('a');
    if (stopAt < 1000) clock.setTimer(() => void controller.stop(), stopAt);
    await clock.run(1000);
    return figure(metrics, 'reconcile_timeouts_total');
  }
  const untilAborted = (_: object, { signal }: ReconcileContext<object>) =>
    new Promise<undefined>((resolve) => signal.addEventListener('abort', () => resolve(undefined)));

  test('is counted when it fires, each time', async () => {
    expect(await timeouts(untilAborted)).toBe(1);
    let left = 3;
    expect(
      await timeouts(async (request, context) => {
        await untilAborted(request, context);
        if (--left > 0) throw new Error('timed out');
      }),
    ).toBe(3);
  });

  test('is not counted if the reconcile or the controller ends before', async () => {
    expect(await timeouts(() => undefined)).toBe(0);
    expect(await timeouts(() => Promise.reject(new DOMException('mine', 'TimeoutError')))).toBe(0);
    expect(await timeouts(untilAborted, { stopAt: 20 })).toBe(0);
    expect(await timeouts((_, context) => pause(context, 100), { stopAt: 20 })).toBe(0);
    expect(await timeouts(untilAborted, { reconciliationTimeout: 0, stopAt: 900 })).toBe(0);
  });
});

describe('the context', () => {
  test('has an id for each run, and can be spread into another one', async () => {
    const contexts: ReconcileContext<object>[] = [];
    const { source, start, clock } = rig((_, context) => void contexts.push({ ...context }));
    await start();
    source.add('a');
    source.add('b');
    await clock.settle();
    for (const { reconcileId, signal, logger, get, attempt, causes, moreCauses } of contexts) {
      expect(reconcileId).toMatch(
        /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      );
      expect([signal.aborted, attempt, causes.length, moreCauses]).toEqual([false, 1, 1, 0]);
      expect([typeof logger.info, typeof get]).toEqual(['function', 'function']);
    }
    expect(new Set(contexts.map(({ reconcileId }) => reconcileId)).size).toBe(2);
  });

  test('is awaited if the result is any thenable, also a function', async () => {
    const thenable = (
      settle: (resolve: (result: unknown) => void, reject: (error: unknown) => void) => void,
    ) => Object.assign(() => undefined, Object.fromEntries([['then', settle]])) as never;
    const { source, start, clock, calls } = rig(
      reconcileResults({
        a: [
          () => thenable((resolve) => void clock.setTimer(() => resolve({ requeueAfter: 10 }), 5)),
        ],
        b: [() => thenable((_, reject) => reject(new Error('refused')))],
      }),
    );
    await start();
    source.add('a');
    await clock.run(14);
    expect(calls).toEqual(['a@0']);
    await clock.run(1);
    expect(calls).toEqual(['a@0', 'a@15']);
    source.add('b');
    await clock.settle();
    expect(reported.map(({ error }) => String(error))).toEqual(['Error: refused']);
  });

  test('refuses get without a resource to read', async () => {
    const { source, start, clock } = rig((request, { get }) => void get(request));
    await start();
    source.add('a');
    await clock.settle();
    expect(String(reported[0]?.error)).toContain(
      '"resource" expected a resource that "test" watches, got undefined',
    );
  });

  test('ids are made of random bytes if the host has no randomUUID', () => {
    expect(uuidOf(new Uint8Array(16).fill(0xff))).toBe('ffffffff-ffff-4fff-bfff-ffffffffffff');
    expect(uuidOf(new Uint8Array(16))).toBe('00000000-0000-4000-8000-000000000000');
    const own = crypto.randomUUID;
    Object.defineProperty(crypto, 'randomUUID', { value: undefined, configurable: true });
    try {
      expectIds();
    } finally {
      Object.defineProperty(crypto, 'randomUUID', { value: own, configurable: true });
    }
  });

  // Node 18: each run failed with "crypto is not defined", again and again.
  test('ids are made without a global crypto', () => {
    vi.stubGlobal('crypto', undefined);
    try {
      expectIds();
    } finally {
      vi.unstubAllGlobals();
    }
  });

  function expectIds(): void {
    const ids = Array.from({ length: 200 }, newReconcileId); // more than one batch
    for (const id of ids)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(new Set(ids).size).toBe(200);
  }
});

describe('the logger', () => {
  test('of a run has the controller, the request and the run id', async () => {
    const logger = new RecordingLogger();
    const ids: string[] = [];
    const { source, start, clock } = rig(
      (_, context) => {
        ids.push(context.reconcileId);
        context.logger.info('hello', { more: 1 });
      },
      { logger },
    );
    await start();
    source.add('a');
    await clock.settle();
    const fields = {
      controller: 'test',
      namespace: 'default',
      name: 'a',
      reconcileId: ids[0],
      more: 1,
    };
    expect(logger.lines).toContainEqual({ level: 'info', message: 'hello', fields });
  });

  test('gets failures instead of the error handler, and the start and the end', async () => {
    const logger = new RecordingLogger();
    const { source, start, clock, controller } = rig(reconcileResults({ a: [fail] }), { logger });
    await start();
    source.add('a');
    await clock.run(10);
    await controller.stop();
    expect(reported).toEqual([]);
    expect(logger.lines.map(({ message }) => message)).toEqual([
      'Starting sources',
      'Starting workers',
      'Reconciler error',
      'All workers finished',
    ]);
    expect(logger.lines[2]).toMatchObject({
      level: 'error',
      fields: {
        controller: 'test',
        namespace: 'default',
        name: 'a',
        error: expect.any(Error),
        attempt: 1,
        retryAfter: 5,
      },
    });
  });

  test('that throws loses no request: both errors go to the error handler', async () => {
    const logger = new RecordingLogger();
    logger.error = () => {
      throw new Error('disk full');
    };
    const { source, calls, start, clock } = rig(reconcileResults({ a: [fail] }), { logger });
    await start();
    source.add('a');
    await clock.run(5);
    expect(calls).toEqual(['a@0', 'a@5']);
    expect(reported.map(({ error }) => (error as Error).message)).toEqual(['not yet', 'disk full']);
  });

  test('of a controller with a resource has its group and kind', async () => {
    const logger = new RecordingLogger();
    const manager = new FakeManager({ logger });
    const own = new RecordingLogger();
    const requested: (string | undefined)[] = [];
    createController({ manager, name: 'logs-a', for: TestWidget, reconcile: () => undefined });
    createController({
      manager,
      name: 'logs-b',
      for: TestWidget,
      logConstructor: (request) => {
        requested.push(request?.name);
        return own;
      },
      reconcile: (_, context) => context.logger.info('hello'),
    });
    manager.transport.put('widgets', testWidget('w'));
    await manager.start();
    const fields = {
      controller: 'logs-a',
      controllerGroup: 'example.com',
      controllerKind: 'Widget',
    };
    expect(logger.lines).toContainEqual({ level: 'info', message: 'Starting sources', fields });
    expect(own.lines.at(-1)).toMatchObject({
      message: 'hello',
      fields: { reconcileId: expect.any(String) },
    });
    expect(requested).toContain('w');
    expect(requested).toContain(undefined);
  });
});

describe('the tracer', () => {
  test('gets a span for each run, with its outcome', async () => {
    const tracer = new FakeTracer();
    const { source, start, clock } = rig(
      reconcileResults({ a: [fail, () => ({ requeueAfter: 1 }), () => Promise.reject('odd')] }),
      {
        tracer,
      },
    );
    await start();
    source.add('a');
    await clock.run(6);
    expect(tracer.spans).toMatchObject([
      {
        name: 'reconcile test',
        attributes: { controller: 'test', key: 'default/a', attempt: 1, outcome: 'error' },
        exceptions: [{ message: 'not yet' }],
        status: { code: 2, message: 'not yet' },
        ended: true,
      },
      { attributes: { attempt: 2, outcome: 'requeueAfter' }, exceptions: [], ended: true },
      {
        attributes: { attempt: 1, outcome: 'error' },
        exceptions: [{ message: 'odd' }],
        ended: true,
      },
    ]);
    expect(tracer.spans[0]?.attributes).toHaveProperty('reconcileId');
  });

  test('has its span open while the reconcile runs', async () => {
    const tracer = new FakeTracer();
    const gate = Promise.withResolvers<void>();
    const { source, start, clock } = rig(() => gate.promise, { tracer });
    await start();
    source.add('a');
    await clock.settle();
    expect(tracer.spans).toMatchObject([{ ended: false }]);
    gate.resolve();
    await clock.settle();
    expect(tracer.spans).toMatchObject([{ ended: true }]);
  });

  test('that fails, before or after, loses the span and no reconcile', async () => {
    for (const when of ['before', 'after', 'end']) {
      reported.length = 0;
      const tracer: Tracer = {
        startActiveSpan(_name, _options, run) {
          if (when === 'before') throw new Error('no exporter');
          const broken = (): never => {
            throw new Error('no exporter');
          };
          const span: Span = {
            setAttribute: () => 0,
            recordException: () => {},
            setStatus: () => 0,
            end: broken,
          };
          const result = run(when === 'end' ? span : { ...span, end: () => undefined });
          if (when === 'after') throw new Error('no exporter');
          return result;
        },
      };
      const { source, calls, start, clock } = rig(undefined, { tracer });
      await start();
      source.add('a');
      await clock.run(10_000);
      expect(calls, when).toEqual(['a@0']);
      expect(reported, when).toMatchObject([{ what: 'tracer' }]);
    }
  });
});

describe('the metrics', () => {
  test('count each outcome and its duration', async () => {
    const metrics = new ControllerMetrics();
    const { source, start, clock } = rig(
      async ({ name }) => {
        await new Promise<void>((resolve) => clock.setTimer(resolve, 30));
        if (name === 'error') throw new Error('not yet');
        if (name === 'terminal') throw new TerminalError('no');
        if (name === 'requeue') return { requeue: true };
        return name === 'after' ? { requeueAfter: 1_000_000 } : undefined;
      },
      { metrics, maxConcurrentReconciles: 5 },
    );
    await start();
    for (const name of ['success', 'after', 'terminal']) source.add(name);
    await clock.run(10);
    expect([
      figure(metrics, 'active_workers'),
      figure(metrics, 'max_concurrent_reconciles'),
    ]).toEqual([3, 5]);
    await clock.run(1000);
    const results = ['success', 'error', 'requeue', 'requeue_after'] as const;
    const totals = () => results.map((result) => figure(metrics, 'reconcile_total', { result }));
    expect(totals()).toEqual([1, 1, 0, 1]);
    expect(figure(metrics, 'reconcile_errors_total')).toBe(1);
    expect(figure(metrics, 'terminal_reconcile_errors_total')).toBe(1);
    source.add('requeue');
    source.add('error');
    await clock.run(31);
    expect(totals()).toEqual([1, 2, 1, 1]);
    expect(figure(metrics, 'terminal_reconcile_errors_total')).toBe(1);
    const samples =
      parseText(metrics.text()).get('controller_runtime_reconcile_time_seconds')?.samples ?? [];
    const of = (suffix: string, le?: string) =>
      samples.find(
        ({ name, labels }) => name?.endsWith(suffix) && (le === undefined || labels.le === le),
      )?.value;
    expect(of('_count')).toBe(5);
    expect(of('_sum')).toBeCloseTo(0.15);
    expect([
      of('_bucket', '0.025'),
      of('_bucket', '0.05'),
      of('_bucket', '60'),
      of('_bucket', '+Inf'),
    ]).toEqual([0, 5, 5, 5]);
  });

  test('exist from the start, with zeros, and outlive the controller', async () => {
    const metrics = new ControllerMetrics();
    expect(metrics.text()).toBe('');
    const { source, start, clock, controller } = rig(undefined, { metrics });
    expect([...parseText(metrics.text()).keys()]).toEqual([
      'controller_runtime_active_workers',
      'controller_runtime_max_concurrent_reconciles',
      'controller_runtime_reconcile_errors_total',
      'controller_runtime_reconcile_panics_total',
      'controller_runtime_reconcile_time_seconds',
      'controller_runtime_reconcile_timeouts_total',
      'controller_runtime_reconcile_total',
      'controller_runtime_terminal_reconcile_errors_total',
      'capstan_controller_hot_loop_writes_total',
    ]);
    expect(figure(metrics, 'reconcile_total', { result: 'success' })).toBe(0);
    await start();
    source.add('a');
    await clock.settle();
    await controller.stop();
    expect(figure(metrics, 'reconcile_total', { result: 'success' })).toBe(1);
    expect(figure(metrics, 'max_concurrent_reconciles')).toBe(0);
  });

  test('of controllers of one name are added up, and names are escaped', async () => {
    const metrics = new ControllerMetrics();
    for (const name of ['same', 'same', 'a "b"\n\\c']) {
      const { source, start, clock } = rig(undefined, { metrics, name });
      await start();
      source.add('a');
      await clock.settle();
    }
    expect(figure(metrics, 'reconcile_total', { controller: 'same', result: 'success' })).toBe(2);
    expect(metrics.text()).toContain('controller="a \\"b\\"\\n\\\\c",result="success"} 1');
    expect(metrics.text().match(/# TYPE controller_runtime_reconcile_total /g)).toHaveLength(1);
  });

  test('of a manager are one collector for all of its controllers', () => {
    const manager = new FakeManager();
    for (const name of ['metrics-a', 'metrics-b'])
      createController({ manager, name, for: TestWidget, reconcile: () => {} });
    expect(manager.collectors.size).toBe(1);
    const [collector] = manager.collectors;
    expect(collector?.text()).toContain('controller="metrics-a"');
    expect(collector?.text()).toContain('controller="metrics-b"');
    expect(() =>
      createController({
        transport: new FakeCluster(),
        for: TestWidget,
        metrics: 1 as never,
        reconcile: () => {},
      }),
    ).toThrow(/"options\.metrics"/);
  });
});
