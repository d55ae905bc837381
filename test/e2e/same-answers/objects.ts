/** Exchanges about single objects: their life cycle, and which bodies a server accepts. */
import type { Exchange } from './exchange.ts';
import { configMaps, leases, secrets, widgets } from './resources.ts';

const all = [configMaps, secrets, leases, widgets];

export const objectExchanges: Exchange[] = [
  ...all.map(
    (type): Exchange => ({
      name: `a ${type.kind} is created, read, updated and deleted`,
      async run(api) {
        const things = api.of(type);
        const created = await things.create(
          things.object('one', { metadata: { labels: { app: 'a' } } }),
        );
        await things.get('one');
        await things.put('one', {
          ...created.body,
          metadata: { ...created.body.metadata, labels: { app: 'b' } },
        });
        await things.list();
        await things.delete('one');
        await things.get('one');
        await things.list();
      },
    }),
  ),
  ...all.map(
    (type): Exchange => ({
      name: `a ${type.kind} that does not exist is not found`,
      async run(api) {
        const things = api.of(type);
        await things.get('none');
        await things.patch('none', 'merge', { metadata: { labels: { app: 'a' } } });
        await things.delete('none');
      },
    }),
  ),
  {
    name: 'an update of what does not exist is not found, but creates a Lease',
    async run(api) {
      for (const type of all) {
        const things = api.of(type);
        await things.put('none', things.object('none'));
        await things.put('ghost', things.object('ghost', { metadata: { resourceVersion: '5' } }));
      }
    },
  },
  {
    name: 'an update of what was deleted does not create it again, not even a Lease',
    async run(api) {
      for (const type of all) {
        const things = api.of(type);
        const { body } = await things.create(things.object('one'));
        await things.delete('one');
        await things.put('one', body);
        await things.get('one');
      }
    },
  },
  {
    name: 'a name can be used once',
    async run(api) {
      for (const type of all) {
        const things = api.of(type);
        await things.create(things.object('one'));
        await things.create(things.object('one'));
      }
    },
  },
  {
    name: 'generateName adds a suffix',
    async run(api) {
      const things = api.of(configMaps);
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'some-' } };
      const { body: made } = await things.create(body);
      await things.create(body);
      await things.get(made.metadata.name);
      await things.create({ ...body, metadata: { generateName: 'some-', name: 'own-name' } });
    },
  },
  {
    name: 'generateName is held to the rule of names, as what one begins with',
    async run(api) {
      const prefixes = [
        'x'.repeat(253),
        'x'.repeat(254),
        'g-',
        'g--',
        'G_',
        '-',
        '-a',
        '.-',
        'a.',
        'a.b-',
        'a b',
        'é-',
        '',
      ];
      for (const type of [configMaps, widgets])
        for (const generateName of prefixes)
          await api
            .of(type)
            .create(api.of(type).object('a', { metadata: { generateName } }), { dryRun: 'All' });
      const metadata = (generateName: string) => ({
        metadata: { name: `${api.namespace}-a`, generateName },
      });
      for (const [path, names] of [
        ['/api/v1/namespaces', ['x'.repeat(64), 'a.b-', 'A']],
        ['/apis/rbac.authorization.k8s.io/v1/clusterroles', ['a/b', 'a%', 'a:', 'A-']],
      ] as const)
        for (const name of names)
          await api.call('POST', path, { body: metadata(name), query: { dryRun: 'All' } });
    },
  },
  {
    name: 'an object without a name is invalid',
    async run(api) {
      for (const { apiVersion, kind, ...type } of all) {
        const things = api.of({ apiVersion, kind, ...type });
        await things.create({ apiVersion, kind });
        await things.create({ apiVersion, kind, metadata: {} });
        await things.create({ apiVersion, kind, metadata: { name: '' } });
      }
    },
  },
  {
    name: 'a name that is no DNS-1123 subdomain is invalid',
    async run(api) {
      const names = [
        'Upper',
        'under_score',
        '-start',
        'end-',
        'dot..dot',
        'with space',
        'a'.repeat(253),
        'a'.repeat(254),
      ];
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        for (const name of names) await things.create(things.object(name));
      }
    },
  },
  {
    name: 'a name that is no path segment is invalid',
    async run(api) {
      const things = api.of(configMaps);
      for (const name of ['..', '.', 'a/b', 'a%b']) await things.create(things.object(name));
    },
  },
  {
    name: 'labels and annotations have a syntax',
    async run(api) {
      const things = api.of(configMaps);
      await things.create(things.object('a', { metadata: { labels: { 'not a key': 'x' } } }));
      await things.create(things.object('b', { metadata: { labels: { app: 'not a value' } } }));
      await things.create(things.object('c', { metadata: { annotations: { 'not a key': 'x' } } }));
      await things.create(things.object('d', { metadata: { labels: { 'a/b/c': 'x' } } }));
      await things.create(
        things.object('e', {
          metadata: { labels: { app: '' }, annotations: { 'e.x/y': 'any thing' } },
        }),
      );
      await things.create(things.object('f', { metadata: { finalizers: ['no-slash'] } }));
    },
  },
  {
    name: 'annotations may be 256 KiB in all',
    async run(api) {
      const things = api.of(configMaps);
      const annotations = { a: 'x'.repeat(256 * 1024 - 1) };
      await things.create(things.object('one', { metadata: { annotations } }));
      await things.create(
        things.object('two', { metadata: { annotations: { a: `${annotations.a}é` } } }),
      );
    },
  },
  {
    name: 'what the server sets is not taken from the client',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        const metadata = {
          uid: '00000000-0000-0000-0000-000000000001',
          creationTimestamp: '2001-01-01T00:00:00Z',
          deletionTimestamp: '2001-01-01T00:00:00Z',
          deletionGracePeriodSeconds: 5,
          generation: 77,
          selfLink: '/somewhere',
        };
        const { body } = await things.create(things.object('one', { metadata }));
        const { uid: _, ...own } = metadata;
        await things.put('one', { ...body, metadata: { ...body.metadata, ...own } });
      }
    },
  },
  {
    name: 'an object with a resourceVersion cannot be created',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        await things.create(things.object('one', { metadata: { resourceVersion: '5' } }));
      }
    },
  },
  {
    name: 'the namespace of an object must be that of the path',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        await things.create(things.object('one', { metadata: { namespace: 'elsewhere' } }));
        await things.create(things.object('one', { metadata: { namespace: api.namespace } }));
        await things.put('one', things.object('one', { metadata: { namespace: 'elsewhere' } }));
        await things.patch('one', 'merge', { metadata: { namespace: 'elsewhere' } });
      }
    },
  },
  {
    name: 'kind and apiVersion must be those of the path',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        await things.create({ ...things.object('one'), kind: 'Secret' });
        await things.create({ ...things.object('one'), apiVersion: 'v2' });
        await things.create({ ...things.object('one'), apiVersion: 'apps/v1', kind: 'Deployment' });
        await things.create(things.object('one'));
        await things.put('one', { ...things.object('one'), kind: 'Secret' });
        await things.put('one', { ...things.object('one'), apiVersion: 'v2' });
      }
    },
  },
  {
    name: 'an object of a built-in type may leave out kind and apiVersion',
    async run(api) {
      const things = api.of(configMaps);
      await things.create({ metadata: { name: 'one' }, data: { a: '1' } });
      await things.create({ metadata: { name: 'two' }, kind: 'ConfigMap' });
      await things.create({ metadata: { name: 'three' }, apiVersion: 'v1' });
    },
  },
  {
    name: 'an object of a custom type must have kind and apiVersion',
    async run(api) {
      const things = api.of(widgets);
      await things.create({ metadata: { name: 'one' } });
      await things.create({ metadata: { name: 'two' }, kind: 'Widget' });
      await things.create({ metadata: { name: 'three' }, apiVersion: widgets.apiVersion });
    },
  },
  {
    name: 'a body that is no object is a bad request',
    async run(api) {
      const things = api.of(configMaps);
      for (const body of ['{"metadata":', '[]', '"text"', 'null', '']) await things.create(body);
    },
  },
  {
    name: 'a body of another content type is not supported',
    async run(api) {
      const things = api.of(configMaps);
      await api.call('POST', things.path, {
        body: things.object('one'),
        contentType: 'text/plain',
      });
      await api.call('PUT', `${things.path}/one`, {
        body: things.object('one'),
        contentType: 'text/plain',
      });
      await things.create(things.object('one'));
      await api.call('PATCH', `${things.path}/one`, { body: {}, contentType: 'application/json' });
      await api.call('PATCH', `${things.path}/one`, { body: {}, contentType: 'text/plain' });
    },
  },
  {
    name: 'a method that a path does not know is not allowed',
    async run(api) {
      const things = api.of(configMaps);
      await things.create(things.object('one'));
      await api.call('PUT', things.path, { body: things.object('one') });
      await api.call('PATCH', things.path, {
        body: {},
        contentType: 'application/merge-patch+json',
      });
      await api.call('POST', `${things.path}/one`, { body: things.object('one') });
    },
  },
  {
    name: 'a dry run answers and changes nothing',
    async run(api) {
      const things = api.of(configMaps);
      const query = { dryRun: 'All' };
      const count = async () => (await things.list()).body.items?.length;
      await api.call('POST', things.path, { query, body: things.object('one') });
      await count();
      const { body } = await things.create(things.object('one', { data: { a: '1' } }));
      await api.call('PUT', `${things.path}/one`, { query, body: { ...body, data: { a: '2' } } });
      await api.call('PATCH', `${things.path}/one`, {
        query,
        body: { data: { a: '3' } },
        contentType: 'application/merge-patch+json',
      });
      await api.call('DELETE', `${things.path}/one`, { query });
      await things.get('one');
      await api.call('POST', things.path, {
        query: { dryRun: 'Some' },
        body: things.object('two'),
      });
    },
  },
  {
    name: 'a request of more than 3 MiB is too large',
    async run(api) {
      const things = api.of(widgets);
      await things.create(things.object('one', { spec: { text: 'x'.repeat(3 * 1024 * 1024) } }));
    },
  },
  {
    name: 'parameters that a server does not know are ignored',
    async run(api) {
      const things = api.of(configMaps);
      await things.create(things.object('one'), { fieldManager: 'someone', unheardOf: 'yes' });
      await things.get('one', { unheardOf: 'yes' });
      await things.list({ unheardOf: 'yes' });
    },
  },
  {
    name: 'owner references are kept',
    async run(api) {
      const things = api.of(configMaps);
      const owner = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        name: 'owner',
        uid: '00000000-0000-0000-0000-000000000001',
      };
      await things.create(
        things.object('one', { metadata: { ownerReferences: [{ ...owner, controller: true }] } }),
      );
      await things.create(
        things.object('two', {
          metadata: { ownerReferences: [{ kind: 'ConfigMap', name: 'owner' }] },
        }),
      );
      const twice = [
        owner,
        { ...owner, name: 'other', uid: '00000000-0000-0000-0000-000000000002' },
      ];
      const controllers = twice.map((reference) => ({ ...reference, controller: true }));
      await things.create(things.object('three', { metadata: { ownerReferences: controllers } }));
    },
  },
  {
    name: 'numbers, strings and empty values come back as they went in',
    async run(api) {
      const things = api.of(widgets);
      const values = {
        big: 9007199254740991,
        negative: -1,
        float: 1.5,
        exponent: 1e21,
        empty: '',
        no: false,
      };
      await things.create(
        things.object('one', {
          spec: { ...values, nothing: {}, none: [], text: '\u0000\u2028"\\é😀' },
        }),
      );
      await things.get('one');
      await things.create(things.object('two', { spec: { gone: null, kept: 1 } }));
    },
  },
];
