/**
 * The store of an informer. If an index function throws, the object is stored all the same: the
 * error is reported, and the object has no value in that index until the function is called again,
 * with the next change of the object or by `retryIndexing`. (client-go panics.) If it fails for
 * many objects, that is reported once a minute.
 */
import { type Clock, systemClock } from '../../base/clock.ts';
import { handleError, Seldom } from '../../base/handle-error.ts';
import type { KubeObject } from '../../base/object.ts';
import type { IndexSpec } from '../../base/resource.ts';
import type { ExpectedKind } from '../decode/decoder.ts';
import { deletionHandlingMetaNamespaceKeyFunc } from '../rest/keys.ts';
import { metaNamespaceIndexFunc, namespaceIndex } from './indices.ts';
import { Indexer } from './store.ts';

/** Time until failed functions are called again; it doubles with each further failure. */
const FIRST_MS = 1000;
const LONGEST_MS = 60_000;
/** The most objects of one retry, because a cache may have a hundred thousand. */
const AT_ONCE = 1000;
/** Time until the next objects are retried after a success. */
const BETWEEN_MS = 100;

export class CacheIndexer<T extends object, I extends string> extends Indexer<T, I | 'namespace'> {
  readonly #clock: Clock;
  readonly #seldom: Seldom;
  #pauseMs = FIRST_MS;
  #notBefore = 0;

  /**
   * @param indexers added to the index `namespace`, which they may replace
   * @param expected the kind of the objects
   */
  constructor(
    indexers: Record<I, IndexSpec<T>>,
    expected: ExpectedKind,
    clock: Clock = systemClock,
  ) {
    const all = { [namespaceIndex]: metaNamespaceIndexFunc, ...indexers };
    super(undefined, all as Record<I | 'namespace', IndexSpec<T>>, expected);
    this.#clock = clock;
    this.#seldom = new Seldom(clock);
  }

  /** The number of objects that are missing in an index because its function threw. */
  notIndexed(): number {
    return this.unindexed.size;
  }

  /** Whether there is an index function of the user; paths cannot fail. */
  hasIndexFunctions(): boolean {
    return Object.values(this.getIndexers()).some(
      (spec) => typeof spec === 'function' && spec !== metaNamespaceIndexFunc,
    );
  }

  /**
   * Calls index functions that have thrown again, unless the last attempt was too recent.
   *
   * @param now call them even if the last attempt was recent
   */
  retryIndexing(now = false): void {
    if (this.unindexed.size === 0) return;
    const at = this.#clock.now();
    if (at < this.#notBefore && !now) return;
    const keys = [...this.unindexed].slice(0, AT_ONCE);
    let failed = false;
    for (const key of keys) {
      this.unindexed.delete(key);
      try {
        this.reindex(key);
      } catch (error) {
        this.unindexed.add(key);
        handleError(error, `the indices of ${key}`);
      }
      if (this.unindexed.has(key)) failed = true;
    }
    this.#pauseMs = failed ? Math.min(2 * this.#pauseMs, LONGEST_MS) : FIRST_MS;
    this.#notBefore = at + (failed ? this.#pauseMs : BETWEEN_MS);
  }

  protected override indexFailed(index: string, error: unknown, object: T): readonly string[] {
    const { namespace, name } = (object as KubeObject | undefined)?.metadata ?? {};
    if (name !== undefined) {
      if (this.unindexed.size === 0) this.#notBefore = this.#clock.now() + FIRST_MS;
      this.unindexed.add(deletionHandlingMetaNamespaceKeyFunc(object));
    }
    this.#seldom.say(index, (more) => {
      const of = `${namespace ? `${namespace}/` : ''}${name}`;
      handleError(
        error,
        `index function ${JSON.stringify(index)} on ${of}: it is asked again${more}`,
      );
    });
    return [];
  }
}
