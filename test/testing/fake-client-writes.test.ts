/**
 * The writes of a fake client: versions, finalizers, owners of fields, subresources and concurrent
 * writes. controller-runtime: pkg/client/fake/client_test.go.
 */
import { defineResource } from 'capstan/cache';
import {
  type Client,
  isAlreadyExists,
  isConflict,
  isInvalid,
  isNotFound,
  mergeFrom,
} from 'capstan/client';
import { fakeClient, fakeTransport } from 'capstan/testing';
import { describe, expect, test } from 'vitest';

interface Entry {
  manager?: string;
  operation?: string;
  subresource?: string;
  apiVersion?: string;
  fieldsType?: string;
  fieldsV1?: object;
}
interface Any {
  apiVersion?: string;
  kind?: string;
  metadata: {
    name: string;
    namespace?: string;
    uid?: string;
    resourceVersion?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    finalizers?: string[];
    deletionTimestamp?: string;
    managedFields?: Entry[];
  };
  data?: Record<string, string>;
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
}

const resource = (apiVersion: string, kind: string, namespaced = true) => {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  const plural = `${kind.toLowerCase()}s`;
  return defineResource<Any>()({ group, version, kind, plural, namespaced });
};
const ConfigMap = resource('v1', 'ConfigMap');
const Pod = resource('v1', 'Pod');
const Node = resource('v1', 'Node', false);
const ServiceAccount = resource('v1', 'ServiceAccount');
const Lease = resource('coordination.k8s.io/v1', 'Lease');
const Deployment = resource('apps/v1', 'Deployment');
const Image = resource('custom.example/v1', 'Image');

const at = (name: string) => ({ namespace: 'default', name });
const object = (name: string, more: Partial<Any> = {}): Any => ({
  ...more,
  metadata: { ...at(name), ...more.metadata, name },
});
const node = (more: Partial<Any> = {}): Any => ({
  ...more,
  metadata: { name: 'n', ...more.metadata },
});
const workload = {
  selector: { matchLabels: { app: 'x' } },
  template: {
    metadata: { labels: { app: 'x' } },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  },
};
const failure = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  );
const all = (count: number) => Array.from({ length: count }, (_, i) => i);
const managers = ({ metadata }: Any) => metadata.managedFields?.map(({ manager }) => manager);

test('a fake client knows kinds that nobody declared', async () => {
  const client = fakeClient();
  expect((await client.list(Image)).items).toEqual([]);
  const made = await client.create(Image, object('a', { spec: { size: 1 } }));
  expect(made).toMatchObject({ apiVersion: 'custom.example/v1', kind: 'Image' });
  await client.update(Image, { ...made, spec: { size: 2 } });
  await client.patch(Image, at('a'), { type: 'merge', body: { metadata: { labels: { a: 'b' } } } });
  const [listed] = (await client.list(Image, { labelSelector: 'a=b' })).items;
  expect(listed).toMatchObject({ kind: 'Image', spec: { size: 2 } });
  expect(await client.get(Image, at('a'))).toEqual(listed);
  await client.delete(Image, at('a'));
  await expect(client.get(Image, at('a'))).rejects.toSatisfy(isNotFound);
});

test('an existing transport serves with objects given before and later', async () => {
  const map = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', ...object(name) });
  const transport = fakeTransport({ objects: [map('a')] });
  const client = fakeClient({ server: transport, objects: [map('b')] });
  transport.add(map('c'));
  expect(client.transport).toBe(transport);
  const names = (await client.list(ConfigMap)).items.map(({ metadata }) => metadata.name);
  expect(names).toEqual(['a', 'b', 'c']);
});

test('a write does not change its argument, whether it succeeds or not', async () => {
  const client = fakeClient({ objects: [{ apiVersion: 'v1', kind: 'ConfigMap', ...object('a') }] });
  for (const name of ['a', 'b']) {
    const given = object(name, { data: { k: '1' } });
    const before = structuredClone(given);
    await failure(client.create(ConfigMap, given));
    await client.update(ConfigMap, given);
    await client.apply(ConfigMap, given, { force: true });
    expect(given).toEqual(before);
  }
});

describe('a version', () => {
  test('that a patch removes is not checked', async () => {
    const client = fakeClient();
    const made = await client.create(ConfigMap, object('a'));
    const { resourceVersion: _, ...metadata } = made.metadata;
    const annotated = { ...made, metadata: { ...metadata, annotations: { foo: 'bar' } } };
    const patch = mergeFrom(made).to(annotated);
    expect(patch).toMatchObject({ body: { metadata: { resourceVersion: null } } });
    const { metadata: patched } = await client.patch(ConfigMap, at('a'), patch);
    expect(patched).toMatchObject({ annotations: { foo: 'bar' } });
  });

  test('is needed to update a custom object; without one, an update creates a Lease', async () => {
    const client = fakeClient();
    await client.create(Image, object('a'));
    await expect(client.update(Image, object('a'))).rejects.toSatisfy(isInvalid);
    expect(await client.update(Lease, object('a', { spec: {} }))).toMatchObject({ kind: 'Lease' });
    await expect(client.update(ConfigMap, object('a'))).rejects.toSatisfy(isNotFound);
  });

  test('of the object is not checked by a deletion, only that of its preconditions', async () => {
    const client = fakeClient();
    const made = await client.create(ConfigMap, object('a'));
    await client.update(ConfigMap, { ...made, data: { k: '1' } });
    const { resourceVersion } = made.metadata;
    const old = client.delete(ConfigMap, at('a'), { preconditions: { resourceVersion } });
    await expect(old).rejects.toSatisfy(isConflict);
    await client.delete(ConfigMap, made.metadata);
    await expect(client.get(ConfigMap, at('a'))).rejects.toSatisfy(isNotFound);
  });
});

describe('concurrent writes', () => {
  test('of patches and of updates without a version all take effect', async () => {
    const client = fakeClient();
    const made = await client.create(ConfigMap, object('a'));
    const versions = await Promise.all(
      all(50).map(async (i) => {
        const data = { k: String(i) };
        const write =
          i % 2 === 0
            ? client.patch(ConfigMap, at('a'), { type: 'merge', body: { data } })
            : client.update(ConfigMap, object('a', { data }));
        return (await write).metadata.resourceVersion;
      }),
    );
    expect(new Set(versions).size).toBe(50);
    const { resourceVersion } = made.metadata;
    const stale = all(5).map((i) =>
      client.patch(ConfigMap, at('a'), {
        type: 'merge',
        body: { metadata: { resourceVersion }, data: { k: `stale ${i}` } },
      }),
    );
    for (const { status, ...rest } of await Promise.allSettled(stale)) {
      expect(status).toBe('rejected');
      expect(isConflict((rest as { reason?: unknown }).reason)).toBe(true);
    }
  });

  test('to a kind that an update may create: the update succeeds', async () => {
    const client = fakeClient();
    await Promise.all(
      all(20).flatMap((i) => {
        const lease = object(`l${i}`, { spec: {} });
        const created = failure(client.create(Lease, lease)).then(
          (error) => error === undefined || isAlreadyExists(error),
        );
        return [expect(created).resolves.toBe(true), failure(client.update(Lease, lease))];
      }),
    );
    const { items } = await client.list(Lease);
    expect(items).toHaveLength(20);
    const deletions = items.map(({ metadata }) => failure(client.delete(Lease, metadata as never)));
    await client.deleteAllOf(Lease, { namespace: 'default' });
    for (const error of await Promise.all(deletions))
      expect(error === undefined || isNotFound(error)).toBe(true);
    expect((await client.list(Lease)).items).toEqual([]);
  });

  test('of an object and its scale, of one version: one of them succeeds', async () => {
    const client = fakeClient();
    const scale = client.subResource('scale');
    for (const i of all(20)) {
      const made = await client.create(Deployment, object(`d${i}`, { spec: workload }));
      const body = await scale.get<Any, Any>(Deployment, at(`d${i}`));
      const metadata = { ...made.metadata, annotations: { foo: 'bar' } };
      const scaled = () =>
        scale.update(Deployment, made, { body: { ...body, spec: { replicas: 10 } } });
      const updated = () => client.update(Deployment, { ...made, metadata });
      const both = i % 2 === 0 ? [scaled(), updated()] : [updated(), scaled()];
      const errors = (await Promise.all(both.map(failure))).filter((error) => error !== undefined);
      expect(errors).toHaveLength(1);
      expect(isConflict(errors[0])).toBe(true);
    }
  });
});

describe('a deletion timestamp', () => {
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  const finalizers = ['example.com/hold'];

  test('is set by a deletion, or by an apply that creates, and by no other write', async () => {
    const client = fakeClient();
    const deleted = (name: string) => object(name, { metadata: { name, deletionTimestamp } });
    const made = await client.create(ConfigMap, deleted('a'));
    expect(made.metadata.deletionTimestamp).toBeUndefined();
    const changed = { ...made, metadata: { ...made.metadata, deletionTimestamp } };
    await expect(client.update(ConfigMap, changed)).rejects.toSatisfy(isInvalid);
    const patch = { type: 'merge', body: { metadata: { deletionTimestamp } } } as const;
    await expect(client.patch(ConfigMap, at('a'), patch)).rejects.toSatisfy(isInvalid);
    expect((await client.get(ConfigMap, at('a'))).metadata.deletionTimestamp).toBeUndefined();
    // A kube-apiserver removes a deletion timestamp from the body of a POST, not of an apply.
    const applied = await client.apply(ConfigMap, deleted('b'));
    expect(applied.metadata.deletionTimestamp).toBe(deletionTimestamp);
    await expect(client.create(ConfigMap, object('b'))).rejects.toThrow('object is being deleted');
  });

  test('is neither changed nor removed by any write', async () => {
    const client = fakeClient();
    await client.create(ConfigMap, object('a', { metadata: { name: 'a', finalizers } }));
    await client.delete(ConfigMap, at('a'));
    const deleted = await client.get(ConfigMap, at('a'));
    const stays = deleted.metadata.deletionTimestamp;
    expect(stays).toMatch(/Z$/);
    for (const other of [deletionTimestamp, null]) {
      const body = { metadata: { deletionTimestamp: other } };
      await failure(client.patch(ConfigMap, at('a'), { type: 'merge', body }));
      const metadata = {
        ...deleted.metadata,
        deletionTimestamp: other,
        resourceVersion: undefined,
      };
      await failure(client.update(ConfigMap, { ...deleted, metadata } as never));
      const applied = object('a', {
        metadata: { name: 'a', finalizers, ...body.metadata } as never,
      });
      await failure(client.apply(ConfigMap, applied, { force: true }));
      expect((await client.get(ConfigMap, at('a'))).metadata.deletionTimestamp).toBe(stays);
    }
  });
});

describe('a status', () => {
  const status = { nodeInfo: { bootID: 'x' } };
  const bootOf = ({ status }: Any) => (status?.nodeInfo as { bootID?: string } | undefined)?.bootID;

  test('and the rest of an object are written in turn, with the newest version', async () => {
    const client = fakeClient();
    const made = await client.create(Node, node({ spec: { podCIDR: '10.0.0.0/24' } }));
    const written = await client
      .status()
      .update(Node, { ...made, spec: { unschedulable: true }, status });
    expect(written.spec).toEqual(made.spec);
    expect(bootOf(written)).toBe('x');
    const spec = { ...written.spec, unschedulable: true };
    const updated = await client.update(Node, { ...written, spec, status: {} });
    expect(updated.spec).toMatchObject({ unschedulable: true });
    expect(bootOf(updated)).toBe('x');
    await expect(client.status().update(Node, written)).rejects.toSatisfy(isConflict);
    const again = { ...updated, status: { nodeInfo: { bootID: 'y' } } };
    expect(bootOf(await client.status().update(Node, again))).toBe('y');
    const patch = { type: 'merge', body: { spec: { unschedulable: null }, status } } as const;
    const patched = await client.patch(Node, { name: 'n' }, patch);
    expect([patched.spec?.unschedulable, bootOf(patched)]).toEqual([undefined, 'y']);
    const both = { spec: { unschedulable: true }, status: { nodeInfo: { bootID: 'z' } } };
    const last = await client.status().patch(Node, { name: 'n' }, { type: 'merge', body: both });
    expect([last.spec?.unschedulable, bootOf(last)]).toEqual([undefined, 'z']);
  });

  test('and the object are applied separately', async () => {
    const client = fakeClient();
    const applied = (replicas: number, done: number, metadata: object = {}) =>
      object('d', {
        metadata: { name: 'd', ...metadata },
        spec: { ...workload, replicas },
        status: { replicas: done },
      });
    const both = ({ spec, status }: Any) => [spec?.replicas, status?.replicas];
    const made = await client.apply(Deployment, applied(1, 9));
    expect(both(made)).toEqual([1, undefined]);
    expect(both(await client.status().apply(Deployment, applied(2, 2)))).toEqual([1, 2]);
    expect(both(await client.apply(Deployment, applied(3, 9)))).toEqual([3, 2]);
    const { resourceVersion } = made.metadata;
    const stale = client.status().apply(Deployment, applied(3, 4, { resourceVersion }));
    await expect(stale).rejects.toSatisfy(isConflict);
  });
});

describe('owners of fields', () => {
  const entry = (manager: string, fields: object): Entry => ({
    ...{ manager, operation: 'Update', apiVersion: 'v1' },
    ...{ fieldsType: 'FieldsV1', fieldsV1: fields },
  });

  test('are recorded for creates, patches, updates and updates that create', async () => {
    const client = fakeClient();
    const data = (k: string) => ({ data: { [k]: '1' } });
    const made = await client.create(ConfigMap, object('a', data('a')), { fieldOwner: 'creator' });
    const patch = { type: 'merge', body: data('b') } as const;
    await client.patch(ConfigMap, at('a'), patch, { fieldOwner: 'patcher' });
    const all = { data: { a: '1', b: '1', c: '1' } };
    const updated = await client.update(ConfigMap, object('a', all), { fieldOwner: 'updater' });
    expect(managers(made)).toEqual(['creator']);
    expect(managers(updated)?.sort()).toEqual(['creator', 'patcher', 'updater']);
    const lease = object('l', { spec: { holderIdentity: 'me' } });
    expect(managers(await client.update(Lease, lease, { fieldOwner: 'u' }))).toEqual(['u']);
  });

  test('may be written, or emptied, by an update or a patch', async () => {
    const client = fakeClient();
    const made = await client.create(ConfigMap, object('a', { data: { k: '1' } }));
    const managedFields = [entry('migrated', { 'f:data': { 'f:k': {} } })];
    const metadata = { ...made.metadata, managedFields };
    const updated = await client.update(ConfigMap, { ...made, metadata });
    expect(managers(updated)).toEqual(['migrated']);
    const other = { metadata: { managedFields: [entry('again', { 'f:data': { 'f:k': {} } })] } };
    const patched = await client.patch(ConfigMap, at('a'), { type: 'merge', body: other });
    expect(managers(patched)).toEqual(['again']);
    const none = { ...patched, metadata: { ...patched.metadata, managedFields: [] } };
    expect(managers(await client.update(ConfigMap, none)) ?? []).toEqual([]);
  });

  test('are not changed by managedFields in a write of the status or scale', async () => {
    const client = fakeClient();
    const made = await client.create(Node, node({ spec: { podCIDR: '10.0.0.0/24' } }));
    const metadata = { ...made.metadata, managedFields: [{}] };
    const status = { nodeInfo: { bootID: 'x' } };
    const written = await client.status().update(Node, { ...made, metadata, status });
    expect(managers(written)).toEqual(['fake-client', 'fake-client']);
    const dep = await client.create(Deployment, object('d', { spec: workload }));
    const scale = client.subResource('scale');
    const body = await scale.get<Any, Any>(Deployment, at('d'));
    const odd = { ...body.metadata, managedFields: [entry('odd', { 'f:spec': {} })] };
    await scale.update(Deployment, dep, {
      body: { ...body, metadata: odd, spec: { replicas: 3 } },
    });
    expect(managers(await client.get(Deployment, at('d')))).not.toContain('odd');
  });

  test('of an object that was given with managedFields are kept', async () => {
    const managedFields = [entry('before', { 'f:data': { 'f:k': {} } })];
    const seeded = object('a', { metadata: { name: 'a', managedFields }, data: { k: '1' } });
    const client = fakeClient({ objects: [{ apiVersion: 'v1', kind: 'ConfigMap', ...seeded }] });
    expect(managers(await client.get(ConfigMap, at('a')))).toEqual(['before']);
    const other = object('a', { data: { k: '2' } });
    await expect(client.apply(ConfigMap, other)).rejects.toSatisfy(isConflict);
  });
});

describe('an apply', () => {
  test('removes the fields that only the apply before it had; it sets a version', async () => {
    const client = fakeClient();
    const first = await client.apply(ConfigMap, object('a', { data: { a: '1', b: '1' } }));
    expect(first.metadata.resourceVersion).toMatch(/^[1-9]/);
    const second = await client.apply(ConfigMap, object('a', { data: { b: '2' } }));
    expect(second.data).toEqual({ b: '2' });
    const metadata = { name: 'b', resourceVersion: '1234' };
    const created = await client.apply(ConfigMap, object('b', { metadata }));
    expect(created.metadata.resourceVersion).not.toBe('1234');
    const uid = { name: 'c', uid: 'x' };
    const other = client.apply(ConfigMap, object('c', { metadata: uid }));
    await expect(other).rejects.toSatisfy(isConflict);
  });

  test('of a custom kind merges the fields of several owners', async () => {
    const client = fakeClient();
    await client.apply(Image, object('a', { spec: { size: 1 } }), { fieldOwner: 'one' });
    const both = await client.apply(Image, object('a', { spec: { color: 'red' } }), {
      fieldOwner: 'two',
    });
    expect(both.spec).toEqual({ size: 1, color: 'red' });
    expect(managers(both)?.sort()).toEqual(['one', 'two']);
    const bad = client.apply(Image, object('a'), { fieldOwner: 'a\nb' });
    await expect(bad).rejects.toMatchObject({ status: 422 });
  });
});

describe('a scale', () => {
  const kinds: [string, ReturnType<typeof resource>, object][] = [
    ['Deployment', Deployment, workload],
    ['ReplicaSet', resource('apps/v1', 'ReplicaSet'), workload],
    ['StatefulSet', resource('apps/v1', 'StatefulSet'), { ...workload, serviceName: 's' }],
    [
      'ReplicationController',
      resource('v1', 'ReplicationController'),
      { selector: { app: 'x' }, template: workload.template },
    ],
  ];
  const replicas = (count: number, metadata: object = at('a')) => ({
    ...{ apiVersion: 'autoscaling/v1', kind: 'Scale', metadata },
    spec: { replicas: count },
  });

  test.each(kinds)('of a %s is read, replaced, patched and applied', async (_, kind, spec) => {
    const client = fakeClient();
    const scale = client.subResource('scale');
    const made = await client.create(kind, object('a', { spec: { ...spec, replicas: 2 } }));
    const read = await scale.get<Any, Any>(kind, at('a'));
    expect(read).toMatchObject(replicas(2, { ...at('a'), uid: made.metadata.uid }));
    const count = async () => (await client.get(kind, at('a'))).spec?.replicas;
    await scale.update(kind, made, { body: { ...read, spec: { replicas: 3 } } });
    expect(await count()).toBe(3);
    await scale.patch(kind, at('a'), { type: 'merge', body: { spec: { replicas: 4 } } });
    expect(await count()).toBe(4);
    const applied = await scale.apply(kind, made, { body: replicas(5), force: true });
    expect(applied).toMatchObject({ spec: { replicas: 5 } });
    expect(await count()).toBe(5);
  });

  test('is not found for a Node, a Pod or a missing object', async () => {
    const client = fakeClient();
    const scale = client.subResource('scale');
    const made = await client.create(Node, node());
    const pod = await client.create(Pod, object('p', { spec: workload.template.spec }));
    const calls = [
      scale.get(Node, { name: 'n' }),
      scale.update(Node, made, { body: replicas(1, { name: 'n' }) }),
      scale.get(Pod, at('p')),
      scale.update(Pod, pod, { body: replicas(1, at('p')) }),
      scale.get(Deployment, at('none')),
      scale.update(Deployment, object('none'), { body: replicas(1, at('none')) }),
    ];
    for (const error of await Promise.all(calls.map(failure))) expect(isNotFound(error)).toBe(true);
  });
});

describe('a created subresource', () => {
  const start = async () => {
    const client = fakeClient();
    await client.create(Pod, object('p', { spec: workload.template.spec }));
    await client.create(ServiceAccount, object('s'));
    await client.create(ConfigMap, object('c'));
    return client;
  };
  const eviction = (name: string) => ({
    ...{ apiVersion: 'policy/v1', kind: 'Eviction' },
    metadata: at(name),
  });
  const token = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const evict = (client: Client, kind: typeof Pod, name: string, body: object = eviction(name)) =>
    client.subResource('eviction').create(kind, at(name), body);
  const request = (client: Client, kind: typeof Pod, name: string, body: object = token) =>
    client.subResource('token').create<Any, object>(kind, at(name), body);

  test('eviction deletes the Pod', async () => {
    const client = await start();
    await evict(client, Pod, 'p');
    await expect(client.get(Pod, at('p'))).rejects.toSatisfy(isNotFound);
  });

  test('token answers with a token of the ServiceAccount', async () => {
    const client = await start();
    expect(await request(client, ServiceAccount, 's')).toMatchObject({
      status: { token: expect.stringMatching(/./), expirationTimestamp: expect.any(String) },
    });
  });

  test.each<[string, (client: Client) => Promise<unknown>, number]>([
    ['an eviction of no Pod', (client) => evict(client, Pod, 'none'), 404],
    ['an eviction of something else', (client) => evict(client, ConfigMap, 'c'), 404],
    [
      'an eviction of another kind',
      (client) => evict(client, Pod, 'p', { ...token, metadata: at('p') }),
      400,
    ],
    ['a token of no ServiceAccount', (client) => request(client, ServiceAccount, 'none'), 404],
    ['a token of something else', (client) => request(client, Pod, 'p'), 404],
    [
      'a token of another kind',
      (client) => request(client, ServiceAccount, 's', eviction('s')),
      400,
    ],
    [
      'a subresource that there is not',
      (client) => client.subResource('evictions').create(Pod, at('p'), eviction('p')),
      404,
    ],
  ])('is refused for %s', async (_, call, status) => {
    const client = await start();
    expect(await failure(call(client))).toMatchObject({ status });
    expect((await client.get(Pod, at('p'))).metadata.name).toBe('p');
  });
});

describe('indices', () => {
  const byApp = ({ metadata }: Any) => [metadata.labels?.app ?? ''];

  test('of a resource cannot have the same name', () => {
    const twice = (other: typeof Pod) => () =>
      fakeClient({
        indices: [
          { resource: Pod, indexers: { byApp } },
          { resource: other, indexers: { byApp } },
        ],
      });
    expect(twice(Pod)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining('the index "byApp" of pods twice'),
      }),
    );
    expect(twice(ConfigMap)).not.toThrow();
  });

  test('serve concurrent lists, also of a client with interceptors', async () => {
    const client = fakeClient({
      indices: [{ resource: ConfigMap, indexers: { byApp, byKey: 'data.k' } }],
      interceptors: { get: (inner, kind, key, options) => inner.get(kind, key, options) },
    });
    for (const [name, app, k] of [
      ['a', 'x', '1'],
      ['b', 'x', '2'],
      ['c', 'y', '1'],
    ] as const)
      await client.create(
        ConfigMap,
        object(name, { metadata: { name, labels: { app } }, data: { k } }),
      );
    const names = async (options: object) =>
      (await client.list(ConfigMap, options)).items.map(({ metadata }) => metadata.name).sort();
    const lists: [object, string[]][] = [
      [{ fieldSelector: 'byApp=x' }, ['a', 'b']],
      [{ fieldSelector: 'byApp=z' }, []],
      [{ fieldSelector: 'data.k=1' }, ['a', 'c']],
      [{ fieldSelector: 'data.k=3' }, []],
      [{ fieldSelector: 'byApp=x,data.k=1' }, ['a']],
      [{ fieldSelector: 'byApp=x', labelSelector: 'app=x' }, ['a', 'b']],
      [{ fieldSelector: 'byApp=x', labelSelector: 'app=y' }, []],
      [{ labelSelector: 'app' }, ['a', 'b', 'c']],
      [{ labelSelector: 'other' }, []],
    ];
    const found = await Promise.all(lists.map(([options]) => names(options)));
    expect(found).toEqual(lists.map(([, expected]) => expected));
    const ByName = { ...ConfigMap, indexers: { byName: 'metadata.name' } };
    const byName = await client.list<Any>(ByName, { fieldSelector: 'byName=c' });
    expect(byName.items.map(({ metadata }) => metadata.name)).toEqual(['c']);
    for (const fieldSelector of ['byNode=x', 'data.other=1', 'byApp=x,data.other=1'])
      await expect(names({ fieldSelector })).rejects.toMatchObject({ code: 'UNKNOWN_INDEX' });
    const others = client.list(Pod, { fieldSelector: 'byApp=x' });
    await expect(others).rejects.toMatchObject({ code: 'UNKNOWN_INDEX' });
  });
});
