/**
 * The end of memory in a cache of bytes: all but a few blocks are taken, others each time. A change
 * then either throws OUT_OF_MEMORY and has changed nothing, so that it succeeds when it is made
 * again, or it never needed what was not there. At the end the cache gives everything back.
 */

import assert from 'node:assert/strict';
import { afterAll, describe, expect, test } from 'vitest';
import { CapstanError } from '../../../bindings/base/errors.ts';
import { NEVER_OVER, runSteps } from '../../../bindings/base/wait.ts';
import { DeletedFinalStateUnknown, labelIndex } from '../../../bindings/cache/index.ts';
import { CacheCore } from '../../../bindings/wasm/cache-core.ts';
import { ByteStore, bytes, type Thing, thing } from '../../helpers/cache/byte-store.ts';
import { Random, testSeed } from '../../helpers/random.ts';

const indexers = {
  spec: 'spec',
  labels: 'metadata.labels',
  mine: (object: Thing) => [object.metadata.name, `v${object.metadata.resourceVersion}`],
};
const ROUNDS = 40;
const INDICES = ['spec', 'labels', 'mine', 'late', 'later'];

const odd = (name: string): string =>
  `{"k\\u0069nd":"Thing","metadata":{"name":"${name}","namespace":"n"},"spec":"odd"}`;
const labelled = (name: string, version: number): Thing => {
  const made = thing(name, version, `s${version}`);
  made.metadata.labels = { app: `a${version}`, tier: 'b' };
  return made;
};
/**
 * So many objects that the tables of a store are full: the next key and the next slot need a block.
 */
function fill(world: ByteStore, count: number): void {
  for (let i = 0; i < count; i++)
    world.store.exchange(world.object(labelled(`f${i}`, i)), i % 2 === 0);
}

interface Change {
  /** Makes what the change is about. */
  before(world: ByteStore): Thing[];
  /** Is made again where it threw. */
  run(world: ByteStore, objects: Thing[]): unknown;
}

const changes: Record<string, Change> = {
  'the first object': {
    before: (w) => [w.object(labelled('a', 1))],
    run: (w, [a]) => w.store.add(a as Thing),
  },
  'an event of a new object': {
    before: (w) => [w.object(labelled('a', 1))],
    run: (w, [a]) => w.store.exchange(a as Thing, false),
  },
  'an event of a known object': {
    before: (w) => {
      w.store.add(w.object(labelled('a', 1)));
      return [w.object(labelled('a', 2))];
    },
    run: (w, [a]) => w.store.exchange(a as Thing, false),
  },
  'an odd object in place of bytes': {
    before: (w) => {
      w.store.add(w.object(labelled('a', 1)));
      return [w.object(odd('a'))];
    },
    run: (w, [a]) => w.store.exchange(a as Thing, false),
  },
  'bytes in place of an odd object': {
    before: (w) => {
      w.store.add(w.object(odd('a')));
      return [w.object(labelled('a', 2))];
    },
    run: (w, [a]) => w.store.exchange(a as Thing, true),
  },
  'the slot behind a full table': {
    before: (w) => {
      fill(w, 512);
      return [w.object(labelled('a', 1))];
    },
    run: (w, [a]) => w.store.add(a as Thing),
  },
  'bytes in place of an odd object behind a full table': {
    before: (w) => {
      for (let i = 0; i < 256; i++) w.store.add(w.object(labelled(`f${i}`, i)));
      w.store.add(w.object(odd('a')));
      return [w.object(labelled('a', 2))];
    },
    run: (w, [a]) => w.store.add(a as Thing),
  },
  'an index by a path and one by a function': {
    before: (w) => {
      fill(w, 40);
      return [];
    },
    run: (w) =>
      w.store.addIndexers({
        late: 'metadata.name',
        later: (object: Thing) => [object.metadata.name, 'all'],
      }),
  },
  replace: {
    before: (w) => {
      fill(w, 30);
      w.store.add(w.object(odd('a')));
      w.decoder.gather(true);
      const list = w.items(
        ...Array.from({ length: 400 }, (_, i) => labelled(`f${i + 10}`, i % 3 === 0 ? i + 10 : i)),
      );
      w.decoder.gather(false);
      return list;
    },
    run: (w, list) => w.store.replace(list, '9'),
  },
  delete: {
    before: (w) => {
      fill(w, 3);
      return [w.object(labelled('f1', 9))];
    },
    run: (w, [a]) => w.store.delete(a as Thing),
  },
};

/** How many blocks of 64 B fit in the memory that there is. */
function room({ exports: x }: CacheCore): number {
  let count = 0;
  x.memoryLimit(x.memoryPages());
  while (x.pathNew(64) !== 0) count++;
  return count;
}

/** What an operation throws for want of memory. */
function refusal(run: () => unknown, what: string): CapstanError | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    assert.ok(
      error instanceof CapstanError && error.code === 'OUT_OF_MEMORY',
      `${what}: ${String(error)}`,
    );
    return error;
  }
}

/** Empties a cache; then nothing of it may be left. */
function requireNothingLeft(world: ByteStore, what: string): void {
  world.store.replace([], '');
  world.store.settle();
  assert.equal(world.store.size(), 0, what);
  assert.equal(world.store.bytes().live, 0, what);
  for (const index of INDICES) assert.deepEqual(world.store.listIndexFuncValues(index), [], what);
}

/** Takes all the memory there is, but for a few blocks of each size. Answers what gives it back. */
function exhaust(core: CacheCore, random: Random): () => void {
  const { exports: x } = core;
  const taken: [block: number, bytes: number][] = [];
  const spare: [block: number, bytes: number][] = [];
  for (let bytes = 64; bytes <= 65_536; bytes *= 2) {
    if (random.chance(0.3)) spare.push([x.pathNew(bytes), bytes]);
  }
  x.memoryLimit(x.memoryPages());
  for (let bytes = 2 ** 24; bytes >= 64; bytes /= 2) {
    for (let block = x.pathNew(bytes); block !== 0; block = x.pathNew(bytes))
      taken.push([block, bytes]);
  }
  for (const [block, bytes] of spare) x.pathFree(block, bytes);
  return () => {
    for (const [block, bytes] of taken) x.pathFree(block, bytes);
    x.memoryLimit(65_535);
  };
}

describe('the end of memory', () => {
  const seed = testSeed();
  console.log(`test/cache/bytes/out-of-memory.test.ts: CAPSTAN_SEED=${seed}`);

  const refused = new Map<string, number>();

  afterAll(() => {
    const all = [...refused].map(([name, count]) => `${name} ${count}`);
    console.log(`refusals of ${ROUNDS}: ${all.join(', ')}`);
  });

  test.each(Object.entries(changes))(
    '%s: throws and changes nothing, and succeeds when it is made again',
    (name, change) => {
      const random = new Random(seed);
      const whole = new ByteStore(indexers);
      change.run(whole, change.before(whole));
      const wanted = whole.content(INDICES);
      let refusals = 0;
      for (let round = 0; round < ROUNDS; round++) {
        const what = `${name}, round ${round}`;
        const world = new ByteStore(indexers);
        const objects = change.before(world);
        const was = world.content(INDICES);
        const giveBack = exhaust(world.decoder.core, random);
        const refused = refusal(() => change.run(world, objects), what);
        if (refused !== undefined) {
          refusals++;
          assert.deepEqual(world.content(INDICES), was, what);
          giveBack();
          change.run(world, objects);
        }
        assert.deepEqual(world.content(INDICES), wanted, what);
        requireNothingLeft(world, what);
      }
      refused.set(name, refusals);
    },
  );

  // The index entries of a list that failed had cut the blocks that those of what was there before
  // need: 2048 of 3000 objects came back, and the list after that told nobody of the deletion of
  // the others.
  test('in a list without room for the old index entries: every object is restored', () => {
    const N = 600;
    const many = (version: number): Thing[] =>
      Array.from({ length: N }, (_, i) => {
        const made = thing(`f${i}`, version, `s${i}`);
        const labels =
          version === 1 ? ['app', 'tier'] : ['a', 'b', 'c', 'd'].map((name) => name + i);
        made.metadata.labels = Object.fromEntries(labels.map((name) => [name, `v${version}`]));
        return made;
      });
    let spare = 0;
    for (let pages = 0; ; pages++) {
      const world = new ByteStore({ labels: labelIndex });
      const { store } = world;
      const { exports: x } = world.decoder.core;
      world.decoder.gather(true);
      store.replace(world.items(...many(1)), '1');
      world.decoder.gather(false);
      const was = world.content();
      world.decoder.gather(true);
      const list = world.items(...many(2));
      world.decoder.gather(false);
      x.memoryLimit(x.memoryPages() + pages);
      const refused = refusal(() => store.replace(list, '2'), `${pages} pages`);
      if (refused === undefined) break;
      store.settle();
      assert.deepEqual(world.content(), was, `${pages} pages`);
      const found = store.indexKeys('labels', 'app=v1').length;
      spare += N - found;

      const fewer = [world.object(thing('f0', 3)), world.object(thing('new', 3))];
      const keysBefore = store.listKeys().filter((key) => key !== 'n/f0');
      x.memoryLimit(65_535);
      const { replaced, gone } = runSteps(store.replaceInSteps(fewer, '3', false, NEVER_OVER));
      assert.deepEqual(
        fewer.map((_, i) => replaced(i)?.metadata.resourceVersion),
        ['1', undefined],
      );
      assert.deepEqual([...gone].map(({ key }) => key).sort(), keysBefore.sort());
      assert.deepEqual(store.listKeys().sort(), ['n/f0', 'n/new']);
      requireNothingLeft(world, `${pages} pages`);
    }
    expect(spare).toBeGreaterThan(0);
  });

  test('an object without index entries is replaced, deleted and restored as any other', () => {
    let granted = 0;
    for (; ; granted++) {
      const world = new ByteStore({ labels: labelIndex });
      const { store } = world;
      const { exports: x } = world.decoder.core;
      const plain = (name: string): Thing => world.object(odd(name));
      const some = ['a', 'b', 'c', 'd'].map((name) => world.object(labelled(name, 1)));
      store.replace([...some, plain('e'), plain('f')], '1');
      const was = world.content();
      const fails = (blocks: number): boolean => {
        const list = ['a', 'e', 'new'].map((name) => world.object(labelled(name, 2)));
        x.memoryGrant(blocks);
        const refused = refusal(() => store.replace(list, '2'), `replace, ${blocks} granted`);
        x.memoryGrant(-1);
        store.settle();
        return refused !== undefined;
      };
      expect(fails(0)).toBe(true);
      expect(store.listIndexFuncValues('labels')).toEqual([]);
      if (!fails(granted)) break;
      assert.deepEqual(world.content(), was, `${granted} granted`);
      expect(fails(0)).toBe(true);

      expect(store.exchange(world.object(labelled('a', 2)), false)?.metadata.resourceVersion).toBe(
        '1',
      );
      expect(store.exchange(plain('b'), false)?.metadata.resourceVersion).toBe('1');
      store.add(world.object(labelled('e', 2)));
      expect(store.listKeys().sort()).toEqual(['n/a', 'n/b', 'n/c', 'n/d', 'n/e', 'n/f']);
      expect(store.indexKeys('labels', 'app=a2')).toEqual(['n/a', 'n/e']);
      expect(store.size()).toBe(6);
      expect(store.getByKey('n/d')?.metadata.labels).toEqual({ app: 'a1', tier: 'b' });
      store.delete(thing('c', 3));
      store.delete(new DeletedFinalStateUnknown<Thing>('n/d', undefined));
      expect(store.listKeys().sort()).toEqual(['n/a', 'n/b', 'n/e', 'n/f']);
      expect(store.get(thing('c', 3))).toBeUndefined();
      requireNothingLeft(world, `${granted} granted`);
    }
    expect(granted).toBeGreaterThan(2);
  });

  test('leaks no block: a hundred refused changes leave as much room as one', () => {
    for (const [name, change] of Object.entries(changes)) {
      const roomAfter = (times: number): number => {
        const world = new ByteStore(indexers);
        const objects = change.before(world);
        const { exports: x } = world.decoder.core;
        for (let granted = 0; granted < 30; granted++) {
          for (let time = 0; time < times; time++) {
            x.memoryGrant(granted);
            const refused = refusal(() => change.run(world, objects), name);
            x.memoryGrant(-1);
            if (refused === undefined) return room(world.decoder.core);
          }
        }
        return room(world.decoder.core);
      };
      assert.equal(roomAfter(100), roomAfter(1), name);
    }
  });

  // One object takes the place of another in one step, where no index has to be told.
  test('an event that changes no index needs no memory, except to read a key', () => {
    const refused: string[] = [];
    for (const name of ['a', 'a\n', '\u00e9"'.repeat(1000), 'b'.repeat(4000)]) {
      for (let granted = 0; granted < 4; granted++) {
        const world = new ByteStore({ labels: 'metadata.labels', name: 'metadata.name' });
        const { exports: x } = world.decoder.core;
        const told = world.object(labelled(name, 1));
        world.store.exchange(told, false);
        const was = world.content(['labels', 'name']);
        const next = thing(name, 2);
        next.metadata.labels = labelled(name, 1).metadata.labels as Record<string, string>;
        const event = world.object(next);
        const what = `${JSON.stringify(name.slice(0, 9))}, ${granted} granted`;
        x.memoryGrant(granted);
        const refusedHere = refusal(
          () => assert.equal(world.store.exchange(event, false)?.spec, 's1'),
          what,
        );
        x.memoryGrant(-1);
        if (refusedHere !== undefined) {
          refused.push(what);
          assert.deepEqual(world.content(['labels', 'name']), was, what);
          assert.equal(world.store.exchange(event, false)?.spec, 's1');
        }
        assert.deepEqual(world.store.getByKey(`n/${name}`), next, what);
        assert.deepEqual(told, labelled(name, 1), what);
        requireNothingLeft(world, what);
      }
    }
    expect(refused.filter((what) => what.startsWith('"a"'))).toEqual([]);
    expect(refused.length).toBeLessThan(8);
  });

  test('in a watch and in a list: the same frame comes when there is memory again', () => {
    for (let granted = 0; granted < 12; granted++) {
      const world = new ByteStore(indexers);
      const { exports: x } = world.decoder.core;
      const text = `{"type":"ADDED","object":${JSON.stringify(thing('a', 1, 'x'.repeat(40_000)))}}`;
      x.memoryGrant(granted);
      if (refusal(() => world.frames.push(bytes(text)), `push ${granted}`) !== undefined) {
        x.memoryGrant(-1);
        world.frames.push(bytes(text));
        x.memoryGrant(granted);
      }
      const refused = refusal(
        () => assert.notEqual(world.frames.next(), undefined),
        `next ${granted}`,
      );
      x.memoryGrant(-1);
      if (refused !== undefined) expect(world.frames.next()).toMatchObject({ type: 'ADDED' });
      expect(world.frames.next()).toBeUndefined();
      requireNothingLeft(world, `frame ${granted}`);
    }
    for (let granted = 0; granted < 12; granted++) {
      const world = new ByteStore(indexers);
      const { exports: x } = world.decoder.core;
      x.memoryGrant(granted);
      const refused = refusal(
        () => world.items(thing('a', 1), thing('b', 2, 'x'.repeat(40_000))),
        `list ${granted}`,
      );
      x.memoryGrant(-1);
      if (refused === undefined) expect(granted).toBeGreaterThan(2);
      expect(world.items(thing('a', 1), thing('b', 2))).toHaveLength(2);
      requireNothingLeft(world, `list ${granted}`);
    }
  });

  // A key is read into a block as long as it is. Where there was none, the key counted as not
  // there, and a deletion was passed over in silence.
  test('is an error where a key cannot be looked up, and not an answer', () => {
    const { store, decoder } = new ByteStore(indexers);
    const { exports: x } = decoder.core;
    const full = expect.objectContaining({ code: 'OUT_OF_MEMORY' });
    x.memoryGrant(0);
    expect(() => store.delete(thing('a'.repeat(4000), 1))).toThrow(full);
    expect(() => store.getByKey('b'.repeat(4000))).toThrow(full);
    x.memoryGrant(-1);
    store.delete(thing('a'.repeat(4000), 1));
    expect(store.getByKey('b'.repeat(4000))).toBeUndefined();
  });

  test('while a store, an index, an arena or a stream is created: nothing is leaked', () => {
    const roomAfter = (first: number): number => {
      const core = new CacheCore();
      const { exports: x } = core;
      const makes: [make: () => number, free: (made: number) => void][] = [
        [x.keysNew, x.keysFree],
        [x.objectsNew, x.objectsFree],
        [x.indexNew, x.indexFree],
        [x.arenaNew, x.arenaFree],
        [() => x.streamNew(1000), x.streamFree],
      ];
      for (const [make, free] of makes) {
        for (let granted = first, made = 0; made === 0; granted++) {
          x.memoryGrant(granted);
          made = make();
          x.memoryGrant(-1);
          if (made !== 0) free(made);
        }
      }
      return room(core);
    };
    expect(roomAfter(0)).toBe(roomAfter(9));
  });

  // What the watch read into had become part of a table or of the arena by the time that a list
  // asked for it, or lay there in halves, which are not merged. So each list failed at its first
  // chunk, and a cache of 7168 objects whose server had 10 left kept all of them for ever.
  test('leaves a list enough room: a full cache follows deletions of its server', () => {
    const CHUNK = 65_536;
    const text = (i: number): string =>
      JSON.stringify(thing(`o${i}`, i, 'x'.repeat(1000 + ((i * 37) % 500))));
    const { store, decoder } = new ByteStore({ name: 'metadata.name' });
    decoder.core.exports.memoryLimit(64);
    const list = (count: number): void => {
      decoder.gather(true);
      const page = decoder.page();
      const body = bytes(`{"items":[${Array.from({ length: count }, (_, i) => text(i)).join()}]}`);
      for (let at = 0; at < body.length; at += CHUNK) page.push(body.subarray(at, at + CHUNK));
      store.replace(page.end().items, '9', true);
      page.close();
      decoder.gather(false);
      store.settle();
    };
    list(100);
    const frames = decoder.frames();
    let objects = 100;
    const more = (): void => {
      for (; ; objects++) {
        frames.push(bytes(`{"type":"ADDED","object":${text(objects)}}`));
        store.exchange((frames.next() as { object: Thing }).object, true);
      }
    };
    expect(refusal(more, 'the watch')).toBeDefined();
    frames.close();
    store.settle();
    for (const left of [objects, objects >> 1, 10]) {
      list(left);
      expect(store.size()).toBe(left);
      expect(store.indexKeys('name', 'o9')).toEqual(['n/o9']);
    }
    expect(JSON.stringify(store.getByKey('n/o9'))).toBe(text(9));
  });

  test('finds there what a stream read into that came upon something very long', () => {
    const { exports: x } = new ByteStore().decoder.core;
    const [short, long] = [x.streamNew(1000), x.streamNew(1000)];
    expect([x.streamRoom(short, 4_000_000), x.streamRoom(long, 5_000_000)]).not.toContain(0);
    x.memoryLimit(x.memoryPages());
    x.streamFree(long);
    x.streamFree(short);
    expect(x.pathNew(2 ** 23)).not.toBe(0);
    while (x.pathNew(2 ** 22) !== 0);
    expect(x.streamRoom(x.streamNew(1000), 4_000_000)).not.toBe(0);
  });

  // The block of the version that was let go last is kept for the next one, if it fits that.
  test('gives up what the version left that was let go last, once', () => {
    const world = new ByteStore();
    const { exports: x } = world.decoder.core;
    const large = world.object(thing('a', 1, 'x'.repeat(3_000_000)));
    world.store.settle();
    x.memoryLimit(x.memoryPages());
    const others = [
      thing('b', 1, 'y'.repeat(2_500_000)),
      thing('c', 1, 'c'),
      thing('d', 1, 'd'),
      thing('e', 1, 'e'),
    ];
    expect(others.map((each) => world.object(each))).toStrictEqual(others);
    expect(large.spec).toHaveLength(3_000_000);
  });
});
