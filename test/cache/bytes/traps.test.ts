/**
 * A trap at each export of the core of a cache of bytes, in each call that reaches it: the caller
 * gets POISONED, every later call of that cache says so too, also the members of its objects that
 * are not decoded yet, and other caches go on. test/wasm/core-traps.test.ts does the same for
 * queues and stores of JS objects.
 *
 * The trap is a real one of the real instance, an access outside of its memory, made in place of
 * the export that is armed.
 */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { CapstanError } from '../../../bindings/base/errors.ts';
import { NEVER_OVER, runSteps } from '../../../bindings/base/wait.ts';
import { HashRanges } from '../../../bindings/cache/rest/hash-ranges.ts';
import { DeletedFinalStateUnknown } from '../../../bindings/cache/rest/keys.ts';
import { ByteStore, bytes, type Thing, thing } from '../../helpers/cache/byte-store.ts';

/** Exports that no call of a cache of bytes reaches, and why. */
const UNREACHED: Record<string, string> = {
  memoryLimit: 'for tests of the end of memory',
  keysFree: 'the tables of a store go with its instance',
  keysSlotNew: 'for tables that hash in JS: test/wasm/core-traps.test.ts',
  indexList: 'for tables that hash in JS: test/wasm/core-traps.test.ts',
  indexFree: 'the indices of a store go with its instance',
  indexPutSlot: 'for tables that hash in JS: test/wasm/core-traps.test.ts',
  keysFindBytes: 'for tests: called by the core itself',
  keysInternBytes: 'for tests: called by the core itself',
  keysFindObject: 'for tests: called by the core itself',
  keysInternObject: 'for tests: called by the core itself',
  pathValues: 'for tests: called by the core itself',
  pathList: 'for tests: called by the core itself',
  indexByPath: 'for tests: called by the core itself',
  arenaNew: 'for tests: called by the core itself',
  arenaFree: 'for tests: called by the core itself',
  arenaAlloc: 'for tests: called by the core itself',
  arenaRelease: 'for tests: called by the core itself',
  arenaAt: 'for tests: called by the core itself',
  arenaSize: 'for tests: called by the core itself',
  arenaFits: 'for tests: called by the core itself',
  arenaOwner: 'for tests: called by the core itself',
  arenaSetOwner: 'for tests: called by the core itself',
  arenaLive: 'for tests: called by the core itself',
  arenaTotal: 'for tests: called by the core itself',
  arenaMoved: 'for tests: called by the core itself',
  arenaCheck: 'for tests: called by the core itself',
  objectsFree: 'the objects of a store go with its instance',
  streamPending: 'for tests',
};

type Export = (...args: unknown[]) => unknown;

let armed: string | undefined;
let reached = new Set<string>();
const everyExport = new Set<string>();
const RealInstance = WebAssembly.Instance;

beforeAll(() => {
  WebAssembly.Instance = new Proxy(RealInstance, {
    construct(target, args: [WebAssembly.Module]) {
      const { exports } = Reflect.construct(target, args) as WebAssembly.Instance;
      const real = exports as Record<string, Export>;
      const wrapped: Record<string, unknown> = {};
      for (const [name, value] of Object.entries(real)) {
        wrapped[name] = value;
        if (typeof value !== 'function') continue;
        everyExport.add(name);
        wrapped[name] = (...given: unknown[]) => {
          reached.add(name);
          if (armed !== name) return value(...given);
          armed = undefined;
          return real.keysUsed?.(0xfffffff0);
        };
      }
      return { exports: wrapped };
    },
  });
});

afterAll(() => {
  WebAssembly.Instance = RealInstance;
});

const odd = (name: string): string =>
  `{"k\\u0069nd":"Thing","metadata":{"name":"${name}","namespace":"n"}}`;
const indexers = { spec: 'spec', mine: (object: Thing) => [object.metadata.name, 'all'] };

const halfOfAll = HashRanges.of('ranges', [{ from: 0n, to: 2n ** 63n }], { namespaced: true });
const large = { a: 'b'.repeat(300), c: [1] };

/**
 * A cache with the objects 'told' (handlers were notified) and 'untold' as bytes and 'plain' as a
 * JavaScript object, with staged objects, and with half a frame in its decoder.
 */
class World extends ByteStore {
  readonly told: Thing;
  readonly coming: Thing;
  readonly newer: Thing;
  readonly listed: Thing[];
  readonly alike: Thing;
  readonly unread: Thing;
  readonly parts: { a: unknown };

  constructor(indices: ConstructorParameters<typeof ByteStore>[0] = indexers) {
    super(indices);
    this.told = this.object(thing('told', 1));
    this.store.exchange(this.told, false);
    this.store.exchange(this.object(thing('untold', 2)), true);
    this.store.exchange(this.object(odd('plain')), false);
    this.decoder.gather(true);
    this.listed = this.items(thing('told', 1), thing('new', 4));
    this.decoder.gather(false);
    this.coming = this.object(thing('coming', 3));
    this.newer = this.object(thing('told', 3, 'newer'));
    this.alike = this.object(thing('told', 2, 1));
    this.unread = this.object(thing('unread', 1, large));
    this.parts = this.object(thing('read', 1, large)).spec as { a: unknown };
    this.frames.push(bytes('{"type":'));
  }
}

/** A frame through a decoder of its own. */
function take(
  world: World,
  options: Parameters<World['store']['decoder']>[1],
  object: Thing,
): unknown {
  const frames = world.store.decoder({ apiVersion: 'v1', kind: 'Thing' }, options).frames();
  frames.push(bytes(JSON.stringify({ type: 'MODIFIED', object })));
  return frames.next();
}

const calls: Record<string, (world: World) => unknown> = {
  'a new cache': () => new ByteStore(indexers),
  'a new decoder': (w) => w.store.decoder({ apiVersion: 'v1', kind: 'Thing' }),
  'a new decoder that drops members': (w) =>
    w.store.decoder({ apiVersion: 'v1', kind: 'Thing' }, { drop: ['spec.x'] }),
  'a frame of which a member is dropped': (w) => take(w, { drop: ['spec'] }, thing('told', 4)),
  'a frame that has room': (w) => take(w, { maxBytes: 1e6 }, thing('told', 4)),
  'a frame that has room for its metadata': (w) =>
    take(w, { maxBytes: 1, whenFull: 'metadata' }, thing('told', 4)),
  'how many have their metadata alone, once some have': (w) => {
    take(w, { maxBytes: 1, whenFull: 'metadata' }, thing('told', 4));
    w.store.metadataOnly();
  },
  'a change of the ranges': (w) => w.decoder.select(halfOfAll),
  'a list with ranges': (w) => {
    w.decoder.select(halfOfAll);
    w.items(thing('a', 1));
  },
  'a new watch': (w) => w.decoder.frames(),
  'the end of a watch': (w) => w.frames.close(),
  'half a frame': (w) => w.frames.push(bytes('"ADDED"')),
  'a frame': (w) => {
    w.frames.push(bytes(`"ADDED","object":${JSON.stringify(thing('a', 1))}}`));
    w.frames.next();
  },
  'a bookmark': (w) => {
    w.frames.push(bytes('"BOOKMARK","object":{"metadata":{"resourceVersion":"5"}}}'));
    w.frames.next();
  },
  'a frame of an odd object': (w) => {
    w.frames.push(bytes(`"ADDED","object":${odd('odd')}}`));
    w.frames.next();
  },
  'a frame of a new shape': (w) => {
    w.frames.push(bytes('"ADDED","object":{"metadata":{"name":"s","x":1},"y":2}}'));
    w.frames.next();
  },
  'a frame that is not JSON': (w) => {
    w.frames.push(bytes('tru e,"object":{}}'));
    w.frames.next();
  },
  'a list': (w) => w.items(thing('a', 1), thing('told', 2)),
  'a list of what there is': (w) => {
    w.decoder.gather(true);
    w.items(thing('told', 1), thing('told', 1), thing('untold', 2));
  },
  'a list that has room': (w) => {
    const decoder = w.store.decoder({ apiVersion: 'v1', kind: 'Thing' }, { maxBytes: 1e6 });
    decoder.gather(true);
    const page = decoder.page();
    page.push(bytes(`{"metadata":{},"items":[${JSON.stringify(thing('a', 1))}]}`));
  },
  'a list that ends early': (w) => {
    const page = w.decoder.page();
    page.push(bytes('{"kind":"ThingList","items":null,"metadata":{}'));
    page.end();
  },
  add: (w) => w.store.add(w.coming),
  'an event that finds no memory': (w) => {
    w.decoder.core.exports.memoryGrant(0);
    w.store.add(w.coming);
  },
  'an event that finds no memory at its second index': (w) => {
    w.decoder.core.exports.memoryGrant(1);
    w.store.add(w.coming);
  },
  'an event': (w) => w.store.exchange(w.newer, false),
  'an event that moves no index': (w) => w.store.exchange(w.alike, false),
  'an event untold': (w) => w.store.exchange(w.newer, true),
  'an event of an odd object': (w) => w.store.exchange(JSON.parse(odd('told')) as Thing, false),
  'an odd object replaced': (w) => {
    const object = thing('plain', 7);
    w.store.exchange(object, false);
  },
  delete: (w) => w.store.delete(w.told),
  'delete by an object that is not stored': (w) => w.store.delete(w.coming),
  'a tombstone': (w) => w.store.delete(new DeletedFinalStateUnknown<Thing>('n/untold', undefined)),
  'replace, for handlers': (w) =>
    runSteps(w.store.replaceInSteps(w.listed, '9', false, NEVER_OVER)),
  replace: (w) => w.store.replace(w.listed, '9'),
  get: (w) => w.store.get(w.newer),
  getByKey: (w) => w.store.getByKey('n/untold'),
  'a member': (w) => w.coming.spec,
  'a member that is read in parts': (w) => w.unread.spec,
  'a part of a member': (w) => w.parts.a,
  list: (w) => w.store.list(),
  listKeys: (w) => w.store.listKeys(),
  index: (w) => w.store.index('spec', w.told),
  byIndex: (w) => w.store.byIndex('mine', 'all'),
  indexKeys: (w) => w.store.indexKeys('mine', 'all'),
  listIndexFuncValues: (w) => w.store.listIndexFuncValues('mine'),
  addIndexers: (w) => w.store.addIndexers({ more: 'metadata.name', others: () => ['x', 'y'] }),
  'the version of the store': (w) => {
    w.store.exchange(w.coming, true);
    w.store.lastStoreSyncResourceVersion();
  },
  size: (w) => w.store.size(),
  settle: (w) => w.store.settle(),
  bytes: (w) => w.store.bytes(),
};

/** Calls on a cache whose indices are all paths. An index function would get every object. */
const byPath = new Set(['an event that moves no index']);

function worldFor(call: string): World {
  return new World(byPath.has(call) ? { spec: 'spec' } : indexers);
}

/** The calls of a poisoned cache. */
const later: Record<string, (world: World) => unknown> = {
  'a watch': (w) => w.decoder.frames(),
  'a list': (w) => w.decoder.page(),
  add: (w) => w.store.add(w.coming),
  'an event': (w) => w.store.exchange(w.newer, false),
  'add of a plain object': (w) => w.store.add(thing('plain', 9)),
  delete: (w) => w.store.delete(w.told),
  replace: (w) => w.store.replace([], ''),
  get: (w) => w.store.get(w.newer),
  getByKey: (w) => w.store.getByKey('n/told'),
  list: (w) => w.store.list(),
  listKeys: (w) => w.store.listKeys(),
  byIndex: (w) => w.store.byIndex('spec', '1'),
  indexKeys: (w) => w.store.indexKeys('spec', '1'),
  listIndexFuncValues: (w) => w.store.listIndexFuncValues('spec'),
  addIndexers: (w) => w.store.addIndexers({ late: 'spec' }),
  size: (w) => w.store.size(),
  bytes: (w) => w.store.bytes(),
};

function outcome(run: () => unknown): unknown {
  try {
    run();
    return undefined;
  } catch (error) {
    return error;
  }
}

function requirePoisoned(error: unknown, what: string): void {
  expect(error, what).toBeInstanceOf(CapstanError);
  expect((error as CapstanError).code, what).toBe('POISONED');
  expect((error as CapstanError).cause, what).toBeInstanceOf(WebAssembly.RuntimeError);
}

test('after a trap at any export each call throws POISONED, and other caches go on', () => {
  const neighbour = new World();
  const all = new Set<string>();
  const failures: string[] = [];
  let pairs = 0;
  for (const [name, call] of Object.entries(calls)) {
    const world = worldFor(name);
    reached = new Set();
    outcome(() => call(world));
    for (const each of [...reached]) {
      all.add(each);
      pairs++;
      const what = `${each} in ${name}`;
      try {
        trapIn(what, each, name);
        expect(JSON.stringify(neighbour.store.getByKey('n/told')), what).toBe(
          JSON.stringify(thing('told', 1)),
        );
      } catch (error) {
        armed = undefined;
        failures.push(`${what}: ${(error as Error).message.split('\n')[0]}`);
      }
    }
  }
  console.log(
    `test/cache/bytes/traps.test.ts: ${pairs} traps in ${Object.keys(calls).length} calls`,
  );
  expect(failures).toEqual([]);
  expect(pairs).toBeGreaterThan(150);
  expect([...everyExport].filter((name) => !all.has(name)).sort()).toEqual(
    Object.keys(UNREACHED).sort(),
  );
});

function trapIn(what: string, name: string, call: string): void {
  const world = worldFor(call);
  armed = name;
  const error = outcome(() => calls[call]?.(world));
  expect(armed, `${what}: reached`).toBeUndefined();
  requirePoisoned(error, what);
  if (call === 'a new cache') {
    expect(world.store.size(), what).toBe(3);
    return;
  }
  for (const [next, use] of Object.entries(later))
    requirePoisoned(
      outcome(() => use(world)),
      `${what}: later ${next}`,
    );
  // An object that has left the core may be read; reading one that is still there throws POISONED.
  const read = outcome(() => expect(world.listed[1]?.spec).toBe(4));
  if (read !== undefined) requirePoisoned(read, `${what}: a member`);
}
