/**
 * A manager whose account has only Roles in two namespaces of a real API server with RBAC: it
 * converges there across a crash of the server, a ready server never refuses its requests, and it
 * does not touch the third namespace.
 *
 * A kube-apiserver accepts requests some hundred milliseconds before it has read its roles and
 * accounts. Until /readyz answers 200, it may refuse allowed requests (403, or 401 for the token of
 * an account). A client that watches across a crash sees this at times. So a starting server may
 * refuse requests within the namespaces, and the manager must survive that.
 */
import {
  defineResource,
  type KubeObject,
  type Transport,
  type TransportRequest,
} from 'capstan/cache';
import {
  type Client,
  ignoreNotFound,
  newClient,
  type ObjectMeta,
  setControllerReference,
} from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import { newControllerManagedBy } from 'capstan/controller';
import { newManager } from 'capstan/manager';
import { setErrorHandler } from 'capstan/workqueue';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually } from '../helpers/control-plane/conditions.ts';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import { ServiceAccount, tokenOf, transportWith } from './accounts.ts';
import { readKubeConfig } from './same-answers/servers.ts';

interface Thing extends KubeObject {
  metadata: ObjectMeta & { name: string };
  data?: Record<string, string>;
}
type Role = Thing & { rules: object[] };
type Binding = Thing & { roleRef: object; subjects: object[] };

const core = { group: '', version: 'v1' };
const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1', namespaced: true };
const Namespace = defineResource<Thing>()({
  ...core,
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
});
const ConfigMap = defineResource<Thing>()({
  ...core,
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
});
const Secret = defineResource<Thing>()({
  ...core,
  kind: 'Secret',
  plural: 'secrets',
  namespaced: true,
});
const Roles = defineResource<Role>()({ ...rbac, kind: 'Role', plural: 'roles' });
const RoleBindings = defineResource<Binding>()({
  ...rbac,
  kind: 'RoleBinding',
  plural: 'rolebindings',
});

const NAMESPACES = ['team-a', 'team-b'];
const account = { namespace: 'team-a', name: 'copies' };
let plane: ControlPlane;
let transport: Transport;
let own: Transport;
let admin: Client;
/** From the kill until /readyz answers 200. */
let starting = false;
/** The refused requests to a ready server, and to a starting one. */
const refused: string[] = [];
const refusedEarly: string[] = [];

/** Records the refused requests. */
function watched(inner: Transport): Transport {
  return {
    async request(request: TransportRequest) {
      const list = starting ? refusedEarly : refused;
      const response = await inner.request(request);
      if (response.status === 401 || response.status === 403)
        list.push(`${response.status} ${request.method} ${request.path}`);
      return response;
    },
    close: async () => inner.close?.(),
  };
}

/** Gives the account its Role in a namespace. */
async function allow(namespace: string): Promise<void> {
  const metadata = { namespace, name: 'copies' };
  const verbs = ['get', 'list', 'watch', 'create', 'update', 'delete'];
  await admin.create(Roles, {
    metadata,
    rules: [
      { apiGroups: [''], resources: ['configmaps', 'configmaps/finalizers', 'secrets'], verbs },
    ],
  });
  await admin.create(RoleBindings, {
    metadata,
    roleRef: { apiGroup: rbac.group, kind: 'Role', name: 'copies' },
    subjects: [{ kind: 'ServiceAccount', ...account }],
  });
}

beforeAll(async () => {
  setErrorHandler(() => undefined); // of informers, while the server is down
  plane = await ControlPlane.start({ rbac: true });
  transport = kubeConfigTransport(await readKubeConfig(plane));
  admin = newClient({ transport });
  for (const name of [...NAMESPACES, 'team-c'])
    await admin.create(Namespace, { metadata: { name } });
  await admin.create(ServiceAccount, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: account,
  });
  for (const namespace of NAMESPACES) await allow(namespace);
  own = watched(transportWith(plane, await tokenOf(admin, account)));
});

afterAll(async () => {
  await own?.close?.();
  await transport?.close?.();
  await plane?.stop();
  setErrorHandler(undefined);
});

afterEach(({ task }) => {
  if (task.result?.state === 'fail') plane?.keepLogs();
});

test('converges in its namespaces with Roles alone, over a crash of the server', async () => {
  const manager = newManager({ transport: own, cache: { namespaces: NAMESPACES } });
  const { client } = manager;
  newControllerManagedBy(manager)
    .for(ConfigMap)
    .owns(Secret)
    .named('copies')
    .complete(async (request, { get, signal }) => {
      const original = get(request);
      if (original?.data?.copy === undefined) return; // the objects of the cluster itself have none
      const { namespace, name } = request;
      const copy = await client.get(Secret, request, { signal }).catch(ignoreNotFound);
      if (copy !== undefined) return;
      const secret = { metadata: { namespace, name }, stringData: original.data };
      await client.create(Secret, setControllerReference(original, secret, ConfigMap), { signal });
    });
  const stopper = new AbortController();
  const done = manager.start({ signal: stopper.signal });
  done.catch(() => undefined);
  const namesIn = async (namespace: string) => {
    const { items } = await admin.list(Secret, { namespace });
    return items.map(({ metadata }) => metadata.name).sort();
  };
  const create = (namespace: string, name: string) =>
    admin.create(ConfigMap, { metadata: { namespace, name }, data: { copy: name } });
  const copied = (namespace: string, names: string[]) =>
    eventually(`copies in ${namespace}`, async () => {
      const found = await namesIn(namespace);
      return found.join() === names.join() || found.join();
    });

  for (const namespace of [...NAMESPACES, 'team-c']) await create(namespace, 'before');
  for (const namespace of NAMESPACES) await copied(namespace, ['before']);
  await admin.delete(Secret, { namespace: 'team-b', name: 'before' });
  await copied('team-b', ['before']); // recreated, as its owner is in the same namespace
  starting = true;
  await plane.restart('SIGKILL');
  starting = false;
  for (const namespace of NAMESPACES) await create(namespace, 'after');
  for (const namespace of NAMESPACES) await copied(namespace, ['after', 'before']);

  // The server has them; the manager's client reads its cache, which the watch may bring up later.
  const cached = async () => {
    const { items } = await client.list(Secret);
    return items.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`).sort();
  };
  const expected = NAMESPACES.flatMap((namespace) => [`${namespace}/after`, `${namespace}/before`]);
  await eventually('the copies in the cache', async () => {
    const found = await cached();
    return found.join() === expected.join() || found.join();
  });
  expect(refused, 'refused').toEqual([]);
  for (const asked of refusedEarly)
    expect(asked).toMatch(/^40[13] [A-Z]+ \/api\/v1\/namespaces\/team-[ab]\//);
  await expect(client.list(Secret, { namespace: 'team-c' })).rejects.toMatchObject({ status: 403 });
  expect(await namesIn('team-c')).toEqual([]);
  stopper.abort();
  await done;
});

test('gets and loses namespaces while it runs, and names one that it may not list', async () => {
  const lines: string[] = [];
  const log = (level: string) => (message: string, fields?: object) =>
    void lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
  const logger = { debug: () => undefined, info: () => undefined };
  const manager = newManager({
    transport: own,
    cache: { namespaces: ['team-a'] },
    logger: { ...logger, warn: log('warn'), error: log('error') },
  });
  const { cache, client } = manager;
  const told: string[] = [];
  newControllerManagedBy(manager)
    .for(ConfigMap)
    .named('changing')
    .complete(({ namespace, name }, { get }) => {
      const object = get({ namespace, name });
      if (name.startsWith('c-')) told.push(`${namespace}/${name} ${object?.data?.n ?? 'gone'}`);
    });
  const stopper = new AbortController();
  const done = manager.start({ signal: stopper.signal });
  done.catch(() => undefined);
  const comes = (...expected: string[]) =>
    eventually(expected.join(), async () => {
      const found = told.toSorted().join();
      return found === expected.join() || found;
    });
  const put = (namespace: string, name: string) =>
    admin.create(ConfigMap, { metadata: { namespace, name }, data: { n: name } });
  for (const namespace of [...NAMESPACES, 'team-c']) await put(namespace, 'c-1');
  await comes('team-a/c-1 c-1');

  await cache.setNamespaces(['team-a', 'team-b', 'team-c']);
  await eventually('team-b', async () => cache.hasSyncedIn('team-b') || 'not synced');
  await comes('team-a/c-1 c-1', 'team-b/c-1 c-1');
  await eventually('the log of team-c', async () => lines.length > 0 || 'no line');
  for (const line of lines) expect(line).toMatch(/configmaps\/v1 in team-c.*403|403.*team-c/);
  expect(cache.hasSyncedIn('team-c')).toBe(false);
  await allow('team-c');
  await comes('team-a/c-1 c-1', 'team-b/c-1 c-1', 'team-c/c-1 c-1');

  await cache.setNamespaces(['team-b', 'team-c']);
  told.length = 0;
  await admin.delete(RoleBindings, { namespace: 'team-a', name: 'copies' });
  await admin.delete(ConfigMap, { namespace: 'team-a', name: 'c-1' });
  await put('team-a', 'c-2');
  await put('team-b', 'c-2');
  await comes('team-b/c-2 c-2');
  const names = (await client.list(ConfigMap)).items
    .map(({ metadata: { namespace, name } }) => `${namespace}/${name}`)
    .filter((name) => name.includes('/c-'));
  expect(names.sort()).toEqual(['team-b/c-1', 'team-b/c-2', 'team-c/c-1']);
  expect([...cache.informers().keys()].sort()).toEqual([
    'configmaps/v1 in team-b',
    'configmaps/v1 in team-c',
  ]);
  stopper.abort();
  await done;
});
