/**
 * The rules of Pods, workloads, Jobs, Services and volumes, as a kube-apiserver 1.36.3 answered:
 * the reasons and fields of its causes, in its order.
 */
import { expect, test } from 'vitest';
import { type ApiObject, POD_SPEC, startApi, WORKLOAD } from '../helpers/server/requests.ts';

const IN = 'namespaces/default';
const container = (more: object): object => ({
  spec: { containers: [{ name: 'c', image: 'i', ...more }] },
});
const pod = (more: object): object => ({ spec: { ...POD_SPEC, ...more } });
const workload = (more: object): object => ({ spec: { ...WORKLOAD, ...more } });
const job = (more: object): object => ({
  spec: { template: { spec: { ...POD_SPEC, restartPolicy: 'Never' } }, ...more },
});
const cron = (more: object): object => ({
  spec: { schedule: '0 0 * * *', jobTemplate: job({}), ...more },
});
const port = { port: 80 };

function causesOf(body: ApiObject): string[] {
  const { causes = [] } = (body.details ?? {}) as {
    causes?: { reason: string; field?: string }[];
  };
  return causes.map(({ reason, field }) => `${reason.replace('FieldValue', '')} ${field ?? ''}`);
}

test.for([
  ['pods', pod({ containers: [] }), ['Required spec.containers']],
  ['pods', container({ name: 'A' }), ['Invalid spec.containers[0].name']],
  ['pods', container({ image: '' }), ['Required spec.containers[0].image']],
  [
    'pods',
    container({ ports: [{ containerPort: 0 }] }),
    ['Required spec.containers[0].ports[0].containerPort'],
  ],
  ['pods', container({ env: [{ name: 'A=' }] }), ['Invalid spec.containers[0].env[0].name']],
  [
    'pods',
    container({ env: [{ name: 'A', valueFrom: {} }] }),
    ['Invalid spec.containers[0].env[0].valueFrom'],
  ],
  ['pods', container({ livenessProbe: {} }), ['Required spec.containers[0].livenessProbe']],
  [
    'pods',
    container({ volumeMounts: [{ name: 'v', mountPath: '/v' }] }),
    ['NotFound spec.containers[0].volumeMounts[0].name'],
  ],
  [
    'pods',
    container({ resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } }),
    ['Invalid spec.containers[0].resources.requests'],
  ],
  [
    'pods',
    pod({ volumes: [{ name: 'v', emptyDir: {}, hostPath: { path: '/' } }] }),
    ['Forbidden spec.volumes[0].hostPath'],
  ],
  ['pods', pod({ restartPolicy: 'Sometimes' }), ['NotSupported spec.restartPolicy']],
  ['pods', pod({ tolerations: [{}] }), ['Invalid spec.tolerations[0].operator']],
  ['services', { spec: {} }, ['Required spec.ports']],
  [
    'services',
    { spec: { ports: [port, port] } },
    ['Required spec.ports[0].name', 'Required spec.ports[1].name', 'Duplicate spec.ports[1]'],
  ],
  ['services', { spec: { ports: [port], clusterIP: '1.2.3' } }, ['Invalid spec.clusterIPs[0]']],
  ['services', { spec: { type: 'ExternalName' } }, ['Required spec.externalName']],
  [
    'services',
    { spec: { ports: [{ ...port, nodePort: 30_080 }] } },
    ['Forbidden spec.ports[0].nodePort'],
  ],
  [
    'persistentvolumeclaims',
    { spec: {} },
    ['Required spec.accessModes', 'Required spec.resources[storage]'],
  ],
  [
    'limitranges',
    { spec: { limits: [{ type: 'Container', min: { cpu: '2' }, max: { cpu: '1' } }] } },
    [
      'Invalid spec.limits[0].min[cpu]',
      'Invalid spec.limits[0].defaultRequest[cpu]',
      'Invalid spec.limits[0].default[cpu]',
    ],
  ],
  [
    'resourcequotas',
    { spec: { hard: { apples: '1' } } },
    ['Invalid spec.hard[apples]', 'Invalid spec.hard[apples]'],
  ],
] as const)('%s %j', async ([plural, body, expected]) => {
  const { api } = await startApi();
  const answer = await api.send('POST', `/api/v1/${IN}/${plural}`, {
    body: { metadata: { name: 'a' }, ...body },
  });
  expect([answer.status, causesOf(answer.body)]).toEqual([422, expected]);
});

test.for([
  ['apps', 'deployments', workload({ replicas: -1 }), ['Invalid spec.replicas']],
  [
    'apps',
    'deployments',
    workload({ selector: { matchLabels: { app: 'y' } } }),
    ['Invalid spec.template.metadata.labels'],
  ],
  ['apps', 'deployments', workload({ selector: {} }), ['Invalid spec.selector']],
  [
    'apps',
    'deployments',
    workload({ strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } } }),
    ['Invalid spec.strategy.rollingUpdate.maxUnavailable'],
  ],
  [
    'apps',
    'statefulsets',
    workload({ podManagementPolicy: 'Any' }),
    ['Invalid spec.podManagementPolicy'],
  ],
  [
    'batch',
    'jobs',
    { spec: { template: { spec: POD_SPEC } } },
    ['Required spec.template.spec.restartPolicy'],
  ],
  ['batch', 'jobs', job({ completionMode: 'Indexed' }), []],
  ['batch', 'jobs', job({ backoffLimitPerIndex: 1 }), ['Invalid spec.backoffLimitPerIndex']],
  ['batch', 'cronjobs', cron({ schedule: '61 * * * *' }), ['Invalid spec.schedule']],
  ['batch', 'cronjobs', cron({ schedule: '@every 5m' }), []],
  ['batch', 'cronjobs', cron({ timeZone: 'Nowhere/Land' }), ['Invalid spec.timeZone']],
] as const)('%s %s %j', async ([group, plural, body, expected]) => {
  const { api } = await startApi();
  const answer = await api.send('POST', `/apis/${group}/v1/${IN}/${plural}`, {
    body: { metadata: { name: 'a' }, ...body },
  });
  expect([answer.status, causesOf(answer.body)]).toEqual([
    expected.length > 0 ? 422 : 201,
    expected,
  ]);
});

test.for([
  ['api/v1', 'pods', pod({}), { spec: { containers: [{ name: 'c', image: 'j' }] } }, []],
  ['api/v1', 'pods', pod({}), { spec: { nodeName: 'n' } }, ['Forbidden spec']],
  ['api/v1', 'pods', pod({}), { spec: { tolerations: null } }, []],
  [
    'api/v1',
    'services',
    { spec: { ports: [port] } },
    { spec: { clusterIP: null, clusterIPs: null } },
    [],
  ],
  [
    'api/v1',
    'services',
    { spec: { ports: [port] } },
    { spec: { clusterIP: '10.0.9.9', clusterIPs: ['10.0.9.9'] } },
    ['Invalid spec.clusterIPs[0]'],
  ],
  ['apis/apps/v1', 'deployments', workload({}), { spec: { replicas: 3 } }, []],
  [
    'apis/apps/v1',
    'statefulsets',
    workload({}),
    { spec: { serviceName: 'other' } },
    ['Forbidden spec'],
  ],
  [
    'apis/batch/v1',
    'jobs',
    job({}),
    { spec: { completionMode: 'Indexed', completions: 1 } },
    ['Invalid spec.completionMode'],
  ],
  ['apis/batch/v1', 'jobs', job({}), { spec: { parallelism: 2 } }, []],
] as const)('an update of %s %s', async ([api, plural, first, change, expected]) => {
  const { api: client } = await startApi();
  const path = `/${api}/${IN}/${plural}`;
  await client.make(path, { metadata: { name: 'a' }, ...first });
  const answer = await client.patch(`${path}/a`, change);
  expect([answer.status, causesOf(answer.body)]).toEqual([
    expected.length > 0 ? 422 : 200,
    expected,
  ]);
});
