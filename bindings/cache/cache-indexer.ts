/**
 * The store of an informer. An index function that throws must not cost the informer an object, so
 * it is reported and the object has no value in that index. (client-go panics.) One that fails for
 * all objects is not reported for each.
 */
import { type Clock, systemClock } from '../clock.ts';
import { handleError } from '../handle-error.ts';
import type { ExpectedKind } from './decoder.ts';
import { metaNamespaceIndexFunc, namespaceIndex } from './indices.ts';
import type { KubeObject } from './keys.ts';
import type { IndexSpec } from './resource.ts';
import { Indexer } from './store.ts';

const SAY_AGAIN_MS = 60_000;

export class CacheIndexer<T extends object, I extends string> extends Indexer<T, I | 'namespace'> {
  readonly #clock: Clock;
  /** By index: when it was reported last, and how often it has failed since. */
  readonly #failures = new Map<string, { readonly at: number; more: number }>();

  /**
   * @param indexers beside the index `namespace`, which they may replace
   * @param expected the objects that may be kept as bytes
   */
  constructor(
    indexers: Record<I, IndexSpec<T>>,
    expected: ExpectedKind,
    clock: Clock = systemClock,
  ) {
    const all = { [namespaceIndex]: metaNamespaceIndexFunc, ...indexers };
    super(undefined, all as Record<I | 'namespace', IndexSpec<T>>, expected);
    this.#clock = clock;
  }

  protected override indexFailed(index: string, error: unknown, object: T): readonly string[] {
    const at = this.#clock.now();
    const last = this.#failures.get(index);
    if (last !== undefined && at - last.at < SAY_AGAIN_MS) {
      last.more++;
      return [];
    }
    this.#failures.set(index, { at, more: 0 });
    const { namespace, name } = (object as KubeObject | undefined)?.metadata ?? {};
    const more =
      last === undefined || last.more === 0
        ? ''
        : `, and ${last.more} times since it was reported last`;
    handleError(
      error,
      `index function ${JSON.stringify(index)} on ${namespace ? `${namespace}/` : ''}${name}${more}`,
    );
    return [];
  }
}
