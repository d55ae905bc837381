/**
 * The versions of one cache in its core: staged by a decoder, taken over by a store, let go when
 * they are replaced.
 *
 * A version that someone may hold has a Version object, which this keeps: when the core lets the
 * bytes go, they are copied out for it first.
 */
import {
  CHANGED_METADATA,
  IS_ASCII,
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
import { takeCopy } from './copy.ts';
import { inherit, lazyObject, slotOfName, versionOf } from './lazy.ts';
import { Shapes } from './shapes.ts';
import { jsonAt, latin1At } from './text.ts';
import { ASKED, NOBODY, Version } from './version.ts';

/**
 * How many objects are kept for those who will ask for them, and for who is told of what replaces
 * them: a megabyte, or twenty where all of them are decoded whole.
 */
const RECENT = 2048;
const OPEN_BRACE = 0x7b;
/** Objects of fewer bytes are decoded whole: finding their members would take as long. */
const LARGE = 256;

export class Versions {
  readonly core: CacheCore;
  readonly handle: number;
  readonly #keys: number;
  readonly #shapes: Shapes;
  /**
   * By number in the core: those that somebody may hold, and those of a list that is being
   * collected. Others are made again when they are asked for: to look at each that is replaced cost
   * 600 ns in a cache of 100 000 objects that nobody is told of, and to keep it 120 bytes an
   * object.
   */
  readonly #versions: (Version | undefined)[] = [];
  /** Staged and not yet taken over, in no order. Each holds one reference in the core. */
  readonly #staged: Version[] = [];
  #serial = 0;
  /** Of objectMet: the index of its first word. */
  readonly #met: number;
  /** Of objectMembers: where it leaves spans. */
  readonly #members: number;
  /** Set by `meet` and `supersede`. */
  metSlot = NOTHING;
  changes = 0;
  /** Set by `supersede`. */
  superseded = false;
  /** A list of everything is being collected. */
  gathering = false;
  #hasMarked = false; // some version was, once
  /** A ring of those whose object is kept, each in its `place`. */
  readonly #recent: (Version | undefined)[] = new Array(RECENT).fill(undefined);
  #nextRecent = 0;

  /**
   * @param keys the key table of the store
   * @param constants what kind and apiVersion every object shows
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
    this.#met = core.exports.objectMet() >>> 2;
    this.#members = core.exports.membersSpans() >>> 0;
    this.#shapes = new Shapes(this, core, new Map(Object.entries({ kind, apiVersion })));
  }

  /**
   * Keeps the object that the core scanned last. The version is staged. While a list is collected,
   * an object with the same bytes as the stored one of its key is that version.
   */
  stage(): Version {
    const { exports } = this.core;
    const id = this.gathering
      ? exports.objectStageLike(this.handle, exports.scannedSlot(this.#keys))
      : exports.objectStage(this.handle);
    if (id === NO_MEMORY) throw this.core.outOfMemory();
    const known = this.#versions[id];
    if (known !== undefined && known.staged >= 0) {
      exports.objectRelease(this.handle, id); // it stands twice in one list; one reference is enough
      return known;
    }
    const version = known ?? this.#make(id);
    this.#stage(version);
    return version;
  }

  /**
   * The version that the core has staged by itself (`eventStage`), by its number and those of its
   * shapes.
   */
  staged(id: number, shapes: number, resourceVersion: string | undefined): Version {
    const version = this.#makeOf(id, shapes);
    version.resourceVersion = resourceVersion;
    this.#stage(version);
    return version;
  }

  /** The object of a name that objects of this store gave, if it is where it was found last. */
  objectNamed(name: object): object | undefined {
    const slot = slotOfName(name);
    if (slot < 0) return undefined;
    const id = this.core.exports.objectOf(this.handle, slot);
    const version = id < 0 ? undefined : this.#versions[id];
    return version?.name === name ? this.objectOf(version) : undefined;
  }

  /** The object of a version: the same one as long as somebody holds it. */
  objectOf(version: Version): object {
    version.ask();
    const known = version.object;
    if (known !== undefined) return known;
    const object = lazyObject(version);
    this.handOut(version, object);
    return object;
  }

  /** The same for the last time: the version is about to be replaced. */
  lastObjectOf(version: Version): object {
    version.hand();
    return version.object ?? lazyObject(version);
  }

  /**
   * The object of a version goes to somebody, and is kept for a while: who is told of an event
   * mostly reads the object from the cache right after it. One that was asked for and is still
   * there then is remembered weakly, which is dear (670 ns, and collections have to mind it); most
   * have been replaced by then.
   */
  handOut(version: Version, object: object): void {
    version.hand();
    if (version.object !== undefined) return;
    const place = this.#nextRecent;
    const oldest = this.#recent[place];
    if (oldest !== undefined) this.#forget(oldest);
    this.#recent[place] = version;
    this.#nextRecent = (place + 1) % RECENT;
    version.place = place;
    version.kept = object;
  }

  #forget(version: Version): void {
    version.place = -1;
    version.resourceVersion = undefined;
    version.model = undefined;
    version.kept = version.seen === ASKED ? new WeakRef(version.kept as object) : undefined;
  }

  /** The slot of a version's key, or NOTHING; with `intern` it gets one. Throws OUT_OF_MEMORY. */
  slot(version: Version, intern: boolean): number {
    const slot = this.core.exports.objectSlot(this.handle, version.id, this.#keys, intern);
    if (slot === NO_MEMORY) throw this.core.outOfMemory();
    return slot;
  }

  has(slot: number): boolean {
    return this.numberAt(slot) >= 0;
  }

  /** The core's number of a slot's version, or a negative number. */
  numberAt(slot: number): number {
    return this.core.exports.objectOf(this.handle, slot);
  }

  /**
   * The numbers of the versions of all slots below `end`, each with a reference more until `letGo`.
   */
  hold(end: number): number[] {
    const { exports } = this.core;
    const held: number[] = [];
    for (let slot = 0; slot < end; slot++) {
      const id = exports.objectOf(this.handle, slot);
      if (id < 0) continue;
      exports.objectRetain(this.handle, id);
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
    const { exports } = this.core;
    return {
      live: exports.objectsLive(this.handle) >>> 0,
      total: exports.objectsTotal(this.handle) >>> 0,
    };
  }

  /** The version of a slot, if it has one. */
  at(slot: number): Version | undefined {
    const id = this.core.exports.objectOf(this.handle, slot);
    if (id < 0) return undefined;
    return this.#versions[id] ?? this.#make(id);
  }

  /**
   * What a version will replace: the slot of its key, or NOTHING (also `metSlot`); then `changes`
   * is what changes from the version that is there to this (assembly/changes.ts; all bits where
   * there is none). Both stand until the next call.
   */
  meet(version: Version): number {
    const slot = this.core.exports.objectMeet(this.handle, version.id, this.#keys);
    const ints = this.core.ints();
    this.metSlot = slot;
    this.changes = ints[this.#met + MET_CHANGES] as number;
    return slot;
  }

  /**
   * Puts a version in the place of the one that its key has, if there is another and no index has
   * to be touched: then `superseded` says so. Otherwise nothing has changed, and all is as after
   * `meet`. In one piece, as it is the way of nearly every event: parts that call each other the
   * engine compiles each for itself, and once more into those that call it (the first 50 000
   * events: 15.7 → 15.0 µs for `meet` alone, medians of 13 in turn).
   *
   * @param dependsOn the bits of changes that touch an index (indices.ts)
   * @param object of the version, which goes to somebody; `undefined`: nobody gets anything
   * @returns the object that was there, if `object` is given
   */
  supersede(version: Version, dependsOn: number, object: object | undefined): object | undefined {
    const { exports } = this.core;
    const slot = exports.objectMeet(this.handle, version.id, this.#keys);
    const ints = this.core.ints();
    const met = this.#met;
    const there = ints[met + MET_OBJECT] as number;
    const changes = ints[met + MET_CHANGES] as number;
    const references = ints[met + MET_REFERENCES] as number;
    this.metSlot = slot;
    this.changes = changes;
    this.superseded =
      there >= 0 && there !== version.id && dependsOn !== ANY && (changes & dependsOn) === 0;
    if (!this.superseded) return undefined;
    if (version.staged >= 0) this.#unstage(version);
    else exports.objectRetain(this.handle, version.id);
    let before = this.#versions[there];
    let old: object | undefined;
    if (object !== undefined) {
      before ??= this.#make(there);
      before.hand();
      old = before.object ?? lazyObject(before);
      version.hand();
    }
    if (before !== undefined) {
      inherit(version, before, (changes & CHANGED_METADATA) === 0);
      if (before.seen !== NOBODY) {
        version.replaced = before.serial;
        version.changes = changes;
      }
      if (references === 1) this.#end(before);
    }
    this.#keep(version);
    exports.objectReplace(this.handle, slot, version.id);
    if (object !== undefined) this.handOut(version, object);
    return old;
  }

  /** Makes room for a version at a slot, so that `put` cannot fail; throws OUT_OF_MEMORY. */
  ready(slot: number): void {
    if (!this.core.exports.objectReady(this.handle, slot)) throw this.core.outOfMemory();
  }

  /**
   * Makes a version, which lies in the core, a slot's.
   *
   * @param changes against the one that is there
   * @param untold nobody gets the object that was decoded for it. Others of this version may be in
   *   somebody's hands all the same.
   */
  put(slot: number, version: Version, changes = -1, untold = false): void {
    const { exports } = this.core;
    if (!untold) version.hand();
    if (version.staged < 0) exports.objectRetain(this.handle, version.id);
    const old = exports.objectPut(this.handle, slot, version.id);
    if (old === NO_MEMORY) {
      if (version.staged < 0) this.#release(version.id);
      throw this.core.outOfMemory();
    }
    if (version.staged >= 0) this.#unstage(version);
    this.#keep(version);
    if (old < 0) return;
    const before = this.#versions[old];
    if (before !== undefined) inherit(version, before, (changes & CHANGED_METADATA) === 0);
    if (before !== undefined && before.seen !== NOBODY && old !== version.id) {
      version.replaced = before.serial;
      version.changes = changes;
    }
    this.#release(old);
  }

  /** A slot has no version any more. */
  remove(slot: number): void {
    const old = this.core.exports.objectTake(this.handle, slot);
    if (old >= 0) this.#release(old);
  }

  /** Takes back what `stage` has just given, and nobody has seen. */
  discard(version: Version): void {
    const { exports } = this.core;
    this.#unstage(version);
    if (exports.objectRelease(this.handle, version.id) !== 0)
      this.#versions[version.id] = undefined;
  }

  /** What a version adds to the live bytes. */
  sizeOf(version: Version): number {
    return this.core.exports.objectSize(this.handle, version.id);
  }

  /** Live bytes that go when a store takes over what is staged. */
  replacing(): number {
    const { exports } = this.core;
    let bytes = 0;
    for (const version of this.#staged) {
      const slot = this.slot(version, false);
      const current = slot < 0 ? -1 : exports.objectOf(this.handle, slot);
      if (current >= 0 && current !== version.id) bytes += exports.objectSize(this.handle, current);
    }
    return bytes;
  }

  /** Notes that more has been cut out of a version than of every object. */
  mark(version: Version): void {
    this.#hasMarked = true;
    this.core.exports.objectMark(this.handle, version.id);
  }

  /** How many objects of the store are marked; of a single one, whether it is. */
  marked(object?: object): number {
    if (!this.#hasMarked) return 0;
    if (object === undefined) return this.core.exports.objectsMarked(this.handle);
    return versionOf(object)?.isMarked ? 1 : 0;
  }

  /**
   * A list is being collected, or that is over. What an earlier one left, which nobody has taken
   * over, goes.
   */
  gather(on: boolean): void {
    this.gathering = false;
    if (on) this.settle();
    this.gathering = on;
  }

  /**
   * What no store has taken over by now leaves the core, unless it may belong to a list that is
   * being collected.
   */
  settle(): void {
    if (this.gathering) return;
    for (let version = this.#staged.pop(); version !== undefined; version = this.#staged.pop()) {
      version.staged = -1;
      version.hand(); // told without ever being stored, as a deletion's object is
      this.#release(version.id, version);
    }
  }

  /** What was staged will not be taken over. Unlike with `discard`, somebody may have seen it. */
  unwanted(version: Version): void {
    this.#unstage(version);
    version.hand();
    this.#release(version.id, version);
  }

  /** Staged versions that wait. */
  waiting(): number {
    return this.#staged.length;
  }

  /** A member of a version whose bytes are in the core, by its place among the spans. */
  decode(version: Version, span: number): unknown {
    const at = this.core.exports.objectAt(this.handle, version.id) >>> 0;
    const words = this.core.words();
    const entry = (at >>> 2) + STORED_SPANS + 2 * span;
    const json = at + version.shape.jsonOffset;
    return jsonAt(
      this.core.bytes(),
      json + (words[entry] as number),
      json + (words[entry + 1] as number),
    );
  }

  /**
   * The members of an object that is a member of a version, whose bytes are in the core, by its
   * place among the spans. `undefined`: it is no object, or not worth it, or it has to be decoded
   * whole.
   */
  members(version: Version, span: number): { names: readonly string[]; spans: string } | undefined {
    const at = this.core.exports.objectAt(this.handle, version.id) >>> 0;
    const words = this.core.words();
    const entry = (at >>> 2) + STORED_SPANS + 2 * span;
    const from = words[entry] as number;
    if ((words[entry + 1] as number) - from < LARGE) return undefined;
    if (this.core.bytes()[at + version.shape.jsonOffset + from] !== OPEN_BRACE) return undefined;
    const shape = this.core.exports.objectMembers(this.handle, version.id, from);
    if (shape === NO_SHAPE) return undefined;
    const names = this.#shapes.namesOf(shape);
    return {
      names,
      spans: latin1At(this.core.bytes(), this.#members, this.#members + 8 * names.length),
    };
  }

  /** A value of a version whose bytes are in the core, by where it lies in its JSON. */
  valueAt(version: Version, from: number, to: number): unknown {
    const json =
      (this.core.exports.objectAt(this.handle, version.id) >>> 0) + version.shape.jsonOffset;
    return jsonAt(this.core.bytes(), json + from, json + to);
  }

  #make(id: number): Version {
    const at = this.core.exports.objectAt(this.handle, id) >>> 0;
    const version = this.#makeOf(id, this.core.words()[(at >>> 2) + STORED_SHAPES] as number);
    this.#versions[id] = version;
    return version;
  }

  /** A store has taken a version over. */
  #keep(version: Version): void {
    if (version.seen !== NOBODY) this.#versions[version.id] = version;
    else if (this.#versions[version.id] !== undefined) this.#versions[version.id] = undefined;
  }

  /** @param shapes their numbers, as one */
  #makeOf(id: number, shapes: number): Version {
    this.#serial++;
    return new Version(this.#shapes.get(shapes), id, this.#serial);
  }

  #stage(version: Version): void {
    version.staged = this.#staged.length;
    this.#staged.push(version);
  }

  #unstage(version: Version): void {
    const last = this.#staged.pop() as Version;
    if (last !== version) {
      this.#staged[version.staged] = last;
      last.staged = version.staged;
    }
    version.staged = -1;
  }

  /** One reference less. */
  #release(id: number, version = this.#versions[id]): void {
    const { exports } = this.core;
    if (version !== undefined) {
      const at = exports.objectAt(this.handle, id) >>> 0;
      if (this.core.words()[(at >>> 2) + STORED_REFERENCES] === 1) this.#end(version);
    }
    exports.objectRelease(this.handle, id);
  }

  /** The core is about to lose the bytes of a version: one that has been handed out gets them. */
  #end(version: Version): void {
    if (version.seen !== NOBODY) {
      const at = this.core.exports.objectAt(this.handle, version.id) >>> 0;
      const words = this.core.words();
      const head = at >>> 2;
      const isAscii = ((words[head + STORED_FLAGS] as number) & IS_ASCII) !== 0;
      version.copy = takeCopy(
        this.core.bytes(),
        words,
        at,
        version.shape,
        words[head + STORED_LENGTH] as number,
        isAscii,
      );
    }
    this.#versions[version.id] = undefined;
    version.id = -1;
    version.kept = undefined;
    if (version.place < 0) return;
    this.#recent[version.place] = undefined; // which would keep the copy of one that nobody holds
    version.place = -1;
  }
}
