/**
 * An event handler that builds its own state from notifications alone, and records violations: an
 * add of an existing object, an update or delete of a missing one, a resourceVersion that
 * decreases.
 */
import {
  DeletedFinalStateUnknown,
  type KubeObject,
  metaNamespaceKeyFunc,
  type ResourceEventHandler,
} from 'capstan/cache';

export class Journal implements ResourceEventHandler<KubeObject> {
  readonly violations: string[] = [];
  readonly deleted: string[] = [];
  readonly tombstones: string[] = [];
  adds = 0;
  updates = 0;
  /** Updates with the same resourceVersion: a relist repeats unchanged objects, as in client-go. */
  repeats = 0;
  readonly #live = new Map<string, string>();
  /** Includes deleted objects: a recreated one has a higher version. */
  readonly #newest = new Map<string, bigint>();

  onAdd(object: KubeObject): void {
    const key = metaNamespaceKeyFunc(object);
    if (this.#live.has(key)) this.violations.push(`${key} was added twice`);
    this.adds++;
    this.#see(key, object, false);
  }

  onUpdate(old: KubeObject, now: KubeObject): void {
    const key = metaNamespaceKeyFunc(now);
    const known = this.#live.get(key);
    if (known === undefined) this.violations.push(`${key} was updated, but never added`);
    if (known !== resourceVersionOf(old))
      this.violations.push(`${key}: update from ${resourceVersionOf(old)}, last told was ${known}`);
    const repeated = resourceVersionOf(old) === resourceVersionOf(now);
    if (repeated) this.repeats++;
    else this.updates++;
    this.#see(key, now, repeated);
  }

  onDelete(object: KubeObject | DeletedFinalStateUnknown<KubeObject>): void {
    const tombstone = object instanceof DeletedFinalStateUnknown;
    const key = tombstone ? object.key : metaNamespaceKeyFunc(object);
    const known = this.#live.get(key);
    if (known === undefined) this.violations.push(`${key} was deleted, but not there`);
    if (tombstone) {
      this.tombstones.push(key);
      const last = object.obj === undefined ? undefined : resourceVersionOf(object.obj);
      if (last !== known)
        this.violations.push(`${key}: tombstone of ${last}, last told was ${known}`);
    } else {
      this.#see(key, object, false);
    }
    this.deleted.push(key);
    this.#live.delete(key);
  }

  /** The key and resourceVersion of each object, by the notifications. */
  picture(): Map<string, string> {
    return new Map(this.#live);
  }

  #see(key: string, object: KubeObject, mayRepeat: boolean): void {
    const version = resourceVersionOf(object);
    const newest = this.#newest.get(key) ?? -1n;
    const goesOn = mayRepeat ? BigInt(version) >= newest : BigInt(version) > newest;
    if (!goesOn) this.violations.push(`${key}: version ${version} after ${newest}`);
    this.#newest.set(key, BigInt(version));
    this.#live.set(key, version);
  }
}

export function resourceVersionOf(object: KubeObject): string {
  return object.metadata?.resourceVersion ?? '';
}

/** The key and resourceVersion of each object, to compare two views of a collection. */
export function pictureOf(objects: Iterable<KubeObject>): Map<string, string> {
  return new Map(
    [...objects].map((object) => [metaNamespaceKeyFunc(object), resourceVersionOf(object)]),
  );
}
