/**
 * A cache whose memory has grown beyond 2 GiB. What the core answers is a signed number there: an address that was used as it came read from the
 * wrong end, or from nowhere. Here every structure of a cache lies beyond, as the first 2 GiB (never touched, so never paid for) are taken at once.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CacheExports } from '../../bindings/cache-exports.ts';
import { Random, testSeed } from '../random.ts';
import { ByteStore, thing } from './byte-store.ts';
import { BytePlay } from './byte-store-play.ts';

const GIB = 2 ** 30;
const RealInstance = WebAssembly.Instance;

beforeAll(() => {
  WebAssembly.Instance = new Proxy(RealInstance, {
    construct(target, args: [WebAssembly.Module]) {
      const instance = Reflect.construct(target, args) as WebAssembly.Instance;
      const { pathNew } = instance.exports as unknown as CacheExports;
      if (pathNew(GIB) === 0 || pathNew(GIB) === 0) throw new Error('this machine gives no 2 GiB of addresses');
      return instance;
    },
  });
});

afterAll(() => {
  WebAssembly.Instance = RealInstance;
});

test('objects are read where they lie, kept when they are replaced, and found by key and index', () => {
  const world = new ByteStore({ node: 'spec', labels: 'metadata.labels' });
  const { core } = world.decoder;
  expect(core.x.memory.buffer.byteLength).toBeGreaterThan(2 * GIB);
  expect(core.x.keysNew() >>> 0).toBeGreaterThan(2 * GIB);
  const first = world.object(thing('a', 1, 'x'));
  world.store.add(first);
  world.store.add(world.object(thing('a', 2, 'y')));
  expect(JSON.stringify([first, world.store.getByKey('n/a')])).toBe(
    JSON.stringify([thing('a', 1, 'x'), thing('a', 2, 'y')]),
  );
  expect([world.store.indexKeys('node', 'y'), world.store.listIndexFuncValues('node'), world.store.listKeys()]).toEqual(
    [['n/a'], ['y'], ['n/a']],
  );
  expect(() => world.frame('{"type":"ADDED","object":{"metadata":tru e}}')).toThrow('not JSON, near');
});

test('random work ends as in a model of plain JSON', () => {
  const seed = testSeed();
  console.log(`test/cache/bytes-beyond-2gib.test.ts: CAPSTAN_SEED=${seed}`);
  const random = new Random(seed);
  for (let round = 0; round < 2; round++) {
    const play = new BytePlay(random);
    for (let i = 0; i < 300; i++) play.step();
    play.finish();
  }
});
