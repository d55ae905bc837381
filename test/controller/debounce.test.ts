/**
 * The option debounceMs. kube-rs: kube-runtime/src/scheduler.rs and controller/mod.rs, the tests of
 * debounce.
 */
import { createController, type Result } from 'capstan/controller';
import { RateLimitingQueue, type Request, requestKey } from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../bindings/base/clock.ts';
import { Debounce } from '../../bindings/controller/debounce.ts';
import {
  causeOf,
  fail,
  reconcileResults,
  requestOf,
  rig,
} from '../helpers/controller/controller-rig.ts';
import { FakeCluster, type TestObject } from '../helpers/controller/fake-cluster.ts';
import { TestWidget, testWidget } from '../helpers/controller/resources.ts';
import { collectErrorValues } from '../helpers/reported-errors.ts';

const debounceOf = (clock: FakeClock, release: (request: Request, priority: number) => boolean) =>
  new Debounce(clock, { debounceMs: 100, debounceMaxMs: 1000 }, release);

const reported = collectErrorValues();

test('a request waits until it was not added for debounceMs', async () => {
  const causes: number[] = [];
  const { source, calls, start, clock } = rig(
    (_, context) => void causes.push(context.causes.length),
    {
      debounceMs: 100,
    },
  );
  await start();
  source.add('a');
  await clock.run(60);
  source.add('a');
  await clock.run(99);
  source.add('a');
  await clock.run(99);
  expect(calls).toEqual([]);
  await clock.run(1);
  expect(calls).toEqual(['a@259']);
  expect(causes).toEqual([3]);
  expect(clock.timers()).toBe(0);
});

test('each request has its own delay', async () => {
  const { source, calls, start, clock } = rig(undefined, { debounceMs: 100 });
  await start();
  source.add('a');
  await clock.run(10);
  source.add('b');
  await clock.run(40);
  source.add('a');
  await clock.run(1000);
  expect(calls).toEqual(['b@110', 'a@150']);
});

test('an add while the request is reconciled waits too', async () => {
  const gate = Promise.withResolvers<void>();
  const { source, calls, start, clock } = rig(() => gate.promise, { debounceMs: 100 });
  await start();
  source.add('a');
  await clock.run(100);
  source.add('a');
  gate.resolve();
  await clock.run(99);
  expect(calls).toEqual(['a@100']);
  await clock.run(1);
  expect(calls).toEqual(['a@100', 'a@200']);
});

test('a retry keeps its own delay, but does not begin while the request is debounced', async () => {
  const { source, calls, start, clock } = rig(reconcileResults({ a: [fail, fail] }), {
    debounceMs: 100,
  });
  await start();
  source.add('a');
  await clock.run(105);
  // the retry is due 5 ms after the failure, with nothing in between
  expect(calls).toEqual(['a@100', 'a@105']);
  source.add('a');
  await clock.run(99);
  expect(calls).toHaveLength(2); // the next one would be due at 115
  await clock.run(1);
  expect(calls).toEqual(['a@100', 'a@105', 'a@205']);
  await clock.run(10_000);
  expect(calls).toHaveLength(3);
});

test('a request that the queue hands out meanwhile comes later', async () => {
  const gate = Promise.withResolvers<undefined>();
  const causes: string[][] = [];
  const { source, calls, start, clock } = rig(
    ({ name }, context) => {
      causes.push(context.causes.map(({ kind, at }) => `${kind}@${at}`));
      return name === 'gate' ? gate.promise : undefined;
    },
    { debounceMs: 100 },
  );
  await start();
  source.add('a', { after: 30, priority: 9 }, causeOf('create', 0));
  source.add('a', {}, causeOf('update', 1));
  await clock.run(50);
  source.add('gate');
  source.add('b', { priority: 8 });
  await clock.run(45);
  source.add('a', {}, causeOf('update', 95));
  await clock.run(60);
  gate.resolve(undefined);
  await clock.run(1000);
  expect(calls).toEqual(['gate@150', 'b@155', 'a@195']);
  expect(causes.at(-1)).toEqual(['create@0', 'update@1', 'update@95']);
});

test('an add with a delay keeps its delay', async () => {
  const { source, calls, start, clock } = rig(undefined, { debounceMs: 100 });
  await start();
  source.add('a', { after: 30 });
  source.add('b', { rateLimited: true });
  await clock.run(1000);
  expect(calls).toEqual(['b@5', 'a@30']);
});

test('the highest priority meanwhile counts', async () => {
  const gate = Promise.withResolvers<void>();
  const { source, calls, start, clock } = rig(
    ({ name }): Result | Promise<undefined> | undefined => {
      if (name === 'gate') return gate.promise.then(() => undefined);
      return undefined;
    },
    { debounceMs: 100 },
  );
  await start();
  source.add('gate');
  await clock.run(100);
  source.add('normal');
  source.add('high', { priority: 5 });
  source.add('high', { priority: -100 });
  source.add('higher', { priority: -100 });
  source.add('higher', { priority: 6 });
  await clock.run(100);
  gate.resolve();
  await clock.settle();
  expect(calls).toEqual(['gate@100', 'higher@200', 'high@200', 'normal@200']);
});

test('the report shows debounced requests and their delay', async () => {
  const { source, start, clock, controller } = rig(undefined, { debounceMs: 100 });
  await start();
  source.add('a', { priority: 3 }, causeOf('update', 7));
  await clock.run(30);
  expect(controller.report()).toMatchObject({
    queue: { ready: 0, waiting: 1, processing: 0 },
    keys: [
      {
        name: 'a',
        state: 'waiting',
        priority: 3,
        waitingMs: 70,
        causes: [{ kind: 'update', at: 7 }],
      },
    ],
  });
});

test('the end drops waiting requests', async () => {
  const { source, calls, start, clock, controller } = rig(undefined, { debounceMs: 100 });
  await start();
  source.add('a');
  await controller.stop();
  await clock.run(1000);
  expect(calls).toEqual([]);
  expect(clock.timers()).toBe(0);
});

test('an update of an object in a cache is debounced like any other', async () => {
  const cluster = new FakeCluster();
  const clock = new FakeClock();
  const seen: string[] = [];
  const controller = createController<TestObject>({
    transport: cluster,
    for: TestWidget,
    clock,
    debounceMs: 50,
    reconcile: (request, { get }) => void seen.push(`${get(request)?.spec?.step}@${clock.now()}`),
  });
  cluster.put('widgets', testWidget('a', 'default', { step: 0 }));
  const run = controller.run();
  for (let step = 1; step <= 5; step++) {
    await clock.run(20);
    cluster.put('widgets', testWidget('a', 'default', { step }));
  }
  await clock.run(1000);
  expect(seen).toEqual(['5@150']);
  await controller.stop();
  await run;
});

// If it were accepted, the queue would refuse it each time its delay ends, for ever.
test('a request that the queue would refuse is refused at once', () => {
  const clock = new FakeClock();
  const debounce = debounceOf(clock, () => true);
  for (const half of [{ namespace: 'a' }, { name: 'a' }])
    expect(() => debounce.add(half as never, 0)).toThrow(/request/);
  expect(() => debounce.add(requestOf('a'), 0.5)).toThrow(/priority/);
  expect([debounce.size, clock.timers()]).toEqual([0, 0]);
});

test('a request that a full queue refuses is added again, and does not delay others', async () => {
  const clock = new FakeClock();
  const released: string[] = [];
  let full = true;
  const debounce = debounceOf(clock, ({ name }) => {
    if (name === 'a' && full) throw new Error('full');
    return released.push(`${name}@${clock.now()}`) > 0;
  });
  debounce.add(requestOf('a'), 0);
  debounce.add(requestOf('b'), 0);
  await clock.run(150);
  expect(released).toEqual(['b@100']);
  full = false;
  await clock.run(50);
  expect(released).toEqual(['b@100', 'a@200']);
  expect(reported).toHaveLength(1);
  expect([debounce.size, clock.timers()]).toEqual([0, 0]);
});

test('of a waiting and a handed-out request the higher priority counts', async () => {
  const clock = new FakeClock();
  const released: string[] = [];
  const debounce = debounceOf(
    clock,
    ({ name }, priority) => released.push(`${name} ${priority}`) > 0,
  );
  debounce.add(requestOf('a'), 0);
  debounce.add(requestOf('b'), 0);
  expect([debounce.holds(requestOf('a'), 5), debounce.holds(requestOf('b'), -5)]).toEqual([
    true,
    true,
  ]);
  expect(debounce.holds(requestOf('c'), 0)).toBe(false);
  await clock.run(100);
  expect(released).toEqual(['a 5', 'b 0']);
});

test('after stop it holds nothing, and starts again with new adds', async () => {
  const clock = new FakeClock();
  const released: string[] = [];
  const debounce = debounceOf(clock, ({ name }) => released.push(`${name}@${clock.now()}`) > 0);
  debounce.add(requestOf('a'), 0);
  debounce.stop();
  expect([debounce.size, [...debounce.entries()], debounce.holds(requestOf('a'), 0)]).toEqual([
    0,
    [],
    false,
  ]);
  debounce.add(requestOf('b'), 0);
  await clock.run(1000);
  expect(released).toEqual(['b@100']);
});

// An object that changed more often than debounceMs was never reconciled.
for (const usePriorityQueue of [true, false]) {
  describe(`a request that is always added again still runs (${usePriorityQueue})`, () => {
    const busy = async ({ clock, source }: ReturnType<typeof rig>, ms: number) => {
      for (const end = clock.now() + ms; clock.now() < end; await clock.run(30)) source.add('a');
    };

    test('every ten times debounceMs by default', async () => {
      const played = rig(undefined, { debounceMs: 100, usePriorityQueue });
      await played.start();
      await busy(played, 3000);
      // the next delay begins with the first event after a reconcile
      expect(played.calls).toEqual(['a@1000', 'a@2020']);
      await played.clock.run(1000);
      expect(played.calls).toHaveLength(3);
      expect(played.clock.timers()).toBe(0);
    });

    test('every debounceMaxMs, whatever else waits', async () => {
      const played = rig(undefined, { debounceMs: 100, debounceMaxMs: 250, usePriorityQueue });
      await played.start();
      played.source.add('b');
      await busy(played, 600);
      await played.clock.run(1000);
      expect(played.calls).toEqual(['b@100', 'a@250', 'a@520', 'a@670']);
    });

    test('also if it fails and its retries become due in between', async () => {
      const played = rig(reconcileResults({ a: Array.from({ length: 9 }, () => fail) }), {
        debounceMs: 100,
        debounceMaxMs: 250,
        usePriorityQueue,
      });
      await played.start();
      await busy(played, 1200);
      const times = played.calls.map((call) => Number(call.split('@')[1]));
      expect(times.length).toBeGreaterThanOrEqual(4);
      for (const [i, at] of times.entries())
        expect(at - (times[i - 1] ?? 0), `${times}`).toBeLessThanOrEqual(280);
    });

    test('also if it is added each time while it waits in the queue for a worker', async () => {
      const played = rig(
        ({ name }) => {
          if (name === 'a') return undefined;
          return new Promise((resolve) => played.clock.setTimer(() => resolve(undefined), 90));
        },
        { debounceMs: 20, debounceMaxMs: 200, usePriorityQueue },
      );
      const { clock, source, calls } = played;
      await played.start();
      // The only worker is rarely free, and the key changes after each delay.
      while (clock.now() < 3000) {
        source.add('other', { after: 1 });
        source.add('a');
        await clock.run(30);
      }
      const mine = calls.filter((call) => call.startsWith('a@'));
      expect(mine.length, `${calls}`).toBeGreaterThanOrEqual(8);
      await clock.run(1000);
    });
  });
}

test('a request that a full queue drops is not kept, and waits again', async () => {
  const played = rig(undefined, {
    debounceMs: 100,
    newQueue: (_, limiter) =>
      new RateLimitingQueue<Request>(limiter, {
        key: requestKey,
        clock: played.clock,
        maxDepth: 1,
        whenFull: 'drop',
      }),
  });
  const { source, calls, start, clock } = played;
  await start();
  source.add('x', { after: 5000 });
  source.add('a');
  await clock.run(3000);
  expect(calls).toEqual([]);
  source.add('x');
  await clock.run(3000);
  source.add('a');
  await clock.run(99);
  expect(calls.filter((call) => call.startsWith('a@'))).toEqual([]);
  await clock.run(1);
  expect(calls.at(-1)).toBe('a@6100');
});

test('debounceMaxMs must be a time that is not shorter than debounceMs', () => {
  expect(() => rig(undefined, { debounceMs: 100, debounceMaxMs: 99 })).toThrow(
    /"options\.debounceMaxMs" expected at least the 100 ms of debounceMs, got 99/,
  );
  expect(() => rig(undefined, { debounceMaxMs: Number.NaN })).toThrow(/options\.debounceMaxMs/);
});

test('the option must be a time', () => {
  expect(() => rig(undefined, { debounceMs: -1 })).toThrow(
    /"options\.debounceMs" expected milliseconds >= 0, got -1/,
  );
});
