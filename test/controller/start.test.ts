/**
 * The start and end of a controller: its sources, its queue, its workers. controller-runtime:
 * pkg/internal/controller/controller_test.go, Start.
 */
import {
  channelSource,
  createController,
  EventChannel,
  enqueueRequestForObject,
  funcSource,
} from 'capstan/controller';
import {
  CapstanError,
  FakeClock,
  PriorityQueue,
  RateLimitingQueue,
  type Request,
  requestKey,
} from 'capstan/workqueue';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { fail, requestOf, rig, TestSource } from '../helpers/controller/controller-rig.ts';
import { FakeCluster } from '../helpers/controller/fake-cluster.ts';
import { TestWidget } from '../helpers/controller/resources.ts';
import { collectErrors } from '../helpers/reported-errors.ts';

const reported = collectErrors();
afterEach(() => {
  vi.restoreAllMocks();
});

const never = new Promise<void>(() => undefined);

describe('the start', () => {
  test('gives each source the queue and a signal, once', async () => {
    const first = new TestSource('first');
    const second = new TestSource('second');
    const { start, controller, calls, clock } = rig(undefined, { sources: [first, second] });
    expect([first.starts, second.starts]).toEqual([0, 0]);
    await start();
    expect([first.starts, second.starts]).toEqual([1, 1]);
    expect(first.started?.signal.aborted).toBe(false);
    first.add('a');
    second.add('b');
    await clock.settle();
    expect(calls).toEqual(['a@0', 'b@0']);
    await controller.stop();
    expect(first.started?.signal).toMatchObject({ aborted: true, reason: { code: 'STOPPED' } });
  });

  test('reconciles nothing before every source has synced', async () => {
    const slow = new TestSource('slow');
    const gate = Promise.withResolvers<void>();
    slow.sync = gate.promise;
    const { source, calls, clock, start, controller } = rig();
    controller.watch(slow);
    await start();
    source.add('a');
    await clock.run(1000);
    expect(calls).toEqual([]);
    expect(controller.report().state).toBe('waiting for caches');
    gate.resolve();
    await clock.settle();
    expect(calls).toEqual(['a@1000']);
    expect(controller.report().state).toBe('running');
  });

  test('fails if a source cannot start or sync: the error names it', async () => {
    for (const [what, word] of [
      ['begin', 'start'],
      ['sync', 'sync'],
    ] as const) {
      const broken = new Error('no broker');
      const { source, errors, start, calls } = rig();
      source[what] = Promise.reject(broken);
      source[what].catch(() => undefined);
      await start();
      expect(errors).toEqual([expect.objectContaining({ code: 'SOURCE_FAILED', cause: broken })]);
      expect(String(errors[0])).toContain(`could not ${word}: test`);
      expect(source.started?.signal.aborted).toBe(true);
      expect(calls).toEqual([]);
    }
  });

  test('fails if a source has not synced in time, and names it with the reason', async () => {
    const { source, errors, start, clock, controller } = rig(undefined, { cacheSyncTimeout: 5000 });
    source.sync = never;
    Object.assign(source, {
      status: () => ({
        synced: false,
        events: { handled: 0, filtered: 0, failed: 0 },
        problem: 'the broker is away',
      }),
    });
    const fine = new TestSource('fine');
    controller.watch(fine);
    await start();
    await clock.run(4999);
    expect(errors).toEqual([]);
    await clock.run(1);
    expect(errors).toEqual([expect.objectContaining({ code: 'CACHE_SYNC_TIMEOUT' })]);
    expect(String(errors[0])).toContain('these have not synced: test: the broker is away.');
    expect(clock.timers()).toBe(0);
  });

  test('fails if the start of a source never resolves, and says so', async () => {
    const { source, errors, start, clock } = rig(undefined, { cacheSyncTimeout: 5000 });
    source.begin = never;
    await start();
    await clock.run(5000);
    expect(String(errors[0])).toContain('test, which has not started: its start() must not wait');
  });

  // A function source whose connection was refused was reported as waiting in its start, which it
  // did not.
  test('fails with the error of a source, thrown or rejected with', async () => {
    const fail = (): never => {
      throw new Error('connect ECONNREFUSED 10.0.0.1:5672');
    };
    for (const start of [fail, async () => fail()]) {
      const { controller, errors, start: begin, ended } = rig();
      controller.watch(funcSource('broker', start));
      await begin();
      await ended();
      const message =
        'the controller "test" has a source that could not start: ' +
        'broker: connect ECONNREFUSED 10.0.0.1:5672';
      expect(errors).toMatchObject([{ code: 'SOURCE_FAILED', message }]);
    }
  });

  test('waits as long as the timeout allows', async () => {
    const { source, errors, start, clock, controller } = rig(undefined, { cacheSyncTimeout: 5000 });
    const gate = Promise.withResolvers<void>();
    source.sync = gate.promise;
    await start();
    await clock.run(4999);
    gate.resolve();
    await clock.run(10_000);
    expect(errors).toEqual([]);
    expect(controller.report().state).toBe('running');
  });

  test('is ended by the signal while sources start or sync, without an error', async () => {
    for (const what of ['begin', 'sync'] as const) {
      const { source, errors, start, ended, clock } = rig();
      source[what] = never;
      const end = new AbortController();
      await start(end.signal);
      end.abort();
      await ended();
      expect(errors).toEqual([]);
      expect(clock.timers()).toBe(0);
    }
  });

  test('accepts a channel as a source', async () => {
    const events = new EventChannel<{ metadata: { namespace: string; name: string } }>();
    events.trySend({ metadata: { namespace: 'default', name: 'early' } });
    const { calls, start, clock, controller } = rig();
    controller.watch(channelSource({ events, handler: enqueueRequestForObject() }));
    await start();
    events.trySend({ metadata: { namespace: 'default', name: 'late' } });
    await clock.settle();
    expect(calls).toEqual(['early@0', 'late@0']);
  });

  test('makes no queue, no timer and no request before it', async () => {
    const clock = new FakeClock();
    const cluster = new FakeCluster();
    let queues = 0;
    const newQueue = () => {
      queues++;
      return new PriorityQueue<Request>(undefined, { key: requestKey, clock });
    };
    const controller = createController({
      transport: cluster,
      for: TestWidget,
      clock,
      newQueue,
      reconcile: () => undefined,
    });
    await clock.settle();
    expect([queues, clock.timers(), cluster.requests]).toEqual([0, 0, []]);
    expect(controller.report()).toMatchObject({
      state: 'not started',
      keys: [],
      queue: { ready: 0 },
    });
    const run = controller.run();
    await clock.settle();
    expect(queues).toBe(1);
    await controller.stop();
    await run;
    expect(controller.report().state).toBe('ended');
  });
});

describe('a source that is added while the controller runs', () => {
  test('starts at once, and adds nothing after it was removed', async () => {
    const { calls, start, clock, controller } = rig();
    await start();
    const late = new TestSource('late');
    const remove = controller.watch(late);
    await clock.settle();
    expect(late.starts).toBe(1);
    late.add('a');
    await clock.settle();
    remove();
    expect(late.started?.signal.aborted).toBe(true);
    late.add('b');
    await clock.settle();
    expect(calls).toEqual(['a@0']);
    expect(controller.report().sources.map(({ name }) => name)).toEqual(['test']);
    remove();
  });

  test('ends the controller when it cannot start', async () => {
    const { errors, start, ended, controller } = rig();
    await start();
    const late = new TestSource('late');
    late.begin = Promise.reject(new Error('no broker'));
    controller.watch(late);
    await ended();
    expect(errors).toEqual([expect.objectContaining({ code: 'SOURCE_FAILED' })]);
  });

  test('and removed while it starts is not awaited', async () => {
    const slow = new TestSource('slow');
    slow.begin = never;
    const { calls, errors, source, start, clock, controller } = rig();
    const remove = controller.watch(slow);
    await start();
    source.add('a');
    remove();
    await clock.run(200_000);
    expect(calls).toEqual(['a@0']);
    expect(errors).toEqual([]);
  });

  test('is refused if it is not a source', () => {
    const { controller } = rig();
    expect(() => controller.watch({ name: 'x' } as never)).toThrow(
      /"source\.start" expected a function/,
    );
    expect(() => controller.watch(undefined as never)).toThrow(/"source" expected an object/);
  });
});

describe('the queue of newQueue', () => {
  test('is made at the start with name and limiter, and shut down at the end', async () => {
    let made: RateLimitingQueue<Request> | undefined;
    const requested: string[] = [];
    const { source, calls, start, clock, controller } = rig(fail, {
      usePriorityQueue: false,
      newQueue: (name, limiter) => {
        requested.push(name);
        made = new RateLimitingQueue<Request>(limiter, { key: requestKey, clock });
        return made;
      },
    });
    const clockOfRig = clock;
    await start();
    source.add('a');
    await clockOfRig.settle();
    expect(requested).toEqual(['test']);
    expect(calls).toEqual(['a@0']);
    expect(made?.numRequeues(requestOf('a'))).toBe(1);
    await controller.stop();
    expect(made?.shuttingDown()).toBe(true);
    expect(made?.numRequeues(requestOf('a'))).toBe(1);
  });

  test('with priorities keeps priorities', async () => {
    const gate = Promise.withResolvers<void>();
    const made: PriorityQueue<Request>[] = [];
    const { source, calls, start, clock } = rig(
      ({ name }) => (name === 'gate' ? gate.promise : undefined),
      {
        newQueue: (_, limiter) => {
          const queue = new PriorityQueue<Request>(limiter, {
            key: requestKey,
            clock: new FakeClock(),
          });
          made.push(queue);
          return queue;
        },
      },
    );
    await start();
    source.add('gate');
    await clock.settle();
    source.add('low', { priority: -1 });
    source.add('high', { priority: 1 });
    gate.resolve();
    await clock.settle();
    expect(calls).toEqual(['gate@0', 'high@0', 'low@0']);
    expect(made).toHaveLength(1);
  });

  test('that drops a request keeps no cause of it', async () => {
    const gate = Promise.withResolvers<void>();
    const causes: number[] = [];
    const { source, start, clock, calls, controller } = rig(
      ({ name }, context) => {
        causes.push(context.causes.length);
        return name === 'gate' ? gate.promise : undefined;
      },
      {
        newQueue: (_, limiter) =>
          new PriorityQueue<Request>(limiter, {
            key: requestKey,
            clock: new FakeClock(),
            maxDepth: 1,
            whenFull: 'drop',
          }),
      },
    );
    await start();
    source.add('gate');
    await clock.settle();
    source.add('a');
    source.add('dropped');
    expect(controller.report().keys.map(({ name }) => name)).toEqual(['gate', 'a']);
    gate.resolve();
    await clock.settle();
    source.add('dropped');
    await clock.settle();
    expect(calls).toEqual(['gate@0', 'a@0', 'dropped@0']);
    expect(causes).toEqual([1, 1, 1]);
  });

  test('must be a queue', async () => {
    const { errors, start } = rig(undefined, { newQueue: () => ({}) as never });
    await start();
    expect(errors).toEqual([expect.objectContaining({ code: 'INVALID_ARGUMENT' })]);
  });
});

describe('a worker that fails outside its reconcile', () => {
  test('continues after a second, and its request comes again then', async () => {
    const clock = new FakeClock();
    const now = clock.now.bind(clock);
    let broken = 0;
    const breakOnce = () => {
      broken = calls.length === 1 ? 1 : 0;
    };
    const { source, calls, errors, start } = rig(breakOnce, { clock });
    clock.now = () => {
      if (broken-- > 0) throw new Error('the clock is away');
      return now();
    };
    await start();
    source.add('a');
    await clock.settle();
    source.add('b');
    await clock.run(999);
    expect(calls).toHaveLength(1);
    await clock.run(1);
    expect(calls.map((call) => call.split('@')[0])).toEqual(['a', 'b', 'a']);
    expect(errors).toEqual([]);
    expect(reported.map(({ what }) => what)).toEqual([
      'a worker of the controller "test", which continues in 1000 ms',
    ]);
  });

  test('continues after restartDelay', async () => {
    const clock = new FakeClock();
    const now = clock.now.bind(clock);
    let broken = 0;
    const breakOnce = () => {
      broken = calls.length === 1 ? 1 : 0;
    };
    const { source, calls, start } = rig(breakOnce, { clock, restartDelay: 10 });
    clock.now = () => {
      if (broken-- > 0) throw new Error('the clock is away');
      return now();
    };
    await start();
    source.add('a');
    await clock.run(10);
    expect(calls).toHaveLength(2);
  });
});

test.each([true, false])(
  'the end waits for what runs, not for what is queued, and gives the queue back (priorities: %s)',
  async (usePriorityQueue) => {
    const disposals = vi.spyOn(RateLimitingQueue.prototype, 'dispose');
    const gate = Promise.withResolvers<undefined>();
    const { source, calls, start, clock, controller } = rig(() => gate.promise, {
      usePriorityQueue,
    });
    await start();
    for (const name of ['a', 'b', 'c']) source.add(name);
    await clock.settle();
    const stopped = controller.stop();
    expect(disposals).not.toHaveBeenCalled();
    gate.resolve(undefined);
    await stopped;
    expect(calls).toEqual(['a@0']);
    expect(disposals).toHaveBeenCalledTimes(1);
  },
);

test('the end drops waiting requests and later adds of sources', async () => {
  const { source, calls, start, clock, controller } = rig(() => ({ requeueAfter: 5 }));
  await start();
  source.add('a');
  await clock.settle();
  await controller.stop();
  source.add('b');
  await clock.run(100_000);
  expect(calls).toEqual(['a@0']);
  expect(clock.timers()).toBe(0);
});

test('an error that ends the controller has a code', async () => {
  const { controller, start } = rig();
  await start();
  const again = controller.start({ signal: new AbortController().signal });
  await expect(again).rejects.toBeInstanceOf(CapstanError);
  await expect(again).rejects.toMatchObject({ code: 'ALREADY_STARTED' });
});
