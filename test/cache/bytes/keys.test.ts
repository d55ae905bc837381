/**
 * Keys, index values and shapes that come out of bytes are those that come out of the parsed
 * objects, however they are written.
 */
import assert from 'node:assert/strict';
import { expect, test } from 'vitest';
import { metaNamespaceKeyFunc } from '../../../bindings/cache/rest/keys.ts';
import { Indexer } from '../../../bindings/cache/store/store.ts';
import { ByteStore, expected, type Thing, thing } from '../../helpers/cache/byte-store.ts';
import { Random, testSeed } from '../../helpers/random.ts';
import { asShown } from '../decode/shown-object.ts';

const PARTS = [
  'a',
  '/',
  '=',
  'é',
  'ÿ',
  'Ā',
  '😀',
  '\\u0000',
  '\\ud800',
  '\\udc00',
  '\\ud83d\\ude00',
  '\\u0061',
  '\\/',
  '\\n',
  '\\"',
  'x'.repeat(37),
];
const indexers = {
  ns: 'metadata.namespace',
  labels: 'metadata.labels',
  one: 'spec.a',
  many: 'spec.list.x',
};

test('random names, escapes and values: one key and one index value by bytes and by string', () => {
  const seed = testSeed();
  console.log(`test/cache/bytes/keys.test.ts: CAPSTAN_SEED=${seed}`);
  const random = new Random(seed);
  const text = (): string =>
    Array.from({ length: random.int(6) }, () => random.pick(PARTS)).join('');
  const scalar = (): string =>
    random.pick([
      '1',
      '-0',
      '1.50',
      '1e3',
      'true',
      'null',
      '{}',
      '[1,[2]]',
      '12345678901234567890',
      `"${text()}"`,
    ]);
  const world = new ByteStore(indexers);
  const plain = new Indexer<Thing, string>(undefined, indexers);
  for (let i = 0; i < 2000; i++) {
    const labels = `{"k${text()}":"${text()}","x":${scalar()}, "x" : ${scalar()}}`;
    const spec = `{"a":${scalar()},"list":[{"x":${scalar()}},{"y":1},{"x":[${scalar()},{"z":${scalar()}}]}]}`;
    const names = `"name":"${text()}","namespace":"${text()}"`;
    const json = `{ "kind":"Thing","metadata": {${names},"resourceVersion":"${i}","labels":${labels}},"spec":${spec}}`;
    const object = world.object(json);
    const parsed = asShown(JSON.parse(json) as Thing, expected);
    if (random.chance(0.2)) {
      world.store.delete(object);
      plain.delete(parsed);
    } else {
      world.store.add(object);
      plain.add(parsed);
    }
    const key = metaNamespaceKeyFunc(parsed);
    assert.equal(metaNamespaceKeyFunc(object), key);
    assert.equal(JSON.stringify(world.store.getByKey(key)), JSON.stringify(plain.getByKey(key)));
    if (i % 50 !== 0) continue;
    for (const name of Object.keys(indexers)) {
      const values = plain.listIndexFuncValues(name).sort();
      assert.deepEqual(world.store.listIndexFuncValues(name).sort(), values, name);
      for (const value of values)
        assert.deepEqual(world.store.indexKeys(name, value), plain.indexKeys(name, value), name);
    }
  }
  assert.deepEqual(world.store.listKeys().sort(), plain.listKeys().sort());
});

test('objects are as written with too many shapes, members, or too long names', () => {
  const world = new ByteStore({ spec: 'spec' });
  const objects: Thing[] = [];
  for (let i = 0; i < 1500; i++) {
    const object = { ...thing(`o${i}`, i), [`member-${i}`]: { i } };
    objects.push({
      ...object,
      metadata: { ...object.metadata, [`name-${i}`]: i } as Thing['metadata'],
    });
  }
  for (const count of [63, 64, 65, 200]) {
    const more = Object.fromEntries(Array.from({ length: count - 4 }, (_, i) => [`m${i}`, i]));
    objects.push({ ...thing(`members-${count}`, count), ...more });
  }
  objects.push({ ...thing('long', 1), ['y'.repeat(5000)]: 1 });
  for (const object of objects) world.store.add(world.object(object));
  for (const object of objects) {
    assert.equal(
      JSON.stringify(world.store.getByKey(metaNamespaceKeyFunc(object))),
      JSON.stringify(object),
    );
  }
  expect(world.store.indexKeys('spec', '7')).toEqual(['n/o7']);
  for (const object of world.store.list()) world.store.delete(object);
  world.store.settle();
  expect([world.store.size(), world.store.bytes().live]).toEqual([0, 0]);
});
