/**
 * The client on a real API server: each verb gives what a raw GET shows, server-side apply keeps
 * owners apart, subresources do what they are for, and a client reads its own writes from a cache
 * that follows the server.
 */
import {
  defineResource,
  newSharedInformerFactory,
  StatusError,
  type Transport,
} from 'capstan/cache';
import {
  type Client,
  createOrPatch,
  createOrUpdate,
  Discovery,
  defaultRetry,
  hasStatusCause,
  isAlreadyExists,
  isBadRequest,
  isConflict,
  isInvalid,
  isNotFound,
  isUnsupportedMediaType,
  listAll,
  mergeFrom,
  newClient,
  newDryRunClient,
  newNamespacedClient,
  rawPatch,
  retryOnConflict,
  type Warning,
  withFieldOwner,
} from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../helpers/control-plane/conditions.ts';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import {
  at,
  type ConfigMap,
  ConfigMaps,
  configMap,
  type Metadata,
  Namespaces,
  Widgets,
  widget,
} from '../helpers/resources.ts';
import { textOf } from '../helpers/server/requests.ts';
import { readKubeConfig } from './same-answers/servers.ts';

interface Deployment {
  metadata: Metadata;
  spec?: {
    replicas?: number;
    selector: object;
    template: {
      metadata?: object;
      spec: {
        containers: { name: string; image: string; env?: { name: string; value: string }[] }[];
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

interface Pod {
  metadata: Metadata;
  spec?: {
    containers: { name: string; image: string }[];
    nodeName?: string;
    automountServiceAccountToken?: boolean;
  };
}

const Pods = defineResource<Pod>()({
  group: '',
  version: 'v1',
  kind: 'Pod',
  plural: 'pods',
  namespaced: true,
});

interface CSR {
  metadata: Metadata;
  spec: object;
  status?: { conditions?: object[] };
}

const CSRs = defineResource<CSR>()({
  group: 'certificates.k8s.io',
  version: 'v1',
  kind: 'CertificateSigningRequest',
  plural: 'certificatesigningrequests',
  namespaced: false,
});

const ServiceAccounts = defineResource<{ metadata: Metadata }>()({
  group: '',
  version: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  namespaced: true,
});

const deployment = (name: string, image = 'nginx:1'): Deployment => ({
  metadata: { namespace: 'default', name },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'main', image }] },
    },
  },
});

interface Scale {
  apiVersion?: string;
  kind?: string;
  metadata: Metadata;
  spec: { replicas: number };
  status?: { replicas: number };
}

/** A certificate signing request of `CN=e2e`; its key was not kept. */
const REQUEST = [
  'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlISE1IQUNBUUF3RGpFTU1Bb0dBMVVFQXd3RFpUSmxNRmt3RXdZ',
  'SEtvWkl6ajBDQVFZSUtvWkl6ajBEQVFjRApRZ0FFcmNxenFHMEd4d24rZmpTNmpTSUR1V0xqNFg2L1VlWVZaeDN1LzZicWRkT3V1',
  'UEE2QWZKSUNQUlJYYlhjCmo2b0tycTNLNDVXWDNqUXVXZkVFVUhKUDE2QUFNQW9HQ0NxR1NNNDlCQU1DQTBjQU1FUUNJR256eDZE',
  'RXFrUEgKT2p0c3J1Zys3VWYreEZ4ZlBoalBiNkFkUUdzWnFVckRBaUEvQytLOTE1WWVEU09CZ2ZZMzdFdlNEUVJsNmt2QQpnbm9B',
  'TUtSakNOU0NZQT09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=',
].join('');

let plane: ControlPlane;
let transport: Transport;
let client: Client;
const warnings: Warning[] = [];

beforeAll(async () => {
  plane = await ControlPlane.start();
  transport = kubeConfigTransport(await readKubeConfig(plane));
  client = newClient({
    transport,
    fieldOwner: 'e2e',
    onWarning: (warning) => warnings.push(warning),
  });
  await define();
});

afterAll(async () => {
  await transport?.close?.();
  await plane?.stop();
});

afterEach(({ task }) => {
  if (task.result?.state === 'fail') plane?.keepLogs();
  warnings.length = 0;
});

/** The definition of widgets, with a status and a schema that knows its fields. */
async function define(): Promise<void> {
  const CRDs = defineResource<{
    metadata: Metadata;
    spec: object;
    status?: { conditions?: { type: string; status: string }[] };
  }>()({
    group: 'apiextensions.k8s.io',
    version: 'v1',
    kind: 'CustomResourceDefinition',
    plural: 'customresourcedefinitions',
    namespaced: false,
  });
  const fields = (properties: object) => ({ type: 'object', properties });
  const integer = { type: 'integer' };
  const strings = { type: 'array', items: { type: 'string' } };
  await client.create(CRDs, {
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget', singular: 'widget', listKind: 'WidgetList' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: fields({
              spec: fields({ size: integer, color: { type: 'string' }, parts: strings }),
              status: fields({ ready: { type: 'boolean' }, size: integer }),
            }),
          },
        },
      ],
    },
  });
  await eventually('widgets are served', async () => {
    const { status } = await client.get(CRDs, { name: 'widgets.example.com' });
    if (
      !status?.conditions?.some(({ type, status: is }) => type === 'Established' && is === 'True')
    )
      return 'not established';
    await client.list(Widgets);
    return true;
  });
}

/** What the server has. */
async function raw<T = Record<string, unknown>>(path: string): Promise<T> {
  const { body } = await transport.request({ method: 'GET', path });
  return JSON.parse(await textOf(body)) as T;
}

const MAPS = '/api/v1/namespaces/default/configmaps';
const WIDGETS = '/apis/example.com/v1/namespaces/default/widgets';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';

describe('each verb', () => {
  test('creates, reads, replaces and deletes as a raw GET shows', async () => {
    const made = await client.create(ConfigMaps, configMap('verbs', { page: '1' }));
    expect(made).toEqual(await raw(`${MAPS}/verbs`));
    expect(await client.get(ConfigMaps, at('verbs'))).toEqual(made);
    const again = await client
      .create(ConfigMaps, configMap('verbs'))
      .catch((error: unknown) => error);
    expect(isAlreadyExists(again)).toBe(true);
    const updated = await client.update(ConfigMaps, { ...made, data: { page: '2' } });
    expect(updated).toEqual(await raw(`${MAPS}/verbs`));
    expect(updated.data).toEqual({ page: '2' });
    await expect(client.update(ConfigMaps, { ...made, data: { page: '3' } })).rejects.toSatisfy(
      isConflict,
    );
    const other = { preconditions: { uid: '00000000-0000-0000-0000-000000000000' } };
    await expect(client.delete(ConfigMaps, at('verbs'), other)).rejects.toSatisfy(isConflict);
    await client.delete(ConfigMaps, at('verbs'), {
      preconditions: { uid: made.metadata.uid },
      propagationPolicy: 'Background',
    });
    expect(await raw(`${MAPS}/verbs`)).toMatchObject({ reason: 'NotFound' });
    await expect(client.get(ConfigMaps, at('verbs'))).rejects.toSatisfy(isNotFound);
    await expect(client.delete(ConfigMaps, at('verbs'))).rejects.toSatisfy(isNotFound);
    await expect(client.update(ConfigMaps, configMap('verbs'))).rejects.toSatisfy(isNotFound);
    await expect(client.create(ConfigMaps, configMap('No_Name'))).rejects.toSatisfy(isInvalid);
  });

  // Lists of built-in kinds have no kind in their items: a patch from an answer to such an item
  // removed it, which the server refuses, and an Event on one was refused by the recorder.
  test('gives every object with its kind, so that patches between any two are right', async () => {
    const made = await client.create(Deployments, deployment('kinds'));
    const selections = new Map([[ConfigMaps, { metadataOnly: true }]]);
    await client.create(ConfigMaps, configMap('kinds', { page: '1' }));
    const factory = newSharedInformerFactory(transport, { selections });
    const cached = newClient({ transport, cache: factory });
    try {
      const listed = await cached.get(Deployments, at('kinds'));
      const metadata = await cached.get(ConfigMaps, at('kinds'));
      await cached.create(Deployments, deployment('kinds-watched'));
      const watched = await cached.get(Deployments, at('kinds-watched'));
      const { items } = await client.list(Deployments, { namespace: 'default' });
      for (const object of [made, listed, watched, ...items])
        expect(object).toMatchObject({ apiVersion: 'apps/v1', kind: 'Deployment' });
      expect(Object.keys(listed)).toEqual(Object.keys(watched));
      expect(metadata).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' });
      expect(metadata.data).toBeUndefined();
      const spec = { ...listed.spec, replicas: 3 };
      const {
        kind: _,
        apiVersion: __,
        ...rest
      } = { ...listed, spec } as Deployment & {
        kind?: string;
        apiVersion?: string;
      };
      const patch = mergeFrom(made).to(rest);
      expect((await client.patch(Deployments, at('kinds'), patch)).spec?.replicas).toBe(3);
      await expect(cached.update(ConfigMaps, { ...metadata })).rejects.toThrow(/metadataOnly/);
      await expect(client.update(ConfigMaps, { ...metadata })).rejects.toThrow(/metadataOnly/);
      expect((await client.get(ConfigMaps, at('kinds'))).data).toEqual({ page: '1' });
    } finally {
      await factory.shutdown();
    }
  });

  test('patches in each language', async () => {
    await client.create(Deployments, deployment('patched'));
    await client.create(Widgets, widget('patched', { size: 1, color: 'red' }));
    const operations = [{ op: 'replace', path: '/spec/replicas', value: 2 }] as const;
    expect(
      (await client.patch(Deployments, at('patched'), { type: 'json', operations })).spec?.replicas,
    ).toBe(2);
    const merged = await client.patch(Widgets, at('patched'), {
      type: 'merge',
      body: { spec: { color: null, size: 2 } },
    });
    expect(merged.spec).toEqual({ size: 2 });
    const sidecar = {
      spec: { template: { spec: { containers: [{ name: 'sidecar', image: 'busybox:1' }] } } },
    };
    const strategic = await client.patch(Deployments, at('patched'), {
      type: 'strategic',
      body: sidecar,
    });
    expect(strategic.spec?.template.spec.containers.map(({ name }) => name)).toEqual([
      'sidecar',
      'main',
    ]);
    expect(strategic).toEqual(await raw(`${DEPLOYMENTS}/patched`));
    const refused = await client
      .patch(Widgets, at('patched'), { type: 'strategic', body: {} })
      .catch((error: unknown) => error);
    expect(isUnsupportedMediaType(refused)).toBe(true);
    // 2^53 + 1, which JavaScript would round.
    await client.patch(
      Widgets,
      at('patched'),
      rawPatch('merge', '{"spec":{"size":9007199254740993}}'),
    );
    const { body } = await transport.request({ method: 'GET', path: `${WIDGETS}/patched` });
    expect(await textOf(body)).toContain('"size":9007199254740993');
    const from = await client.get(Deployments, at('patched'));
    const locked = mergeFrom(from, { optimisticLock: true });
    const scaled = { ...from, spec: { ...from.spec!, replicas: 5 } };
    expect((await client.patch(Deployments, at('patched'), locked.to(scaled))).spec?.replicas).toBe(
      5,
    );
    await expect(client.patch(Deployments, at('patched'), locked.to(scaled))).rejects.toSatisfy(
      isConflict,
    );
  });

  test('lists by namespace, selectors and pages, and deletes collections', async () => {
    for (const name of ['l1', 'l2', 'l3'])
      await client.create(
        ConfigMaps,
        configMap(name, {}, { labels: { list: 'yes', last: String(name === 'l3') } }),
      );
    const names = async (options: Parameters<Client['list']>[1]) =>
      (await client.list(ConfigMaps, options)).items.map(({ metadata }) => metadata.name);
    expect(await names({ namespace: 'default', labelSelector: 'list=yes,last!=true' })).toEqual([
      'l1',
      'l2',
    ]);
    expect(await names({ fieldSelector: 'metadata.name=l3' })).toEqual(['l3']);
    expect((await client.list(ConfigMaps, { labelSelector: 'list' })).items[0]).toEqual(
      await raw(`${MAPS}/l1`),
    );
    const paged: (string | undefined)[] = [];
    for await (const { metadata } of listAll(client, ConfigMaps, {
      labelSelector: 'list',
      pageSize: 1,
    }))
      paged.push(metadata.name);
    expect(paged).toEqual(['l1', 'l2', 'l3']);
    await client.deleteAllOf(ConfigMaps, {
      namespace: 'default',
      labelSelector: 'last=false',
      dryRun: true,
    });
    expect(await names({ labelSelector: 'list' })).toHaveLength(3);
    await client.deleteAllOf(ConfigMaps, { namespace: 'default', labelSelector: 'last=false' });
    expect(await names({ labelSelector: 'list' })).toEqual(['l3']);
  });
});

describe('server-side apply', () => {
  test('creates, keeps owners apart, is a conflict, and takes over by force', async () => {
    const mine = withFieldOwner(client, 'mine');
    const made = await mine.apply(ConfigMaps, configMap('applied', { page: '1', own: 'a' }));
    expect(made).toEqual(await raw(`${MAPS}/applied`));
    expect(made.metadata.managedFields).toMatchObject([{ manager: 'mine', operation: 'Apply' }]);
    const theirs = configMap('applied', { page: '2' });
    const conflict = await client
      .apply(ConfigMaps, theirs, { fieldOwner: 'theirs' })
      .catch((error: unknown) => error);
    expect(isConflict(conflict)).toBe(true);
    expect(hasStatusCause(conflict, 'FieldManagerConflict')).toBe(true);
    expect((conflict as StatusError).body.details?.causes?.[0]).toMatchObject({
      field: '.data.page',
    });
    const taken = await client.apply(ConfigMaps, theirs, { fieldOwner: 'theirs', force: true });
    expect(taken.data).toEqual({ page: '2', own: 'a' });
    // A field that an owner no longer applies is removed, unless another owner has it.
    expect((await mine.apply(ConfigMaps, configMap('applied', {}))).data).toEqual({ page: '2' });
    expect((await raw<ConfigMap>(`${MAPS}/applied`)).data).toEqual({ page: '2' });
    await expect(newClient({ transport }).apply(ConfigMaps, theirs)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  test('merges containers by their names, and refuses unknown fields', async () => {
    await client.apply(Deployments, deployment('merged'));
    const sidecar = {
      metadata: { namespace: 'default', name: 'merged' },
      spec: { template: { spec: { containers: [{ name: 'sidecar', image: 'busybox:1' }] } } },
    };
    const merged = await client.apply(Deployments, sidecar as Deployment, {
      fieldOwner: 'sidecars',
    });
    expect(merged.spec?.template.spec.containers.map(({ name }) => name).sort()).toEqual([
      'main',
      'sidecar',
    ]);
    const unknown = {
      ...deployment('merged'),
      spec: { ...deployment('merged').spec!, unknownField: 1 },
    };
    const refused = await client.apply(Deployments, unknown).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(StatusError);
    expect(String(refused)).toContain('unknownField');
  });

  test('applies a status', async () => {
    await client.create(Widgets, widget('applied', { size: 1 }));
    const status = { metadata: { namespace: 'default', name: 'applied' }, status: { ready: true } };
    const applied = await client.status().apply(Widgets, status, { fieldOwner: 'status' });
    expect(applied).toEqual(await raw(`${WIDGETS}/applied`));
    expect(applied).toMatchObject({ spec: { size: 1 }, status: { ready: true } });
    expect(applied.metadata.managedFields).toContainEqual(
      expect.objectContaining({ manager: 'status', operation: 'Apply', subresource: 'status' }),
    );
  });
});

describe('subresources', () => {
  test('a status is written apart from the rest', async () => {
    const made = await client.create(Widgets, widget('status', { size: 1 }));
    const updated = await client
      .status()
      .update(Widgets, { ...made, spec: { size: 9 }, status: { ready: false } });
    expect(updated).toMatchObject({ spec: { size: 1 }, status: { ready: false } });
    const patched = await client
      .status()
      .patch(Widgets, at('status'), { type: 'merge', body: { status: { ready: true } } });
    expect(patched).toEqual(await raw(`${WIDGETS}/status`));
    expect(patched.status).toEqual({ ready: true });
  });

  test('a scale is read, replaced, patched and applied', async () => {
    await client.create(Deployments, deployment('scaled'));
    const scales = client.subResource('scale');
    const scale = await scales.get<Deployment, Scale>(Deployments, at('scaled'));
    expect(scale).toMatchObject({ kind: 'Scale', spec: { replicas: 1 } });
    const replicas = async () => (await raw<Deployment>(`${DEPLOYMENTS}/scaled`)).spec?.replicas;
    const body: Scale = { ...scale, spec: { replicas: 2 } };
    const updated = await scales.update(Deployments, deployment('scaled'), { body });
    expect(updated.spec.replicas).toBe(2);
    expect(await replicas()).toBe(2);
    await scales.patch<Deployment, Scale>(Deployments, at('scaled'), {
      type: 'merge',
      body: { spec: { replicas: 3 } },
    });
    expect(await replicas()).toBe(3);
    const applied = {
      ...{ apiVersion: 'autoscaling/v1', kind: 'Scale' },
      metadata: { namespace: 'default', name: 'scaled' },
      spec: { replicas: 4 },
    };
    await scales.apply(Deployments, deployment('scaled'), {
      body: applied,
      fieldOwner: 'scaler',
      force: true,
    });
    expect(await replicas()).toBe(4);
  });

  test('requests a token, binds and evicts a pod, approves a certificate', async () => {
    await client.create(ServiceAccounts, { metadata: { namespace: 'default', name: 'robot' } });
    const token = await client.subResource('token').create(ServiceAccounts, at('robot'), {
      spec: { audiences: ['here'] } as object,
      status: {} as { token?: string },
    });
    expect(token.status.token).toMatch(/^ey/);

    const containers = [{ name: 'main', image: 'nginx:1' }];
    for (const name of ['bound', 'evicted'])
      await client.create(Pods, {
        metadata: { namespace: 'default', name },
        spec: { containers, automountServiceAccountToken: false },
      });
    const binding = {
      ...{ apiVersion: 'v1', kind: 'Binding', metadata: { name: 'bound' } },
      target: { kind: 'Node', name: 'node-1' },
    };
    expect(await client.subResource('binding').create(Pods, at('bound'), binding)).toEqual(binding);
    expect((await raw<Pod>('/api/v1/namespaces/default/pods/bound')).spec?.nodeName).toBe('node-1');
    const eviction = {
      ...{
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name: 'evicted', namespace: 'default' },
      },
      deleteOptions: { gracePeriodSeconds: 0 },
    };
    await client.subResource('eviction').create(Pods, at('evicted'), eviction);
    expect(await raw('/api/v1/namespaces/default/pods/evicted')).toMatchObject({
      reason: 'NotFound',
    });

    const spec = { request: REQUEST, signerName: 'example.com/signer', usages: ['client auth'] };
    const request = await client.create(CSRs, { metadata: { name: 'csr' }, spec });
    await client.create(CSRs, { metadata: { name: 'other-csr' }, spec });
    const approved = { type: 'Approved', status: 'True', reason: 'Test', message: 'yes' };
    const status = { conditions: [approved] };
    const approval = client.subResource('approval');
    await approval.update(CSRs, { ...request, status });
    await approval.patch(CSRs, { name: 'other-csr' }, { type: 'merge', body: { status } });
    for (const name of ['csr', 'other-csr'])
      expect(
        (await raw<CSR>(`/apis/certificates.k8s.io/v1/certificatesigningrequests/${name}`)).status,
      ).toMatchObject(status);
  });
});

describe('dry run and validation', () => {
  test('a dry run answers as the write would, and changes nothing', async () => {
    const made = await client.create(Widgets, widget('dry', { size: 1 }));
    const dry = newDryRunClient(client);
    expect((await dry.create(Widgets, widget('never'))).metadata.name).toBe('never');
    expect((await dry.update(Widgets, { ...made, spec: { size: 2 } })).spec).toEqual({ size: 2 });
    expect(
      (await dry.patch(Widgets, at('dry'), { type: 'merge', body: { spec: { size: 3 } } })).spec,
    ).toEqual({
      size: 3,
    });
    expect((await dry.apply(Widgets, widget('dry', { color: 'red' }))).spec).toEqual({
      size: 1,
      color: 'red',
    });
    expect(
      (await dry.status().update(Widgets, { ...made, status: { ready: true } })).status,
    ).toEqual({ ready: true });
    await dry.delete(Widgets, at('dry'));
    await dry.deleteAllOf(Widgets, { namespace: 'default' });
    expect(await raw(`${WIDGETS}/dry`)).toEqual(made);
    expect(await raw(`${WIDGETS}/never`)).toMatchObject({ reason: 'NotFound' });
    await expect(dry.create(ConfigMaps, configMap('No_Name'))).rejects.toSatisfy(isInvalid);
  });

  test('fieldValidation: unknown fields are warned of, refused or ignored', async () => {
    const object = { ...widget('unknown'), spec: { size: 1, shape: 'round' } };
    await client.create(Widgets, object);
    expect(warnings.map(({ text }) => text)).toEqual(['unknown field "spec.shape"']);
    warnings.length = 0;
    const strict = { fieldValidation: 'Strict' } as const;
    const refused = await client
      .create(Widgets, { ...object, metadata: { ...object.metadata, name: 'x' } }, strict)
      .catch((error: unknown) => error);
    expect(isBadRequest(refused)).toBe(true);
    expect(String(refused)).toContain('unknown field "spec.shape"');
    await client.patch(
      Widgets,
      at('unknown'),
      { type: 'merge', body: { spec: { shape: 'x' } } },
      { fieldValidation: 'Ignore' },
    );
    expect(warnings).toEqual([]);
  });
});

describe('helpers', () => {
  test('createOrUpdate and createOrPatch write what differs', async () => {
    const bring = (page: string) =>
      createOrUpdate(client, ConfigMaps, at('brought'), (draft) => {
        draft.data = { page };
      });
    expect([
      (await bring('1')).result,
      (await bring('1')).result,
      (await bring('2')).result,
    ]).toEqual(['created', 'unchanged', 'updated']);
    expect((await raw<ConfigMap>(`${MAPS}/brought`)).data).toEqual({ page: '2' });
    await client.create(Widgets, widget('brought', { size: 1 }));
    const both = await createOrPatch(client, Widgets, at('brought'), (draft) => {
      draft.spec = { size: 2 };
      draft.status = { ready: true };
    });
    expect(both.result).toBe('updatedStatus');
    expect(await raw(`${WIDGETS}/brought`)).toMatchObject({
      spec: { size: 2 },
      status: { ready: true },
    });
  });

  test('retryOnConflict: ten concurrent counters lose no step', async () => {
    await client.create(ConfigMaps, configMap('counter', { n: '0' }));
    const one = () =>
      retryOnConflict({ ...defaultRetry, steps: 200 }, async () => {
        const map = await client.get(ConfigMaps, at('counter'));
        return client.update(ConfigMaps, { ...map, data: { n: String(Number(map.data?.n) + 1) } });
      });
    await Promise.all(Array.from({ length: 10 }, one));
    expect((await raw<ConfigMap>(`${MAPS}/counter`)).data).toEqual({ n: '10' });
  });

  test('newNamespacedClient reads and writes in one namespace', async () => {
    await client.create(Namespaces, { metadata: { name: 'team' } });
    const team = newNamespacedClient(client, 'team');
    await team.create(ConfigMaps, { metadata: { name: 'a' } });
    await team.apply(ConfigMaps, { metadata: { name: 'a' }, data: { page: '1' } });
    expect(await raw('/api/v1/namespaces/team/configmaps/a')).toMatchObject({
      data: { page: '1' },
    });
    expect((await team.list(ConfigMaps)).items.map(({ metadata }) => metadata.name)).toEqual(['a']);
  });

  test('Discovery finds resources by their kinds', async () => {
    const discovery = new Discovery(transport);
    expect(await discovery.resourceFor({ group: 'apps', kind: 'Deployment' })).toMatchObject({
      version: 'v1',
      plural: 'deployments',
      namespaced: true,
    });
    expect(await discovery.resourceFor({ group: 'example.com', kind: 'Widget' })).toMatchObject({
      plural: 'widgets',
    });
    expect(await discovery.isObjectNamespaced({ apiVersion: 'v1', kind: 'Node' })).toBe(false);
    await expect(discovery.resourceFor({ group: 'apps', kind: 'Nothing' })).rejects.toSatisfy(
      isNotFound,
    );
  });
});

test('a client reads its own writes from a cache that follows the server', async () => {
  const factory = newSharedInformerFactory(transport);
  const cached = newClient({
    transport,
    cache: factory,
    fieldOwner: 'e2e',
    readYourWritesTimeout: 60_000,
  });
  try {
    for (let i = 0; i < 50; i++) {
      const made = await cached.create(
        Widgets,
        widget('own', { size: i }, { finalizers: i % 5 === 0 ? ['example.com/hold'] : [] }),
      );
      expect((await cached.get(Widgets, at('own'))).metadata.uid).toBe(made.metadata.uid);
      await cached.patch(Widgets, at('own'), { type: 'merge', body: { spec: { size: i + 1000 } } });
      expect((await cached.get(Widgets, at('own'))).spec).toEqual({ size: i + 1000 });
      await cached
        .status()
        .patch(Widgets, at('own'), { type: 'merge', body: { status: { size: i } } });
      const { items } = await cached.list(Widgets, { namespace: 'default' });
      expect(items.find(({ metadata }) => metadata.name === 'own')?.status).toEqual({ size: i });
      await cached.delete(Widgets, at('own'));
      if (i % 5 === 0) {
        expect((await cached.get(Widgets, at('own'))).metadata.deletionTimestamp).toBeDefined();
        await cached.patch(Widgets, at('own'), {
          type: 'merge',
          body: { metadata: { finalizers: null } },
        });
      } else if (i % 5 === 1) {
        // Deletes it by deleteAllOf.
        await cached.create(Widgets, widget('own', { size: -1 }));
        await cached.deleteAllOf(Widgets, {
          namespace: 'default',
          fieldSelector: 'metadata.name=own',
        });
      }
      await expect(cached.get(Widgets, at('own'))).rejects.toSatisfy(isNotFound);
    }
  } finally {
    await factory.shutdown();
  }
});
