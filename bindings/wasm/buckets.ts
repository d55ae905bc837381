/**
 * The buckets of a table that finds slots in JS (keys.ts): from the hash of a key, 30 bits, to the
 * slots that may have it.
 *
 * Open addressing with linear probing; a deletion shifts the entries behind it back. A bucket is 0
 * when it is empty; of 2^k buckets: |hash, bits k to 29|slot + 1, k bits|.
 *
 * The hash samples six characters: V8 takes 80 ns to find a new string in a Map, most of it to hash
 * and to internalize the string, and 16 to sample and to compare it. When many keys have the same
 * sample, the table changes to a hash of the whole key; when many have the same hash of the whole
 * key, which only crafted keys do, to a Map.
 */

/** The most buckets that a key lies behind that of its hash; of a million keys it is 40. */
export const REACH = 64;
/** If a look-up finds as many other keys of its hash, the table changes its hash. */
export const ALIKE = 8;
const FIRST_BUCKETS = 64;
/**
 * Up to this length an array is a copy of ZEROS: a typed array takes V8 1 µs and more. Bun makes
 * typed arrays faster than copies.
 */
const FEW = 1024;
const COPIES_ZEROS = !('Bun' in globalThis);
const ZEROS: readonly number[] = Array.from({ length: FEW }, () => 0);
/** The hash of a slot that is not in use. */
const FREE = -1;

/** How a table finds its keys. */
export const BY_SAMPLE = 0;
const BY_WHOLE = 1;
const BY_MAP = 2;

type Numbers = number[] | Int32Array;

export class Buckets {
  entries: Numbers = zeros(FIRST_BUCKETS);
  mask = FIRST_BUCKETS - 1;
  how = BY_SAMPLE;
  /** Whether put() must not be called: a look-up found ALIKE keys, or `crowd` has all keys. */
  isCrowded = false;
  /** All keys, once `how` is BY_MAP. */
  crowd: Crowd | undefined;
  #hashes: Numbers = zeros(FIRST_BUCKETS >> 1).fill(FREE); // by slot

  /** Puts a slot into a bucket. False: none is in reach, and putCrowded() must be called. */
  put(hash: number, slot: number): boolean {
    if (slot >= this.#hashes.length && !this.#grow(slot)) return false;
    if (!this.#place(hash, slot)) return false;
    this.#hashes[slot] = hash;
    return true;
  }

  /** Changes the hash of the table, or takes a Map, and puts the slot. */
  putCrowded(
    slot: number,
    hashOf: (slot: number) => number,
    textOf: (slot: number) => string,
  ): void {
    while (this.how !== BY_MAP) {
      this.how++;
      this.isCrowded = false;
      if (this.how === BY_WHOLE && this.#rehash(hashOf) && this.put(hashOf(slot), slot)) return;
    }
    this.crowd ??= this.#toMap(textOf);
    this.crowd.set(textOf(slot), slot);
  }

  remove(slot: number): void {
    if (this.crowd !== undefined) {
      this.crowd.delete(slot);
      return;
    }
    const { entries, mask } = this;
    const hashes = this.#hashes;
    let hole = (hashes[slot] as number) & mask;
    hashes[slot] = FREE;
    while (((entries[hole] as number) & mask) !== slot + 1) hole = (hole + 1) & mask;
    for (let i = (hole + 1) & mask; ; i = (i + 1) & mask) {
      const entry = entries[i] as number;
      if (entry === 0) break;
      const home = (hashes[(entry & mask) - 1] as number) & mask;
      // An entry may move back to the hole unless its home lies behind the hole.
      if (((i - home) & mask) < ((i - hole) & mask)) continue;
      entries[hole] = entry;
      hole = i;
    }
    entries[hole] = 0;
  }

  #place(hash: number, slot: number): boolean {
    const { entries, mask } = this;
    let i = hash & mask;
    for (let step = 0; step < REACH; step++) {
      if (entries[i] === 0) {
        entries[i] = (hash & ~mask) | (slot + 1);
        return true;
      }
      i = (i + 1) & mask;
    }
    return false;
  }

  /** In the order of slots: one random access for each; in that of buckets it would be two. */
  #placeAll(): boolean {
    const hashes = this.#hashes;
    for (let slot = 0; slot < hashes.length; slot++) {
      const hash = hashes[slot] as number;
      if (hash !== FREE && !this.#place(hash, slot)) return false;
    }
    return true;
  }

  /** There are twice as many buckets as slots, so half of them are empty. */
  #grow(slot: number): boolean {
    const old = this.#hashes;
    let slots = (old.length < FEW ? 4 : 2) * old.length;
    while (slot >= slots) slots *= 2;
    const hashes = zeros(slots).fill(FREE, old.length);
    for (let i = 0; i < old.length; i++) hashes[i] = old[i] as number;
    this.#hashes = hashes;
    this.entries = zeros(2 * slots);
    this.mask = 2 * slots - 1;
    return this.#placeAll();
  }

  #rehash(hashOf: (slot: number) => number): boolean {
    const hashes = this.#hashes;
    for (let slot = 0; slot < hashes.length; slot++)
      if (hashes[slot] !== FREE) hashes[slot] = hashOf(slot);
    this.entries.fill(0);
    return this.#placeAll();
  }

  #toMap(textOf: (slot: number) => string): Crowd {
    const crowd = new Crowd();
    const hashes = this.#hashes;
    for (let slot = 0; slot < hashes.length; slot++)
      if (hashes[slot] !== FREE) crowd.set(textOf(slot), slot);
    this.entries = zeros(FIRST_BUCKETS);
    this.mask = FIRST_BUCKETS - 1;
    this.#hashes = [];
    this.isCrowded = true;
    return crowd;
  }
}

/** The keys of a table whose keys collide under both hashes. */
class Crowd {
  readonly #slots = new Map<string, number>();
  readonly #texts: string[] = []; // by slot

  find(text: string): number | undefined {
    return this.#slots.get(text);
  }

  set(text: string, slot: number): void {
    this.#slots.set(text, slot);
    this.#texts[slot] = text;
  }

  delete(slot: number): void {
    this.#slots.delete(this.#texts[slot] as string);
    this.#texts[slot] = '';
  }
}

function zeros(count: number): Numbers {
  return COPIES_ZEROS && count <= FEW ? ZEROS.slice(0, count) : new Int32Array(count);
}

/** Of six characters, five of them at the end, where names differ. */
export function sample(text: string): number {
  const last = text.length - 1;
  if (last < 4) return whole(text);
  const a =
    text.charCodeAt(last) |
    (text.charCodeAt(last - 1) << 8) |
    (text.charCodeAt(last - 2) << 16) |
    (text.charCodeAt(last - 3) << 24);
  const b = text.charCodeAt(last - 4) | (text.charCodeAt(last >> 1) << 8) | (last << 16);
  return mix(Math.imul(a ^ (a >>> 15), 0x2c1b3c6d) + Math.imul(b, 0x85ebca6b));
}

/** Of all characters: FNV-1a of every other one, so that two multiplications run at a time. */
export function whole(text: string): number {
  const { length } = text;
  let a = length;
  let b = 0x2c1b3c6d;
  for (let i = 1; i < length; i += 2) {
    a = Math.imul(a ^ text.charCodeAt(i - 1), 0x01000193);
    b = Math.imul(b ^ text.charCodeAt(i), 0x01000193);
  }
  if ((length & 1) === 1) a = Math.imul(a ^ text.charCodeAt(length - 1), 0x01000193);
  return mix(Math.imul(a ^ (a >>> 15), 0x2c1b3c6d) + Math.imul(b ^ (b >>> 15), 0x85ebca6b));
}

/** The hash of a pair, from those of its parts. */
export function joinHashes(first: number, second: number): number {
  return (Math.imul(first, 0x9e3779b1) + second) & 0x3fffffff;
}

function mix(hash: number): number {
  return (hash ^ (hash >>> 15)) & 0x3fffffff;
}
