/**
 * Reads from a cache that holds a part of a resource, by the options of its factory, for every form
 * of stored objects. controller-runtime: pkg/cache/cache_test.go.
 */
import {
  defineResource,
  type FactoryOptions,
  type Resource,
  type ResourceSelection,
} from 'capstan/cache';
import { isNotFound } from 'capstan/client';
import { describe, expect, test } from 'vitest';
import { cached } from '../helpers/client/clients.ts';
import { Namespaces } from '../helpers/resources.ts';

interface Pod {
  apiVersion?: string;
  kind?: string;
  metadata: { name: string; namespace: string; labels?: Record<string, string> };
  spec?: { containers: object[]; nodeName?: string };
}
const Pods = defineResource<Pod>()({
  ...{ group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true },
});

/** Six Pods in three namespaces; each has its name as a label, and two have another one. */
const PODS = [
  ['one', 'p1'],
  ['two', 'p2'],
  ['two', 'p3'],
  ['three', 'p4'],
  ['one', 'p5'],
  ['two', 'p6'],
] as const;
const ALL = PODS.map(([, name]) => name);

async function filled(factoryOptions: FactoryOptions) {
  const { client } = await cached({ factoryOptions });
  for (const [namespace, name] of PODS) {
    const labels = { name, ...(name === 'p3' || name === 'p4' ? { common: 'yes' } : {}) };
    await client.create(Pods, {
      metadata: { namespace, name, labels },
      spec: { containers: [{ name: 'c', image: 'i' }], ...(name === 'p4' && { nodeName: 'n' }) },
    });
  }
  return client;
}

const FORMS: [string, FactoryOptions, ResourceSelection][] = [
  ['bytes', {}, {}],
  ['objects', { keep: 'objects' }, {}],
  ['metadata alone', {}, { metadataOnly: true }],
];

const ofPods: [what: string, selection: ResourceSelection, expected: string[]][] = [
  ['nothing that restricts it', {}, ALL],
  ['a field that one has', { fieldSelector: 'metadata.name=p2' }, ['p2']],
  ['a field that several have', { fieldSelector: 'metadata.namespace=two' }, ['p2', 'p3', 'p6']],
  ['a field that none has', { fieldSelector: 'spec.nodeName=other' }, []],
  ['a label that one has', { labelSelector: 'name=p4' }, ['p4']],
  ['a label that several have', { labelSelector: 'common' }, ['p3', 'p4']],
  ['a label that none has', { labelSelector: 'name=none' }, []],
  ['a label and a field', { labelSelector: 'common', fieldSelector: 'spec.nodeName=n' }, ['p4']],
  ['a namespace', { namespace: 'one' }, ['p1', 'p5']],
  ['a namespace and a field', { namespace: 'two', fieldSelector: 'metadata.name=p3' }, ['p3']],
  [
    'a namespace and a field of another',
    { namespace: 'one', fieldSelector: 'metadata.name=p3' },
    [],
  ],
  ['a namespace and a label', { namespace: 'three', labelSelector: 'common' }, ['p4']],
  ['a namespace and a label of another', { namespace: 'one', labelSelector: 'common' }, []],
  ['several namespaces', { namespaces: ['one', 'three'] }, ['p1', 'p4', 'p5']],
  [
    'several namespaces and a label',
    { namespaces: ['one', 'two'], labelSelector: 'common' },
    ['p3'],
  ],
  ['all namespaces', { namespace: '' }, ALL],
];

describe.each(FORMS)('a cache of %s', (_, form, more) => {
  test.each(ofPods)(
    'restricted by %s has these Pods, and no others',
    async (_, selection, expected) => {
      const selections = new Map([[Pods, { ...selection, ...more }]]);
      const client = await filled({ ...form, selections });
      const { items } = await client.list(Pods);
      expect(items.map(({ metadata }) => metadata.name).sort()).toEqual(expected);
      const inside = (namespace: string) =>
        (selection.namespaces ?? [selection.namespace || namespace]).includes(namespace);
      for (const [namespace, name] of PODS.filter(([namespace]) => inside(namespace))) {
        const got = await client.get(Pods, { namespace, name }).catch((error: unknown) => error);
        if (expected.includes(name))
          expect(got).toBe(items.find((pod) => pod.metadata.name === name));
        else expect(isNotFound(got)).toBe(true);
      }
    },
  );
});

describe('a cache with a tweak of all requests', () => {
  test.each<[query: Record<string, string>, expected: string[]]>([
    [{ fieldSelector: 'metadata.name=p2' }, ['p2']],
    [{ fieldSelector: 'metadata.namespace=two' }, ['p2', 'p3', 'p6']],
    [{ fieldSelector: 'metadata.name=none' }, []],
    [{ labelSelector: 'name=p4' }, ['p4']],
    [{ labelSelector: 'common' }, ['p3', 'p4']],
    [{ labelSelector: 'name=none' }, []],
    [{ labelSelector: 'common', fieldSelector: 'metadata.namespace=three' }, ['p4']],
  ])('has what %j selects', async (query, expected) => {
    const tweakListOptions = (options: Record<string, string>) =>
      void Object.assign(options, query);
    const client = await filled({ tweakListOptions });
    const { items } = await client.list(Pods);
    expect(items.map(({ metadata }) => metadata.name).sort()).toEqual(expected);
  });
});

test.each(FORMS)(
  'of %s returns the objects of a transform: of all, or of one resource',
  async (_, form, more) => {
    const marked = (by: string) => (object: object) => {
      const { metadata, ...rest } = object as Pod;
      return { ...rest, metadata: { ...metadata, labels: { by } } };
    };
    const selections = new Map<Resource<never, string>, ResourceSelection>([
      [Pods, more],
      [Namespaces, more],
    ]);
    const perResource = new Map<Resource<never, string>, { transform: ReturnType<typeof marked> }>([
      [Namespaces, { transform: marked('one') }],
    ]);
    const keep = form.keep === undefined ? {} : { keep: form.keep };
    const client = await filled({ ...keep, selections, perResource, transform: marked('all') });
    await client.create(Namespaces, { metadata: { name: 'team' } });
    const pod = await client.get(Pods, { namespace: 'one', name: 'p1' });
    expect(pod.metadata.labels).toEqual({ by: 'all' });
    const team = await client.get(Namespaces, { name: 'team' });
    expect(team.metadata.labels).toEqual({ by: 'one' });
  },
);

test("the cache's namespaces apply to a resource with only a selector", async () => {
  const selections = new Map([[Pods, { labelSelector: 'common' }]]);
  const client = await filled({ namespaces: ['one', 'two'], selections });
  expect((await client.list(Pods)).items.map(({ metadata }) => metadata.name)).toEqual(['p3']);
});

test('namespaces restrict namespaced resources, selections cluster-scoped ones', async () => {
  const selections = new Map([[Namespaces, { fieldSelector: 'metadata.name=team' }]]);
  const client = await filled({ namespace: 'one', selections });
  for (const name of ['team', 'other']) await client.create(Namespaces, { metadata: { name } });
  const pods = (await client.list(Pods)).items.map(({ metadata }) => metadata.name);
  const namespaces = (await client.list(Namespaces)).items.map(({ metadata }) => metadata.name);
  expect([pods.sort(), namespaces]).toEqual([['p1', 'p5'], ['team']]);
});
