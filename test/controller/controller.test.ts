import { defineResource, TransportError } from 'capstan/cache';
import {
  type ControllerOptions,
  createController,
  type Result,
  TerminalError,
} from 'capstan/controller';
import {
  CapstanError,
  FakeClock,
  type MetricsProvider,
  type RateLimiter,
  type Request,
} from 'capstan/workqueue';
import { afterEach, describe, expect, test } from 'vitest';
import { sharedCore } from '../../bindings/wasm/core.ts';
import { FakeCluster, type TestObject } from '../helpers/controller/fake-cluster.ts';
import { Disc, Part, testWidget } from '../helpers/controller/resources.ts';
import { collectErrors } from '../helpers/reported-errors.ts';

const Widget = defineResource<TestObject>()({
  group: 'example.com',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  namespaced: true,
  indexers: { byColour: 'spec.colour' },
});

const part = (name: string, owners: object[], namespace = 'default'): TestObject => ({
  metadata: { name, namespace, ownerReferences: owners },
});
const ownedBy = (name: string, more: object = {}) => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  name,
  uid: 'u',
  controller: true,
  ...more,
});

const reported = collectErrors();
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()));
});

type Reconcile = ControllerOptions<TestObject>['reconcile'];
type Context = Parameters<Reconcile>[1];

/**
 * A controller on a fake cluster in virtual time. `calls` are the requests in order, as
 * "namespace/name@milliseconds".
 */
function setup(reconcile: Reconcile, options: Partial<ControllerOptions<TestObject>> = {}) {
  const cluster = new FakeCluster();
  const clock = new FakeClock();
  const calls: string[] = [];
  const controller = createController<TestObject>({
    transport: cluster,
    for: Widget,
    clock,
    ...options,
    reconcile(request, context) {
      calls.push(`${request.namespace}/${request.name}@${clock.now()}`);
      return reconcile(request, context);
    },
  });
  stops.push(() => controller.stop());
  const errors: unknown[] = [];
  /** Resolves at the end of the run in any case; `errors` has what it rejected with. */
  const start = (signal?: AbortSignal): Promise<unknown> =>
    controller.run({ signal }).catch((error: unknown) => errors.push(error));
  return { cluster, clock, calls, controller, start, errors };
}

const messages = () => reported.map(({ error }) => (error as Error).message);

describe('requests', () => {
  test('come from the initial list, from additions, updates and deletions', async () => {
    const seen: (string | undefined)[] = [];
    const { cluster, clock, calls, start } = setup((request, { get }) => {
      seen.push(get(request)?.spec?.colour as string | undefined);
    });
    cluster.put('widgets', testWidget('a', 'default', { colour: 'red' }));
    void start();
    await clock.settle();
    cluster.put('widgets', testWidget('b', 'other', { colour: 'blue' }));
    await clock.settle();
    cluster.put('widgets', testWidget('a', 'default', { colour: 'green' }));
    await clock.settle();
    cluster.remove('widgets', 'b', 'other');
    await clock.settle();
    expect(calls).toEqual(['default/a@0', 'other/b@0', 'default/a@0', 'other/b@0']);
    expect(seen).toEqual(['red', 'blue', 'green', undefined]);
  });

  test('stay within the namespace of the options, for owned resources too', async () => {
    const { cluster, clock, calls, start } = setup(() => undefined, {
      namespace: 'mine',
      owns: [Part, Disc],
    });
    cluster.put('widgets', testWidget('a', 'mine'));
    cluster.put('widgets', testWidget('a', 'other'));
    void start();
    await clock.settle();
    cluster.put('parts', part('p', [ownedBy('z')], 'other'));
    cluster.put('parts', part('p', [ownedBy('y')], 'mine'));
    await clock.settle();
    expect(calls).toEqual(['mine/a@0', 'mine/y@0']);
    expect(cluster.requests.map(({ path }) => path)).toContain('/api/v1/discs');
  });

  test('of cluster scoped objects have an empty namespace, and get finds them', async () => {
    const found: unknown[] = [];
    const { cluster, clock, calls, start } = setup(
      (request, { get }) => void found.push(get(request)?.metadata.name),
      {
        for: Disc,
      },
    );
    cluster.put('discs', { metadata: { name: 'd' } });
    void start();
    await clock.settle();
    expect(calls).toEqual(['/d@0']);
    expect(found).toEqual(['d']);
  });

  test('are objects: get refuses a key as text', async () => {
    const errors: unknown[] = [];
    const { cluster, clock, start } = setup((_request, { get }) => {
      for (const wrong of ['default/w', undefined, null, {}, { name: 5 }]) {
        try {
          get(wrong as never);
        } catch (error) {
          errors.push((error as { code?: string }).code);
        }
      }
    });
    cluster.put('widgets', { metadata: { namespace: 'default', name: 'w' } });
    void start();
    await clock.settle();
    expect(errors).toEqual(Array(5).fill('INVALID_ARGUMENT'));
  });

  test('added while the same request is reconciled lead to one more reconcile', async () => {
    const gate = Promise.withResolvers<void>();
    let running = 0;
    let most = 0;
    const { cluster, clock, calls, start } = setup(
      async () => {
        most = Math.max(most, ++running);
        await gate.promise;
        running--;
      },
      { maxConcurrentReconciles: 4 },
    );
    cluster.put('widgets', testWidget('a'));
    void start();
    await clock.settle();
    for (let i = 0; i < 5; i++) cluster.put('widgets', testWidget('a', 'default', { i }));
    await clock.settle();
    expect(calls).toHaveLength(1);
    gate.resolve();
    await clock.settle();
    expect(calls).toHaveLength(2);
    expect(most).toBe(1);
  });
});

describe('owned resources', () => {
  test('lead to the request of their controller owner, by group and kind', async () => {
    const { cluster, clock, calls, start } = setup(() => undefined, { owns: [Part] });
    cluster.put('parts', part('initial', [ownedBy('a')]));
    void start();
    await clock.settle();
    cluster.put('parts', part('v2', [ownedBy('b', { apiVersion: 'example.com/v2' })]));
    cluster.put('parts', part('not-controller', [ownedBy('c', { controller: false })]));
    cluster.put('parts', part('other-group', [ownedBy('d', { apiVersion: 'example.org/v1' })]));
    cluster.put('parts', part('other-kind', [ownedBy('e', { kind: 'Gadget' })]));
    cluster.put('parts', part('core-group', [ownedBy('f', { apiVersion: 'v1' })]));
    cluster.put('parts', part('none', []));
    cluster.put('parts', part('second', [ownedBy('g', { controller: false }), ownedBy('h')]));
    await clock.settle();
    expect(calls).toEqual(['default/a@0', 'default/b@0', 'default/h@0']);
    expect(reported).toEqual([]);
  });

  test('lead to the old and the new owner when the owner changes', async () => {
    const { cluster, clock, calls, start } = setup(() => undefined, { owns: [Part] });
    void start();
    await clock.settle();
    cluster.put('parts', part('p', [ownedBy('old')]));
    await clock.settle();
    cluster.put('parts', part('p', [ownedBy('new')]));
    await clock.settle();
    cluster.remove('parts', 'p');
    await clock.settle();
    expect(calls).toEqual(['default/old@0', 'default/old@0', 'default/new@0', 'default/new@0']);
  });

  test('of a cluster scoped owner lead to a request without a namespace', async () => {
    const owner = { apiVersion: 'v1', kind: 'Disc', name: 'd', uid: 'u', controller: true };
    const { cluster, clock, calls, start } = setup(() => undefined, { for: Disc, owns: [Part] });
    cluster.put('parts', part('p', [owner], 'somewhere'));
    void start();
    await clock.settle();
    expect(calls).toEqual(['/d@0']);
  });

  test('with an owner reference that cannot be parsed are reported', async () => {
    const { cluster, clock, calls, start } = setup(() => undefined, { owns: [Part] });
    void start();
    await clock.settle();
    cluster.put('parts', part('bad', [ownedBy('a', { apiVersion: 'a/b/c' })]));
    cluster.put('parts', part('good', [ownedBy('b')]));
    await clock.settle();
    expect(calls).toEqual(['default/b@0']);
    expect(messages()).toEqual([
      expect.stringMatching(/default\/bad.*expected an apiVersion.*"a\/b\/c"/),
    ]);
  });
});

describe('get', () => {
  test('reads the caches of the reconciled and owned resources only', async () => {
    const seen: unknown[] = [];
    const { cluster, clock, start } = setup(
      (request, { get }) => {
        seen.push(
          get(request)?.metadata.name,
          get(request, Widget)?.metadata.name,
          get(request, Part)?.metadata.name,
        );
        seen.push(
          get({ namespace: '', name: 'd' }, Disc)?.metadata.name,
          get({ namespace: 'no', name: 'p' }, Part),
        );
        get(request, { ...Part });
      },
      { owns: [Part, Disc] },
    );
    cluster.put('widgets', testWidget('a'));
    cluster.put('parts', part('a', []));
    cluster.put('discs', { metadata: { name: 'd' } });
    void start();
    await clock.settle();
    expect(seen).toEqual(['a', 'a', 'a', 'd', undefined]);
    expect(messages()).toEqual([
      '"resource" expected a resource that "widget" watches, got an object',
    ]);
  });

  test('shares one cache and one watch if a resource is reconciled and owned', async () => {
    const { cluster, clock, calls, start } = setup(() => undefined, { owns: [Widget] });
    cluster.put('widgets', {
      ...testWidget('child'),
      metadata: { ...part('child', [ownedBy('parent')]).metadata },
    });
    void start();
    await clock.settle();
    expect(cluster.watches()).toBe(1);
    expect(calls).toEqual(['default/child@0', 'default/parent@0']);
  });
});

describe('the start', () => {
  test('reconciles nothing before every cache has synced, owned ones too', async () => {
    const { cluster, clock, calls, start } = setup(() => undefined, { owns: [Part] });
    const hold = Promise.withResolvers<void>();
    cluster.holdLists.set('parts', hold.promise);
    cluster.put('widgets', testWidget('a'));
    void start();
    await clock.settle();
    cluster.put('widgets', testWidget('b'));
    await clock.run(5000);
    expect(calls).toEqual([]);
    hold.resolve();
    await clock.run(200);
    // a change comes before the initial list
    expect(calls.map((call) => call.split('@')[0])).toEqual(['default/b', 'default/a']);
  });

  test('reconciles nothing before the handlers have seen the whole initial list', async () => {
    // A clock that advances each time it is read, so that each delivery of a handler exceeds its
    // time slice.
    const clock = new FakeClock();
    let now = 0;
    clock.now = () => ++now;
    let queued = 0;
    const ignored = {
      inc: () => undefined,
      dec: () => undefined,
      set: () => undefined,
      observe: () => undefined,
    };
    const metricsProvider: MetricsProvider = {
      newDepthMetric: () => ignored,
      newAddsMetric: () => ({ inc: () => void queued++ }),
      newLatencyMetric: () => ignored,
      newWorkDurationMetric: () => ignored,
      newUnfinishedWorkSecondsMetric: () => ignored,
      newLongestRunningProcessorSecondsMetric: () => ignored,
      newRetriesMetric: () => ignored,
    };
    const first = Promise.withResolvers<number>();
    const { cluster, start } = setup(() => first.resolve(queued), { clock, metricsProvider });
    for (let i = 0; i < 100; i++) cluster.put('widgets', testWidget(`w${i}`));
    void start();
    expect(await first.promise).toBe(100);
  });

  test('reconciles what comes after a long wait in one turn of the event loop', async () => {
    const order: string[] = [];
    const { cluster, clock, start } = setup(({ name }) => {
      order.push(name);
      if (name === 'a') setImmediate(() => order.push('turn'));
    });
    void start();
    await clock.run(100);
    clock.step(60_000);
    cluster.put('widgets', testWidget('a'));
    cluster.put('widgets', testWidget('b'));
    await clock.settle();
    expect(order).toEqual(['a', 'b', 'turn']);
  });

  test('fails after cacheSyncTimeout with an error that names what is missing', async () => {
    const { cluster, clock, calls, start, errors } = setup(() => undefined, {
      owns: [Part],
      cacheSyncTimeout: 3000,
    });
    cluster.holdLists.set('parts', new Promise(() => undefined));
    cluster.put('widgets', testWidget('a'));
    void start();
    await clock.run(2999);
    expect(errors).toEqual([]);
    await clock.run(1);
    expect(errors).toEqual([
      expect.objectContaining({
        code: 'CACHE_SYNC_TIMEOUT',
        message: expect.stringContaining('parts.apps'),
      }),
    ]);
    expect(String(errors[0])).not.toContain('widgets');
    expect(calls).toEqual([]);
    expect(cluster.watches()).toBe(0);
    expect(clock.timers()).toBe(0);
  });

  test('waits two minutes by default', async () => {
    const { cluster, clock, start, errors } = setup(() => undefined);
    cluster.holdLists.set('widgets', new Promise(() => undefined));
    void start();
    await clock.run(119_999);
    expect(errors).toEqual([]);
    await clock.run(1);
    expect(errors).toHaveLength(1);
  });

  test('a second time rejects with ALREADY_STARTED, also after the end', async () => {
    const { clock, controller, start } = setup(() => undefined);
    void start();
    await clock.settle();
    await expect(controller.run()).rejects.toMatchObject({ code: 'ALREADY_STARTED' });
    await controller.stop();
    await expect(controller.run()).rejects.toMatchObject({ code: 'ALREADY_STARTED' });
  });

  test('with wrong options throws INVALID_ARGUMENT that names the option', () => {
    const good: ControllerOptions<TestObject> = {
      transport: new FakeCluster(),
      for: Widget,
      reconcile: () => undefined,
    };
    const wrong: [object, RegExp][] = [
      [{ reconcile: undefined }, /"options\.reconcile" expected a function/],
      [{ transport: {} }, /"options\.transport\.request" expected a function/],
      [{ transport: undefined }, /"options\.transport\.request" expected a function/],
      [
        { maxConcurrentReconciles: 0 },
        /"options\.maxConcurrentReconciles" expected an integer >= 1, got 0/,
      ],
      [{ maxConcurrentReconciles: 1.5 }, /integer/],
      [
        { cacheSyncTimeout: Number.NaN },
        /"options\.cacheSyncTimeout" expected milliseconds >= 0, got NaN/,
      ],
      [
        { reconciliationTimeout: -1 },
        /"options\.reconciliationTimeout" expected milliseconds >= 0, got -1/,
      ],
      [{ owns: [undefined as never] }, /"options\.owns\[0\]" expected what defineResource returns/],
      [{ clock: {} as never }, /"options\.clock\.now" expected a function/],
      [
        { reconciliationTimeout: 'soon' },
        /"options\.reconciliationTimeout" expected milliseconds >= 0, got "soon"/,
      ],
      [{ usePriorityQueue: 1 }, /"options\.usePriorityQueue" expected true or false/],
      [{ owns: Part }, /"options\.owns" expected an array/],
      [{ name: 7 }, /"options\.name" expected a string, got 7/],
      [{ rateLimiter: {} }, /"options\.rateLimiter\.when" expected a function/],
      [{ clock: {} }, /clock/],
      [{ metrics: {} }, /"options\.metrics" expected a ControllerMetrics/],
      [{ for: Disc, namespace: 'n' }, /namespace/],
    ];
    for (const [options, message] of wrong) {
      expect(
        () => createController({ ...good, ...options } as ControllerOptions<TestObject>),
        String(message),
      ).toThrow(message);
    }
    expect(() => createController(undefined as never)).toThrow(/"options" expected an object/);
    for (const usePriorityQueue of [true, false, undefined])
      expect(() => createController({ ...good, usePriorityQueue })).not.toThrow();
  });
});

describe('the outcome', () => {
  /**
   * Runs one request through a list of results, and returns when it was reconciled and with which
   * attempt.
   */
  async function times(
    answers: (() => Result | undefined | Promise<Result>)[],
    ms: number,
    more = {},
  ) {
    const attempts: number[] = [];
    let i = 0;
    const { cluster, clock, calls, start } = setup((_, { attempt }) => {
      attempts.push(attempt);
      return answers[i++]?.();
    }, more);
    cluster.put('widgets', testWidget('a'));
    void start();
    await clock.run(ms);
    return { at: calls.map((call) => Number(call.split('@')[1])), attempts, clock, cluster };
  }
  const fail = () => {
    throw new Error('not yet');
  };

  test('error: retried after 5 ms, doubled each time; success resets the failures', async () => {
    const { at, attempts, cluster, clock } = await times(
      [fail, fail, fail, fail, () => ({}), fail],
      1000,
    );
    expect(at).toEqual([0, 5, 15, 35, 75]);
    expect(attempts).toEqual([1, 2, 3, 4, 5]);
    expect(messages()).toEqual(Array(4).fill('not yet'));
    expect(reported[0]?.what).toBe('controller "widget": reconcile of default/a');
    cluster.put('widgets', testWidget('a'));
    await clock.run(4);
    expect(attempts).toEqual([1, 2, 3, 4, 5, 1]);
    await clock.run(1);
    expect(attempts).toEqual([1, 2, 3, 4, 5, 1, 2]);
  });

  test('error: the delay grows to at most 1000 s', async () => {
    const { at } = await times(Array(22).fill(fail), 4_000_000);
    const delays = at.map((time, i) => time - (at[i - 1] ?? 0));
    expect(delays.slice(0, 4)).toEqual([0, 5, 10, 20]);
    expect(delays.at(-1)).toBe(1_000_000);
    expect(delays.at(-2)).toBe(1_000_000);
    expect(Math.max(...delays)).toBe(1_000_000);
  });

  test('a rejection, a synchronous throw and a thrown non-error count the same', async () => {
    const reject = () => Promise.reject(new Error('later'));
    const { at } = await times(
      [reject, fail, () => Promise.reject('a string'), () => Promise.reject(undefined)],
      200,
    );
    expect(at).toEqual([0, 5, 15, 35, 75]);
  });

  test('requeue: comes again as after an error, but is not one', async () => {
    const { at, attempts } = await times(
      [() => ({ requeue: true }), () => ({ requeue: true })],
      1000,
    );
    expect(at).toEqual([0, 5, 15]);
    expect(attempts).toEqual([1, 2, 3]);
    expect(reported).toEqual([]);
  });

  test('requeueAfter: comes again after exactly that time, and resets the failures', async () => {
    const { at, attempts } = await times(
      [fail, fail, () => ({ requeueAfter: 300, requeue: true }), fail],
      1000,
    );
    expect(at).toEqual([0, 5, 15, 315, 320]);
    expect(attempts).toEqual([1, 2, 3, 1, 2]);
  });

  test('requeueAfter of 0 or less has no effect', async () => {
    expect((await times([() => ({ requeueAfter: 0 })], 100)).at).toEqual([0]);
    expect((await times([() => ({ requeueAfter: -5, requeue: true })], 100)).at).toEqual([0, 5]);
  });

  test.each([
    ['and a change starts it anew', true, 1100],
    ['and without the priority queue goes on beside it', false, 1000],
  ])(
    'requeueAfter does not hold up a change that comes earlier, %s',
    async (_, usePriorityQueue, next) => {
      const { clock, cluster, calls, start } = setup(() => ({ requeueAfter: 1000 }), {
        usePriorityQueue,
      });
      cluster.put('widgets', testWidget('a'));
      void start();
      await clock.run(100);
      cluster.put('widgets', testWidget('a'));
      await clock.run(next - 101);
      expect(calls).toEqual(['default/a@0', 'default/a@100']);
      await clock.run(1);
      expect(calls).toEqual(['default/a@0', 'default/a@100', `default/a@${next}`]);
    },
  );

  test('a terminal error: is neither retried nor forgotten, and is reported', async () => {
    const terminal = () => {
      throw new TerminalError('no such image', { cause: new Error('404') });
    };
    const { at, attempts, cluster, clock } = await times([fail, terminal, fail], 100_000);
    expect(at).toEqual([0, 5]);
    expect(messages()).toEqual(['not yet', 'no such image']);
    expect(reported[1]?.error).toMatchObject({
      name: 'TerminalError',
      code: 'TERMINAL',
      cause: { message: '404' },
    });
    cluster.put('widgets', testWidget('a'));
    await clock.run(9);
    expect(attempts).toEqual([1, 2, 2]);
    await clock.run(1);
    expect(attempts).toEqual([1, 2, 2, 3]);
  });

  test('a terminal error in the cause chain counts, also in a circular chain', async () => {
    const wrapped = () => {
      throw new Error('while applying', { cause: new TerminalError('no such image') });
    };
    expect((await times([wrapped], 1000)).at).toEqual([0]);
    const circle = () => {
      const error = new Error('a');
      error.cause = new Error('b', { cause: error });
      throw error;
    };
    expect((await times([circle], 10)).at).toEqual([0, 5]);
  });

  test('a result of the wrong shape is a failure that names what was expected', async () => {
    const wrong = [
      'later',
      5,
      { requeue: 'yes' },
      { requeueAfter: '5s' },
      { requeueAfter: Number.NaN },
      { priority: 0.5 },
    ];
    const { at } = await times(
      wrong.map((answer) => () => answer as Result),
      1000,
    );
    expect(at).toEqual([0, 5, 15, 35, 75, 155, 315]);
    expect(
      reported.every(
        ({ error }) => error instanceof CapstanError && error.code === 'INVALID_ARGUMENT',
      ),
    ).toBe(true);
    expect(messages()).toEqual([
      '"result" expected nothing or { requeue?, requeueAfter?, priority? }, got "later"',
      '"result" expected nothing or { requeue?, requeueAfter?, priority? }, got 5',
      '"result.requeue" expected a boolean, got "yes"',
      '"result.requeueAfter" expected milliseconds, got "5s"',
      '"result.requeueAfter" expected milliseconds, got NaN',
      '"result.priority" expected an integer of 32 bits, got 0.5',
    ]);
  });

  test('null, a priority and undefined members are success', async () => {
    const fine = [null, { priority: -100 }, { other: undefined }] as unknown as Result[];
    for (const answer of fine) expect((await times([() => answer], 100)).at).toEqual([0]);
    expect(reported).toEqual([]);
  });

  test('of one request does not touch the others', async () => {
    const { cluster, clock, calls, start } = setup(({ name }) => {
      if (name === 'bad') throw new Error('always');
    });
    for (const name of ['a', 'bad', 'b']) cluster.put('widgets', testWidget(name));
    void start();
    await clock.run(16);
    expect(calls).toEqual([
      'default/a@0',
      'default/bad@0',
      'default/b@0',
      'default/bad@5',
      'default/bad@15',
    ]);
  });

  test('comes from the rate limiter of the options', async () => {
    const requested: string[] = [];
    const rateLimiter: RateLimiter<Request> = {
      when({ name }) {
        requested.push(`when ${name}`);
        return 42;
      },
      forget: ({ name }) => void requested.push(`forget ${name}`),
      numRequeues: () => 6,
    };
    const { at, attempts } = await times([fail], 1000, { rateLimiter });
    expect(at).toEqual([0, 42]);
    expect(attempts).toEqual([7, 7]);
    expect(requested).toEqual(['when a', 'forget a']);
  });

  test('is not lost with a rate limiter that throws: it comes again after 1 s', async () => {
    const broken = () => {
      throw new Error('limiter broken');
    };
    const { at } = await times([fail], 5000, {
      rateLimiter: { when: broken, forget: broken, numRequeues: () => 0 },
    });
    expect(at).toEqual([0, 1000]);
    expect(messages()).toEqual(['limiter broken', 'not yet', 'limiter broken']);
  });
});

describe('workers', () => {
  test('are as many as maxConcurrentReconciles, one by default', async () => {
    for (const [options, expected] of [
      [{}, 1],
      [{ maxConcurrentReconciles: 3 }, 3],
    ] as const) {
      const gate = Promise.withResolvers<void>();
      const { cluster, clock, calls, start } = setup(() => gate.promise, options);
      for (let i = 0; i < 10; i++) cluster.put('widgets', testWidget(`w${i}`));
      void start();
      await clock.settle();
      expect(calls).toHaveLength(expected);
      gate.resolve();
      await clock.settle();
      expect(calls).toHaveLength(10);
    }
  });

  test('yield to the event loop even if no reconcile ever awaits', async () => {
    // Workers that only pass through promise reactions blocked timers and sockets until the queue
    // was empty.
    let turns = 0;
    // each reconcile takes a millisecond
    const { cluster, clock, start, calls } = setup(() => clock.step(1));
    for (let i = 0; i < 500; i++) cluster.put('widgets', testWidget(`w${i}`));
    let done = false;
    const turn = () => {
      turns++;
      if (!done) setImmediate(turn);
    };
    void start();
    turn();
    while (calls.length < 500) await clock.settle();
    done = true;
    expect(turns).toBeGreaterThan(500 / 5);
  });
});

test('an error of the queue itself ends the controller: run rejects with it', async () => {
  const clock = new FakeClock();
  const broken = new CapstanError('POISONED', 'the core has trapped');
  const now = clock.now.bind(clock);
  let failures = 0;
  clock.now = () => {
    if (failures-- > 0) throw broken; // each delayed add reads the clock
    return now();
  };
  const slow = Promise.withResolvers<void>();
  const { cluster, start, errors } = setup(
    async ({ name }) => {
      if (name === 'slow') return slow.promise;
      failures = 2; // the delay after the error, and the one that replaces it
      throw new Error('not yet');
    },
    { clock, maxConcurrentReconciles: 2 },
  );
  for (const name of ['slow', 'a', 'never']) cluster.put('widgets', testWidget(name));
  void start();
  await clock.settle();
  expect(errors).toEqual([]);
  slow.resolve();
  await clock.settle();
  expect(errors).toEqual([broken]);
  expect(cluster.watches()).toBe(0);
});

// The queue refused the shutdown within the listener of the signal, where only the host could catch
// the error.
test.each(['its signal', 'stop'])(
  'a poisoned queue keeps no controller from ending by %s',
  async (by) => {
    const { cluster, clock, controller, start, errors } = setup(() => undefined);
    cluster.holdLists.set('widgets', new Promise(() => undefined));
    const ends = new AbortController();
    const ended = start(ends.signal);
    await clock.settle();
    const uncaught: unknown[] = [];
    const onUncaught = (error: unknown): void => void uncaught.push(error);
    const before = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException').on('uncaughtException', onUncaught);
    try {
      const core = sharedCore();
      core.trapped(new WebAssembly.RuntimeError('unreachable'));
      if (by === 'stop') await controller.stop();
      else ends.abort();
      await ended;
      await clock.settle();
    } finally {
      process.removeAllListeners('uncaughtException');
      for (const listener of before) process.on('uncaughtException', listener);
    }
    expect([uncaught, errors]).toEqual([[], []]);
    expect([cluster.watches(), clock.timers()]).toEqual([0, 0]);
  },
);

describe('a reconcile that takes too long', () => {
  test('is aborted, is awaited, and its outcome counts', async () => {
    const reasons: unknown[] = [];
    const gate = Promise.withResolvers<void>();
    const { cluster, clock, calls, start } = setup(
      async (_, { signal }) => {
        signal.addEventListener('abort', () => reasons.push(signal.reason));
        await gate.promise;
        signal.throwIfAborted();
      },
      { reconciliationTimeout: 50 },
    );
    cluster.put('widgets', testWidget('a'));
    void start();
    await clock.run(49);
    expect(reasons).toEqual([]);
    await clock.run(1);
    expect(reasons).toEqual([
      expect.objectContaining({ code: 'TIMEOUT', message: expect.stringContaining('default/a') }),
    ]);
    await clock.run(1000);
    expect(calls).toHaveLength(1);
    gate.resolve();
    await clock.run(5);
    expect(calls).toEqual(['default/a@0', 'default/a@1055']);
    expect(reported[0]?.error).toMatchObject({ code: 'TIMEOUT' });
  });

  test('leaves no timer behind when it ends in time', async () => {
    const { cluster, clock, controller, start } = setup(() => undefined, {
      reconciliationTimeout: 50,
    });
    for (let i = 0; i < 10; i++) cluster.put('widgets', testWidget(`w${i}`));
    void start();
    await clock.settle();
    await controller.stop();
    expect(clock.timers()).toBe(0);
  });
});

describe('the stop', () => {
  test('waits for running requests, not for queued ones', async () => {
    const gate = Promise.withResolvers<void>();
    const { cluster, clock, calls, controller, start } = setup(() => gate.promise, {
      maxConcurrentReconciles: 2,
    });
    for (let i = 0; i < 5; i++) cluster.put('widgets', testWidget(`w${i}`));
    const run = start();
    await clock.settle();
    let stopped = false;
    const stop = controller.stop().then(() => {
      stopped = true;
    });
    await clock.settle();
    expect(stopped).toBe(false);
    gate.resolve();
    await stop;
    await run;
    await clock.settle();
    expect(calls).toHaveLength(2);
    expect(cluster.watches()).toBe(0);
    expect(clock.timers()).toBe(0);
  });

  test('by the signal of run is the same, and is no error', async () => {
    const abort = new AbortController();
    const { cluster, clock, start, errors } = setup(() => undefined);
    cluster.put('widgets', testWidget('a'));
    const run = start(abort.signal);
    await clock.settle();
    abort.abort();
    await run;
    expect(errors).toEqual([]);
    expect(cluster.watches()).toBe(0);
  });

  test('fires the signals of running reconciles, whose aborts are no failures', async () => {
    const ends: ((signal: AbortSignal) => unknown)[] = [
      (signal) => signal.reason,
      () => new DOMException('gone', 'AbortError'),
      (signal) =>
        new Error('GET /x failed', {
          cause: new TransportError('aborted', 'GET /x', { cause: signal.reason }),
        }),
      () => new Error('a real failure'),
    ];
    const { cluster, clock, controller, start } = setup(
      ({ name }, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(ends[Number(name)]?.(signal)));
        }),
      { maxConcurrentReconciles: 4 },
    );
    for (let i = 0; i < 4; i++) cluster.put('widgets', testWidget(String(i)));
    void start();
    await clock.settle();
    await controller.stop();
    expect(messages()).toEqual(['a real failure']);
  });

  test('while the caches fill ends run without an error', async () => {
    const { cluster, clock, controller, start, errors } = setup(() => undefined);
    cluster.holdLists.set('widgets', new Promise(() => undefined));
    void start();
    await clock.settle();
    await controller.stop();
    expect(errors).toEqual([]);
    expect(clock.timers()).toBe(0);
  });

  test('before the start, and repeated, only makes run end at once', async () => {
    const { cluster, controller, calls } = setup(() => undefined);
    cluster.put('widgets', testWidget('a'));
    await controller.stop();
    await controller.stop();
    await controller.run();
    expect(calls).toEqual([]);
    expect(cluster.requests).toEqual([]);
  });

  test('with a signal that has fired already starts nothing', async () => {
    const { cluster, controller } = setup(() => undefined);
    await controller.run({ signal: AbortSignal.abort() });
    expect(cluster.requests).toEqual([]);
  });
});

test('the queue reports to the metrics provider under the name of the controller', async () => {
  const counts = new Map<string, number>();
  const names = new Set<string>();
  const metric = (what: string) => (name: string) => {
    names.add(name);
    const add = (by: number) => counts.set(what, (counts.get(what) ?? 0) + by);
    return { inc: () => add(1), dec: () => add(-1), set: () => undefined, observe: () => add(1) };
  };
  const metricsProvider: MetricsProvider = {
    newDepthMetric: metric('depth'),
    newAddsMetric: metric('adds'),
    newLatencyMetric: metric('latency'),
    newWorkDurationMetric: metric('work'),
    newUnfinishedWorkSecondsMetric: metric('unfinished'),
    newLongestRunningProcessorSecondsMetric: metric('longest'),
    newRetriesMetric: metric('retries'),
  };
  let failures = 2;
  const { cluster, clock, start } = setup(
    () => {
      if (failures-- > 0) throw new Error('not yet');
    },
    { metricsProvider, name: 'widgets' },
  );
  cluster.put('widgets', testWidget('a'));
  void start();
  await clock.run(100);
  expect([...names]).toEqual(['widgets']);
  expect(Object.fromEntries(counts)).toMatchObject({
    depth: 0,
    adds: 3,
    latency: 3,
    work: 3,
    retries: 2,
  });
});

test('types: a reconcile function may return nothing, a result, or a promise of either', () => {
  const transport = new FakeCluster();
  const answers: ControllerOptions<TestObject>['reconcile'][] = [
    () => undefined,
    () => {},
    async () => {},
    () => ({ requeueAfter: 1 }),
    async (request, { get }: Context) => (get(request) ? { requeue: true } : undefined),
    async (_, { attempt }): Promise<Result | ReturnType<() => void>> => {
      if (attempt > 1) return { requeueAfter: 5 };
    },
  ];
  for (const reconcile of answers)
    createController({ transport, for: Widget, owns: [Part, Disc], reconcile });
});
