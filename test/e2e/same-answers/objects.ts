/** Exchanges about single objects: create, read, update, patch, delete. */
import type { Query } from './api.ts';
import type { Exchange } from './exchange.ts';
import { configMaps, leases, secrets, widgets } from './resources.ts';

const all = [configMaps, secrets, leases, widgets];

const DELETION_PARAMETERS: Query[] = [
  { propagationPolicy: 'Foreground' },
  { propagationPolicy: 'Sideways' },
  { gracePeriodSeconds: '0' },
];

export const objects: Exchange[] = [
  ...all.map(
    (type): Exchange => ({
      name: `a ${type.kind} is created, read, updated and deleted`,
      async run(api) {
        const things = api.of(type);
        const created = await things.create(things.object('one', { metadata: { labels: { app: 'a' } } }));
        await things.get('one');
        await things.put('one', { ...created.body, metadata: { ...created.body.metadata, labels: { app: 'b' } } });
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
        things.object('e', { metadata: { labels: { app: '' }, annotations: { 'e.x/y': 'any thing' } } }),
      );
      await things.create(things.object('f', { metadata: { finalizers: ['no-slash'] } }));
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
      await api.call('POST', things.path, { body: things.object('one'), contentType: 'text/plain' });
      await api.call('PUT', `${things.path}/one`, { body: things.object('one'), contentType: 'text/plain' });
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
      await api.call('PATCH', things.path, { body: {}, contentType: 'application/merge-patch+json' });
      await api.call('POST', `${things.path}/one`, { body: things.object('one') });
    },
  },
  {
    name: 'an update on a stale resourceVersion is a conflict and changes nothing',
    async run(api) {
      for (const type of all) {
        const things = api.of(type);
        const { body: first } = await things.create(things.object('one'));
        const labelled = (app: string) => ({ ...first, metadata: { ...first.metadata, labels: { app } } });
        await things.put('one', labelled('a'));
        await things.put('one', labelled('b'));
        await things.get('one');
      }
    },
  },
  {
    name: 'an update without resourceVersion overwrites, except for custom resources',
    async run(api) {
      for (const type of all) {
        const things = api.of(type);
        await things.create(things.object('one'));
        await things.put('one', things.object('one', { metadata: { labels: { app: 'a' } } }));
        await things.put('one', things.object('one', { metadata: { resourceVersion: '', labels: { app: 'b' } } }));
        await things.put('one', things.object('one', { metadata: { resourceVersion: 'x', labels: { app: 'c' } } }));
      }
    },
  },
  {
    name: 'an update cannot change the name or the uid',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        const { body } = await things.create(things.object('one'));
        await things.put('one', things.object('two'));
        await things.put('one', { apiVersion: type.apiVersion, kind: type.kind, metadata: {} });
        const uid = '00000000-0000-0000-0000-000000000001';
        await things.put('one', { ...body, metadata: { ...body.metadata, uid } });
        await things.patch('one', 'merge', { metadata: { uid } });
        await things.patch('one', 'merge', { metadata: { name: 'two' } });
      }
    },
  },
  {
    name: 'an update that changes nothing makes no new version',
    async run(api) {
      for (const type of all) {
        const things = api.of(type);
        const { body } = await things.create(things.object('one', { metadata: { labels: { app: 'a' } } }));
        await things.put('one', body);
        await things.patch('one', 'merge', { metadata: { labels: { app: 'a' } } });
        await things.get('one');
      }
    },
  },
  {
    name: 'an update replaces the whole object',
    async run(api) {
      const things = api.of(configMaps);
      await things.create(things.object('one', { data: { a: '1', b: '2' }, metadata: { annotations: { x: 'y' } } }));
      await things.put('one', things.object('one', { data: { c: '3' } }));
    },
  },
  {
    name: 'a merge patch sets, nests and removes',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        await things.create(things.object('one', { data: { a: '1', b: '2' }, metadata: { labels: { app: 'a' } } }));
        await things.patch('one', 'merge', { data: { a: null, c: '3' }, metadata: { labels: { tier: 'x' } } });
        await things.patch('one', 'merge', { metadata: { labels: null } });
        await things.patch('one', 'merge', { data: null });
        await things.patch('one', 'merge', {});
      }
    },
  },
  {
    name: 'a merge patch that names a stale resourceVersion is a conflict',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        const { body } = await things.create(things.object('one'));
        const { resourceVersion } = body.metadata;
        await things.patch('one', 'merge', { metadata: { resourceVersion, labels: { app: 'a' } } });
        await things.patch('one', 'merge', { metadata: { resourceVersion, labels: { app: 'b' } } });
      }
    },
  },
  {
    name: 'a JSON patch adds, replaces, moves, copies, tests and removes',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        await things.create(
          things.object('one', { data: { a: '1', b: '2' }, metadata: { annotations: { 'x/y': '2' } } }),
        );
        await things.patch('one', 'json', [
          { op: 'test', path: '/data/a', value: '1' },
          { op: 'add', path: '/metadata/labels', value: { app: 'a' } },
          { op: 'replace', path: '/metadata/annotations/x~1y', value: '3' },
          { op: 'copy', from: '/data/a', path: '/data/copy' },
          { op: 'move', from: '/data/a', path: '/data/moved' },
        ]);
        await things.patch('one', 'json', [{ op: 'remove', path: '/metadata/labels' }]);
        await things.patch('one', 'json', []);
      }
    },
  },
  {
    name: 'a JSON patch adds to and removes from an array by index',
    async run(api) {
      const things = api.of(widgets);
      await things.create(things.object('one', { spec: { list: ['a', 'b', 'c'] } }));
      await things.patch('one', 'json', [
        { op: 'add', path: '/spec/list/-', value: 'd' },
        { op: 'add', path: '/spec/list/0', value: 'z' },
        { op: 'remove', path: '/spec/list/1' },
      ]);
    },
  },
  {
    name: 'a JSON patch that cannot be applied is invalid and changes nothing',
    async run(api) {
      const things = api.of(configMaps);
      await things.create(things.object('one', { data: { a: '1' } }));
      await things.patch('one', 'json', [
        { op: 'add', path: '/data/b', value: '2' },
        { op: 'test', path: '/data/a', value: 'no' },
      ]);
      await things.patch('one', 'json', [{ op: 'remove', path: '/data/none' }]);
      await things.patch('one', 'json', [{ op: 'replace', path: '/data/none', value: 'x' }]);
      await things.patch('one', 'json', { op: 'not a list' });
      await things.patch('one', 'json', '[{');
      await things.patch('one', 'merge', '{');
      await things.patch('one', 'merge', '[]');
      await things.get('one');
    },
  },
  {
    name: 'a strategic merge patch is not for custom resources',
    async run(api) {
      const things = api.of(widgets);
      await things.create(things.object('one'));
      await things.patch('one', 'strategic', { metadata: { labels: { app: 'a' } } });
    },
  },
  {
    name: 'a Secret is Opaque and takes stringData as data',
    async run(api) {
      const things = api.of(secrets);
      await things.create(things.object('one', { data: { a: 'MQ==' }, stringData: { a: '2', b: 'ü' } }));
      await things.get('one');
      await things.patch('one', 'merge', { stringData: { c: '3' } });
      await things.create(things.object('two', { type: 'example.com/own', stringData: { a: '1' } }));
    },
  },
  {
    name: 'a Lease passes from holder to holder by its resourceVersion',
    async run(api) {
      const things = api.of(leases);
      const spec = {
        holderIdentity: 'a',
        leaseDurationSeconds: 15,
        acquireTime: '2026-01-01T00:00:00.000000Z',
        renewTime: '2026-01-01T00:00:00.000000Z',
        leaseTransitions: 0,
      };
      const { body: held } = await things.create(things.object('leader', { spec }));
      const renewed = { ...held, spec: { ...spec, renewTime: '2026-01-01T00:00:02.500000Z' } };
      const { body: current } = await things.put('leader', renewed);
      await things.put('leader', { ...held, spec: { ...spec, holderIdentity: 'b', leaseTransitions: 1 } });
      await things.put('leader', { ...current, spec: { ...spec, holderIdentity: 'b', leaseTransitions: 1 } });
      await things.get('leader');
    },
  },
  {
    name: 'status is apart from the rest of a custom resource',
    async run(api) {
      const things = api.of(widgets);
      const { body: made } = await things.create(things.object('one', { spec: { size: 1 }, status: { ready: true } }));
      const both = { ...made, spec: { size: 2 }, status: { ready: true } };
      const { body: sized } = await things.put('one', both);
      await things.put('one/status', {
        ...sized,
        metadata: { ...sized.metadata, labels: { app: 'a' } },
        spec: { size: 3 },
        status: { ready: true },
      });
      await things.get('one/status');
      await things.patch('one/status', 'merge', { spec: { size: 4 }, status: { ready: null, phase: 'Up' } });
      await things.patch('one', 'merge', { spec: { size: 5 }, status: { phase: 'Down' } });
      await things.put('one/status', made);
      await things.get('one');
    },
  },
  {
    name: 'a ConfigMap has no status',
    async run(api) {
      const things = api.of(configMaps);
      await things.create(things.object('one'));
      await things.get('one/status');
    },
  },
  {
    name: 'generation counts changes of what is not metadata or status',
    async run(api) {
      const things = api.of(widgets);
      await things.create(things.object('one', { spec: { size: 1 } }));
      await things.patch('one', 'merge', { metadata: { labels: { app: 'a' } } });
      await things.patch('one', 'merge', { spec: { size: 2 } });
      await things.patch('one/status', 'merge', { status: { ready: true } });
      await things.patch('one', 'merge', { other: 'field' });
      await things.patch('one', 'merge', { spec: { size: 2 } });
    },
  },
  ...[configMaps, widgets].map(
    (type): Exchange => ({
      name: `a ${type.kind} with finalizers is deleted when the last one goes`,
      async run(api) {
        const things = api.of(type);
        await things.create(things.object('one', { metadata: { finalizers: ['e.x/a', 'e.x/b'] } }));
        await things.delete('one');
        await things.delete('one');
        await things.patch('one', 'merge', { metadata: { finalizers: ['e.x/a', 'e.x/b', 'e.x/c'] } });
        await things.create(things.object('one'));
        await things.patch('one', 'merge', { metadata: { finalizers: ['e.x/b'] } });
        await things.patch('one', 'merge', { metadata: { labels: { app: 'a' } } });
        await things.patch('one', 'merge', { metadata: { finalizers: null } });
        await things.get('one');
        await things.create(things.object('one'));
      },
    }),
  ),
  {
    name: 'an update may drop the last finalizer and change other fields',
    async run(api) {
      const things = api.of(widgets);
      await things.create(things.object('one', { metadata: { finalizers: ['e.x/a'] }, spec: { size: 1 } }));
      await things.delete('one');
      const { body } = await things.get('one');
      await things.put('one', { ...body, metadata: { ...body.metadata, finalizers: [] }, spec: { size: 2 } });
      await things.get('one');
    },
  },
  {
    name: 'a deletion can be bound to a uid and a version',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        const { body } = await things.create(things.object('one'));
        const { uid, resourceVersion } = body.metadata;
        await things.patch('one', 'merge', { metadata: { labels: { app: 'a' } } });
        await things.delete('one', { preconditions: { uid: '00000000-0000-0000-0000-000000000001' } });
        await things.delete('one', { preconditions: { uid, resourceVersion } });
        await things.get('one');
        await things.delete('one', { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid } });
      }
    },
  },
  {
    name: 'a deletion in the background is done at once',
    async run(api) {
      const things = api.of(configMaps);
      await things.create(things.object('one'));
      await things.delete('one', { propagationPolicy: 'Background' });
      await things.get('one');
      await things.create(things.object('two'));
      await things.delete('two', { propagationPolicy: 'Sideways' });
      await things.delete('two', { gracePeriodSeconds: 0 });
    },
  },
  {
    name: 'a deletion in the foreground or with orphans waits for the garbage collector',
    async run(api) {
      for (const [name, propagationPolicy] of [
        ['one', 'Foreground'],
        ['two', 'Orphan'],
      ] as const) {
        const things = api.of(configMaps);
        await things.create(things.object(name));
        await things.delete(name, { propagationPolicy });
        await things.get(name);
        await things.patch(name, 'merge', { metadata: { finalizers: null } });
        await things.get(name);
      }
    },
  },
  {
    name: 'the options of a deletion can be parameters',
    async run(api) {
      const things = api.of(configMaps);
      for (const query of DELETION_PARAMETERS) {
        await things.create(things.object('one'));
        await api.call('DELETE', `${things.path}/one`, { query });
        await things.patch('one', 'merge', { metadata: { finalizers: null } });
      }
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
      await api.call('POST', things.path, { query: { dryRun: 'Some' }, body: things.object('two') });
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
    name: 'a recreated object has another uid',
    async run(api) {
      const things = api.of(configMaps);
      const { body } = await things.create(things.object('one'));
      await things.delete('one');
      await things.create(things.object('one'));
      await things.put('one', body);
    },
  },
  {
    name: 'owner references are kept',
    async run(api) {
      const things = api.of(configMaps);
      const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: '00000000-0000-0000-0000-000000000001' };
      await things.create(things.object('one', { metadata: { ownerReferences: [{ ...owner, controller: true }] } }));
      await things.create(
        things.object('two', { metadata: { ownerReferences: [{ kind: 'ConfigMap', name: 'owner' }] } }),
      );
      const twice = [owner, { ...owner, name: 'other', uid: '00000000-0000-0000-0000-000000000002' }];
      const controllers = twice.map((reference) => ({ ...reference, controller: true }));
      await things.create(things.object('three', { metadata: { ownerReferences: controllers } }));
    },
  },
  {
    name: 'numbers, strings and empty values come back as they went in',
    async run(api) {
      const things = api.of(widgets);
      const values = { big: 9007199254740991, negative: -1, float: 1.5, exponent: 1e21, empty: '', no: false };
      await things.create(
        things.object('one', { spec: { ...values, nothing: {}, none: [], text: '\u0000\u2028"\\é😀' } }),
      );
      await things.get('one');
      await things.create(things.object('two', { spec: { gone: null, kept: 1 } }));
    },
  },
];
