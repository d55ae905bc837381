/** The type of an informer's cache, whose objects all came from a server. */
import type { FromServer } from '../../base/object.ts';
import type { Indexer, ListAsyncOptions } from './store.ts';

/**
 * The indexer of an informer: its reads give objects with a name, a uid and a resourceVersion. It
 * is an {@link Indexer} wherever one is expected.
 *
 * @example
 * const pods: InformerIndexer<V1Pod, 'namespace'> = informer.getIndexer();
 * const uids = pods.byIndex('namespace', 'default').map((pod) => pod.metadata.uid);
 */
export interface InformerIndexer<T extends object, I extends string = never> extends Indexer<T, I> {
  get(object: T): FromServer<T> | undefined;
  getByKey(key: string): FromServer<T> | undefined;
  list(): FromServer<T>[];
  iterate(): Generator<FromServer<T>, void, undefined>;
  listAsync(options?: ListAsyncOptions<I>): Promise<FromServer<T>[]>;
  index(name: I, object: T): FromServer<T>[];
  byIndex(name: I, value: string): FromServer<T>[];
}
