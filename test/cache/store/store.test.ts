import { DeletedFinalStateUnknown, Indexer, type IndexSpec } from 'capstan/cache';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { CapstanError } from '../../../bindings/base/errors.ts';
import { IndexMap } from '../../../bindings/wasm/index-map.ts';
import { setKeyMode } from '../../../bindings/wasm/key-mode.ts';
import { Random, testSeed } from '../../helpers/random.ts';

interface Item {
  metadata: { namespace?: string; name: string; resourceVersion?: string };
  node?: string;
  labels: string[];
}

const item = (
  name: string,
  more: Partial<Item> & { namespace?: string; rv?: string } = {},
): Item => ({
  metadata: { namespace: more.namespace ?? 'ns', name, resourceVersion: more.rv ?? '1' },
  labels: more.labels ?? [],
  ...(more.node !== undefined && { node: more.node }),
});

const withCode = (code: string) => expect.objectContaining({ code });

const hostile = [
  '__proto__',
  'constructor',
  'a/b',
  '',
  '\ud800',
  '\udbff',
  'a\ud800',
  'a\udbff',
  'é',
  'e\u0301',
  'x'.repeat(10_000),
];

afterEach(() => setKeyMode(undefined));

describe.each(['wasm', 'js'] as const)('an indexer whose keys are hashed in %s', (mode) => {
  const make = (): Indexer<Item, 'node' | 'labels'> => {
    setKeyMode(mode);
    return new Indexer<Item, 'node' | 'labels'>(undefined, {
      node: 'node',
      labels: (object) => object.labels,
    });
  };

  test('agrees with a naive model after every one of many random operations', () => {
    const seed = testSeed();
    console.log(`store, ${mode}: CAPSTAN_SEED=${seed}`);
    const random = new Random(seed);
    const indexer = make();
    const model = new Map<string, Item>();
    const keyOf = (object: Item): string =>
      object.metadata.namespace
        ? `${object.metadata.namespace}/${object.metadata.name}`
        : object.metadata.name;
    const values = ['', 'a', 'b', '__proto__', '\ud800'];
    const randomItem = (): Item =>
      item(random.pick(hostile), {
        namespace: random.pick(['', 'ns']),
        rv: String(random.int(1000)),
        node: random.chance(0.8) ? random.pick(values) : undefined,
        labels: Array.from({ length: random.int(4) }, () => random.pick(values)),
      });
    let version = '';
    for (let round = 0; round < 3000; round++) {
      const object = randomItem();
      const what = random.int(20);
      if (what < 10) {
        indexer.add(object);
        model.set(keyOf(object), object);
        version = object.metadata.resourceVersion ?? '';
      } else if (what < 15) {
        indexer.delete(object);
        model.delete(keyOf(object));
        version = object.metadata.resourceVersion ?? '';
      } else if (what < 18) {
        indexer.delete(new DeletedFinalStateUnknown<Item>(keyOf(object), undefined));
        model.delete(keyOf(object));
      } else if (what < 19) {
        const list = Array.from({ length: random.int(12) }, randomItem);
        version = String(round);
        indexer.replace(list, version);
        model.clear();
        for (const one of list) model.set(keyOf(one), one);
      } else {
        version = `b${round}`;
        indexer.bookmark(version);
      }
      expect(indexer.lastStoreSyncResourceVersion()).toBe(version);
      expect(indexer.listKeys().sort()).toEqual([...model.keys()].sort());
      expect(new Set(indexer.list())).toEqual(new Set(model.values()));
      const key = keyOf(randomItem());
      expect(indexer.getByKey(key)).toBe(model.get(key));
      const value = random.pick(values);
      const under = [...model].filter(([, one]) => one.labels.includes(value));
      expect(indexer.indexKeys('labels', value)).toEqual(under.map(([one]) => one).sort());
      expect(new Set(indexer.byIndex('labels', value))).toEqual(
        new Set(under.map(([, one]) => one)),
      );
      const sharing = [...model.values()].filter((one) =>
        one.labels.some((label) => object.labels.includes(label)),
      );
      const found = indexer.index('labels', object);
      expect(found.length).toBe(sharing.length);
      expect(new Set(found)).toEqual(new Set(sharing));
      const nodes = new Set(
        [...model.values()].flatMap((one) => (one.node === undefined ? [] : [one.node])),
      );
      expect(new Set(indexer.listIndexFuncValues('node'))).toEqual(nodes);
    }
  });

  test('never merges or splits hostile keys', () => {
    const indexer = make();
    const objects = hostile.map((name) => item(name, { namespace: '' }));
    for (const object of objects) indexer.add(object);
    expect(indexer.listKeys().length).toBe(hostile.length);
    for (const object of objects) expect(indexer.getByKey(object.metadata.name)).toBe(object);
  });
});

describe('an indexer', () => {
  test('does not change if an index function or key function throws', () => {
    let fail = false;
    const indexer = new Indexer<Item, 'bad' | 'node'>(
      (object) => {
        if (object instanceof DeletedFinalStateUnknown) return object.key;
        if (object.metadata.name === 'no key') throw new Error('no key');
        return object.metadata.name;
      },
      {
        node: 'node',
        bad: () => {
          if (fail) throw new Error('index function');
          return ['fine'];
        },
      },
    );
    const a = item('a', { node: 'one' });
    indexer.add(a);
    expect(() => indexer.add(item('no key'))).toThrow('no key');
    fail = true;
    const changed = item('a', { node: 'two', rv: '2' });
    for (const change of [
      () => indexer.update(changed),
      () => indexer.add(item('b')),
      () => indexer.replace([changed], '9'),
    ]) {
      expect(change).toThrow('index function');
      expect(indexer.list()).toEqual([a]);
      expect(indexer.indexKeys('node', 'one')).toEqual(['a']);
      expect(indexer.listIndexFuncValues('node')).toEqual(['one']);
      expect(indexer.lastStoreSyncResourceVersion()).toBe('1');
    }
  });

  test('does not change if memory runs out in the middle of a change', () => {
    const indexer = new Indexer<Item>(undefined, {
      node: 'node',
      labels: (object) => object.labels,
    });
    const a = item('a', { node: 'one', labels: ['x'] });
    indexer.add(a);
    for (const change of [
      item('a', { node: 'two', labels: ['y'], rv: '2' }),
      item('b', { node: 'two', labels: ['y'] }),
    ]) {
      const spy = vi.spyOn(IndexMap.prototype, 'setOne').mockImplementation(function (
        this: IndexMap,
        slot,
        value,
      ) {
        if (value === 'y') throw new CapstanError('OUT_OF_MEMORY', 'as if');
        this.set(slot, [value]);
      });
      expect(() => indexer.add(change)).toThrow(withCode('OUT_OF_MEMORY'));
      spy.mockRestore();
      expect(indexer.list()).toEqual([a]);
      expect(indexer.listKeys()).toEqual(['ns/a']);
      expect(indexer.listIndexFuncValues('node')).toEqual(['one']);
      expect(indexer.indexKeys('node', 'one')).toEqual(['ns/a']);
      expect(indexer.indexKeys('labels', 'x')).toEqual(['ns/a']);
      expect(indexer.lastStoreSyncResourceVersion()).toBe('1');
    }
  });

  test('does not change if memory runs out in the middle of a list', () => {
    const indexer = new Indexer<Item>(undefined, {
      node: 'node',
      labels: (object) => object.labels,
    });
    const before = [
      item('a', { node: 'one', labels: ['x'] }),
      item('b', { node: 'one', labels: ['x', 'y'] }),
    ];
    indexer.replace(before, '5');
    const list = [
      item('b', { node: 'two', rv: '6' }),
      item('c', { node: 'three', rv: '7' }),
      item('d', { rv: '8' }),
    ];
    for (const last of ['two', 'three']) {
      const spy = vi.spyOn(IndexMap.prototype, 'setOne').mockImplementation(function (
        this: IndexMap,
        slot,
        value,
      ) {
        if (value === last) throw new CapstanError('OUT_OF_MEMORY', 'as if');
        this.set(slot, [value]);
      });
      expect(() => indexer.replace(list, '9')).toThrow(withCode('OUT_OF_MEMORY'));
      spy.mockRestore();
      expect(new Set(indexer.list())).toEqual(new Set(before));
      expect(indexer.indexKeys('node', 'one')).toEqual(['ns/a', 'ns/b']);
      expect(indexer.indexKeys('labels', 'y')).toEqual(['ns/b']);
      expect(indexer.listIndexFuncValues('node')).toEqual(['one']);
      expect(indexer.listKeys().sort()).toEqual(['ns/a', 'ns/b']);
      expect(indexer.lastStoreSyncResourceVersion()).toBe('5');
    }
    indexer.replace(list, '9');
    expect(new Set(indexer.list())).toEqual(new Set(list));
  });

  test('finds objects by key in any order, while keys are added and removed', () => {
    const indexer = new Indexer<Item>();
    const model = new Map<string, Item>();
    const seed = testSeed();
    const random = new Random(seed);
    for (let round = 0; round < 200; round++) {
      for (let i = 0; i < 20; i++) {
        const object = item(`item-${random.int(60)}`, { rv: String(round) });
        const key = `ns/${object.metadata.name}`;
        if (random.chance(0.6)) {
          indexer.add(object);
          model.set(key, object);
        } else {
          indexer.delete(object);
          model.delete(key);
        }
      }
      const keys = random.chance(0.5)
        ? indexer.listKeys()
        : Array.from({ length: 30 }, () => `ns/item-${random.int(60)}`);
      for (const key of keys) {
        expect(indexer.getByKey(key), `seed ${seed}`).toBe(model.get(key));
        if (random.chance(0.05)) {
          indexer.delete(item(key.slice(3)));
          model.delete(key);
        }
      }
    }
  });

  test('refuses an index function that does not return an array of strings', () => {
    const returns = (value: unknown) => (() => value) as unknown as IndexSpec<Item>;
    for (const bad of ['text', undefined, [1], [['a']]]) {
      const indexer = new Indexer<Item>(undefined, { bad: returns(bad) });
      expect(() => indexer.add(item('a'))).toThrow(withCode('INVALID_ARGUMENT'));
      expect(indexer.list()).toEqual([]);
    }
  });

  test('names the existing indices in the error for an unknown one', () => {
    const indexer = new Indexer<Item>(undefined, { node: 'node' });
    for (const call of [
      () => indexer.byIndex('nodes', 'a'),
      () => indexer.indexKeys('nodes', 'a'),
      () => indexer.index('nodes', item('a')),
    ]) {
      expect(call).toThrow(withCode('UNKNOWN_INDEX'));
      expect(call).toThrow(/"nodes".*"node"/);
    }
    expect(indexer.listIndexFuncValues('nodes')).toEqual([]);
  });

  test('adds indices over stored objects, all or none', () => {
    const indexer = new Indexer<Item>(undefined, { node: 'node' });
    indexer.add(item('a', { node: 'one', labels: ['x', 'x'] }));
    indexer.addIndexers({ labels: (object) => object.labels });
    expect(indexer.indexKeys('labels', 'x')).toEqual(['ns/a']);
    expect(() => indexer.addIndexers({ fresh: 'node', node: 'node' })).toThrow(
      withCode('INDEX_EXISTS'),
    );
    expect(Object.keys(indexer.getIndexers())).toEqual(['node', 'labels']);
    expect(() => indexer.addIndexers({ bad: 7 as unknown as string })).toThrow(
      withCode('INVALID_ARGUMENT'),
    );
  });

  test('calls an index "__proto__" by that name', () => {
    const indexer = new Indexer<Item>(undefined, JSON.parse('{"__proto__":"node"}'));
    indexer.add(item('a', { node: 'one' }));
    expect(indexer.indexKeys('__proto__', 'one')).toEqual(['ns/a']);
    expect(Object.keys(indexer.getIndexers())).toEqual(['__proto__']);
  });

  test('refuses invalid arguments without a change', () => {
    const indexer = new Indexer<Item>();
    expect(() => indexer.add({} as Item)).toThrow(withCode('INVALID_ARGUMENT'));
    expect(() => indexer.add(undefined as unknown as Item)).toThrow(withCode('INVALID_ARGUMENT'));
    expect(() => indexer.getByKey(1 as unknown as string)).toThrow(withCode('INVALID_ARGUMENT'));
    const none = undefined as unknown as string;
    expect(() => indexer.replace([], none)).toThrow(withCode('INVALID_ARGUMENT'));
    expect(() => indexer.bookmark(none)).toThrow(withCode('INVALID_ARGUMENT'));
    expect(indexer.lastStoreSyncResourceVersion()).toBe('');
    indexer.getByKey('asked for'); // the next one in order would be no key either
    expect(() => indexer.getByKey(none)).toThrow(withCode('INVALID_ARGUMENT'));
    expect(() => new Indexer('key' as unknown as () => string)).toThrow(
      withCode('INVALID_ARGUMENT'),
    );
    expect(indexer.list()).toEqual([]);
  });
});

test('replace refuses what is no list, and keeps the objects', () => {
  const indexer = new Indexer<Item>();
  indexer.add(item('a'));
  for (const list of [null, undefined, 5, {}])
    expect(() => indexer.replace(list as never, '9')).toThrow(withCode('INVALID_ARGUMENT'));
  expect(indexer.listKeys()).toEqual(['ns/a']);
});
