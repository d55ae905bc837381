import {
  DeletedFinalStateUnknown,
  defineResource,
  deletionHandlingMetaNamespaceKeyFunc,
  type IndexSpec,
  metaNamespaceKeyFunc,
  splitMetaNamespaceKey,
} from 'capstan/cache';
import { describe, expect, test } from 'vitest';
import { pathIndexFunc } from '../../../bindings/base/json-path.ts';

const withCode = (code: string) => expect.objectContaining({ code });

describe('keys', () => {
  test('join namespace and name, and split again', () => {
    expect(metaNamespaceKeyFunc({ metadata: { namespace: 'ns', name: 'a' } })).toBe('ns/a');
    expect(metaNamespaceKeyFunc({ metadata: { name: 'a' } })).toBe('a');
    expect(metaNamespaceKeyFunc({ metadata: { namespace: '', name: '' } })).toBe('');
    expect(splitMetaNamespaceKey('ns/a')).toEqual({ namespace: 'ns', name: 'a' });
    expect(splitMetaNamespaceKey('a')).toEqual({ namespace: '', name: 'a' });
    expect(splitMetaNamespaceKey('/')).toEqual({ namespace: '', name: '' });
  });

  test('of tombstones are what they carry', () => {
    const tombstone = new DeletedFinalStateUnknown('ns/a', undefined);
    expect(deletionHandlingMetaNamespaceKeyFunc(tombstone)).toBe('ns/a');
    expect(() => metaNamespaceKeyFunc(tombstone)).toThrow(withCode('INVALID_ARGUMENT'));
  });

  test('that cannot be made or split are typed errors', () => {
    expect(() => splitMetaNamespaceKey('a/b/c')).toThrow(withCode('INVALID_KEY'));
    expect(() => splitMetaNamespaceKey(undefined as unknown as string)).toThrow(
      withCode('INVALID_ARGUMENT'),
    );
    for (const bad of [
      {},
      { metadata: null },
      { metadata: { name: 1 } },
      null,
      { metadata: { name: 'a', namespace: 1 } },
    ]) {
      expect(() => metaNamespaceKeyFunc(bad as object)).toThrow(withCode('INVALID_ARGUMENT'));
    }
  });
});

const good = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
};

describe('a path index', () => {
  const object = {
    metadata: {
      labels: { app: 'web', 'app.kubernetes.io/name': 'x' },
      ownerReferences: [{ uid: 'u1' }, { uid: 'u2' }, {}],
    },
    spec: {
      nodeName: '',
      replicas: 3,
      paused: false,
      none: null,
      ports: [80, 443],
      odd: { $ref: 'r', 'a[0]': 'b' },
    },
  };

  test.each([
    ['spec.nodeName', ['']],
    ['spec.replicas', ['3']],
    ['spec.paused', ['false']],
    ['spec.none', []],
    ['spec.missing.deeper', []],
    ['spec.ports', ['80', '443']],
    ['metadata.ownerReferences.uid', ['u1', 'u2']],
    ['metadata.labels', ['app=web', 'app.kubernetes.io/name=x']],
    ['metadata.labels.app\\.kubernetes\\.io/name', ['x']],
    ['__proto__', []],
    ['constructor.name', []],
    ['spec.ports.length', []],
    ['spec.odd.$ref', ['r']],
    ['spec.odd.a\\[0]', ['b']],
  ])('%s gives %j', (path, values) => {
    expect(pathIndexFunc(path)(object)).toEqual(values);
  });

  test('follows an own member named __proto__ and no other', () => {
    expect(pathIndexFunc('__proto__.a')(JSON.parse('{"__proto__":{"a":"b"}}'))).toEqual(['b']);
  });

  // Nested arrays were read by recursion: an object with 9000 levels, which an API server accepts,
  // was in no index, and each list of a cache by two fields failed.
  test('arrays count for their elements however deep they nest', () => {
    const nested = (text: string) =>
      JSON.parse(`{"a":${'[1,'.repeat(9990)}${text}${',3]'.repeat(9990)}}`);
    const threes = Array(9990).fill('3');
    expect(pathIndexFunc('a')(nested('[[],2]'))).toEqual([
      ...Array(9990).fill('1'),
      '2',
      ...threes,
    ]);
    expect(pathIndexFunc('a.b')(nested('{"b":[[2],3]}'))).toEqual(['2', '3']);
  });

  test.each(['', '.', 'a..b', 'a.'])('refuses the path %j', (path) => {
    expect(() => pathIndexFunc(path)).toThrow(withCode('INVALID_ARGUMENT'));
  });

  // As kubectl and selectable fields write them. They were accepted as member names and never
  // matched.
  test.each([
    'spec.containers[*].image',
    "metadata.labels['a']",
    '{.spec.x}',
    '$.spec.x',
    "$['spec']",
    '.spec.x',
  ])('refuses the JSONPath %j, and suggests a path', (path) => {
    const message = expect.stringContaining(
      'names joined by dots, such as "spec.containers.image"',
    );
    const refused = expect.objectContaining({ code: 'INVALID_ARGUMENT', message });
    expect(() => pathIndexFunc(path)).toThrow(refused);
    expect(() => defineResource<object>()({ ...good, indexers: { bad: path } })).toThrow(refused);
  });
});

describe('defineResource', () => {
  test('keeps its arguments and always has indexers', () => {
    expect(defineResource<object>()(good)).toEqual({ ...good, indexers: {} });
    const resource = defineResource<object>()({ ...good, indexers: { byNode: 'spec.nodeName' } });
    expect(resource.indexers.byNode).toBe('spec.nodeName');
  });

  test('refuses names that no server has', () => {
    for (const bad of [
      undefined,
      'deployments',
      { ...good, group: undefined },
      { ...good, version: '' },
      { ...good, version: 'apps/v1' },
      { ...good, kind: 7 },
      { ...good, plural: '' },
      { ...good, namespaced: 'yes' },
      { ...good, indexers: { bad: {} as IndexSpec<object> } },
      { ...good, indexers: { bad: '' } },
    ]) {
      expect(() => defineResource<object>()(bad as typeof good)).toThrow(
        withCode('INVALID_ARGUMENT'),
      );
    }
  });
});
