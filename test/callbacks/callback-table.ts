/**
 * The table of user functions and of what happens when they misbehave. docs/reference/callbacks.md
 * is generated from it; callback-table.test.ts checks that every function that user-functions.ts
 * finds has a row, and that every test that a row names exists.
 */

export interface CallbackRow {
  /** The names of user-functions.ts; `Type.*` stands for all members of a type. */
  readonly functions: readonly string[];
  /** The name in the documentation. */
  readonly what: string;
  readonly throws: string;
  /** A result of the wrong type, and a promise where none is expected. */
  readonly rubbish: string;
  /** Re-entrant calls, and a call that ends the caller. */
  readonly within: string;
  /** Files under test/. */
  readonly tests: readonly string[];
}

const CALLER =
  'the caller of the function that it was passed to gets the error, and nothing else happens';
const FREE = 'allowed; after the end it is not called again';
const CONTROLLER = 'callbacks/controller-callbacks.test.ts';
const INFORMER = 'callbacks/informer-callbacks.test.ts';
const TOLD = 'reported, and nothing else happens';

const QUEUES: readonly CallbackRow[] = [
  {
    functions: ['QueueOptions.key', 'LimiterOptions.key'],
    what: '`key` of a queue or limiter',
    throws:
      'the call gets INVALID_ARGUMENT with the cause and has changed nothing; when ' +
      'a delay ends it is reported and asked again each second',
    rubbish: 'as if it threw',
    within: 'allowed; a queue that it disposes of refuses the call with DISPOSED',
    tests: [
      'workqueue/callbacks.test.ts',
      'workqueue/edge-cases.test.ts',
      'workqueue/order-failures.test.ts',
    ],
  },
  {
    functions: ['QueueOrder.push'],
    what: '`push` of an order (option `order`)',
    throws:
      'in an add: the add throws and has not happened; when a key is done: ' +
      'reported, and the key is handed out before the others; when a delay ' +
      'ends: reported, and tried again each second',
    rubbish:
      'ignored; a promise that is rejected is reported; a key that the ' +
      'order lost is handed out when the order is empty',
    within: FREE,
    tests: ['workqueue/order-failures.test.ts', CONTROLLER],
  },
  {
    functions: ['QueueOrder.touch'],
    what: '`touch` of an order',
    throws: 'the add throws; the key stays queued',
    rubbish: 'ignored; a promise that is rejected is reported',
    within: FREE,
    tests: ['workqueue/order-failures.test.ts', CONTROLLER],
  },
  {
    functions: ['QueueOrder.len', 'QueueOrder.pop'],
    what: '`len` and `pop` of an order',
    throws:
      'the get is rejected, also the first one that waits; a key that `pop` had ' +
      'removed before is handed out when the order is empty',
    rubbish: 'the get is rejected with INVALID_ARGUMENT; the keys stay, and `recover()` has them',
    within: 'allowed; if no `get` is left to take its key, the key goes back to the order',
    tests: ['workqueue/order-failures.test.ts', 'workqueue/callbacks.test.ts', CONTROLLER],
  },
  {
    functions: ['RateLimiter.when'],
    what: '`when` of a limiter',
    throws: '`addRateLimited` throws; a controller reports it and tries again after a second',
    rubbish: 'as if it threw',
    within: FREE,
    tests: [CONTROLLER, 'controller/controller.test.ts'],
  },
  {
    functions: ['RateLimiter.forget', 'RateLimiter.numRequeues'],
    what: '`forget` and `numRequeues` of a limiter',
    throws:
      'the call throws; a controller reports it and reconciles nevertheless; a ' +
      'limiter that throws for a request fails the controller’s start',
    rubbish: '`forget`: ignored, a rejection is reported; `numRequeues`: as if it threw',
    within: FREE,
    tests: [CONTROLLER, 'controller/dependency-failures.test.ts'],
  },
  {
    functions: ['GetOptions.taken'],
    what: '`taken` of `get`',
    throws: 'the get is rejected; the item has been handed out nevertheless',
    rubbish: 'ignored',
    within: FREE,
    tests: ['workqueue/get-options.test.ts'],
  },
  {
    functions: ['MetricsProvider.*', 'Metric.*', 'PriorityDepth.*'],
    what: 'metrics of a queue',
    throws: 'reported; a metric that could not be made is missing',
    rubbish: 'ignored; a rejection is reported; a method that makes no metric: as if it threw',
    within: FREE,
    tests: [CONTROLLER, 'workqueue/edge-cases.test.ts', 'workqueue/metrics.test.ts'],
  },
  {
    functions: ['runUntil(fn)'],
    what: 'the function of `runUntil`',
    throws: 'reported, and it is called again after the period',
    rubbish: 'a promise is waited for; else ignored',
    within: FREE,
    tests: ['workqueue/run-until.test.ts', 'workqueue/edge-cases.test.ts'],
  },
  {
    functions: ['parallelizeUntil(run)'],
    what: 'the pieces of `parallelizeUntil`',
    throws: 'no further piece begins, and the first error rejects when the running ones have ended',
    rubbish: 'a promise is waited for; else ignored',
    within: FREE,
    tests: ['workqueue/parallelize.test.ts'],
  },
];

export const CACHES: readonly CallbackRow[] = [
  {
    functions: ['ResourceEventHandler.*'],
    what: 'an informer’s handler (`onAdd`, `onUpdate`, `onDelete`)',
    throws:
      'reported and counted (`status().handlers[].failed`, ' +
      '`capstan_informer_handler_failures_total`); this handler misses that notification, ' +
      'no other does',
    rubbish:
      'the next notification of this handler waits for a promise, and a ' +
      'rejection counts as thrown; one that never settles shows in `pending`, ' +
      'and the end waits `shutdownTimeout` for it; else ignored',
    within: FREE,
    tests: [INFORMER, 'cache/store/index-functions.test.ts', 'cache/informer/informer.test.ts'],
  },
  {
    functions: ['FilteringResourceEventHandler(options).filterFunc'],
    what: '`filterFunc` of a filtering handler',
    throws: 'as the handler behind it',
    rubbish: 'as if it threw: the handler misses that notification, and it is counted',
    within: FREE,
    tests: [INFORMER],
  },
  {
    functions: ['HighWater.onHighWater', 'BytesMark.call'],
    what: '`highWater` and `onBytes`',
    throws: TOLD,
    rubbish: 'ignored; a rejection is reported',
    within: FREE,
    tests: [INFORMER],
  },
  {
    functions: [
      'SharedIndexInformerOptions.transform',
      'FactoryOptions.transform',
      'NewInformerOptions.transform',
      'SharedIndexInformer.setTransform(transform)',
      'DeltaFIFOOptions.transformer',
      'RealFIFOOptions.transformer',
    ],
    what: '`transform`',
    throws:
      'reported (TRANSFORM); the object is kept as it was by then, with its ' +
      'name, namespace and version; in a bare queue the add throws',
    rubbish: 'as if it threw',
    within: FREE,
    tests: [INFORMER, CONTROLLER, 'cache/informer/informer.test.ts'],
  },
  {
    functions: ['IndexSpec', 'indexFuncToKeyFuncAdapter(indexFunc)'],
    what: 'an index function',
    throws:
      'in an informer: reported once a minute, the object stays and is counted as not ' +
      'indexed (`status().notIndexed`, `capstan_informer_not_indexed`); it is asked again ' +
      'with the object’s next change, a resync, a list, and after a second with any event or ' +
      'bookmark, ever more seldom; in a bare store the change throws and has not happened',
    rubbish: 'as if it threw',
    within: FREE,
    tests: ['cache/store/index-functions.test.ts', CONTROLLER, 'cache/store/store.test.ts'],
  },
  {
    functions: [
      'Indexer(keyFunc)',
      'ExpirationCache(keyFunc)',
      'UndeltaStore(keyFunc)',
      'newStore(keyFunc)',
      'newTTLStore(keyFunc)',
      'processDeltas(keyFunc)',
      'DeltaFIFOOptions.keyFunction',
      'RealFIFOOptions.keyFunction',
    ],
    what: '`keyFunc` of a store or queue of deltas',
    throws: 'the call throws and has changed nothing',
    rubbish: 'INVALID_ARGUMENT, and nothing has changed',
    within: 'allowed',
    tests: ['cache/store/store.test.ts', 'cache/queue/fifo.test.ts'],
  },
  {
    functions: [
      'ReflectorOptions.watchErrorHandler',
      'RetryWatcherOptions.watchErrorHandler',
      'WatchObjectOptions.watchErrorHandler',
      'SharedIndexInformer.setWatchErrorHandler(handler)',
    ],
    what: '`watchErrorHandler`',
    throws: 'reported; the informer goes on as after the failure that it reported',
    rubbish: 'ignored; a rejection is reported',
    within: FREE,
    tests: [INFORMER, CONTROLLER],
  },
  {
    functions: ['ListWatchFunctions.*'],
    what: 'the functions of a ListWatch of other systems',
    throws: 'a failure of the informer, which is reported; it lists again with back-off',
    rubbish: 'as if it threw; promises are waited for, but not beyond the end of the informer',
    within: FREE,
    tests: ['cache/reflector/list-watch-from.test.ts'],
  },
  {
    functions: ['SharedInformerFactory.onNamespaces(listener)'],
    what: 'a listener of `onNamespaces`',
    throws: 'reported; the namespaces have changed, and other listeners are called',
    rubbish: 'ignored; a promise that is rejected is reported',
    within: FREE,
    tests: ['manager/changing-namespaces.test.ts'],
  },
  {
    functions: ['ListWatchOptions.tweak'],
    what: '`tweak` of a ListWatch (`tweakListOptions`)',
    throws:
      'the list or watch fails and is tried again with back-off; ' +
      'the watch error handler gets the error',
    rubbish: 'a promise: as if it threw, as later changes are in no request; else ignored',
    within: FREE,
    tests: [INFORMER],
  },
  {
    functions: ['InformerMetricsProvider.*'],
    what: 'metrics of an informer',
    throws: 'reported; if it throws when the informer starts, the informer has no metrics',
    rubbish:
      'ignored, a rejection is reported; `addReadings` has to answer with a function or nothing',
    within: FREE,
    tests: [INFORMER, 'cache/informer/informer-metrics.test.ts'],
  },
  {
    functions: [
      'ReflectorOptions.shouldResync',
      'ReflectorOptions.resyncPeriod',
      'CacheControllerConfig.shouldResync',
    ],
    what: '`shouldResync`, `resyncPeriod`',
    throws:
      'reported; `shouldResync` is asked again after the period, and the period stays what it was',
    rubbish:
      'no resync where the answer is falsy, or the period no number above 0; a promise: as if ' +
      'it threw',
    within: FREE,
    tests: ['cache/reflector/reflector.test.ts'],
  },
  {
    functions: [
      'CacheControllerConfig.process',
      'CacheControllerConfig.processBatch',
      'DeltaFIFO.pop(process)',
      'DeltaFIFO.tryPop(process)',
      'RealFIFO.pop(process)',
      'RealFIFO.tryPop(process)',
      'RealFIFO.popBatch(processBatch)',
      'RealFIFO.popBatch(processSingle)',
      'DeltaFIFOOptions.onDelta',
      'RealFIFOOptions.onDelta',
    ],
    what: '`process` of a controller of client-go’s kind, and of a pop',
    throws:
      'the pop throws; the deltas are off the queue, as in ' +
      'client-go; the controller reports it and goes on',
    rubbish: '`pop` waits for a promise; else ignored',
    within: 'allowed',
    tests: ['cache/parity/cache-controller.test.ts', 'cache/queue/fifo.test.ts'],
  },
  {
    functions: ['ExpirationPolicy.isExpired'],
    what: '`isExpired` of an expiration cache',
    throws: CALLER,
    rubbish: 'truthy: expired',
    within: 'allowed',
    tests: ['cache/store/upstream-stores.test.ts'],
  },
  {
    functions: ['WatchOptions.matches'],
    what: '`matches` of `watch`',
    throws: CALLER,
    rubbish: 'decoding errors, for the caller',
    within: 'allowed',
    tests: ['cache/reflector/upstream-pager.test.ts', 'cache/reflector/watch.test.ts'],
  },
];

export const CONTROLLERS: readonly CallbackRow[] = [
  {
    functions: ['Predicate.*', 'newPredicateFuncs(filter)'],
    what: 'a predicate',
    throws: 'the event passes; reported once a minute for each kind of event, with how often',
    rubbish: 'anything but true and false, promises too: as if it threw',
    within: FREE,
    tests: [CONTROLLER, 'controller/event-pipe.test.ts'],
  },
  {
    functions: ['EventHandler.*'],
    what: 'an event handler',
    throws:
      'reported and counted; the event is delivered again after 100 ms, 200 ms and so on ' +
      'up to 30 s, until the source ends; waiting updates of one object become one; beyond ' +
      '10 000 waiting events further ones are reported as lost',
    rubbish:
      'a rejected promise counts as thrown; until a promise settles, the events of its ' +
      'source wait, and the end waits `shutdownTimeout` for it; else ignored',
    within: FREE,
    tests: [CONTROLLER, 'controller/event-pipe.test.ts'],
  },
  {
    functions: ['RequestType.key', 'RequestType.namespace'],
    what: '`key` and `namespace` of `defineRequest`',
    throws:
      'the add gets INVALID_ARGUMENT with the cause, and the event of a handler is delivered ' +
      'again; an item that somebody has put in a queue of `newQueue` is reported and dropped',
    rubbish: 'as if it threw; so is an empty key',
    within: FREE,
    tests: ['controller/own-requests.test.ts'],
  },
  {
    functions: ['enqueueRequestsFromMapFunc(map)', 'TimerSourceOptions.requests'],
    what: 'a map function, and `requests` of a timer',
    throws:
      'as an event handler; requests for the other state of an update are added at ' +
      'once; of a timer only the newest tick is delivered again',
    rubbish: 'as if it threw; valid requests beside it are added',
    within: FREE,
    tests: [CONTROLLER, 'controller/handlers.test.ts'],
  },
  {
    functions: [
      'ControllerOptions.reconcile',
      'Reconciler.reconcile',
      'ObjectReconciler.reconcile',
      'ControllerBuilder.build(reconciler)',
      'ControllerBuilder.complete(reconciler)',
    ],
    what: '`reconcile`',
    throws: 'reported; the request comes again when the limiter says so',
    rubbish: 'as if it threw; a promise is waited for, `reconciliationTimeout` fires its signal',
    within: 'allowed; if it waits for the end of its controller, that never ends',
    tests: ['controller/reconcile.test.ts', 'controller/runner.test.ts'],
  },
  {
    functions: ['Source.*', 'funcSource(start)'],
    what: 'a source of yours',
    throws: 'the start fails with SOURCE_FAILED; `status`: the report says so',
    rubbish: 'a start that never settles: CACHE_SYNC_TIMEOUT',
    within: FREE,
    tests: ['controller/start.test.ts', 'controller/dependency-failures.test.ts'],
  },
  {
    functions: ['ControllerSettings.newQueue'],
    what: '`newQueue`',
    throws: 'the run rejects',
    rubbish: 'INVALID_ARGUMENT: the run rejects',
    within: 'allowed',
    tests: ['controller/start.test.ts', 'controller/request-queue.test.ts'],
  },
  {
    functions: [
      'Logger.*',
      'PinoLike.*',
      'ControllerBuilder.withLogger(logger)',
      'ConsoleLoggerOptions.write',
    ],
    what: 'a logger',
    throws: 'reported, together with the error that it was to log',
    rubbish: 'ignored; a rejection is reported',
    within: FREE,
    tests: [CONTROLLER, 'controller/dependency-failures.test.ts'],
  },
  {
    functions: ['ControllerSettings.logConstructor'],
    what: '`logConstructor`',
    throws:
      'reported; what would have been logged as an error goes to the hook of `setErrorHandler`',
    rubbish: 'as if it threw',
    within: FREE,
    tests: [CONTROLLER, 'controller/dependency-failures.test.ts'],
  },
  {
    functions: ['Tracer.startActiveSpan'],
    what: 'a tracer',
    throws: 'reported; the reconcile runs once, without its span',
    rubbish: 'ignored; a rejection is reported',
    within: FREE,
    tests: [CONTROLLER, 'controller/dependency-failures.test.ts'],
  },
];

const CLIENT_ROWS: readonly CallbackRow[] = [
  {
    functions: ['until(predicate)', 'pollUntil(check)'],
    what: 'what `until` and `pollUntil` ask',
    throws: 'the call is rejected with the error',
    rubbish:
      'a promise is waited for; `until` is rejected with INVALID_ARGUMENT for what is not true ' +
      'or false, `pollUntil` resolves with it',
    within: FREE,
    tests: ['client/until.test.ts'],
  },
  {
    functions: [
      'createOrUpdate(mutate)',
      'createOrPatch(mutate)',
      'Interceptors.*',
      'retryOnConflict(fn)',
      'retryOnError(fn)',
      'retryOnError(retriable)',
    ],
    what: '`mutate`, interceptors, `retryOnConflict` and `retryOnError`',
    throws: CALLER,
    rubbish: 'promises are waited for',
    within: 'allowed',
    tests: ['client/create-or-update.test.ts', 'client/wrappers.test.ts', 'client/retry.test.ts'],
  },
  {
    functions: ['Finalizers.register(finalizer)', 'FinalizerHandlers.*'],
    what: 'finalizers',
    throws: 'the others run; then FINALIZE with all errors, and the finalizer stays on the object',
    rubbish: 'a promise is waited for',
    within: 'allowed',
    tests: ['client/finalizers.test.ts'],
  },
  {
    functions: ['ClientOptions.onWarning'],
    what: '`onWarning`',
    throws: TOLD,
    rubbish: 'ignored; a rejection is reported',
    within: 'allowed',
    tests: ['client/errors-and-warnings.test.ts'],
  },
  {
    functions: ['StandardSchema.~standard.validate'],
    what: '`validate` of a schema (zod, valibot, arktype)',
    throws: CALLER,
    rubbish: 'INVALID_OBJECT or SCHEMA, for the caller',
    within: 'allowed',
    tests: ['client/crd.test.ts'],
  },
];

const PROCESSES: readonly CallbackRow[] = [
  {
    functions: [
      'ControllerManager.addHealthzCheck(check)',
      'ControllerManager.addReadyzCheck(check)',
    ],
    what: 'checks of healthz and readyz',
    throws: 'the probe is answered with 500',
    rubbish: 'ignored: healthy; a promise is waited for',
    within: 'allowed',
    tests: ['manager/healthz.test.ts'],
  },
  {
    functions: [
      'MetricsOptions.filter',
      'MetricsOptions.extraHandlers',
      'ControllerManager.addMetricsServerExtraHandler(handler)',
      'HTTPServerOptions.handler',
      'WebhookServer.register(handler)',
    ],
    what: '`metrics.filter` and HTTP handlers',
    throws: 'the request is answered with 500',
    rubbish: 'a truthy answer of a filter lets the request pass; promises are waited for',
    within: 'allowed',
    tests: ['manager/servers.test.ts'],
  },
  {
    functions: ['Validator.*', 'WebhookBuilder.withDefaulter(change)'],
    what: 'handlers of webhooks',
    throws:
      'AdmissionDenied denies the request; anything else is reported, and the answer is an ' +
      'internal error (500) with its text',
    rubbish:
      'a promise is waited for, up to `timeoutSeconds`: then the signal fires, and the answer is ' +
      '504; of a defaulter anything but an object or nothing: as if it threw',
    within: 'allowed',
    tests: ['webhook/admission.test.ts', 'webhook/server.test.ts'],
  },
  {
    functions: ['Conversion.toHub', 'Conversion.fromHub'],
    what: 'conversions',
    throws: 'reported; the whole request fails, with the name of the object and the text',
    rubbish: 'anything but an object, or one with another identity: as if it threw',
    within: 'allowed',
    tests: ['webhook/conversion.test.ts'],
  },
  {
    functions: ['Manager.addCollector', 'Collector.text'],
    what: 'collectors of metrics',
    throws: 'reported; the answer is an error 500 that names each collector that failed',
    rubbish: 'as if it threw, also where no text comes within ten seconds',
    within: 'allowed',
    tests: ['manager/collect-metrics.test.ts'],
  },
  {
    functions: ['GaugeOptions.read'],
    what: '`read` of a gauge',
    throws: 'reported; the gauge is missing from the answer, and all other metrics are served',
    rubbish: 'as if it threw; a rejection is reported too',
    within: 'allowed',
    tests: ['controller/metrics-registry.test.ts'],
  },
  {
    functions: ['Runnable.*', 'Manager.add'],
    what: 'runnables',
    throws: 'the manager ends, and its `start` rejects with the error',
    rubbish: 'one that ignores its signal is not waited for beyond `gracefulShutdownTimeout`',
    within: 'allowed',
    tests: ['manager/runnable-group.test.ts', 'manager/manager.test.ts'],
  },
  {
    functions: ['webhookConfigurations(setup)', 'conversionDefinitions(setup)'],
    what: '`setup` of webhook configurations and definitions',
    throws: CALLER,
    rubbish: 'ignored: what it has registered by then counts',
    within: 'allowed',
    tests: ['bin/webhooks.test.ts', 'webhook/conversion.test.ts'],
  },
  {
    functions: ['ManagerOptions.newClient'],
    what: '`newClient`',
    throws: '`newManager` throws',
    rubbish:
      '`newManager` throws INVALID_ARGUMENT, for a promise too; an object that is no client: ' +
      'the first use fails',
    within: 'allowed',
    tests: ['manager/manager.test.ts'],
  },
  {
    functions: ['LeaderCallbacks.*', 'LeaderMetric.*', 'ElectionRecorder.eventf'],
    what: 'callbacks, metrics and events of an election',
    throws: 'reported; the term goes on',
    rubbish:
      'ignored; a rejection is reported; `onStartedLeading` is waited for before the release',
    within: FREE,
    tests: ['leaderelection/elector.test.ts'],
  },
  {
    functions: ['setErrorHandler(handler)'],
    what: 'the hook of `setErrorHandler`',
    throws: 'both errors go to the console',
    rubbish: 'ignored; a rejection goes to the console',
    within: 'allowed',
    tests: ['controller/dependency-failures.test.ts'],
  },
  {
    functions: [
      'ReflectorOptions.random',
      'RetryWatcherOptions.random',
      'RetryOptions.random',
      'PollOptions.random',
      'TimerOptions.random',
      'LeaderElectorOptions.random',
      'LeaderElectorOptions.wallNow',
      'EventRecorderOptions.random',
      'EventRecorderOptions.wallNow',
      'ManagerOptions.wallNow',
      'Manager.wallNow',
      'ApiOptions.wallTime',
    ],
    what: '`random`, `wallNow`',
    throws:
      '`random`: reported, and 0.5 is used; `wallNow`: the caller fails (an Event ' +
      'is lost and counted, a round of an election is tried again, `context.now()` throws)',
    rubbish: 'as if it threw',
    within: 'allowed',
    tests: [INFORMER, CONTROLLER],
  },
  {
    functions: ['Clock.*', 'FakeClock.setTimer(run)'],
    what: 'a clock',
    throws:
      'the call throws; in a timer it is reported, and the wait ends ' +
      'nevertheless; `clearTimer` of a queue: reported once, nothing is lost, and the timer does ' +
      'nothing when it fires',
    rubbish: 'INVALID_ARGUMENT where a delay is made of it',
    within: FREE,
    tests: ['workqueue/callbacks.test.ts'],
  },
];

export const PARTS: readonly CallbackRow[] = [
  {
    functions: [
      'Transport.*',
      'TransportResponse.headers.get',
      'TransportRequest.beforeSend',
      'KubeConfigLike.*',
    ],
    what: 'a transport, a kubeconfig',
    throws: 'a failure of that request, which informers try again with back-off',
    rubbish: 'a decoding error of that request',
    within: FREE,
    tests: ['cache/rest/transport.test.ts', 'cache/faults/faults.test.ts'],
  },
  {
    functions: ['ResourceLock.*'],
    what: 'a lock of an election',
    throws: 'a failed round, which is tried again until the lease runs out',
    rubbish: 'as if it threw',
    within: FREE,
    tests: ['leaderelection/elector.test.ts'],
  },
  {
    functions: [
      'Store.*',
      'Queue.*',
      'QueueWithBatch.*',
      'KeyListerGetter.*',
      'ReflectorStore.*',
      'DeltaStore.*',
      'DeltaHandler.*',
      'TransactionStore.*',
      'UndeltaStore(push)',
      'Decoder.*',
      'Syncing.*',
      'shutDownEventHandler(informer).shutDownEventHandler',
    ],
    what: 'a store, a queue of deltas or a decoder in place of ours',
    throws: 'the call gets it; a reflector reports it and lists again',
    rubbish: 'it is used as it is: the contracts are in the docstrings',
    within: 'allowed only if the docstring says so',
    tests: ['cache/bytes/deferred-objects.test.ts', 'cache/parity/cache-controller.test.ts'],
  },
  {
    functions: ['Client.*', 'SubResourceClient.*', 'Reader.*'],
    what: 'a client in place of ours',
    throws: CALLER,
    rubbish: 'it is used as it is',
    within: 'allowed',
    tests: ['client/wrappers.test.ts'],
  },
];

/** Types that the search finds although the package provides their values. */
export const OURS: readonly string[] = [
  'AccessOptions.wallTime',
  'AdmissionRequest.warn',
  'Caller.*',
  'Certificates',
  'CheckedElection.*',
  'DeltaFIFO.popInSteps(process)',
  'FakeTransport.*',
  'FilteringResourceEventHandler.onUpdate(change)',
  'FrameReader.*',
  'GroupedRunnable.*',
  'Indexer.keepRangesInSteps(isOver)',
  'Indexer.replaceInSteps(isOver)',
  'Indexer.selectAsync(matches)',
  'InformerReadings.*',
  'LivePageOptions.*',
  'Manager.elected',
  'Manager.holdsLease',
  'Nothing',
  'PageReader.*',
  'QueueSource.*',
  'Readable.*',
  'RealFIFO.popInSteps(process)',
  'Registration.*',
  'Replacement.*',
  'SchemaOf.validate',
  'ShardGate.*',
  'ShardHost.*',
  'ShardReplicaOptions.*',
  'Shards.*',
  'SourceQueue.*',
  'StoreOptions.*',
  'TwoStates.change',
  'View.*',
  'WebhookCertificates.*',
  'WebhookServer.listensAt(url)',
  'WebhookSink.*',
  'Writer.*',
  'StoreWriteOptions.guard',
  'WorkQueue.guarded(run)',
  'WorkQueue.next(answer)',
];

export const SECTIONS: readonly (readonly [string, readonly CallbackRow[]])[] = [
  ['Queues', QUEUES],
  ['Informers and stores', CACHES],
  ['Controllers', CONTROLLERS],
  ['Clients', CLIENT_ROWS],
  ['The process', PROCESSES],
  ['Parts in place of ours', PARTS],
];
