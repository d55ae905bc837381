/**
 * Calls each user function of a controller and its informers with each misbehaviour: all objects
 * are still reconciled, and no rejection is unhandled. If the function is the only way to a request
 * and always fails, its row says so.
 */
import { defineResource, type FactoryOptions, newSharedInformerFactory } from 'capstan/cache';
import {
  type ControllerOptions,
  createController,
  enqueueRequestForObject,
  enqueueRequestsFromMapFunc,
  type HandlerQueue,
  type KindSourceOptions,
  kindSource,
  type Tracer,
} from 'capstan/controller';
import {
  FakeClock,
  ItemExponentialFailureRateLimiter,
  RateLimitingQueue,
  type Request,
  requestKey,
} from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { FakeCluster, type TestObject } from '../helpers/controller/fake-cluster.ts';
import { RecordingLogger } from '../helpers/controller/fake-manager.ts';
import { TestWidget, testWidget } from '../helpers/controller/resources.ts';
import { collectErrors } from '../helpers/reported-errors.ts';
import { RecordingProvider } from '../helpers/workqueue/recording-metrics.ts';
import { type Caller, MISBEHAVIOURS, type Misbehaviour, misbehaving } from './misbehaviours.ts';

const reported = collectErrors();

type Bad = <F extends (...args: never[]) => unknown>(good: F) => F;

interface Plan {
  controller?: Partial<ControllerOptions<TestObject>>;
  source?: Partial<KindSourceOptions<TestObject>>;
  factory?: FactoryOptions;
  indexers?: Record<string, (object: TestObject) => string[]>;
}

interface Row {
  /** The names of user-functions.ts. */
  readonly name: string;
  plan(bad: Bad, clock: FakeClock): Plan;
  /**
   * Misbehaviours during which nothing is reconciled, because requests come through the function.
   */
  readonly never?: readonly Misbehaviour[];
}

const ALWAYS: readonly Misbehaviour[] = [
  'throws always',
  'answers with rubbish',
  'answers with a promise that is rejected',
  'answers with a promise that never settles',
];
const request = ({ metadata }: TestObject): Request => ({
  namespace: metadata.namespace ?? '',
  name: metadata.name,
});
const order = () => {
  const items: Request[] = [];
  return {
    touch: () => undefined,
    push: (item: Request) => void items.push(item),
    len: () => items.length,
    pop: () => items.shift() as Request,
  };
};
const withOrder = (method: 'touch' | 'push' | 'len' | 'pop', bad: Bad, clock: FakeClock): Plan => ({
  controller: {
    newQueue: (_, limiter) => {
      const good = order();
      const queue = { ...good, [method]: bad(good[method] as () => unknown) } as typeof good;
      return new RateLimitingQueue<Request>(limiter, { key: requestKey, clock, queue });
    },
  },
});
const withLimiter = (method: 'when' | 'forget' | 'numRequeues', bad: Bad): Plan => {
  const inner = new ItemExponentialFailureRateLimiter<Request>(5, 1000, { key: requestKey });
  const good = {
    when: (item: Request) => inner.when(item),
    forget: (item: Request) => inner.forget(item),
    numRequeues: (item: Request) => inner.numRequeues(item),
  };
  let started = false;
  const failing = bad(good[method] as (item: Request) => never);
  // The start calls a limiter once, and fails if it throws for a request.
  const method1 = (item: Request): never => {
    if (!started && method === 'numRequeues') {
      started = true;
      return good[method](item) as never;
    }
    return failing(item);
  };
  return { controller: { rateLimiter: { ...good, [method]: method1 } } };
};
const withLogger = (level: 'debug' | 'info' | 'warn' | 'error', bad: Bad): Plan => {
  const logger = new RecordingLogger();
  const good = (message: string): void => void logger[level](message);
  return {
    controller: {
      logger: {
        ...{ debug: () => undefined, info: () => undefined, warn: () => undefined },
        error: () => undefined,
        [level]: bad(good),
      },
    },
  };
};
const withMetric = (name: keyof RecordingProvider & `new${string}`, bad: Bad): Plan => {
  const provider = new RecordingProvider();
  const made = provider[name].bind(provider) as (...args: never[]) => Record<string, () => unknown>;
  const failing = (...args: never[]): unknown => {
    const metric = made(...args);
    return Object.fromEntries(
      ['inc', 'dec', 'set', 'observe'].map((each) => [
        each,
        bad((...values: never[]) =>
          (metric[each] as ((...of: never[]) => unknown) | undefined)?.(...values),
        ),
      ]),
    );
  };
  Object.defineProperty(provider, name, { value: failing });
  return { controller: { metricsProvider: provider } };
};

const tracer = (bad: Bad): Tracer =>
  ({
    startActiveSpan: bad((...args: never[]) => {
      const span = { setAttributes() {}, setStatus() {}, recordException() {}, end() {} };
      return (args.at(-1) as unknown as (span: unknown) => unknown)(span);
    }),
  }) as unknown as Tracer;

const ROWS: readonly Row[] = [
  {
    name: 'Predicate.create',
    plan: (bad) => ({ source: { predicates: [{ create: bad(() => true) }] } }),
  },
  {
    name: 'EventHandler.create',
    plan: (bad) => ({
      source: {
        handler: {
          create: bad(({ object }: { object: TestObject }, queue: HandlerQueue) =>
            queue.add(request(object)),
          ),
        },
      },
    }),
    never: ALWAYS,
  },
  {
    name: 'enqueueRequestsFromMapFunc(map)',
    plan: (bad) => ({
      source: {
        handler: enqueueRequestsFromMapFunc(bad((object: TestObject) => [request(object)])),
      },
    }),
    never: ALWAYS,
  },
  {
    name: 'IndexSpec',
    plan: (bad) => ({ indexers: { mine: bad(({ metadata }: TestObject) => [metadata.name]) } }),
  },
  {
    name: 'FactoryOptions.transform',
    plan: (bad) => ({ factory: { transform: bad((object: object) => object) } }),
  },
  {
    name: 'ReflectorOptions.watchErrorHandler',
    plan: (bad) => ({ factory: { watchErrorHandler: bad(() => undefined) } }),
  },
  {
    name: 'ReflectorOptions.random',
    plan: (bad) => ({ factory: { random: bad(() => 0.5) } }),
  },
  ...(['touch', 'push', 'len', 'pop'] as const).map((method) => ({
    name: `QueueOrder.${method}`,
    plan: (bad: Bad, clock: FakeClock) => withOrder(method, bad, clock),
    never: { touch: [], push: ['throws always' as const], len: ALWAYS, pop: ALWAYS }[method],
  })),
  ...(['when', 'forget', 'numRequeues'] as const).map((method) => ({
    name: `RateLimiter.${method}`,
    plan: (bad: Bad) => withLimiter(method, bad),
  })),
  ...(['debug', 'info', 'warn', 'error'] as const).map((level) => ({
    name: `Logger.${level}`,
    plan: (bad: Bad) => withLogger(level, bad),
  })),
  {
    name: 'ControllerSettings.logConstructor',
    plan: (bad) => ({ controller: { logConstructor: bad(() => new RecordingLogger()) } }),
  },
  { name: 'Tracer.startActiveSpan', plan: (bad) => ({ controller: { tracer: tracer(bad) } }) },
  ...(
    [
      'newDepthMetric',
      'newAddsMetric',
      'newLatencyMetric',
      'newWorkDurationMetric',
      'newRetriesMetric',
    ] as const
  ).map((name) => ({ name: `MetricsProvider.${name}`, plan: (bad: Bad) => withMetric(name, bad) })),
];

describe.each(ROWS.map((row) => [row.name, row] as const))('%s', (_, row) => {
  test.each(MISBEHAVIOURS)('that %s loses no key', async (way) => {
    const clock = new FakeClock();
    const cluster = new FakeCluster();
    const stop = new AbortController();
    let ended = false;
    const world: Caller = {
      callBack: () => {
        void controller.report();
        cluster.put('widgets', testWidget('from-within'));
      },
      end: () => stop.abort(),
    };
    const calls: { called: number }[] = [];
    const bad: Bad = (good) => {
      const failing = misbehaving(good, way, world);
      calls.push(failing);
      return failing;
    };
    const { controller: options, source, factory: ofFactory, indexers } = row.plan(bad, clock);
    const resource = defineResource<TestObject>()({
      ...TestWidget,
      ...(indexers && { indexers }),
    });
    const factory = newSharedInformerFactory(cluster, { clock, random: () => 0.5, ...ofFactory });
    const failed = new Set<string>();
    const seen = new Set<string>();
    const controller = createController<TestObject>({
      transport: cluster,
      name: 'matrix',
      clock,
      maxConcurrentReconciles: 2,
      sources: [
        kindSource<TestObject>({
          ...{ cache: factory, resource, clock, handler: enqueueRequestForObject() },
          ...source,
        } as KindSourceOptions<TestObject>),
      ],
      // The first reconcile of each object fails, so that the limiter is called.
      reconcile: ({ name }) => {
        if (!failed.has(name)) {
          failed.add(name);
          throw new Error('the reconcile');
        }
        seen.add(name);
      },
      ...options,
    });
    cluster.put('widgets', testWidget('a'));
    const run = controller.run({ signal: stop.signal }).finally(() => {
      ended = true;
    });
    run.catch(() => undefined);
    await clock.settle();
    cluster.put('widgets', testWidget('b'));
    cluster.put('widgets', testWidget('c'));
    for (let i = 0; i < 70; i++) await clock.run(1_000);
    if (way === 'ends what it runs in') {
      if (calls.some(({ called }) => called > 0)) {
        expect([stop.signal.aborted, ended]).toEqual([true, true]);
      }
    } else if (row.never?.includes(way)) {
      expect([...seen]).toEqual([]);
    } else {
      expect([...seen].filter((name) => name !== 'from-within').sort()).toEqual(['a', 'b', 'c']);
      expect(ended).toBe(false);
    }
    stop.abort();
    const shutdown = factory.shutdown();
    await clock.run(30_000); // long enough for calls that never settle to be given up
    await Promise.all([run, shutdown]);
    expect(clock.timers()).toBe(0);
    reported.length = 0;
  });
});
