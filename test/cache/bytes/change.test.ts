import { describe, expect, test } from 'vitest';
import { type Change, LazyChange } from '../../../bindings/cache/bytes/change.ts';

const parts = [
  'generation',
  'labels',
  'annotations',
  'spec',
  'status',
  'metadata',
  'deletion',
] as const;

function changed(old: object, now: object): (keyof Change)[] {
  const change = new LazyChange(old, now);
  return parts.filter((part) => change[part]);
}

const pod = {
  metadata: {
    name: 'a',
    resourceVersion: '1',
    generation: 1,
    labels: { a: '1', b: '2' },
    annotations: { c: '3' },
    managedFields: [{ manager: 'kubectl' }],
    deletionTimestamp: undefined as string | undefined,
  },
  spec: { nodeName: 'n', ports: [{ port: 80 }], deep: { x: [1, 2, { y: null }] } },
  status: { phase: 'Running' },
};

const copy = (change: (object: typeof pod) => unknown): typeof pod => {
  const object = structuredClone(pod);
  object.metadata.resourceVersion = '2';
  change(object);
  return object;
};

describe('a change', () => {
  test.each<[string, (object: typeof pod) => unknown, (keyof Change)[]]>([
    ['only the version', () => undefined, []],
    ['managed fields', (o) => o.metadata.managedFields.push({ manager: 'x' }), []],
    [
      'labels in another order',
      (o) => Object.assign(o.metadata, { labels: { b: '2', a: '1' } }),
      [],
    ],
    ['a label', (o) => Object.assign(o.metadata.labels, { a: '9' }), ['labels', 'metadata']],
    [
      'an annotation less',
      (o) => Object.assign(o.metadata, { annotations: {} }),
      ['annotations', 'metadata'],
    ],
    [
      'the generation',
      (o) => Object.assign(o.metadata, { generation: 2 }),
      ['generation', 'metadata'],
    ],
    ['the spec, deep inside', (o) => Object.assign(o.spec.deep.x[2] as object, { y: 0 }), ['spec']],
    ['the spec, an array shorter', (o) => o.spec.ports.pop(), ['spec']],
    ['the status', (o) => Object.assign(o.status, { phase: 'Failed' }), ['status']],
    ['the status, absent', (o) => Reflect.deleteProperty(o, 'status'), ['status']],
    [
      'the deletion',
      (o) => Object.assign(o.metadata, { deletionTimestamp: '2026' }),
      ['metadata', 'deletion'],
    ],
  ])('%s', (_, change, want) => {
    expect(changed(pod, copy(change))).toEqual(want);
  });

  test('is none between an object and itself, and none where both lack everything', () => {
    expect(changed(pod, pod)).toEqual([]);
    expect(changed({}, {})).toEqual([]);
  });

  test('tells an own member __proto__ from an inherited one', () => {
    const labelled = (labels: string) => ({ metadata: { labels: JSON.parse(labels) } });
    expect(changed(labelled('{"__proto__":"a"}'), labelled('{"__proto__":"b"}'))).toEqual([
      'labels',
      'metadata',
    ]);
    expect(changed(labelled('{"__proto__":{}}'), labelled('{"x":{}}'))).toEqual([
      'labels',
      'metadata',
    ]);
  });

  test('says "may have changed" of what is too deep to compare', () => {
    const deep = () => JSON.parse(`{"spec":${'['.repeat(200_000)}${']'.repeat(200_000)}}`);
    expect(new LazyChange(deep(), deep()).spec).toBe(true);
  });

  test('compares a part once, and only when it is asked for', () => {
    let reads = 0;
    const counting = {
      get spec() {
        reads++;
        return {};
      },
    };
    const change = new LazyChange(counting, { spec: {} });
    expect(reads).toBe(0);
    expect([change.spec, change.spec]).toEqual([false, false]);
    expect(reads).toBe(1);
  });
});
