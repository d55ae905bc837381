/**
 * The store of an informer. An index function that throws must not cost the informer an object, so
 * it is reported, and the object has no value in that index until the function is asked again, with
 * the object's next change or by `askAgain`. (client-go panics.) One that fails for all objects is
 * not reported for each.
 */
import { type Clock, systemClock } from '../../base/clock.ts';
import { handleError, Seldom } from '../../base/handle-error.ts';
import type { ExpectedKind } from '../decode/decoder.ts';
import { deletionHandlingMetaNamespaceKeyFunc, type KubeObject } from '../rest/keys.ts';
import type { IndexSpec } from '../rest/resource.ts';
import { metaNamespaceIndexFunc, namespaceIndex } from './indices.ts';
import { Indexer } from './store.ts';

/** How long functions that fail are left alone: doubled by each time that they fail again. */
const FIRST_MS = 1000;
const LONGEST_MS = 60_000;
/** Of so many objects at once they are asked again: a cache may have a hundred thousand. */
const AT_ONCE = 1000;
/** After how long of the next ones. */
const BETWEEN_MS = 100;

export class CacheIndexer<T extends object, I extends string> extends Indexer<T, I | 'namespace'> {
  readonly #clock: Clock;
  readonly #seldom: Seldom;
  #pauseMs = FIRST_MS;
  #notBefore = 0;

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
    this.#seldom = new Seldom(clock);
  }

  /** How many objects are missing in an index, as its function threw for them. */
  notIndexed(): number {
    return this.unindexed.size;
  }

  /** Whether the program has given an index function: paths cannot fail. */
  hasIndexFunctions(): boolean {
    return Object.values(this.getIndexers()).some(
      (spec) => typeof spec === 'function' && spec !== metaNamespaceIndexFunc,
    );
  }

  /**
   * Asks index functions that have thrown again, if they have not been asked for a while.
   *
   * @param now whatever the time is
   */
  askAgain(now = false): void {
    if (this.unindexed.size === 0) return;
    const at = this.#clock.now();
    if (at < this.#notBefore && !now) return;
    const keys = [...this.unindexed].slice(0, AT_ONCE);
    let failed = false;
    for (const key of keys) {
      this.unindexed.delete(key);
      try {
        this.indexAgain(key);
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
