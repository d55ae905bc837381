import { defineResource, ListWatch, SharedIndexInformer, TransportError } from 'capstan/cache';
import {
  defaultRetry,
  isAlreadyExists,
  isConflict,
  isInvalid,
  isNotFound,
  retryOnConflict,
  setControllerReference,
} from 'capstan/client';
import { type FakeTransport, fakeClient, fakeTransport } from 'capstan/testing';
import { FakeClock } from 'capstan/workqueue';
import { describe, expect, onTestFinished, test } from 'vitest';

interface Meta {
  name: string;
  namespace?: string;
  resourceVersion?: string;
  generation?: number;
  uid?: string;
  labels?: Record<string, string>;
  finalizers?: string[];
  deletionTimestamp?: string;
  managedFields?: { manager: string; operation: string }[];
  creationTimestamp?: string;
}
interface ConfigMapObject {
  apiVersion: 'v1';
  kind: 'ConfigMap';
  metadata: Meta;
  data?: Record<string, string>;
}
interface WidgetObject {
  apiVersion: 'example.com/v1';
  kind: 'Widget';
  metadata: Meta;
  spec?: { size?: number; node?: string };
  status?: { ready?: boolean };
}

const ConfigMap = defineResource<ConfigMapObject>()({
  ...{ group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true },
});
const Widget = defineResource<WidgetObject>()({
  ...{ group: 'example.com', version: 'v1', kind: 'Widget', plural: 'widgets', namespaced: true },
  indexers: { byNode: 'spec.node' },
});

const configMap = (name: string, more: Partial<ConfigMapObject> = {}): ConfigMapObject => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap' },
  ...more,
  metadata: { namespace: 'default', name, ...more.metadata },
});
const widget = (name: string, more: Partial<WidgetObject> = {}): WidgetObject => ({
  ...{ apiVersion: 'example.com/v1', kind: 'Widget' },
  ...more,
  metadata: { namespace: 'default', name, ...more.metadata },
});
const key = (name: string) => ({ namespace: 'default', name });

describe('a fake client', () => {
  test('keeps the given objects with status and uid, and takes writes', async () => {
    const client = fakeClient({
      objects: [
        widget('a', { status: { ready: true }, metadata: { name: 'a', uid: 'mine' } }),
        configMap('a'),
      ],
      resources: [Widget],
    });
    const a = await client.get(Widget, key('a'));
    expect(a).toMatchObject({ status: { ready: true }, metadata: { uid: 'mine', generation: 1 } });
    const b = await client.create(ConfigMap, configMap('b', { data: { k: '1' } }));
    await client.update(ConfigMap, { ...b, data: { k: '2' } });
    expect((await client.get(ConfigMap, key('b'))).data).toEqual({ k: '2' });
    await client.delete(ConfigMap, key('b'));
    await expect(client.get(ConfigMap, key('b'))).rejects.toSatisfy(isNotFound);
    await expect(client.create(ConfigMap, configMap('a'))).rejects.toSatisfy(isAlreadyExists);
  });

  test('refuses an update on an old version, so that retryOnConflict retries', async () => {
    const client = fakeClient({ objects: [configMap('a')] });
    const old = await client.get(ConfigMap, key('a'));
    await client.update(ConfigMap, { ...old, data: { k: '1' } });
    await expect(client.update(ConfigMap, { ...old, data: { k: '2' } })).rejects.toSatisfy(
      isConflict,
    );
    let attempts = 0;
    await retryOnConflict(defaultRetry, async () => {
      attempts++;
      const current = attempts === 1 ? old : await client.get(ConfigMap, key('a'));
      await client.update(ConfigMap, { ...current, data: { k: '3' } });
    });
    expect(attempts).toBe(2);
  });

  test('writes the status separately only if there is a status subresource', async () => {
    const apart = fakeClient({
      objects: [widget('a', { spec: { size: 1 } })],
      resources: [Widget],
    });
    const made = await apart.get(Widget, key('a'));
    const both = { ...made, spec: { size: 2 }, status: { ready: true } };
    expect(await apart.status().update(Widget, both)).toMatchObject({
      spec: { size: 1 },
      status: { ready: true },
    });
    const together = fakeClient({
      objects: [widget('a')],
      resources: [Widget],
      statusSubresource: [],
    });
    const plain = await together.get(Widget, key('a'));
    expect(await together.update(Widget, { ...plain, status: { ready: true } })).toMatchObject({
      status: { ready: true },
    });
    await expect(together.status().update(Widget, plain)).rejects.toSatisfy(isNotFound);
  });

  test('counts generations, keeps what finalizers hold and does nothing in a dry run', async () => {
    const client = fakeClient({ resources: [Widget] });
    const dry = await client.create(Widget, widget('a'), { dryRun: true });
    expect(dry.metadata.uid).toBeDefined();
    await expect(client.get(Widget, key('a'))).rejects.toSatisfy(isNotFound);
    const made = await client.create(
      Widget,
      widget('a', { metadata: { name: 'a', finalizers: ['example.com/hold'] } }),
    );
    const sized = await client.update(Widget, { ...made, spec: { size: 2 } });
    expect(sized.metadata.generation).toBe(2);
    await client.delete(Widget, key('a'));
    const held = await client.get(Widget, key('a'));
    expect(held.metadata.deletionTimestamp).toBeDefined();
    await client.update(Widget, { ...held, metadata: { ...held.metadata, finalizers: [] } });
    await expect(client.get(Widget, key('a'))).rejects.toSatisfy(isNotFound);
  });

  test('lists by labels, by indices and by indexed fields', async () => {
    const labelled = (name: string, app: string, node: string) =>
      widget(name, { metadata: { name, labels: { app } }, spec: { node } });
    const client = fakeClient({
      objects: [labelled('a', 'x', 'n1'), labelled('b', 'x', 'n2'), labelled('c', 'y', 'n1')],
      resources: [Widget],
      indices: [
        {
          resource: Widget,
          indexers: { byApp: (object: WidgetObject) => [object.metadata.labels?.app ?? ''] },
        },
      ],
    });
    const names = async (options: Parameters<typeof client.list>[1]) =>
      (await client.list(Widget, options)).items.map(({ metadata }) => metadata.name).sort();
    expect(await names({ namespace: 'default', labelSelector: 'app=x' })).toEqual(['a', 'b']);
    expect(await names({ index: { name: 'byNode', value: 'n1' } })).toEqual(['a', 'c']);
    expect(await names({ index: { name: 'byApp', value: 'y' } })).toEqual(['c']);
    expect(await names({ fieldSelector: 'byApp=y' })).toEqual(['c']);
    expect(await names({ fieldSelector: 'spec.node=n1', labelSelector: 'app=x' })).toEqual(['a']);
    expect(await names({ fieldSelector: 'metadata.name=b' })).toEqual(['b']);
  });

  test('applies with an owner of fields of its own, and patches in all languages', async () => {
    const client = fakeClient({ fieldOwner: 'me' });
    const applied = await client.apply(ConfigMap, configMap('a', { data: { k: '1', m: '1' } }));
    expect(applied.metadata.managedFields).toEqual([
      expect.objectContaining({ manager: 'me', operation: 'Apply' }),
    ]);
    const other = configMap('a', { data: { k: '2' } });
    await expect(client.apply(ConfigMap, other, { fieldOwner: 'other' })).rejects.toSatisfy(
      isConflict,
    );
    await client.patch(ConfigMap, key('a'), { type: 'merge', body: { data: { n: '1' } } });
    await client.patch(ConfigMap, key('a'), { type: 'strategic', body: { data: { m: null } } });
    const operations = [{ op: 'add', path: '/data/o', value: '1' }] as const;
    const patched = await client.patch(ConfigMap, key('a'), { type: 'json', operations });
    expect(patched.data).toEqual({ k: '1', n: '1', o: '1' });
    // What was applied and is no longer goes; what was patched stays.
    expect((await client.apply(ConfigMap, configMap('a'), { force: true })).data).toEqual({
      n: '1',
      o: '1',
    });
  });

  test('lets interceptors in before the server', async () => {
    let failures = 1;
    const client = fakeClient({
      objects: [configMap('a')],
      interceptors: {
        async get(inner, resource, at, options) {
          if (failures-- > 0) throw new Error('not now');
          return inner.get(resource, at, options);
        },
      },
    });
    await expect(client.get(ConfigMap, key('a'))).rejects.toThrow('not now');
    expect((await client.get(ConfigMap, key('a'))).metadata.name).toBe('a');
  });

  test('takes an owner with the uid that the server gave', async () => {
    const client = fakeClient({ objects: [widget('owner')], resources: [Widget] });
    const owner = await client.get(Widget, key('owner'));
    const owned = setControllerReference(owner, configMap('owned'), Widget);
    const made = await client.create(ConfigMap, owned);
    expect(made.metadata).toMatchObject({
      ownerReferences: [{ kind: 'Widget', uid: owner.metadata.uid, controller: true }],
    });
  });

  test('refuses strict validation with the error of the embedded server', async () => {
    const client = fakeClient();
    const odd = { ...configMap('a'), odd: 1 };
    await expect(client.create(ConfigMap, odd, { fieldValidation: 'Strict' })).rejects.toThrow(
      'unknown field "odd"',
    );
    const bad = configMap('Not A Name');
    await expect(client.create(ConfigMap, bad)).rejects.toSatisfy(isInvalid);
  });

  test.for<[what: string, objects: object[]]>([
    ['of an unknown kind', [widget('a')]],
    ['without a name', [{ ...configMap('a'), metadata: { namespace: 'default' } }]],
    ['without a namespace', [{ ...configMap('a'), metadata: { name: 'a' } }]],
    ['without a kind', [{ metadata: { name: 'a' } }]],
    ['that is there twice', [configMap('a'), configMap('a')]],
    [
      'that is being deleted and held by nothing',
      [configMap('a', { metadata: { name: 'a', deletionTimestamp: '2026-01-01T00:00:00Z' } })],
    ],
    ['that is null', [null as unknown as object]],
    [
      'with a label that is no text',
      [{ ...configMap('a'), metadata: { ...configMap('a').metadata, labels: { a: 1 } } }],
    ],
  ])('refuses an object %s, and stores none of those with it', async ([, objects]) => {
    const transport = fakeTransport();
    expect(() => transport.add(configMap('first'), ...objects)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
    const client = fakeClient({ server: transport });
    expect((await client.list(ConfigMap)).items).toEqual([]);
  });
});

test('what is no list in the options of a fake is INVALID_ARGUMENT', () => {
  // They were bare TypeErrors, such as "objects is not iterable".
  const refused = expect.objectContaining({ code: 'INVALID_ARGUMENT' });
  for (const wrong of [null, 7, {}, 'objects', new Date(0)] as never[]) {
    for (const name of ['objects', 'resources', 'indices', 'statusSubresource'])
      expect(() => fakeClient({ [name]: wrong }), name).toThrow(refused);
    for (const name of ['objects', 'resources'])
      if (wrong !== null) expect(() => fakeTransport({ [name]: wrong }), name).toThrow(refused);
  }
});

/** An informer on a transport; both end with the test. */
async function informerOn(transport: FakeTransport, clock: FakeClock) {
  const informer = new SharedIndexInformer(new ListWatch(transport, ConfigMap), { clock });
  const told: string[] = [];
  informer.addEventHandler({
    onAdd: ({ metadata }) => void told.push(`+${metadata.name}`),
    onUpdate: (_, { metadata, data }) =>
      void told.push(`~${metadata.name} ${JSON.stringify(data)}`),
    onDelete: (object) =>
      void told.push(`-${'metadata' in object ? object.metadata.name : object.key}`),
  });
  const running = informer.run();
  onTestFinished(async () => {
    await informer.stop();
    await running;
    await transport.close();
  });
  await clock.settle();
  return { informer, told };
}

describe('a fake transport', () => {
  test('feeds an informer without a socket: its list, then every event', async () => {
    const clock = new FakeClock();
    const transport = fakeTransport({ clock, objects: [configMap('a')] });
    const client = fakeClient({ server: transport });
    const { informer, told } = await informerOn(transport, clock);
    expect(informer.hasSynced()).toBe(true);
    await client.create(ConfigMap, configMap('b'));
    await client.patch(ConfigMap, key('a'), { type: 'merge', body: { data: { k: '1' } } });
    await client.delete(ConfigMap, key('b'));
    transport.add(configMap('c'));
    await clock.settle();
    expect(told).toEqual(['+a', '+b', '~a {"k":"1"}', '-b', '+c']);
  });

  test('cuts connections, and the informer comes back when its time has come', async () => {
    const clock = new FakeClock();
    const transport = fakeTransport({ clock, objects: [configMap('a')] });
    const { told } = await informerOn(transport, clock);
    // A watch that ends within its first second is taken for a fault of the server, and is listed
    // again.
    await clock.run(2000);
    transport.dropConnections();
    transport.add(configMap('b'));
    await clock.run(60_000);
    expect(told).toEqual(['+a', '+b']);
  });

  test('meets the faults of the embedded server', async () => {
    const transport = fakeTransport({ objects: [configMap('a')] });
    const get = () =>
      transport.request({ method: 'GET', path: '/api/v1/namespaces/default/configmaps/a' });
    transport.inject({ do: 'status', status: 503, times: 1 });
    expect((await get()).status).toBe(503);
    transport.inject({ do: 'reset', times: 1 });
    await expect(get()).rejects.toMatchObject({ kind: 'reset' });
    const takeBack = transport.inject({ do: 'refuse' });
    await expect(get()).rejects.toMatchObject({ kind: 'refused' });
    takeBack();
    transport.inject({ do: 'drop', afterBytes: 10, times: 1 });
    const cut = await get();
    const read: Uint8Array[] = [];
    await expect(
      (async () => {
        for await (const chunk of cut.body) read.push(chunk);
      })(),
    ).rejects.toMatchObject({ kind: 'reset' });
    expect(Buffer.concat(read)).toHaveLength(10);
    expect(transport.unmetFaults()).toEqual([]);
    expect((await get()).status).toBe(200);
  });

  test('ends with its signal, before the answer and within it', async () => {
    const transport = fakeTransport({ objects: [configMap('a')] });
    const abort = new AbortController();
    const path = '/api/v1/configmaps';
    const { body } = await transport.request({
      method: 'GET',
      path,
      query: { watch: '1' },
      signal: abort.signal,
    });
    const events = body[Symbol.asyncIterator]();
    expect((await events.next()).done).toBe(false);
    const next = events.next();
    abort.abort();
    await expect(next).rejects.toMatchObject({ kind: 'aborted' });
    await expect(
      transport.request({ method: 'GET', path, signal: abort.signal }),
    ).rejects.toBeInstanceOf(TransportError);
  });

  test('is closed for good', async () => {
    const transport = fakeTransport();
    await transport.close();
    await expect(transport.request({ method: 'GET', path: '/version' })).rejects.toMatchObject({
      kind: 'refused',
    });
    expect(() => transport.inject({ do: 'reset' })).toThrow(
      expect.objectContaining({ code: 'STOPPED' }),
    );
  });

  test('requires a token if one is configured', async () => {
    const transport = fakeTransport({ tokens: ['good'] });
    const ask = (headers: Record<string, string>) =>
      transport.request({ method: 'GET', path: '/version', headers });
    expect((await ask({})).status).toBe(401);
    expect((await ask({ Authorization: 'Bearer good' })).status).toBe(200);
  });
});
