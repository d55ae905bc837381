/** Exchanges about collections: selectors, pages, versions, deletecollection. */
import type { Api, Collection, Query } from './api.ts';
import type { Exchange } from './exchange.ts';
import { configMaps, leases, secrets, widgets } from './resources.ts';

/** Creates `c0` … with the labels n (their number) and parity. */
async function fill(things: Collection, count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    const labels = { n: String(n), parity: n % 2 === 0 ? 'even' : 'odd' };
    await things.create(things.object(`c${n}`, { metadata: { labels } }));
  }
}

const SPARSE: Query[] = [
  { limit: '1', labelSelector: 'n=0' },
  { limit: '1', labelSelector: 'n=2' },
  { limit: '1', fieldSelector: 'metadata.name!=c2' },
  { limit: '2', fieldSelector: 'metadata.name!=c2' },
  { limit: '1', fieldSelector: 'metadata.name=c0' },
];

function selectors(parameter: 'labelSelector' | 'fieldSelector', values: readonly string[]) {
  return async (api: Api): Promise<void> => {
    for (const type of [configMaps, widgets]) {
      const things = api.of(type);
      await fill(things, 4);
      await things.create(things.object('bare'));
      for (const value of values) await things.list({ [parameter]: value });
    }
  };
}

export const lists: Exchange[] = [
  {
    name: 'an empty list has its kind, a version and no items',
    async run(api) {
      for (const type of [configMaps, secrets, leases, widgets]) await api.of(type).list();
    },
  },
  {
    name: 'a list is ordered by name',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        for (const name of ['b', 'a.b', 'c', 'a', 'a-b', 'a0', 'b1'])
          await things.create(things.object(name));
        await things.list();
      }
    },
  },
  {
    name: 'a label selector chooses',
    run: selectors('labelSelector', [
      '',
      'n=1',
      'n==1',
      'n!=1',
      'n in (1, 2)',
      'n notin (1,2)',
      'parity',
      '!parity',
      'parity=even,n!=0',
      'parity = even , n in (2)',
      'n>1',
      'n<2',
      'none=x',
      'none!=x',
      'parity in (),n=1',
      'n=',
    ]),
  },
  {
    name: 'a label selector that cannot be parsed is a bad request',
    run: selectors('labelSelector', [
      'n=(',
      'n in 1',
      '=',
      'n in (1',
      'n>x',
      'not a key=x',
      'n=not a value',
      'a,,b',
      ',',
    ]),
  },
  {
    name: 'a field selector chooses by name and namespace',
    run: selectors('fieldSelector', [
      '',
      'metadata.name=c1',
      'metadata.name==c1',
      'metadata.name!=c1',
      'metadata.name=c1,metadata.name=c2',
      'metadata.name!=c1,metadata.name!=c2',
      'metadata.name=none',
      'metadata.namespace=elsewhere',
      'metadata.namespace!=elsewhere',
      'metadata.name=',
      'metadata.name!=',
      '=',
      '==',
      '!=',
      '=,metadata.name=c1',
      '=x',
    ]),
  },
  {
    name: 'a field selector on another field or without syntax is a bad request',
    run: selectors('fieldSelector', [
      'spec.nodeName=x',
      'metadata.labels=x',
      'metadata.name',
      'x',
      'metadata.name>c1',
    ]),
  },
  {
    name: 'a list over all namespaces takes selectors',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        await things.create(things.object('one', { metadata: { labels: { in: api.namespace } } }));
        await things.create(things.object('two', { metadata: { labels: { in: api.namespace } } }));
        await api.everywhere(type).list({ labelSelector: `in=${api.namespace}` });
        await api.everywhere(type).list({ fieldSelector: `metadata.namespace=${api.namespace}` });
        await api
          .everywhere(type)
          .list({ fieldSelector: `metadata.namespace=${api.namespace},metadata.name=one` });
      }
    },
  },
  {
    name: 'an object is not created in all namespaces at once',
    async run(api) {
      const things = api.everywhere(configMaps);
      await things.create(things.object('one'));
      await things.create(things.object('one', { metadata: { namespace: api.namespace } }));
      await things.deleteAll();
    },
  },
  {
    name: 'pages follow each other and say what remains',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        await fill(things, 5);
        let next = (await things.list({ limit: '2' })).body.metadata.continue;
        while (next)
          next = (await things.list({ limit: '2', continue: next })).body.metadata.continue;
        await things.list({ limit: '5' });
        await things.list({ limit: '6' });
        await things.list({ limit: '0' });
      }
    },
  },
  {
    name: 'pages with a selector do not say what remains',
    async run(api) {
      const things = api.of(configMaps);
      await fill(things, 6);
      const even = { limit: '2', labelSelector: 'parity=even' };
      const { body } = await things.list(even);
      await things.list({ ...even, continue: body.metadata.continue ?? '' });
    },
  },
  {
    name: 'a full page can be followed by an empty one, when what remains does not match',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        await fill(things, 3);
        for (const query of SPARSE) {
          const { body } = await things.list(query);
          if (body.metadata.continue)
            await things.list({ ...query, continue: body.metadata.continue });
        }
      }
    },
  },
  {
    name: 'pages show the state of the first one',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        await fill(things, 5);
        const { body } = await things.list({ limit: '2' });
        await things.create(things.object('c2b'));
        await things.delete('c3');
        await things.patch('c4', 'merge', { metadata: { labels: { app: 'late' } } });
        await things.list({ limit: '2', continue: body.metadata.continue ?? '' });
        await things.list({ continue: body.metadata.continue ?? '' });
        await things.list();
      }
    },
  },
  {
    name: 'a continue token must be one that the server gave, and alone',
    async run(api) {
      const things = api.of(configMaps);
      await fill(things, 3);
      const { body } = await things.list({ limit: '1' });
      await things.list({ limit: '1', continue: 'garbage' });
      await things.list({
        limit: '1',
        continue: body.metadata.continue ?? '',
        resourceVersion: body.metadata.resourceVersion,
      });
      await things.list({
        limit: '1',
        continue: body.metadata.continue ?? '',
        resourceVersion: '0',
      });
    },
  },
  {
    name: 'limit, timeoutSeconds and resourceVersion are numbers',
    async run(api) {
      const things = api.of(configMaps);
      await things.list({ limit: 'x' });
      await things.list({ limit: '-1' });
      await things.list({ timeoutSeconds: 'x' });
      await things.list({ resourceVersion: 'x' });
    },
  },
  {
    name: 'a list can be asked for a version',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        await fill(things, 2);
        const { body } = await things.list();
        const { resourceVersion } = body.metadata;
        await things.create(things.object('c2'));
        await things.list({ resourceVersion, resourceVersionMatch: 'Exact' });
        await things.list({ resourceVersion, resourceVersionMatch: 'Exact', limit: '1' });
        await things.list({ resourceVersionMatch: 'Exact' });
        await things.list({ resourceVersion, resourceVersionMatch: 'Newest' });
        await things.list({ resourceVersion: '0', resourceVersionMatch: 'Exact' });
      }
    },
  },
  {
    name: 'metadata alone can be asked for',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        await things.create(
          things.object('one', { data: { a: '1' }, metadata: { labels: { app: 'a' } } }),
        );
        const partial = (what: string) =>
          `application/json;as=${what};g=meta.k8s.io;v=v1,application/json`;
        await api.call('GET', things.path, { accept: partial('PartialObjectMetadataList') });
        await api.call('GET', `${things.path}/one`, { accept: partial('PartialObjectMetadata') });
      }
    },
  },
  {
    name: 'a version that does not exist yet times out',
    async run(api) {
      const things = api.of(configMaps);
      await things.list({ resourceVersion: '1000000000' });
      await things.get('none', { resourceVersion: '1000000000' });
    },
  },
  {
    name: 'a collection is deleted as a whole or by selector',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        await fill(things, 4);
        await things.create(
          things.object('held', { metadata: { finalizers: ['e.x/a'], labels: { n: '9' } } }),
        );
        await things.deleteAll({ labelSelector: 'parity=odd' });
        await things.list();
        await things.deleteAll({ fieldSelector: 'metadata.name=none' });
        await things.deleteAll();
        await things.list();
        await things.patch('held', 'merge', { metadata: { finalizers: null } });
      }
    },
  },
];
