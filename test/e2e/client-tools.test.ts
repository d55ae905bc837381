/**
 * What the client has beside its verbs, on a real API server: waiting over a watch of one object,
 * selectors from terms, and errors of tests that are those of the server.
 */
import { labelMatcher, StatusError } from 'capstan/cache';
import {
  type Client,
  type CoreEvent,
  coreEventResource,
  Discovery,
  EventRecorder,
  eventResource,
  fieldSelectorOf,
  isNoMatch,
  isNotFound,
  type LabelTerm,
  labelSelectorOf,
  newClient,
  until,
  watchObject,
} from 'capstan/client';
import { ConfigMap, Deployment, Namespace } from 'capstan/kinds';
import { type Envtest, startEnvtest, statusErrors } from 'capstan/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Random, testSeed } from '../helpers/random.ts';

let envtest: Envtest;
let client: Client;

beforeAll(async () => {
  envtest = await startEnvtest();
  client = newClient({ transport: envtest.transport() });
});

afterAll(() => envtest?.stop());

const namespace = 'default';
const map = (name: string, value: string) => ({ metadata: { namespace, name }, data: { value } });

test('until waits for the creation, a change and the deletion of one object', async () => {
  const key = { namespace, name: 'waited-for' };
  const options = { timeout: 30_000 };
  const seen: (string | undefined)[] = [];
  const loop = (async () => {
    for await (const object of watchObject(client, ConfigMap, key)) {
      seen.push(object?.data?.value);
      if (object === undefined && seen.length > 1) break;
    }
  })();
  const second = until(client, ConfigMap, key, (one) => one?.data?.value === '2', options);
  await client.create(ConfigMap, map('another', '2'));
  await client.create(ConfigMap, map(key.name, '1'));
  const first = until(client, ConfigMap, key, (one) => one?.data?.value === '1', options);
  expect((await first)?.data).toEqual({ value: '1' });
  await client.update(ConfigMap, map(key.name, '2'));
  expect((await second)?.metadata.name).toBe(key.name);
  await client.delete(ConfigMap, key);
  expect(await until(client, ConfigMap, key, (one) => one === undefined, options)).toBeUndefined();
  await loop;
  expect(seen.at(-1)).toBeUndefined();
  expect(seen).toContain('2');
});

test('until waits for a namespace, which has none itself', async () => {
  const key = { name: 'waited-for' };
  const found = until(client, Namespace, key, (one) => one?.status?.phase === 'Active');
  await client.create(Namespace, { metadata: key });
  expect((await found)?.metadata.name).toBe('waited-for');
});

test('until tells at once what is forbidden', async () => {
  await using transport = (await envtest.addUser('without-rights')).transport();
  const key = { namespace, name: 'secret' };
  const error = await until(transport, ConfigMap, key, () => true).catch((one: unknown) => one);
  expect(error).toMatchObject({ code: 'STATUS', status: 403 });
});

const seed = testSeed();

test(`a server selects by terms as labelMatcher does, seed ${seed}`, async () => {
  const random = new Random(seed);
  const value = () => random.pick(['', 'a', 'b', '1', '7', 'x-y.z_0']);
  const of = (key: string) => (random.chance(0.6) ? { [key]: value() } : {});
  const all = Array.from({ length: 40 }, (_, i) => ({
    metadata: {
      ...{ namespace, name: `selected-${i}` },
      labels: { test: 'terms', ...of('x'), ...of('example.com/y') },
    },
  }));
  for (const each of all) await client.create(ConfigMap, each);
  const term = (): LabelTerm =>
    random.pick<() => LabelTerm>([
      value,
      () => [value(), value()],
      () => random.chance(0.5),
      () => ({ not: value() }),
      () => ({ not: [value(), value()] }),
      () => ({ above: 3 }),
      () => ({ below: 5 }),
    ])();
  let selected = 0;
  for (let i = 0; i < 100; i++) {
    const labelSelector = labelSelectorOf({ test: 'terms', x: term(), 'example.com/y': term() });
    const matches = labelMatcher(labelSelector);
    const { items } = await client.list(ConfigMap, { namespace, labelSelector });
    const names = all
      .filter(({ metadata }) => matches(metadata.labels))
      .map(({ metadata }) => metadata.name);
    expect(items.map(({ metadata }) => metadata.name).sort(), labelSelector).toEqual(names.sort());
    selected += names.length;
  }
  expect(selected).toBeGreaterThan(20);
});

test('a server reads the escapes of fieldSelectorOf', async () => {
  const fieldSelector = fieldSelectorOf({
    'metadata.namespace': namespace,
    'metadata.name': 'selected-1',
  });
  const { items } = await client.list(ConfigMap, { fieldSelector });
  expect(items.map(({ metadata }) => metadata.name)).toEqual(['selected-1']);
  const odd = fieldSelectorOf({ 'metadata.name': 'a=b,c\\d' });
  expect((await client.list(ConfigMap, { fieldSelector: odd })).items).toEqual([]);
  const others = fieldSelectorOf({ 'metadata.name': { not: 'selected-1' } });
  const names = (await client.list(ConfigMap, { namespace, fieldSelector: others })).items.map(
    ({ metadata }) => metadata.name,
  );
  expect(names).toContain('selected-2');
  expect(names).not.toContain('selected-1');
});

test('events of core/v1 are taken and counted, and shown by events.k8s.io too', async () => {
  const object = await client.create(ConfigMap, map('talked-about', '1'));
  const regarding = { apiVersion: 'v1', kind: 'ConfigMap', ...object };
  const reportingController = 'e2e.example.com/test';
  const recorder = new EventRecorder({ client, reportingController, api: 'v1' });
  const details = { reason: 'Failed', action: 'Checking', type: 'Warning', note: 'no' } as const;
  for (let i = 0; i < 3; i++) recorder.event(regarding, details);
  recorder.event(regarding, { ...details, note: 'another', related: regarding });
  await recorder.close();
  expect(recorder.counts()).toMatchObject({ recorded: 4, lost: 0 });
  const fieldSelector = fieldSelectorOf({
    'involvedObject.name': 'talked-about',
    reason: 'Failed',
  });
  const { items } = await client.list(coreEventResource, { namespace, fieldSelector });
  const events = items as CoreEvent[];
  expect(events.map(({ message, count }) => `${message} ${count}`).sort()).toEqual([
    'another 1',
    'no 3',
  ]);
  expect(events[0]).toMatchObject({
    involvedObject: { kind: 'ConfigMap', uid: object.metadata.uid },
    source: { component: reportingController },
    reportingComponent: reportingController,
  });
  const shown = (await client.list(eventResource, { namespace })).items.filter(
    (event) => event.regarding.name === 'talked-about',
  );
  expect(shown.map(({ note }) => note).sort()).toEqual(['another', 'no']);
});

test('a mapper finds resources by the names that kubectl takes', async () => {
  const discovery = new Discovery(envtest.transport());
  const { resources } = await discovery.resources();
  expect(resources.length).toBeGreaterThan(50);
  for (const { group, version, kind, plural } of resources) {
    const full = [plural, version, group].filter((part) => part !== '').join('.');
    expect(await discovery.resourceNamed(full)).toMatchObject({ group, version, kind, plural });
    expect(await discovery.kindFor({ group, plural })).toEqual({ group, version, kind });
  }
  const kinds: Record<string, string> = {
    ...{ po: 'Pod', svc: 'Service', cm: 'ConfigMap', ns: 'Namespace', deploy: 'Deployment' },
    ...{ crd: 'CustomResourceDefinition', ing: 'Ingress', pdb: 'PodDisruptionBudget' },
    ...{ endpoints: 'Endpoints', event: 'Event', sc: 'StorageClass', pc: 'PriorityClass' },
  };
  for (const [name, kind] of Object.entries(kinds))
    expect((await discovery.resourceNamed(name)).kind).toBe(kind);
  await expect(discovery.resourceNamed('nothings')).rejects.toSatisfy(isNoMatch);
  for (const [group, plural] of [
    ['none.example.com', 'nothings'],
    ['apps', 'nothings'],
    ['', 'nothings'],
  ] as const) {
    const resource = { ...Deployment, group, plural };
    await expect(client.list(resource)).rejects.toSatisfy(isNoMatch);
    await expect(client.get(resource, { namespace, name: 'a' })).rejects.toSatisfy(isNoMatch);
  }
  const gone = client.get(ConfigMap, { namespace, name: 'gone' });
  await expect(gone).rejects.toSatisfy((error) => isNotFound(error) && !isNoMatch(error));
});

test('the errors of tests are those of the server', async () => {
  const failure = async (call: Promise<unknown>): Promise<StatusError> => {
    const error: unknown = await call.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (error instanceof StatusError) return error;
    throw new Error(`expected a StatusError, got ${error}`);
  };
  const created = await client.create(ConfigMap, map('failing', '1'));
  await client.update(ConfigMap, map('failing', '2'));
  const missing = { namespace, name: 'missing' };
  const invalid = await failure(
    client.create(Deployment, {
      metadata: { namespace, name: 'invalid' },
      spec: { replicas: -1, selector: {}, template: { metadata: {} } },
    } as never),
  );
  const causes = (invalid.body.details?.causes ?? []) as { field: string; message: string }[];
  expect(causes.length).toBeGreaterThan(1);
  const pairs: [StatusError, StatusError][] = [
    [await failure(client.get(ConfigMap, missing)), statusErrors.notFound(ConfigMap, 'missing')],
    [await failure(client.get(Deployment, missing)), statusErrors.notFound(Deployment, 'missing')],
    [
      await failure(client.create(ConfigMap, map('failing', '1'))),
      statusErrors.alreadyExists(ConfigMap, 'failing'),
    ],
    [
      await failure(client.update(ConfigMap, { ...created, data: { value: '3' } })),
      statusErrors.conflict(ConfigMap, 'failing'),
    ],
    [invalid, statusErrors.invalid(Deployment, 'invalid', causes)],
  ];
  for (const [of, made] of pairs) expect(made.body).toEqual(of.body);
});
