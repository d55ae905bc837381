/** Exchanges about single objects: updates, patches, status, and their versions. */
import type { Exchange } from './exchange.ts';
import { configMaps, leases, secrets, widgets } from './resources.ts';

const all = [configMaps, secrets, leases, widgets];

export const updates: Exchange[] = [
  {
    name: 'an update on a stale resourceVersion is a conflict and changes nothing',
    async run(api) {
      for (const type of all) {
        const things = api.of(type);
        const { body: first } = await things.create(things.object('one'));
        const labelled = (app: string) => ({
          ...first,
          metadata: { ...first.metadata, labels: { app } },
        });
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
        await things.put(
          'one',
          things.object('one', { metadata: { resourceVersion: '', labels: { app: 'b' } } }),
        );
        await things.put(
          'one',
          things.object('one', { metadata: { resourceVersion: 'x', labels: { app: 'c' } } }),
        );
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
        const { body } = await things.create(
          things.object('one', { metadata: { labels: { app: 'a' } } }),
        );
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
      await things.create(
        things.object('one', { data: { a: '1', b: '2' }, metadata: { annotations: { x: 'y' } } }),
      );
      await things.put('one', things.object('one', { data: { c: '3' } }));
    },
  },
  {
    name: 'a merge patch sets, nests and removes',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        await things.create(
          things.object('one', { data: { a: '1', b: '2' }, metadata: { labels: { app: 'a' } } }),
        );
        await things.patch('one', 'merge', {
          data: { a: null, c: '3' },
          metadata: { labels: { tier: 'x' } },
        });
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
          things.object('one', {
            data: { a: '1', b: '2' },
            metadata: { annotations: { 'x/y': '2' } },
          }),
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
      await things.create(
        things.object('one', { data: { a: 'MQ==' }, stringData: { a: '2', b: 'ü' } }),
      );
      await things.get('one');
      await things.patch('one', 'merge', { stringData: { c: '3' } });
      await things.create(
        things.object('two', { type: 'example.com/own', stringData: { a: '1' } }),
      );
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
      await things.put('leader', {
        ...held,
        spec: { ...spec, holderIdentity: 'b', leaseTransitions: 1 },
      });
      await things.put('leader', {
        ...current,
        spec: { ...spec, holderIdentity: 'b', leaseTransitions: 1 },
      });
      await things.get('leader');
    },
  },
  {
    name: 'status is apart from the rest of a custom resource',
    async run(api) {
      const things = api.of(widgets);
      const { body: made } = await things.create(
        things.object('one', { spec: { size: 1 }, status: { ready: true } }),
      );
      const both = { ...made, spec: { size: 2 }, status: { ready: true } };
      const { body: sized } = await things.put('one', both);
      await things.put('one/status', {
        ...sized,
        metadata: { ...sized.metadata, labels: { app: 'a' } },
        spec: { size: 3 },
        status: { ready: true },
      });
      await things.get('one/status');
      await things.patch('one/status', 'merge', {
        spec: { size: 4 },
        status: { ready: null, phase: 'Up' },
      });
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
];
