/**
 * The contract of every client, cached or not: tests that run over each of them, on the embedded
 * and on a real API server.
 */
import { defineResource, newSharedInformerFactory, type Transport } from 'capstan/cache';
import {
  type Client,
  createOrUpdate,
  isAlreadyExists,
  isConflict,
  isInvalid,
  isNotFound,
  listAll,
  mergeFrom,
  newClient,
  newNamespacedClient,
  withFieldValidation,
  withInterceptors,
} from 'capstan/client';
import { newManager } from 'capstan/manager';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type ConfigMap,
  ConfigMaps,
  type Metadata,
  configMap as map,
  unnamed,
} from '../helpers/resources.ts';

interface Deployment {
  apiVersion?: string;
  kind?: string;
  metadata: Metadata;
  spec: {
    replicas?: number;
    selector: { matchLabels: Record<string, string> };
    template: {
      metadata: { labels: Record<string, string> };
      spec: {
        terminationGracePeriodSeconds?: number | bigint;
        containers: { name: string; image: string }[];
      };
    };
  };
  status?: { replicas?: number; observedGeneration?: number };
}

const Deployments = defineResource<Deployment>()({
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
});

interface Secret {
  apiVersion?: string;
  kind?: string;
  metadata: Metadata;
  type?: string;
  stringData?: Record<string, string>;
}

const Secrets = defineResource<Secret>()({
  group: '',
  version: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  namespaced: true,
});

/** A client and the function that ends it. */
export interface Tried {
  readonly client: Client;
  end(): Promise<unknown> | undefined;
}

/** The clients for a server, by name. */
export const CLIENTS: Readonly<Record<string, (transport: Transport) => Promise<Tried>>> = {
  "a manager's client": async (transport) => {
    const manager = newManager({ transport });
    const stop = new AbortController();
    const done = manager.start({ signal: stop.signal });
    await manager.elected();
    return {
      client: manager.client,
      end: () => {
        stop.abort();
        return done;
      },
    };
  },
  'a live client': async (transport) => ({
    client: newClient({ transport, fieldOwner: 'contract' }),
    end: () => undefined,
  }),
  'a client over a cache': async (transport) => {
    const cache = newSharedInformerFactory(transport);
    const client = newClient({ transport, cache, fieldOwner: 'contract' });
    return { client, end: () => cache.shutdown() };
  },
  'a client over a cache of decoded objects': async (transport) => {
    const cache = newSharedInformerFactory(transport, { keep: 'objects', watchList: false });
    const client = newClient({ transport, cache, fieldOwner: 'contract' });
    return { client, end: () => cache.shutdown() };
  },
  'a wrapped client': async (transport) => {
    const cache = newSharedInformerFactory(transport);
    const inner = newClient({ transport, cache, fieldOwner: 'contract' });
    const client = withInterceptors(withInterceptors(inner, {}), {
      get: (next, resource, key, options) => next.get(resource, key, options),
      list: (next, resource, options) => next.list(resource, options),
    });
    return { client, end: () => cache.shutdown() };
  },
};

/**
 * The suite for one client.
 *
 * @param isLive it has no cache: its lists come from the server, with pages and fields
 * @param namespace an existing one that nothing else uses
 */
export function keepsTheContract(
  name: string,
  start: () => Promise<Tried>,
  { namespace, isLive = false }: { namespace: string; isLive?: boolean },
): void {
  describe(name, () => {
    let tried: Tried;
    let client: Client;
    beforeAll(async () => {
      tried = await start();
      client = tried.client;
    });
    afterAll(async () => tried?.end());

    const at = (name: string) => ({ namespace, name });
    const configMap = (
      name: string,
      data: Record<string, string> = {},
      metadata: Partial<Metadata> = {},
    ) => map(name, data, { namespace, ...metadata });
    const deployment = (name: string): Deployment => ({
      metadata: at(name),
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: name } },
        template: {
          metadata: { labels: { app: name } },
          spec: { containers: [{ name: 'c', image: 'i' }] },
        },
      },
    });
    const names = (list: { items: ConfigMap[] }) =>
      list.items.map(({ metadata }) => metadata.name).sort();
    const server = { live: true } as const;

    test('objects of reads are read-only, objects of writes are not', async () => {
      const created = await client.create(ConfigMaps, configMap('readonly', { a: '1' }));
      created.data = { a: '2' };
      const inList = async (options: object) =>
        (await client.list(ConfigMaps, { namespace, ...options })).items[0] as ConfigMap;
      for (const read of [
        await client.get(ConfigMaps, at('readonly')),
        await client.get(ConfigMaps, at('readonly'), server),
        await client.get(ConfigMaps, at('readonly'), { forUpdate: true }),
        await inList({}),
        await inList(server),
      ]) {
        expect(() => {
          (read.data as Record<string, string>).a = '3';
        }).toThrow(TypeError);
        expect(() => {
          read.metadata.labels = {};
        }).toThrow(TypeError);
        expect(read.data).toEqual({ a: '1' });
      }
      await client.delete(ConfigMaps, at('readonly'));
    });

    test('errors are those of the server, for reads too', async () => {
      const map = configMap('errors');
      await client.create(ConfigMaps, map);
      await expect(client.create(ConfigMaps, map)).rejects.toSatisfy(isAlreadyExists);
      const invalid = configMap('Not a name');
      await expect(client.create(ConfigMaps, invalid)).rejects.toSatisfy(isInvalid);
      const none = at('none');
      for (const call of [
        () => client.get(ConfigMaps, none),
        () => client.get(ConfigMaps, none, server),
        () => client.get(ConfigMaps, none, { forUpdate: true }),
        () => client.update(ConfigMaps, configMap('none')),
        () => client.patch(ConfigMaps, none, { type: 'merge', body: {} }),
        () => client.delete(ConfigMaps, none),
      ]) {
        const error = await call().catch((error: unknown) => error);
        expect(isNotFound(error)).toBe(true);
        expect((error as Error).message).toContain('configmaps "none" not found');
      }
      const versioned = configMap('versioned', {}, { resourceVersion: '1' });
      await expect(client.create(ConfigMaps, versioned)).rejects.toMatchObject({ code: 'STATUS' });
      await expect(client.get(ConfigMaps, { name: 'errors' })).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
      await client.delete(ConfigMaps, at('errors'));
      await expect(client.get(ConfigMaps, at('errors'))).rejects.toSatisfy(isNotFound);
    });

    // Some were a plain TypeError, because the argument was read before it was checked.
    test('an invalid resource, key or object is rejected with its own error', async () => {
      const refused = { code: 'INVALID_ARGUMENT' };
      const patch = { type: 'merge', body: { metadata: { finalizers: [] } } } as const;
      const me = { fieldOwner: 'me' };
      for (const each of [client, newNamespacedClient(client, namespace)]) {
        const [status, scale] = [each.status(), each.subResource('scale')];
        const calls: ((resource: typeof ConfigMaps, what: never) => Promise<unknown>)[] = [
          (resource, what) => each.get(resource, what),
          (resource, what) => each.get(resource, what, server),
          (resource, what) => each.patch(resource, what, patch),
          (resource, what) => each.delete(resource, what),
          (resource, what) => each.create(resource, what),
          (resource, what) => each.update(resource, what),
          (resource, what) => each.apply(resource, what, me),
          (resource, what) => status.get(resource, what),
          (resource, what) => status.patch(resource, what, patch),
          (resource, what) => status.update(resource, what),
          (resource, what) => status.apply(resource, what, me),
          (resource, what) => scale.create(resource, what, {}),
        ];
        for (const call of calls) {
          for (const what of [undefined, null, 'a', 1, [], {}])
            await expect(call(ConfigMaps, what as never)).rejects.toMatchObject(refused);
          for (const resource of [undefined, null, 'configmaps', {}])
            await expect(call(resource as never, configMap('a') as never)).rejects.toMatchObject(
              refused,
            );
        }
        for (const resource of [undefined, null, 'configmaps', {}])
          for (const call of [
            () => each.list(resource as never),
            () => each.deleteAllOf(resource as never),
          ])
            await expect(call()).rejects.toMatchObject(refused);
      }
    });

    // Flags of other types were taken for true, and NaN for no grace period.
    test('an option of another type is rejected, and nothing is written', async () => {
      const name = 'option-types';
      await client.create(ConfigMaps, configMap(name, { a: '1' }));
      const patch = { type: 'merge', body: { data: { a: '2' } } } as const;
      const rejects = async (
        option: string,
        call: (options: never) => Promise<unknown>,
        ...of: unknown[]
      ) => {
        for (const value of of)
          await expect(
            call({ [option]: value } as never),
            `${option}: ${value}`,
          ).rejects.toMatchObject({
            code: 'INVALID_ARGUMENT',
            message: expect.stringContaining(`"options.${option}`),
          });
      };
      const [no, notText] = [
        ['false', 'true', 0, 1, null],
        [5, null, {}],
      ];
      for (const each of [client, newNamespacedClient(client, namespace)]) {
        const writes = [
          (options: never) => each.create(ConfigMaps, configMap('option-types-new'), options),
          (options: never) => each.update(ConfigMaps, configMap(name, { a: '2' }), options),
          (options: never) => each.patch(ConfigMaps, at(name), patch, options),
          (options: never) => each.apply(ConfigMaps, configMap(name, { a: '2' }), options),
        ];
        for (const write of writes) {
          await rejects('dryRun', write, ...no);
          await rejects('fieldOwner', write, ...notText);
          await rejects('fieldValidation', write, 'strict', true, null);
        }
        const [, , , apply] = writes;
        await rejects('force', apply!, ...no);
        for (const drop of [
          (options: never) => each.delete(ConfigMaps, at(name), options),
          (options: never) => each.deleteAllOf(ConfigMaps, { namespace, ...(options as object) }),
        ]) {
          await rejects('dryRun', drop, ...no);
          await rejects('gracePeriodSeconds', drop, '0', -1, 1.5, NaN, Infinity, null);
          await rejects('propagationPolicy', drop, 'foreground', 5, null);
          await rejects('preconditions', drop, 'a', null, { uid: 5 }, { resourceVersion: 5 });
        }
        for (const read of [
          (options: never) => each.get(ConfigMaps, at(name), options),
          (options: never) => each.list(ConfigMaps, { namespace, ...(options as object) }),
        ]) {
          for (const flag of ['live', 'readYourWrites', 'forUpdate'])
            await rejects(flag, read, ...no);
          await rejects('resourceVersion', read, ...notText);
        }
        const list = (options: never) => each.list(ConfigMaps, options);
        await expect(list({ labelselector: 'a=b' } as never)).rejects.toMatchObject({
          message: expect.stringContaining('did you mean "labelSelector"?'),
        });
        await rejects('limit', list, '5', -1, 1.5, NaN, null);
        await rejects('continue', list, ...notText);
      }
      expect((await client.get(ConfigMaps, at(name), { live: true })).data).toEqual({ a: '1' });
      await expect(
        client.get(ConfigMaps, at('option-types-new'), { live: true }),
      ).rejects.toSatisfy(isNotFound);
      await client.delete(ConfigMaps, at(name));
    });

    // They were sent as {}, or as an object with a member for each byte.
    test('a value whose content JSON leaves out is rejected with its path', async () => {
      const lost: [unknown, string][] = [
        [new Map([['a', '1']]), 'a value that JSON can say'],
        [new Set(['a']), 'a value that JSON can say'],
        [Promise.resolve({ a: '1' }), 'a value that JSON can say'],
        [{ a: Promise.reject(new Error('late')) }, 'a value that JSON can say'],
        [{ a: /a/ }, 'a value that JSON can say'],
        [{ a: new Error('a') }, 'a value that JSON can say'],
        [{ a: new Uint8Array([1, 2]) }, 'bytes as a base64 text'],
        [{ a: new ArrayBuffer(2) }, 'bytes as a base64 text'],
        [{ a: Buffer.from('a') }, 'bytes as a base64 text'],
      ];
      for (const [data, expected] of lost) {
        const refused = {
          code: 'INVALID_ARGUMENT',
          message: expect.stringMatching(`data(.a)?" expected ${expected}`),
        };
        const object = { ...configMap('lost'), data } as never;
        await expect(client.create(ConfigMaps, object)).rejects.toMatchObject(refused);
        await expect(client.update(ConfigMaps, object)).rejects.toMatchObject(refused);
        await expect(
          client.patch(ConfigMaps, at('lost'), { type: 'merge', body: { data } }),
        ).rejects.toMatchObject(refused);
      }
      await expect(client.get(ConfigMaps, at('lost'), { live: true })).rejects.toSatisfy(
        isNotFound,
      );
    });

    test('a write with an old resourceVersion is a conflict', async () => {
      const created = await client.create(ConfigMaps, configMap('conflict', { a: '1' }));
      const changed = await client.update(ConfigMaps, { ...created, data: { a: '2' } });
      expect((await client.get(ConfigMaps, at('conflict'))).data).toEqual({ a: '2' });
      const lock = mergeFrom(created, { optimisticLock: true });
      const older = { resourceVersion: created.metadata.resourceVersion };
      for (const call of [
        () => client.update(ConfigMaps, { ...created, data: { a: '3' } }),
        () => client.patch(ConfigMaps, at('conflict'), lock.to({ ...created, data: { a: '3' } })),
        () => client.delete(ConfigMaps, at('conflict'), { preconditions: older }),
      ])
        await expect(call()).rejects.toSatisfy(isConflict);
      expect((await client.get(ConfigMaps, at('conflict'))).data).toEqual({ a: '2' });
      const newest = { resourceVersion: changed.metadata.resourceVersion };
      await client.delete(ConfigMaps, at('conflict'), { preconditions: newest });
    });

    test('lists select by labels and by indices, and by no field without an index', async () => {
      for (const [name, page] of [
        ['l1', '1'],
        ['l2', '2'],
        ['l3', '1'],
      ] as const)
        await client.create(ConfigMaps, configMap(name, { page }, { labels: { page } }));
      const list = async (options: object) =>
        names(await client.list(ConfigMaps, { namespace, ...options }));
      expect(await list({ labelSelector: 'page=1' })).toEqual(['l1', 'l3']);
      expect(await list({ labelSelector: { matchLabels: { page: '2' } } })).toEqual(['l2']);
      expect(await list({ labelSelector: 'page in (1,2),page!=1' })).toEqual(['l2']);
      expect(await list({ fieldSelector: 'metadata.name=l2' })).toEqual(['l2']);
      expect(await list({ fieldSelector: `metadata.namespace=${namespace}` })).toHaveLength(3);
      const by = { fieldSelector: 'metadata.name=l1', labelSelector: 'page=2' };
      expect(await list(by)).toEqual([]);
      const unknown = { fieldSelector: 'data.author=me' };
      await expect(list({ ...unknown, ...server })).rejects.toMatchObject({ status: 400 });
      const byIndex = { index: { name: 'byPage', value: '1' } };
      if (isLive) {
        await expect(list(unknown)).rejects.toMatchObject({ status: 400 });
        await expect(list(byIndex)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
      } else {
        await expect(list(unknown)).rejects.toMatchObject({ code: 'UNKNOWN_INDEX' });
        expect(await list(byIndex)).toEqual(['l1', 'l3']);
        expect(await list({ fieldSelector: 'data.page=2' })).toEqual(['l2']);
        const none = { index: { name: 'byAuthor', value: 'me' } };
        await expect(list(none)).rejects.toMatchObject({ code: 'UNKNOWN_INDEX' });
      }
      await client.deleteAllOf(ConfigMaps, { namespace, labelSelector: 'page=1' });
      expect(await list({ labelSelector: 'page' })).toEqual(['l2']);
      await client.deleteAllOf(ConfigMaps, { namespace, labelSelector: 'page' });
      expect(await list({ labelSelector: 'page' })).toEqual([]);
    });

    test('a loop over pages misses no object', async () => {
      const labels = { paged: 'true' };
      const all = ['p1', 'p2', 'p3', 'p4', 'p5'];
      for (const name of all) await client.create(ConfigMaps, configMap(name, {}, { labels }));
      const options = { namespace, labelSelector: 'paged' };
      for (const where of [{}, server]) {
        const found: unknown[] = [];
        let next: string | undefined;
        do {
          const page = { ...options, ...where, limit: 2, continue: next };
          const { items, metadata } = await client.list(ConfigMaps, page);
          found.push(...items.map(({ metadata }) => metadata.name));
          next = metadata.continue;
        } while (next);
        expect(found.sort()).toEqual(all);
      }
      const found: unknown[] = [];
      for await (const { metadata } of listAll(client, ConfigMaps, { ...options, pageSize: 2 }))
        found.push(metadata.name);
      expect(found).toEqual(all);
      if (!isLive)
        await expect(
          client.list(ConfigMaps, { ...options, continue: 'token' }),
        ).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
      await client.deleteAllOf(ConfigMaps, options);
    });

    test('a dry run changes nothing', async () => {
      const dryRun = true;
      const dry = await client.create(ConfigMaps, configMap('dry', { a: '1' }), { dryRun });
      expect(dry.metadata.uid).toMatch(/./);
      await expect(client.get(ConfigMaps, at('dry'))).rejects.toSatisfy(isNotFound);
      const created = await client.create(ConfigMaps, configMap('dry', { a: '1' }));
      const changed = { ...created, data: { a: '2' } };
      expect((await client.update(ConfigMaps, changed, { dryRun })).data).toEqual({ a: '2' });
      const patch = { type: 'merge', body: { data: { a: '3' } } } as const;
      await client.patch(ConfigMaps, at('dry'), patch, { dryRun });
      const apply = { dryRun, force: true, fieldOwner: 'contract' };
      await client.apply(ConfigMaps, configMap('dry', { a: '4' }), apply);
      await client.delete(ConfigMaps, at('dry'), { dryRun });
      await client.deleteAllOf(ConfigMaps, { namespace, dryRun });
      const now = await client.get(ConfigMaps, at('dry'));
      expect(now).toMatchObject({ data: { a: '1' } });
      expect(now.metadata.resourceVersion).toBe(created.metadata.resourceVersion);
      const wrongUid = { preconditions: { uid: '00000000-0000-0000-0000-000000000000' } };
      await expect(client.delete(ConfigMaps, at('dry'), wrongUid)).rejects.toSatisfy(isConflict);
      await client.delete(ConfigMaps, at('dry'), { preconditions: { uid: created.metadata.uid } });
    });

    test('the server generates a name from generateName', async () => {
      const { name: _, ...metadata } = configMap('').metadata;
      const given = { metadata: unnamed({ ...metadata, generateName: 'made-' }) };
      const created = await client.create(ConfigMaps, given);
      const other = await client.create(ConfigMaps, given);
      expect(created.metadata.name).toMatch(/^made-.{5}$/);
      expect(other.metadata.name).not.toBe(created.metadata.name);
      const name = created.metadata.name as string;
      expect((await client.get(ConfigMaps, at(name))).metadata.uid).toBe(created.metadata.uid);
      await client.delete(ConfigMaps, at(name));
      await client.delete(ConfigMaps, at(other.metadata.name as string));
    });

    test('the status subresource writes only the status, an update all but that', async () => {
      const created = await client.create(Deployments, {
        ...deployment('d'),
        status: { replicas: 9 },
      });
      expect(created.status?.replicas ?? 0).toBe(0);
      const status = { replicas: 1, observedGeneration: 1 };
      const spec = { ...created.spec, replicas: 5 };
      const written = await client.status().update(Deployments, { ...created, spec, status });
      expect(written).toMatchObject({ spec: { replicas: 1 }, status });
      const updated = await client.update(Deployments, { ...written, spec, status: {} });
      expect(updated).toMatchObject({ spec: { replicas: 5 }, status });
      const body = { status: { observedGeneration: 2 } };
      await client.status().patch(Deployments, at('d'), { type: 'merge', body });
      const read = await client.get(Deployments, at('d'));
      expect(read).toMatchObject({
        metadata: { generation: 2 },
        status: { ...status, ...body.status },
      });
      expect(await client.status().get(Deployments, at('d'))).toMatchObject({
        spec: { replicas: 5 },
      });
      await expect(client.status().update(Deployments, created)).rejects.toSatisfy(isConflict);
      await client.delete(Deployments, at('d'));
    });

    test('an apply checks a resourceVersion if it has one', async () => {
      const me = { fieldOwner: 'me' };
      const apply = (a: string, metadata: Partial<Metadata> = {}) =>
        client.apply(ConfigMaps, configMap('applied', { a }, metadata), me);
      const made = await apply('1');
      expect(await apply('1')).toEqual(made);
      const second = await apply('2');
      expect(second.data).toEqual({ a: '2' });
      expect(second.metadata.resourceVersion).not.toBe(made.metadata.resourceVersion);
      const { resourceVersion } = second.metadata;
      expect((await apply('3', { resourceVersion })).data).toEqual({ a: '3' });
      await expect(apply('4', { resourceVersion })).rejects.toSatisfy(isConflict);
      const uid = '00000000-0000-0000-0000-000000000000';
      await expect(apply('4', { uid })).rejects.toSatisfy(isInvalid);
      for (const managedFields of [[], [{ manager: 'me', operation: 'Apply' }]])
        await expect(apply('4', { managedFields })).rejects.toMatchObject({ status: 400 });
      await client.delete(ConfigMaps, at('applied'));
      await expect(apply('6', { uid })).rejects.toSatisfy(isConflict);
    });

    test('an apply of immutable fields is rejected with a typed error', async () => {
      const secret = (type: string, key: string) => ({
        metadata: at('typed'),
        type,
        stringData: { [key]: 'x' },
      });
      const me = { fieldOwner: 'me' };
      await client.apply(Secrets, secret('Opaque', 'a'), me);
      const error = await client
        .apply(Secrets, secret('kubernetes.io/ssh-auth', 'ssh-privatekey'), me)
        .catch((error: unknown) => error);
      expect(isInvalid(error)).toBe(true);
      expect((error as Error).message).toContain('field is immutable');
      expect((await client.get(Secrets, at('typed'), server)).type).toBe('Opaque');
      await client.delete(Secrets, at('typed'));
    });

    test('strict validation rejects an unknown field, in each write', async () => {
      const strict = withFieldValidation(client, 'Strict');
      const odd = { shape: 'round' };
      const created = await strict.create(Deployments, deployment('strict'));
      const wrong = { ...created, spec: { ...created.spec, ...odd } };
      const wrongStatus = { ...created, status: odd } as Deployment;
      const patch = { type: 'merge', body: { spec: odd } } as const;
      const statusPatch = { type: 'merge', body: { status: odd } } as const;
      const me = { fieldOwner: 'me', force: true };
      const { metadata } = deployment('strict');
      const status = strict.status();
      for (const call of [
        () => strict.create(Deployments, { ...wrong, metadata: at('other') }),
        () => strict.update(Deployments, wrong),
        () => strict.patch(Deployments, at('strict'), patch),
        () => strict.apply(Deployments, { metadata, spec: odd } as object, me),
        () => status.update(Deployments, wrongStatus),
        () => status.patch(Deployments, at('strict'), statusPatch),
        () => status.apply(Deployments, { metadata, status: odd } as object, me),
      ]) {
        const error = await call().catch((error: unknown) => error);
        expect(error).toMatchObject({ code: 'STATUS' });
        expect((error as Error).message).toMatch(/shape/);
      }
      const kept = await client.get(Deployments, at('strict'), server);
      expect(kept.metadata.resourceVersion).toBe(created.metadata.resourceVersion);
      await client.delete(Deployments, at('strict'));
    });

    test('an object with finalizers is removed with the last of them', async () => {
      const finalizers = ['example.com/hold'];
      const labels = { held: 'true' };
      const held = async (name: string) => {
        const created = await client.create(
          ConfigMaps,
          configMap(name, {}, { finalizers, labels }),
        );
        return created.metadata.name as string;
      };
      const all = ['h1', 'h2', 'h3'];
      for (const name of all) await held(name);
      await client.delete(ConfigMaps, at('h1'));
      await client.deleteAllOf(ConfigMaps, { namespace, labelSelector: 'held' });
      const left = async () => {
        const { items } = await client.list(ConfigMaps, { namespace, labelSelector: 'held' });
        return items.map(({ metadata }) => [metadata.name, typeof metadata.deletionTimestamp]);
      };
      expect((await left()).sort()).toEqual(all.map((name) => [name, 'string']));
      const more = { metadata: { finalizers: [...finalizers, 'example.com/more'] } };
      await expect(
        client.patch(ConfigMaps, at('h1'), { type: 'merge', body: more }),
      ).rejects.toSatisfy(isInvalid);
      const { metadata } = await client.get(ConfigMaps, at('h1'));
      await client.update(ConfigMaps, configMap('h1', {}, { ...metadata, finalizers: [] }));
      await client.patch(ConfigMaps, at('h2'), {
        type: 'merge',
        body: { metadata: { finalizers: null } },
      });
      const me = { fieldOwner: 'me', force: true };
      await client.apply(ConfigMaps, configMap('h3', {}, { finalizers }), me);
      expect((await left()).map(([name]) => name)).toEqual(['h3']);
      const none = [{ op: 'remove', path: '/metadata/finalizers' }] as const;
      await client.patch(ConfigMaps, at('h3'), { type: 'json', operations: none });
      expect(await left()).toEqual([]);
      await client.apply(ConfigMaps, configMap('h4', {}, { finalizers }), me);
      await client.delete(ConfigMaps, at('h4'));
      const held4 = await client.get(ConfigMaps, at('h4'));
      expect(held4.metadata).toMatchObject({ finalizers, deletionTimestamp: expect.any(String) });
      await client.apply(ConfigMaps, configMap('h4'), me);
      await expect(client.get(ConfigMaps, at('h4'))).rejects.toSatisfy(isNotFound);
    });

    test('concurrent writes each take effect, or are conflicts', async () => {
      await client.create(ConfigMaps, configMap('many'));
      const keys = Array.from({ length: 10 }, (_, i) => `k${i}`);
      await Promise.all(
        keys.map((key) =>
          client.patch(ConfigMaps, at('many'), { type: 'merge', body: { data: { [key]: '1' } } }),
        ),
      );
      const patched = await client.get(ConfigMaps, at('many'));
      expect(Object.keys(patched.data ?? {}).sort()).toEqual(keys);
      const updates = await Promise.allSettled(
        keys.map((key) => client.update(ConfigMaps, { ...patched, data: { [key]: '2' } })),
      );
      const refused = updates.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
      expect(refused).toHaveLength(9);
      expect(refused.every(isConflict)).toBe(true);
      await client.delete(ConfigMaps, at('many'));
    });

    test('an integer beyond 2^53 is preserved', async () => {
      const big = 9007199254740993n;
      const { metadata, spec } = deployment('big');
      const pod = { ...spec.template.spec, terminationGracePeriodSeconds: big };
      await client.create(Deployments, {
        metadata,
        spec: { ...spec, template: { ...spec.template, spec: pod } },
      });
      /** The server compares the exact text. */
      const isThere = () =>
        client.patch(Deployments, at('big'), {
          type: 'json',
          operations: [
            {
              op: 'test',
              path: '/spec/template/spec/terminationGracePeriodSeconds',
              value: big,
            },
          ],
        });
      await isThere();
      for (const copy of [
        (object: Deployment) => ({ ...object }),
        (object: Deployment) => structuredClone(object),
      ])
        for (const options of [{}, server]) {
          const read = copy(await client.get(Deployments, at('big'), options));
          await client.update(Deployments, { ...read, spec: { ...read.spec, replicas: 2 } });
          await isThere();
        }
      const mutate = (draft: Deployment): void => {
        draft.spec.replicas = 3;
      };
      const { result } = await createOrUpdate(client, Deployments, at('big'), mutate);
      expect(result).toBe('updated');
      await isThere();
      const again = await createOrUpdate(client, Deployments, at('big'), mutate);
      expect(again.result).toBe('unchanged');
      await client.delete(Deployments, at('big'));
    });

    test('a namespaced client preserves it too', async () => {
      const team = newNamespacedClient(client, namespace);
      await team.create(ConfigMaps, { metadata: { name: 'team' } });
      const read = await team.get(ConfigMaps, { name: 'team' });
      expect(() => {
        read.data = {};
      }).toThrow(TypeError);
      expect(names(await team.list(ConfigMaps, { limit: 1 })).includes('team')).toBe(true);
      await team.delete(ConfigMaps, { name: 'team' });
    });
  });
}
