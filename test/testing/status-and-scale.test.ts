/**
 * What writes to `/status` and `/scale` of built-in kinds change, default and own, as a
 * kube-apiserver has it.
 */
import { describe, expect, test } from 'vitest';
import {
  type ApiResponse,
  MERGE_PATCH,
  POD_SPEC,
  STRATEGIC,
  startApi,
  WORKLOAD,
} from '../helpers/server/requests.ts';

const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const VOLUMES = '/api/v1/persistentvolumes';
const CLAIMS = '/api/v1/namespaces/default/persistentvolumeclaims';

const fieldsOf = ({ body }: ApiResponse): string[] | undefined =>
  body.details?.causes?.map(({ field }) => field);

const volume = {
  metadata: { name: 'a' },
  spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/a' } },
};
const claim = {
  metadata: { name: 'a' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
};

/**
 * The server kept the labels of VolumeAttachments alone: a status that came with labels changed
 * those of the kinds here, and its manager came to own them.
 */
const conditions = [
  {
    type: 'A',
    status: 'True',
    reason: 'R',
    message: 'm',
    lastTransitionTime: '2026-01-02T03:04:05Z',
  },
];

test.each<[path: string, name: string, object: object, status?: object]>([
  [
    '/apis/networking.k8s.io/v1/servicecidrs',
    'a',
    { metadata: { name: 'a' }, spec: { cidrs: ['10.9.0.0/16'] } },
  ],
  [
    '/apis/resource.k8s.io/v1/namespaces/default/resourceclaims',
    'a',
    {
      metadata: { name: 'a' },
      spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'c' } }] } },
    },
    { allocation: { devices: {} }, reservedFor: [{ resource: 'pods', name: 'p', uid: 'u' }] },
  ],
  [
    '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
    'a',
    {
      metadata: { name: 'a' },
      spec: {
        matchConstraints: {
          resourceRules: [
            { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] },
          ],
        },
        validations: [{ expression: 'true' }],
      },
    },
  ],
  [
    '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas',
    'a',
    {
      metadata: { name: 'a' },
      spec: { priorityLevelConfiguration: { name: 'exempt' }, matchingPrecedence: 9 },
    },
  ],
  [
    '/apis/apiregistration.k8s.io/v1/apiservices',
    'v1.example.com',
    {
      metadata: { name: 'v1.example.com' },
      spec: {
        group: 'example.com',
        version: 'v1',
        groupPriorityMinimum: 100,
        versionPriority: 10,
        insecureSkipTLSVerify: true,
        service: { namespace: 'default', name: 's' },
      },
    },
  ],
])(
  'the metadata of an object of %s is not written through its status',
  async (path, name, object, wanted = { conditions }) => {
    const { api } = await startApi();
    await api.make(path, object);
    const { status, body } = await api.send('PATCH', `${path}/${name}/status`, {
      body: {
        metadata: { labels: { a: 'b' }, annotations: { c: 'd' }, finalizers: ['example.com/e'] },
        status: wanted,
      },
      type: MERGE_PATCH,
      query: { fieldManager: 'controller' },
    });
    expect(status).toBe(200);
    expect(body.status).toMatchObject(wanted);
    expect(body.metadata.labels).toBeUndefined();
    expect(body.metadata.annotations).toBeUndefined();
    expect(body.metadata.finalizers).toBeUndefined();
    const { managedFields } = body.metadata as { managedFields?: { manager: string }[] };
    const own = managedFields?.find(({ manager }) => manager === 'controller');
    expect(Object.keys((own as { fieldsV1?: object } | undefined)?.fieldsV1 ?? {})).toEqual([
      'f:status',
    ]);
  },
);

/**
 * A status that was taken away came back without a phase: a kube-apiserver decodes every body with
 * the kind's defaults, and the phase is one of them.
 */
test.each<[path: string, object: { metadata: { name: string } }, phase: string]>([
  [VOLUMES, volume, 'Pending'],
  [CLAIMS, claim, 'Pending'],
  ['/api/v1/namespaces', { metadata: { name: 'a' } }, 'Active'],
])('an object of %s has a phase whatever its status says', async (path, object, phase) => {
  const { api } = await startApi();
  await api.make(path, object);
  const { status, body } = await api.patch(`${path}/a/status`, { status: null });
  expect(status).toBe(200);
  expect(body.status).toMatchObject({ phase });
});

describe('a PersistentVolume', () => {
  test('tells when its phase changed last, unless the client does', async () => {
    const { api } = await startApi();
    await api.make(VOLUMES, volume);
    const write = async (status: object): Promise<Record<string, unknown>> =>
      (await api.patch(`${VOLUMES}/a/status`, { status })).body.status as Record<string, unknown>;
    const at = '2026-01-02T03:04:05Z';
    expect((await write({ phase: 'Available', lastPhaseTransitionTime: at })).phase).toBe(
      'Available',
    );
    // The phase stays, and its time with it, also where a client leaves it out.
    expect((await write({ lastPhaseTransitionTime: null })).lastPhaseTransitionTime).toBe(at);
    const bound = await write({ phase: 'Bound' });
    expect(bound.lastPhaseTransitionTime).not.toBe(at);
    expect(bound.lastPhaseTransitionTime).toMatch(/^\d{4}-.*Z$/);
  });
});

describe('a scale', () => {
  const deployment = { metadata: { name: 'a' }, spec: { ...WORKLOAD, replicas: 2 } };

  /** The server compared the version first, and answered 409. */
  test('is read before its version is compared', async () => {
    const { api } = await startApi();
    await api.make(DEPLOYMENTS, deployment);
    const scale = (replicas: unknown): object => ({
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: { name: 'a', namespace: 'default', resourceVersion: '1' },
      spec: { replicas },
    });
    expect((await api.put(`${DEPLOYMENTS}/a/scale`, scale(1.5))).status).toBe(400);
    expect((await api.put(`${DEPLOYMENTS}/a/scale`, scale('x'))).status).toBe(400);
    expect((await api.put(`${DEPLOYMENTS}/a/scale`, scale(1))).status).toBe(409);
  });

  /**
   * A scale writes replicas that are none as no member, so that no manager owns them by it. The
   * server gave them to who scaled to zero.
   */
  test('without replicas sets no owner', async () => {
    const { api } = await startApi();
    const ownersOf = async (): Promise<[manager: string, subresource?: string][]> => {
      const { body } = await api.get(`${DEPLOYMENTS}/a`);
      const { managedFields } = body.metadata as unknown as {
        managedFields: { manager: string; subresource?: string; fieldsV1: object }[];
      };
      return managedFields
        .filter(({ fieldsV1 }) => JSON.stringify(fieldsV1).includes('"f:replicas"'))
        .map(({ manager, subresource }) =>
          subresource === undefined ? [manager] : [manager, subresource],
        );
    };
    const scaleTo = (replicas: number): Promise<ApiResponse> =>
      api.send('PATCH', `${DEPLOYMENTS}/a/scale`, {
        body: { spec: { replicas } },
        type: STRATEGIC,
        query: { fieldManager: 'scaler' },
      });
    await api.send('POST', DEPLOYMENTS, { body: deployment, query: { fieldManager: 'maker' } });
    expect(await ownersOf()).toEqual([['maker']]);
    await scaleTo(0);
    expect(await ownersOf()).toEqual([]);
    // A scale has no managers where nobody owns its replicas, and so gets none.
    await scaleTo(3);
    expect(await ownersOf()).toEqual([]);
  });

  test('that is applied with less than no replicas is refused after the conflicts', async () => {
    const { api } = await startApi();
    await api.make(DEPLOYMENTS, deployment);
    const apply = (force: boolean): Promise<ApiResponse> =>
      api.send('PATCH', `${DEPLOYMENTS}/a/scale`, {
        body: {
          apiVersion: 'autoscaling/v1',
          kind: 'Scale',
          metadata: { name: 'a' },
          spec: { replicas: -1 },
        },
        type: 'application/apply-patch+yaml',
        query: { fieldManager: 'scaler', force: String(force) },
      });
    expect((await apply(false)).status).toBe(409);
    const refused = await apply(true);
    expect(refused.status).toBe(422);
    expect(fieldsOf(refused)).toEqual(['spec.replicas']);
  });
});

describe('the status of a Pod', () => {
  const PODS = '/api/v1/namespaces/default/pods';

  /** An old kubelet writes a status without the class of its quality of service. */
  test('keeps its class where a client leaves it out', async () => {
    const { api } = await startApi();
    const { metadata, spec } = await api.make(PODS, { metadata: { name: 'a' }, spec: POD_SPEC });
    const { status, body } = await api.put(`${PODS}/a/status`, {
      metadata,
      spec,
      status: { phase: 'Running' },
    });
    expect(status).toBe(200);
    expect(body.status).toEqual({ phase: 'Running', qosClass: 'BestEffort' });
  });

  /** Pods have had one address for longer than several. */
  test('has its first address alone and in the list', async () => {
    const { api } = await startApi();
    await api.make(PODS, { metadata: { name: 'a' }, spec: POD_SPEC });
    const write = async (status: object): Promise<unknown> =>
      (await api.patch(`${PODS}/a/status`, { status })).body.status;
    const both = (ip: string): object => ({ podIP: ip, podIPs: [{ ip }] });
    expect(await write({ podIP: '10.1.2.3' })).toMatchObject(both('10.1.2.3'));
    expect(await write({ podIP: '10.1.2.4' })).toMatchObject(both('10.1.2.4'));
    expect(await write({ podIP: null, podIPs: [{ ip: '10.1.2.5' }] })).toMatchObject(
      both('10.1.2.5'),
    );
    expect(await write({ podIPs: [{ ip: '' }] })).toMatchObject(both('10.1.2.5'));
  });

  test('keeps the generations that a client leaves out, condition by condition', async () => {
    const { api } = await startApi();
    await api.make(PODS, { metadata: { name: 'a' }, spec: POD_SPEC });
    const condition = (type: string, observedGeneration?: number): object => ({
      type,
      status: 'True',
      ...(observedGeneration === undefined ? {} : { observedGeneration }),
    });
    const write = (status: object): Promise<ApiResponse> =>
      api.patch(`${PODS}/a/status`, { status }, MERGE_PATCH);
    await write({ observedGeneration: 1, conditions: [condition('A', 1), condition('B', 1)] });
    const { body } = await write({
      observedGeneration: null,
      conditions: [condition('C'), condition('B', 2), condition('A')],
    });
    expect(body.status).toMatchObject({
      observedGeneration: 1,
      conditions: [{ type: 'C' }, condition('B', 2), condition('A', 1)],
    });
    const [first] = (body.status as { conditions: object[] }).conditions;
    expect(first).not.toHaveProperty('observedGeneration');
  });
});

test('a Node is not configured through its status any more', async () => {
  const { api } = await startApi();
  await api.make('/api/v1/nodes', { metadata: { name: 'n' } });
  const { status, body } = await api.patch('/api/v1/nodes/n/status', {
    status: { config: { error: 'e' }, phase: 'Running' },
  });
  expect(status).toBe(200);
  expect(body.status).toMatchObject({ phase: 'Running' });
  expect(body.status).not.toHaveProperty('config');
});

/**
 * A PUT without the annotation is read as the generation 0: who sends it comes to own the
 * annotation, and the server keeps the value. The server took the missing one for its own.
 */
test('an update without the template generation of a DaemonSet keeps and owns it', async () => {
  const { api } = await startApi();
  const sets = '/apis/apps/v1/namespaces/default/daemonsets';
  const name = 'deprecated.daemonset.template.generation';
  const { metadata } = await api.make(sets, { metadata: { name: 'a' }, spec: WORKLOAD });
  expect(metadata.annotations).toEqual({ [name]: '1' });
  const spec = { ...WORKLOAD, minReadySeconds: 1 };
  const template = { ...WORKLOAD.template, spec: { ...POD_SPEC, hostNetwork: true } };
  const changed = await api.patch(`${sets}/a`, { spec: { ...spec, template } });
  expect(changed.body.metadata.annotations).toEqual({ [name]: '2' });
  const { body } = await api.put(`${sets}/a/status`, { metadata: { name: 'a' }, spec });
  expect(body.metadata.annotations).toEqual({ [name]: '2' });
  const { managedFields } = body.metadata as unknown as {
    managedFields: { subresource?: string; fieldsV1: object }[];
  };
  const owners = managedFields.filter(({ fieldsV1 }) => JSON.stringify(fieldsV1).includes(name));
  expect(owners.map(({ subresource }) => subresource)).toEqual(['status']);
});
