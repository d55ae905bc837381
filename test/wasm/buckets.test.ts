/**
 * bindings/wasm/buckets.ts: which keys make a table change from a sample to a hash of the whole,
 * and from that to a Map; the slots stay the same.
 */
import { describe, expect, test } from 'vitest';
import {
  ALIKE,
  Buckets,
  BY_SAMPLE,
  joinHashes,
  REACH,
  sample,
  whole,
} from '../../bindings/wasm/buckets.ts';
import { NOTHING } from '../../bindings/wasm/core.ts';
import { Random, testSeed } from '../helpers/random.ts';
import { collidingWholes } from '../helpers/workqueue/colliding-keys.ts';

const seed = testSeed();
console.log(`test/wasm/buckets.test.ts: CAPSTAN_SEED=${seed}`);

const BY_WHOLE = BY_SAMPLE + 1;
const BY_MAP = BY_SAMPLE + 2;

/** Buckets and the texts of their slots, as in keys.ts, and a Map to compare with. */
class Table {
  readonly buckets = new Buckets();
  readonly texts: string[] = [];
  readonly model = new Map<string, number>();
  readonly #free: number[] = [];
  /** The most keys of one hash that a look-up has met. */
  mostAlike = 0;

  #hash(text: string): number {
    return this.buckets.how === BY_SAMPLE ? sample(text) : whole(text);
  }

  find(text: string): number {
    const { entries, mask } = this.buckets;
    const hash = this.#hash(text);
    let alike = 0;
    for (let step = 0, i = hash & mask; step < REACH && entries[i] !== 0; step++) {
      const entry = entries[i] as number;
      const slot = (entry & mask) - 1;
      if (((entry ^ hash) & ~mask) === 0) {
        if (this.texts[slot] === text) return slot;
        alike++;
      }
      i = (i + 1) & mask;
    }
    this.mostAlike = Math.max(this.mostAlike, alike);
    if (alike >= ALIKE) this.buckets.isCrowded = true;
    return this.buckets.crowd?.find(text) ?? NOTHING;
  }

  add(text: string): void {
    expect(this.find(text), `${text} is new; seed ${seed}`).toBe(NOTHING);
    const slot = this.#free.pop() ?? this.texts.length;
    this.texts[slot] = text;
    this.model.set(text, slot);
    if (this.buckets.isCrowded || !this.buckets.put(this.#hash(text), slot)) {
      const textOf = (of: number): string => this.texts[of] as string;
      this.buckets.putCrowded(slot, (of) => whole(textOf(of)), textOf);
    }
  }

  remove(text: string): void {
    const slot = this.model.get(text) as number;
    this.buckets.remove(slot);
    this.model.delete(text);
    this.texts[slot] = '';
    this.#free.push(slot);
  }

  /** Every key is where the Map says. */
  check(): void {
    for (const [text, slot] of this.model) {
      if (this.find(text) !== slot) expect.fail(`${text}: expected slot ${slot}; seed ${seed}`);
    }
  }
}

function tableOf(keys: readonly string[]): Table {
  const table = new Table();
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
    const table = tableOf([...new Set(keys)]);
    expect(table.buckets.how).toBe(BY_SAMPLE);
    expect(table.mostAlike).toBeLessThan(ALIKE);
  });
});

describe('a table changes to a hash of the whole', () => {
  test.each([
    ['one name in many namespaces', many((i) => `team-${i}/kube-root-ca.crt`)],
    ['the Pods of StatefulSets', many((i) => `db-${i % 5_000}/postgres-${Math.floor(i / 5_000)}`)],
  ])('%s', (_name, keys) => {
    const table = tableOf(keys);
    expect(table.buckets.how).toBe(BY_WHOLE);
    table.mostAlike = 0;
    table.check();
    expect(table.mostAlike).toBeLessThan(ALIKE);
  });
});

test('a table changes to a Map for keys that are crafted against the hash', () => {
  const keys = collidingWholes(6);
  expect(new Set(keys).size).toBe(64);
  expect(new Set(keys.map(whole)).size).toBe(1);
  const table = tableOf(keys);
  expect(table.buckets.how).toBe(BY_MAP);
  for (const key of keys) table.remove(key);
  expect(keys.map((key) => table.find(key))).toEqual(keys.map(() => NOTHING));
});

test('no key is lost where the buckets in reach are full, by hashes that differ', () => {
  const buckets = new Buckets();
  for (let slot = 0; slot < 3 * REACH; slot++) {
    const hash = (slot << 20) | 1; // all hashes have one bucket
    if (buckets.put(hash, slot)) continue;
    expect(slot).toBe(REACH);
    buckets.putCrowded(
      slot,
      (of) => of,
      (of) => `key ${of}`,
    );
    expect(buckets.how).toBe(BY_WHOLE);
    return;
  }
  expect.fail('the buckets were never full');
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
    const table = new Table();
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
  const [a, b] = [whole('team-a'), whole('web')];
  expect(joinHashes(a, b)).not.toBe(joinHashes(b, a));
});
