/**
 * The hashes by which tables find slots (keys.ts): 30 bits, of which the core has the buckets
 * (assembly/hosted.ts).
 *
 * The first one samples six characters: V8 takes 80 ns to find a new string in a Map, most of it to
 * hash and to internalize the string, and 16 to sample and to compare it. When many keys have the
 * same sample, the table changes to a hash of the whole key; when many have the same hash of the
 * whole key, which only crafted keys do, to a Map.
 */

/** How a table finds its keys. */
export const BY_SAMPLE = 0;
export const BY_WHOLE = 1;
export const BY_MAP = 2;
export type How = typeof BY_SAMPLE | typeof BY_WHOLE | typeof BY_MAP;

/** By the value of How. */
export const HASHINGS = ['sample', 'whole', 'map'] as const;
export type Hashing = (typeof HASHINGS)[number];

let first: How = BY_SAMPLE;

/** How new tables find their keys at first; for tests and benchmarks. `undefined`: by a sample. */
export function setHashing(hashing: Hashing | undefined): void {
  first = HASHINGS.indexOf(hashing ?? 'sample') as How;
}

export function firstHashing(): How {
  return first;
}

/** A new key that finds so many others with its hash makes the table hash in another way. */
export const ALIKE = 8;

/** The keys of a table whose keys collide under both hashes. */
export class Crowd {
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

/** Of a request: of three characters of its namespace and six of its name. */
export function samplePair(namespace: string, name: string): number {
  const end = namespace.length - 1;
  const last = name.length - 1;
  if (end < 1 || last < 4) return wholePair(namespace, name);
  const a =
    name.charCodeAt(last) |
    (name.charCodeAt(last - 1) << 8) |
    (name.charCodeAt(last - 2) << 16) |
    (name.charCodeAt(last - 3) << 24);
  const b = name.charCodeAt(last - 4) | (name.charCodeAt(last >> 1) << 8) | (last << 16);
  const c =
    namespace.charCodeAt(end) |
    (namespace.charCodeAt(end - 1) << 8) |
    (namespace.charCodeAt(end >> 1) << 16) |
    (end << 24);
  return mix(
    Math.imul(a ^ (a >>> 15), 0x2c1b3c6d) +
      Math.imul(b, 0x85ebca6b) +
      Math.imul(c ^ (c >>> 15), 0x9e3779b1),
  );
}

/** Of all characters of a request. */
export function wholePair(namespace: string, name: string): number {
  return joinHashes(whole(namespace), whole(name));
}

/** The hash of a pair, from those of its parts. */
function joinHashes(first: number, second: number): number {
  return (Math.imul(first, 0x9e3779b1) + second) & 0x3fffffff;
}

function mix(hash: number): number {
  return (hash ^ (hash >>> 15)) & 0x3fffffff;
}
