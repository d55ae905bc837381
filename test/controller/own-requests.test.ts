/**
 * Requests of a program's own type: handlers make them, the queue has one of each key, and the
 * reconcile function gets them. All else is as with ordinary requests.
 */
import { newSharedInformerFactory } from 'capstan/cache';
import {
  ControllerMetrics,
  type ControllerOptions,
  channelSource,
  createController,
  defineRequest,
  EventChannel,
  enqueueRequestsFromMapFunc,
  type FuncStart,
  funcSource,
  handlerFuncs,
  kindSource,
  newControllerManagedBy,
  type RequestType,
  type Result,
  TerminalError,
  timerSource,
  watching,
} from 'capstan/controller';
import {
  type CapstanError,
  FakeClock,
  ItemExponentialFailureRateLimiter,
  PriorityQueue,
  type RateLimiter,
  RateLimitingQueue,
} from 'capstan/workqueue';
import { expect, onTestFinished, test } from 'vitest';
import { FakeCluster, type TestObject } from '../helpers/controller/fake-cluster.ts';
import { FakeManager, RecordingLogger } from '../helpers/controller/fake-manager.ts';
import { Part, part, TestWidget, testWidget } from '../helpers/controller/resources.ts';
import { expectError } from '../helpers/expect-error.ts';
import { Random, testSeed } from '../helpers/random.ts';
import { collectErrors } from '../helpers/reported-errors.ts';
import { typeErrors } from '../helpers/type-errors.ts';
import { FakeTracer } from './fake-tracer.ts';

const reported = collectErrors();

interface Tenant {
  readonly tenant: string;
  readonly kind: string;
}
const Tenants = defineRequest({ key: ({ tenant, kind }: Tenant) => `${tenant}:${kind}` });

const tenantOf = ({ metadata, spec }: TestObject): Tenant[] => [
  { tenant: String(spec?.tenant ?? metadata.namespace), kind: 'Widget' },
];

/** A controller of tenants whose queue the test adds to. */
function rig(
  options: Partial<ControllerOptions<object, Tenant>> = {},
  results: (request: Tenant) => Result | undefined | Promise<Result | undefined> = () => undefined,
) {
  const clock = (options.clock as FakeClock | undefined) ?? new FakeClock();
  const cluster = new FakeCluster();
  const calls: string[] = [];
  const errors: unknown[] = [];
  let queue!: FuncStart<Tenant>['queue'];
  const controller = createController<object, Tenant>({
    transport: cluster,
    name: 'tenants',
    clock,
    request: Tenants,
    sources: [
      funcSource<Tenant>('adds', (start) => {
        queue = start.queue;
      }),
    ],
    ...options,
    reconcile(request) {
      calls.push(`${request.tenant} ${request.kind}@${clock.now()}`);
      return results(request);
    },
  });
  const start = async (): Promise<void> => {
    const run = controller.run().catch((error: unknown) => errors.push(error));
    onTestFinished(async () => {
      await controller.stop();
      await run;
    });
    await clock.settle();
  };
  const add = (tenant: string, kind = 'Pod'): void => queue.add({ tenant, kind });
  return { clock, cluster, calls, errors, controller, start, add, queue: () => queue };
}

test('come from the events of a kind, one of each key, for both states of an update', async () => {
  const { clock, cluster, calls, start } = rig({
    sources: [],
    watches: [
      watching(TestWidget, enqueueRequestsFromMapFunc(tenantOf, { request: Tenants })),
      watching(
        Part,
        handlerFuncs<TestObject, Tenant>({
          delete: ({ object }, queue) => queue.add({ tenant: object.metadata.name, kind: 'Part' }),
        }),
      ),
    ],
  });
  cluster.put('widgets', testWidget('a', 'red'));
  cluster.put('widgets', testWidget('b', 'red'));
  cluster.put('widgets', testWidget('c', 'blue'));
  cluster.put('parts', part('p', []));
  await start();
  expect(calls.splice(0).sort()).toEqual(['blue Widget@0', 'red Widget@0']);
  cluster.put('widgets', testWidget('a', 'red', { tenant: 'green' }));
  await clock.settle();
  expect(calls.splice(0).sort()).toEqual(['green Widget@0', 'red Widget@0']);
  cluster.remove('parts', 'p');
  await clock.settle();
  expect(calls).toEqual(['p Part@0']);
});

test('come from every source, and from one that is added later', async () => {
  const channel = new EventChannel<string>();
  const handler = enqueueRequestsFromMapFunc((tenant: string) => [{ tenant, kind: 'Sent' }], {
    request: Tenants,
  });
  const ticks = enqueueRequestsFromMapFunc(
    ({ tick }: { tick: number }) => [{ tenant: String(tick), kind: 'Tick' }],
    { request: Tenants },
  );
  const clock = new FakeClock();
  const { calls, cluster, controller, start } = rig({
    clock,
    sources: [
      channelSource({ events: channel, handler, clock }),
      timerSource({ period: 10, handler: ticks, clock }),
    ],
  });
  await start();
  channel.trySend('red');
  await clock.run(10);
  expect(calls.splice(0)).toEqual(['red Sent@0', '1 Tick@10']);
  cluster.put('widgets', testWidget('a', 'blue'));
  const cache = newSharedInformerFactory(cluster, { clock });
  onTestFinished(() => cache.shutdown());
  const ofWidgets = enqueueRequestsFromMapFunc(tenantOf, { request: Tenants });
  const remove = controller.watch(
    kindSource({ cache, resource: TestWidget, handler: ofWidgets, clock }),
  );
  await clock.settle();
  expect(calls.splice(0)).toEqual(['blue Widget@10']);
  remove();
  cluster.put('widgets', testWidget('b', 'green'));
  await clock.settle();
  expect(calls).toEqual([]);
});

test('keep results, retries, priorities and terminal errors by their key', async () => {
  const outcomes: Record<string, (() => Result | undefined)[]> = {
    later: [() => ({ requeueAfter: 100 })],
    again: [() => ({ requeue: true }), () => ({ requeue: true })],
    fails: [
      () => {
        throw new Error('not yet');
      },
    ],
    never: [
      () => {
        throw new TerminalError('never');
      },
    ],
  };
  const { clock, calls, start, add, queue, controller } = rig({}, ({ tenant }) =>
    outcomes[tenant]?.shift()?.(),
  );
  await start();
  add('first'); // the worker waits for it
  queue().addWithOpts({ priority: -1 }, { tenant: 'low', kind: 'Pod' });
  for (const tenant of ['later', 'again', 'fails', 'never']) add(tenant);
  queue().addWithOpts({ priority: 1 }, { tenant: 'high', kind: 'Pod' });
  queue().addAfter({ tenant: 'delayed', kind: 'Pod' }, 50);
  queue().addRateLimited({ tenant: 'limited', kind: 'Pod' });
  await clock.settle();
  const at0 = ['first', 'high', 'later', 'again', 'fails', 'never', 'low'].map(
    (name) => `${name} Pod@0`,
  );
  expect(calls.splice(0)).toEqual(at0);
  await clock.run(1000);
  const later = ['limited@5', 'again@5', 'fails@5', 'again@15', 'delayed@50', 'later@100'];
  expect(calls.map((call) => call.replace(' Pod', '')).sort()).toEqual(later.sort());
  expect(reported.map(({ what }) => what)).toEqual([
    'controller "tenants": reconcile of fails:Pod',
    'controller "tenants": reconcile of never:Pod',
  ]);
  const { keys } = controller.report();
  expect(keys).toMatchObject([{ namespace: '', name: 'never:Pod', state: 'failed' }]);
});

test('are named by key and namespace in logs, spans and reports', async () => {
  const logger = new RecordingLogger();
  const tracer = new FakeTracer();
  const request: RequestType<Tenant> = defineRequest({
    key: ({ tenant, kind }: Tenant) => `${tenant}:${kind}`,
    namespace: ({ tenant }) => tenant,
  });
  const { clock, start, add, controller } = rig({ request, logger, tracer }, () => {
    throw new Error('not yet');
  });
  await start();
  add('red');
  await clock.settle();
  const { fields } = logger.lines.find(({ level }) => level === 'error') ?? {};
  expect(fields).toMatchObject({ controller: 'tenants', namespace: 'red', request: 'red:Pod' });
  expect(fields).not.toHaveProperty('name');
  expect(tracer.spans).toMatchObject([{ attributes: { key: 'red:Pod' } }]);
  const report = controller.report({ filter: 'red:P' });
  expect(report.keys).toMatchObject([{ namespace: 'red', name: 'red:Pod', state: 'waiting' }]);
  expect(report.recent).toMatchObject([{ namespace: 'red', name: 'red:Pod', outcome: 'error' }]);
});

test('make their loggers, limiter, metrics and queue', async () => {
  const logged: unknown[] = [];
  const metrics = new ControllerMetrics();
  const limited: Tenant[] = [];
  const logger = new RecordingLogger();
  const limiter = new ItemExponentialFailureRateLimiter<Tenant>(7, 1000, { key: Tenants.key });
  const rateLimiter: RateLimiter<Tenant> = {
    when: (request) => {
      limited.push(request);
      return limiter.when(request);
    },
    forget: (request) => limiter.forget(request),
    numRequeues: (request) => limiter.numRequeues(request),
  };
  let fails = true;
  for (const Queue of [PriorityQueue, RateLimitingQueue]) {
    const clock = new FakeClock();
    let made: RateLimitingQueue<Tenant> | undefined;
    const { calls, start, add, controller } = rig(
      {
        clock,
        metrics,
        rateLimiter,
        logConstructor: (request) => {
          if (request !== undefined) logged.push(request);
          return logger;
        },
        newQueue: (_, given) => {
          made = new Queue<Tenant>(given, { key: Tenants.key, clock });
          return made;
        },
      },
      () => {
        fails = !fails;
        if (!fails) throw new Error('not yet');
        return undefined;
      },
    );
    await start();
    add('red');
    await clock.settle();
    expect(controller.report().keys).toMatchObject([
      { name: 'red:Pod', state: 'waiting', failures: 1, causes: [{ kind: 'retry' }] },
    ]);
    await clock.run(100);
    expect(calls).toEqual(['red Pod@0', 'red Pod@7']);
    expect(logged).toContainEqual({ tenant: 'red', kind: 'Pod' });
    expect(limited.splice(0)).toEqual([{ tenant: 'red', kind: 'Pod' }]);
    await controller.stop();
    expect(made?.shuttingDown()).toBe(true);
  }
  expect(metrics.text()).toContain(
    'controller_runtime_reconcile_total{controller="tenants",result="success"} 2',
  );
});

test('an item without a key that somebody put in a queue of newQueue is dropped', async () => {
  const clock = new FakeClock();
  const made = new PriorityQueue<Tenant>(undefined, { key: (item) => String(item?.tenant), clock });
  const request = defineRequest({
    key: ({ tenant }: Tenant): string => {
      if (tenant === 'bad') throw new Error('a bad tenant');
      return tenant;
    },
  });
  const { calls, controller, start, add } = rig({ clock, request, newQueue: () => made });
  await start();
  made.add({ tenant: 'bad', kind: 'Pod' });
  add('good');
  await clock.settle();
  expect(calls).toEqual(['good Pod@0']);
  expect(reported.map(({ error }) => (error as CapstanError).code)).toEqual(['INVALID_ARGUMENT']);
  expect(controller.report().keys).toEqual([]);
  expect(made.len()).toBe(0);
});

test('a key function that fails gets its event again, the caller of an add the error', async () => {
  const faults: (() => unknown)[] = [
    () => {
      throw new Error('not now');
    },
    () => '',
    () => 7,
  ];
  const request = defineRequest({
    key: ({ tenant }: Tenant): string => (faults.shift()?.() as string | undefined) ?? tenant,
  });
  const { clock, cluster, calls, start, add } = rig({
    request,
    watches: [watching(TestWidget, enqueueRequestsFromMapFunc(tenantOf, { request }))],
  });
  cluster.put('widgets', testWidget('a', 'red'));
  await start();
  await clock.run(1000);
  expect(calls).toEqual(['red Widget@700']);
  expect(reported).toHaveLength(3);
  expect(String(reported[0]?.error)).toMatch('the "key" function of the request type threw');
  faults.push(() => '');
  expectError(() => add('blue'), 'INVALID_ARGUMENT', 'key(request)', 'not empty');
  add('blue');
  await clock.settle();
  expect(calls).toEqual(['red Widget@700', 'blue Pod@1000']);
});

test('a namespace function that fails is as a key function that does', async () => {
  const request = defineRequest<Tenant>({ key: Tenants.key, namespace: () => 7 as never });
  const { start, add } = rig({ request });
  await start();
  expectError(() => add('blue'), 'INVALID_ARGUMENT', 'namespace(request)', '7');
});

test('wait for the debounce by their key', async () => {
  const { clock, calls, start, add } = rig({ debounceMs: 10 });
  await start();
  for (let i = 0; i < 4; i++) {
    add('red');
    add('red', 'Node');
    await clock.run(5);
  }
  await clock.run(100);
  expect(calls).toEqual(['red Pod@25', 'red Node@25']);
});

test('a handler may wait for the end of its controller', async () => {
  const { clock, cluster, calls, controller, start } = rig({
    watches: [
      watching(
        TestWidget,
        handlerFuncs<TestObject, Tenant>({
          create: async (_, queue) => {
            queue.add({ tenant: 'red', kind: 'Pod' });
            await controller.stop();
          },
        }),
      ),
    ],
  });
  await start();
  cluster.put('widgets', testWidget('a'));
  await clock.settle();
  expect([calls, controller.report().state, reported]).toEqual([[], 'ended', []]);
});

test('are refused with what makes requests of a namespace and a name', () => {
  const manager = new FakeManager();
  const reconcile = (): void => undefined;
  const make = (options: object) => (): unknown =>
    createController({ manager, name: 'refused', request: Tenants, reconcile, ...options });
  for (const options of [{ for: TestWidget }, { for: TestWidget, owns: [Part] }])
    expectError(make(options), 'INVALID_ARGUMENT', '"watches"', '"request"');
  const built = newControllerManagedBy(manager, Tenants).for(TestWidget).named('refused');
  expectError(() => built.complete(reconcile), 'INVALID_ARGUMENT', '"watches"');
  expectError(make({}), 'INVALID_ARGUMENT', 'nothing is watched');
  for (const wrong of [{}, { key: 'name' }, { key: () => '', namespace: 'red' }, 7])
    expectError(make({ request: wrong }), 'INVALID_ARGUMENT', 'request');
  const misspelt = { key: () => '', namespaces: () => '' };
  expectError(() => defineRequest(misspelt as never), 'INVALID_ARGUMENT', 'did you mean');
  expectError(
    () => enqueueRequestsFromMapFunc(tenantOf, { requests: Tenants } as never),
    'INVALID_ARGUMENT',
    'did you mean "request"',
  );
  expect(manager.runnables).toEqual([]);
});

test('a limiter that cannot tell them apart is refused at the start', async () => {
  const { start, errors } = rig({ rateLimiter: new ItemExponentialFailureRateLimiter(5, 1000) });
  await start();
  expect(errors).toMatchObject([{ code: 'INVALID_ARGUMENT' }]);
  expect(String(errors[0])).toMatch('key');
});

test('are run by a manager, with a builder, under their name', async () => {
  const manager = new FakeManager();
  const calls: Tenant[] = [];
  newControllerManagedBy(manager, Tenants)
    .watches(TestWidget, enqueueRequestsFromMapFunc(tenantOf, { request: Tenants }))
    .named('built-tenants')
    .complete(({ tenant, kind }, { get }) => {
      calls.push({ tenant, kind });
      expect(get({ namespace: tenant, name: 'a' }, TestWidget)).toBeDefined();
    });
  manager.transport.put('widgets', testWidget('a', 'red'));
  await manager.start();
  await manager.clock.settle();
  expect(calls).toEqual([{ tenant: 'red', kind: 'Widget' }]);
});

const PROGRAM = `import { defineResource, type Transport } from 'capstan/cache';
import {
  createController, defineRequest, enqueueRequestForObject, enqueueRequestsFromMapFunc, funcSource,
  type Manager, newControllerManagedBy, requestFor, type Source, watching,
} from 'capstan/controller';
declare const transport: Transport;
declare const manager: Manager;
interface Tenant { readonly tenant: string; readonly kind: string }
interface Thing { metadata: { namespace: string; name: string } }
const Things = defineResource<Thing>()({
  group: '', version: 'v1', kind: 'Thing', plural: 'things', namespaced: true,
});
const Tenants = defineRequest({ key: ({ tenant, kind }: Tenant) => tenant + kind });
const Wide = defineRequest({
  key: (of: { cluster: string; namespace: string; name: string }) => of.cluster + of.name,
});
const ordinary = enqueueRequestForObject();
const own = enqueueRequestsFromMapFunc(
  ({ metadata }: Thing) => [{ tenant: metadata.name, kind: 'Thing' }],
  { request: Tenants },
);
const source: Source<Tenant> = funcSource<Tenant>('x', ({ queue }) => {
  queue.add({ tenant: 'a', kind: 'b' });
});
const reconcile = (): void => undefined;
newControllerManagedBy(manager, Tenants).watches(Things, own).watchesRawSource(source);
createController({
  transport,
  request: Tenants,
  sources: [source],
  watches: [watching(Things, own)],
  reconcile: ({ tenant }) => void tenant.length,
});
`;

test('have types that follow from one definition', () => {
  const wrong = [
    'createController({ transport, request: Tenants, sources: [ordinarySource], reconcile });',
    'createController({ transport, sources: [source], reconcile });',
    'newControllerManagedBy(manager).watchesRawSource(source);',
    'newControllerManagedBy(manager, Tenants).watches(Things, ordinary);',
    'newControllerManagedBy(manager, Wide).watches(Things, ordinary);',
    'enqueueRequestsFromMapFunc((of: Thing) => [requestFor(of)], { request: Wide });',
  ];
  const all = `${PROGRAM}declare const ordinarySource: Source;\n${wrong.join('\n')}\n`;
  const errors = typeErrors('own-requests', all, {});
  const first = all.split('\n').indexOf(wrong[0] as string) + 1;
  const lines = [...errors.matchAll(/^\S*program\.ts\((\d+),/gm)].map(([, line]) => Number(line));
  expect(lines, errors).toEqual(wrong.map((_, i) => first + i));
}, 60_000);

test(`are neither lost nor run twice at once (CAPSTAN_SEED=${testSeed()})`, async () => {
  const seed = testSeed();
  for (let life = 0; life < 40; life++) {
    const random = new Random(seed + life);
    const due = new Set<string>();
    const running = new Set<string>();
    let isCalm = false;
    const clock = new FakeClock();
    const { start, add, controller } = rig(
      {
        clock,
        maxConcurrentReconciles: 1 + random.int(4),
        usePriorityQueue: random.chance(0.7),
        debounceMs: random.pick([0, 0, 6]),
      },
      async (request) => {
        const key = Tenants.key(request);
        expect(running.has(key), `CAPSTAN_SEED=${seed}, life ${life}`).toBe(false);
        running.add(key);
        due.delete(key);
        if (random.chance(0.5))
          await new Promise<void>((resolve) => clock.setTimer(resolve, random.int(30)));
        running.delete(key);
        if (!isCalm && random.chance(0.3)) throw new Error('not yet');
        return !isCalm && random.chance(0.2) ? { requeueAfter: random.int(40) } : undefined;
      },
    );
    await start();
    for (let step = 0; step < 60; step++) {
      const request = { tenant: random.pick(['a', 'b']), kind: random.pick(['Pod', 'Node']) };
      if (random.chance(0.7)) {
        due.add(Tenants.key(request));
        add(request.tenant, request.kind);
      }
      if (random.chance(0.6)) clock.step(random.int(20));
      for (let turns = random.int(6); turns > 0; turns--) await Promise.resolve();
    }
    isCalm = true;
    await clock.run(20_000);
    expect([...due], `CAPSTAN_SEED=${seed}, life ${life}`).toEqual([]);
    expect(controller.report().keys).toEqual([]);
    await controller.stop();
    expect(clock.timers()).toBe(0);
  }
});
