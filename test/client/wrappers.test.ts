/**
 * Clients that wrap clients. controller-runtime: pkg/client/namespaced_client_test.go,
 * dryrun_test.go, fieldowner_test.go, fieldvalidation_test.go, interceptor/intercept_test.go.
 */
import type { Resource } from 'capstan/cache';
import {
  type Client,
  type Interceptors,
  isNotFound,
  newDryRunClient,
  newNamespacedClient,
  withFieldOwner,
  withFieldValidation,
  withInterceptors,
} from 'capstan/client';
import { describe, expect, test } from 'vitest';
import { lines, live } from '../helpers/client/clients.ts';
import {
  at,
  ConfigMaps,
  configMap,
  type Metadata,
  Namespaces,
  Widgets,
  widget,
} from '../helpers/resources.ts';

const MAPS = '/api/v1/namespaces/team/configmaps';
const REFUSED = { code: 'INVALID_ARGUMENT' };
const unplaced = (name: string, more: object = {}) => ({ metadata: { name }, ...more });

describe('a namespaced client', () => {
  test('reads and writes in its namespace if a call names none', async () => {
    const { client, requests } = await live();
    const team = newNamespacedClient(client, 'team');
    await team.create(ConfigMaps, unplaced('a'));
    await team.get(ConfigMaps, { name: 'a' });
    await team.update(ConfigMaps, unplaced('a', { data: { page: '1' } }));
    await team.patch(ConfigMaps, { name: 'a' }, { type: 'merge', body: { data: { page: '2' } } });
    await team.list(ConfigMaps);
    await team.delete(ConfigMaps, { name: 'a' });
    await team.deleteAllOf(ConfigMaps);
    const { metadata } = await team.create(Widgets, unplaced('w'));
    const { resourceVersion } = metadata;
    await team
      .status()
      .update(Widgets, { metadata: { name: 'w', resourceVersion }, status: { ready: true } });
    await team
      .status()
      .patch(Widgets, { name: 'w' }, { type: 'merge', body: { status: { size: 1 } } });
    expect((await team.status().get(Widgets, { name: 'w' })).status).toEqual({
      ready: true,
      size: 1,
    });
    const WIDGETS = '/apis/example.com/v1/namespaces/team/widgets';
    expect(lines(requests)).toEqual([
      `POST ${MAPS}`,
      `GET ${MAPS}/a`,
      `PUT ${MAPS}/a`,
      `PATCH ${MAPS}/a`,
      `GET ${MAPS}`,
      `DELETE ${MAPS}/a`,
      `DELETE ${MAPS}`,
      `POST ${WIDGETS}`,
      `PUT ${WIDGETS}/w/status`,
      `PATCH ${WIDGETS}/w/status`,
      `GET ${WIDGETS}/w/status`,
    ]);
  });

  test('applies in its namespace, also through a subresource', async () => {
    const { client, requests } = await live();
    const team = newNamespacedClient(client, 'team');
    const object = unplaced('a');
    await team.apply(ConfigMaps, object, { fieldOwner: 'me' }).catch((error: unknown) => error);
    await team
      .status()
      .apply(Widgets, unplaced('w'), { fieldOwner: 'me' })
      .catch((error: unknown) => error);
    expect(requests.map(({ path }) => path)).toEqual([
      `${MAPS}/a`,
      '/apis/example.com/v1/namespaces/team/widgets/w/status',
    ]);
    expect(requests.map(({ body }) => JSON.parse(String(body)).metadata.namespace)).toEqual([
      'team',
      'team',
    ]);
    expect(object).toEqual({ metadata: { name: 'a' } });
  });

  test('accepts its own namespace in a call, and cluster-scoped kinds', async () => {
    const { client, requests } = await live();
    const team = newNamespacedClient(client, 'team');
    await team.create(ConfigMaps, configMap('a', {}, { namespace: 'team' }));
    expect((await team.get(ConfigMaps, at('a', 'team'))).metadata.namespace).toBe('team');
    const created = await team.create(Namespaces, { metadata: { name: 'n' } });
    await team.update(Namespaces, {
      ...created,
      metadata: { ...created.metadata, labels: { a: 'b' } },
    });
    expect((await team.get(Namespaces, { name: 'n' })).metadata.labels).toMatchObject({ a: 'b' });
    expect((await team.list(Namespaces)).items.map(({ metadata }) => metadata.name)).toContain('n');
    const patch = { type: 'merge', body: { metadata: { labels: { a: 'c' } } } } as const;
    expect((await team.patch(Namespaces, { name: 'n' }, patch)).metadata.labels).toMatchObject({
      a: 'c',
    });
    expect(
      (await team.apply(Namespaces, unplaced('m'), { fieldOwner: 'me' })).metadata,
    ).not.toHaveProperty('namespace');
    expect(JSON.parse(String(requests.at(-1)?.body)).metadata).toEqual({ name: 'm' });
    await team.delete(Namespaces, { name: 'n' }, { dryRun: true });
    expect(lines(requests).slice(-3)).toEqual([
      'PATCH /api/v1/namespaces/n',
      'PATCH /api/v1/namespaces/m?fieldManager=me',
      'DELETE /api/v1/namespaces/n?dryRun=All',
    ]);
  });

  test.each<[string, (team: Client) => Promise<unknown>]>([
    ['get', (team) => team.get(ConfigMaps, at('a', 'other'))],
    ['list', (team) => team.list(ConfigMaps, { namespace: 'other' })],
    ['create', (team) => team.create(ConfigMaps, configMap('a', {}, { namespace: 'other' }))],
    ['update', (team) => team.update(ConfigMaps, configMap('a', {}, { namespace: 'other' }))],
    ['patch', (team) => team.patch(ConfigMaps, at('a', 'other'), { type: 'merge', body: {} })],
    [
      'apply',
      (team) =>
        team.apply(ConfigMaps, configMap('a', {}, { namespace: 'other' }), { fieldOwner: 'me' }),
    ],
    ['delete', (team) => team.delete(ConfigMaps, at('a', 'other'))],
    ['deleteAllOf', (team) => team.deleteAllOf(ConfigMaps, { namespace: 'other' })],
    [
      'status update',
      (team) => team.status().update(Widgets, widget('w', {}, { namespace: 'other' })),
    ],
    [
      'status patch',
      (team) => team.status().patch(Widgets, at('w', 'other'), { type: 'merge', body: {} }),
    ],
    [
      'status apply',
      (team) =>
        team.status().apply(Widgets, widget('w', {}, { namespace: 'other' }), { fieldOwner: 'me' }),
    ],
    [
      'subresource create',
      (team) => team.subResource('binding').create(ConfigMaps, at('a', 'other'), {}),
    ],
  ])('rejects another namespace: %s', async (_, call) => {
    const { client, requests } = await live();
    await expect(call(newNamespacedClient(client, 'team'))).rejects.toMatchObject(REFUSED);
    expect(requests).toEqual([]);
  });

  test('deletes nothing in other namespaces', async () => {
    const { client } = await live();
    await client.create(ConfigMaps, configMap('a', {}, { namespace: 'team' }));
    await client.create(ConfigMaps, configMap('a', {}, { namespace: 'other' }));
    await newNamespacedClient(client, 'team').deleteAllOf(ConfigMaps);
    expect((await client.list(ConfigMaps)).items.map(({ metadata }) => metadata.namespace)).toEqual(
      ['other'],
    );
  });
});

describe('a dry run client', () => {
  test('reads, and changes nothing by any write', async () => {
    const { client, requests } = await live();
    const created = await client.create(Widgets, { ...widget('w', { size: 1 }) });
    const dry = newDryRunClient(client);
    const patch = { type: 'merge', body: { spec: { size: 3 }, status: { size: 1 } } } as const;
    const applied = { ...widget('w', { color: 'red' }), status: { ready: true } };
    for (const options of [undefined, { dryRun: false }]) {
      requests.length = 0;
      expect(await dry.create(Widgets, widget('other'), options)).toMatchObject({
        metadata: { name: 'other' },
      });
      const updated = await dry.update(Widgets, { ...created, spec: { size: 2 } }, options);
      expect(updated.spec).toEqual({ size: 2 });
      const patched = await dry.patch(Widgets, at('w'), patch, options);
      expect(patched.spec).toEqual({ size: 3 });
      const owned = { ...options, fieldOwner: 'me' };
      expect((await dry.apply(Widgets, applied, owned)).spec).toEqual({ size: 1, color: 'red' });
      const status = dry.status();
      const written = { ...created, status: { ready: true } };
      expect((await status.update(Widgets, written, options)).status).toEqual({ ready: true });
      expect((await status.patch(Widgets, at('w'), patch, options)).status).toEqual({ size: 1 });
      expect((await status.apply(Widgets, applied, owned)).status).toEqual({ ready: true });
      const scale = dry.subResource('scale');
      await expect(scale.create(Widgets, at('w'), {}, options)).rejects.toSatisfy(isNotFound);
      await dry.delete(Widgets, at('w'), options);
      await dry.deleteAllOf(Widgets, { ...options, namespace: 'default' });
      expect(requests.map(({ query }) => query?.dryRun)).toEqual(
        Array.from({ length: 10 }, () => 'All'),
      );
    }
    expect(await dry.get(Widgets, at('w'))).toEqual(created);
    expect((await dry.list(Widgets)).items).toEqual([created]);
  });

  test('rejects what the server would reject', async () => {
    const { client } = await live();
    const dry = newDryRunClient(client);
    await expect(dry.create(ConfigMaps, configMap('No_Name'))).rejects.toMatchObject({
      reason: 'Invalid',
    });
    await expect(dry.update(ConfigMaps, configMap('none'))).rejects.toSatisfy(isNotFound);
    const created = await client.create(ConfigMaps, configMap('a'));
    const labels = { team: 'no label, as it has spaces' };
    const wrong = { ...created, metadata: { ...created.metadata, labels } };
    await expect(dry.update(ConfigMaps, wrong)).rejects.toMatchObject({ reason: 'Invalid' });
    const patch = { type: 'merge', body: { metadata: { labels } } } as const;
    await expect(dry.patch(ConfigMaps, at('a'), patch)).rejects.toMatchObject({
      reason: 'Invalid',
    });
  });
});

/** Every write once, with these options. */
async function writeAll(
  client: Client,
  options: { fieldOwner?: string; fieldValidation?: 'Ignore' } = {},
): Promise<void> {
  const calls = [
    client.create(Widgets, widget('w'), options),
    client.update(Widgets, widget('w'), options),
    client.patch(Widgets, at('w'), { type: 'merge', body: {} }, options),
    client.apply(Widgets, widget('w'), options),
    client.status().update(Widgets, widget('w'), options),
    client.status().patch(Widgets, at('w'), { type: 'merge', body: {} }, options),
    client.status().apply(Widgets, widget('w'), options),
    client.subResource('scale').create(Widgets, at('w'), {}, options),
  ];
  await Promise.allSettled(calls);
}

test('a client with a field owner sends it in each write without another', async () => {
  const { client, requests } = await live();
  const owned = withFieldOwner(client, 'me');
  await writeAll(owned);
  expect(requests.map(({ query }) => query?.fieldManager)).toEqual(
    Array.from({ length: 8 }, () => 'me'),
  );
  requests.length = 0;
  await writeAll(owned, { fieldOwner: 'you' });
  expect(requests.map(({ query }) => query?.fieldManager)).toEqual(
    Array.from({ length: 8 }, () => 'you'),
  );
  expect(() => withFieldOwner(client, '')).toThrow(/name/);
});

test('a client with field validation sends it in each write but apply', async () => {
  const { client, requests } = await live();
  const strict = withFieldOwner(withFieldValidation(client, 'Strict'), 'me');
  const asked = () =>
    requests.map(
      ({ headers = {}, query }) =>
        (headers['content-type']?.includes('apply') ? 'apply: ' : '') + query?.fieldValidation,
    );
  await writeAll(strict);
  expect(asked().sort()).toEqual(
    ['apply: undefined', 'apply: undefined', ...Array.from({ length: 6 }, () => 'Strict')].sort(),
  );
  requests.length = 0;
  await writeAll(strict, { fieldValidation: 'Ignore' });
  expect(asked().sort()).toEqual(
    ['apply: Ignore', 'apply: Ignore', ...Array.from({ length: 6 }, () => 'Ignore')].sort(),
  );
  expect(() => withFieldValidation(client, 'Sometimes' as never)).toThrow(/Strict/);
});

describe('interceptors', () => {
  type Call = (client: Client) => Promise<unknown>;
  const calls: [name: keyof Interceptors, call: Call][] = [
    ['get', (client) => client.get(ConfigMaps, at('a'))],
    ['list', (client) => client.list(ConfigMaps)],
    ['create', (client) => client.create(ConfigMaps, configMap('a'))],
    ['update', (client) => client.update(ConfigMaps, configMap('a'))],
    ['patch', (client) => client.patch(ConfigMaps, at('a'), { type: 'merge', body: {} })],
    ['apply', (client) => client.apply(ConfigMaps, configMap('a'), { fieldOwner: 'me' })],
    ['delete', (client) => client.delete(ConfigMaps, at('a'))],
    ['deleteAllOf', (client) => client.deleteAllOf(ConfigMaps, { namespace: 'default' })],
    ['subResourceGet', (client) => client.subResource('scale').get(Widgets, at('w'))],
    ['subResourceCreate', (client) => client.subResource('scale').create(Widgets, at('w'), {})],
    ['subResourceUpdate', (client) => client.subResource('scale').update(Widgets, widget('w'))],
    [
      'subResourcePatch',
      (client) => client.subResource('scale').patch(Widgets, at('w'), { type: 'merge', body: {} }),
    ],
    [
      'subResourceApply',
      (client) => client.subResource('scale').apply(Widgets, widget('w'), { fieldOwner: 'me' }),
    ],
  ];

  test.each(calls)(
    '%s is called in place of the method, with the client and its arguments',
    async (name, call) => {
      const { client, requests } = await live();
      const seen: unknown[][] = [];
      const stand = (...all: unknown[]) => {
        seen.push(all);
        return Promise.resolve({ intercepted: true });
      };
      expect(await call(withInterceptors(client, { [name]: stand }))).toEqual({
        intercepted: true,
      });
      expect(requests).toEqual([]);
      expect(seen).toHaveLength(1);
      expect(seen[0]?.[0]).toBe(client);
      if (name.startsWith('subResource')) expect(seen[0]?.[1]).toBe('scale');
    },
  );

  test.each(calls)('without %s the client is called', async (name, call) => {
    const { client, requests } = await live();
    const others = Object.fromEntries(
      calls
        .filter(([other]) => other !== name)
        .map(([other]) => [other, () => Promise.reject(new Error(other))]),
    );
    await call(withInterceptors(client, others)).catch((error: { code?: string }) =>
      expect(error.code).toBe('STATUS'),
    );
    expect(requests).toHaveLength(1);
  });

  // An interceptor's error was thrown where a promise was expected, so `.catch()` did not see it.
  test.each(calls)('%s rejects with what it throws', async (name, call) => {
    const { client } = await live();
    const failing = withInterceptors(client, {
      [name]: () => {
        throw new Error('at once');
      },
    });
    let promise: Promise<unknown> | undefined;
    expect(() => {
      promise = call(failing);
    }).not.toThrow();
    await expect(promise).rejects.toThrow('at once');
  });

  test('status() is the subresource of that name', async () => {
    const { client } = await live();
    const names: string[] = [];
    const spied = withInterceptors(client, {
      async subResourceGet(_inner, name) {
        names.push(name);
        throw new Error('enough');
      },
    });
    await spied
      .status()
      .get(Widgets, at('w'))
      .catch(() => undefined);
    const replaced = withInterceptors(client, {
      subResource(inner, name) {
        names.push(`whole ${name}`);
        return inner.subResource(name);
      },
      subResourceGet: () => Promise.reject(new Error('not called')),
    });
    await expect(replaced.status().get(Widgets, at('w'))).rejects.toSatisfy(isNotFound);
    expect(names).toEqual(['status', 'whole status']);
  });

  test('call on with the client that they are given, and are typed', async () => {
    const { client } = await live();
    let failures = 1;
    const flaky = withInterceptors(client, {
      async create<T extends object>(
        inner: Client,
        resource: Resource<T, string>,
        object: NoInfer<T>,
      ) {
        if (failures-- > 0) throw new Error('the first one is lost');
        return inner.create<T>(resource, object, { fieldOwner: 'interceptor' });
      },
    });
    await expect(flaky.create(ConfigMaps, configMap('a'))).rejects.toThrow('lost');
    const created: { metadata: Metadata } = await flaky.create(ConfigMaps, configMap('a'));
    expect(created.metadata.name).toBe('a');
  });

  test('are rejected if they are not functions, and so is an invalid client', () => {
    expect(() => withInterceptors({} as Client, {})).toThrow(/client/);
    expect(() => newNamespacedClient({ get: 1 } as never, 'team')).toThrow(/client/);
  });
});
