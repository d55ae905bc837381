/**
 * Keys whose hashes are equal in every bit, for an attacker who knows the two secrets of a table:
 * the strongest that can be built against assembly/keys.ts. Its fold mixes the state with eight
 * characters at a time, so with a known state the second eight characters can be chosen such that
 * what is mixed is the same for every key; from there on the hashes are one.
 */
import type { Random } from '../random.ts';

/** What keysSeed is given, and how. */
export type Seed = readonly [number, number, number, number];

const MASK = (1n << 64n) - 1n;
const word64 = (high: number, low: number): bigint =>
  (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
const rotl = (value: bigint, by: bigint): bigint => ((value << by) | (value >> (64n - by))) & MASK;

/** `fold` of assembly/text.ts. */
function fold(hash: bigint, word: bigint, secret: bigint): bigint {
  const mixed = hash ^ word;
  return ((mixed & 0xffffffffn) * (mixed >> 32n)) ^ rotl(mixed, 25n) ^ secret;
}

/** A word as the eight units that it is read from. */
function text(word: bigint): string {
  let units = '';
  for (let at = 0n; at < 64n; at += 8n) units += String.fromCharCode(Number((word >> at) & 0xffn));
  return units;
}

const randomWord = (random: Random): bigint => word64(random.int(2 ** 32), random.int(2 ** 32));

function collide(
  count: number,
  length: number,
  start: bigint,
  secret: bigint,
  random: Random,
): string[] {
  const target = randomWord(random); // what the second word is mixed to
  const rest = randomKeys(1, length - 16, random)[0] as string;
  const keys = new Set<string>();
  while (keys.size < count) {
    const first = randomWord(random);
    keys.add(text(first) + text(fold(start, first, secret) ^ target) + rest);
  }
  return [...keys];
}

/**
 * `count` different keys of `length` >= 24 units (all of one byte) that collide in a table with
 * this seed: the last word overlaps none of the first two.
 */
export function collidingKeys(count: number, length: number, seed: Seed, random: Random): string[] {
  return collide(
    count,
    length,
    word64(seed[0], seed[1]) ^ BigInt(length),
    word64(seed[2], seed[3]),
    random,
  );
}

/** `count` different keys of `length` units (all of one byte), at random. */
export function randomKeys(count: number, length: number, random: Random): string[] {
  const keys = new Set<string>();
  while (keys.size < count) {
    let key = '';
    while (key.length < length) key += text(randomWord(random));
    keys.add(key.slice(0, length));
  }
  return [...keys];
}

/**
 * 2 ** `blocks` keys that are one to `whole` of bindings/wasm/hashes.ts, which has no secret: an
 * attacker needs nothing but the source. Of each block there are two forms that leave the same
 * state. Only every other character differs, as the others go into another state.
 */
export function collidingWholes(blocks: number): string[] {
  const size = 4;
  let state = 2 * size * blocks;
  let keys = [''];
  for (let block = 0; block < blocks; block++) {
    const seen = new Map<number, string>();
    for (let n = 0; ; n++) {
      const units = n.toString(36).padStart(size, '0');
      let next = state;
      for (const unit of units) next = Math.imul(next ^ unit.charCodeAt(0), 0x01000193);
      const twin = seen.get(next);
      seen.set(next, units);
      if (twin === undefined) continue;
      const forms = [twin, units].map((form) => [...form].join('x').concat('x'));
      keys = keys.flatMap((key) => forms.map((form) => key + form));
      state = next;
      break;
    }
  }
  return keys;
}
