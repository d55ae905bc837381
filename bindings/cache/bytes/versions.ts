/**
 * The versions of one cache in its core: staged by a decoder, taken over by a store, let go when they are replaced.
 *
 * A version that someone may hold has a Version object, which this keeps: when the core lets the bytes go, they are copied out
 * for it first. Copies share slabs of 64 KiB: a program that keeps one object keeps its neighbours' bytes too, some twenty of them, and
 * no weak reference has to be made for each event (170 ns) and kept by every minor collection.
 */
import type { CacheCore } from '../../cache-core.ts';
import { NO_MEMORY } from '../../instance.ts';
import { lazyObject } from './lazy.ts';
import { Shapes } from './shapes.ts';
import { type Located, type Slab, Version } from './version.ts';

const SLAB_BYTES = 65_536;
/** What is larger has a slab of its own. */
const LARGE_BYTES = SLAB_BYTES / 4;

export class Versions {
  readonly core: CacheCore;
  readonly handle: number;
  readonly #keys: number;
  readonly #shapes: Shapes;
  /** By number in the core: those that have been handed out or wait for a store. */
  readonly #versions: (Version | undefined)[] = [];
  /** Staged and not yet taken over, in no order. Each holds one reference in the core. */
  readonly #staged: Version[] = [];
  #slab: Slab = newSlab(0);
  #slabUsed = 0;
  #serial = 0;
  #gathering = false;

  /**
   * @param keys the key table of the store
   * @param constants what apiVersion and kind are in every object, where it has them
   */
  constructor(core: CacheCore, keys: number, constants: { apiVersion: string; kind: string }) {
    this.core = core;
    this.#keys = keys;
    this.handle = core.x.objectsNew();
    if (this.handle === 0) throw core.outOfMemory();
    this.#shapes = new Shapes(core, new Map(Object.entries(constants)));
  }

  /**
   * Keeps the object that the core scanned last. The version is staged. While a list is collected, an object with the same bytes as the
   * stored one of its key is that version.
   */
  stage(): Version {
    const { x } = this.core;
    const id = this.#gathering ? x.objectStageLike(this.handle, x.scannedSlot(this.#keys)) : x.objectStage(this.handle);
    if (id === NO_MEMORY) throw this.core.outOfMemory();
    const known = this.#versions[id];
    if (known !== undefined && known.staged >= 0) {
      x.objectRelease(this.handle, id); // it stands twice in one list; one reference is enough
      return known;
    }
    const version = known ?? this.#make(id);
    version.staged = this.#staged.length;
    this.#staged.push(version);
    return version;
  }

  /** The object of a version: the same one as long as somebody holds it. */
  objectOf(version: Version): object {
    const known = version.object?.deref();
    if (known !== undefined) return known;
    version.handed = true;
    const object = lazyObject(version);
    version.object = new WeakRef(object);
    return object;
  }

  /** The same for the last time: the version is about to be replaced. No weak reference is made, which collections would have to mind. */
  lastObjectOf(version: Version): object {
    version.handed = true;
    return version.object?.deref() ?? lazyObject(version);
  }

  /** The slot of a version's key, or NOTHING; with `intern` it gets one. Throws OUT_OF_MEMORY. */
  slot(version: Version, intern: boolean): number {
    const slot = this.core.x.objectSlot(this.handle, version.id, this.#keys, intern);
    if (slot === NO_MEMORY) throw this.core.outOfMemory();
    return slot;
  }

  has(slot: number): boolean {
    return this.numberAt(slot) >= 0;
  }

  /** The core's number of a slot's version, or a negative number. */
  numberAt(slot: number): number {
    return this.core.x.objectOf(this.handle, slot);
  }

  /** The numbers of the versions of all slots below `end`, each with a reference more until `letGo`. */
  hold(end: number): number[] {
    const { x } = this.core;
    const held: number[] = [];
    for (let slot = 0; slot < end; slot++) {
      const id = x.objectOf(this.handle, slot);
      if (id < 0) continue;
      x.objectRetain(this.handle, id);
      held.push(id);
    }
    return held;
  }

  letGo(held: readonly number[]): void {
    for (const id of held) this.#release(id);
  }

  /** The version of a number that is held. */
  held(id: number): Version {
    return this.#versions[id] ?? this.#make(id);
  }

  bytes(): { live: number; total: number } {
    const { x } = this.core;
    return { live: x.objectsLive(this.handle) >>> 0, total: x.objectsTotal(this.handle) >>> 0 };
  }

  /** The version of a slot, if it has one. */
  at(slot: number): Version | undefined {
    const id = this.core.x.objectOf(this.handle, slot);
    if (id < 0) return undefined;
    return this.#versions[id] ?? this.#make(id);
  }

  /** Makes room for a version at a slot, so that `put` cannot fail; throws OUT_OF_MEMORY. */
  ready(slot: number): void {
    if (!this.core.x.objectReady(this.handle, slot)) throw this.core.outOfMemory();
  }

  /**
   * Makes a version, which lies in the core, a slot's.
   *
   * @param untold nobody gets the object that was decoded for it. Others of this version may be in somebody's hands all the same.
   */
  put(slot: number, version: Version, untold = false): void {
    const { x } = this.core;
    if (!untold) version.handed = true;
    if (version.staged < 0) x.objectRetain(this.handle, version.id);
    const old = x.objectPut(this.handle, slot, version.id);
    if (old === NO_MEMORY) {
      if (version.staged < 0) this.#release(version.id);
      throw this.core.outOfMemory();
    }
    if (version.staged >= 0) this.#unstage(version);
    if (old < 0) return;
    const before = this.#versions[old];
    if (before?.handed && old !== version.id) {
      version.replaced = before.serial;
      version.changes = x.objectChanges(this.handle, old, version.id);
    }
    this.#release(old);
  }

  /** A slot has no version any more. */
  remove(slot: number): void {
    const old = this.core.x.objectTake(this.handle, slot);
    if (old >= 0) this.#release(old);
  }

  /** A list is being collected, or that is over. What an earlier one left, which nobody has taken over, goes. */
  gather(on: boolean): void {
    if (on) this.settle();
    this.#gathering = on;
  }

  /** What no store has taken over by now leaves the core, unless it may belong to a list that is being collected. */
  settle(): void {
    if (this.#gathering) return;
    for (let version = this.#staged.pop(); version !== undefined; version = this.#staged.pop()) {
      version.staged = -1;
      version.handed = true; // told without ever being stored, as a deletion's object is
      this.#release(version.id);
    }
  }

  /** Staged versions that wait. */
  waiting(): number {
    return this.#staged.length;
  }

  locate(id: number, into: Located): void {
    into.at = this.core.x.objectAt(this.handle, id) >>> 0;
    into.words = this.core.words();
    into.bytes = this.core.bytes();
  }

  #make(id: number): Version {
    const at = this.core.x.objectAt(this.handle, id) >>> 0;
    const shape = this.#shapes.get(this.core.words()[(at >>> 2) + 1] as number);
    this.#serial++;
    const version = new Version(this, shape, id, this.#serial);
    this.#versions[id] = version;
    return version;
  }

  #unstage(version: Version): void {
    const last = this.#staged.pop() as Version;
    if (last !== version) {
      this.#staged[version.staged] = last;
      last.staged = version.staged;
    }
    version.staged = -1;
  }

  /** One reference less; with the last one, the bytes of a version that has been handed out are copied out of the core. */
  #release(id: number): void {
    const { x } = this.core;
    const version = this.#versions[id];
    if (version !== undefined) {
      const at = x.objectAt(this.handle, id) >>> 0;
      const words = this.core.words();
      if (words[(at >>> 2) + 2] === 1) {
        if (version.handed) this.#copyOut(version, at, version.shape.jsonOffset + (words[at >>> 2] as number));
        version.id = -1;
        this.#versions[id] = undefined;
      }
    }
    x.objectRelease(this.handle, id);
  }

  #copyOut(version: Version, at: number, length: number): void {
    const bytes = this.core.bytes().subarray(at, at + length);
    if (length > LARGE_BYTES) {
      version.slab = newSlab(length);
      version.at = 0;
    } else {
      if (this.#slabUsed + length > this.#slab.bytes.length) {
        this.#slab = newSlab(SLAB_BYTES);
        this.#slabUsed = 0;
      }
      version.slab = this.#slab;
      version.at = this.#slabUsed;
      this.#slabUsed = (this.#slabUsed + length + 7) & ~7;
    }
    version.slab.bytes.set(bytes, version.at);
  }
}

function newSlab(length: number): Slab {
  const bytes = new Uint8Array((length + 7) & ~7);
  return { bytes, words: new Uint32Array(bytes.buffer) };
}
