/**
 * `capstan/cache`: informers, stores, FIFOs, reflectors and watches, as client-go's `tools/cache`
 * has them.
 */

export type { BackoffOptions } from '../base/backoff.ts';
export { fnv1a64 } from '../base/fnv.ts';
export type { FromServer, KubeObject } from '../base/object.ts';
export { defineResource, type IndexFunc, type IndexSpec, type Resource } from '../base/resource.ts';
export { type LabelSelector, labelMatcher, labelSelectorText } from '../base/selectors.ts';
export type { DoneChecker } from '../base/wait.ts';
export { initCacheCore } from '../wasm/cache-core.ts';
export type { Change } from './bytes/change.ts';
export type { ExpectedKind } from './decode/decoder.ts';
export type { Budget, BytesMark, CacheLimits, DecoderOptions } from './decode/limits.ts';
export type { InformerEvent } from './informer/events.ts';
export {
  newSharedInformerFactory,
  type SharedInformerFactory,
} from './informer/factory.ts';
export type { NamespaceChange } from './informer/factory-namespaces.ts';
export type {
  FactoryOptions,
  GenericInformer,
  InformerSelection,
  ResourceOptions,
  ResourceSelection,
} from './informer/factory-options.ts';
export { FilteringResourceEventHandler } from './informer/filtering-handler.ts';
export {
  type HandlerOptions,
  type HighWater,
  type Registration,
  type ResourceEventHandler,
  shutDownEventHandler,
} from './informer/handler.ts';
export { SharedIndexInformer } from './informer/informer.ts';
export type {
  InformerIdentity,
  InformerMetricsProvider,
  InformerReadings,
} from './informer/informer-metrics.ts';
export type { InformerStatus, SharedIndexInformerOptions } from './informer/informer-options.ts';
export { InformerPrometheusProvider } from './informer/informer-prometheus.ts';
export {
  type DeltaHandler,
  type DeltaStore,
  processDeltas,
  processDeltasInBatch,
} from './informer/process-deltas.ts';
export {
  type Syncing,
  SyncResult,
  waitFor,
  waitForCacheSync,
  waitForNamedCacheSync,
} from './informer/wait-for-sync.ts';
export {
  CacheController,
  type CacheControllerConfig,
  type NewInformerOptions,
  newInformer,
  type ReflectorSettings,
} from './parity/cache-controller.ts';
export {
  ExpirationCache,
  type ExpirationPolicy,
  newTTLStore,
  type TimestampedEntry,
  TTLPolicy,
} from './parity/expiration-cache.ts';
export { type KeyFunc, newStore, type StoreOptions, UndeltaStore } from './parity/keyed-store.ts';
export { MutationCache, type MutationCacheOptions } from './parity/mutation-cache.ts';
export {
  deletionHandlingObjectToName,
  indexFuncToKeyFuncAdapter,
  ObjectName,
  objectToName,
  parseObjectName,
} from './parity/object-name.ts';
export { type KeyedTransaction, ThreadSafeStore } from './parity/thread-safe-store.ts';
export { DeltaFIFO, type DeltaFIFOOptions } from './queue/delta-fifo.ts';
export type { Delta, Deltas, DeltaType } from './queue/deltas.ts';
export { RealFIFO, type RealFIFOOptions } from './queue/fifo.ts';
export type {
  KeyListerGetter,
  PopProcess,
  Queue,
  QueueWithBatch,
  TransformFunc,
} from './queue/queue.ts';
export { resourceOf } from './reflector/discovery.ts';
export { ListWatch, type ListWatchOptions } from './reflector/list-watch.ts';
export {
  type ListedObjects,
  type ListWatchEvent,
  type ListWatchFunctions,
  listWatchFrom,
} from './reflector/list-watch-from.ts';
export { Reflector, type ReflectorOptions, type ReflectorStore } from './reflector/reflector.ts';
export { RetryWatcher, type RetryWatcherOptions } from './reflector/retry-watcher.ts';
export type {
  FailureClass,
  NextStep,
  ReflectorState,
  ReflectorStatus,
  WatchErrorHandler,
  WatchFailure,
} from './reflector/status.ts';
export {
  list,
  listItems,
  type PagedListOptions,
  type WatchEvent,
  type WatchOptions,
  watch,
} from './reflector/watch.ts';
export type { HashRange } from './rest/hash-ranges.ts';
export {
  DeletedFinalStateUnknown,
  deletionHandlingMetaNamespaceKeyFunc,
  ExplicitKey,
  metaNamespaceKeyFunc,
  splitMetaNamespaceKey,
} from './rest/keys.ts';
export { compareResourceVersion } from './rest/resource-version.ts';
export { type Status, StatusError } from './rest/status-error.ts';
export {
  type ChunkIterator,
  type FetchTransportOptions,
  fetchTransport,
  type Transport,
  TransportError,
  type TransportErrorKind,
  type TransportRequest,
  type TransportResponse,
} from './rest/transport.ts';
export { labelIndex, metaNamespaceIndexFunc, namespaceIndex, ownerIndex } from './store/indices.ts';
export type { InformerIndexer } from './store/informer-indexer.ts';
export { Lister, type ListerOptions, type NamespaceLister } from './store/lister.ts';
export { Indexer, type ListAsyncOptions } from './store/store.ts';
export {
  type Store,
  type Transaction,
  TransactionError,
  type TransactionStore,
} from './store/store-types.ts';
