/**
 * Keys out of bytes (assembly/text-bytes.ts) and back to text (bindings/wasm/key-text.ts):
 * whichever way a string comes in, as bytes of a JSON document in any of its spellings or from
 * JavaScript, it is one key, and it comes out unit for unit.
 */
import { describe, expect, test } from 'vitest';
import { CacheCore } from '../../bindings/wasm/cache-core.ts';
import { NO_MEMORY, NOTHING } from '../../bindings/wasm/core.ts';
import { keyText } from '../../bindings/wasm/key-text.ts';
import { Random, testSeed } from '../helpers/random.ts';

/** A unit of the kinds that are read in different ways. Surrogates come alone and in pairs. */
function anyUnits(random: Random): string {
  const kind = random.int(9);
  if (kind < 3) return String.fromCharCode(32 + random.int(95));
  if (kind === 3)
    return random.pick([
      '"',
      '\\',
      '/',
      '\b',
      '\f',
      '\n',
      '\r',
      '\t',
      '\u0000',
      '\u001f',
      '\u007f',
    ]);
  if (kind === 4) return String.fromCharCode(0x80 + random.int(0x80));
  if (kind === 5) return String.fromCharCode(0x100 + random.int(0x700));
  if (kind === 6) return String.fromCharCode(0x800 + random.int(0xffff - 0x800));
  if (kind === 7) return String.fromCodePoint(0x10000 + random.int(0x100000));
  return String.fromCharCode(0xd800 + random.int(0x800));
}

/** A string: long or short, of one kind of unit or of all of them. */
function anyString(random: Random): string {
  const units = random.int(20) === 0 ? random.int(3_000) : random.int(60);
  const narrow = random.int(3);
  let text = '';
  while (text.length < units) {
    if (narrow === 0) text += String.fromCharCode(32 + random.int(95));
    else if (narrow === 1) text += String.fromCharCode(random.int(256));
    else text += anyUnits(random);
  }
  return text;
}

const shortEscapes: Record<string, string> = {
  '"': '\\"',
  '\\': '\\\\',
  '/': '\\/',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

/**
 * The content of a JSON string that means `text`, each character in a random one of its JSON
 * spellings.
 */
function anySpelling(random: Random, text: string): string {
  const escapes = random.next() * random.next();
  let spelled = '';
  for (const character of text) {
    const code = character.charCodeAt(0);
    const lone = character.length === 1 && code >= 0xd800 && code < 0xe000;
    const must = code < 0x20 || character === '"' || character === '\\' || lone;
    const short = shortEscapes[character];
    if (!must && !random.chance(escapes)) spelled += character;
    else if (short !== undefined && random.chance(0.7)) spelled += short;
    else {
      for (let i = 0; i < character.length; i++) {
        const hex = character.charCodeAt(i).toString(16).padStart(4, '0');
        spelled += `\\u${random.chance(0.5) ? hex : hex.toUpperCase()}`;
      }
    }
  }
  return spelled;
}

class World {
  readonly core = new CacheCore();
  readonly x = this.core.exports;
  readonly table = this.x.keysNew();
  readonly #arena = this.x.arenaNew();
  readonly #encoder = new TextEncoder();

  /**
   * Puts texts as UTF-8 into memory, surrounded by what no reading may depend on. Answers the
   * address and the length of each.
   */
  put(...texts: string[]): number[] {
    const parts = texts.map((text) => this.#encoder.encode(text));
    const room = parts.reduce((sum, bytes) => sum + bytes.length + 16, 0);
    let at = this.x.arenaAlloc(this.#arena, room, 0);
    const all = new Uint8Array(this.x.memory.buffer);
    all.fill(0x5c, at, at + room);
    return parts.flatMap((bytes) => {
      all.set(bytes, at + 3);
      const span = [at + 3, bytes.length];
      at += bytes.length + 16;
      return span;
    });
  }

  put1(text: string): [from: number, bytes: number] {
    return this.put(text) as [number, number];
  }

  put2(
    first: string,
    second: string,
  ): [from: number, bytes: number, from2: number, bytes2: number] {
    return this.put(first, second) as [number, number, number, number];
  }
}

describe('keys out of bytes', () => {
  test('in every JSON spelling equal the keys of the strings, unit for unit', () => {
    const seed = testSeed();
    console.log(`test/wasm/key-text.test.ts: CAPSTAN_SEED=${seed}`);
    const random = new Random(seed);
    const world = new World();
    const { core, x, table } = world;
    const slots = new Map<string, number>();
    for (let i = 0; i < 20_000; i++) {
      const text = anyString(random);
      const spelled = anySpelling(random, text);
      expect(JSON.parse(`"${spelled}"`)).toBe(text);
      const [from, bytes] = world.put1(spelled);
      const known = slots.get(text);
      expect(x.keysFindBytes(table, from, bytes)).toBe(known ?? NOTHING);
      const byBytes = random.chance(0.5);
      const slot = byBytes ? x.keysInternBytes(table, from, bytes) : x.keysIntern(table, text);
      if (known !== undefined) expect(slot).toBe(known);
      slots.set(text, slot);
      expect(byBytes ? x.keysFind(table, text) : x.keysFindBytes(table, from, bytes)).toBe(slot);
      expect(keyText(core, table, slot)).toBe(text);
    }
    expect(new Set(slots.values()).size).toBe(slots.size);
    expect(x.keysUsed(table)).toBe(slots.size);
  });

  test('of a namespace and a name are namespace/name, or name without a namespace', () => {
    const seed = testSeed();
    console.log(`test/wasm/key-text.test.ts: CAPSTAN_SEED=${seed}`);
    const random = new Random(seed);
    const world = new World();
    const { core, x, table } = world;
    for (let i = 0; i < 10_000; i++) {
      const namespace = random.chance(0.2) ? '' : anyString(random);
      const name = anyString(random);
      const key = namespace === '' ? name : `${namespace}/${name}`;
      const parts = world.put2(anySpelling(random, namespace), anySpelling(random, name));
      const found = x.keysFind(table, key);
      expect(x.keysFindObject(table, ...parts)).toBe(found);
      const slot = x.keysInternObject(table, ...parts);
      expect([x.keysIntern(table, key), keyText(core, table, slot)]).toEqual([slot, key]);
    }
  });

  test('of all lengths around a word and an inline key differ by each of their bytes', () => {
    const world = new World();
    const { x, table } = world;
    const seen = new Set<number>();
    for (let length = 0; length <= 80; length++) {
      for (let at = 0; at < Math.max(1, length); at++) {
        const end = 'a'.repeat(Math.max(0, length - at - 1));
        const text = 'a'.repeat(at) + (length === 0 ? '' : 'b') + end;
        const slot = x.keysInternBytes(table, ...world.put1(text));
        expect(x.keysIntern(table, text)).toBe(slot);
        expect(seen.has(slot)).toBe(false);
        seen.add(slot);
      }
    }
  });

  test('that memory refuses answer NO_MEMORY and leave the table as it was', () => {
    const world = new World();
    const { x, table } = world;
    const long = world.put1('k'.repeat(5_000)); // neither the scratch nor a record has room for it
    x.memoryGrant(0);
    expect([x.keysInternBytes(table, ...long), x.keysFindBytes(table, ...long)]).toEqual([
      NO_MEMORY,
      NO_MEMORY,
    ]);
    expect(x.keysInternObject(table, ...long, ...long)).toBe(NO_MEMORY);
    x.memoryGrant(-1);
    expect([x.keysUsed(table), x.keysFindBytes(table, ...long)]).toEqual([0, NOTHING]);
    expect(x.keysInternBytes(table, ...long)).toBe(0);
  });

  test('of any length do not free the static first buffer', () => {
    // That room is static, and none of those that follow is: given back it would be handed out,
    // with the words behind it.
    const { x, table } = new World();
    const lowest = x.pathNew(64);
    for (const units of [500, 504, 505, 2_000, 9_000])
      expect(x.keysIntern(table, 'x'.repeat(units))).toBeGreaterThanOrEqual(0);
    for (let bytes = 64; bytes <= 16_384; bytes += 64)
      expect(x.pathNew(bytes)).toBeGreaterThan(lowest);
  });
});
