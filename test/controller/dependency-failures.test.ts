/**
 * User-supplied parts that fail: loggers, tracers, sources, clocks, queues. None of them may lose a
 * request, hide an error or end the process.
 */
import {
  createController,
  type LogFields,
  newControllerManagedBy,
  type Source,
  type Tracer,
} from 'capstan/controller';
import { newManager } from 'capstan/manager';
import {
  CapstanError,
  FakeClock,
  ItemExponentialFailureRateLimiter,
  PriorityQueue,
  RateLimitingQueue,
  type Request,
  requestKey,
  setErrorHandler,
} from 'capstan/workqueue';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { handleError } from '../../bindings/base/handle-error.ts';
import { causeOf, fail, rig, TestSource } from '../helpers/controller/controller-rig.ts';
import { FakeCluster } from '../helpers/controller/fake-cluster.ts';
import { FakeManager } from '../helpers/controller/fake-manager.ts';
import { TestWidget, testWidget } from '../helpers/controller/resources.ts';
import { collectErrors } from '../helpers/reported-errors.ts';

const reported = collectErrors();

const broken = (): never => {
  throw new Error('broken');
};
const messages = (): string[] => reported.map(({ error }) => (error as Error).message);

// A tracer that was async (for example to wait for an exporter) returned a promise of its own. When
// it rejected, the unhandled rejection ended the process with all its controllers.
test('a tracer that returns a rejected promise is reported, and loses no reconcile', async () => {
  const unhandled: unknown[] = [];
  const listener = (reason: unknown): void => void unhandled.push(reason);
  process.on('unhandledRejection', listener);
  onTestFinished(() => void process.off('unhandledRejection', listener));
  const startActiveSpan = async (): Promise<never> => broken();
  const { source, calls, clock, start } = rig(undefined, {
    tracer: { startActiveSpan } as unknown as Tracer,
  });
  await start();
  source.add('a');
  await clock.settle();
  expect(calls).toEqual(['a@0']);
  expect(reported).toMatchObject([{ what: 'tracer', error: { message: 'broken' } }]);
  expect(unhandled).toEqual([]);
});

// A span whose attribute or status was refused was never ended, so that no trace showed the
// reconcile. A span with async methods ended the process.
test.each(['setAttribute', 'recordException', 'setStatus'] as const)(
  'a span is ended when its %s throws or rejects',
  async (method) => {
    for (const fails of [broken, async () => broken()]) {
      reported.length = 0;
      const logged: string[] = [];
      const span = {
        setAttribute: () => logged.push('attribute'),
        recordException: () => logged.push('exception'),
        setStatus: () => logged.push('status'),
        end: () => logged.push('end'),
        [method]: fails,
      };
      const tracer = {
        startActiveSpan: (_: string, __: object, run: (given: typeof span) => unknown) => run(span),
      };
      const { source, clock, start } = rig(fail, { tracer: tracer as unknown as Tracer });
      await start();
      source.add('a');
      await clock.settle();
      expect(logged).toHaveLength(3);
      expect(logged.at(-1)).toBe('end');
      expect(reported.filter(({ what }) => what === 'tracer')).toMatchObject([
        { error: { message: 'broken' } },
      ]);
    }
  },
);

// An error that could not be sent to an error collector ended the process.
test('rejected promises of an error handler and of a logger are reported', async () => {
  const unhandled: unknown[] = [];
  const listener = (reason: unknown): void => void unhandled.push(reason);
  process.on('unhandledRejection', listener);
  onTestFinished(() => void process.off('unhandledRejection', listener));
  const toConsole = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  onTestFinished(() => toConsole.mockRestore());
  const rejects = async (): Promise<never> => broken();
  const logger = { debug: rejects, info: rejects, warn: rejects, error: rejects };
  const { source, clock, start } = rig(fail, { logger });
  await start();
  reported.length = 0;
  source.add('a');
  await clock.settle();
  expect(reported.map(({ what }) => what)).toEqual(
    expect.arrayContaining(['Reconciler error', 'logger']),
  );
  setErrorHandler(rejects);
  handleError(new Error('first'), 'a part');
  await clock.settle();
  expect(toConsole.mock.calls).toEqual([
    [expect.stringContaining('capstan: a part: Error: first')],
    [expect.stringContaining('capstan: error handler: Error: broken')],
  ]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(unhandled).toEqual([]);
});

describe('a logger that throws', () => {
  // pino throws after its destination was closed, which programs do when they end. A controller
  // that logged its start or end rejected with that error, and under a manager ended everything
  // else.
  test('ends no controller; the errors that it should log go to the error handler', async () => {
    const logger = { debug: broken, info: broken, warn: broken, error: broken };
    const { source, calls, errors, clock, start, controller, ended } = rig(fail, { logger });
    await start();
    source.add('a');
    await clock.run(5);
    await controller.stop();
    await ended();
    expect(calls).toEqual(['a@0', 'a@5']);
    expect(errors).toEqual([]);
    expect(messages()).toContain('not yet');
    expect(new Set(messages())).toEqual(new Set(['not yet', 'broken']));
  });

  // The context was made together with the call, so that no request was ever reconciled.
  test('or a logConstructor that does loses log lines, not reconciles', async () => {
    const { source, calls, errors, clock, start } = rig(fail, { logConstructor: broken });
    await start();
    source.add('a');
    await clock.run(5);
    expect(calls).toEqual(['a@0', 'a@5']);
    expect(errors).toEqual([]);
    expect(reported[0]?.what).toContain('logConstructor');
    expect(messages(), 'the error that it was to be told of').toContain('not yet');
  });

  test('is called like any other: with fields only if there are some', async () => {
    const calls: unknown[][] = [];
    const say = (...args: [string, LogFields?]): void => void calls.push(args);
    const manager = newManager({
      transport: new FakeCluster(),
      clock: new FakeClock(),
      logger: { debug: say, info: say, warn: say, error: say },
    });
    manager.logger.info('alone');
    manager.logger.info('more', { a: 1 });
    expect(calls).toEqual([['alone'], ['more', { a: 1 }]]);
  });
});

// A timeout names what it waited for, so it asks the sources for their status. One source threw,
// and its error replaced the timeout. The live page failed in the same way.
test('a source whose status throws hides neither the timeout nor the report', async () => {
  const source: Source = {
    name: 'mute',
    start: async () => undefined,
    waitForSync: () => new Promise(() => undefined),
    status: broken,
  };
  const { errors, clock, start, controller } = rig(undefined, {
    sources: [source],
    cacheSyncTimeout: 100,
  });
  await start();
  expect(controller.report().sources).toMatchObject([{ name: 'mute', synced: false }]);
  await clock.run(100);
  expect(errors).toMatchObject([
    { code: 'CACHE_SYNC_TIMEOUT', message: expect.stringContaining('mute') },
  ]);
});

describe('limiters and queues that were not made for requests', () => {
  // README shows such a limiter with a queue of strings. In a controller it refused each request:
  // the worker failed and retried the request every second.
  test('a limiter without a key function backs off by request', async () => {
    const rateLimiter = new ItemExponentialFailureRateLimiter<Request>(7, 60_000);
    const { source, calls, clock, start, controller } = rig(fail, { rateLimiter });
    await start();
    source.add('a');
    await clock.run(7 + 14);
    expect(calls).toEqual(['a@0', 'a@7', 'a@21']);
    expect(controller.report().keys).toMatchObject([{ name: 'a', state: 'waiting', failures: 3 }]);
  });

  // A map function that returns metadata adds objects that such a limiter refuses: each of them
  // kept failing in a worker.
  test.each([true, false])(
    'nor does it refuse requests that have more members (priorities: %s)',
    async (usePriorityQueue) => {
      const rateLimiter = new ItemExponentialFailureRateLimiter<Request>(7, 60_000);
      const { source, calls, clock, start, controller } = rig(fail, {
        rateLimiter,
        usePriorityQueue,
      });
      await start();
      const metadata = { namespace: 'default', name: 'a', uid: 'u' };
      source.started?.queue.addWithCause({ rateLimited: true }, metadata, causeOf('generic'));
      await clock.run(7 + 14 + 28);
      expect(calls).toEqual(['a@7', 'a@21', 'a@49']);
      expect(controller.report().keys).toMatchObject([
        { name: 'a', state: 'waiting', failures: 4 },
      ]);
    },
  );

  test('a limiter that throws for a request fails the start, which names it', async () => {
    const rateLimiter = { when: broken, forget: broken, numRequeues: broken };
    const { errors, start } = rig(undefined, { rateLimiter });
    await start();
    expect(errors).toMatchObject([
      {
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining('options.rateLimiter of the controller "test"'),
        cause: { message: 'broken' },
      },
    ]);
  });

  // Each event was lost, with an error that did not say where it came from, and the controller
  // reported that it was ready.
  test.each(['RateLimitingQueue', 'PriorityQueue'])(
    'a %s without a key fails the start',
    async (kind) => {
      const { errors, start, controller } = rig(undefined, {
        newQueue: (_, limiter) =>
          kind === 'PriorityQueue' ? new PriorityQueue(limiter) : new RateLimitingQueue(limiter),
      });
      await start();
      expect(errors).toMatchObject([
        {
          code: 'INVALID_ARGUMENT',
          message: 'options.newQueue expected a queue of requests: pass { key: requestKey }',
          cause: { code: 'INVALID_ARGUMENT' },
        },
      ]);
      expect(controller.report().state).toBe('ended');
    },
  );
});

describe('a queue that accepts nothing more', () => {
  class FullQueue extends PriorityQueue<Request> {
    isFull = false;

    override addWithOpts(...args: Parameters<PriorityQueue<Request>['addWithOpts']>): void {
      if (this.isFull) throw new CapstanError('OUT_OF_MEMORY', 'no room');
      super.addWithOpts(...args);
    }
  }

  // A worker that failed adds its request again before it pauses. If that failed too, the request
  // was gone and the controller went on as if it had been reconciled.
  test('after a worker failed ends the controller instead of losing the request', async () => {
    let queue: FullQueue | undefined;
    const clock = new FakeClock();
    const now = clock.now.bind(clock);
    let isAway = false;
    const { source, errors, start, ended } = rig(
      () => {
        isAway = true;
        if (queue !== undefined) queue.isFull = true;
      },
      {
        clock,
        newQueue: (_name, limiter) => {
          queue = new FullQueue(limiter, { key: requestKey, clock: new FakeClock() });
          return queue;
        },
      },
    );
    clock.now = () => (isAway ? broken() : now());
    await start();
    source.add('a');
    await new Promise(setImmediate);
    isAway = false;
    await ended();
    expect(errors).toMatchObject([{ code: 'OUT_OF_MEMORY' }]);
  });

  // The same for a request that was taken while the lease was not valid.
  test('during the put-back of a process that does not lead ends the controller too', async () => {
    const manager = new FakeManager();
    manager.holds = false;
    const source = new TestSource();
    const queue = new FullQueue(undefined, { key: requestKey, clock: manager.clock });
    createController<object>({
      manager,
      name: 'hostile-full',
      sources: [source],
      newQueue: () => queue,
      reconcile: () => undefined,
    });
    await manager.start();
    source.add('a');
    queue.isFull = true;
    await manager.clock.settle();
    expect(manager.errors).toMatchObject([{ code: 'OUT_OF_MEMORY' }]);
  });
});

// A name is released when its controller has ended. A controller that its manager never started
// never ended, so that a process which made several managers (in tests, or after a lost lease)
// could not use the name again.
test('a controller whose manager ends before it starts it releases its name', async () => {
  for (let round = 0; round < 2; round++) {
    const manager = newManager({ transport: new FakeCluster(), clock: new FakeClock() });
    newControllerManagedBy(manager)
      .for(TestWidget)
      .named('hostile-never')
      .complete(() => undefined);
    await manager.start({ signal: AbortSignal.abort() });
  }
});

test('errors whose members throw, and thrown non-errors, are failures too', async () => {
  const noMessage = Object.defineProperty(new Error(), 'message', { get: broken });
  const noCause = Object.defineProperty(new Error(), 'cause', { get: broken });
  for (const thrown of [
    noMessage,
    noCause,
    Object.create(null),
    undefined,
    new Proxy({}, { getPrototypeOf: broken }),
  ]) {
    let isFirst = true;
    const { source, calls, errors, clock, start } = rig(() => {
      if (!isFirst) return;
      isFirst = false;
      throw thrown;
    });
    await start();
    source.add('a');
    source.add('b');
    await clock.run(1000);
    expect(calls.map((call) => call.slice(0, 1)).sort()).toEqual(['a', 'a', 'b']);
    expect(errors).toEqual([]);
  }
});

test('keys of any characters are reconciled; invalid keys are refused', async () => {
  const { source, calls, start, clock, controller } = rig();
  await start();
  const names = [
    '__proto__',
    'constructor',
    'a/b',
    '\ud800',
    '\u0000',
    'é',
    'e\u0301',
    'x'.repeat(100_000),
  ];
  for (const name of names) source.add(name);
  for (const name of [undefined, null, 5, {}]) {
    expect(() => source.add(name as string)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  }
  await clock.settle();
  expect(calls).toEqual(names.map((name) => `${name}@0`));
  expect(controller.report().queue).toMatchObject({ ready: 0, waiting: 0, processing: 0 });
});

test('a source that is added while the controller ends is not started', async () => {
  const cluster = new FakeCluster();
  cluster.put('widgets', testWidget('a'));
  const gate = Promise.withResolvers<void>();
  const { source, controller, clock, start, calls } = rig(() => gate.promise, {
    transport: cluster,
  });
  await start();
  source.add('a');
  await clock.settle();
  const stopped = controller.stop();
  const late = new TestSource('late');
  const remove = controller.watch(late);
  remove();
  remove();
  gate.resolve();
  await stopped;
  const later = new TestSource('later');
  controller.watch(later);
  await clock.settle();
  expect([late.starts, later.starts]).toEqual([0, 0]);
  expect(calls).toEqual(['a@0']);
});
