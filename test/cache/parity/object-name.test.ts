/**
 * Names, keys, and keys in place of objects. Counterparts of client-go's tests name their upstream
 * test.
 */
import {
  DeletedFinalStateUnknown,
  deletionHandlingMetaNamespaceKeyFunc,
  deletionHandlingObjectToName,
  ExplicitKey,
  Indexer,
  indexFuncToKeyFuncAdapter,
  type KubeObject,
  metaNamespaceKeyFunc,
  ObjectName,
  objectToName,
  parseObjectName,
} from 'capstan/cache';
import { describe, expect, test } from 'vitest';

const invalid = expect.objectContaining({ code: 'INVALID_ARGUMENT' });

describe('names and keys', () => {
  const pod: KubeObject = { metadata: { namespace: 'default', name: 'web' } };

  // TestDeletionHandlingObjectToName
  test('are the same from an object and from its tombstone', () => {
    const expected = objectToName(pod);
    expect(expected).toEqual(new ObjectName('default', 'web'));
    expect(deletionHandlingObjectToName(new DeletedFinalStateUnknown('default/web', pod))).toEqual(
      expected,
    );
    expect(deletionHandlingObjectToName(pod)).toEqual(expected);
    expect(() => deletionHandlingObjectToName(new DeletedFinalStateUnknown('a/b/c', pod))).toThrow(
      expect.objectContaining({ code: 'INVALID_KEY' }),
    );
    expect(() => objectToName({})).toThrow(invalid);
  });

  // TestDeletedObjectGetObjectName, TestDeletedObjectGetKey
  test('come from a tombstone without an object too', () => {
    const gone = new DeletedFinalStateUnknown<KubeObject>('default/web', undefined);
    expect(deletionHandlingObjectToName(gone)).toEqual(new ObjectName('default', 'web'));
    expect(deletionHandlingMetaNamespaceKeyFunc(gone)).toBe('default/web');
    expect(
      deletionHandlingObjectToName(new DeletedFinalStateUnknown<KubeObject>('', undefined)),
    ).toEqual(new ObjectName('', ''));
  });

  test('convert into each other and back (TestObjectNames)', () => {
    expect(String(new ObjectName('default', 'web'))).toBe(metaNamespaceKeyFunc(pod));
    expect(String(new ObjectName('', 'node-1'))).toBe('node-1');
    expect(parseObjectName('default/web')).toEqual(new ObjectName('default', 'web'));
    expect(parseObjectName('node-1')).toEqual(new ObjectName('', 'node-1'));
    expect(objectToName({ metadata: { name: 'node-1' } })).toEqual(new ObjectName('', 'node-1'));
    // every text of four characters out of these
    const chars = ['a', 'b', '/'];
    const texts = chars.flatMap((a) =>
      chars.flatMap((b) => chars.flatMap((c) => chars.map((d) => a + b + c + d))),
    );
    for (const text of texts) {
      const [first = '', second, ...more] = text.split('/');
      if (more.length > 0) {
        expect(() => parseObjectName(text), text).toThrow(
          expect.objectContaining({ code: 'INVALID_KEY' }),
        );
        continue;
      }
      const name = parseObjectName(text);
      expect(name, text).toEqual(
        second === undefined ? new ObjectName('', first) : new ObjectName(first, second),
      );
      expect(text.startsWith('/') ? `/${name}` : String(name)).toBe(text);
    }
  });

  test('replace an object as an ExplicitKey', () => {
    const key = new ExplicitKey('default/web');
    expect([metaNamespaceKeyFunc(key), String(key)]).toEqual(['default/web', 'default/web']);
    const store = new Indexer<KubeObject>();
    store.add(pod);
    expect(store.get(key as KubeObject)).toBe(pod);
  });

  test('are computed from an index with one value for each object', () => {
    const keyFunc = indexFuncToKeyFuncAdapter<{ val: string }>(({ val }) =>
      val === '' ? [] : val.split(','),
    );
    expect(keyFunc({ val: 'a' })).toBe('a');
    for (const val of ['', 'a,b']) expect(() => keyFunc({ val })).toThrow(invalid);
  });
});
