/**
 * The builder and createController. controller-runtime: pkg/builder/controller_test.go and
 * pkg/controller/controller_test.go.
 */
import {
  defineResource,
  type FromServer,
  type KubeObject,
  type Resource,
  StatusError,
} from 'capstan/cache';
import type { Client } from 'capstan/client';
import {
  asReconciler,
  type Controller,
  type ControllerOptions,
  createController,
  type EventHandler,
  enqueueRequestForObject,
  enqueueRequestsFromMapFunc,
  newControllerManagedBy,
  owning,
  type Predicate,
  type Reconciler,
  TerminalError,
  watching,
} from 'capstan/controller';
import {
  FakeClock,
  ItemExponentialFailureRateLimiter,
  PriorityQueue,
  type RateLimiter,
  RateLimitingQueue,
  type Request,
  requestKey,
} from 'capstan/workqueue';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { fail, TestSource } from '../helpers/controller/controller-rig.ts';
import { FakeCluster, type TestObject } from '../helpers/controller/fake-cluster.ts';
import {
  FakeManager,
  type FakeManagerOptions,
  RecordingLogger,
} from '../helpers/controller/fake-manager.ts';
import {
  Disc,
  ownedBy,
  Part,
  part,
  TestWidget,
  testWidget,
} from '../helpers/controller/resources.ts';
import { collectErrorValues } from '../helpers/reported-errors.ts';

collectErrorValues();

/** Names are unique in the process, so each test takes its own. */
let names = 0;
const fresh = (): string => `builder-${++names}`;
const ignore = () => undefined;
const fromLabel = enqueueRequestsFromMapFunc((object: TestObject) => [
  { namespace: object.metadata.namespace ?? '', name: String(object.spec?.of) },
]);

describe('the builder', () => {
  test('makes a controller that the manager runs: objects of for and what they own', async () => {
    const manager = new FakeManager();
    const calls: string[] = [];
    const built = newControllerManagedBy(manager)
      .for(TestWidget)
      .owns(Part)
      .named(fresh())
      .complete(
        ({ namespace, name }, { get }) =>
          void calls.push(`${namespace}/${name} ${get({ namespace, name })?.spec?.of}`),
      );
    expect(built).toBeUndefined();
    expect(manager.runnables).toHaveLength(1);
    manager.transport.put('widgets', testWidget('a', 'default', { of: 1 }));
    await manager.start();
    manager.transport.put('parts', part('p', [ownedBy('b'), ownedBy('c', { controller: false })]));
    await manager.clock.settle();
    expect(calls).toEqual(['default/a 1', 'default/b undefined']);
    expect(manager.transport.watches()).toBe(2);
  });

  test('matches every owner with matchEveryOwner', async () => {
    const manager = new FakeManager();
    const calls: string[] = [];
    newControllerManagedBy(manager)
      .for(TestWidget)
      .owns(Part, { matchEveryOwner: true })
      .named(fresh())
      .complete(({ name }) => void calls.push(name));
    await manager.start();
    manager.transport.put(
      'parts',
      part('p', [ownedBy('b', { controller: false }), ownedBy('c', { controller: false })]),
    );
    await manager.clock.settle();
    expect(calls).toEqual(['b', 'c']);
  });

  test('watches other resources with a handler, also without for', async () => {
    const manager = new FakeManager();
    const calls: string[] = [];
    newControllerManagedBy(manager)
      .watches(Part, fromLabel)
      .watches(Disc, enqueueRequestForObject())
      .named(fresh())
      .complete(({ namespace, name }) => void calls.push(`${namespace}/${name}`));
    await manager.start();
    manager.transport.put('parts', { ...part('p', []), spec: { of: 'a' } });
    manager.transport.put('discs', { metadata: { name: 'd' } });
    await manager.clock.settle();
    expect(calls).toEqual(['default/a', '/d']);
  });

  test('accepts sources of any kind, to which event filters do not apply', async () => {
    const manager = new FakeManager();
    const source = new TestSource();
    const calls: string[] = [];
    newControllerManagedBy(manager)
      .for(TestWidget)
      .watchesRawSource(source)
      .withEventFilter({ create: () => false, generic: () => false })
      .named(fresh())
      .complete(({ name }) => void calls.push(name));
    manager.transport.put('widgets', testWidget('filtered'));
    await manager.start();
    source.add('raw');
    await manager.clock.settle();
    expect(calls).toEqual(['raw']);
  });

  test('applies predicates of a resource to its events, event filters to all', async () => {
    const manager = new FakeManager();
    const calls: string[] = [];
    const requested: string[] = [];
    newControllerManagedBy(manager)
      .for(TestWidget, { predicates: [{ create: ({ object }) => object.spec?.wanted === true }] })
      .owns(Part, { predicates: [{ create: ({ object }) => object.metadata.name !== 'ignored' }] })
      .withEventFilter({
        create: ({ object }) => {
          requested.push(object.metadata?.name ?? '');
          return object.metadata?.name !== 'nobody';
        },
      })
      .named(fresh())
      .complete(({ name }) => void calls.push(name));
    await manager.start();
    manager.transport.put('widgets', testWidget('w1', 'default', { wanted: true }));
    manager.transport.put('widgets', testWidget('w2'));
    manager.transport.put('widgets', testWidget('nobody', 'default', { wanted: true }));
    manager.transport.put('parts', part('ignored', [ownedBy('o1')]));
    manager.transport.put('parts', part('p', [ownedBy('o2')]));
    await manager.clock.settle();
    expect(calls).toEqual(['w1', 'o2']);
    expect(requested.sort()).toEqual(['ignored', 'nobody', 'p', 'w1', 'w2']);
  });

  test('watches only metadata with metadataOnly, for, owned and watched', async () => {
    const manager = new FakeManager();
    const selected: unknown[] = [];
    const own = manager.cache.informerFor.bind(manager.cache);
    manager.cache.informerFor = (resource, selection = {}) => {
      selected.push([resource.plural, selection.metadataOnly === true]);
      return own(resource, selection);
    };
    newControllerManagedBy(manager)
      .for(TestWidget, { metadataOnly: true })
      .owns(Part, { metadataOnly: true })
      .watchesMetadata(Disc, enqueueRequestForObject())
      .named(fresh())
      .complete(ignore);
    await manager.start();
    const headers = manager.transport.requests.flatMap(({ headers = {} }) => headers.accept ?? []);
    expect(
      headers.filter((accept) => accept.includes('PartialObjectMetadata')).length,
    ).toBeGreaterThanOrEqual(3);
    expect(selected).toEqual([
      ['widgets', true],
      ['parts', true],
      ['discs', true],
    ]);
  });

  test.each([false, true])(
    'lets several controllers share the caches of the manager (metadata alone: %s)',
    async (metadataOnly) => {
      const manager = new FakeManager();
      const calls: string[] = [];
      for (const name of ['first', 'second'])
        newControllerManagedBy(manager)
          .for(TestWidget, { metadataOnly })
          .named(fresh())
          .complete((request) => void calls.push(`${name} ${request.name}`));
      manager.transport.put('widgets', testWidget('a'));
      await manager.start();
      expect(calls.sort()).toEqual(['first a', 'second a']);
      expect(manager.transport.watches()).toBe(1);
    },
  );

  test('accepts an object with a reconcile function', async () => {
    const manager = new FakeManager();
    class Website implements Reconciler<TestObject> {
      readonly calls: string[] = [];
      reconcile({ name }: Request): void {
        this.calls.push(name);
      }
    }
    const website = new Website();
    newControllerManagedBy(manager).for(TestWidget).named(fresh()).complete(website);
    manager.transport.put('widgets', testWidget('a'));
    await manager.start();
    expect(website.calls).toEqual(['a']);
  });

  test('logs to its logger', async () => {
    const [first, second] = [new RecordingLogger(), new RecordingLogger()];
    const manager = new FakeManager({ logger: first });
    newControllerManagedBy(manager)
      .for(TestWidget)
      .named(fresh())
      .withLogger(second)
      .complete(ignore);
    newControllerManagedBy(manager)
      .for(TestWidget)
      .named(fresh())
      .withLogger(() => second)
      .complete(ignore);
    await manager.start();
    expect(first.lines).toEqual([]);
    expect(second.lines.filter(({ message }) => message === 'Starting workers')).toHaveLength(2);
  });

  test('watches only the namespace of its options', async () => {
    const manager = new FakeManager();
    const calls: string[] = [];
    newControllerManagedBy(manager)
      .for(TestWidget)
      .withOptions({ namespace: 'mine' })
      .named(fresh())
      .complete(({ namespace }) => void calls.push(namespace));
    manager.transport.put('widgets', testWidget('a', 'mine'));
    manager.transport.put('widgets', testWidget('a', 'other'));
    await manager.start();
    expect(calls).toEqual(['mine']);
  });

  test('types the reconciler, handlers and predicates by their resources', () => {
    const manager = new FakeManager();
    const accept = (_: unknown): true => true;
    newControllerManagedBy(manager)
      .for(TestWidget, {
        predicates: [
          {
            update: (event) =>
              accept(expectTypeOf(event.objectNew).toEqualTypeOf<FromServer<TestObject>>()),
          },
        ],
      })
      .watches(Disc as Resource<{ metadata: { name: string }; size: number }>, {
        create: (event) => expectTypeOf(event.object.size).toBeNumber(),
      })
      .named(fresh())
      .complete(
        (request, { get }) =>
          void expectTypeOf(get(request)).toEqualTypeOf<FromServer<TestObject> | undefined>(),
      );
    // Handlers of metadata-only watches were typed by the whole object: a map function that read
    // the spec compiled, and threw for each event. So did a handler that expected the whole object,
    // because the parameters of methods are compared bivariantly.
    type Sized = TestObject & { size: number };
    expectTypeOf<EventHandler<Sized>>().not.toExtend<EventHandler<TestObject>>();
    expectTypeOf<Predicate<Sized>>().not.toExtend<Predicate<TestObject>>();
    expectTypeOf<EventHandler<TestObject>>().toExtend<EventHandler<Sized>>();
    newControllerManagedBy(manager)
      .for(TestWidget)
      .watchesMetadata(
        Part,
        enqueueRequestsFromMapFunc((part) => {
          expectTypeOf(part).toExtend<Pick<TestObject, 'apiVersion' | 'kind' | 'metadata'>>();
          expectTypeOf(part).not.toHaveProperty('spec');
          return [];
        }),
        {
          predicates: [
            { create: (event) => accept(expectTypeOf(event.object).not.toHaveProperty('spec')) },
          ],
        },
      )
      .named(fresh())
      .complete(() => {});
    // Nothing could be read of an object whose type is a type parameter, so a helper for any
    // resource did not compile.
    const byLabel = <T extends KubeObject & { metadata?: { labels?: Record<string, string> } }>(
      resource: Resource<T, string>,
    ) =>
      newControllerManagedBy(manager).watchesMetadata(
        resource,
        enqueueRequestsFromMapFunc(
          ({ metadata: { namespace = '', labels: { app: name = '' } = {} } = {} }) => [
            { namespace, name },
          ],
        ),
        { predicates: [{ update: ({ objectNew }) => objectNew.metadata?.name !== '' }] },
      );
    const ofAny = <T extends object>(resource: Resource<T>, handler: EventHandler) =>
      newControllerManagedBy(manager).watchesMetadata(resource, handler);
    expectTypeOf(byLabel).returns.toEqualTypeOf(ofAny(Part, enqueueRequestForObject()));
    createController({
      transport: new FakeCluster(),
      for: TestWidget,
      predicates: [
        {
          create: (event) =>
            accept(expectTypeOf(event.object).toEqualTypeOf<FromServer<TestObject>>()),
        },
      ],
      owns: [
        Part,
        owning(Disc, { predicates: [{ create: (event) => event.object.metadata.name !== '' }] }),
      ],
      watches: [
        watching(Part, {
          create: (event) => expectTypeOf(event.object).toEqualTypeOf<FromServer<TestObject>>(),
        }),
      ],
      reconcile: (request, { get }) =>
        void expectTypeOf(get(request)).toEqualTypeOf<FromServer<TestObject> | undefined>(),
    });
  });
});

describe('the builder refuses, and adds nothing', () => {
  const refusals: [string, (manager: FakeManager) => unknown, RegExp][] = [
    [
      'no reconciler',
      (m) =>
        newControllerManagedBy(m)
          .for(TestWidget)
          .build(undefined as never),
      /"reconciler" expected a reconcile function/,
    ],
    [
      'no manager',
      () => newControllerManagedBy(undefined as never),
      /"manager" expected an object/,
    ],
    [
      'what is no manager',
      () => newControllerManagedBy({} as never),
      /"manager\.add" expected a function/,
    ],
    [
      'for twice',
      (m) => newControllerManagedBy(m).for(TestWidget).for(Part).build(ignore),
      /"for" is to be called once/,
    ],
    [
      'neither for nor a name',
      (m) => newControllerManagedBy(m).watches(Part, fromLabel).build(ignore),
      /"options\.name" expected a name/,
    ],
    [
      'owns without for',
      (m) =>
        newControllerManagedBy(m).named(fresh()).owns(Part).watches(Disc, fromLabel).build(ignore),
      /need "for"/,
    ],
    [
      'nothing to watch',
      (m) => newControllerManagedBy(m).named(fresh()).build(ignore),
      /nothing is watched/,
    ],
    [
      'what is no resource',
      (m) =>
        newControllerManagedBy(m)
          .for({} as never)
          .build(ignore),
      /"options\.for" expected what defineResource returns/,
    ],
    [
      'what is no source',
      (m) =>
        newControllerManagedBy(m)
          .for(TestWidget)
          .watchesRawSource({} as never)
          .build(ignore),
      /"options\.sources\[0\]\.start"/,
    ],
    [
      'what is no handler',
      (m) =>
        newControllerManagedBy(m)
          .watches(Part, undefined as never)
          .named(fresh())
          .build(ignore),
      /handler/,
    ],
    [
      'what is no predicate',
      (m) =>
        newControllerManagedBy(m)
          .for(TestWidget, { predicates: [{ create: 1 } as never] })
          .build(ignore),
      /predicates\[0\]\.create/,
    ],
    [
      'a reconciler in the options',
      (m) =>
        newControllerManagedBy(m)
          .for(TestWidget)
          .withOptions({ reconcile: ignore } as never)
          .build(ignore),
      /given to "complete" or "build"/,
    ],
    [
      'options that are wrong',
      (m) =>
        newControllerManagedBy(m)
          .for(TestWidget)
          .withOptions({ maxConcurrentReconciles: 0 })
          .build(ignore),
      /maxConcurrentReconciles/,
    ],
    [
      'namespaces for what has none',
      (m) =>
        newControllerManagedBy(m)
          .for(Disc)
          .withOptions({ namespaces: ['n', 'o'] })
          .build(ignore),
      /"options\.namespaces" expected nothing, as Disc has no namespaces/,
    ],
    [
      'a namespace beside several',
      (m) =>
        newControllerManagedBy(m)
          .for(TestWidget)
          .withOptions({ namespace: 'n', namespaces: ['o'] })
          .build(ignore),
      /"options\.namespace" expected nothing beside options\.namespaces/,
    ],
    [
      'a namespace for what has none',
      (m) => newControllerManagedBy(m).for(Disc).withOptions({ namespace: 'n' }).build(ignore),
      /namespace/,
    ],
  ];
  test.each(refusals)('%s', (_, build, message) => {
    const manager = new FakeManager();
    expect(() => build(manager)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(message),
      }),
    );
    expect([manager.runnables, manager.collectors.size]).toEqual([[], 0]);
  });
});

describe('a name', () => {
  const make = (
    manager: FakeManager,
    options: Partial<ControllerOptions<TestObject>>,
  ): Controller => createController({ manager, for: TestWidget, reconcile: ignore, ...options });

  test('belongs to one controller in the process until that has ended', async () => {
    const manager = new FakeManager();
    const name = fresh();
    const first = make(manager, { name });
    expect(() => make(manager, { name })).toThrow(/exists already.*skipNameValidation/s);
    expect(() => make(new FakeManager(), { name })).toThrow(/exists already/);
    expect(manager.runnables).toHaveLength(1);
    make(manager, { name: fresh() });
    await first.stop();
    expect(() => make(manager, { name })).not.toThrow();
    await first.stop();
    expect(() => make(manager, { name })).toThrow(/exists already/);
  });

  test('may be shared with skipNameValidation of the controller or the manager', () => {
    const name = fresh();
    make(new FakeManager(), { name });
    expect(() => make(new FakeManager(), { name, skipNameValidation: true })).not.toThrow();
    const lax = new FakeManager({ controllerDefaults: { skipNameValidation: true } });
    expect(() => make(lax, { name })).not.toThrow();
    expect(() => make(lax, { name, skipNameValidation: false })).toThrow(/exists already/);
    const strict = new FakeManager({ controllerDefaults: { skipNameValidation: false } });
    expect(() => make(strict, { name })).toThrow(/exists already/);
    expect(() => make(strict, { name, skipNameValidation: true })).not.toThrow();
  });

  test('is the kind in lower case by default, and released at the end', async () => {
    const manager = new FakeManager();
    const controller = make(manager, {});
    expect(controller.name).toBe('widget');
    expect(() => make(manager, {})).toThrow(/"widget" exists already/);
    await controller.stop();
    manager.add = () => {
      throw new Error('the manager is ending');
    };
    for (let i = 0; i < 2; i++) expect(() => make(manager, {})).toThrow('the manager is ending');
  });

  test('without a manager is not checked', () => {
    const options = { transport: new FakeCluster(), for: TestWidget, reconcile: ignore };
    expect(() => [createController(options), createController(options)]).not.toThrow();
  });
});

describe('the default of an option', () => {
  const report = (
    options: Partial<ControllerOptions<TestObject>> = {},
    manager: FakeManagerOptions = {},
  ) =>
    createController({
      manager: new FakeManager(manager),
      name: fresh(),
      for: TestWidget,
      reconcile: ignore,
      ...options,
    });

  // `Number(process.env.WORKERS)` is NaN if the variable is not set: the controller ended at once,
  // without an error.
  test.each<[string, FakeManagerOptions['controllerDefaults']]>([
    ['maxConcurrentReconciles', { maxConcurrentReconciles: 0 }],
    ['maxConcurrentReconciles', { maxConcurrentReconciles: Number.NaN }],
    [
      'groupKindConcurrency["Widget.example.com"]',
      { groupKindConcurrency: { 'Widget.example.com': 0 } },
    ],
    ['cacheSyncTimeout', { cacheSyncTimeout: -1 }],
    ['usePriorityQueue', { usePriorityQueue: 'no' as unknown as boolean }],
  ])("the manager's %s must be valid", (option, controllerDefaults) => {
    const message = expect.stringContaining(`manager.controllerDefaults.${option}`);
    expect(() => report({}, { controllerDefaults })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', message }),
    );
  });

  test.each<[string, object]>([
    ['for', { for: null }],
    ['for', { for: 'widgets' }],
    ['namespace', { namespace: 'a/b' }],
    ['namespace', { namespace: '..' }],
    ['namespaces[1]', { namespaces: ['a', 'b/c'] }],
  ])('%s must be valid', (option, options) => {
    const message = expect.stringContaining(`"options.${option}" expected`);
    expect(() => report(options)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', message }),
    );
  });

  test('workers: its own, the manager’s for the group and kind, the manager’s, one', () => {
    const groupKindConcurrency = { 'Widget.example.com': 5, Widget: 9, 'Part.apps': 9 };
    expect(report().report().workers).toBe(1);
    expect(
      report({}, { controllerDefaults: { maxConcurrentReconciles: 3 } }).report().workers,
    ).toBe(3);
    const both = { maxConcurrentReconciles: 3, groupKindConcurrency };
    expect(report({}, { controllerDefaults: both }).report().workers).toBe(5);
    expect(
      report({ maxConcurrentReconciles: 7 }, { controllerDefaults: both }).report().workers,
    ).toBe(7);
    expect(
      report({ for: Disc }, { controllerDefaults: { groupKindConcurrency: { Disc: 4 } } }).report(),
    ).toMatchObject({
      workers: 4,
      groupKind: 'Disc',
    });
  });

  test('needLeaderElection: its own, the manager’s, true', () => {
    expect(report().needLeaderElection()).toBe(true);
    expect(
      report({}, { controllerDefaults: { needLeaderElection: false } }).needLeaderElection(),
    ).toBe(false);
    const own = report(
      { needLeaderElection: true },
      { controllerDefaults: { needLeaderElection: false } },
    );
    expect(own.needLeaderElection()).toBe(true);
  });

  test('enableWarmup: its own, the manager’s, false', async () => {
    const started = async (
      own: boolean | undefined,
      manager: boolean | undefined,
    ): Promise<number> => {
      const source = new TestSource();
      const options = { enableWarmup: own, sources: [source] };
      const controller = report(options, { controllerDefaults: { enableWarmup: manager } });
      const end = new AbortController();
      const warm = controller.warmup({ signal: end.signal });
      await new FakeClock().settle();
      end.abort();
      await warm;
      return source.starts;
    };
    expect(await started(undefined, undefined)).toBe(0);
    expect(await started(undefined, true)).toBe(1);
    expect(await started(false, true)).toBe(0);
    expect(await started(true, false)).toBe(1);
  });

  test.each([
    ['two minutes', {}, {}, 120_000],
    ['the manager’s', {}, { cacheSyncTimeout: 7000 }, 7000],
    ['its own', { cacheSyncTimeout: 3000 }, { cacheSyncTimeout: 7000 }, 3000],
  ])('cacheSyncTimeout: %s', async (_, options, controllerDefaults, ms) => {
    const manager = new FakeManager({ controllerDefaults });
    manager.transport.holdLists.set('widgets', new Promise(() => undefined));
    createController({ manager, name: fresh(), for: TestWidget, reconcile: ignore, ...options });
    await manager.start();
    await manager.clock.run(ms - 1);
    expect(manager.errors).toEqual([]);
    await manager.clock.run(1);
    expect(manager.errors).toEqual([expect.objectContaining({ code: 'CACHE_SYNC_TIMEOUT' })]);
  });

  test.each([
    ['none', {}, {}, undefined],
    ['the manager’s', {}, { reconciliationTimeout: 70 }, 70],
    ['its own', { reconciliationTimeout: 30 }, { reconciliationTimeout: 70 }, 30],
  ])('reconciliationTimeout: %s', async (_, options, controllerDefaults, expected) => {
    const manager = new FakeManager({ controllerDefaults });
    let abortedAt: number | undefined;
    manager.transport.put('widgets', testWidget('a'));
    createController({
      manager,
      name: fresh(),
      for: TestWidget,
      ...options,
      reconcile: (_request, { signal }) =>
        new Promise((resolve) =>
          signal.addEventListener('abort', () => {
            abortedAt ??= manager.clock.now();
            resolve(undefined);
          }),
        ),
    });
    await manager.start();
    await manager.clock.run(1000);
    expect(abortedAt).toBe(expected);
  });

  test.each([
    ['a priority queue', {}, {}, true],
    ['the manager’s', {}, { usePriorityQueue: false }, false],
    ['its own', { usePriorityQueue: true }, { usePriorityQueue: false }, true],
  ])('the queue: %s', async (_, options, controllerDefaults, hasPriorities) => {
    const manager = new FakeManager({ controllerDefaults });
    const controller = createController({
      manager,
      name: fresh(),
      for: TestWidget,
      reconcile: ignore,
      ...options,
    });
    await manager.start();
    expect(controller.report().queue.hasPriorities).toBe(hasPriorities);
  });

  test('the rate limiter of newQueue: its own, else the default of the kind of queue', async () => {
    const given: RateLimiter<Request>[] = [];
    const own = new ItemExponentialFailureRateLimiter<Request>(1, 2, { key: requestKey });
    for (const options of [{ rateLimiter: own }, { usePriorityQueue: false }, {}]) {
      const manager = new FakeManager();
      manager.transport.put('widgets', testWidget('a'));
      createController({
        manager,
        name: fresh(),
        for: TestWidget,
        reconcile: fail,
        newQueue: (_, limiter) => {
          given.push(limiter);
          const all = { key: requestKey, clock: manager.clock };
          return 'usePriorityQueue' in options
            ? new RateLimitingQueue(limiter, all)
            : new PriorityQueue(limiter, all);
        },
        ...options,
      });
      await manager.start();
    }
    expect(given[0]).toBe(own);
    expect(given[0]?.numRequeues({ namespace: 'default', name: 'a' })).toBe(1);
    // A queue without priorities has a token bucket too, so its limiter is one of several.
    expect(given.slice(1).map((limiter) => limiter.constructor.name)).toEqual([
      'MaxOfRateLimiter',
      'ItemExponentialFailureRateLimiter',
    ]);
  });

  test('metrics, clock and tracer of the queue are the manager’s', async () => {
    const depths: string[] = [];
    const metric = (name: string) => {
      depths.push(name);
      return { inc: ignore, dec: ignore, set: ignore, observe: ignore };
    };
    const queueMetrics = {
      newDepthMetric: metric,
      newAddsMetric: metric,
      newLatencyMetric: metric,
      newWorkDurationMetric: metric,
      newUnfinishedWorkSecondsMetric: metric,
      newLongestRunningProcessorSecondsMetric: metric,
      newRetriesMetric: metric,
    };
    const manager = new FakeManager({ queueMetrics });
    const name = fresh();
    createController({ manager, name, for: TestWidget, reconcile: ignore });
    await manager.start();
    expect(new Set(depths)).toEqual(new Set([name]));
  });
});

describe('createController', () => {
  test('refuses what the builder refuses, and a transport together with a manager', () => {
    const good = { transport: new FakeCluster(), for: TestWidget, reconcile: ignore };
    const wrong: [object, RegExp][] = [
      [{ manager: new FakeManager() }, /"transport" and "manager" exclude each other/],
      [
        { transport: new FakeManager() },
        /"options\.transport" got a manager: pass it as "manager"/,
      ],
      [{ transport: undefined, manager: new FakeCluster() }, /"options\.manager\.add"/],
      [
        { for: defineResource() },
        /what defineResource returns, got a function: it takes two calls/,
      ],
      [{ owns: [defineResource()] }, /"options\.owns\[0\]" .* it takes two calls/],
      [{ watches: [{ resource: Part }] }, /options\.watches\[0\]\.handler/],
      [{ watches: Part }, /"options\.watches" expected an array of what "watching" returns/],
      [{ sources: [1] }, /options\.sources\[0\]/],
      [{ eventFilters: [{ update: 'yes' }] }, /options\.eventFilters\[0\]\.update/],
      [{ predicates: {} }, /"options\.for\.predicates" expected an array/],
      [{ metadataOnly: 'yes' }, /metadataOnly/],
      [{ owns: [{ resource: {} }] }, /options\.owns\[0\]/],
      [{ namespace: 7 }, /options\.namespace/],
      [{ recoverPanic: 'no' }, /"options\.recoverPanic" expected true or false/],
      [{ logger: {} }, /options\.logger\.debug/],
      [{ logConstructor: 1 }, /options\.logConstructor/],
      [{ tracer: {} }, /options\.tracer\.startActiveSpan/],
      [{ newQueue: 1 }, /options\.newQueue/],
      [{ metricsProvider: 1 }, /options\.metricsProvider/],
      [{ restartDelay: Number.NaN }, /options\.restartDelay/],
    ];
    for (const [options, message] of wrong)
      expect(
        () => createController({ ...good, ...options } as ControllerOptions<TestObject>),
        String(message),
      ).toThrow(message);
  });

  test('accepts everything that the builder accepts', async () => {
    const cluster = new FakeCluster();
    const clock = new FakeClock();
    const source = new TestSource();
    const calls: string[] = [];
    const controller = createController({
      transport: cluster,
      clock,
      for: TestWidget,
      predicates: [{ create: ({ object }) => object.metadata.name !== 'not-me' }],
      owns: [owning(Part, { matchEveryOwner: true, metadataOnly: true })],
      watchesMetadata: [watching(Disc, enqueueRequestForObject())],
      sources: [source],
      eventFilters: [{ delete: () => false }],
      reconcile: ({ namespace, name }) => void calls.push(`${namespace}/${name}`),
    });
    const run = controller.run();
    await clock.settle();
    cluster.put('widgets', testWidget('a'));
    cluster.put('widgets', testWidget('not-me'));
    cluster.put('parts', part('p', [ownedBy('b', { controller: false })]));
    cluster.put('discs', { metadata: { name: 'd' } });
    source.add('raw');
    await clock.settle();
    cluster.remove('widgets', 'a');
    await clock.settle();
    expect(calls.sort()).toEqual(['/d', 'default/a', 'default/b', 'default/raw']);
    expect(controller.report().sources.map(({ name }) => name)).toEqual([
      'for Widget',
      'owns Part',
      'watches Disc',
      'test',
    ]);
    await controller.stop();
    await run;
    expect(cluster.watches()).toBe(0);
  });

  test('a resource that is watched whole and as metadata is read whole', async () => {
    const cluster = new FakeCluster();
    const clock = new FakeClock();
    const requested: unknown[] = [];
    const controller = createController({
      transport: cluster,
      clock,
      for: TestWidget,
      metadataOnly: true,
      watches: [watching(TestWidget, enqueueRequestForObject())],
      reconcile: (request, { get }) => void requested.push(get(request)?.spec),
    });
    cluster.put('widgets', testWidget('a', 'default', { colour: 'red' }));
    const run = controller.run();
    await clock.settle();
    expect(requested.at(-1)).toEqual({ colour: 'red' });
    await controller.stop();
    await run;
  });
});

describe('asReconciler', () => {
  const clientThat = (get: (key: { name: string }) => unknown): Pick<Client, 'get'> => ({
    get: async (_resource, key) => (await get(key as { name: string })) as never,
  });
  const context = {} as never;
  const request = { namespace: 'default', name: 'a' };

  test('passes the object that the client read', async () => {
    const seen: TestObject[] = [];
    const reconciler = asReconciler(
      clientThat(({ name }) => testWidget(name)),
      {
        resource: TestWidget,
        reconcile: (object) => {
          seen.push(object);
          return { requeueAfter: 5 };
        },
      },
    );
    expect(await reconciler.reconcile(request, context)).toEqual({ requeueAfter: 5 });
    expect(seen).toEqual([testWidget('a')]);
  });

  test('does nothing for an object that does not exist, and passes on other errors', async () => {
    const never = () => expect.fail('there is no object');
    const status = (code: number, reason: string) => () => {
      throw new StatusError(code, { kind: 'Status', code, reason, message: reason }, 'GET /x');
    };
    const gone = asReconciler(clientThat(status(404, 'NotFound')), {
      resource: TestWidget,
      reconcile: never,
    });
    expect(await gone.reconcile(request, context)).toBeUndefined();
    const denied = asReconciler(clientThat(status(403, 'Forbidden')), {
      resource: TestWidget,
      reconcile: never,
    });
    await expect(denied.reconcile(request, context)).rejects.toMatchObject({ status: 403 });
    const failing = asReconciler(
      clientThat(() => testWidget('a')),
      {
        resource: TestWidget,
        reconcile: () => Promise.reject(new TerminalError('no')),
      },
    );
    await expect(failing.reconcile(request, context)).rejects.toThrow('no');
  });

  test('refuses invalid arguments', () => {
    const good = { resource: TestWidget, reconcile: ignore };
    expect(() => asReconciler({} as never, good)).toThrow(/client\.get/);
    expect(() => asReconciler(clientThat(ignore), { ...good, reconcile: 1 } as never)).toThrow(
      /reconciler\.reconcile/,
    );
    expect(() => asReconciler(clientThat(ignore), { ...good, resource: {} } as never)).toThrow(
      /reconciler\.resource/,
    );
  });
});
