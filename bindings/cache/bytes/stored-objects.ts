/**
 * The stored objects of one cache: a decoder stages them, a store takes them over and releases them
 * when they are replaced.
 *
 * Each object that a caller may hold has a StoredObject here: before the core frees its bytes, they
 * are copied out for it.
 */
import {
  CHANGED_METADATA,
  IS_ASCII,
  IS_PACKED,
  MET_CHANGES,
  MET_OBJECT,
  MET_REFERENCES,
  NO_MEMORY,
  NO_SHAPE,
  NOTHING,
  STORED_FLAGS,
  STORED_LENGTH,
  STORED_REFERENCES,
  STORED_SHAPES,
  STORED_SPANS,
} from '../../generated/abi.ts';
import type { CacheCore } from '../../wasm/cache-core.ts';
import { ANY } from './change.ts';
import { type Copy, takeCopy } from './copy.ts';
import { inherit, lazyObject, slotOfName, storedObjectOf } from './lazy.ts';
import { PackedCopies } from './packed-copy.ts';
import { type Located, type ObjectReader, Shapes } from './shapes.ts';
import { NOT_HANDED_OUT, REQUESTED, StoredObject } from './stored-object.ts';
import { jsonAt, latin1At } from './text.ts';

/**
 * How many of the objects handed out last are kept, for later reads and as the old object of the
 * next update: a megabyte, or twenty if all of them were decoded completely.
 */
const RECENT = 2048;
/**
 * How many objects of a cache are not packed: together they take less memory than packing needs.
 */
const NOT_PACKED = 64;
const OPEN_BRACE = 0x7b;
/** Values of fewer bytes are decoded whole: finding their members would take as long. */
const LARGE = 256;

export class StoredObjects implements ObjectReader {
  readonly core: CacheCore;
  readonly handle: number;
  readonly #keys: number;
  readonly #shapes: Shapes;
  readonly #packed: PackedCopies;
  /**
   * By number in the core: stored objects that a caller may hold, and those of a list that is being
   * collected. Others are made again when they are read. Keeping all of them cost 120 bytes an
   * object, and 600 ns for each update in a cache of 100 000 objects without a handler.
   */
  readonly #byNumber: (StoredObject | undefined)[] = [];
  /**
   * Stored objects that no store has taken over yet, in no order. Each holds one reference in the
   * core.
   */
  readonly #staged: StoredObject[] = [];
  #serial = 0;
  /** The index of the first word of the core's `objectMet`. */
  readonly #met: number;
  /** The address at which the core's `objectMembers` leaves spans. */
  readonly #members: number;
  /** Set by `meet` and `supersede`. */
  metSlot = NOTHING;
  changes = 0;
  /** Set by `supersede`. */
  superseded = false;
  /** A list is being collected. */
  gathering = false;
  #hasMarked = false; // an object has been marked, at any time
  /** A ring of the stored objects whose object is kept, each at its `place`. */
  readonly #recent: (StoredObject | undefined)[] = new Array(RECENT).fill(undefined);
  #nextRecent = 0;

  /**
   * @param keys the key table of the store
   * @param constants the kind and apiVersion of every object
   */
  constructor(
    core: CacheCore,
    keys: number,
    { apiVersion, kind }: { apiVersion: string; kind: string },
  ) {
    this.core = core;
    this.#keys = keys;
    this.handle = core.exports.objectsNew();
    if (this.handle === 0) throw core.outOfMemory();
    core.exports.scanHint(this.handle, keys);
    this.#packed = new PackedCopies(core, this.handle);
    this.#met = core.exports.objectMet() >>> 2;
    this.#members = core.exports.membersSpans() >>> 0;
    this.#shapes = new Shapes(this, core, new Map(Object.entries({ kind, apiVersion })));
  }

  /**
   * Whether like objects are packed from now on (assembly/pack.ts).
   *
   * @param from how many objects stay whole before one is packed
   */
  pack(isOn: boolean, from: number = NOT_PACKED): void {
    this.core.exports.objectsPack(this.handle, isOn ? from + 1 : 0);
  }

  /**
   * Stages the object that the core scanned last. While a list is collected, an object with the
   * same bytes as the one that its key has is that stored object.
   */
  stage(): StoredObject {
    const { exports } = this.core;
    const id = this.gathering
      ? exports.objectStageLike(this.handle, exports.scannedSlot(this.#keys))
      : exports.objectStage(this.handle);
    if (id === NO_MEMORY) throw this.core.outOfMemory();
    const known = this.#byNumber[id];
    if (known !== undefined && known.staged >= 0) {
      // The list has the object twice; one reference is enough.
      exports.objectRelease(this.handle, id);
      return known;
    }
    const stored = known ?? this.#make(id);
    this.#stage(stored);
    return stored;
  }

  /**
   * An object that the core has staged by itself (`eventStage`).
   *
   * @param id its number in the core
   * @param shapes the numbers of its two shapes, as one
   */
  staged(id: number, shapes: number, resourceVersion: string | undefined): StoredObject {
    const stored = this.#makeOf(id, shapes);
    stored.resourceVersion = resourceVersion;
    this.#stage(stored);
    return stored;
  }

  /**
   * The object of a name that an object of this store gave, if it is still at the slot at which it
   * was found last.
   */
  objectNamed(name: object): object | undefined {
    const slot = slotOfName(name);
    if (slot < 0) return undefined;
    const id = this.core.exports.objectOf(this.handle, slot);
    const stored = id < 0 ? undefined : this.#byNumber[id];
    return stored?.name === name ? this.objectOf(stored) : undefined;
  }

  /**
   * The object of a stored object, for a caller of the store: the same one as long as a caller
   * holds it.
   */
  objectOf(stored: StoredObject): object {
    stored.markRequested();
    const known = stored.object;
    if (known !== undefined) return known;
    const object = lazyObject(stored);
    this.handOut(stored, object);
    return object;
  }

  /**
   * The same for the last time, before the stored object is replaced.
   */
  lastObjectOf(stored: StoredObject): object {
    stored.markHandedOut();
    return stored.object ?? lazyObject(stored);
  }

  /**
   * Notes that a caller gets the object, and keeps it for a while, because handlers mostly read the
   * object from the cache right after an event. Afterwards, a requested object has a weak
   * reference, which costs 670 ns and work in each collection; most objects have been replaced by
   * then.
   */
  handOut(stored: StoredObject, object: object): void {
    stored.markHandedOut();
    if (stored.object !== undefined) return;
    const place = this.#nextRecent;
    const oldest = this.#recent[place];
    if (oldest !== undefined) this.#forget(oldest);
    this.#recent[place] = stored;
    this.#nextRecent = (place + 1) % RECENT;
    stored.place = place;
    stored.kept = object;
  }

  #forget(stored: StoredObject): void {
    stored.place = -1;
    stored.resourceVersion = undefined;
    stored.model = undefined;
    stored.kept = stored.seen === REQUESTED ? new WeakRef(stored.kept as object) : undefined;
  }

  /**
   * The slot of a stored object's key, or NOTHING; with `intern` it gets one. Throws OUT_OF_MEMORY.
   */
  slot(stored: StoredObject, intern: boolean): number {
    const slot = this.core.exports.objectSlot(this.handle, stored.id, this.#keys, intern);
    if (slot === NO_MEMORY) throw this.core.outOfMemory();
    return slot;
  }

  has(slot: number): boolean {
    return this.numberAt(slot) >= 0;
  }

  /** The core's number of a slot's stored object, or a negative number. */
  numberAt(slot: number): number {
    return this.core.exports.objectOf(this.handle, slot);
  }

  /** The number of a slot's stored object, or -1. Adds a reference, which `release` removes. */
  retain(slot: number): number {
    const id = this.core.exports.objectOf(this.handle, slot);
    if (id < 0) return -1;
    this.core.exports.objectRetain(this.handle, id);
    return id;
  }

  release(id: number): void {
    this.#release(id);
  }

  /** The object of a number that `retain` gave; the caller must not keep it. */
  lookAt(id: number): object {
    const known = this.#byNumber[id];
    if (known !== undefined) return known.object ?? lazyObject(known);
    const at = this.core.exports.objectAt(this.handle, id) >>> 0;
    return lazyObject(this.#makeOf(id, this.core.words()[(at >>> 2) + STORED_SHAPES] as number));
  }

  /** The stored object of a number that `retain` gave. */
  held(id: number): StoredObject {
    return this.#byNumber[id] ?? this.#make(id);
  }

  bytes(): { live: number; total: number } {
    const { exports } = this.core;
    return {
      live: exports.objectsLive(this.handle) >>> 0,
      total: exports.objectsTotal(this.handle) >>> 0,
    };
  }

  /** The stored object of a slot, if it has one. */
  at(slot: number): StoredObject | undefined {
    const id = this.core.exports.objectOf(this.handle, slot);
    if (id < 0) return undefined;
    return this.#byNumber[id] ?? this.#make(id);
  }

  /**
   * Finds what a stored object will replace: the slot of its key, or NOTHING (also in `metSlot`).
   * `changes` then has the bits of what changes (assembly/changes.ts), all bits where the key has
   * no object. Both stand until the next call.
   */
  meet(stored: StoredObject): number {
    const slot = this.core.exports.objectMeet(this.handle, stored.id, this.#keys);
    const ints = this.core.ints();
    this.metSlot = slot;
    this.changes = ints[this.#met + MET_CHANGES] as number;
    return slot;
  }

  /**
   * Replaces the stored object of the same key, if there is one and no index has to change: then
   * `superseded` is true. Otherwise nothing has changed, and the fields are as after `meet`. It is
   * one function because nearly every event calls it: V8 compiles several small functions once
   * each, and again inlined into their callers (first 50 000 events: 15.7 → 15.0 µs for `meet`
   * alone, medians of 13 in turn).
   *
   * @param dependsOn the bits of changes that touch an index (indices.ts)
   * @param object the new object, for the handlers; `undefined` if there are none
   * @returns the replaced object, if `object` is given
   */
  supersede(
    stored: StoredObject,
    dependsOn: number,
    object: object | undefined,
  ): object | undefined {
    const { exports } = this.core;
    const slot = exports.objectMeet(this.handle, stored.id, this.#keys);
    const ints = this.core.ints();
    const met = this.#met;
    const there = ints[met + MET_OBJECT] as number;
    const changes = ints[met + MET_CHANGES] as number;
    const references = ints[met + MET_REFERENCES] as number;
    this.metSlot = slot;
    this.changes = changes;
    this.superseded =
      there >= 0 && there !== stored.id && dependsOn !== ANY && (changes & dependsOn) === 0;
    if (!this.superseded) return undefined;
    if (stored.staged >= 0) this.#unstage(stored);
    else exports.objectRetain(this.handle, stored.id);
    let before = this.#byNumber[there];
    let old: object | undefined;
    if (object !== undefined) {
      before ??= this.#make(there);
      before.markHandedOut();
      old = before.object ?? lazyObject(before);
      stored.markHandedOut();
    }
    if (before !== undefined) {
      inherit(stored, before, (changes & CHANGED_METADATA) === 0);
      if (before.seen !== NOT_HANDED_OUT) {
        stored.replaced = before.serial;
        stored.changes = changes;
      }
      if (references === 1) this.#end(before);
    }
    this.#keep(stored);
    exports.objectReplace(this.handle, slot, stored.id);
    if (object !== undefined) this.handOut(stored, object);
    return old;
  }

  /** Makes room for a stored object at a slot, so that `put` cannot fail; throws OUT_OF_MEMORY. */
  ready(slot: number): void {
    if (!this.core.exports.objectReady(this.handle, slot)) throw this.core.outOfMemory();
  }

  /**
   * Puts a stored object, whose bytes are in the core, at a slot.
   *
   * @param changes compared with the stored object of the slot
   * @param noListeners no handler gets the object of this call; another caller may still hold it
   */
  put(slot: number, stored: StoredObject, changes = -1, noListeners = false): void {
    const { exports } = this.core;
    if (!noListeners) stored.markHandedOut();
    if (stored.staged < 0) exports.objectRetain(this.handle, stored.id);
    const old = exports.objectPut(this.handle, slot, stored.id);
    if (old === NO_MEMORY) {
      if (stored.staged < 0) this.#release(stored.id);
      throw this.core.outOfMemory();
    }
    if (stored.staged >= 0) this.#unstage(stored);
    this.#keep(stored);
    if (old < 0) return;
    const before = this.#byNumber[old];
    if (before !== undefined) inherit(stored, before, (changes & CHANGED_METADATA) === 0);
    if (before !== undefined && before.seen !== NOT_HANDED_OUT && old !== stored.id) {
      stored.replaced = before.serial;
      stored.changes = changes;
    }
    this.#release(old);
  }

  /** As `put`, for a listed object that is stored already. */
  stays(stored: StoredObject, noListeners: boolean): void {
    if (!noListeners) stored.markHandedOut();
    if (stored.staged >= 0) {
      this.#unstage(stored);
      this.core.exports.objectRelease(this.handle, stored.id);
    }
    this.#keep(stored);
  }

  /**
   * Removes what a slot has.
   */
  remove(slot: number): void {
    const old = this.core.exports.objectTake(this.handle, slot);
    if (old >= 0) this.#release(old);
  }

  /** Frees an object that `stage` has just returned and that no caller has got. */
  discard(stored: StoredObject): void {
    const { exports } = this.core;
    this.#unstage(stored);
    if (exports.objectRelease(this.handle, stored.id) !== 0) this.#byNumber[stored.id] = undefined;
  }

  /** What a stored object adds to the live bytes, without its bases. */
  sizeOf(stored: StoredObject): number {
    return this.core.exports.objectSize(this.handle, stored.id);
  }

  /** The same with its bases, each of which counts only once after a call of `uncount`. */
  countedSizeOf(stored: StoredObject): number {
    return this.core.exports.objectCounted(this.handle, stored.id);
  }

  uncount(): void {
    this.core.exports.objectsUncount(this.handle);
  }

  /** The live bytes that will be freed when a store takes over the staged objects. */
  replacing(): number {
    const { exports } = this.core;
    let bytes = 0;
    for (const stored of this.#staged) {
      const slot = this.slot(stored, false);
      const current = slot < 0 ? -1 : exports.objectOf(this.handle, slot);
      if (current >= 0 && current !== stored.id) bytes += exports.objectSize(this.handle, current);
    }
    return bytes;
  }

  /** Marks an object out of which more was cut than out of all objects. */
  mark(stored: StoredObject): void {
    this.#hasMarked = true;
    this.core.exports.objectMark(this.handle, stored.id);
  }

  /** How many objects of the store are marked; with `object`, 1 or 0 for this one. */
  marked(object?: object): number {
    if (!this.#hasMarked) return 0;
    if (object === undefined) return this.core.exports.objectsMarked(this.handle);
    return storedObjectOf(object)?.isMarked ? 1 : 0;
  }

  /**
   * Begins or ends the collection of a list. When it begins, staged objects that no store has taken
   * over are freed.
   */
  gather(on: boolean): void {
    this.gathering = false;
    if (on) this.settle();
    this.gathering = on;
  }

  /**
   * Frees staged objects that no store has taken over, unless a list is being collected, to which
   * they may belong.
   */
  settle(): void {
    if (this.gathering) return;
    for (let stored = this.#staged.pop(); stored !== undefined; stored = this.#staged.pop()) {
      stored.staged = -1;
      stored.markHandedOut(); // a handler may have it, as the object of a deletion
      this.#release(stored.id, stored);
    }
  }

  /**
   * Frees a staged object that no store will take over. Unlike with `discard`, a caller may have
   * it.
   */
  unwanted(stored: StoredObject): void {
    this.#unstage(stored);
    stored.markHandedOut();
    this.#release(stored.id, stored);
  }

  /**
   * How many staged objects no store has taken over yet.
   */
  waiting(): number {
    return this.#staged.length;
  }

  /** A member of a stored object whose bytes are in the core, by its place among the spans. */
  decode(stored: Located, span: number): unknown {
    const at = this.core.exports.objectAt(this.handle, stored.id) >>> 0;
    const words = this.core.words();
    const entry = (at >>> 2) + STORED_SPANS + 2 * span;
    const json = at + stored.shape.jsonOffset;
    return jsonAt(
      this.core.bytes(),
      json + (words[entry] as number),
      json + (words[entry + 1] as number),
    );
  }

  /**
   * The members of an object that is a member, by its place among the spans; its bytes are in the
   * core. `undefined`: it is no object, or too small, or it has to be decoded whole.
   */
  members(stored: Located, span: number): { names: readonly string[]; spans: string } | undefined {
    const at = this.core.exports.objectAt(this.handle, stored.id) >>> 0;
    const words = this.core.words();
    const entry = (at >>> 2) + STORED_SPANS + 2 * span;
    const from = words[entry] as number;
    if ((words[entry + 1] as number) - from < LARGE) return undefined;
    if (this.core.bytes()[at + stored.shape.jsonOffset + from] !== OPEN_BRACE) return undefined;
    const shape = this.core.exports.objectMembers(this.handle, stored.id, from);
    if (shape === NO_SHAPE) return undefined;
    const names = this.#shapes.namesOf(shape);
    return {
      names,
      spans: latin1At(this.core.bytes(), this.#members, this.#members + 8 * names.length),
    };
  }

  /** A value of a stored object whose bytes are in the core, by its range in the JSON. */
  valueAt(stored: Located, from: number, to: number): unknown {
    const json =
      (this.core.exports.objectAt(this.handle, stored.id) >>> 0) + stored.shape.jsonOffset;
    return jsonAt(this.core.bytes(), json + from, json + to);
  }

  #make(id: number): StoredObject {
    const at = this.core.exports.objectHead(this.handle, id) >>> 0;
    const stored = this.#makeOf(id, this.core.words()[(at >>> 2) + STORED_SHAPES] as number);
    this.#byNumber[id] = stored;
    return stored;
  }

  /** A store has taken a stored object over. */
  #keep(stored: StoredObject): void {
    if (stored.seen !== NOT_HANDED_OUT) this.#byNumber[stored.id] = stored;
    else if (this.#byNumber[stored.id] !== undefined) this.#byNumber[stored.id] = undefined;
  }

  /** @param shapes the numbers of both shapes, as one number */
  #makeOf(id: number, shapes: number): StoredObject {
    this.#serial++;
    return new StoredObject(this.#shapes.get(shapes), id, this.#serial);
  }

  #stage(stored: StoredObject): void {
    stored.staged = this.#staged.length;
    this.#staged.push(stored);
  }

  #unstage(stored: StoredObject): void {
    const last = this.#staged.pop() as StoredObject;
    if (last !== stored) {
      this.#staged[stored.staged] = last;
      last.staged = stored.staged;
    }
    stored.staged = -1;
  }

  /** Removes one reference. */
  #release(id: number, stored = this.#byNumber[id]): void {
    const { exports } = this.core;
    if (stored !== undefined) {
      const at = exports.objectHead(this.handle, id) >>> 0;
      if (this.core.words()[(at >>> 2) + STORED_REFERENCES] === 1) this.#end(stored);
    }
    exports.objectRelease(this.handle, id);
  }

  /**
   * Called before the core frees the bytes of a stored object: copies them out if it was handed
   * out.
   */
  #end(stored: StoredObject): void {
    if (stored.seen !== NOT_HANDED_OUT) stored.copy = this.#copyOf(stored);
    this.#byNumber[stored.id] = undefined;
    stored.id = -1;
    stored.kept = undefined;
    if (stored.place < 0) return;
    // Otherwise the ring would keep the copy of an object that no caller holds.
    this.#recent[stored.place] = undefined;
    stored.place = -1;
  }

  #copyOf({ id, shape }: StoredObject): Copy {
    const { exports } = this.core;
    let at = exports.objectHead(this.handle, id) >>> 0;
    const flags = this.core.words()[(at >>> 2) + STORED_FLAGS] as number;
    if ((flags & IS_PACKED) !== 0) {
      const copy = this.#packed.take(id, at, shape.jsonOffset);
      if (copy !== undefined) return copy;
      at = exports.objectAt(this.handle, id) >>> 0;
    }
    const words = this.core.words();
    const length = words[(at >>> 2) + STORED_LENGTH] as number;
    return takeCopy(this.core.bytes(), words, at, shape, length, (flags & IS_ASCII) !== 0);
  }
}
