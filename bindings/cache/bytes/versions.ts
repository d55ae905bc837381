/**
 * The versions of one cache in its core: staged by a decoder, taken over by a store, let go when they are replaced.
 *
 * A version that someone may hold has a Version object, which this keeps: when the core lets the bytes go, they are copied out
 * for it first.
 */
import type { CacheCore } from '../../cache-core.ts';
import { NO_MEMORY } from '../../instance.ts';
import { lazyObject } from './lazy.ts';
import { Shapes } from './shapes.ts';
import { jsonAt, textAt } from './text.ts';
import { Version } from './version.ts';

/** Words of a version's head (assembly/objects.ts): references, flags, and where the spans begin. */
const REFERENCES = 2;
const FLAGS = 3;
const SPANS = 4;
const IS_ASCII = 1;

export class Versions {
  readonly core: CacheCore;
  readonly handle: number;
  readonly #keys: number;
  readonly #shapes: Shapes;
  /** By number in the core: those that have been handed out or wait for a store. */
  readonly #versions: (Version | undefined)[] = [];
  /** Staged and not yet taken over, in no order. Each holds one reference in the core. */
  readonly #staged: Version[] = [];
  #serial = 0;
  /** A list of everything is being collected. */
  gathering = false;

  /**
   * @param keys the key table of the store
   * @param constants what apiVersion and kind are in every object, where it has them
   */
  constructor(core: CacheCore, keys: number, constants: { apiVersion: string; kind: string }) {
    this.core = core;
    this.#keys = keys;
    this.handle = core.x.objectsNew();
    if (this.handle === 0) throw core.outOfMemory();
    core.x.scanHint(this.handle, keys);
    this.#shapes = new Shapes(core, new Map(Object.entries(constants)));
  }

  /**
   * Keeps the object that the core scanned last. The version is staged. While a list is collected, an object with the same bytes as the
   * stored one of its key is that version.
   */
  stage(): Version {
    const { x } = this.core;
    const id = this.gathering ? x.objectStageLike(this.handle, x.scannedSlot(this.#keys)) : x.objectStage(this.handle);
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

  /** What a version would change at a slot (assembly/objects.ts); all bits where there is no version. */
  changes(slot: number, version: Version): number {
    const { x } = this.core;
    const old = x.objectOf(this.handle, slot);
    return old < 0 ? -1 : x.objectChanges(this.handle, old, version.id);
  }

  /** Makes room for a version at a slot, so that `put` cannot fail; throws OUT_OF_MEMORY. */
  ready(slot: number): void {
    if (!this.core.x.objectReady(this.handle, slot)) throw this.core.outOfMemory();
  }

  /**
   * Makes a version, which lies in the core, a slot's.
   *
   * @param changes against the one that is there
   * @param untold nobody gets the object that was decoded for it. Others of this version may be in somebody's hands all the same.
   */
  put(slot: number, version: Version, changes: number = this.changes(slot, version), untold = false): void {
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
      version.changes = changes;
    }
    this.#release(old);
  }

  /** A slot has no version any more. */
  remove(slot: number): void {
    const old = this.core.x.objectTake(this.handle, slot);
    if (old >= 0) this.#release(old);
  }

  /** Takes back what `stage` has just given, and nobody has seen. */
  discard(version: Version): void {
    const { x } = this.core;
    this.#unstage(version);
    if (x.objectRelease(this.handle, version.id) !== 0) this.#versions[version.id] = undefined;
  }

  /** What a version adds to the live bytes. */
  sizeOf(version: Version): number {
    return this.core.x.objectSize(this.handle, version.id);
  }

  /** Live bytes that go when a store takes over what is staged. */
  replacing(): number {
    const { x } = this.core;
    let bytes = 0;
    for (const version of this.#staged) {
      const slot = this.slot(version, false);
      const current = slot < 0 ? -1 : x.objectOf(this.handle, slot);
      if (current >= 0 && current !== version.id) bytes += x.objectSize(this.handle, current);
    }
    return bytes;
  }

  /** Notes that more has been cut out of a version than of every object. */
  mark(version: Version): void {
    this.core.x.objectMark(this.handle, version.id);
  }

  /** How many objects of the store are marked. */
  marked(): number {
    return this.core.x.objectsMarked(this.handle);
  }

  /** A list is being collected, or that is over. What an earlier one left, which nobody has taken over, goes. */
  gather(on: boolean): void {
    this.gathering = false;
    if (on) this.settle();
    this.gathering = on;
  }

  /** What no store has taken over by now leaves the core, unless it may belong to a list that is being collected. */
  settle(): void {
    if (this.gathering) return;
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

  /** A member of a version whose bytes are in the core, by its place among the spans. */
  decode(version: Version, span: number): unknown {
    const at = this.core.x.objectAt(this.handle, version.id) >>> 0;
    const words = this.core.words();
    const entry = (at >>> 2) + SPANS + 2 * span;
    const json = at + version.shape.jsonOffset;
    return jsonAt(this.core.bytes(), json + (words[entry] as number), json + (words[entry + 1] as number));
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
      if (words[(at >>> 2) + REFERENCES] === 1) {
        if (version.handed) this.#copyOut(version, at, words);
        version.id = -1;
        this.#versions[id] = undefined;
      }
    }
    x.objectRelease(this.handle, id);
  }

  #copyOut(version: Version, at: number, words: Uint32Array): void {
    const head = at >>> 2;
    const { shape } = version;
    const count = 2 * (shape.names.length + shape.metadataNames.length);
    const spans: number[] = new Array(count);
    for (let i = 0; i < count; i++) spans[i] = words[head + SPANS + i] as number;
    const start = at + shape.jsonOffset;
    const bytes = this.core.bytes().subarray(start, start + (words[head] as number));
    const ascii = ((words[head + FLAGS] as number) & IS_ASCII) !== 0;
    version.copy = ascii
      ? { text: textAt(bytes, 0, bytes.length), bytes: undefined, spans }
      : { text: undefined, bytes: bytes.slice(), spans };
  }
}
