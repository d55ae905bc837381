/**
 * Keys of objects: `namespace/name`, or `name` where there is no namespace. Compared by UTF-16 code
 * unit, never normalised. client-go: tools/cache/store.go MetaNamespaceKeyFunc and ExplicitKey,
 * tools/cache/delta_fifo.go DeletedFinalStateUnknown.
 */
import { CapstanError, invalid, show } from '../../base/errors.ts';

/**
 * What every object of an API server has. Objects from a cache are read-only, as all of
 * its readers share them.
 */
export interface KubeObject {
  apiVersion?: string | undefined;
  kind?: string | undefined;
  metadata?:
    | {
        namespace?: string | undefined;
        name?: string | undefined;
        resourceVersion?: string | undefined;
      }
    | undefined;
}

const TOMBSTONE = Symbol.for('capstan.DeletedFinalStateUnknown');

/**
 * Stands for an object whose deletion was missed: a list no longer had it. `obj` is the last state
 * that was known, which may be older than the deleted one, or `undefined`.
 *
 * @example
 * informer.addEventHandler({
 *   onDelete: (object) => queue.add(deletionHandlingMetaNamespaceKeyFunc(object)),
 * });
 */
export class DeletedFinalStateUnknown<T> {
  readonly key: string;
  readonly obj: T | undefined;

  constructor(key: string, obj: T | undefined) {
    this.key = key;
    this.obj = obj;
  }

  /** @internal */
  get [TOMBSTONE](): boolean {
    return true;
  }
}

/**
 * Whether what an informer told of is a tombstone: by its mark, as it may be the informer of
 * another copy of the package, whose class is not this one. For deletions; `instanceof` is faster,
 * and right for what this package alone has made.
 */
export function isTombstone<T>(
  told: T | DeletedFinalStateUnknown<T>,
): told is DeletedFinalStateUnknown<T> {
  return (told as Partial<DeletedFinalStateUnknown<T>> | null | undefined)?.[TOMBSTONE] === true;
}

/**
 * A key that is passed where an object is expected, for stores that look an object up by its key.
 *
 * @example
 * new Indexer<KubeObject>().get(new ExplicitKey('default/web') as KubeObject);
 */
export class ExplicitKey {
  readonly key: string;

  constructor(key: string) {
    this.key = key;
  }

  toString(): string {
    return this.key;
  }
}

/**
 * `namespace/name` of an object, or `name` for one without a namespace; an {@link ExplicitKey} as
 * it is.
 *
 * @throws CapstanError INVALID_ARGUMENT for a value without `metadata.name`
 */
export function metaNamespaceKeyFunc(object: object): string {
  return keyOf(object, false);
}

/**
 * As {@link metaNamespaceKeyFunc}, and the key of a tombstone: for `onDelete`, which gets either.
 */
export function deletionHandlingMetaNamespaceKeyFunc(object: object): string {
  return keyOf(object, true);
}

function keyOf(object: object, orTombstone: boolean): string {
  const metadata = (object as KubeObject | null | undefined)?.metadata;
  const name: unknown = metadata?.name;
  const namespace: unknown = metadata?.namespace;
  if (typeof name !== 'string') {
    if (object instanceof ExplicitKey || (orTombstone && isTombstone(object))) return object.key;
    throw invalid('object', 'an object with metadata.name', object);
  }
  if (namespace === undefined || namespace === null || namespace === '') return name;
  if (typeof namespace !== 'string') throw invalid('metadata.namespace', 'a string', namespace);
  return `${namespace}/${name}`;
}

/**
 * The parts of a `namespace/name` or `name` key.
 *
 * @throws CapstanError INVALID_KEY for a key with more than one slash
 */
export function splitMetaNamespaceKey(key: string): { namespace: string; name: string } {
  if (typeof key !== 'string') throw invalid('key', 'a string', key);
  const slash = key.indexOf('/');
  if (slash < 0) return { namespace: '', name: key };
  if (key.includes('/', slash + 1)) {
    throw new CapstanError('INVALID_KEY', `expected "namespace/name" or "name", got ${show(key)}`);
  }
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** The version that an object carries, or ""; `undefined` for what has no metadata at all. */
export function resourceVersionOf(object: object): string | undefined {
  const { metadata } = object as KubeObject;
  return typeof metadata === 'object' && metadata !== null
    ? (metadata.resourceVersion ?? '')
    : undefined;
}
