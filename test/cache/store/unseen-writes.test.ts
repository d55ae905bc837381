/**
 * What is remembered of objects that this process wrote and the cache has not shown: when one of
 * them is given as gone, and when not.
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

/** A cache of which a test says what it takes over. */
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
    /** How often its version was asked for. */
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
    },
  };
}

describe('an object that was written', () => {
  test('and was gone before the cache could show it is given once, in the state that was written', () => {
    const { unseen, told, list } = cacheWith();
    list('5');
    const made = object('a', '7');
    unseen.wrote(made);
    // the program may change the answer that it got
    (made.data as Record<string, string>).of = 'something else';
    list('9');
    list('10');
    expect(told).toEqual(['default/a 7 a']);
    expect(unseen.size()).toBe(0);
  });

  // An absent field was taken for an empty text: to a server it may be "false", or "0", or not a
  // path at all. In doubt the object may be there and not be selected, which is no deletion.
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
  ])('is given where the cache is to have it: %s is %s', (fieldSelector, given) => {
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

  test('is given as well where it went before the first list', () => {
    const { unseen, told, list } = cacheWith();
    unseen.wrote(object('a', '7'));
    list('9');
    expect(told).toEqual(['default/a 7 a']);
  });

  test('is not given where an event or the list has shown it, nor where the list is older', () => {
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

  test('is given where one of its name that the cache did show had to go for it', () => {
    const { unseen, told, event, list } = cacheWith();
    list('5');
    event('shown', object('a', '6', 'before'));
    unseen.wrote(object('a', '8', 'mine'));
    list('9');
    expect(told).toEqual(['default/a 8 a']);
  });

  test('is not kept where the cache has it, though it may not keep uids', () => {
    const { unseen, event, list } = cacheWith();
    list('5');
    event('shown', object('a', '6'));
    unseen.wrote(object('a', '7'));
    event('shown', { metadata: { namespace: 'default', name: 'b', resourceVersion: '8' } });
    unseen.wrote(object('b', '9'));
    expect(unseen.size()).toBe(0);
  });

  test('is given in its newest state, whatever is answered last', () => {
    const { unseen, told, list } = cacheWith();
    list('5');
    for (const version of ['6', '8', '7']) unseen.wrote(object('a', version));
    list('9');
    expect(told).toEqual(['default/a 8 a']);
  });
});

describe('an answer that comes after the list', () => {
  /** Somebody has written before: from then on deletions are noted. */
  function writing() {
    const cache = cacheWith();
    cache.list('5');
    cache.unseen.wrote(object('first', '6'));
    cache.event('shown', object('first', '6'));
    return cache;
  }

  test('is given at once where nothing could have shown the object, and once', () => {
    const { unseen, told, list } = writing();
    list('9', object('first', '6'));
    unseen.wrote(object('a', '7'));
    unseen.wrote(object('a', '8')); // the answer to another write
    unseen.wrote(object('b', '9'));
    expect(told).toEqual(['default/a 7 a', 'default/b 9 b']);
    expect(unseen.size()).toBe(0);
  });

  test('is not given where it was at the list', () => {
    const { unseen, told, list } = writing();
    unseen.wrote(object('a', '7'));
    list('9', object('first', '6'));
    unseen.wrote(object('a', '8'));
    expect(told).toEqual(['default/a 7 a']);
  });

  // An operator that removes the last finalizer of an object while it is starting: the answer has
  // the object's old version, and the event of the deletion may come first.
  test('is not where the list has shown the object and an event that it went', () => {
    const { unseen, told, event, list } = writing();
    list('9', object('a', '8'));
    event('gone', object('a', '10'));
    unseen.wrote(object('a', '8'));
    expect(told).toEqual([]);
  });

  test('is not where the list has given a tombstone of it', () => {
    const { unseen, told, event, list } = writing();
    event('shown', object('a', '7'));
    list('9', object('first', '6'));
    unseen.wrote(object('a', '8')); // a change of what was shown, which somebody deleted after it
    expect(told).toEqual([]);
  });

  test('is not where an event has shown it, or the list does', () => {
    const { unseen, told, event, list } = writing();
    event('shown', object('a', '7'));
    event('gone', object('a', '8'));
    unseen.wrote(object('a', '7'));
    list('10', object('b', '9'));
    unseen.wrote(object('b', '9'));
    unseen.wrote(object('a', '7'));
    expect(told).toEqual([]);
  });

  // That was another gap: of this one nothing has been told.
  test('is given where an object of its name was told as gone before that list', () => {
    const { unseen, told, event, list } = writing();
    event('shown', object('a', '7'));
    event('gone', object('a', '8'));
    list('12');
    unseen.wrote(object('a', '10'));
    expect(told).toEqual(['default/a 10 a']);
  });

  test('is not where the list has shown another object of its name: to handlers that name is there', () => {
    const { unseen, told, list } = writing();
    list('9', object('a', '8', 'theirs'));
    unseen.wrote(object('a', '7', 'mine'));
    expect(told).toEqual([]);
  });

  test.each([
    [3, ['default/mine 8 mine']],
    [4, []],
  ])('and %i deletions is given as long as these are known, three here', (deletions, expected) => {
    const { unseen, told, event, list } = cacheWith({ max: 3 });
    list('5');
    unseen.wrote(object('first', '6'));
    const names = ['first', 'p', 'q', 'r'].slice(0, deletions);
    list('9', ...names.map((name) => object(name, '7')));
    for (const name of names) event('gone', object(name, '10'));
    unseen.wrote(object('mine', '8'));
    expect(told).toEqual(expected);
  });

  test('is not where nobody had written before, or too much went since: what was told then is not known', () => {
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

describe('what is kept', () => {
  test('goes through what objects of the cache go through', () => {
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
  ])('is given without %s, and frozen', (_, options, rest) => {
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

  test('is given with managedFields where the cache keeps them', () => {
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
  ])('is nothing that the cache is not meant to hold, by its %s', (_, selection) => {
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

  // A tweak added a selector of shards: objects of other shards were told as deleted at each
  // relist.
  test('is nothing where the cache is restricted by what is not known here', () => {
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

  test('is nothing where versions are not numbers, which is said once', () => {
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

  test('has a name', () => {
    const { unseen } = cacheWith();
    expect(() => unseen.wrote({})).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });

  test('is given up as the cache goes on, and bounded where it does not', () => {
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

  test('is bounded by its size too', () => {
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
  ])('is all of it up to the bound of %s; with one more a quarter goes', (_, options, bound) => {
    const { unseen } = cacheWith(options);
    for (let i = 100; i < 100 + bound; i++) unseen.wrote(object(`n${i}`, String(i)));
    expect(unseen.size()).toBe(bound);
    unseen.wrote(object('n999', '999'));
    expect(unseen.size()).toBe((bound * 3) / 4);
  });

  test('of one object written again and again is its last state, which takes its room once', () => {
    const { unseen, told, list } = cacheWith({ maxText: 10_000 });
    unseen.wrote(object('a', '1'));
    for (let i = 2; i <= 50; i++)
      unseen.wrote({ ...object('b', String(i)), ...{ spec: 'x'.repeat(2000) } });
    list('50');
    expect(told).toEqual(['default/a 1 a', 'default/b 50 b']);
  });

  test('of deletions that were told is bounded too, however many there are between two lists', () => {
    const adds = vi.spyOn(Set.prototype, 'add');
    onTestFinished(() => adds.mockRestore());
    const { unseen } = cacheWith({ max: 10 });
    unseen.wrote(object('first', '1'));
    for (let i = 0; i < 100; i++) unseen.deleted(object(`n${i}`, '2'));
    const told = (adds.mock.contexts as Set<unknown>[]).find((set) => set.has('default/n99'));
    expect(told?.size).toBeLessThanOrEqual(10);
  });

  // At the bound each write had all the others looked at: a hundred times dearer than the writes
  // before.
  test.each<[string, Partial<UnseenWritesOptions<Made>>, behind: number]>([
    ['so many', { max: 1000 }, 1e6],
    ['so many, of which the cache shows one for each', { max: 1000 }, 1000],
    ['so much text', { maxText: 100_000 }, 1e6],
  ])('costs no more once it is %s', (_, options, behind) => {
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
