/**
 * Replaces the content of a store by a list, in steps.
 *
 * First the list is compared with the store, and only references to unchanged objects are touched.
 * Then objects that are not in the list are removed, to make room, and new and changed ones are
 * put. Up to `AT_ONCE` changes are made in one step: readers see the store before or after all of
 * them. More are made in several steps, between which readers see some objects of the list and some
 * from before it; the store has the version of the list after the last step. An error restores the
 * former content. Steps that are ended early undo nothing and keep the objects that they hold: a
 * cache that has ended does not change any more.
 */
import type { IsOver, Steps } from '../../base/wait.ts';
import { toObject } from '../bytes/lazy.ts';
import type { StoredObject } from '../bytes/stored-object.ts';
import { DeletedFinalStateUnknown } from '../rest/keys.ts';
import type { Column } from './column.ts';
import type { Values } from './indices.ts';

/** A change takes 1 to 4 µs. */
const AT_ONCE = 1000;

/** The operations of the store that a replacement uses. */
export interface ReplacedStore<T extends object> {
  readonly column: Column<T>;
  keyOf(object: T): string;
  /** The slot of a key, or a negative number. */
  find(key: string): number;
  /** A missing key or missing values are computed. */
  putObject(object: T, key?: string, values?: readonly Values[]): void;
  putStored(stored: StoredObject, object: T, noListeners: boolean): void;
  removeSlot(slot: number): void;
  /** The index values of an object that will be put. Throws what an index function throws. */
  valuesOf(key: string, object: T): Values[];
  /** Grows when the indices change: values that were computed before must be computed again. */
  indexGeneration(): number;
  /** Whether unchanged objects have to be indexed again. */
  indexesUnchanged(): boolean;
}

/**
 * The objects that a list removed from a store or replaced. Each stays in the core until it is
 * taken once, so that handlers of a hundred thousand changes hold few of them; or until `drop`.
 */
export interface Replacement<T> {
  /** A tombstone for each removed object, made when it is taken. */
  readonly gone: Iterable<DeletedFinalStateUnknown<T>>;
  /** Takes the object that the one at this place of the list has replaced, if any. */
  replaced(place: number): T | undefined;
  /** Releases the objects that were not taken. */
  drop(isOver: IsOver): Steps;
}

/** @param noListeners no handler gets the objects, and nothing but `drop` is called */
export function* replacement<T extends object>(
  store: ReplacedStore<T>,
  objects: readonly T[],
  noListeners: boolean,
  isOver: IsOver,
): Steps<Replacement<T>> {
  const { column } = store;
  const generation = store.indexGeneration();
  const keys: (string | undefined)[] = [];
  const values: (Values[] | undefined)[] = [];
  for (let i = 0; i < objects.length; i++) {
    const object = objects[i] as T;
    if (column.storedObjectOf(object) === undefined) {
      const key = store.keyOf(object);
      keys[i] = key;
      values[i] = store.valuesOf(key, object);
    }
    if (isOver()) yield;
  }

  const kept = new Uint8Array(column.end);
  const spares = new Map(column.spare);
  const gone = new Former(column);
  const former = new Former(column);
  /** Places in the list. */
  const changed: number[] = [];
  const goneSlots: number[] = [];
  const release = (): void => {
    gone.release();
    former.release();
  };
  try {
    const spareGone = new Map(spares);
    for (let i = 0; i < objects.length; i++) {
      const object = objects[i] as T;
      const stored = column.storedObjectOf(object);
      const slot =
        stored === undefined
          ? store.find(keys[i] ?? store.keyOf(object))
          : (column.storedObjects?.slot(stored, false) as number);
      if (slot < 0) {
        const old = column.spareOf(object);
        if (old === undefined) former.add(undefined);
        else {
          former.add(old);
          spareGone.delete(store.keyOf(toObject(object)));
        }
        changed.push(i);
      } else {
        // of two with one key the last is put, whatever the first was
        const isRepeated = kept[slot] === 1;
        kept[slot] = 1;
        // an unchanged object of a list is the stored object itself
        const isSame = stored !== undefined && column.storedObjects?.numberAt(slot) === stored.id;
        if (!isSame || isRepeated) {
          changed.push(i);
          former.hold(slot);
        } else {
          former.add(object);
          if (store.indexesUnchanged()) store.putStored(stored, object, noListeners);
          else column.storedObjects?.stays(stored, noListeners);
        }
      }
      if (isOver()) yield;
    }
    for (const slot of column.slots()) {
      if (kept[slot] !== 1) {
        goneSlots.push(slot);
        gone.hold(slot, column.keyAt(slot));
      }
      if (isOver()) yield;
    }
    for (const [key, object] of spareGone) gone.add(object, key);
  } catch (error) {
    release();
    throw error;
  }

  const inSteps = goneSlots.length + changed.length > AT_ONCE;
  try {
    for (const slot of goneSlots) {
      store.removeSlot(slot);
      if (inSteps && isOver()) yield;
    }
    for (const i of changed) {
      const object = objects[i] as T;
      const stored = column.storedObjectOf(object);
      if (stored !== undefined) store.putStored(stored, object, noListeners);
      // Without a key if the stored object has left the core: while the list waited, or because the
      // list has it twice with another object of the same key between.
      else
        store.putObject(
          toObject(object),
          keys[i],
          store.indexGeneration() === generation ? values[i] : undefined,
        );
      if (inSteps && isOver()) yield;
    }
  } catch (error) {
    try {
      for (const i of changed) removeKey(store, objects[i] as T);
      const putBack = (object: T, key?: string): void => {
        const stored = column.storedObjectOf(object);
        column.putBack(object, key, () =>
          stored === undefined
            ? store.putObject(object, key)
            : store.putStored(stored, object, false),
        );
      };
      for (const [key, object] of spares) putBack(object, key);
      gone.restore(goneSlots.length, putBack);
      for (const i of changed) former.restoreAt(i, putBack);
    } finally {
      release();
    }
    throw error;
  }
  column.spare.clear();
  return {
    gone: gone.tombstones(),
    replaced: (place) => former.take(place),
    *drop(isOver: IsOver) {
      yield* gone.drop(isOver);
      yield* former.drop(isOver);
    },
  };
}

/** Former objects of the store, by place; stored objects are held in the core. */
class Former<T extends object> {
  readonly #column: Column<T>;
  /** A number stands for a stored object that is held. */
  readonly #objects: (T | number | undefined)[] = [];
  /** The keys of objects that are not stored objects, and of all removed objects. */
  readonly #keys: (string | undefined)[] = [];

  constructor(column: Column<T>) {
    this.#column = column;
  }

  add(object: T | undefined, key?: string): void {
    if (key !== undefined) this.#keys[this.#objects.length] = key;
    this.#objects.push(object);
  }

  /** Adds the object of a slot. */
  hold(slot: number, key: string | undefined = this.#column.keys[slot]): void {
    if (key !== undefined) this.#keys[this.#objects.length] = key;
    this.#objects.push(this.#column.hold(slot));
  }

  take(place: number): T | undefined {
    const held = this.#objects[place];
    this.#objects[place] = undefined;
    if (typeof held !== 'number') return held;
    const object = this.#column.lastHeld(held);
    this.#column.release(held);
    return object;
  }

  *tombstones(): Generator<DeletedFinalStateUnknown<T>, void, undefined> {
    for (let place = 0; place < this.#objects.length; place++)
      yield new DeletedFinalStateUnknown(this.#keys[place] as string, this.take(place));
  }

  restore(count: number, putBack: (object: T, key?: string) => void): void {
    for (let place = 0; place < count; place++) this.restoreAt(place, putBack);
  }

  /** @param putBack gets the key of an object that is not stored */
  restoreAt(place: number, putBack: (object: T, key?: string) => void): void {
    const held = this.#objects[place];
    if (typeof held === 'number') putBack(this.#column.lastHeld(held));
    else if (held !== undefined && this.#keys[place] !== undefined)
      putBack(held, this.#keys[place]);
  }

  *drop(isOver: IsOver): Steps {
    for (let place = 0; place < this.#objects.length; place++) {
      this.#release(place);
      if (isOver()) yield;
    }
  }

  release(): void {
    for (let place = 0; place < this.#objects.length; place++) this.#release(place);
  }

  #release(place: number): void {
    const held = this.#objects[place];
    this.#objects[place] = undefined;
    if (typeof held === 'number') this.#column.release(held);
  }
}

/** Removes an object that the list has put. */
function removeKey<T extends object>(store: ReplacedStore<T>, object: T): void {
  const stored = store.column.storedObjectOf(object);
  const slot =
    stored === undefined
      ? store.find(store.keyOf(toObject(object)))
      : (store.column.storedObjects?.slot(stored, false) as number);
  if (slot >= 0) store.removeSlot(slot);
}
