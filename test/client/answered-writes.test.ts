/**
 * Story: in Go an empty list and none are the same, and ports compare a spec after defaulting by
 * hand. Such controllers set `externalIPs: []` or a spec without defaults at each reconcile; each
 * was an update, on a real server often a new generation, and so an event and the next reconcile.
 */
import { defineResource } from 'capstan/cache';
import {
  type Client,
  createOrPatch,
  createOrUpdate,
  newClient,
  newDryRunClient,
  withFieldOwner,
  withInterceptors,
} from 'capstan/client';
import { FakeClock } from 'capstan/testing';
import { describe, expect, test } from 'vitest';
import { AnsweredWrites } from '../../bindings/client/answered-writes.ts';
import { cached, live } from '../helpers/client/clients.ts';
import { at, configMap, type Metadata } from '../helpers/resources.ts';

interface Loose {
  metadata: Metadata;
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
}

const define = (group: string, kind: string, plural: string) =>
  defineResource<Loose>()({ group, version: 'v1', kind, plural, namespaced: true });
const Services = define('', 'Service', 'services');
const Deployments = define('apps', 'Deployment', 'deployments');
const Policies = define('networking.k8s.io', 'NetworkPolicy', 'networkpolicies');

/** A spec without any default. */
const web = (limit = '1000m', more: object = {}) => ({
  selector: { matchLabels: { app: 'web' } },
  template: {
    metadata: { labels: { app: 'web' }, creationTimestamp: null },
    spec: {
      containers: [{ name: 'main', image: 'nginx:1', resources: { limits: { cpu: limit } } }],
      tolerations: [],
      ...more,
    },
  },
});

describe.each([
  ['createOrUpdate', createOrUpdate],
  ['createOrPatch', createOrPatch],
] as const)('%s', (_, bring) => {
  async function deployments() {
    const { client, requests, ...rest } = await live();
    const writes = () => requests.filter(({ method }) => method !== 'GET').length;
    const set = (spec: Loose['spec'] = web(), through: Client = client) =>
      bring(through, Deployments, at('web'), (draft) => void Object.assign(draft, { spec }));
    return { client, writes, set, ...rest };
  }

  test.each([
    ['is live', live],
    ['reads from a cache', cached],
  ] as const)('sends a spec without its defaults once, with a client that %s', async (_, start) => {
    const { client, requests } = await start();
    const writes = () => requests.filter(({ method }) => method !== 'GET').length;
    for (const [resource, spec] of [
      [Deployments, web()],
      [Services, { ports: [{ port: 80 }], externalIPs: [], selector: {} }],
      [Policies, { podSelector: {}, policyTypes: ['Ingress'], ingress: [] }],
    ] as const) {
      const before = writes();
      const results = [];
      for (let i = 0; i < 3; i++)
        results.push(
          (await bring(client, resource, at('web'), (draft) => void Object.assign(draft, { spec })))
            .result,
        );
      expect([results, writes() - before]).toEqual([['created', 'unchanged', 'unchanged'], 1]);
    }
  });

  test('skips a part that was sent before, although the server set other fields', async () => {
    const { client, writes } = await deployments();
    const turn = () =>
      bring(client, Services, at('web'), (service) => {
        service.spec = { ...service.spec, ports: [{ port: 80 }], externalIPs: [] };
      });
    expect((await turn()).result).toBe('created');
    expect((await turn()).result).toBe('unchanged');
    expect(writes()).toBe(1);
  });

  test('a quantity that is set in an element of a list is sent once', async () => {
    const { client, writes, set } = await deployments();
    await set();
    const turn = () =>
      bring(client, Deployments, at('web'), ({ spec }) => {
        const { containers } = (spec as ReturnType<typeof web>).template.spec;
        (containers[0] as (typeof containers)[0]).resources.limits.cpu = '1000m';
      });
    expect((await turn()).result).toBe('unchanged');
    expect(writes()).toBe(1);
  });

  test("an object that is built anew, without the server's fields, is sent once", async () => {
    const { client, writes } = await deployments();
    const turn = () =>
      bring(client, Deployments, at('web'), ({ status }) => ({
        metadata: at('web'),
        spec: web(),
        ...(status === undefined ? {} : { status }),
      }));
    await turn();
    expect((await turn()).result).toBe('unchanged');
    expect(writes()).toBe(1);
  });

  test('a real difference is sent', async () => {
    const { client, writes, set } = await deployments();
    await set();
    const limit = async () => {
      const { spec } = await client.get(Deployments, at('web'));
      return (spec as ReturnType<typeof web>).template.spec.containers[0]?.resources.limits.cpu;
    };
    expect((await set(web('2'))).result).toBe('updated');
    expect(await limit()).toBe('2');
    // back to the answer before the last one
    expect((await set()).result).toBe('updated');
    expect(await limit()).toBe('1');
    expect((await set()).result).toBe('unchanged');
    expect((await set(web('1000m', { hostNetwork: true }))).result).toBe('updated');
    expect((await set()).result).toBe('updated');
    expect(writes()).toBe(5);
  });

  test('changes of others are reverted, also to a default', async () => {
    const { client, writes, set } = await deployments();
    await set();
    for (const spec of [
      { template: { spec: { containers: [{ name: 'main', image: 'other:2' }] } } },
      { strategy: { type: 'Recreate', rollingUpdate: null } },
      { minReadySeconds: 7 },
    ]) {
      await client.patch(Deployments, at('web'), { type: 'strategic', body: { spec } });
      const before = writes();
      await set();
      expect((await set()).result).toBe('unchanged');
      expect(writes() - before).toBe(1);
    }
    const { spec } = await client.get(Deployments, at('web'));
    expect(spec).not.toHaveProperty('minReadySeconds');
  });

  test('changes of the status and of annotations by others cause no write', async () => {
    const { client, writes, set } = await deployments();
    await set();
    await client.status().patch(Deployments, at('web'), {
      type: 'merge',
      body: { status: { replicas: 3, observedGeneration: 1 } },
    });
    await client.patch(Deployments, at('web'), {
      type: 'merge',
      body: { metadata: { annotations: { 'deployment.kubernetes.io/revision': '1' } } },
    });
    const before = writes();
    expect((await set()).result).toBe('unchanged');
    expect(writes()).toBe(before);
  });

  test('an object that others deleted and recreated is a new one', async () => {
    const { client, writes, set } = await deployments();
    await set();
    const { metadata, spec } = await client.get(Deployments, at('web'));
    await client.delete(Deployments, at('web'));
    await client.create(Deployments, { metadata: { ...at('web') }, ...(spec && { spec }) });
    expect(metadata.uid).not.toBe((await client.get(Deployments, at('web'))).metadata.uid);
    const before = writes();
    await set();
    expect((await set()).result).toBe('unchanged');
    expect(writes() - before).toBe(1);
  });

  test('a new process sends the state once, and then not again', async () => {
    const { transport, writes, set } = await deployments();
    await set();
    const restarted = newClient({ transport });
    const before = writes();
    const results = [];
    for (let i = 0; i < 3; i++) results.push((await set(web(), restarted)).result);
    expect([results, writes() - before]).toEqual([['unchanged', 'unchanged', 'unchanged'], 1]);
  });

  test('several callers that write the same object send each state once', async () => {
    const { client, writes } = await deployments();
    const turn = (change: object) =>
      bring(client, Services, at('web'), (draft) => {
        draft.spec = { ports: [{ port: 80 }], ...draft.spec, ...change };
      });
    for (let i = 0; i < 4; i++) {
      await turn({ externalIPs: [] });
      await turn({ loadBalancerSourceRanges: [] });
      await turn({ ports: [{ port: 80 }] });
    }
    expect(writes()).toBeLessThanOrEqual(3);
  });

  test('wrappers of a client share its record, also those made for each call', async () => {
    const { client, writes, set } = await deployments();
    await set(web(), withFieldOwner(client, 'me'));
    expect((await set(web(), withFieldOwner(client, 'me'))).result).toBe('unchanged');
    expect((await set(web(), withInterceptors(client, {}))).result).toBe('unchanged');
    expect((await set()).result).toBe('unchanged');
    expect(writes()).toBe(1);
    // a dry run stores nothing, and is not recorded
    expect((await set(web('3'), newDryRunClient(client))).result).toBe('updated');
    expect((await set(web('3'))).result).toBe('updated');
  });

  test('labels and annotations that are empty, removed or null', async () => {
    const { client, writes } = await deployments();
    const turn = (metadata: object) =>
      bring(client, Services, at('web'), (draft) => {
        Object.assign(draft.metadata, metadata);
        draft.spec = { ports: [{ port: 80 }] };
      });
    await turn({ labels: { a: '1' } });
    await turn({ labels: null, annotations: {} });
    expect((await client.get(Services, at('web'))).metadata).not.toHaveProperty('labels');
    const before = writes();
    await turn({ labels: {}, annotations: null, finalizers: [], ownerReferences: null });
    await turn({ managedFields: [], creationTimestamp: null, selfLink: '' });
    expect(writes()).toBe(before);
  });
});

test('createOrPatch treats null as absent, and sends a changed status once', async () => {
  const { client, requests } = await live();
  const turn = () =>
    createOrPatch(client, Deployments, at('web'), (draft) => {
      draft.spec = { ...web(), paused: null };
      draft.status = { replicas: 0, conditions: [] };
    });
  for (let i = 0; i < 4; i++) await turn();
  const written = requests.filter(({ method }) => method !== 'GET');
  expect(written.map(({ method, path }) => `${method} ${path.split('/').at(-1)}`)).toEqual([
    'POST deployments',
    'PATCH status',
  ]);
});

describe('the record of answered writes', () => {
  const object = (spec: object, uid = 'u') => ({ metadata: { uid, name: 'a' }, spec });

  test('is bounded, and keeps the most recently used', () => {
    const writes = new AnsweredWrites(new FakeClock(), 2000);
    const known = (key: string) =>
      writes.changesNothing(key, object({ a: 1 }), object({ a: 1, b: [] }));
    for (const key of ['a', 'b', 'c', 'd', 'e'])
      writes.note(key, object({ a: 1, b: [] }), object({ a: 1 }));
    expect(known('a')).toBe(true);
    for (let i = 0; i < 8; i++) writes.note(`n${i}`, object({ a: 1, b: [] }), object({ a: 1 }));
    expect([known('a'), known('b'), known('n7')]).toEqual([true, false, true]);
    expect(writes.size).toBeLessThanOrEqual(2000);
    // one that is too large alone is not kept, and evicts nothing
    for (let i = 0; i < 100; i++)
      writes.note('a', object({ a: 1, b: Array(i).fill({}) }), object({ a: 1 }));
    expect(writes.size).toBeLessThanOrEqual(2000);
  });

  test('lasts for an hour', () => {
    const clock = new FakeClock();
    const writes = new AnsweredWrites(clock);
    const known = () => writes.changesNothing('a', object({ a: 1 }), object({ a: 1, b: [] }));
    writes.note('a', object({ a: 1, b: [] }), object({ a: 1 }));
    clock.step(3_600_000);
    expect(known()).toBe(true);
    clock.step(1);
    expect(known()).toBe(false);
  });

  test('is empty if the answer equals the request', () => {
    const writes = new AnsweredWrites(new FakeClock());
    writes.note('a', object({ a: [{}], b: { c: 1 } }), object({ b: { c: 1 }, a: [{}] }));
    expect(writes.size).toBe(0);
  });

  // Elements are compared by index; if a server sorts a list, a draft with one element from each of
  // two states is a new one.
  test('does not mix the elements of a list that the server sorted', () => {
    const writes = new AnsweredWrites(new FakeClock());
    for (const of of [
      (name: string): unknown => name,
      (name: string) => ({ name }),
      (name: string) => ({ ref: { name } }),
    ]) {
      const list = (...names: string[]) => object({ list: names.map(of) });
      writes.note('a', list('b', 'a'), list('a', 'b'));
      expect(writes.changesNothing('a', list('a', 'b'), list('b', 'a'))).toBe(true);
      expect(writes.changesNothing('a', list('a', 'b'), list('a', 'a'))).toBe(false);
      expect(writes.changesNothing('a', list('a', 'b'), list('b', 'b'))).toBe(false);
      expect(writes.changesNothing('a', list('a', 'b'), list('b'))).toBe(false);
    }
  });

  test('distinguishes empty, absent, null and false unless they were sent before', () => {
    const writes = new AnsweredWrites(new FakeClock());
    const values = [[], {}, null, '', 0, false, undefined];
    for (const sent of values) {
      writes.note('a', object({ v: sent }), object({ v: { by: 'default' } }));
      for (const draft of values)
        expect(
          writes.changesNothing('a', object({ v: { by: 'default' } }), object({ v: draft })),
        ).toBe(values.indexOf(draft) <= values.indexOf(sent));
    }
  });
});

test('compares a ConfigMap of the largest size in little memory', async () => {
  const { client, requests } = await live();
  const data = { page: 'x'.repeat(1_000_000) };
  const ConfigMaps = define('', 'ConfigMap', 'configmaps');
  for (let i = 0; i < 3; i++)
    await createOrUpdate(client, ConfigMaps, at('a'), (draft) => ({
      ...draft,
      ...configMap('a', data),
      binaryData: {},
    }));
  expect(requests.filter(({ method }) => method !== 'GET')).toHaveLength(1);
});
