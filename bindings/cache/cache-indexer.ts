/**
 * The store of an informer. An index function that throws must not cost the informer an object, so it is reported and the
 * object has no value in that index. (client-go panics.)
 */
import { handleError } from '../handle-error.ts';
import type { ExpectedKind } from './decoder.ts';
import { metaNamespaceIndexFunc, namespaceIndex } from './indices.ts';
import type { IndexSpec } from './resource.ts';
import { Indexer } from './store.ts';

export class CacheIndexer<T extends object, I extends string> extends Indexer<T, I | 'namespace'> {
  /**
   * @param indexers beside the index `namespace`, which they may replace
   * @param expected the objects that may be kept as bytes
   */
  constructor(indexers: Record<I, IndexSpec<T>>, expected: ExpectedKind) {
    const all = { [namespaceIndex]: metaNamespaceIndexFunc, ...indexers };
    super(undefined, all as Record<I | 'namespace', IndexSpec<T>>, expected);
  }

  protected override indexFailed(name: string, error: unknown): readonly string[] {
    handleError(error, `index function ${JSON.stringify(name)}`);
    return [];
  }
}
