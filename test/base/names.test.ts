/**
 * A misspelt option was ignored: a manager with `leaderElecton` elected nobody, so that two
 * replicas worked at once, and a reconcile that returned `requeueAfterMs` was not requeued. Now
 * every unknown name is an error that suggests the right one.
 */
import {
  CacheController,
  DeltaFIFO,
  defineResource,
  ExpirationCache,
  FilteringResourceEventHandler,
  fetchTransport,
  Indexer,
  ListWatch,
  list,
  listItems,
  MutationCache,
  newInformer,
  newSharedInformerFactory,
  newStore,
  newTTLStore,
  RealFIFO,
  Reflector,
  RetryWatcher,
  resourceOf,
  SharedIndexInformer,
  waitFor,
  waitForCacheSync,
  watch,
} from 'capstan/cache';
import {
  createOrUpdate,
  Discovery,
  defineCustomResource,
  discover,
  EventRecorder,
  Finalizers,
  finalizer,
  installCRDs,
  instrumentTransport,
  listAll,
  mergeFrom,
  newClient,
  newDryRunClient,
  RequestRateLimiter,
  RestClientMetrics,
  retryOnConflict,
  setControllerReference,
  setStatusCondition,
  withInterceptors,
} from 'capstan/client';
import { httpTransport } from 'capstan/client-node';
import {
  channelSource,
  createController,
  EventChannel,
  enqueueRequestForObject,
  enqueueRequestForOwner,
  funcSource,
  generationChangedPredicate,
  handlerFuncs,
  kindSource,
  newControllerManagedBy,
  newPredicateFuncs,
  owning,
  predicateFuncs,
  timerSource,
  watching,
} from 'capstan/controller';
import { LeaderElector, LeaseLock, runOrDie } from 'capstan/leaderelection';
import {
  certificateFiles,
  debugPage,
  HTTPServer,
  newManager,
  withAuthenticationAndAuthorization,
} from 'capstan/manager';
import { ApiServer, FakeClock, fakeClient, fakeTransport } from 'capstan/testing';
import {
  BucketRateLimiter,
  DelayingQueue,
  ItemExponentialFailureRateLimiter,
  PriorityQueue,
  parallelizeUntil,
  RateLimitingQueue,
  runUntil,
  WorkQueue,
} from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { namesOf, requireMembers, requireNames } from '../../bindings/base/names.ts';
import { typeErrors } from '../helpers/type-errors.ts';

const Widget = defineResource<{ metadata: { name: string; namespace?: string } }>()({
  group: 'example.com',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  namespaced: true,
});
const transport = fakeTransport({ resources: [Widget] });
const listWatch = new ListWatch(transport, Widget);
const client = newClient({ transport });
const widget = { metadata: { namespace: 'default', name: 'a' } };
const owner = { metadata: { namespace: 'default', name: 'a', uid: 'u' } };
const key = widget.metadata;
const reconcile = () => undefined;
const nothing = () => undefined;
const cluster = () => new SharedIndexInformer(listWatch);
const factory = () => newSharedInformerFactory(transport);
const manager = () => newManager({ transport });
const lock = new LeaseLock(transport, { namespace: 'default', name: 'a', identity: 'me' });
const callbacks = { onStartedLeading: nothing, onStoppedLeading: nothing };
const handler = enqueueRequestForObject();

/** Calls with a wrong name in their options, and the name that the error must suggest. */
const calls: [what: string, call: (given: never) => unknown, wrong: string, meant: string][] = [
  ['WorkQueue', (o) => new WorkQueue(o), 'maxdepth', 'maxDepth'],
  ['DelayingQueue', (o) => new DelayingQueue(o), 'Clock', 'clock'],
  ['RateLimitingQueue', (o) => new RateLimitingQueue(undefined, o), 'addEndWait', 'addEndsWait'],
  ['PriorityQueue', (o) => new PriorityQueue(undefined, o), 'ageing', 'aging'],
  ['aging', (o) => new PriorityQueue(undefined, { aging: o }), 'everyMS', 'aging.everyMs'],
  ['get', (o) => new WorkQueue().get(o), 'Signal', 'signal'],
  ['get of one that wraps', (o) => wraps().get(o), 'sginal', 'signal'],
  ['getWithPriority', (o) => new PriorityQueue().getWithPriority(o), 'take', 'taken'],
  ['shutDownWithDrain', (o) => new WorkQueue().shutDownWithDrain(o), 'abortSignal', 'signal'],
  ['snapshot', (o) => new WorkQueue().snapshot(o), 'limt', 'limit'],
  ['addAfter', (o) => new DelayingQueue().addAfter('a', 1, o), 'Mode', 'mode'],
  ['addWithOpts', (o) => new PriorityQueue().addWithOpts(o, 'a'), 'Priority', 'priority'],
  ['a limiter', (o) => new ItemExponentialFailureRateLimiter(1, 2, o), 'keys', 'key'],
  ['a bucket', (o) => new BucketRateLimiter(1, 2, o), 'clcok', 'clock'],
  ['runUntil', (o) => runUntil(nothing, 1, o), 'ctx', 'signal'],
  ['parallelizeUntil', (o) => parallelizeUntil(1, 1, nothing, o), 'ChunkSize', 'chunkSize'],

  ['ListWatch', (o) => new ListWatch(transport, Widget, o), 'labelselector', 'labelSelector'],
  ['an informer', (o) => new SharedIndexInformer(listWatch, o), 'resyncMs', 'resyncPeriod'],
  ['its back-off', (o) => new SharedIndexInformer(listWatch, { backoff: o }), 'capMs', 'cap'],
  ['its onBytes', (o) => new SharedIndexInformer(listWatch, { onBytes: o }), 'cal', 'onBytes.call'],
  ['informer.run', (o) => cluster().run(o), 'stopCh', 'signal'],
  ['events', (o) => cluster().events(o), 'abort', 'signal'],
  ['a handler', (o) => cluster().addEventHandler(o), 'onadd', 'onAdd'],
  ['a handler of Go', (o) => cluster().addEventHandler(o), 'UpdateFunc', 'onUpdate'],
  ['a handler of another client', (o) => cluster().addEventHandler(o), 'delete', 'onDelete'],
  ['addEventHandler', (o) => cluster().addEventHandler({}, o), 'resync', 'resyncPeriod'],
  ['Reflector', (o) => new Reflector(listWatch, new Indexer(), o), 'wacthList', 'watchList'],
  ['a factory', (o) => newSharedInformerFactory(transport, o), 'nameSpaces', 'namespaces'],
  ['a selection', (o) => factory().informerFor(Widget, o), 'selector', 'labelSelector'],
  ['selections', (o) => selections(o), 'ns', 'namespace'],
  ['perResource', (o) => perResource(o), 'keepmanagedfields', 'keepManagedFields'],
  ['factory.start', (o) => factory().start(o), 'Signal', 'signal'],
  ['factory.waitForCacheSync', (o) => factory().waitForCacheSync(o), 'singal', 'signal'],
  ['isServed', (o) => factory().isServed(Widget, o), 'select', 'selection'],
  ['watch', (o) => watch(transport, Widget, o), 'ResourceVersion', 'resourceVersion'],
  ['list', (o) => list(transport, Widget, o), 'fieldselector', 'fieldSelector'],
  ['listItems', (o) => listItems(transport, Widget, o), 'PageBufferSize', 'pageBufferSize'],
  ['RetryWatcher', (o) => new RetryWatcher(listWatch, '1', o), 'onError', 'watchErrorHandler'],
  ['lister', (o) => cluster().lister().list(o), 'labels', 'labelSelector'],
  ['newStore', (o) => newStore(undefined, o), 'transform', 'transformer'],
  ['newTTLStore', (o) => newTTLStore(String, 1, o), 'Clock', 'clock'],
  [
    'ExpirationCache',
    (o) => new ExpirationCache(String, { isExpired: () => false }, o),
    'clocks',
    'clock',
  ],
  ['MutationCache', (o) => new MutationCache(new Indexer(), o), 'TTL', 'ttl'],
  ['RealFIFO', (o) => new RealFIFO(o), 'keyFunc', 'keyFunction'],
  ['DeltaFIFO', (o) => new DeltaFIFO(o), 'KnownObjects', 'knownObjects'],
  ['pop', (o) => new RealFIFO().pop(nothing, o), 'context', 'signal'],
  ['newInformer', (o) => newInformer(and({ listerWatcher: listWatch }, o)), 'indexer', 'indexers'],
  ['CacheController', (o) => new CacheController(o), 'listWatcher', 'listerWatcher'],
  ['a filter', (o) => new FilteringResourceEventHandler(o), 'FilterFunc', 'filterFunc'],
  ['waitForCacheSync', (o) => waitForCacheSync(o, cluster()), 'sig', 'signal'],
  ['waitFor', (o) => waitFor(o, ''), 'SIGNAL', 'signal'],
  ['resourceOf', (o) => resourceOf(transport, o), 'Resource', 'plural'],
  ['fetchTransport', (o) => fetchTransport('http://localhost', o), 'header', 'headers'],
  ['defineResource', (o) => defineResource()(o), 'scope', 'namespaced'],

  ['newClient', (o) => newClient(and({ transport }, o)), 'fieldManager', 'fieldOwner'],
  ['client.get', (o) => client.get(Widget, key, o), 'Live', 'live'],
  ['client.list', (o) => client.list(Widget, o), '_continue', 'continue'],
  ['its index', (o) => client.list(Widget, { index: o }), 'valeu', 'index.value'],
  ['client.create', (o) => client.create(Widget, widget, o), 'dryrun', 'dryRun'],
  ['client.update', (o) => client.update(Widget, widget, o), 'fieldMangaer', 'fieldOwner'],
  ['client.patch', (o) => client.patch(Widget, key, merge(), o), 'FieldManager', 'fieldOwner'],
  ['a patch', (o) => client.patch(Widget, key, and({ type: 'merge' }, o)), 'Body', 'body'],
  ['client.apply', (o) => client.apply(Widget, widget, o), 'Force', 'force'],
  ['client.delete', (o) => client.delete(Widget, key, o), 'PropagationPolicy', 'propagationPolicy'],
  ['preconditions', (o) => client.delete(Widget, key, { preconditions: o }), 'UID', 'uid'],
  ['deleteAllOf', (o) => client.deleteAllOf(Widget, o), 'LabelSelector', 'labelSelector'],
  ['a status', (o) => client.status().update(Widget, widget, o), 'Body', 'body'],
  [
    'a dry run',
    (o) => newDryRunClient(client).create(Widget, widget, o),
    'fieldowner',
    'fieldOwner',
  ],
  ['createOrUpdate', (o) => createOrUpdate(client, Widget, key, nothing, o), 'Live', 'live'],
  ['finalize', (o) => new Finalizers().finalize(widget, o), 'abort', 'signal'],
  ['finalizer', (o) => finalizer(client, Widget, 'a/b', widget, o), 'Cleanup', 'cleanup'],
  ['listAll', (o) => listAll(client, Widget, o).next(), 'limit', 'pageSize'],
  ['mergeFrom', (o) => mergeFrom(widget, o), 'optimisticlock', 'optimisticLock'],
  ['RequestRateLimiter', (o) => new RequestRateLimiter(o), 'QPS', 'qps'],
  [
    'instrumentTransport',
    (o) => instrumentTransport(transport, new RestClientMetrics(), o),
    'hsot',
    'host',
  ],
  [
    'retryOnConflict',
    (o) => retryOnConflict({ steps: 1, duration: 1 }, nothing, o),
    'abortSignal',
    'signal',
  ],
  ['a backoff', (o) => retryOnConflict(o, nothing), 'Steps', 'steps'],
  [
    'setControllerReference',
    (o) => setControllerReference(owner, widget, Widget, o),
    'BlockOwnerDeletion',
    'blockOwnerDeletion',
  ],
  [
    'setStatusCondition',
    (o) => setStatusCondition([], { type: 'A', status: 'True', reason: 'a', message: '' }, o),
    'wallnow',
    'wallNow',
  ],
  ['withInterceptors', (o) => withInterceptors(client, o), 'Get', 'get'],
  ['EventRecorder', (o) => new EventRecorder(o), 'controller', 'reportingController'],
  ['Discovery', (o) => new Discovery(transport, o), 'colck', 'clock'],
  ['discover', (o) => discover(transport, { group: '', kind: 'Pod' }, o), 'sinal', 'signal'],
  ['defineCustomResource', (o) => defineCustomResource(o), 'shortnames', 'shortNames'],
  [
    'a column',
    (o) => defineCustomResource({ additionalPrinterColumns: [o] } as never),
    'JSONPath',
    'jsonPath',
  ],
  ['installCRDs', (o) => installCRDs(client, [], o), 'timeoutMs', 'timeout'],

  [
    'createController',
    (o) => createController(and({ transport, for: Widget, reconcile }, o)),
    'MaxConcurrentReconciles',
    'maxConcurrentReconciles',
  ],
  [
    'workers',
    (o) => createController(and({ transport, for: Widget, reconcile }, o)),
    'workers',
    'maxConcurrentReconciles',
  ],
  [
    'controller.run',
    (o) => createController({ transport, for: Widget, reconcile }).run(o),
    'abortSignal',
    'signal',
  ],
  [
    'report',
    (o) => createController({ transport, for: Widget, reconcile }).report(o),
    'Limit',
    'limit',
  ],
  [
    'a predicate',
    (o) => createController({ transport, for: Widget, predicates: [o], reconcile }),
    'Update',
    'update',
  ],
  [
    'an eventFilter',
    (o) => createController({ transport, for: Widget, eventFilters: [o], reconcile }),
    'deleted',
    'delete',
  ],
  [
    'owns',
    (o) =>
      createController({ transport, for: Widget, owns: [and({ resource: Widget }, o)], reconcile }),
    'matcheveryowner',
    'matchEveryOwner',
  ],
  ['owning', (o) => owning(Widget, o), 'metaDataOnly', 'metadataOnly'],
  ['watching', (o) => watching(Widget, handler, o), 'predicate', 'predicates'],
  [
    'its handler',
    (o) => createController({ transport, for: Widget, watches: [watching(Widget, o)], reconcile }),
    'Create',
    'create',
  ],
  ['the builder', (o) => newControllerManagedBy(manager()).for(Widget, o), 'filter', 'predicates'],
  [
    'withOptions',
    (o) => newControllerManagedBy(manager()).withOptions(o),
    'RateLimiter',
    'rateLimiter',
  ],
  [
    'enqueueRequestForOwner',
    (o) => enqueueRequestForOwner(Widget, o),
    'OnlyController',
    'onlyController',
  ],
  ['handlerFuncs', (o) => handlerFuncs(o), 'CreateFunc', 'create'],
  ['predicateFuncs', (o) => predicateFuncs(o), 'GenericFunc', 'generic'],
  ['a standard predicate', (o) => generationChangedPredicate(o), 'recreate', 'recreated'],
  ['newPredicateFuncs', (o) => newPredicateFuncs(() => true, o), 'Name', 'name'],
  [
    'kindSource',
    (o) => kindSource(and({ cache: factory(), resource: Widget, handler }, o)),
    'select',
    'selection',
  ],
  [
    'channelSource',
    (o) => channelSource(and({ events: new EventChannel(), handler }, o)),
    'buffersize',
    'bufferSize',
  ],
  ['timerSource', (o) => timerSource(and({ period: 1, requests: [] }, o)), 'everyMs', 'period'],
  ['funcSource', (o) => funcSource('a', nothing, o), 'CLOCK', 'clock'],
  ['EventChannel', (o) => new EventChannel(o), 'capcity', 'capacity'],
  ['send', (o) => new EventChannel().send({}, o), 'sig', 'signal'],
  [
    'a source',
    (o) =>
      createController({
        transport,
        for: Widget,
        reconcile,
        sources: [and({ name: 'a', start: nothing }, o)],
      }),
    'WaitForSync',
    'waitForSync',
  ],

  ['newManager', (o) => newManager(and({ transport }, o)), 'leaderElecton', 'leaderElection'],
  [
    'a nested name above',
    (o) => newManager(and({ transport }, o)),
    'LeaderElectionID',
    'leaderElection.id',
  ],
  [
    'a nested name of Go',
    (o) => newManager(and({ transport }, o)),
    'leaseDuration',
    'leaderElection.leaseDuration',
  ],
  [
    'leaderElection',
    (o) => newManager({ transport, leaderElection: and({ id: 'a', namespace: 'b' }, o) }),
    'leaseduration',
    'leaderElection.leaseDuration',
  ],
  ['cache', (o) => newManager({ transport, cache: o }), 'Namespace', 'cache.namespace'],
  ['client', (o) => newManager({ transport, client: o }), 'fieldManager', 'client.fieldOwner'],
  [
    'controller',
    (o) => newManager({ transport, controller: o }),
    'recoverpanic',
    'controller.recoverPanic',
  ],
  ['metrics', (o) => newManager({ transport, metrics: o }), 'bindaddress', 'metrics.bindAddress'],
  [
    'healthProbe',
    (o) => newManager({ transport, healthProbe: o }),
    'address',
    'healthProbe.bindAddress',
  ],
  [
    'debugPage',
    (o) => newManager({ transport, debugPage: o }),
    'allowremote',
    'debugPage.allowRemote',
  ],
  [
    'profiling',
    (o) => newManager({ transport, profiling: o }),
    'BindAddress',
    'profiling.bindAddress',
  ],
  ['manager.start', (o) => manager().start(o), 'abort', 'signal'],
  ['manager.report', (o) => manager().report(o), 'Filter', 'filter'],
  [
    'a runnable',
    (o) => manager().add(and({ start: async () => undefined }, o)),
    'NeedLeaderElection',
    'needLeaderElection',
  ],
  ['debugPage()', (o) => debugPage(o), 'State', 'state'],
  ['HTTPServer', (o) => new HTTPServer(o), 'bindaddress', 'bindAddress'],
  [
    'the filter of metrics',
    (o) => withAuthenticationAndAuthorization(transport, o),
    'audience',
    'audiences',
  ],
  ['certificateFiles', (o) => certificateFiles(o), 'certs', 'cert'],
  ['LeaseLock', (o) => new LeaseLock(transport, o), 'Identity', 'identity'],
  [
    'LeaderElector',
    (o) => new LeaderElector(and({ lock, callbacks }, o)),
    'renewDeadLine',
    'renewDeadline',
  ],
  [
    'callbacks',
    (o) => new LeaderElector({ lock, callbacks: o }),
    'OnStartedLeading',
    'onStartedLeading',
  ],
  ['runOrDie', (o) => runOrDie({ lock, callbacks }, o), 'ctx', 'signal'],
  ['httpTransport', (o) => httpTransport('https://localhost', o), 'TLS', 'tls'],
  [
    'its tls',
    (o) => httpTransport('https://localhost', { tls: o }),
    'serverName',
    'tls.servername',
  ],
  ['fakeClient', (o) => fakeClient(o), 'object', 'objects'],
  ['fakeTransport', (o) => fakeTransport(o), 'resource', 'resources'],
  ['inject', (o) => fakeTransport().inject(and({ do: 'reset' }, o)), 'Times', 'times'],
  ['ApiServer.start', (o) => ApiServer.start(o), 'Port', 'port'],
];

function and(known: object, given: object): never {
  return { ...known, ...given } as never;
}
function merge(): { type: 'merge'; body: object } {
  return { type: 'merge', body: {} };
}
function wraps(): RateLimitingQueue {
  return new RateLimitingQueue(undefined, { inner: new WorkQueue() });
}
function selections(given: object): unknown {
  return newSharedInformerFactory(transport, { selections: new Map([[Widget, given]]) });
}
function perResource(given: object): unknown {
  return newSharedInformerFactory(transport, { perResource: new Map([[Widget, given]]) });
}
async function failureOf(call: () => unknown): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    return error;
  }
}

describe('an unknown name', () => {
  test.each(calls)('of %s', async (_, call, wrong, meant) => {
    const given = { [wrong]: nothing } as never;
    const error = await failureOf(() => call(given));
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect((error as Error).message).toMatch(
      new RegExp(`"([^"]*[.\\]])?${wrong}" is no .*: did you mean "([^"]*\\.)?${meant}"\\?$`),
    );
  });
});

/**
 * A signal in place of the options, as Go passes contexts, was ignored: the informer never ended.
 */
describe('a signal in place of { signal }', () => {
  const queue = new WorkQueue();
  const takers: [what: string, call: (given: never) => unknown][] = [
    ['get', (o) => queue.get(o)],
    ['shutDownWithDrain', (o) => queue.shutDownWithDrain(o)],
    ['runUntil', (o) => runUntil(nothing, 1, o)],
    ['parallelizeUntil', (o) => parallelizeUntil(1, 1, nothing, o)],
    ['informer.run', (o) => cluster().run(o)],
    ['events', (o) => cluster().events(o)],
    ['shutDownEventHandler', (o) => cluster().shutDownEventHandler(null as never, o)],
    ['reflector.run', (o) => new Reflector(listWatch, new Indexer()).run(o)],
    ['CacheController.run', (o) => newInformer({ listerWatcher: listWatch }).controller.run(o)],
    ['pop', (o) => new DeltaFIFO().pop(nothing, o)],
    ['factory.start', (o) => factory().start(o)],
    ['factory.waitForCacheSync', (o) => factory().waitForCacheSync(o)],
    ['waitForCacheSync', (o) => waitForCacheSync(o)],
    ['waitFor', (o) => waitFor(o, '')],
    ['watch', (o) => watch(transport, Widget, o)],
    ['client.get', (o) => client.get(Widget, key, o)],
    ['client.list', (o) => client.list(Widget, o)],
    ['client.delete', (o) => client.delete(Widget, key, o)],
    ['retryOnConflict', (o) => retryOnConflict({ steps: 1, duration: 1 }, nothing, o)],
    ['shutdown', (o) => new EventRecorder({ client, reportingController: 'a.b/c' }).close(o)],
    ['controller.run', (o) => createController({ transport, for: Widget, reconcile }).run(o)],
    ['manager.start', (o) => manager().start(o)],
    ['elector.run', (o) => new LeaderElector({ lock, callbacks }).run(o)],
    ['runOrDie', (o) => runOrDie({ lock, callbacks }, o)],
    ['send', (o) => new EventChannel().send({}, o)],
  ];

  test.each(takers)('%s', async (_, call) => {
    const { signal } = new AbortController();
    for (const given of [signal, { signal: new AbortController() }]) {
      const error = await failureOf(() => call(given as never));
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
      expect((error as Error).message).toMatch(/\{ signal \}|"signal" expected an AbortSignal/);
    }
  });
});

describe('the options argument', () => {
  const NAMES = namesOf<{ clock?: object; transport?: object; logger?: object; size?: number }>()({
    clock: 1,
    transport: 1,
    logger: 1,
    size: 1,
  });
  const given = (value: unknown): (() => void) => {
    return () => requireNames('options', value, 'option of this', NAMES);
  };

  test.each([
    ['undefined members and symbols', { sise: undefined, [Symbol('x')]: 1, size: 1 }],
    ['none', {}],
    ['without a prototype', Object.assign(Object.create(null), { size: 1 })],
    ['members of a prototype', Object.create({ size: 1, sise: 2 })],
    [
      'a class with getters and methods',
      new (class {
        get size(): number {
          return 1;
        }
        load(): void {}
      })(),
    ],
  ])('may be an object with %s', (_, value) => {
    expect(given(value)).not.toThrow();
  });

  test.each([
    ['a clock', new FakeClock(), '{ clock }'],
    ['a transport', transport, '{ transport }'],
    ['a logger', { debug: nothing, info: nothing, warn: nothing, error: nothing }, '{ logger }'],
    ['a date', new Date(), '{ clock }'],
    ['a promise of options', Promise.resolve({}), '{ clock }'],
    ['an array', [], 'got an array of 0'],
    ['a function', nothing, 'got a function'],
    ['a text', 'size', 'got "size"'],
    ['null', null, 'got null'],
  ])('is an error if it is %s', (_, value, said) => {
    expect(given(value)).toThrow(said);
  });

  test('is an error with a name that every object has', () => {
    expect(given({ toString: nothing })).toThrow('"toString" is no option of this');
    expect(given(JSON.parse('{"__proto__": 1, "constructor": 2}'))).toThrow('is no option of this');
  });

  test('lists all names if none is similar', () => {
    expect(given({ quux: 1 })).toThrow(
      '"quux" is no option of this: there are clock, logger, size, transport',
    );
  });
});

/**
 * An instance of a class that implements a handler has other members, which are not misspellings.
 */
describe('an object with methods', () => {
  const NAMES = namesOf<{ onAdd(): void; onUpdate(): void }>()({ onAdd: 1, onUpdate: 1 });
  const given = (value: unknown, isOpen = false): (() => void) => {
    return () => requireMembers('handler', value, 'member of a handler', NAMES, isOpen);
  };

  test('may be an instance of a class with other members', () => {
    class Handler {
      pods = new Map();
      onAdd(): void {}
      add(): void {}
    }
    expect(given(new Handler())).not.toThrow();
    expect(given(new (class extends Handler {})())).not.toThrow();
  });

  test('is an error if an instance has none of the names, or one in another case', () => {
    expect(
      given(
        new (class {
          onAdded(): void {}
        })(),
      ),
    ).toThrow('did you mean "onAdd"?');
    expect(
      given(
        new (class {
          onAdd(): void {}
          onupdate(): void {}
        })(),
      ),
    ).toThrow('did you mean "onUpdate"?');
    expect(given(new Map())).toThrow('got an object of class Map');
  });

  test('may have other members if it is open, but none similar to a missing name', () => {
    expect(given({ onAdd: nothing, finish: nothing }, true)).not.toThrow();
    expect(given({ onAdd: nothing, onUpdated: nothing }, true)).toThrow('did you mean "onUpdate"?');
    expect(given({ onAdd: nothing, finish: nothing })).toThrow('"finish" is no member');
  });
});

test('a table of names does not compile with a missing or an extra name', () => {
  const program = (table: string) =>
    "import { namesOf } from '../../bindings/base/names.ts';\nnamesOf<{ " +
    `size?: number; clock?: object }>()(${table});\n`;
  const errors = (name: string, table: string) =>
    typeErrors(`names-${name}`, program(table), { allowImportingTsExtensions: true });
  const others = 'namesOf<{ sise: number }>()({ sise: 1 })';
  expect(errors('right', '{ size: 1, clock: 1 }')).toBe('');
  expect(errors('missing', '{ clock: 1 }')).toContain("Property 'size' is missing");
  const refused = "is not assignable to type 'never'";
  expect(errors('other', '{ size: 1, clock: 1, sise: 1 }')).toContain(refused);
  expect(errors('spread', `{ size: 1, clock: 1, ...${others} }`)).toContain(refused);
}, 60_000);

/** The result counted as success, and the request was lost until the object changed. */
test('a reconcile whose result has an unknown member fails and is retried', async () => {
  const clock = new FakeClock();
  const logged: string[] = [];
  const log = (_: string, fields?: { error?: unknown }) =>
    void logged.push(String((fields?.error as Error | undefined)?.message));
  const server = fakeTransport({
    clock,
    resources: [Widget],
    objects: [{ apiVersion: 'example.com/v1', kind: 'Widget', ...widget }],
  });
  let runs = 0;
  const end = new AbortController();
  const controller = createController({
    transport: server,
    for: Widget,
    clock,
    logger: { debug: nothing, info: nothing, warn: nothing, error: log },
    reconcile: () => {
      if (++runs === 1) return { requeueAfterMs: 50 } as never;
      end.abort();
      return undefined;
    },
  });
  const running = controller.run({ signal: end.signal });
  while (runs < 2) await clock.run(5);
  await running;
  expect(logged).toEqual([
    '"requeueAfterMs" is no member of the result of a reconcile: did you mean "requeueAfter"?',
  ]);
});
