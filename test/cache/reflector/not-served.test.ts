/**
 * Errors for a resource that the server does not serve. With a wrong plural or version, clients,
 * lists and informers gave "the server could not find the requested resource"; only controllers
 * named the plural and version of the kind.
 */
import {
  defineResource,
  Indexer,
  type KubeObject,
  ListWatch,
  list,
  listItems,
  Reflector,
  type Resource,
  type Transport,
  watch,
} from 'capstan/cache';
import { type Client, isNotFound, newClient } from 'capstan/client';
import { FakeClock, fakeTransport } from 'capstan/testing';
import { describe, expect, test } from 'vitest';

const define = (group: string, version: string, kind: string, plural: string) =>
  defineResource<KubeObject>()({ group, version, kind, plural, namespaced: true });
const key = { namespace: 'default', name: 'a' };

/** A server that records its requests. */
function setUp() {
  const inner = fakeTransport({
    objects: [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } }],
  });
  const asked: string[] = [];
  const transport: Transport = {
    request: (request) => {
      asked.push(request.path);
      return inner.request(request);
    },
  };
  return { transport, asked };
}

const first = async (items: AsyncIterable<unknown>): Promise<unknown> =>
  items[Symbol.asyncIterator]().next();
const failureOf = (call: Promise<unknown>): Promise<Error> =>
  call.then(
    () => new Error('no error'),
    (error: Error) => error,
  );

/** The failures of a reflector, in order. */
async function reflect(transport: Transport, resource: Resource<KubeObject>, times = 1) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const met: Error[] = [];
  const reflector = new Reflector(new ListWatch(transport, resource), new Indexer<KubeObject>(), {
    clock,
    watchErrorHandler: (error) => {
      if (met.push(error as Error) === times) stop.abort();
    },
  });
  const running = reflector.run({ signal: stop.signal });
  for (let i = 0; met.length < times && i < 100; i++) await clock.run(1000);
  await running;
  return met;
}

type Call = (transport: Transport, resource: Resource<KubeObject>) => Promise<Error>;
const byClient =
  (call: (client: Client, resource: Resource<KubeObject>) => Promise<unknown>): Call =>
  (transport, resource) =>
    failureOf(call(newClient({ transport, fieldOwner: 'me' }), resource));
const CALLS: Record<string, Call> = {
  list: (transport, resource) => failureOf(list(transport, resource)),
  listItems: (transport, resource) => failureOf(first(listItems(transport, resource))),
  watch: (transport, resource) =>
    failureOf(first(watch(transport, resource, { resourceVersion: '1' }))),
  Reflector: async (transport, resource) => (await reflect(transport, resource))[0] as Error,
  'client.get': byClient((client, resource) => client.get(resource, key)),
  'client.list': byClient((client, resource) => client.list(resource)),
  'client.create': byClient((client, resource) => client.create(resource, { metadata: key })),
  'client.update': byClient((client, resource) => client.update(resource, { metadata: key })),
  'client.apply': byClient((client, resource) => client.apply(resource, { metadata: key })),
  'client.delete': byClient((client, resource) => client.delete(resource, key)),
  'client.deleteAllOf': byClient((client, resource) =>
    client.deleteAllOf(resource, { namespace: 'default' }),
  ),
  'client.status().update': byClient((client, resource) =>
    client.status().update(resource, { metadata: key }),
  ),
};

describe.each([
  ['plural', define('apps', 'v1', 'Deployment', 'deployment'), '"deployments" in apps/v1'],
  ['plural in the core group', define('', 'v1', 'Pod', 'pod'), '"pods" in v1'],
  ['version', define('batch', 'v1beta1', 'CronJob', 'cronjobs'), '"cronjobs" in batch/v1'],
])('a wrong %s', (_, resource, there) => {
  test.each(Object.entries(CALLS))(
    'gives the error of %s the resource that is served instead',
    async (_, call) => {
      const error = await call(setUp().transport, resource);
      expect(error.message).toContain(`; it has the kind ${resource.kind} as ${there}`);
      expect(isNotFound(error)).toBe(true);
    },
  );
});

test('a 404 of an object causes no discovery request', async () => {
  const { transport, asked } = setUp();
  const pods = define('', 'v1', 'Pod', 'pods');
  const error = await failureOf(newClient({ transport }).get(pods, key));
  expect(error.message).toMatch(/pods "a" not found$/);
  expect(asked).toEqual(['/api/v1/namespaces/default/pods/a']);
});

test('a client requests discovery once for each resource, and a reflector once', async () => {
  const wrong = define('apps', 'v1', 'Deployment', 'deployment');
  const { transport, asked } = setUp();
  const client = newClient({ transport });
  for (let i = 0; i < 3; i++) {
    const error = await failureOf(client.list(wrong));
    expect(error.message).toContain('"deployments"');
  }
  expect(asked.filter((path) => path === '/apis')).toHaveLength(1);
  asked.length = 0;
  const met = await reflect(transport, wrong, 3);
  expect(met.map(({ message }) => message.includes('"deployments"'))).toEqual([true, true, true]);
  expect(asked.filter((path) => path === '/apis')).toHaveLength(1);
});

test('discovery that does not answer delays an error by at most two seconds', async () => {
  const inner = fakeTransport();
  const clock = new FakeClock();
  const signals: (AbortSignal | undefined)[] = [];
  const transport: Transport = {
    request: (request) => {
      if (request.path !== '/apis') return inner.request(request);
      signals.push(request.signal);
      return new Promise((_, reject) =>
        request.signal?.addEventListener('abort', () => reject(new Error('aborted'))),
      );
    },
  };
  let met: Error | undefined;
  const wrong = define('apps', 'v1', 'Deployment', 'deployment');
  const listing = failureOf(newClient({ transport, clock }).list(wrong)).then((error) => {
    met = error;
  });
  await clock.run(1999);
  expect(met).toBeUndefined();
  await clock.run(1);
  await listing;
  expect(met?.message).toMatch(/could not find the requested resource$/);
  expect(signals.map((signal) => signal?.aborted)).toEqual([true]);
});
