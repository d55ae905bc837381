/**
 * Unseen writes: when handlers get a tombstone for an object that this process wrote, and when not.
 */
import { DeletedFinalStateUnknown, type KubeObject } from 'capstan/cache';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { setErrorHandler } from '../../../bindings/base/handle-error.ts';
import {
  UnseenWrites,
  type UnseenWritesOptions,
} from '../../../bindings/cache/store/unseen-writes.ts';

type Made = KubeObject & { data?: Record<string, string> };

const object = (name: string, version: string, uid = `u-${name}`): Made => ({
  metadata: { namespace: 'default', name, resourceVersion: version, ...{ uid } },
  data: { of: name },
});

/** A cache whose content the test sets. */
const shown = { apiVersion: 'v1', kind: 'ConfigMap' };

function cacheWith(options: Partial<UnseenWritesOptions<Made>> = {}) {
  const objects = new Map<string, Made>();
  const told: string[] = [];
  let version = '';
  let asked = 0;
  const lastStoreSyncResourceVersion = (): string => {
    asked++;
    return version;
  };
  const unseen = new UnseenWrites<Made>(
    { getByKey: (key) => objects.get(key), lastStoreSyncResourceVersion },
    {
      selection: () => ({
        namespace: '',
        labelSelector: '',
        fieldSelector: '',
        metadataOnly: false,
      }),
      expected: shown,
      limits: {},
      transformer: (made) => made,
      onDeleted: ({ key, obj }) =>
        void told.push(`${key} ${obj?.metadata?.resourceVersion} ${obj?.data?.of}`),
      ...options,
    },
  );
  return {
    unseen,
    told,
    /** The number of reads of its version. */
    asked: () => asked,
    event(...[type, made]: ['shown' | 'gone', Made]): void {
      const key = `${made.metadata?.namespace}/${made.metadata?.name}`;
      version = made.metadata?.resourceVersion ?? '';
      if (type === 'shown') objects.set(key, made);
      else if (objects.delete(key)) unseen.deleted(made);
    },
    list(at: string, ...items: Made[]): void {
      const before = unseen.replacing();
      const listed = new Map(
        items.map((item) => [`${item.metadata?.namespace}/${item.metadata?.name}`, item]),
      );
      for (const [key, old] of objects)
        if (!listed.has(key)) unseen.deleted(new DeletedFinalStateUnknown(key, old));
      objects.clear();
      for (const [key, item] of listed) objects.set(key, item);
      version = at;
      unseen.replaced(before);
      unseen.notifyMissed();
    },
  };
}

describe('an object that was written', () => {
  test('and deleted before the cache had it gives one tombstone, with the written state', () => {
    const { unseen, told, list } = cacheWith();
    list('5');
    const made = object('a', '7');
    unseen.wrote(made);
    // the program may change the object that it got
    (made.data as Record<string, string>).of = 'something else';
    list('9');
    list('10');
    expect(told).toEqual(['default/a 7 a']);
    expect(unseen.size()).toBe(0);
  });

  // An absent field was treated as an empty string; for the server it may be "false", "0", or not a
  // path. The object may exist without being selected, which is not a deletion.
  test.each([
    ['spec.unschedulable=false', false],
    ['spec.unschedulable!=true', false],
    ['status.successful=0', false],
    ['source=me', false],
    ['name=a', false],
    ['spec.nodeName=', true],
    ['spec.nodeName=x', false],
    ['status.phase!=Succeeded', true],
    ['status.phase=Running', false],
    ['metadata.name=b', false],
    ['metadata.name=a', true],
  ])('gives a tombstone if the field selector %s selects it: %s', (fieldSelector, given) => {
    const selection = () => ({
      namespace: '',
      labelSelector: '',
      fieldSelector,
      metadataOnly: false,
    });
    const { unseen, told, list } = cacheWith({ selection });
    unseen.wrote(object('a', '7'));
    list('9');
    expect(told).toEqual(given ? ['default/a 7 a'] : []);
  });

  test('gives a tombstone also if it was deleted before the first list', () => {
    const { unseen, told, list } = cacheWith();
    unseen.wrote(object('a', '7'));
    list('9');
    expect(told).toEqual(['default/a 7 a']);
  });

  test('gives none if an event or the list had it, or if the list is older', () => {
    const { unseen, told, event, list } = cacheWith();
    list('5');
    for (const [name, version] of Object.entries({ byEvent: '6', byList: '8', later: '11' }))
      unseen.wrote(object(name, version));
    event('shown', object('byEvent', '6'));
    event('gone', object('byEvent', '7')); // handlers were told both
    list('10', object('byList', '9'));
    expect(told).toEqual([]);
    expect(unseen.size()).toBe(1);
    event('shown', object('later', '11'));
    list('12');
    expect(told).toEqual([]); // that is the ordinary tombstone's business
  });

  test('gives a tombstone if it replaced a cached object of its name', () => {
    const { unseen, told, event, list } = cacheWith();
    list('5');
    event('shown', object('a', '6', 'before'));
    unseen.wrote(object('a', '8', 'mine'));
    list('9');
    expect(told).toEqual(['default/a 8 a']);
  });

  test('is not remembered if the cache has it, even without uids', () => {
    const { unseen, event, list } = cacheWith();
    list('5');
    event('shown', object('a', '6'));
    unseen.wrote(object('a', '7'));
    event('shown', { metadata: { namespace: 'default', name: 'b', resourceVersion: '8' } });
    unseen.wrote(object('b', '9'));
    expect(unseen.size()).toBe(0);
  });

  test('gives its newest state, whatever the order of the answers', () => {
    const { unseen, told, list } = cacheWith();
    list('5');
    for (const version of ['6', '8', '7']) unseen.wrote(object('a', version));
    list('9');
    expect(told).toEqual(['default/a 8 a']);
  });
});

describe('an answer that comes after the list', () => {
  /** After a first write deletions are recorded. */
  function writing() {
    const cache = cacheWith();
    cache.list('5');
    cache.unseen.wrote(object('first', '6'));
    cache.event('shown', object('first', '6'));
    return cache;
  }

  test('gives a tombstone at once, and once, if the cache cannot have had the object', () => {
    const { unseen, told, list } = writing();
    list('9', object('first', '6'));
    unseen.wrote(object('a', '7'));
    unseen.wrote(object('a', '8')); // the answer to another write
    unseen.wrote(object('b', '9'));
    expect(told).toEqual(['default/a 7 a', 'default/b 9 b']);
    expect(unseen.size()).toBe(0);
  });

  test('gives none if the list had the object', () => {
    const { unseen, told, list } = writing();
    unseen.wrote(object('a', '7'));
    list('9', object('first', '6'));
    unseen.wrote(object('a', '8'));
    expect(told).toEqual(['default/a 7 a']);
  });

  // An operator removes the last finalizer of an object at its start: the answer has the object's
  // old version, and the deletion event may come first.
  test('gives none if the list had the object and an event deleted it', () => {
    const { unseen, told, event, list } = writing();
    list('9', object('a', '8'));
    event('gone', object('a', '10'));
    unseen.wrote(object('a', '8'));
    expect(told).toEqual([]);
  });

  test('gives none if the list gave a tombstone of it', () => {
    const { unseen, told, event, list } = writing();
    event('shown', object('a', '7'));
    list('9', object('first', '6'));
    unseen.wrote(object('a', '8')); // a change of what was shown, which somebody deleted after it
    expect(told).toEqual([]);
  });

  test('gives none if an event or the list had it', () => {
    const { unseen, told, event, list } = writing();
    event('shown', object('a', '7'));
    event('gone', object('a', '8'));
    unseen.wrote(object('a', '7'));
    list('10', object('b', '9'));
    unseen.wrote(object('b', '9'));
    unseen.wrote(object('a', '7'));
    expect(told).toEqual([]);
  });

  // That was another gap; in this one there was no deletion.
  test('gives a tombstone if an object of its name was deleted before that list', () => {
    const { unseen, told, event, list } = writing();
    event('shown', object('a', '7'));
    event('gone', object('a', '8'));
    list('12');
    unseen.wrote(object('a', '10'));
    expect(told).toEqual(['default/a 10 a']);
  });

  test('gives none if the list had another object of its name, which handlers have', () => {
    const { unseen, told, list } = writing();
    list('9', object('a', '8', 'theirs'));
    unseen.wrote(object('a', '7', 'mine'));
    expect(told).toEqual([]);
  });

  test.each([
    [3, ['default/mine 8 mine']],
    [4, []],
  ])(
    'after %i deletions gives a tombstone while these are recorded, at most three here',
    (deletions, expected) => {
      const { unseen, told, event, list } = cacheWith({ max: 3 });
      list('5');
      unseen.wrote(object('first', '6'));
      const names = ['first', 'p', 'q', 'r'].slice(0, deletions);
      list('9', ...names.map((name) => object(name, '7')));
      for (const name of names) event('gone', object(name, '10'));
      unseen.wrote(object('mine', '8'));
      expect(told).toEqual(expected);
    },
  );

  test('gives none if it is the first write, or after too many deletions', () => {
    const { unseen, told, list } = cacheWith();
    list('9');
    unseen.wrote(object('a', '7'));
    expect(told).toEqual([]);
    const other = cacheWith({ max: 3 });
    other.unseen.wrote(object('first', '1'));
    other.list('9', ...['p', 'q', 'r', 's'].map((name) => object(name, '2')));
    for (const name of ['p', 'q', 'r', 's']) other.event('gone', object(name, '10'));
    other.unseen.wrote(object('p', '2'));
    expect(other.told).toEqual(['default/first 1 first']);
  });
});

describe('a remembered write', () => {
  test('is trimmed and transformed as objects of the cache', () => {
    const gone: unknown[] = [];
    const { unseen, list } = cacheWith({
      transformer: ({ data: _, ...rest }) => Object.freeze(rest),
      onDeleted: (tombstone) => void gone.push(tombstone),
    });
    unseen.wrote(object('a', '7'));
    list('9');
    expect(gone).toEqual([
      new DeletedFinalStateUnknown('default/a', { ...shown, metadata: object('a', '7').metadata }),
    ]);
    expect(Object.isFrozen((gone[0] as { obj: object }).obj)).toBe(true);
  });

  test.each<[string, Partial<UnseenWritesOptions<Made>>, object]>([
    ['what the cache drops', { limits: { drop: ['data'] } }, {}],
    ['managedFields', {}, { data: { of: 'a' } }],
  ])('has no %s, and is frozen', (_, options, rest) => {
    const gone: DeletedFinalStateUnknown<Made>[] = [];
    const { unseen, list } = cacheWith({
      ...options,
      onDeleted: (tombstone) => void gone.push(tombstone),
    });
    const { metadata } = object('a', '7');
    unseen.wrote({
      ...object('a', '7'),
      metadata: { ...metadata, ...{ managedFields: [{ manager: 'me' }] } },
    });
    list('9');
    expect(gone[0]?.obj).toEqual({ ...shown, metadata, ...rest });
    expect(Object.isFrozen(gone[0]?.obj?.metadata)).toBe(true);
  });

  test('has managedFields if the cache keeps them', () => {
    const gone: unknown[] = [];
    const options = {
      limits: { keepManagedFields: true },
      onDeleted: (tombstone: unknown) => void gone.push(tombstone),
    };
    const { unseen, list } = cacheWith(options);
    const made = { metadata: { ...object('a', '7').metadata, managedFields: [{ manager: 'me' }] } };
    unseen.wrote(made);
    list('9');
    expect(gone).toEqual([new DeletedFinalStateUnknown('default/a', { ...shown, ...made })]);
  });

  test.each<[string, { namespace?: string; labelSelector?: string; fieldSelector?: string }]>([
    ['namespace', { namespace: 'other' }],
    ['labels', { labelSelector: 'app=web' }],
    ['fields', { fieldSelector: 'metadata.name!=a' }],
  ])('is dropped if the cache does not select it by its %s', (_, selection) => {
    const { unseen, told, list } = cacheWith({
      selection: () => ({
        namespace: '',
        labelSelector: '',
        fieldSelector: '',
        metadataOnly: false,
        ...selection,
      }),
    });
    unseen.wrote(object('a', '7'));
    expect(unseen.size()).toBe(0);
    list('9');
    expect(told).toEqual([]);
  });

  // A tweak added a shard selector: objects of other shards were notified as deleted at each
  // relist.
  test('is dropped if the cache has an unknown restriction', () => {
    const selection = () => ({
      namespace: '',
      labelSelector: '',
      fieldSelector: '',
      metadataOnly: false,
      isUnknown: true,
    });
    const { unseen, told, list } = cacheWith({ selection });
    list('5');
    unseen.wrote(object('a', '7'));
    list('9');
    unseen.wrote(object('b', '8'));
    expect(told).toEqual([]);
  });

  test('is dropped if versions are not numbers, which is reported once', () => {
    const said: string[] = [];
    const previous = setErrorHandler((error) => said.push((error as Error).message));
    const { unseen, told, list } = cacheWith();
    unseen.wrote(object('a', 'opaque'));
    unseen.wrote({ metadata: { namespace: 'default', name: 'b' } });
    list('9');
    unseen.wrote(object('c', '10'));
    unseen.wrote(object('a', 'opaque too'));
    list('opaque');
    setErrorHandler(previous);
    expect(told).toEqual([]);
    expect(said).toEqual([expect.stringContaining('no decimal numbers, as "opaque"')]);
  });

  test('needs a name', () => {
    const { unseen } = cacheWith();
    expect(() => unseen.wrote({})).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });

  test('is dropped once the cache has passed it, and their number is limited', () => {
    const { unseen, told, event, list } = cacheWith({ max: 100 });
    list('1');
    for (let i = 2; i <= 1000; i++) {
      unseen.wrote(object(`n${i}`, String(i)));
      event('shown', object(`n${i}`, String(i)));
    }
    expect(unseen.size()).toBeLessThanOrEqual(64);
    let largest = 0;
    for (let i = 1001; i <= 2000; i++) {
      unseen.wrote(object(`n${i}`, String(i)));
      largest = Math.max(largest, unseen.size());
    }
    expect(largest).toBe(100);
    list('2000');
    expect(told.length).toBeGreaterThanOrEqual(50);
    expect(told.at(-1)).toBe('default/n2000 2000 n2000');
  });

  test('is limited by size too', () => {
    const { unseen, told, list } = cacheWith({ maxText: 10_000 });
    for (let i = 1; i <= 50; i++)
      unseen.wrote({ ...object(`n${i}`, String(i)), ...{ spec: 'x'.repeat(2000) } });
    expect(unseen.size()).toBe(4);
    list('50');
    expect(told).toHaveLength(4);
  });

  test.each<[string, Partial<UnseenWritesOptions<Made>>, number]>([
    ['so many', { max: 128 }, 128],
    ['so much text', { maxText: 64 * JSON.stringify(object('n100', '100')).length }, 64],
  ])('is kept up to the limit of %s; one more drops a quarter', (_, options, bound) => {
    const { unseen } = cacheWith(options);
    for (let i = 100; i < 100 + bound; i++) unseen.wrote(object(`n${i}`, String(i)));
    expect(unseen.size()).toBe(bound);
    unseen.wrote(object('n999', '999'));
    expect(unseen.size()).toBe((bound * 3) / 4);
  });

  test('of an object that is written repeatedly is its last state, which counts once', () => {
    const { unseen, told, list } = cacheWith({ maxText: 10_000 });
    unseen.wrote(object('a', '1'));
    for (let i = 2; i <= 50; i++)
      unseen.wrote({ ...object('b', String(i)), ...{ spec: 'x'.repeat(2000) } });
    list('50');
    expect(told).toEqual(['default/a 1 a', 'default/b 50 b']);
  });

  test('is limited for recorded deletions too, however many there are between two lists', () => {
    const adds = vi.spyOn(Set.prototype, 'add');
    onTestFinished(() => adds.mockRestore());
    const { unseen } = cacheWith({ max: 10 });
    unseen.wrote(object('first', '1'));
    for (let i = 0; i < 100; i++) unseen.deleted(object(`n${i}`, '2'));
    const told = (adds.mock.contexts as Set<unknown>[]).find((set) => set.has('default/n99'));
    expect(told?.size).toBeLessThanOrEqual(10);
  });

  // At the limit each write iterated over all others: a hundred times slower than before.
  test.each<[string, Partial<UnseenWritesOptions<Made>>, behind: number]>([
    ['so many', { max: 1000 }, 1e6],
    ['so many, of which the cache shows one for each', { max: 1000 }, 1000],
    ['so much text', { maxText: 100_000 }, 1e6],
  ])('takes no more time once it is %s', (_, options, behind) => {
    const { unseen, event, asked } = cacheWith(options);
    const writes = 5000;
    for (let i = 1; i <= writes; i++) {
      unseen.wrote(object(`n${i}`, String(i)));
      if (i > behind) event('shown', object(`n${i - behind}`, String(i - behind)));
    }
    expect(unseen.size()).toBeGreaterThan(500);
    expect(asked()).toBeLessThan(8 * writes);
  });
});
