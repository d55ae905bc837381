/**
 * What writes of built-in kinds lead to where a kube-apiserver does what one would not expect. The
 * parity test found each by a seed of its own: a controller that was tested here would have met the
 * other answer in its cluster.
 */
import { describe, expect, test } from 'vitest';
import {
  APPLY_PATCH,
  type ApiObject,
  type ApiRequests,
  POD_SPEC,
  STRATEGIC,
  startApi,
  WORKLOAD,
} from '../helpers/server/requests.ts';

const IN = 'namespaces/default';
const metadata = { name: 'a' };
const of = (apiVersion: string, kind: string, more: object): object => ({
  ...{ apiVersion, kind, metadata },
  ...more,
});
const causes = ({ details }: ApiObject): (string | undefined)[] =>
  (details.causes ?? []).map(({ reason, field }) => `${reason} ${field}`);
const managers = (body: ApiObject): string[] =>
  (body.metadata as unknown as { managedFields: { manager: string }[] }).managedFields.map(
    ({ manager }) => manager,
  );

describe('images', () => {
  const SHA = 'sha256:'.concat('a'.repeat(64));
  test.for([
    ['busybox', 'Always'],
    ['busybox:latest', 'Always'],
    ['localhost:5000/web', 'Always'],
    ['localhost:5000/web:1', 'IfNotPresent'],
    ['Registry/web', 'Always'],
    [`web@${SHA}`, 'IfNotPresent'],
    [`web:latest@${SHA}`, 'Always'],
    // These are not names of images, so they have no tag, also not the default one.
    ['-1', 'IfNotPresent'],
    ['a.b/c d', 'IfNotPresent'],
    ['Busybox', 'IfNotPresent'],
    ['web@sha256:abc', 'IfNotPresent'],
    ['a'.repeat(300), 'IfNotPresent'],
    ['a'.repeat(64), 'IfNotPresent'],
  ] as const)('%s is pulled: %s', async ([image, policy]) => {
    const { api } = await startApi();
    const spec = { containers: [{ name: 'c', image }] };
    const pod = await api.make(`/api/v1/${IN}/pods`, of('v1', 'Pod', { spec }));
    expect(pod.spec.containers).toMatchObject([{ imagePullPolicy: policy }]);
  });
});

describe('integers that are too large for their field', () => {
  const POLICIES = `/apis/networking.k8s.io/v1/${IN}/networkpolicies`;
  const policy = (endPort: number): object =>
    of('networking.k8s.io/v1', 'NetworkPolicy', {
      spec: { podSelector: {}, ingress: [{ ports: [{ protocol: 'TCP', port: 80, endPort }] }] },
    });
  const apply = (api: ApiRequests, body: object) =>
    api.send('PATCH', `${POLICIES}/a`, { query: { fieldManager: 'm' }, body, type: APPLY_PATCH });

  test('lose their higher bits in an apply, and are then validated', async () => {
    const { api } = await startApi();
    const { status, body } = await apply(api, policy(2 ** 31));
    expect([status, causes(body)[0]]).toEqual([
      422,
      'FieldValueInvalid spec.ingress[0].ports[0].endPort',
    ]);
    const cut = await apply(api, policy(2 ** 32 + 90));
    expect(cut.body.spec).toMatchObject({ ingress: [{ ports: [{ endPort: 90 }] }] });
  });

  test('lose their higher bits in a strategic patch; others are refused', async () => {
    const { api } = await startApi();
    const path = `/apis/apps/v1/${IN}/deployments`;
    await api.make(path, of('apps/v1', 'Deployment', { spec: { ...WORKLOAD, replicas: 1 } }));
    const patch = { spec: { replicas: 2 ** 32 + 3 } };
    const { body } = await api.patch(`${path}/a`, patch, STRATEGIC);
    expect(body.spec.replicas).toBe(3);
    expect((await api.patch(`${path}/a`, patch)).status).toBe(422);
    const sent = await api.send('POST', path, {
      body: of('apps/v1', 'Deployment', { spec: { ...WORKLOAD, ...patch.spec } }),
    });
    expect(sent.status).toBe(400);
  });
});

test('an apply of an object as a port is a conflict, and an internal error if forced', async () => {
  const { api } = await startApi();
  const service = (targetPort: unknown): object =>
    of('v1', 'Service', { spec: { ports: [{ port: 80, targetPort }] } });
  await api.make(`/api/v1/${IN}/services`, service('http'));
  const apply = (query: Record<string, string>) =>
    api.send('PATCH', `/api/v1/${IN}/services/a`, { query, body: service({}), type: APPLY_PATCH });
  const conflict = await apply({ fieldManager: 'm' });
  expect([conflict.status, causes(conflict.body)]).toEqual([
    409,
    ['FieldManagerConflict .spec.ports[port=80,protocol="TCP"].targetPort'],
  ]);
  expect((await apply({ fieldManager: 'm', force: 'true' })).status).toBe(500);
});

test('an apply of an object to a quantity is an internal error', async () => {
  const { api } = await startApi();
  const quota = (cpu: unknown): object => of('v1', 'ResourceQuota', { spec: { hard: { cpu } } });
  await api.make(`/api/v1/${IN}/resourcequotas`, quota('1'));
  const { status } = await api.send('PATCH', `/api/v1/${IN}/resourcequotas/a`, {
    ...{ query: { fieldManager: 'm' }, body: quota({}), type: APPLY_PATCH },
  });
  expect(status).toBe(500);
});

test('scaling rules of an autoscaler need policies; a missing list gets the default', async () => {
  const { api } = await startApi();
  const path = `/apis/autoscaling/v2/${IN}/horizontalpodautoscalers`;
  const autoscaler = (scaleDown: object): object =>
    of('autoscaling/v2', 'HorizontalPodAutoscaler', {
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
        maxReplicas: 5,
        behavior: { scaleDown },
      },
    });
  const { status, body } = await api.send('POST', path, { body: autoscaler({ policies: [] }) });
  expect([status, causes(body)]).toEqual([
    422,
    ['FieldValueRequired spec.behavior.scaleDown.policies'],
  ]);
  const made = await api.make(path, autoscaler({}));
  expect(made.spec.behavior).toMatchObject({ scaleDown: { policies: [{ type: 'Percent' }] } });
});

test('the generation of a PriorityClass stays 1', async () => {
  const { api } = await startApi();
  const path = '/apis/scheduling.k8s.io/v1/priorityclasses';
  const made = await api.make(path, of('scheduling.k8s.io/v1', 'PriorityClass', { value: 1 }));
  const { body } = await api.patch(`${path}/a`, { description: 'd' });
  expect([made.metadata.generation, body.metadata.generation]).toEqual([1, 1]);
  expect(body.metadata.resourceVersion).not.toBe(made.metadata.resourceVersion);
});

test('an update of a DaemonSet without its template generation becomes its owner', async () => {
  const { api } = await startApi();
  const path = `/apis/apps/v1/${IN}/daemonsets`;
  const object = of('apps/v1', 'DaemonSet', { spec: WORKLOAD });
  const made = await api.send('POST', path, { body: object, query: { fieldManager: 'one' } });
  const query = { fieldManager: 'two' };
  const { body } = await api.send('PUT', `${path}/a`, { body: object, query });
  const generation = { 'deprecated.daemonset.template.generation': '1' };
  expect([made.body.metadata.annotations, body.metadata.annotations]).toEqual([
    generation,
    generation,
  ]);
  expect(managers(body).sort()).toEqual(['one', 'two']);
  expect(body.metadata.generation).toBe(1);
});

test('a Job without labels gets those of its Pods, unless its name is generated', async () => {
  const { api } = await startApi();
  const labelsOf = async (own: object, labels: object): Promise<string[]> => {
    const template = { metadata: { labels }, spec: { ...POD_SPEC, restartPolicy: 'Never' } };
    const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: own, spec: { template } };
    const { metadata: made } = await api.make(`/apis/batch/v1/${IN}/jobs`, job);
    return Object.keys(made.labels ?? {});
  };
  const app = { app: 'x' };
  expect(await labelsOf({ name: 'a' }, app)).toContain('job-name');
  expect(await labelsOf({ name: 'b' }, {})).toContain('job-name');
  expect(await labelsOf({ name: 'c', labels: app }, app)).toEqual(['app']);
  expect(await labelsOf({ generateName: 'd-' }, app)).toEqual(['app']);
  expect(await labelsOf({ generateName: 'e-' }, {})).toContain('job-name');
});

test.for([
  ['CustomResourceDefinition', 'apiextensions.k8s.io/v1', 'customresourcedefinitions'],
  ['APIService', 'apiregistration.k8s.io/v1', 'apiservices'],
] as const)('generateName is refused for a %s', async ([kind, apiVersion, plural]) => {
  const { api } = await startApi();
  const schema = { openAPIV3Schema: { type: 'object' } };
  const spec =
    kind === 'APIService'
      ? { group: 'a.example', version: 'v1', groupPriorityMinimum: 1, versionPriority: 1 }
      : {
          group: 'a.example',
          scope: 'Cluster',
          names: { plural: 'as', kind: 'A' },
          versions: [{ name: 'v1', served: true, storage: true, schema }],
        };
  const object = { apiVersion, kind, metadata: { generateName: 'g-' }, spec };
  const { status, body } = await api.send('POST', `/apis/${apiVersion}/${plural}`, {
    body: object,
  });
  expect([status, causes(body)]).toEqual([
    422,
    ['FieldValueInvalid metadata.generateName', 'FieldValueInvalid metadata.name'],
  ]);
});

test('a dry run of an unnamed Service allocates no address and reports other errors', async () => {
  const { api } = await startApi();
  const path = `/api/v1/${IN}/services`;
  const wrong = async (query: Record<string, string>) =>
    causes((await api.send('POST', path, { body: '{}', query })).body);
  expect(await wrong({})).toEqual(['FieldValueInvalid spec.clusterIPs']);
  expect(await wrong({ dryRun: 'All' })).toEqual([
    'FieldValueRequired metadata.name',
    'FieldValueRequired spec.ports',
  ]);
});

test('a dry run of an update answers with the selfLink of the request', async () => {
  const { api } = await startApi();
  const path = `/api/v1/${IN}/configmaps`;
  await api.make(path, of('v1', 'ConfigMap', {}));
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', selfLink: '/x' } };
  const put = (query: Record<string, string>) => api.send('PUT', `${path}/a`, { body, query });
  expect((await put({ dryRun: 'All' })).body.metadata).toMatchObject({ selfLink: '/x' });
  expect((await put({})).body.metadata).not.toHaveProperty('selfLink');
});

test('an update of a ReplicationController warns about its old template', async () => {
  const { api } = await startApi();
  const path = `/api/v1/${IN}/replicationcontrollers`;
  const controller = (spec: object): object =>
    of('v1', 'ReplicationController', {
      spec: {
        selector: { app: 'x' },
        template: { ...WORKLOAD.template, spec: { ...POD_SPEC, ...spec } },
      },
    });
  await api.make(path, controller({}));
  const first = await api.put(`${path}/a`, controller({ imagePullSecrets: [{}] }));
  const second = await api.put(`${path}/a`, controller({}));
  expect(first.header('warning')).toBeNull();
  expect(second.header('warning')).toContain('imagePullSecrets[0].name: invalid empty name');
});

test.for([
  ['leases', 'coordination.k8s.io/v1', 'Lease', true, 3, 0],
  ['controllerrevisions', 'apps/v1', 'ControllerRevision', true, 4, 2],
  ['runtimeclasses', 'node.k8s.io/v1', 'RuntimeClass', false, 4, 0],
] as const)(
  'an update of %s repeats the errors of its metadata as often as a real server',
  async ([plural, apiVersion, kind, namespaced, labels, finalizers]) => {
    const { api } = await startApi();
    const path = `/apis/${apiVersion}/${namespaced ? `${IN}/` : ''}${plural}`;
    const more = {
      Lease: {},
      ControllerRevision: { revision: 1, data: {} },
      RuntimeClass: { handler: 'h' },
    };
    const made = await api.make(path, of(apiVersion, kind, more[kind]));
    const { body } = await api.put(`${path}/a`, {
      ...made,
      metadata: { ...made.metadata, labels: { 'a b': 'c' }, finalizers: ['x'] },
    });
    const told = (field: string): number =>
      causes(body).filter((cause) => cause?.endsWith(field)).length;
    expect([told('metadata.labels'), told('metadata.finalizers[0]')]).toEqual([labels, finalizers]);
  },
);

describe('custom objects', () => {
  const BARS = `/apis/example.com/v1/${IN}/bars`;
  const embedded = {
    type: 'object',
    'x-kubernetes-embedded-resource': true,
    properties: { spec: { type: 'object' } },
  };
  const properties = {
    resource: embedded,
    size: {
      type: 'string',
      enum: ['a', 'b'],
      'x-kubernetes-validations': [{ rule: "self == 'a'" }],
    },
    z: { type: 'object', properties: {} },
  };
  const schema = {
    openAPIV3Schema: {
      type: 'object',
      properties: { spec: { type: 'object', properties } },
    },
  };
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'bars.example.com' },
    spec: {
      ...{ group: 'example.com', scope: 'Namespaced', names: { plural: 'bars', kind: 'Bar' } },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  };
  const bar = (spec: object): object => of('example.com/v1', 'Bar', { spec });
  const resource = (more: object): object => ({ apiVersion: 'v1', kind: 'X', ...more });
  const startWithBars = async (): Promise<ApiRequests> => {
    const { api } = await startApi();
    await api.make('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
    return api;
  };

  test('with a value that is not in the enum get no error of the CEL rules', async () => {
    const api = await startWithBars();
    const { body } = await api.send('POST', BARS, { body: bar({ size: 'c' }) });
    expect(causes(body).sort()).toEqual([
      'FieldValueInvalid <nil>',
      'FieldValueNotSupported spec.size',
    ]);
  });

  test('with a wrong kind in an embedded resource: a patch gets 422, a body 400', async () => {
    const api = await startWithBars();
    await api.make(BARS, bar({ resource: resource({}) }));
    const patch = { spec: { resource: { kind: 5 } } };
    const { status, body } = await api.patch(`${BARS}/a`, patch);
    expect([status, causes(body)]).toEqual([422, ['FieldValueInvalid patch']]);
    const sent = bar({ resource: { ...resource({}), kind: 5 } });
    expect((await api.send('POST', BARS, { body: sent })).status).toBe(400);
  });

  test('report unknown metadata of an embedded resource after all other fields', async () => {
    const api = await startWithBars();
    const sent = bar({ resource: resource({ metadata: { name: 'x', nameX: 'x' } }), z: { y: 1 } });
    const { header } = await api.send('POST', BARS, { body: sent });
    expect(header('warning')?.match(/spec[.\w]+/g)).toEqual([
      'spec.z.y',
      'spec.resource.metadata.nameX',
    ]);
  });
});

test('at most a hundred unknown fields of a built-in kind are reported', async () => {
  const { api } = await startApi();
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`x${at}`, 1]));
  const { header } = await api.send('POST', `/api/v1/${IN}/configmaps`, {
    body: of('v1', 'ConfigMap', many),
  });
  expect(header('warning')?.match(/unknown field/g)).toHaveLength(100);
});

describe('the node affinity of a PersistentVolume', () => {
  const BETA = 'failure-domain.beta.kubernetes.io/zone';
  const volume = (key: string, values = ['a']): object =>
    of('v1', 'PersistentVolume', {
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        hostPath: { path: '/data' },
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'In', values }] }],
          },
        },
      },
    });
  const KEY = 'spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key';

  test.for([
    ['a beta label may become the stable one', 'topology.kubernetes.io/zone', ['a'], []],
    [
      'a beta label may become no other one',
      'topology.kubernetes.io/region',
      ['a'],
      ['FieldValueInvalid nodeAffinity'],
    ],
    ['its values stay', 'topology.kubernetes.io/zone', ['b'], ['FieldValueInvalid nodeAffinity']],
  ] as const)('%s', async ([, key, values, expected]) => {
    const { api } = await startApi();
    await api.make('/api/v1/persistentvolumes', volume(BETA));
    const answer = await api.send('PUT', '/api/v1/persistentvolumes/a', {
      body: volume(key, [...values]),
    });
    expect(answer.status === 200 ? [] : causes(answer.body)).toEqual(expected);
  });

  // Go's map answers the empty string for a label that is not in it.
  test('an empty key is one error, about the key', async () => {
    const { api } = await startApi();
    await api.make('/api/v1/persistentvolumes', volume('zone'));
    const answer = await api.send('PUT', '/api/v1/persistentvolumes/a', { body: volume('') });
    expect(new Set(causes(answer.body))).toEqual(new Set([`FieldValueInvalid ${KEY}`]));
  });
});

// The server fills the strategy only if it has no type or has `rollingUpdate`.
test.for([
  [{}, { type: 'RollingUpdate', rollingUpdate: { partition: 0 } }],
  [{ type: 'RollingUpdate' }, { type: 'RollingUpdate' }],
  [
    { type: 'RollingUpdate', rollingUpdate: {} },
    { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
  ],
])('the update strategy %j of a StatefulSet becomes %j', async ([updateStrategy, expected]) => {
  const { api } = await startApi();
  const spec = { ...WORKLOAD, serviceName: 'a', updateStrategy };
  const made = await api.make(
    `/apis/apps/v1/${IN}/statefulsets`,
    of('apps/v1', 'StatefulSet', { spec }),
  );
  expect(made.spec.updateStrategy).toEqual(expected);
});

test('an invalid name of an APIService is its only error', async () => {
  const { api } = await startApi();
  const spec = { group: 'example.com', version: 'v1', groupPriorityMinimum: 1, versionPriority: 1 };
  const named = async (name: string): Promise<unknown> => {
    const body = { ...of('apiregistration.k8s.io/v1', 'APIService', { spec }), metadata: { name } };
    const path = '/apis/apiregistration.k8s.io/v1/apiservices';
    return causes((await api.send('POST', path, { body })).body);
  };
  expect(await named('a%b')).toEqual(['FieldValueInvalid metadata.name']);
  expect(await named('v2.example.com')).toEqual(['FieldValueInvalid metadata.name']);
});

// Go decodes such a field by a method of its own, which does not report duplicate members.
test('duplicate members within a field of any JSON are not reported', async () => {
  const { api } = await startApi();
  const warningOf = async (name: string, more: string): Promise<unknown> => {
    const body = `{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"${name}"},${more}}`;
    const answer = await api.send('POST', `/apis/apps/v1/${IN}/controllerrevisions`, { body });
    expect(answer.status).toBe(201);
    return answer.header('warning');
  };
  expect(await warningOf('a', '"revision":3,"data":{"spec":{"a":1,"a":{}}}')).toBeNull();
  expect(await warningOf('b', '"revision":3,"revision":4,"data":{}')).toContain('duplicate field');
});

// The second value of a field of any JSON was merged into the first one.
test('a duplicate field of any JSON has its second value', async () => {
  const { api } = await startApi();
  const path = `/apis/apps/v1/${IN}/controllerrevisions`;
  const start = '{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"a"}';
  const body = (data: string): string => `${start},${data},"revision":3}`;
  const created = await api.send('POST', path, { body: body('"data":{"a":1},"data":{"b":2}') });
  expect((created.body as { data?: object }).data).toEqual({ b: 2 });
  const changed = await api.send('PUT', `${path}/a`, { body: body('"data":{"b":2},"data":{}') });
  expect(changed.status).toBe(422);
});

// An IPv4 address in IPv6 form was taken for an IPv6 address.
test('an IPv4 address in IPv6 form is of the IPv4 family', async () => {
  const { api } = await startApi();
  const body = {
    ...{ apiVersion: 'networking.k8s.io/v1', kind: 'ServiceCIDR', metadata: { name: 'a' } },
    spec: { cidrs: ['::ffff:10.0.0.0/104', '2001:db8:1::/112'] },
  };
  const answer = await api.send('POST', '/apis/networking.k8s.io/v1/servicecidrs', { body });
  expect(causes(answer.body)).toEqual(['FieldValueInvalid spec.cidrs[0]']);
});

// The real server has no watch cache of Events, so a retry would not find a newer one.
test('a list of Events at a later version than the newest one has no Retry-After', async () => {
  const { api } = await startApi();
  const list = (plural: string): Promise<{ body: ApiObject }> =>
    api.send('GET', `/api/v1/${IN}/${plural}`, { query: { resourceVersion: '999999999' } });
  expect((await list('events')).body).toMatchObject({
    code: 504,
    details: expect.not.objectContaining({ retryAfterSeconds: 1 }),
  });
  expect((await list('secrets')).body).toMatchObject({
    code: 504,
    details: { retryAfterSeconds: 1 },
  });
});
