/**
 * bindings/wasm/hashes.ts and keys.ts: which keys make a table change from a sample to a hash of
 * the whole, and from that to a Map; the slots stay the same.
 */
import { afterEach, describe, expect, test } from 'vitest';
import { type Request, requestKey } from '../../bindings/base/request.ts';
import { Core, CROWDED, NOTHING, SAME_HASH } from '../../bindings/wasm/core.ts';
import {
  BY_MAP,
  BY_SAMPLE,
  BY_WHOLE,
  HASHINGS,
  type Hashing,
  type How,
  setHashing,
  whole,
  wholePair,
} from '../../bindings/wasm/hashes.ts';
import { type KeyTable, keyTable } from '../../bindings/wasm/keys.ts';
import { Random, testSeed } from '../helpers/random.ts';
import { collidingWholes } from '../helpers/workqueue/colliding-keys.ts';

const seed = testSeed();
console.log(`test/wasm/hashes.test.ts: CAPSTAN_SEED=${seed}`);

afterEach(() => setHashing(undefined));

/** A table of keys, and a Map to compare with. */
class Table<T = string> {
  readonly model = new Map<string, number>();
  readonly #core = new Core();
  readonly #handle = this.#core.exports.keysNew();
  readonly #keys: KeyTable<T>;
  readonly #item: (text: string) => T;

  constructor(item: (text: string) => T, key?: (item: T) => string) {
    this.#item = item;
    this.#keys = keyTable<T>(this.#core, this.#handle, key);
  }

  get how(): How {
    return (this.#keys as unknown as { how: How }).how;
  }

  find(text: string): number {
    return this.#keys.find(this.#item(text));
  }

  add(text: string): void {
    if (this.find(text) !== NOTHING) expect.fail(`${text} is new; seed ${seed}`);
    const slot = this.#keys.intern(this.#item(text));
    if (this.#keys.intern(this.#item(text)) !== slot) expect.fail(`${text} twice; seed ${seed}`);
    this.model.set(text, slot);
  }

  remove(text: string): void {
    const slot = this.model.get(text) as number;
    this.#core.exports.keysRelease(this.#handle, slot);
    this.#keys.released(slot);
    this.model.delete(text);
  }

  /** Every key is where the Map says, and no slot has two. */
  check(): void {
    for (const [text, slot] of this.model) {
      if (this.find(text) !== slot) expect.fail(`${text}: expected slot ${slot}; seed ${seed}`);
    }
    expect(new Set(this.model.values()).size).toBe(this.model.size);
    expect(this.#core.exports.keysUsed(this.#handle)).toBe(this.model.size);
  }
}

const ofTexts = (): Table => new Table((text) => text);
const ofRequests = (): Table<Request> =>
  new Table((text) => {
    const at = text.indexOf('/');
    return { namespace: text.slice(0, Math.max(at, 0)), name: text.slice(at + 1) };
  }, requestKey);

function tableOf(keys: readonly string[], table: Table | Table<Request> = ofTexts()): typeof table {
  for (const key of keys) table.add(key);
  table.check();
  return table;
}

const many = (make: (i: number) => string, length = 20_000): string[] =>
  Array.from({ length }, (_, i) => make(i));

describe('a table goes on sampling', () => {
  const random = new Random(seed);
  const suffix = (): string =>
    random
      .int(27 ** 5)
      .toString(27)
      .padStart(5, '0');
  test.each([
    ['the Pods of Deployments', many((i) => `team-${i % 40}/web-${i % 700}-7d4b9c-${suffix()}`)],
    ['the Pods of Jobs', many((i) => `batch/nightly-${(28_000_000 + i).toString()}-${suffix()}`)],
    ['uids', many(() => crypto.randomUUID())],
    ['numbers', many(String)],
    ['names with a number at the end', many((i) => `default/object-${i}`)],
  ])('%s', (_name, keys) => {
    for (const table of [ofTexts(), ofRequests()])
      expect(tableOf([...new Set(keys)], table).how).toBe(BY_SAMPLE);
  });
});

describe('a table changes to a hash of the whole', () => {
  test.each([
    ['one name in many namespaces', many((i) => `team-${i}/kube-root-ca.crt`)],
    ['the Pods of StatefulSets', many((i) => `db-${i % 5_000}/postgres-${Math.floor(i / 5_000)}`)],
  ])('%s', (_name, keys) => {
    const table = tableOf(keys);
    expect(table.how).toBe(BY_WHOLE);
    for (const key of keys) table.remove(key);
    table.check();
    expect(tableOf(keys, table).how).toBe(BY_WHOLE);
  });
});

test('a table changes to a Map for keys that are crafted against the hash', () => {
  const keys = collidingWholes(6);
  expect(new Set(keys).size).toBe(64);
  expect(new Set(keys.map(whole)).size).toBe(1);
  for (const table of [ofTexts(), ofRequests()]) {
    expect(tableOf(keys, table).how).toBe(BY_MAP);
    for (const key of keys) table.remove(key);
    expect(keys.map((key) => table.find(key))).toEqual(keys.map(() => NOTHING));
    table.check();
  }
});

test('a key that would lie too far from its home is refused, and nothing has changed', () => {
  const { exports: x } = new Core();
  const table = x.keysNew();
  for (let slot = 0; slot < 256; slot++) expect(x.keysNewHash(table, (slot << 20) | 1)).toBe(slot);
  expect(x.keysNewHash(table, (300 << 20) | 1)).toBe(CROWDED);
  expect(x.keysUsed(table)).toBe(256);
  expect(x.keysFindHash(table, (300 << 20) | 1)).toBe(NOTHING);
  expect(x.keysFindHash(table, (255 << 20) | 1)).toBe(255);
  // elsewhere there is room
  expect(x.keysNewHash(table, 2_000)).toBe(256);
  x.keysDropHashes(table);
  expect(x.keysFindHash(table, 2_000)).toBe(NOTHING);
  expect([x.keysSetHash(table, 0, 7), x.keysSetHash(table, 1, 7)]).toEqual([1, 1]);
  expect(x.keysFindHash(table, 7)).toBe(0);
  expect([x.keysNextHash(table, 7, 0), x.keysNextHash(table, 7, 1)]).toEqual([1, NOTHING]);
});

test('a new key of a hash that is taken gets no slot at once, and growth keeps all keys', () => {
  const random = new Random(seed);
  const { exports: x } = new Core();
  const table = x.keysNew();
  const hashes: number[] = [];
  for (let i = 0; i < 20_000; i++) {
    if (i > 0 && random.chance(0.1)) {
      const known = hashes.indexOf(random.pick(hashes));
      expect(x.keysInternHash(table, hashes[known] as number)).toBe(SAME_HASH - 2 * known);
      expect(x.keysUsed(table)).toBe(hashes.length);
    } else {
      const hash = random.int(2 ** 30);
      if (hashes.includes(hash)) continue;
      expect(x.keysInternHash(table, hash)).toBe(hashes.push(hash) - 1);
    }
  }
  expect(hashes.map((hash) => x.keysFindHash(table, hash))).toEqual(hashes.map((_, i) => i));
  // some are given back, and the table grows with those that are left
  for (let i = 0; i < hashes.length; i += 2) x.keysRelease(table, i);
  for (let i = 0; i < 60_000; i++) x.keysNewHash(table, random.int(2 ** 30));
  for (let i = 1; i < hashes.length; i += 2) {
    let slot = x.keysFindHash(table, hashes[i] as number);
    while (slot !== i && slot >= 0) slot = x.keysNextHash(table, hashes[i] as number, slot);
    expect(slot).toBe(i);
  }
});

test.each([
  ['few keys', 30],
  ['many keys', 3_000],
])('random adds and removes agree with a Map across all changes: %s', (_name, size) => {
  const random = new Random(seed);
  const colliding = collidingWholes(5);
  const families: ((i: number) => string)[] = [
    (i) => `team-${i % 20}/web-${i}`,
    (i) => `team-${i}/config`,
    (i) => colliding[i % colliding.length] as string,
    (i) => String.fromCharCode(i),
  ];
  for (let life = 0; life < 40; life++) {
    setHashing(life % 4 === 3 ? (random.pick(HASHINGS) as Hashing) : undefined);
    const table = life % 2 === 0 ? ofTexts() : ofRequests();
    const known = 1 + random.int(families.length); // later lives have more kinds of keys
    for (let step = 0; step < 4 * size; step++) {
      const text = (random.pick(families.slice(0, known)) as (i: number) => string)(
        random.int(size),
      );
      if (!table.model.has(text)) table.add(text);
      else if (random.chance(0.6)) table.remove(text);
      else expect(table.find(text), `${text}; seed ${seed}`).toBe(table.model.get(text));
    }
    table.check();
  }
});

test('the hashes of the two parts of a pair are not exchangeable', () => {
  expect(wholePair('team-a', 'web')).not.toBe(wholePair('web', 'team-a'));
});
