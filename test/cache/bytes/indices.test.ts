/**
 * The indices of a store that keeps its objects as bytes are those of a store that was given the
 * parsed ones, whether the core reads the values (paths, the namespace) or a function of the user's
 * does.
 */
import { expect, test } from 'vitest';
import { CapstanError } from '../../../bindings/base/errors.ts';
import type { IndexSpec } from '../../../bindings/base/resource.ts';
import { ByteDecoder } from '../../../bindings/cache/bytes/decoder.ts';
import { storedObjectOf } from '../../../bindings/cache/bytes/lazy.ts';
import type { StoredObject } from '../../../bindings/cache/bytes/stored-object.ts';
import { StoredObjects } from '../../../bindings/cache/bytes/stored-objects.ts';
import {
  labelIndex,
  metaNamespaceIndexFunc,
  ownerIndex,
} from '../../../bindings/cache/store/indices.ts';
import { Indexer } from '../../../bindings/cache/store/store.ts';
import { CacheCore } from '../../../bindings/wasm/cache-core.ts';
import { IndexMap } from '../../../bindings/wasm/index-map.ts';
import { PathBlock } from '../../../bindings/wasm/path-block.ts';
import { ByteStore } from '../../helpers/cache/byte-store.ts';
import { Random, testSeed } from '../../helpers/random.ts';

interface Thing {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; [member: string]: unknown };
  [member: string]: unknown;
}

const encoder = new TextEncoder();
const indexers: Record<string, IndexSpec<Thing>> = {
  namespace: metaNamespaceIndexFunc,
  byNode: 'spec.nodeName',
  byLabel: labelIndex,
  byApp: 'metadata.labels.app',
  byOwner: ownerIndex,
  byName: 'metadata.name',
  byKind: 'kind',
  byPort: 'spec.ports.port',
  byOdd: 'odd',
  byMetadata: 'metadata',
  bySurrogate: 'spec.\ud800',
  byFunction: (thing) => [`${Object.keys(thing.metadata).length}`, thing.metadata.name],
};

class Stores {
  readonly bytes = new Indexer<Thing>(undefined, indexers, { apiVersion: 'v1', kind: 'Thing' });
  readonly parsed = new Indexer<Thing>(undefined, indexers);
  readonly #frames = this.bytes.decoder({ apiVersion: 'v1', kind: 'Thing' }).frames();

  decode(text: string): Thing {
    this.#frames.push(encoder.encode(`{"type":"ADDED","object":${text}}`));
    const frame = this.#frames.next();
    if (frame?.type !== 'ADDED') throw new Error(`expected an object, got ${frame?.type}`);
    return frame.object;
  }

  /** Adds the indices once more, over what there is by now. */
  addIndexers(): void {
    for (const store of [this.bytes, this.parsed]) {
      store.addIndexers(
        Object.fromEntries(Object.entries(indexers).map(([name, spec]) => [`late ${name}`, spec])),
      );
    }
  }

  add(text: string): void {
    this.bytes.add(this.decode(text));
    this.parsed.add(JSON.parse(text) as Thing);
  }

  expectEqual(): void {
    for (const name of Object.keys(this.parsed.getIndexers())) {
      const values = this.parsed.listIndexFuncValues(name).sort();
      expect(this.bytes.listIndexFuncValues(name).sort(), name).toEqual(values);
      for (const value of values) {
        const keys = this.parsed.indexKeys(name, value);
        expect(this.bytes.indexKeys(name, value), `${name} ${value}`).toEqual(keys);
      }
    }
  }
}

const scalars = [
  '"web"',
  '"☃"',
  '"a\\"\\u0062"',
  '""',
  'null',
  'true',
  '17',
  '-0',
  '1.50',
  '[]',
  '{}',
  '["a",["b",1e2]]',
  '{"x":1,"y":{}}',
];

function anyThing(random: Random): string {
  const metadata: string[] = [`"name":"thing-${random.int(40)}"`];
  if (random.chance(0.7)) metadata.push(`"namespace":"${random.pick(['a', 'b', 'ü', ''])}"`);
  if (random.chance(0.7))
    metadata.push(`"labels":{"app":${random.pick(scalars)},"tier":${random.pick(scalars)}}`);
  if (random.chance(0.1)) metadata.push(`"labels":{"app":"second"}`);
  if (random.chance(0.3)) metadata.push(`"labels":${random.pick(scalars)}`);
  if (random.chance(0.5)) {
    const owners = Array.from(
      { length: random.int(4) },
      () => `{"kind":"K","uid":"u-${random.int(9)}"}`,
    );
    metadata.push(`"ownerReferences":[${owners.join()}]`);
  }
  if (random.chance(0.4)) metadata.push('"managedFields":[{"manager":"m"}]');
  const members: string[] = [
    '"kind":"Thing"',
    '"apiVersion":"v1"',
    `"metadata":{${metadata.join()}}`,
  ];
  if (random.chance(0.8)) {
    const ports = Array.from({ length: random.int(3) }, () => `{"port":${random.int(4)}}`);
    const node = random.chance(0.5) ? `"node-${random.int(6)}"` : random.pick(scalars);
    members.push(`"spec":{"ports":[${ports.join(' , ')}], "nodeName":${node}}`);
  }
  if (random.chance(0.3)) members.push(`"odd":${random.pick(scalars)}`);
  if (random.chance(0.1)) members.push(`"od\\u0064":${random.pick(scalars)}`);
  if (random.chance(0.1)) members.push(`"odd":${random.pick(scalars)}`);
  for (let i = members.length - 1; i > 0; i--) {
    const other = random.int(i + 1);
    [members[i], members[other]] = [members[other] as string, members[i] as string];
  }
  return `{${members.join(random.pick([',', ' ,\n']))}}`;
}

/** Without what a store of bytes cuts out. */
const cut = (text: string): string =>
  text.replaceAll('"managedFields":[{"manager":"m"}]', '"m":[]');

test('the indices of objects as bytes are those of the parsed objects, after any changes', {
  timeout: 60_000,
}, () => {
  const seed = testSeed();
  console.log(`test/cache/bytes/indices.test.ts: CAPSTAN_SEED=${seed}`);
  const random = new Random(seed);
  for (let round = 0; round < 8; round++) {
    const stores = new Stores();
    for (let i = 0; i < 400; i++) {
      const text = cut(anyThing(random));
      const what = random.int(20);
      if (what === 0) {
        const list = Array.from({ length: random.int(30) }, () => cut(anyThing(random)));
        stores.bytes.replace(
          list.map((each) => stores.decode(each)),
          '1',
        );
        stores.parsed.replace(
          list.map((each) => JSON.parse(each) as Thing),
          '1',
        );
      } else if (what < 5) {
        stores.bytes.delete(stores.decode(text));
        stores.parsed.delete(JSON.parse(text) as Thing);
      } else if (what === 5) {
        const object = JSON.parse(text) as Thing; // filled by hand in between
        stores.bytes.add(object);
        stores.parsed.add(object);
      } else stores.add(text);
      if (i === 200) stores.addIndexers();
      if (i % 20 === 19) stores.expectEqual();
    }
    stores.expectEqual();
  }
});

test('managedFields that are cut out have no index values', () => {
  const store = new Indexer<Thing>(
    undefined,
    { by: 'metadata.managedFields.manager' },
    { apiVersion: 'v1', kind: 'Thing' },
  );
  const frames = store.decoder({ apiVersion: 'v1', kind: 'Thing' }).frames();
  frames.push(
    encoder.encode(
      '{"type":"ADDED","object":{"kind":"Thing","apiVersion":"v1","metadata":{"name":"a","managedFields":[{"manager":"m"}]}}}',
    ),
  );
  store.add((frames.next() as { object: Thing }).object);
  expect(store.listIndexFuncValues('by')).toEqual([]);
});

test('an index function that throws changes neither the store nor other indices', () => {
  const store = new Indexer<Thing>(
    undefined,
    {
      byNode: 'spec.nodeName',
      broken: (thing) => {
        if (thing.odd === true) throw new CapstanError('INVALID_ARGUMENT', 'broken');
        return [];
      },
    },
    { apiVersion: 'v1', kind: 'Thing' },
  );
  const frames = store.decoder({ apiVersion: 'v1', kind: 'Thing' }).frames();
  const decode = (text: string): Thing => {
    frames.push(
      encoder.encode(
        `{"type":"ADDED","object":{"kind":"Thing","apiVersion":"v1","metadata":{"name":"a"},${text}}}`,
      ),
    );
    return (frames.next() as { object: Thing }).object;
  };
  store.add(decode('"spec":{"nodeName":"one"}'));
  expect(() => store.add(decode('"spec":{"nodeName":"two"},"odd":true'))).toThrow('broken');
  expect(store.listIndexFuncValues('byNode')).toEqual(['one']);
  expect(store.indexKeys('byNode', 'one')).toEqual(['a']);
});

test('out of memory while index values are read is a typed error without a change', () => {
  const expected = { apiVersion: 'v1', kind: 'Thing' };
  const core = new CacheCore();
  const versions = new StoredObjects(core, core.exports.keysNew(), expected);
  const frames = new ByteDecoder<Thing>(core, versions, expected).frames();
  const version = (labels: object): StoredObject => {
    const object = { kind: 'Thing', apiVersion: 'v1', metadata: { name: 'a', labels } };
    frames.push(encoder.encode(JSON.stringify({ type: 'ADDED', object })));
    return storedObjectOf((frames.next() as { object: Thing }).object) as StoredObject;
  };
  const path = new PathBlock(core, ['metadata', 'labels']);
  const map = new IndexMap(core, true);
  const put = ({ id }: StoredObject): boolean =>
    map.setFromBytes(3, versions.handle, id, path.handle, false);
  expect(put(version({ old: '1', older: '2' }))).toBe(true);
  const many = version(
    Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`name-${i}`, 'v'.repeat(40)])),
  );
  const one = version({ ['n'.repeat(1_500)]: '1' });
  const odd = version({ a: 1.5 });
  expect(put(odd)).toBe(false);
  let refused = 0;
  for (const each of [one, many]) {
    for (let granted = 0; ; granted++) {
      core.exports.memoryGrant(granted);
      try {
        expect(put(each)).toBe(true);
        break;
      } catch (error) {
        expect((error as CapstanError).code).toBe('OUT_OF_MEMORY');
        refused++;
      } finally {
        core.exports.memoryGrant(-1);
      }
      expect(map.values().sort()).toEqual(['old=1', 'older=2']);
      expect([...map.slots('old=1')]).toEqual([3]);
    }
    expect(map.values()).toHaveLength(each === one ? 1 : 60);
    expect(put(version({ old: '1', older: '2' }))).toBe(true);
  }
  expect(refused).toBeGreaterThan(60);
});

test('labelIndex and ownerIndex have an object under each label and each owner', () => {
  const stores = new Stores();
  const owners = '[{"kind":"ReplicaSet","uid":"u1"},{"kind":"Node","uid":"u2"}]';
  stores.add(
    `{"metadata":{"name":"a","labels":{"app":"web","tier":""},"ownerReferences":${owners}}}`,
  );
  stores.add('{"metadata":{"name":"b","labels":{"app":"db"}}}');
  stores.add('{"metadata":{"name":"c","ownerReferences":[]}}');
  const { bytes } = stores;
  expect(bytes.listIndexFuncValues('byLabel').sort()).toEqual(['app=db', 'app=web', 'tier=']);
  expect(bytes.indexKeys('byLabel', 'app=web')).toEqual(['a']);
  expect(bytes.listIndexFuncValues('byOwner').sort()).toEqual(['u1', 'u2']);
  expect(bytes.indexKeys('byOwner', 'u2')).toEqual(['a']);
});

// The bits of a change know of spec, status and metadata. None of them was once taken for a proof
// that nothing had changed, and the indices of `data` stood still.
test('an index of another part is updated although spec, status and metadata are equal', () => {
  const of = (data: string) => `{"metadata":{"name":"a","namespace":"n"},"data":{"v":"${data}"}}`;
  const store = new ByteStore({
    byPath: 'data.v',
    byFunction: (object) => [(object as { data?: { v: string } }).data?.v ?? ''],
  });
  store.store.add(store.object(of('old')));
  store.store.add(store.object(of('new')));
  for (const index of ['byPath', 'byFunction']) {
    expect(
      [store.store.indexKeys(index, 'old'), store.store.indexKeys(index, 'new')],
      index,
    ).toEqual([[], ['n/a']]);
  }
});
