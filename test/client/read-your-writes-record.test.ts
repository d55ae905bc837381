/**
 * The record of a client's own writes, step by step: when a cache has caught up, in any order of
 * answers and events, and what it costs.
 */
import { describe, expect, test } from 'vitest';
import {
  type CacheView,
  isFullyDeleted,
  isLost,
  isMissing,
  type OwnWrite,
  OwnWrites,
  type WrittenObject,
} from '../../bindings/client/read-your-writes.ts';

const KEY = 'default/a';

/** A cache whose content the test sets. */
function view() {
  const objects = new Map<string, WrittenObject>();
  let progress = '';
  const cache: CacheView = { object: (key) => objects.get(key), progress: () => progress };
  return {
    cache,
    shows(
      uid: string,
      resourceVersion: string,
      more: WrittenObject['metadata'] = {},
      key = KEY,
    ): void {
      objects.set(key, { metadata: { uid, resourceVersion, ...more } });
      progress = resourceVersion;
    },
    showsNone(version: string, key = KEY): void {
      objects.delete(key);
      progress = version;
    },
  };
}

const write = (
  uid: string | undefined,
  version: string | undefined,
  state: OwnWrite['state'] = 'there',
  key = KEY,
) => ({
  namespace: 'default',
  ...{ key, uid, version, state },
  expected: true,
});

describe('a write', () => {
  test('is waited for until the object has that version or a newer one', () => {
    const [writes, { cache, shows }] = [new OwnWrites(), view()];
    shows('u', '9');
    writes.add(write('u', '10'), cache);
    expect(writes.missing(cache, KEY).now).toHaveLength(1);
    expect(writes.missingIn(cache, 'default').now).toHaveLength(1);
    expect(writes.missingIn(cache, '').now).toHaveLength(1);
    expect(writes.missingIn(cache, 'other').now).toEqual([]);
    expect(writes.missing(cache, 'default/b').now).toEqual([]);
    shows('u', '11');
    expect(writes.missing(cache, KEY).now).toEqual([]);
    expect(writes.isEmpty()).toBe(true);
  });

  // Any later version proves a deletion, but not a create beside it, whichever was answered first.
  test('is a lost deletion only while nothing else is known of its name', () => {
    const [writes, { cache, shows }] = [new OwnWrites(), view()];
    const lost = () => writes.missing(cache, KEY).all.map((each) => isLost(cache, each));
    const [made, deleted] = [write('new', '20'), write('old', undefined, 'gone')];
    writes.add(deleted, cache);
    expect(lost()).toEqual([true]);
    shows('old', '9');
    expect(lost()).toEqual([true]);
    shows('other', '10');
    expect(lost()).toEqual([false]);
    for (const order of [
      [made, deleted],
      [deleted, made],
    ]) {
      const both = new OwnWrites();
      for (const each of order) both.add(each, undefined);
      expect(both.missing(view().cache, KEY).all.map((each) => isLost(view().cache, each))).toEqual(
        [false],
      );
    }
  });

  test('is not recorded if the cache has it already', () => {
    const [writes, { cache, shows }] = [new OwnWrites(), view()];
    for (const version of ['10', 'opaque']) {
      shows('u', version);
      writes.add(write('u', version), cache);
    }
    expect(writes.isEmpty()).toBe(true);
  });

  // They were not recorded: a read returned the old state without a warning.
  test('at a version that is no number is awaited until the cache has it', () => {
    const [writes, { cache, shows }] = [new OwnWrites(), view()];
    shows('u', 'v1');
    writes.add(write('u', 'v3'), cache);
    const now = () => writes.missing(cache, KEY).now.map(({ version }) => version);
    expect(now()).toEqual(['v3']);
    shows('u', 'v2');
    expect(now()).toEqual(['v3']);
    shows('u', 'v3');
    expect([now(), writes.isEmpty()]).toEqual([[], true]);
  });

  test("at a version that is no number is replaced by the server's current one", () => {
    const [writes, { cache, shows }] = [new OwnWrites(), view()];
    writes.add(write('u', 'v3'), cache);
    shows('u', 'v4');
    const [waited] = writes.missing(cache, KEY).now as [OwnWrite];
    writes.resolve(waited, {
      object: { metadata: { uid: 'u', resourceVersion: 'v4' } },
      version: 'v9',
    });
    expect(writes.missing(cache, KEY).now).toEqual([]);
    expect(writes.isEmpty()).toBe(true);
  });

  test('that deleted, at a version that is no number, ends with the object', () => {
    const [writes, { cache, shows, showsNone }] = [new OwnWrites(), view()];
    shows('u', 'v3');
    writes.add(write('u', 'v3', 'gone'), cache);
    expect(writes.missing(cache, KEY).now.length).toBe(1);
    showsNone('v4');
    expect([writes.missing(cache, KEY).now, writes.isEmpty()]).toEqual([[], true]);
    // An object of this name may have existed before: the reader asks the server.
    writes.add(write('u', 'v5', 'gone'), cache);
    expect(writes.missing(cache, KEY).now).toEqual([]);
    shows('other', 'v4');
    expect(writes.missing(cache, KEY).unknown.length).toBe(1);
  });

  test('that the cache may not receive is looked up on the server until it does', () => {
    const [writes, { cache, shows }] = [new OwnWrites(), view()];
    writes.add({ ...write('u', '20'), unsure: true }, cache);
    const [asked] = writes.missing(cache, KEY).unknown as [OwnWrite];
    writes.resolve(asked, { object: undefined, version: '21' });
    expect(writes.missing(cache, KEY).now).toEqual([]);
    writes.add({ ...write('u', '22'), unsure: true }, cache);
    shows('u', '22');
    expect(writes.missing(cache, KEY).unknown).toEqual([]);
  });

  test('ends with the object itself if the cache does not report its version', () => {
    const writes = new OwnWrites();
    writes.add(write('u', '10'), undefined);
    const listed: CacheView = {
      object: () => ({ metadata: { uid: 'u', resourceVersion: '10' } }),
      progress: () => '',
    };
    expect(writes.missing(listed, KEY).all).toEqual([]);
  });

  test('compares versions of any length', () => {
    const [writes, { cache, shows }] = [new OwnWrites(), view()];
    shows('u', '99999999999999999999998');
    writes.add(write('u', '99999999999999999999999'), cache);
    expect(writes.missing(cache, KEY).now).toHaveLength(1);
  });

  test('that is answered after a newer one is ignored', () => {
    const [writes, { cache, shows }] = [new OwnWrites(), view()];
    shows('u', '9');
    writes.add(write('u', '12'), cache);
    writes.add(write('u', '11'), cache);
    shows('u', '11');
    expect(writes.missing(cache, KEY).now).toHaveLength(1);
  });

  test('ends when the cache is past it, even if the object is missing', () => {
    const [writes, { cache, showsNone }] = [new OwnWrites(), view()];
    writes.add(write('u', '10'), cache);
    showsNone('10');
    expect(writes.missing(cache, KEY).now).toEqual([]);
    expect(writes.isEmpty()).toBe(true);
  });
});

// Two writes to one name may be answered in either order, and either object may be the newer one.
describe('two writes to one name', () => {
  const left = (...each: ReturnType<typeof write>[]) => {
    const [writes, { cache }] = [new OwnWrites(), view()];
    for (const one of each) writes.add(one, undefined);
    return writes.missing(cache, KEY).all.map(({ version, state }) => [state, version]);
  };

  test('leave the newer of two objects', () => {
    expect(left(write('u', '9', 'gone'), write('v', '12'))).toEqual([['there', '12']]);
    expect(left(write('v', '12'), write('u', '9', 'gone'))).toEqual([['there', '12']]);
    expect(left(write(undefined, '9', 'gone'), write(undefined, '12'))).toEqual([['there', '12']]);
  });

  test('need a read of the server if one is a deletion at no known version', () => {
    expect(left(write('v', '12'), write('u', undefined, 'gone'))).toEqual([['there', undefined]]);
    expect(left(write(undefined, undefined, 'gone'), write(undefined, undefined))).toEqual([
      ['there', undefined],
    ]);
    expect(left(write('u', undefined, 'gone'), write('v', undefined, 'gone'))).toEqual([
      ['gone', undefined],
    ]);
  });

  test('leave nothing if the cache is past both', () => {
    const [writes, { cache, showsNone }] = [new OwnWrites(), view()];
    showsNone('10');
    writes.add(write('u', undefined, 'gone'), cache);
    writes.add(write('u', '10'), cache);
    expect(writes.isEmpty()).toBe(true);
  });

  test('do not restore the first with the outcome of the second', () => {
    const [writes, { cache }] = [new OwnWrites(), view()];
    writes.add(write('u', undefined, 'gone'), cache);
    const [first] = writes.missing(cache, KEY).unknown as [OwnWrite];
    writes.add(write('v', '30'), cache);
    writes.resolve(first, { object: undefined, version: '20' });
    writes.forget(first);
    expect(writes.missing(cache, KEY).unknown).toHaveLength(1);
  });
});

describe('a deletion', () => {
  test('is waited for until the object is gone, or is another', () => {
    const [writes, { cache, shows, showsNone }] = [new OwnWrites(), view()];
    shows('u', '9');
    writes.add(write('u', '9', 'gone'), cache);
    expect(writes.missing(cache, KEY).now).toHaveLength(1);
    shows('u', '10', { deletionTimestamp: 'now' });
    expect(writes.missing(cache, KEY).now).toHaveLength(1);
    showsNone('11');
    expect(writes.missing(cache, KEY).now).toEqual([]);
    writes.add(write('u', '9', 'gone'), cache);
    shows('v', '12');
    expect(writes.missing(cache, KEY).now).toEqual([]);
    expect(writes.isEmpty()).toBe(true);
  });

  test('ends with a newer object of the name, not with an older one', () => {
    const [writes, { cache, shows }] = [new OwnWrites(), view()];
    shows('u', '8');
    writes.add(write('u', '9', 'gone'), cache);
    shows('before', '7');
    expect(writes.missing(cache, KEY).now).toHaveLength(1);
    shows('after', '12');
    expect(writes.missing(cache, KEY).all).toEqual([]);
  });

  test('that a finalizer may hold is waited for until the object is marked', () => {
    const [writes, { cache, shows }] = [new OwnWrites(), view()];
    shows('u', '9');
    writes.add(write('u', '9', 'deleting'), cache);
    expect(writes.missing(cache, KEY).now).toHaveLength(1);
    shows('u', '10', { deletionTimestamp: 'now' });
    expect(writes.missing(cache, KEY).now).toEqual([]);
  });

  test('right after an unseen write is the newer of the two', () => {
    // The cache reports its version at the time of the deletion, which is older than the write's.
    const [writes, { cache, shows }] = [new OwnWrites(), view()];
    shows('u', '9');
    writes.add(write('u', '10'), cache);
    writes.add(write('u', '9', 'gone'), cache);
    shows('u', '10');
    expect(writes.missing(cache, KEY).now).toMatchObject([{ state: 'gone', version: '10' }]);
  });

  test('stays one when an earlier write is answered after it', () => {
    const [writes, { cache, shows }] = [new OwnWrites(), view()];
    shows('u', '9');
    writes.add(write('u', '9', 'gone'), cache);
    writes.add(write('u', '10'), cache);
    shows('u', '10');
    expect(writes.missing(cache, KEY).now).toMatchObject([{ state: 'gone' }]);
  });

  test('of an object that the cache will get is awaited once it has that', () => {
    const [writes, { cache, shows, showsNone }] = [new OwnWrites(), view()];
    showsNone('8');
    writes.add(write('u', '10'), cache);
    writes.add(write('u', undefined, 'gone'), cache);
    // A reader that waits for something else has to check this again.
    expect(writes.missing(cache, KEY)).toMatchObject({
      now: [],
      all: [{ version: '10', state: 'gone' }],
    });
    shows('u', '10');
    expect(writes.missing(cache, KEY).now).toHaveLength(1);
    showsNone('11');
    expect(writes.missing(cache, KEY)).toEqual({ all: [], now: [], unknown: [] });
  });

  test('at no known version needs a read of the server', () => {
    const [writes, { cache, shows }] = [new OwnWrites(), view()];
    shows('before', '9');
    writes.add(write('u', undefined, 'gone'), cache);
    expect(writes.missing(cache, KEY).now).toMatchObject([{ version: undefined }]);
    writes.add(write('other', '8'), cache);
    writes.add(write('v', undefined, 'gone'), cache);
    const [unknown] = writes.missing(cache, KEY).now as [OwnWrite];
    expect(unknown.version).toBeUndefined();
    // There is none, as of version 20: the one in the cache is older.
    const known = writes.resolve(unknown, { object: undefined, version: '20' });
    expect(writes.stillMissing(cache, [known]).now).toEqual([known]);
    shows('after', '21');
    expect(writes.missing(cache, KEY).now).toEqual([]);
  });

  test('at no known version is not waited for if server and cache agree', () => {
    const [writes, { cache, shows }] = [new OwnWrites(), view()];
    shows('after', '9');
    writes.add(write('u', undefined, 'gone'), cache);
    const [unknown] = writes.missing(cache, KEY).now as [OwnWrite];
    writes.resolve(unknown, {
      object: { metadata: { uid: 'after', resourceVersion: '9' } },
      version: '20',
    });
    expect(writes.missing(cache, KEY).now).toEqual([]);
    expect(writes.isEmpty()).toBe(true);
  });

  test("at no known version: the server's object is awaited like a write", () => {
    const asked = (now: { object: WrittenObject | undefined; version: string | undefined }) => {
      const [writes, { cache }] = [new OwnWrites(), view()];
      writes.add(write('u', undefined, 'gone'), cache);
      writes.resolve((writes.missing(cache, KEY).unknown as [OwnWrite])[0], now);
      return { writes, cache };
    };
    const none = asked({ object: undefined, version: '20' });
    expect(none.writes.missing(none.cache, KEY)).toMatchObject({
      now: [],
      all: [{ version: '20' }],
    });
    const after = asked({
      object: { metadata: { uid: 'after', resourceVersion: '12' } },
      version: '20',
    });
    after.writes.add(write('after', '11', 'gone'), after.cache);
    expect(after.writes.missing(after.cache, KEY).all).toMatchObject([
      { state: 'gone', version: '12' },
    ]);
    const opaque = asked({
      object: { metadata: { uid: 'after', resourceVersion: 'opaque' } },
      version: undefined,
    });
    expect(opaque.writes.missing(opaque.cache, KEY).now).toMatchObject([{ version: 'opaque' }]);
    const untold = asked({ object: undefined, version: undefined });
    expect(untold.writes.missing(untold.cache, KEY).now).toEqual([]);
  });

  test('counts as lost only at no known version, and where it is one', () => {
    const { cache } = view();
    const lost = (...each: Parameters<typeof write>) =>
      isLost(cache, { ...write(...each), late: false });
    expect([lost('u', undefined, 'gone'), lost('u', '9', 'gone'), lost('u', undefined)]).toEqual([
      true,
      false,
      false,
    ]);
  });

  // The cache may lag so far that an object of the name is from before the deleted one, and
  // versions do not tell.
  test('that is lost needs a read if the cache has another object', () => {
    const lost = () => {
      const [writes, shown] = [new OwnWrites(), view()];
      writes.add(write('u', undefined, 'gone'), shown.cache);
      const [unknown] = writes.missing(shown.cache, KEY).now as [OwnWrite];
      writes.resolve(unknown, { object: undefined, version: '20' }, 'lost');
      return { writes, ...shown, look: () => writes.missing(shown.cache, KEY) };
    };
    const other = lost();
    expect(other.look()).toMatchObject({ now: [], all: [{ state: 'lost' }] });
    other.shows('u', '9');
    expect(other.look().now.map((each) => isMissing(other.cache, each))).toEqual([true]);
    other.writes.add(write('u', '8'), other.cache);
    expect(other.look().now).toMatchObject([{ state: 'lost', version: '20' }]);
    other.shows('other', '11');
    const [asked] = other.look().unknown as [OwnWrite];
    other.writes.resolve(asked, {
      object: { metadata: { uid: 'other', resourceVersion: '12' } },
      version: '25',
    });
    expect(other.look().now.map((each) => isMissing(other.cache, each))).toEqual([true]);
    other.shows('other', '12');
    expect(other.look().all).toEqual([]);

    const own = lost();
    own.writes.add(write('mine', '15'), own.cache);
    expect(own.look().now).toMatchObject([{ version: undefined, state: 'there' }]);

    const quiet = lost();
    quiet.shows('other', '20');
    expect(quiet.look().all).toEqual([]);
  });

  test('is recognised by the answer', () => {
    const deletionTimestamp = 'now';
    expect(isFullyDeleted({ metadata: {} })).toBe(false);
    expect(isFullyDeleted({ metadata: { deletionTimestamp } })).toBe(true);
    expect(isFullyDeleted({ metadata: { deletionTimestamp, finalizers: ['f'] } })).toBe(false);
    expect(
      isFullyDeleted({ metadata: { deletionTimestamp, deletionGracePeriodSeconds: 30 } }),
    ).toBe(false);
    expect(isFullyDeleted({ metadata: { deletionTimestamp, deletionGracePeriodSeconds: 0 } })).toBe(
      true,
    );
  });

  // A terminating Namespace is held by its spec: counted as gone, each write to it made its readers
  // wait for five seconds.
  test("is not one if the spec still holds the object, as a Namespace's does", () => {
    const metadata = { deletionTimestamp: 'now' };
    expect(isFullyDeleted({ metadata, spec: { finalizers: ['kubernetes'] } })).toBe(false);
    for (const spec of [undefined, null, 'text', {}, { finalizers: [] }, { finalizers: 'none' }])
      expect(isFullyDeleted({ metadata, spec })).toBe(true);
  });
});

// Each apply that changed nothing made the next reader wait for five seconds again, while the watch
// was down.
test('a wait in vain also counts for a write that changes nothing', () => {
  const [writes, { cache, shows }] = [new OwnWrites(), view()];
  shows('u', '9');
  const late = () => writes.missing(cache, KEY).now.map((each) => each.late);
  writes.add(write('u', '10'), cache);
  for (const each of writes.missing(cache, KEY).now) each.late = true;
  writes.add(write('u', '10'), cache);
  writes.add(write('u', '9'), cache);
  expect(late()).toEqual([true]);
  writes.add(write('u', '10', 'deleting'), cache);
  expect(late()).toEqual([false]);
  for (const each of writes.missing(cache, KEY).now) each.late = true;
  writes.add(write('u', '11', 'deleting'), cache);
  expect(late()).toEqual([false]);
});

describe("the server's answer after a wait in vain", () => {
  test('ends the wait if the server is older than the write, as after a restore', () => {
    const [writes, { cache }] = [new OwnWrites(), view()];
    writes.add(write('u', '10'), cache);
    writes.learn(writes.missing(cache, KEY).now, { metadata: { uid: 'u', resourceVersion: '5' } });
    expect(writes.isEmpty()).toBe(true);
  });

  test('keeps the wait if others deleted the object', () => {
    const [writes, { cache, shows, showsNone }] = [new OwnWrites(), view()];
    writes.add(write('u', '10'), cache);
    writes.learn(writes.missing(cache, KEY).now, undefined);
    expect(writes.missing(cache, KEY).now).toEqual([]);
    shows('u', '9');
    expect(writes.missing(cache, KEY).now).toHaveLength(1);
    showsNone('11');
    expect(writes.missing(cache, KEY).now).toEqual([]);
    expect(writes.isEmpty()).toBe(true);
  });

  test.each(['gone', 'deleting'] as const)(
    'ends the wait for a deletion (%s) if the same object exists',
    (state) => {
      const [writes, { cache, shows }] = [new OwnWrites(), view()];
      shows('u', '9');
      writes.add(write('u', '9', state), cache);
      writes.learn(writes.missing(cache, KEY).now, {
        metadata: { uid: 'other', resourceVersion: '8' },
      });
      expect(writes.missing(cache, KEY).now).toHaveLength(1);
      writes.learn(writes.missing(cache, KEY).now, {
        metadata: { uid: 'u', resourceVersion: '10' },
      });
      expect(writes.isEmpty()).toBe(true);
    },
  );
});

describe('the record of writes', () => {
  test('is freed as the cache advances, also without a read', () => {
    const [writes, { cache, showsNone }] = [new OwnWrites(), view()];
    let most = 0;
    for (let i = 1; i <= 10_000; i++) {
      writes.add(write(`u${i}`, String(i), 'there', `default/${i}`), cache);
      if (i > 10) showsNone(String(i - 10), 'none'); // ten behind
      most = Math.max(most, writes.size());
    }
    expect(most).toBeLessThanOrEqual(64);
  });

  test('is bounded if the cache does not advance: all reads wait', () => {
    const [writes, { cache, showsNone }] = [new OwnWrites(100), view()];
    showsNone('0');
    for (let i = 1; i <= 1000; i++)
      writes.add(write(`u${i}`, String(i), 'there', `default/${i}`), cache);
    expect(writes.size()).toBeLessThanOrEqual(201);
    const { now } = writes.missing(cache, 'default/1');
    expect(now).toMatchObject([{ key: '' }]);
    const floor = Number(now[0]?.version);
    expect(floor).toBeGreaterThanOrEqual(800);
    showsNone(String(floor));
    expect(writes.missing(cache, 'default/1').now).toEqual([]);
    expect(writes.missing(cache, 'default/1000').now).toHaveLength(1);
  });

  test('is bounded while there is no cache', () => {
    const writes = new OwnWrites(100);
    for (let i = 1; i <= 1000; i++)
      writes.add(write(`u${i}`, String(i), 'there', `default/${i}`), undefined);
    expect(writes.size()).toBe(101);
  });

  const key = (name: string) => `default/${name}`;
  const floor = (writes: OwnWrites) =>
    writes.missing(view().cache, 'none').all.map((each) => each.version);

  test('is empty and affects no read until a write', () => {
    const writes = new OwnWrites();
    expect([writes.size(), writes.isEmpty(), writes.touches(key('a'))]).toEqual([0, true, false]);
    writes.add(write('u', '10', 'there', key('a')), undefined);
    expect([writes.size(), writes.isEmpty()]).toEqual([1, false]);
    expect([writes.touches(key('a')), writes.touches(key('b'))]).toEqual([true, false]);
  });

  test('beyond its bound affects every read until the cache has caught up', () => {
    const [writes, { cache, showsNone }] = [new OwnWrites(1), view()];
    for (const [name, version] of [
      ['a', '10'],
      ['b', '5'],
      ['c', '7'],
    ] as const)
      writes.add(write('u', version, 'there', key(name)), undefined);
    expect(floor(writes)).toEqual(['10']);
    showsNone('7');
    expect(writes.missing(cache, key('c')).now).toMatchObject([{ key: '', version: '10' }]);
    expect([writes.size(), writes.isEmpty(), writes.touches(key('d'))]).toEqual([1, false, true]);
    // The server's answer about one object says nothing about the others.
    for (const object of [undefined, { metadata: { uid: 'u', resourceVersion: '1' } }])
      writes.learn(writes.missing(cache, key('c')).now, object);
    expect(writes.missing(cache, key('c')).now).toHaveLength(1);
    showsNone('10');
    expect(writes.missing(cache, key('c')).all).toEqual([]);
    expect([writes.size(), writes.isEmpty(), writes.touches(key('d'))]).toEqual([0, true, false]);
  });

  test('beyond its bound forgets the oldest writes first, and asks for no unknown version', () => {
    const writes = new OwnWrites(2);
    writes.add(write('a', undefined, 'gone', key('a')), undefined);
    writes.add(write('b', '2', 'there', key('b')), undefined);
    writes.add(write('c', '3', 'there', key('c')), undefined);
    expect(floor(writes)).toEqual([]);
    writes.add(write('b', '4', 'there', key('b')), undefined);
    writes.add(write('d', '5', 'there', key('d')), undefined);
    expect(floor(writes)).toEqual(['3']);
  });
});
