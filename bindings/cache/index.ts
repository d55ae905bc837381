/**
 * `capstan/cache`: from an API server's bytes to an indexed, ordered, shared view of one resource.
 */
export { initCacheCore } from '../cache-core.ts';
export { type LabelSelector, labelMatcher, labelSelectorText } from '../selectors.ts';
export type { BackoffOptions } from './backoff.ts';
export {
  CacheController,
  type CacheControllerConfig,
  type NewInformerOptions,
  newInformer,
  type ReflectorSettings,
} from './cache-controller.ts';
export type { Change } from './change.ts';
export type { ExpectedKind } from './decoder.ts';
export { DeltaFIFO, type DeltaFIFOOptions } from './delta-fifo.ts';
export type { Delta, Deltas, DeltaType } from './deltas.ts';
export { resourceOf } from './discovery.ts';
export type { InformerEvent } from './events.ts';
export {
  ExpirationCache,
  type ExpirationPolicy,
  newTTLStore,
  type TimestampedEntry,
  TTLPolicy,
} from './expiration-cache.ts';
export {
  type FactoryOptions,
  type GenericInformer,
  type InformerSelection,
  newSharedInformerFactory,
  type ResourceOptions,
  type ResourceSelection,
  SharedInformerFactory,
} from './factory.ts';
export { RealFIFO, type RealFIFOOptions } from './fifo.ts';
export { FilteringResourceEventHandler } from './filtering-handler.ts';
export {
  type DoneChecker,
  type HandlerOptions,
  type HighWater,
  type Registration,
  type ResourceEventHandler,
  shutDownEventHandler,
} from './handler.ts';
export { labelIndex, metaNamespaceIndexFunc, namespaceIndex, ownerIndex } from './indices.ts';
export { SharedIndexInformer } from './informer.ts';
export type {
  InformerIdentity,
  InformerMetricsProvider,
  InformerReadings,
} from './informer-metrics.ts';
export type { InformerStatus, SharedIndexInformerOptions } from './informer-options.ts';
export { InformerPrometheusProvider } from './informer-prometheus.ts';
export { type KeyFunc, newStore, type StoreOptions, UndeltaStore } from './keyed-store.ts';
export {
  DeletedFinalStateUnknown,
  deletionHandlingMetaNamespaceKeyFunc,
  ExplicitKey,
  type KubeObject,
  metaNamespaceKeyFunc,
  splitMetaNamespaceKey,
} from './keys.ts';
export type { Budget, BytesMark, CacheLimits, DecoderOptions } from './limits.ts';
export { ListWatch, type ListWatchOptions } from './list-watch.ts';
export { Lister, type ListerOptions, NamespaceLister } from './lister.ts';
export { MutationCache, type MutationCacheOptions } from './mutation-cache.ts';
export {
  deletionHandlingObjectToName,
  indexFuncToKeyFuncAdapter,
  ObjectName,
  objectName,
  objectToName,
  parseObjectName,
} from './object-name.ts';
export {
  type DeltaHandler,
  type DeltaStore,
  processDeltas,
  processDeltasInBatch,
} from './process-deltas.ts';
export type { KeyListerGetter, PopProcess, Queue, QueueWithBatch, TransformFunc } from './queue.ts';
export { Reflector, type ReflectorOptions, type ReflectorStore } from './reflector.ts';
export { defineResource, type IndexFunc, type IndexSpec, type Resource } from './resource.ts';
export { compareResourceVersion } from './resource-version.ts';
export { RetryWatcher, type RetryWatcherOptions } from './retry-watcher.ts';
export type {
  FailureClass,
  NextStep,
  ReflectorState,
  ReflectorStatus,
  WatchErrorHandler,
  WatchFailure,
} from './status.ts';
export { type Status, StatusError } from './status-error.ts';
export { Indexer } from './store.ts';
export {
  type Store,
  type Transaction,
  TransactionError,
  type TransactionStore,
} from './store-types.ts';
export { type KeyedTransaction, ThreadSafeStore } from './thread-safe-store.ts';
export {
  type ChunkIterator,
  type FetchTransportOptions,
  fetchTransport,
  kindOfHostError,
  type Transport,
  TransportError,
  type TransportErrorKind,
  type TransportRequest,
  type TransportResponse,
} from './transport.ts';
export {
  type Syncing,
  SyncResult,
  waitFor,
  waitForCacheSync,
  waitForNamedCacheSync,
} from './wait-for-sync.ts';
export {
  type ListOptions,
  list,
  listItems,
  type WatchEvent,
  type WatchOptions,
  watch,
} from './watch.ts';
