/**
 * Keys of objects: `namespace/name`, or `name` without a namespace. They are compared by UTF-16
 * code unit and never normalised. client-go: tools/cache/store.go MetaNamespaceKeyFunc and
 * ExplicitKey, tools/cache/delta_fifo.go DeletedFinalStateUnknown.
 */
import { CapstanError, invalid, show } from '../../base/errors.ts';
import type { KubeObject } from '../../base/object.ts';

const TOMBSTONE = Symbol.for('capstan.DeletedFinalStateUnknown');

/**
 * A tombstone: stands for an object whose DELETED event was missed, and which a later list did not
 * contain. `obj` is the last known state, which may be older than the deleted one, or `undefined`.
 * client-go: tools/cache/delta_fifo.go DeletedFinalStateUnknown.
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
 * Whether the argument of `onDelete` is a tombstone. Asks for a mark rather than the class, because
 * the informer may come from another copy of the package. `instanceof` is faster, and enough for
 * tombstones that this copy made.
 */
export function isTombstone<T>(
  deleted: T | DeletedFinalStateUnknown<T>,
): deleted is DeletedFinalStateUnknown<T> {
  return (deleted as Partial<DeletedFinalStateUnknown<T>> | null | undefined)?.[TOMBSTONE] === true;
}

/**
 * A key in place of an object, for stores that look up an object by its key. client-go:
 * ExplicitKey.
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
 * The key of an object: `namespace/name`, or `name` without a namespace; for an {@link
 * ExplicitKey}, its key. client-go: MetaNamespaceKeyFunc.
 *
 * @throws CapstanError INVALID_ARGUMENT for a value without `metadata.name`
 */
export function metaNamespaceKeyFunc(object: object): string {
  return keyOf(object, false);
}

/**
 * As {@link metaNamespaceKeyFunc}, and also takes a tombstone, as `onDelete` gets either.
 * client-go: DeletionHandlingMetaNamespaceKeyFunc.
 *
 * @throws CapstanError INVALID_ARGUMENT for a value without `metadata.name`
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
 * Splits a key into namespace ("" if there is none) and name. client-go: SplitMetaNamespaceKey.
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
