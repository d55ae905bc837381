/** A server that judges requests by the Roles and bindings that it holds. */
import { newClient } from 'capstan/client';
import { ApiServer, fakeTransport } from 'capstan/testing';
import { describe, expect, test } from 'vitest';
import {
  APPLY_PATCH,
  ApiRequests,
  type ApiResponse,
  configMapBody,
  startApi,
} from '../helpers/server/requests.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const NAMESPACED = `${RBAC}/namespaces/default`;
const MAPS = '/api/v1/namespaces/default/configmaps';
const GROUP = 'rbac.authorization.k8s.io';

const rule = (resources: string[], verbs: string[], more: object = {}): object => ({
  apiGroups: [''],
  resources,
  verbs,
  ...more,
});
const role = (name: string, ...rules: object[]): object => ({ metadata: { name }, rules });
const binding = (name: string, kind: string, subject: object): object => ({
  metadata: { name },
  roleRef: { apiGroup: GROUP, kind, name },
  subjects: [subject],
});
const ann = { kind: 'User', apiGroup: GROUP, name: 'ann' };

/** A server on which `ann` has these rules in the namespace `default`; and requests as her. */
async function granted(...rules: object[]): Promise<{
  api: ApiRequests;
  as: (user: string, method: string, path: string, body?: unknown) => Promise<ApiResponse>;
}> {
  const { api } = await startApi({ authorization: 'RBAC' });
  await api.make(`${NAMESPACED}/roles`, role('r', ...rules));
  await api.make(`${NAMESPACED}/rolebindings`, binding('r', 'Role', ann));
  const as = (user: string, method: string, path: string, body?: unknown): Promise<ApiResponse> =>
    api.send(method, path, {
      headers: { 'impersonate-user': user },
      ...(body === undefined ? {} : { body }),
      ...(method === 'PATCH' ? { type: 'application/merge-patch+json' } : {}),
    });
  return { api, as };
}

describe('a Role', () => {
  test('allows its verbs on its resources in its namespace, and nothing else', async () => {
    const { as } = await granted(rule(['configmaps'], ['get', 'create']));
    expect((await as('ann', 'POST', MAPS, configMapBody('a'))).status).toBe(201);
    expect((await as('ann', 'GET', `${MAPS}/a`)).status).toBe(200);
    const refused = await as('ann', 'DELETE', `${MAPS}/a`);
    expect(refused.status).toBe(403);
    expect(refused.body).toMatchObject({
      reason: 'Forbidden',
      details: { name: 'a', kind: 'configmaps' },
      message:
        'configmaps "a" is forbidden: User "ann" cannot delete resource "configmaps" in API ' +
        'group "" in the namespace "default"',
    });
    for (const [method, path] of [
      ['GET', MAPS],
      ['GET', `${MAPS}?watch=true`],
      ['DELETE', MAPS],
      ['PUT', `${MAPS}/a`],
      ['PATCH', `${MAPS}/a`],
      ['GET', '/api/v1/namespaces/other/configmaps/a'],
      ['GET', '/api/v1/configmaps'],
      ['GET', '/api/v1/namespaces/default/secrets/a'],
      ['GET', '/metrics'],
    ] as const)
      expect([path, (await as('ann', method, path)).status]).toEqual([path, 403]);
    expect((await as('bob', 'GET', `${MAPS}/a`)).status).toBe(403);
    expect((await as('bob', 'GET', '/apis')).status).toBe(200);
  });

  test.each<[string, object, string, string, number]>([
    ['a name', rule(['configmaps'], ['get'], { resourceNames: ['a'] }), 'GET', `${MAPS}/a`, 404],
    [
      'another name',
      rule(['configmaps'], ['get'], { resourceNames: ['a'] }),
      'GET',
      `${MAPS}/b`,
      403,
    ],
    [
      'a name for a list',
      rule(['configmaps'], ['list'], { resourceNames: ['a'] }),
      'GET',
      MAPS,
      403,
    ],
    [
      'a name for a list of that name',
      rule(['configmaps'], ['list'], { resourceNames: ['a'] }),
      'GET',
      `${MAPS}?fieldSelector=metadata.name%3Da`,
      200,
    ],
    [
      'the object alone',
      rule(['pods'], ['*']),
      'GET',
      '/api/v1/namespaces/default/pods/a/log',
      403,
    ],
    [
      'a subresource',
      rule(['pods/log'], ['get']),
      'GET',
      '/api/v1/namespaces/default/pods/a/log',
      404,
    ],
    [
      'a subresource of all',
      rule(['*/log'], ['get']),
      'GET',
      '/api/v1/namespaces/default/pods/a/log',
      404,
    ],
    ['everything of the group', rule(['*'], ['*']), 'DELETE', `${MAPS}/a`, 404],
    [
      'everything of another group',
      { ...rule(['*'], ['*']), apiGroups: ['apps'] },
      'GET',
      MAPS,
      403,
    ],
  ])('of %s', async (_, granting, method, path, status) => {
    const { as } = await granted(granting);
    expect((await as('ann', method, path)).status).toBe(status);
  });

  // It did with `patch` alone, and so a Role that passed here was refused by every real server.
  test('of patch and update makes no object by an apply or an update', async () => {
    const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
    const { api, as } = await granted(
      rule(['configmaps'], ['patch']),
      rule(['leases'], ['update'], { apiGroups: ['coordination.k8s.io'] }),
    );
    const apply = () =>
      api.send('PATCH', `${MAPS}/a`, {
        body: configMapBody('a'),
        type: APPLY_PATCH,
        query: { fieldManager: 'x' },
        headers: { 'impersonate-user': 'ann' },
      });
    const refused = await apply();
    expect([refused.status, refused.body.message]).toEqual([
      403,
      'configmaps "a" is forbidden: User "ann" cannot create resource "configmaps" in API group ' +
        '"" in the namespace "default"',
    ]);
    expect((await as('ann', 'PUT', `${leases}/a`, { metadata: { name: 'a' } })).status).toBe(403);
    await api.make(MAPS, configMapBody('a'));
    expect((await apply()).status).toBe(200);
  });

  test('that is not there is told, and that is changed or taken away counts at once', async () => {
    const { api, as } = await granted(rule(['configmaps'], ['list']));
    expect((await as('ann', 'GET', MAPS)).status).toBe(200);
    await api.delete(`${NAMESPACED}/roles/r`);
    const refused = await as('ann', 'GET', MAPS);
    expect([refused.status, refused.body.message]).toEqual([
      403,
      expect.stringContaining('RBAC: role.rbac.authorization.k8s.io "r" not found'),
    ]);
  });
});

describe('the ClusterRoles that a server begins with', () => {
  const asAnn = { headers: { 'impersonate-user': 'ann' } };

  test('view reads all but Secrets, and edit writes, by aggregation', async () => {
    const { api } = await startApi({ authorization: 'RBAC' });
    await api.make(`${NAMESPACED}/rolebindings`, {
      ...binding('view', 'ClusterRole', ann),
    });
    expect((await api.send('GET', MAPS, asAnn)).status).toBe(200);
    expect((await api.send('GET', '/api/v1/configmaps', asAnn)).status).toBe(403);
    expect((await api.send('GET', MAPS.replace('configmaps', 'secrets'), asAnn)).status).toBe(403);
    const write = { ...asAnn, body: configMapBody('a') };
    expect((await api.send('POST', MAPS, write)).status).toBe(403);
    await api.make(`${NAMESPACED}/rolebindings`, binding('edit', 'ClusterRole', ann));
    expect((await api.send('POST', MAPS, write)).status).toBe(201);
  });

  test('an aggregated one has the rules of those that it selects', async () => {
    const { api } = await startApi({ authorization: 'RBAC' });
    const selector = { matchLabels: { to: 'sum' } };
    await api.make(`${RBAC}/clusterroles`, {
      metadata: { name: 'sum' },
      aggregationRule: { clusterRoleSelectors: [selector] },
    });
    await api.make(`${RBAC}/clusterrolebindings`, binding('sum', 'ClusterRole', ann));
    expect((await api.send('GET', '/api/v1/nodes', asAnn)).status).toBe(403);
    await api.make(`${RBAC}/clusterroles`, {
      metadata: { name: 'part', labels: { to: 'sum' } },
      rules: [rule(['nodes'], ['list']), { nonResourceURLs: ['/x/*'], verbs: ['get'] }],
    });
    expect((await api.send('GET', '/api/v1/nodes', asAnn)).status).toBe(200);
    expect((await api.send('GET', '/x/y', asAnn)).status).toBe(404);
  });
});

describe('nobody', () => {
  test('grants what they may not do', async () => {
    const { as, api } = await granted(rule(['configmaps'], ['get']), {
      ...rule(['roles', 'rolebindings'], ['create', 'patch']),
      apiGroups: [GROUP],
    });
    const roles = `${NAMESPACED}/roles`;
    const bindings = `${NAMESPACED}/rolebindings`;
    const grant = (name: string, ...rules: object[]) =>
      as('ann', 'POST', roles, role(name, ...rules));
    expect((await grant('own', rule(['configmaps'], ['get']))).status).toBe(201);
    const refused = await grant('more', rule(['configmaps'], ['get', 'delete']));
    expect([refused.status, refused.body.details]).toEqual([
      403,
      { name: 'more', group: GROUP, kind: 'roles' },
    ]);
    expect(refused.body.message).toContain(
      'attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], ' +
        'Resources:["configmaps"], Verbs:["delete"]}',
    );
    const rules = [rule(['secrets'], ['get'])];
    expect((await as('ann', 'PATCH', `${roles}/own`, { rules })).status).toBe(403);
    const labels = { metadata: { labels: { a: 'b' } } };
    expect((await as('ann', 'PATCH', `${roles}/r`, labels)).status).toBe(200);
    expect((await as('ann', 'POST', bindings, binding('own', 'Role', ann))).status).toBe(201);
    const admin = binding('cluster-admin', 'ClusterRole', ann);
    expect((await as('ann', 'POST', bindings, admin)).status).toBe(403);
    await api.make(
      roles,
      role('binder', { ...rule(['clusterroles'], ['bind']), apiGroups: [GROUP] }),
    );
    await api.make(bindings, binding('binder', 'Role', ann));
    expect((await as('ann', 'POST', bindings, admin)).status).toBe(201);
  });

  test('impersonates without the verb', async () => {
    const users = { a: { name: 'ann' }, m: { name: 'root', groups: ['system:masters'] } };
    const { api } = await startApi({ authorization: 'RBAC', users });
    const send = (token: string, headers: Record<string, string>) =>
      api.send('GET', '/api/v1/nodes', {
        headers: { authorization: `Bearer ${token}`, ...headers },
      });
    expect((await send('m', {})).status).toBe(200);
    expect((await send('m', { 'impersonate-user': 'bob' })).status).toBe(403);
    const refused = await send('a', {
      'impersonate-user': 'root',
      'impersonate-group': 'system:masters',
    });
    expect([refused.status, refused.body.message]).toEqual([
      403,
      expect.stringContaining('User "ann" cannot impersonate'),
    ]);
    const headers = { authorization: 'Bearer m' };
    const allowed = {
      metadata: { name: 'as-bob' },
      rules: [rule(['users'], ['impersonate'], { resourceNames: ['bob'] })],
    };
    await api.send('POST', `${RBAC}/clusterroles`, { body: allowed, headers });
    const bound = binding('as-bob', 'ClusterRole', ann);
    await api.send('POST', `${RBAC}/clusterrolebindings`, { body: bound, headers });
    const as = async (user: string): Promise<unknown> =>
      (await send('a', { 'impersonate-user': user })).body.message;
    expect(await as('bob')).toContain('User "bob" cannot list resource "nodes"');
    expect(await as('eve')).toContain('User "ann" cannot impersonate');
    expect((await send('a', { 'impersonate-group': 'g' })).status).toBe(400);
  });

  test('without a token is anonymous, and with a wrong one is refused', async () => {
    const { api } = await startApi({ authorization: 'RBAC', users: { a: { name: 'ann' } } });
    expect((await api.get('/version')).status).toBe(200);
    const refused = await api.get('/api/v1/nodes');
    expect([refused.status, refused.body.message]).toEqual([
      403,
      expect.stringContaining('User "system:anonymous"'),
    ]);
    const wrong = { headers: { authorization: 'Bearer b' } };
    expect((await api.send('GET', '/version', wrong)).status).toBe(401);
  });
});

describe('a program', () => {
  const account = 'system:serviceaccount:default:web';
  const objects = [
    {
      apiVersion: `${GROUP}/v1`,
      kind: 'Role',
      metadata: { name: 'web', namespace: 'default' },
      rules: [rule(['configmaps'], ['get', 'list', 'watch'])],
    },
    {
      apiVersion: `${GROUP}/v1`,
      kind: 'RoleBinding',
      metadata: { name: 'web', namespace: 'default' },
      roleRef: { apiGroup: GROUP, kind: 'Role', name: 'web' },
      subjects: [{ kind: 'ServiceAccount', name: 'web' }],
    },
  ];
  const maps = {
    group: '',
    version: 'v1',
    kind: 'ConfigMap',
    plural: 'configmaps',
    namespaced: true,
    indexers: {},
  } as const;

  test('runs as a ServiceAccount in the process', async () => {
    const transport = fakeTransport({ authorization: 'RBAC', objects });
    const client = newClient({ transport: transport.as(account) });
    expect((await client.list(maps, { namespace: 'default' })).items).toEqual([]);
    await expect(client.list(maps)).rejects.toMatchObject({ reason: 'Forbidden' });
    await transport.close();
  });

  test('runs as a ServiceAccount over a socket, by name or by its token', async () => {
    await using server = await ApiServer.start({ authorization: 'RBAC' });
    const admin = new ApiRequests(server.transport());
    await admin.make(`${NAMESPACED}/roles`, objects[0] as object);
    await admin.make(`${NAMESPACED}/rolebindings`, objects[1] as object);
    const accounts = '/api/v1/namespaces/default/serviceaccounts';
    await admin.make(accounts, { metadata: { name: 'web' } });
    const { status } = await admin.make(`${accounts}/web/token`, {});
    const authorization = `Bearer ${(status as { token: string }).token}`;
    for (const options of [{ as: account }, { headers: { authorization } }]) {
      const web = new ApiRequests(server.transport(options));
      expect((await web.get(MAPS)).status).toBe(200);
      expect((await web.send('POST', MAPS, { body: configMapBody('a') })).status).toBe(403);
      await web.close();
    }
    await admin.close();
  });

  test('is known with its groups and extras', async () => {
    await using server = await ApiServer.start();
    const api = new ApiRequests(
      server.transport({
        as: { name: 'ann', groups: ['a', 'b'], extra: { 'x.io/y': ['1', '2'] } },
      }),
    );
    const { body } = await api.send('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
      body: {},
    });
    expect(body.status).toEqual({
      userInfo: {
        username: 'ann',
        groups: ['a', 'b', 'system:authenticated'],
        extra: { 'x.io/y': ['1', '2'] },
      },
    });
    await api.close();
  });

  test('that asks for what there is not is told', async () => {
    const invalid = { code: 'INVALID_ARGUMENT' };
    await expect(ApiServer.start({ authorization: 'ABAC' as 'RBAC' })).rejects.toMatchObject(
      invalid,
    );
    await expect(ApiServer.start({ users: { a: { name: '' } } })).rejects.toMatchObject(invalid);
    expect(() => fakeTransport().as('')).toThrow(expect.objectContaining(invalid));
  });
});
