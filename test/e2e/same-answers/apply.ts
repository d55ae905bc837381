/**
 * Exchanges about server-side apply: field ownership, conflicts, and the removal of fields that are
 * no longer applied.
 */
import type { JsonObject, RecordedAnswer } from './api.ts';
import type { Exchange } from './exchange.ts';
import { configMaps, deployments, leases, podTemplates, quotas, widgets } from './resources.ts';
import { defaultedContainer, deploymentSpec, template } from './templates.ts';

const EMPTY: JsonObject[] = [
  { labels: {} },
  { annotations: {} },
  { finalizers: [] },
  { ownerReferences: [] },
];

export const apply: Exchange[] = [
  {
    name: 'an apply creates, changes nothing when repeated, and shares what two apply',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        for (const manager of ['one', 'one', 'two'])
          await things.apply('a', manager, { data: { k: '1' } });
        await things.apply('a', 'one', {
          metadata: { labels: { x: 'y' } },
          data: { k: '1', m: '2' },
        });
      }
    },
  },
  {
    name: 'another value than an owner’s is a conflict, unless it is forced',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        await things.apply('a', 'one', { data: { k: '1' } });
        await things.apply('a', 'two', { data: { k: '2' } });
        await things.apply('a', 'two', { data: { k: '2', m: '1' } }, { force: 'true' });
        await things.patch('a', 'merge', { data: { k: '3', n: '3' } });
        await things.apply('a', 'two', { data: { k: '4', n: '4', m: '2' } });
        await things.apply('a', 'two', { data: { k: '4', n: '4', m: '2' } }, { force: 'true' });
        await things.get('a');
      }
    },
  },
  {
    name: 'a field that is no longer applied is removed unless another manager owns it',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        await things.apply('a', 'one', {
          data: { k: '1', m: '1', n: '1' },
          metadata: { labels: { x: '1' } },
        });
        await things.apply('a', 'two', { data: { m: '1' } });
        await things.patch('a', 'merge', { data: { n: '2', o: '2' } });
        await things.apply('a', 'one', { data: { k: '1' } });
        await things.apply('a', 'one', {});
        await things.apply('a', 'two', {});
      }
    },
  },
  {
    name: 'updates and patches own what they change, by the manager they name',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        const { body } = await things.create(things.object('a', { data: { k: '1', m: '1' } }), {
          fieldManager: 'maker',
        });
        await things.put('a', { ...body, data: { k: '2', n: '1' } }, { fieldManager: 'putter' });
        await things.patch('a', 'json', [{ op: 'add', path: '/data/o', value: '1' }], {
          fieldManager: 'patcher',
        });
        await things.patch('a', 'merge', { data: { k: null } }, { fieldManager: 'patcher' });
        await things.patch('a', 'merge', { data: null }, { fieldManager: 'patcher' });
      }
    },
  },
  {
    name: 'an object without managers gets them when somebody applies',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        await things.create(
          things.object('a', { data: { k: '1' }, metadata: { labels: { x: '1' } } }),
        );
        await things.patch('a', 'merge', { metadata: { managedFields: [{}] } });
        await things.patch('a', 'merge', { data: { m: '1' } });
        await things.apply('a', 'one', { data: { m: '1', n: '1' } });
      }
    },
  },
  {
    name: 'a write may set managedFields, and invalid ones are ignored',
    async run(api) {
      const things = api.of(configMaps);
      const entry = {
        manager: 'made up',
        operation: 'Apply',
        apiVersion: 'v1',
        fieldsType: 'FieldsV1',
      };
      const fieldsV1 = { 'f:data': { 'f:k': {} } };
      await things.create(things.object('a', { data: { k: '1' } }));
      const put = (managedFields: object[], data: Record<string, string>) =>
        things.put('a', {
          ...things.object('a', { data }),
          metadata: { name: 'a', managedFields },
        });
      await put([{ ...entry, fieldsV1 }], { k: '1', m: '1' });
      await put([{ ...entry, operation: 'Other', fieldsV1 }], { k: '2', m: '1' });
      await put([{ ...entry, fieldsType: 'FieldsV2', fieldsV1 }], { k: '3', m: '1' });
      await put([{ ...entry, fieldsV1: { 'x:y': {} } }], { k: '4', m: '1' });
      await put([], { k: '4', m: '2' });
    },
  },
  {
    name: 'an invalid configuration is refused',
    async run(api) {
      const things = api.of(configMaps);
      const send = (body: unknown, query: Record<string, string> = { fieldManager: 'one' }) =>
        things.patch('a', 'apply', body, query);
      const object = things.object('a', { data: { k: '1' } });
      await send(object, {});
      await send(object, { fieldManager: 'x'.repeat(129) });
      await send({ ...object, metadata: {} });
      await send({ ...object, metadata: { name: 'b' } });
      await send({ ...object, metadata: { name: 'a', namespace: 'elsewhere' } });
      await send({ ...object, kind: 'Secret' });
      await send({ ...object, apiVersion: 'v2' });
      await send({ metadata: { name: 'a' } });
      await send({ ...object, metadata: { name: 'a', managedFields: [] } });
      await send({ ...object, data: { k: 1 } });
      await send({ ...object, data: [] });
      await send({ ...object, data: 'text' });
      await send({ ...object, more: 1 });
      await send({ ...object, metadata: { name: 'a', finalizers: ['e.x/a', 'e.x/a'] } });
      await send('[]');
      await send({ ...object, metadata: { name: 'a', uid: 'x' } });
      await send({ ...object, metadata: { name: 'a', resourceVersion: '5' } });
      await send({ ...object, metadata: { name: 'a', resourceVersion: '5' }, data: { k: '2' } });
      await things.patch('a', 'merge', {}, { force: 'true' });
      await things.get('a');
    },
  },
  {
    name: 'metadata is merged by its keys',
    async run(api) {
      for (const type of [configMaps, widgets]) {
        const things = api.of(type);
        const owner = (uid: string, name = 'owner') => ({
          apiVersion: 'v1',
          kind: 'ConfigMap',
          name,
          uid,
        });
        const metadata = (uids: string[], finalizers: string[]) => ({
          metadata: { ownerReferences: uids.map((uid) => owner(uid)), finalizers },
        });
        await things.apply('a', 'one', metadata(['uid-a', 'uid-b'], ['e.x/a', 'e.x/b']));
        await things.apply('a', 'two', metadata(['uid-c', 'uid-b'], ['e.x/c', 'e.x/a']));
        await things.apply('a', 'three', {
          metadata: { ownerReferences: [owner('uid-a', 'other')] },
        });
        await things.apply('a', 'one', metadata(['uid-a'], ['e.x/b']));
        await things.apply('a', 'one', { metadata: { annotations: { x: '1' } } });
      }
    },
  },
  {
    name: 'containers, their environment and ports are merged by their keys',
    async run(api) {
      const things = api.of(podTemplates);
      const env = (...names: string[]) => names.map((name) => ({ name, value: name }));
      const ports = [{ containerPort: 80, protocol: 'TCP' }];
      await things.apply('a', 'one', {
        template: template([defaultedContainer('a', { env: env('x', 'y'), ports })]),
      });
      const side = (fields: object) => ({
        template: { spec: { containers: [{ name: 'a', ...fields }] } },
      });
      await things.apply('a', 'two', side({ env: env('z', 'x') }));
      await things.apply('a', 'three', side({ env: [{ name: 'x', value: 'other' }] }));
      await things.apply(
        'a',
        'two',
        side({ ports: [{ containerPort: 80, protocol: 'UDP' }, { containerPort: 80 }] }),
      );
      await things.apply('a', 'two', {
        template: { spec: { containers: [defaultedContainer('b', { env: [] })] } },
      });
      await things.apply('a', 'one', {
        template: template([defaultedContainer('c'), defaultedContainer('a', { env: env('y') })]),
      });
      await things.apply(
        'a',
        'two',
        side({ ports: [{ containerPort: 80 }, { containerPort: 80 }] }),
      );
    },
  },
  {
    name: 'selectors and tolerations are owned as one',
    async run(api) {
      const things = api.of(deployments);
      const spec = deploymentSpec({
        template: template([defaultedContainer('a')], {
          tolerations: [{ key: 'a', operator: 'Exists' }],
        }),
      });
      await things.apply('a', 'one', { spec });
      await things.apply('a', 'two', { spec: { selector: { matchLabels: { app: 'a', b: 'c' } } } });
      await things.apply('a', 'two', {
        spec: { template: { spec: { tolerations: [{ key: 'b', operator: 'Exists' }] } } },
      });
      await things.apply('a', 'two', { spec: { replicas: 3 } }, { force: 'true' });
      await things.patch('a', 'strategic', { spec: { replicas: 4 } });
      await things.apply('a', 'one', { spec: { ...spec, replicas: 5 } });
      await things.get('a');
    },
  },
  {
    name: 'what is below a list of a custom resource is owned as one, and maps member by member',
    async run(api) {
      const things = api.of(widgets);
      await things.apply('a', 'one', {
        spec: { list: [{ name: 'a', x: 1 }], map: { a: { b: 1, c: [] } }, empty: {}, none: null },
      });
      await things.apply('a', 'two', { spec: { list: [{ name: 'b' }], map: { a: { d: 1 } } } });
      await things.apply('a', 'two', { spec: { map: { a: { d: 1 } } } });
      await things.apply('a', 'two', { spec: { map: { a: 'text' } } });
      await things.apply('a', 'two', { spec: { map: { a: 'text' } } }, { force: 'true' });
      await things.apply('a', 'one', { spec: { empty: {} } });
    },
  },
  {
    name: 'the status has owners of its own',
    async run(api) {
      const things = api.of(widgets);
      const status = { conditions: [{ type: 'Ready' }], at: 1 };
      await things.apply('a', 'one', { spec: { size: 1 }, status });
      await things.apply('a/status', 'one', {
        spec: { size: 2 },
        metadata: { labels: { x: 'y' } },
        status,
      });
      await things.apply('a/status', 'two', { status: { at: 2 } });
      await things.patch('a/status', 'merge', { spec: { size: 3 }, status: { at: 3 } });
      await things.apply('a/status', 'one', { status: { at: 4 } });
      await things.apply('a/status', 'one', { status: { at: 4 } }, { force: 'true' });
      await things.apply('none/status', 'one', { status });
      await things.apply('a', 'one', {});
    },
  },
  {
    name: 'a write to the status of a built-in kind may change its metadata',
    async run(api) {
      const things = api.of(quotas);
      await things.create(things.object('a'));
      const metadata = { labels: { x: 'y' }, annotations: { n: '1' }, finalizers: ['e.x/a'] };
      await things.patch('a/status', 'strategic', {
        metadata,
        spec: { hard: { pods: '7' } },
        status: { used: { pods: '1' } },
      });
      await things.apply('a/status', 'one', {
        metadata: { labels: { z: '1' } },
        status: { hard: { pods: '5' } },
      });
      await things.apply('a', 'one', {
        spec: { hard: { pods: '6' } },
        status: { hard: { pods: '9' } },
      });
      const { body } = await things.get('a/status');
      await things.put('a/status', { ...body, metadata: { ...body.metadata, labels: {} } });
    },
  },
  {
    name: 'an empty list of managers takes none away from a custom object',
    async run(api) {
      for (const [type, member] of [
        [widgets, 'spec'],
        [configMaps, 'data'],
      ] as const) {
        const things = api.of(type);
        const { body } = await things.apply('a', 'one', { [member]: { k: '1' } });
        const managedFields: [] = [];
        const wanted = {
          ...body,
          metadata: { ...body.metadata, managedFields },
          [member]: { k: '2' },
        };
        await things.put('a', wanted, { fieldManager: 'u' });
        await things.apply('a', 'one', { [member]: { k: '3' } });
        await things.patch('a', 'merge', { metadata: { managedFields } }, { fieldManager: 'v' });
        await things.patch(
          'a',
          'merge',
          { metadata: { managedFields: [{}] } },
          { fieldManager: 'v' },
        );
      }
    },
  },
  {
    name: 'empty metadata that is applied is written to a custom resource each time',
    async run(api) {
      for (const things of [api.of(widgets), api.of(configMaps)]) {
        // The server compares with the object in its watch cache, which lacks empty lists. Until
        // the object is in the cache, it compares with the stored one, and writes nothing. So each
        // write is first read from the cache.
        const seen = async ({ body }: RecordedAnswer) => {
          const { name, resourceVersion } = body.metadata;
          await things.get(name, { resourceVersion });
        };
        for (const [at, empty] of EMPTY.entries()) {
          for (let times = 0; times < 3; times++)
            await seen(await things.apply(`a${at}`, 'one', { metadata: empty }));
          for (let times = 0; times < 2; times++)
            await seen(await things.patch(`a${at}`, 'merge', {}));
          await things.apply(`a${at}`, 'two', {});
        }
      }
    },
  },
  {
    name: 'a dry run of an apply returns the result',
    async run(api) {
      const things = api.of(configMaps);
      await things.apply('a', 'one', { data: { k: '1' } }, { dryRun: 'All' });
      await things.get('a');
      await things.apply('a', 'one', { data: { k: '1' } });
      await things.apply('a', 'two', { data: { m: '1' } }, { dryRun: 'All' });
      await things.apply('a', 'two', { data: { k: '2' } }, { dryRun: 'All' });
      await things.get('a');
    },
  },
  {
    name: 'a Lease can be applied',
    async run(api) {
      const things = api.of(leases);
      await things.apply('a', 'one', { spec: { holderIdentity: 'x', leaseDurationSeconds: 15 } });
      await things.apply('a', 'two', { spec: { holderIdentity: 'y' } });
      await things.apply('a', 'one', { spec: { leaseDurationSeconds: 15 } });
    },
  },
  {
    name: 'more than ten update managers are merged',
    async run(api) {
      const things = api.of(configMaps);
      await things.create(things.object('a', { data: { k: '1' } }));
      for (let at = 0; at < 13; at++) {
        await things.patch(
          'a',
          'merge',
          { data: { [`k${at}`]: '1' } },
          { fieldManager: `m${String(at).padStart(2, '0')}` },
        );
      }
    },
  },
];
