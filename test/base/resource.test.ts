/**
 * The names in paths. A plural was not checked: `../secrets` and `pods?limit=1` reached other
 * resources.
 */
import {
  defineResource,
  ListWatch,
  newSharedInformerFactory,
  type Resource,
  resourceOf,
  type Transport,
} from 'capstan/cache';
import { newClient } from 'capstan/client';
import { describe, expect, test } from 'vitest';

const sent: string[] = [];
const transport: Transport = {
  async request({ path }) {
    sent.push(path);
    throw new Error('nothing may be sent');
  },
};
const sound = { group: 'apps', version: 'v1', kind: 'Deployment', plural: 'deployments' };
const INVALID = expect.objectContaining({ code: 'INVALID_ARGUMENT' });

describe.each(['group', 'version', 'plural'] as const)('a %s', (member) => {
  test.each([
    ...['.', '..', '../secrets', 'a/b', '%2e%2e', 'a%2fb', 'a?limit=1', 'a#b', 'a b', 'a\n', 'é'],
    ...['\ud800', undefined, null, 1, {}],
    ...(member === 'group' ? [] : ['']),
  ])('%j is refused', async (name) => {
    const wrong = { ...sound, namespaced: true, [member]: name };
    expect(() => defineResource()(wrong as never)).toThrow(INVALID);
    const handmade = { ...wrong, indexers: {} } as unknown as Resource<object>;
    if (typeof name === 'string' && /^a[?# \n]|é/.test(name)) return; // which are escaped
    expect(() => new ListWatch(transport, handmade)).toThrow(INVALID);
    const client = newClient({ transport });
    const key = { namespace: 'default', name: 'a' };
    const object = { metadata: key };
    const calls = [
      () => client.get(handmade, key),
      () => client.list(handmade),
      () => client.create(handmade, object),
      () => client.delete(handmade, key),
      () => client.patch(handmade, key, { type: 'merge', body: {} }),
      () => client.apply(handmade, object, { fieldManager: 'me' } as never),
    ];
    for (const call of calls) await expect((async () => call())()).rejects.toEqual(INVALID);
    expect(sent).toEqual([]);
  });
});

// They were taken, and the server answered 404.
test.each([
  [{ group: 'core', version: 'v1', kind: 'Pod', plural: 'pods' }, '"" for the core group'],
  [{ ...sound, plural: 'Deployments' }, 'lower case, as in paths: "deployments"'],
  [{ ...sound, indexers: 'spec.replicas' }, '"indexers" expected an object'],
])('a definition %j is refused with what to write', (definition, message) => {
  const define = () => defineResource()({ ...definition, namespaced: true } as never);
  expect(define).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  expect(define).toThrow(message);
});

test.each(['', '..', 'a/b'])('a refused name %j is told what a name must not be', (plural) => {
  expect(() => defineResource()({ ...sound, plural, namespaced: true })).toThrow(
    'not "", "." or ".."',
  );
});

test('metadataOnly of a ListWatch is true or false', () => {
  const Deployment = defineResource()({ ...sound, namespaced: true });
  for (const metadataOnly of ['false', 'true', 0, null])
    expect(
      () => new ListWatch(transport, Deployment, { metadataOnly: metadataOnly as never }),
    ).toThrow(INVALID);
});

test.each(['..', 'a/b', '', '%2e', undefined, 7])('resourceOf refuses %j', async (resource) => {
  const asked = resourceOf(transport, { group: '', version: 'v1', plural: resource as never });
  await expect(asked).rejects.toEqual(INVALID);
  expect(sent).toEqual([]);
});

test.each(['..', 'a/b', '%2e', '.'])('a subresource %j is refused', async (name) => {
  const Deployment = defineResource()({ ...sound, namespaced: true });
  const client = newClient({ transport }).subResource(name);
  const call = (async () => client.get(Deployment, { namespace: 'default', name: 'a' }))();
  await expect(call).rejects.toEqual(INVALID);
  expect(sent).toEqual([]);
});

test('a resource object made without defineResource is escaped in paths', async () => {
  const handmade = { ...sound, namespaced: true, indexers: {}, plural: 'pods?limit=1' };
  const listing = newClient({ transport }).list(handmade as unknown as Resource<object>);
  await expect(listing).rejects.toThrow('nothing may be sent');
  expect(sent.splice(0)).toEqual(['/apis/apps/v1/pods%3Flimit%3D1']);
});

// Who forgot the first call got a function, and an error about that function only where it was
// used.
describe('defineResource', () => {
  const definition = { ...sound, namespaced: true };
  const twoCalls = expect.objectContaining({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('it takes two calls, defineResource<T>()({ group,'),
  });

  test('refuses a definition in its first call, and says how the two calls are written', () => {
    const once = defineResource as unknown as (definition: object) => unknown;
    expect(() => once(definition)).toThrow(twoCalls);
  });

  test('refuses a second call without a definition', () => {
    const twice = defineResource() as unknown as () => unknown;
    expect(() => twice()).toThrow(twoCalls);
  });

  test('has made no resource after its first call', async () => {
    const half = defineResource() as unknown as Resource<object>;
    expect(() => new ListWatch(transport, half)).toThrow(twoCalls);
    expect(() => newSharedInformerFactory(transport).informerFor(half)).toThrow(twoCalls);
    await expect(newClient({ transport }).list(half)).rejects.toEqual(twoCalls);
  });
});

describe('in place of a transport', () => {
  const message = (given: unknown): string => {
    try {
      newClient({ transport: given as Transport });
    } catch (error) {
      return (error as Error).message;
    }
    return '';
  };

  test.each([
    [
      'a KubeConfig',
      { loadFromDefault: () => undefined },
      'kubeConfigTransport(config) of capstan/client-node',
    ],
    ['an ApiServer', { transport: () => transport }, 'pass its transport()'],
    ['a manager', { transport }, 'pass its transport'],
  ])('%s is refused with what to pass', (_, given, advice) => {
    expect(message(given)).toContain('"options.transport.request" expected a function');
    expect(message(given)).toMatch(new RegExp(`${advice.replace(/[()]/g, '\\$&')}$`));
  });

  test('anything else is refused without advice', () => {
    for (const given of [undefined, null, {}, 'http://localhost'])
      expect(message(given)).toMatch(/"options\.transport\.request" expected a function, got \w+$/);
  });
});
