/** `capstan/cache`: from an API server's bytes to an indexed, ordered, shared view of one resource. */

export type { BackoffOptions } from './backoff.ts';
export type { Change } from './change.ts';
export { resourceOf } from './discovery.ts';
export type { InformerEvent } from './events.ts';
export { SharedIndexInformer, type SharedIndexInformerOptions } from './informer.ts';
export {
  DeletedFinalStateUnknown,
  deletionHandlingMetaNamespaceKeyFunc,
  type KubeObject,
  metaNamespaceKeyFunc,
  splitMetaNamespaceKey,
} from './keys.ts';
export { ListWatch, type ListWatchOptions } from './list-watch.ts';
export type { DoneChecker, Registration, ResourceEventHandler } from './processor.ts';
export { Reflector, type ReflectorOptions, type ReflectorStore } from './reflector.ts';
export { defineResource, type IndexFunc, type IndexSpec, type Resource } from './resource.ts';
export type {
  FailureClass,
  NextStep,
  ReflectorState,
  ReflectorStatus,
  WatchErrorHandler,
  WatchFailure,
} from './status.ts';
export { type Status, StatusError } from './status-error.ts';
export { Indexer, metaNamespaceIndexFunc, namespaceIndex } from './store.ts';
export {
  type FetchTransportOptions,
  fetchTransport,
  kindOfHostError,
  type Transport,
  TransportError,
  type TransportErrorKind,
  type TransportRequest,
  type TransportResponse,
} from './transport.ts';
export { type Syncing, waitForCacheSync } from './wait-for-sync.ts';
