/** `capstan/cache`: from an API server's bytes to an indexed, ordered, shared view of one resource. */
export type { Change } from './change.ts';
export { DeltaFIFO, type DeltaFIFOOptions } from './delta-fifo.ts';
export type { Delta, Deltas, DeltaType } from './deltas.ts';
export type { InformerEvent } from './events.ts';
export { RealFIFO, type RealFIFOOptions } from './fifo.ts';
export { SharedIndexInformer, type SharedIndexInformerOptions } from './informer.ts';
export {
  DeletedFinalStateUnknown,
  deletionHandlingMetaNamespaceKeyFunc,
  type KubeObject,
  metaNamespaceKeyFunc,
  splitMetaNamespaceKey,
} from './keys.ts';
export { ListWatch, type ListWatchOptions } from './list-watch.ts';
export { type DeltaHandler, type DeltaStore, processDeltas } from './process-deltas.ts';
export type { DoneChecker, Registration, ResourceEventHandler } from './processor.ts';
export type { KeyListerGetter, PopProcess, Queue, QueueWithBatch, TransformFunc } from './queue.ts';
export { Reflector, type ReflectorOptions, type ReflectorStore } from './reflector.ts';
export { defineResource, type IndexFunc, type IndexSpec, type Resource } from './resource.ts';
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
