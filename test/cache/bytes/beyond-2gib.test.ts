/**
 * A cache whose memory has grown beyond 2 GiB. What the core answers is a signed number there: an
 * address that was used as it came read from the wrong end, or from nowhere. Here every structure
 * of a cache lies beyond, as the first 2 GiB (never touched, so never paid for) are taken at once;
 * then almost all of the 4 GiB, so that addresses are as high as they can be and the memory ends.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CacheExports } from '../../../bindings/generated/cache-exports.ts';
import { ByteStore, bytes, type Thing, thing } from '../../helpers/cache/byte-store.ts';
import { Random, testSeed } from '../../helpers/random.ts';
import { BytePlay, INDICES } from './random-work.ts';

const GIB = 2 ** 30;
/** Blocks that every instance made from here on has taken. */
let taken: readonly number[] = [GIB, GIB];
const RealInstance = WebAssembly.Instance;

beforeAll(() => {
  WebAssembly.Instance = new Proxy(RealInstance, {
    construct(target, args: [WebAssembly.Module]) {
      const instance = Reflect.construct(target, args) as WebAssembly.Instance;
      const { pathNew } = instance.exports as unknown as CacheExports;
      if (taken.some((block) => pathNew(block) === 0))
        throw new Error('this machine gives no 4 GiB of addresses');
      return instance;
    },
  });
});

afterAll(() => {
  WebAssembly.Instance = RealInstance;
});

test('objects are read, kept after their replacement, and found by key and index', () => {
  const world = new ByteStore({ node: 'spec', labels: 'metadata.labels' });
  const { core } = world.decoder;
  expect(core.exports.memory.buffer.byteLength).toBeGreaterThan(2 * GIB);
  expect(core.exports.keysNew() >>> 0).toBeGreaterThan(2 * GIB);
  const first = world.object(thing('a', 1, 'x'));
  world.store.add(first);
  world.store.add(world.object(thing('a', 2, 'y')));
  expect(JSON.stringify([first, world.store.getByKey('n/a')])).toBe(
    JSON.stringify([thing('a', 1, 'x'), thing('a', 2, 'y')]),
  );
  expect([
    world.store.indexKeys('node', 'y'),
    world.store.listIndexFuncValues('node'),
    world.store.listKeys(),
  ]).toEqual([['n/a'], ['y'], ['n/a']]);
  expect(() => world.frame('{"type":"ADDED","object":{"metadata":tru e}}')).toThrow(
    'not JSON, near',
  );
});

test('random work ends as in a model of plain JSON', () => {
  const seed = testSeed();
  console.log(`test/cache/bytes/beyond-2gib.test.ts: CAPSTAN_SEED=${seed}`);
  const random = new Random(seed);
  for (const indices of [INDICES.paths, INDICES['paths and a function'], INDICES.nothing]) {
    const play = new BytePlay(random, indices);
    for (let i = 0; i < 300; i++) play.step();
    play.finish();
  }
});

test('the last 64 MiB of 4 GiB fill up, and changes go on in what deletions give back', () => {
  taken = [2 * GIB, GIB, GIB / 2, GIB / 4, GIB / 8, GIB / 16];
  const seed = testSeed();
  console.log(`test/cache/bytes/beyond-2gib.test.ts, full: CAPSTAN_SEED=${seed}`);
  const random = new Random(seed);
  const { store, ...world } = new ByteStore({ name: 'metadata.name' });
  const { frames, decoder } = world;
  const versions = new Map<number, number>();
  const put = (i: number, version: number): void => {
    const text = JSON.stringify(thing(`o${i}`, version, 'x'.repeat(random.int(60_000))));
    frames.push(bytes(`{"type":"MODIFIED","object":${text}}`));
    store.exchange((frames.next() as { object: Thing }).object, random.chance(0.5));
    versions.set(i, version);
  };
  const full = expect.objectContaining({ code: 'OUT_OF_MEMORY' });
  expect(() => {
    for (let i = 0; ; i++) put(i, i);
  }).toThrow(full);
  expect(decoder.core.exports.memory.buffer.byteLength).toBeGreaterThan(4 * GIB - 2 ** 20);
  expect(store.size()).toBe(versions.size);
  const objects = versions.size;
  for (let i = 0; i < objects; i += 4) {
    store.delete(store.getByKey(`n/o${i}`) as Thing);
    versions.delete(i);
  }
  expect(frames.next()).toMatchObject({ type: 'MODIFIED' }); // the one that found no memory
  store.settle();
  for (let change = 0; change < 2000; change++) {
    const i = random.int(objects);
    if (versions.has(i)) put(i, change);
    if (change % 100 === 0) store.settle();
  }
  for (const [i, version] of versions)
    expect(store.getByKey(`n/o${i}`)?.metadata.resourceVersion).toBe(String(version));
  store.replace([], '');
  store.settle();
  expect([store.size(), store.bytes().live]).toEqual([0, 0]);
});
