/**
 * Listers: reads of a cache by namespace, name and labels. They return the cached objects, which
 * are read-only. client-go: tools/cache/listers.go, and the generated listers.
 */

import { namesOf, requireNames } from '../../base/names.ts';
import type { KubeObject } from '../../base/object.ts';
import { type LabelSelector, labelMatcher, labelsOf } from '../../base/selectors.ts';
import { namespaceIndex } from './indices.ts';
import type { ListAsyncOptions } from './store.ts';

/** What a lister needs of an indexer. */
interface Readable<T extends object> {
  list(): T[];
  getByKey(key: string): T | undefined;
  byIndex(name: string, value: string): T[];
  getIndexers(): object;
  listAsync?(options?: ListAsyncOptions): Promise<T[]>;
}

/** Options of {@link Lister.list}. */
export interface ListerOptions {
  /** `app=web,tier in (front,back)`, or a selector object. Default: everything. */
  labelSelector?: string | LabelSelector | undefined;
}

const NAMES = namesOf<ListerOptions>()({ labelSelector: 1 });
const ASYNC_NAMES = namesOf<ListerOptions & WithSignal>()({ labelSelector: 1, signal: 1 });

/**
 * Reads one cache. For a cluster-scoped resource, `get` takes the name; for a namespaced one, use
 * `namespace(…)`, or `get` with `namespace/name`. client-go: GenericLister.
 *
 * @example
 * const lister = pods.lister();
 * lister.list({ labelSelector: 'app=web' });
 * lister.namespace('default').get('web-0');
 */
export class Lister<T extends object> {
  readonly #indexer: Readable<T>;

  constructor(indexer: Readable<T>) {
    this.#indexer = indexer;
  }

  /**
   * The objects that the selector matches, in no particular order.
   *
   * @throws CapstanError INVALID_ARGUMENT for a malformed selector
   */
  list(options: ListerOptions = {}): T[] {
    return select(this.#indexer.list(), options);
  }

  /**
   * As `list`, of the objects that the cache has now, over several turns of the event loop.
   *
   * @throws CapstanError INVALID_ARGUMENT for a malformed selector, ABORTED (as rejections)
   */
  async listAsync(options: ListerOptions & WithSignal = {}): Promise<T[]> {
    return selectAsync(this.#indexer, undefined, options, () => this.#indexer.list());
  }

  /** The object of a key (`namespace/name` or `name`), or `undefined`. */
  get(key: string): T | undefined {
    return this.#indexer.getByKey(key);
  }

  /** A lister of one namespace; with "", `list` gives all namespaces. */
  namespace(namespace: string): NamespaceLister<T> {
    return new NamespaceLister(this.#indexer, namespace);
  }
}

/**
 * Reads the objects of one namespace: see {@link Lister.namespace}. client-go:
 * GenericNamespaceLister.
 */
export class NamespaceLister<T extends object> {
  readonly #indexer: Readable<T>;
  readonly #namespace: string;

  constructor(indexer: Readable<T>, namespace: string) {
    this.#indexer = indexer;
    this.#namespace = namespace;
  }

  /** As {@link Lister.list}. */
  list(options: ListerOptions = {}): T[] {
    return select(this.#all(), options);
  }

  /** As {@link Lister.listAsync}. */
  async listAsync(options: ListerOptions & WithSignal = {}): Promise<T[]> {
    const isIndexed = Object.hasOwn(this.#indexer.getIndexers(), namespaceIndex);
    const index = { name: namespaceIndex, value: this.#namespace };
    return this.#namespace !== '' && !isIndexed
      ? this.list({ labelSelector: options.labelSelector })
      : selectAsync(this.#indexer, this.#namespace === '' ? undefined : index, options, () =>
          this.#all(),
        );
  }

  /** The object of this name, or `undefined`. */
  get(name: string): T | undefined {
    return this.#indexer.getByKey(this.#namespace === '' ? name : `${this.#namespace}/${name}`);
  }

  #all(): T[] {
    if (this.#namespace === '') return this.#indexer.list();
    if (Object.hasOwn(this.#indexer.getIndexers(), namespaceIndex)) {
      return this.#indexer.byIndex(namespaceIndex, this.#namespace);
    }
    return this.#indexer
      .list()
      .filter((object) => (object as KubeObject).metadata?.namespace === this.#namespace);
  }
}

interface WithSignal {
  /** Ends it with ABORTED. */
  signal?: AbortSignal | undefined;
}

async function selectAsync<T extends object>(
  indexer: Readable<T>,
  index: ListAsyncOptions['index'],
  options: ListerOptions & WithSignal,
  all: () => T[],
): Promise<T[]> {
  requireNames('options', options, 'option of listAsync()', ASYNC_NAMES);
  const { labelSelector, signal } = options;
  if (indexer.listAsync !== undefined) return indexer.listAsync({ index, labelSelector, signal });
  return select(all(), { labelSelector });
}

function select<T extends object>(objects: T[], options: ListerOptions): T[] {
  requireNames('options', options, 'option of list()', NAMES);
  const { labelSelector = '' } = options;
  if (labelSelector === '') return objects;
  const matches = labelMatcher(labelSelector);
  return objects.filter((object) => matches(labelsOf(object)));
}
