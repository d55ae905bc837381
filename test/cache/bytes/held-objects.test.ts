/** An object that a user holds does not change, even if the store replaces or deletes it. */
import { expect, test } from 'vitest';
import { CapstanError } from '../../../bindings/base/errors.ts';
import { LazyChange } from '../../../bindings/cache/bytes/change.ts';
import { nameOfStored, storedObjectOf, toObject } from '../../../bindings/cache/bytes/lazy.ts';
import type { StoredObject } from '../../../bindings/cache/bytes/stored-object.ts';
import { DeletedFinalStateUnknown, ExplicitKey } from '../../../bindings/cache/rest/keys.ts';
import { ByteStore, type Thing, thing } from '../../helpers/cache/byte-store.ts';

// A list returned a stored object again, and the informer had no handler. The store concluded that
// no user held the object, and freed its bytes at the next update. A program that had got the
// object by its key before got an error of JSON.parse from its members.
test('a requested object stays readable after a relist without handlers', () => {
  const world = new ByteStore();
  world.store.exchange(world.object(thing('a', 1)), false);
  const held = world.store.getByKey('n/a');
  world.decoder.gather(true);
  const [again] = world.items(thing('a', 1));
  world.store.exchange(again as Thing, true);
  world.decoder.gather(false);
  world.store.settle();
  for (let version = 2; version < 5; version++)
    world.store.exchange(world.object(thing('a', version)), true);
  expect(JSON.stringify(held)).toBe(JSON.stringify(thing('a', 1)));
});

// An object arrived while the informer had no handler. A later list returned it again, and handlers
// were notified, but the store still did not count it as handed out.
test('a notified object of a list stays readable if it came without handlers', () => {
  const world = new ByteStore();
  world.store.exchange(world.object(thing('a', 1)), true);
  const newer = world.object(thing('a', 2));
  world.decoder.gather(true);
  const [told] = world.items(thing('a', 1)); // from a replica that lags behind
  world.decoder.gather(false);
  world.store.exchange(newer, true);
  world.store.replace([told as Thing], '9');
  for (let version = 3; version < 5; version++)
    world.store.exchange(world.object(thing('a', version)), true);
  expect(JSON.stringify(told)).toBe(JSON.stringify(thing('a', 1)));
});

// The store reads its resourceVersion from the object of the last event. If a tombstone or a key
// removed that object before it was handed out, its bytes had been freed.
test.each([
  ['a tombstone', new DeletedFinalStateUnknown<Thing>('n/a', undefined as unknown as Thing)],
  ['a key', new ExplicitKey('n/a') as unknown as Thing],
])('a store knows its version when %s has removed the object that brought it', (_, removed) => {
  const world = new ByteStore();
  world.store.exchange(world.object(thing('a', 7)), true);
  world.store.delete(removed);
  expect([world.store.size(), world.store.lastStoreSyncResourceVersion()]).toEqual([0, '7']);
  world.store.exchange(world.object(thing('a', 8)), true);
  expect(world.store.lastStoreSyncResourceVersion()).toBe('8');
});

// A list ran out of memory, and so did the attempt to restore the previous content. The store then
// read its resourceVersion from freed bytes. An informer reads it before each list, and could never
// list again.
test('a store keeps its version after a list that failed and could not be undone', () => {
  const world = new ByteStore({}, true);
  world.store.exchange(world.object(thing('a', 7)), true);
  world.decoder.gather(true);
  const list = world.items(thing('b', 8));
  world.decoder.gather(false);
  const { storedObjects } = world.decoder;
  const { ready } = storedObjects;
  storedObjects.ready = () => {
    throw new Error('no room');
  };
  expect(() => world.store.replace(list, '9')).toThrow('no room');
  storedObjects.ready = ready;
  world.store.settle();
  expect([world.store.size(), world.store.lastStoreSyncResourceVersion()]).toEqual([0, '7']);
});

// A relist that begins while an event waits discards the staged object of the event. The object was
// then created twice, once for the store and once for the handlers.
test('handlers and readers get one object, also if it left the core before it was stored', () => {
  const world = new ByteStore({}, true);
  const given = world.object(thing('a', 1));
  world.store.settle();
  world.store.exchange(given, false);
  expect(world.store.getByKey('n/a')).toBe(toObject(given));
});

// Versions of one object share what was read of its name. An object without a namespace that calls
// itself `n/a` has the key of `a` in `n`, and was taken for that one.
test('an object that replaces another one with the same key has its own name', () => {
  const world = new ByteStore();
  const inNamespace = thing('a', 1);
  const { namespace: _, ...metadata } = thing('n/a', 2).metadata;
  const named = (of: Thing): unknown => {
    const object = world.object(of);
    world.store.exchange(object, false);
    return nameOfStored(storedObjectOf(object) as StoredObject);
  };
  const first = named(inNamespace);
  expect(first).toEqual({ namespace: 'n', name: 'a' });
  expect(named({ ...inNamespace, spec: 'other' })).toBe(first);
  expect(named({ ...inNamespace, metadata })).toEqual({ namespace: '', name: 'n/a' });
  expect(named(thing('a', 3))).toEqual({ namespace: 'n', name: 'a' });
  expect(world.store.size()).toBe(1);
});

test.each([
  ['a number', '"namespace":"n","resourceVersion":5', { namespace: 'n', resourceVersion: 5 }],
  [
    'written with an escape',
    '"namespace":"n","resourceVersion":"\\u0035"',
    { namespace: 'n', resourceVersion: '5' },
  ],
  [
    'beside a namespace that is null',
    '"namespace":null,"resourceVersion":"5"',
    { namespace: null, resourceVersion: '5' },
  ],
  ['absent', '"namespace":"n"', { namespace: 'n' }],
])('metadata are what the event says where its version is %s', (_, json, expected) => {
  const world = new ByteStore({}, true);
  const given = world.object(
    `{"apiVersion":"v1","kind":"Thing","metadata":{"name":"a",${json}},"spec":1}`,
  );
  for (const isNamed of [false, true]) {
    const version = storedObjectOf(given); // undefined if the object was decoded whole
    if (isNamed && version !== undefined) nameOfStored(version);
    world.store.exchange(given, false);
    expect({ ...toObject(given).metadata }).toEqual({ name: 'a', ...expected });
    expect(world.store.lastStoreSyncResourceVersion()).toEqual(
      JSON.parse(`{${json}}`).resourceVersion ?? '',
    );
  }
  world.store.exchange(world.object(thing('a', 6)), false); // so that it has left the core
  expect({ ...toObject(given).metadata }).toEqual({ name: 'a', ...expected });
});

// The accessor of a member reads the bytes of its `this`. A Proxy, or an object with copied
// accessors, has no bytes: each of its members was read as `undefined`, although it had a value.
test('reading a member through a Proxy or a copied accessor is an error', () => {
  const object = new ByteStore().object(thing('a', 1, { x: 1 }));
  const copied: Thing = Object.defineProperties(
    {} as Thing,
    Object.getOwnPropertyDescriptors(object),
  );
  for (const other of [new Proxy(object, {}), copied]) {
    expect(() => other.spec).toThrow(CapstanError);
    expect(other.kind).toBe('Thing');
  }
  expect(Object.create(object).spec).toEqual({ x: 1 });
  expect({ ...object }.spec).toEqual({ x: 1 });
});

// A list reuses stored objects. If it had a stored object, then another one with the same key, and
// then the first again, the first had left the core, and the list failed because it found no key.
test('a list with an object, another of its key and the first again keeps the first', () => {
  const world = new ByteStore({ node: 'spec' });
  world.store.add(world.object(thing('a', 1, 'x')));
  world.decoder.gather(true);
  const list = world.items(thing('a', 1, 'x'), thing('a', 2, 'y'), thing('a', 1, 'x'));
  world.decoder.gather(false);
  world.store.delete(new DeletedFinalStateUnknown<Thing>('n/a', undefined));
  world.store.replace(list, '9');
  expect(world.content(['node'])).toEqual({
    size: 1,
    objects: [['n/a', JSON.stringify(thing('a', 1, 'x'))]],
    byIndex: [[['x', ['n/a']]]],
  });
});

// Each cache numbers its objects. An object of another cache with the number of the replaced one
// was taken for it, so the change bits said that nothing had changed, although the two objects had
// never been compared.
test('a change from an object of another cache is found by comparing both', () => {
  const [here, there] = [new ByteStore(), new ByteStore()];
  here.store.exchange(here.object(thing('a', 1, 'same')), false);
  const now = here.object(thing('a', 2, 'same'));
  const old = here.store.exchange(now, false) as Thing;
  expect(new LazyChange(old, now).spec).toBe(false);
  expect(new LazyChange(there.object(thing('a', 1, 'other')), now).spec).toBe(true);
});

// The informer had no handler, but an index function of the user had kept the object. After the
// next update its members threw an error of JSON.parse.
test('an object that an index function has got stays readable without handlers', () => {
  const seen: Thing[] = [];
  const index = (object: Thing): string[] => {
    seen.push(object);
    return [];
  };
  const world = new ByteStore({ seen: index });
  for (let version = 1; version < 5; version++)
    world.store.exchange(world.object(thing('a', version)), true);
  expect(seen.map((object) => JSON.stringify(object))).toEqual(
    [1, 2, 3, 4].map((n) => JSON.stringify(thing('a', n))),
  );
});

// A caller that deletes an object holds it. The same object was stored again without handlers, and
// the store did not count it as handed out. It became unreadable when it was replaced.
test('the argument of delete stays readable when it is stored again without handlers', () => {
  const world = new ByteStore();
  const held = world.object(thing('a', 1));
  world.store.delete(held);
  world.store.exchange(held, true);
  world.store.exchange(world.object(thing('a', 2)), true);
  expect(JSON.stringify(held)).toBe(JSON.stringify(thing('a', 1)));
});

// After an event that changed an index value, the cache returned another object than the one that
// the handler had got.
test('the notified object is the one that the cache returns right after', () => {
  const world = new ByteStore({ spec: 'spec' });
  for (const spec of ['a', 'a', 'b']) {
    const told = world.object(thing('x', 1, spec));
    world.store.exchange(told, false);
    expect(world.store.getByKey('n/x')).toBe(told);
  }
});

// Text is copied out of the core in one of two ways: of ASCII objects, and of others. An update is
// not scanned for non-ASCII text where its bytes are those of the stored object.
test('non-ASCII text that an update shares with the stored object stays right', () => {
  const world = new ByteStore();
  const of = (version: number, spec: unknown, status: unknown): Thing => ({
    ...thing('a', version, spec),
    status,
  });
  const [plain, other] = [{ n: 'node-1' }, { n: 'é 日本 😀' }];
  for (const [spec, status] of [
    [plain, plain],
    [other, plain],
    [plain, other],
  ]) {
    const wanted = [1, 2, 3].map((version) => of(version, spec, status));
    const held = wanted.map((each) => {
      const object = world.object(each);
      world.store.update(object);
      return object;
    });
    world.store.settle();
    expect(held).toStrictEqual(wanted);
  }
});
