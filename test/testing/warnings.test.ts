/**
 * What a real kube-apiserver 1.36.3 warns of where it takes an object. An operator logs warnings,
 * and fails its tests on any: here it heard of none, and in a cluster of one for each Pod.
 */
import { expect, test } from 'vitest';
import { type ApiResponse, startApi } from '../helpers/server/requests.ts';

const IN = '/namespaces/default';
const container = { name: 'web', image: 'i' };
const pod = (spec: object, metadata: object = {}): object => ({
  metadata: { name: 'a', ...metadata },
  spec: { containers: [container], ...spec },
});
const deployment = (spec: object, name = 'a'): object => ({
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [container], ...spec },
    },
  },
});

/** The texts of the Warning headers. */
const warningsIn = (answer: ApiResponse): string[] =>
  [...(answer.header('warning') ?? '').matchAll(/299 - ("(?:[^"\\]|\\.)*")/g)].map(
    ([, text = '""']) => JSON.parse(text) as string,
  );

test.for<[what: string, path: string, object: object, warnings: string[]]>([
  [
    'a Pod that has the same twice',
    `/api/v1${IN}/pods`,
    pod({
      containers: [
        {
          ...container,
          env: [
            { name: 'A', value: '1' },
            { name: 'A', value: '2' },
          ],
          ports: [
            { name: 'x', containerPort: 80 },
            { name: 'y', containerPort: 80 },
          ],
        },
      ],
      imagePullSecrets: [{ name: 'p' }, { name: 'p' }, {}],
    }),
    [
      'spec.imagePullSecrets[1].name: duplicate name "p"',
      'spec.imagePullSecrets[2].name: invalid empty name ""',
      'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped ' +
        'when using apply',
      'spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]',
    ],
  ],
  [
    'a template with volumes and terms that do nothing',
    `/apis/apps/v1${IN}/deployments`,
    deployment({
      volumes: [
        { name: 'old', gitRepo: { repository: 'r' } },
        { name: 'none', projected: { sources: [{}] } },
      ],
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' },
      ],
    }),
    [
      'spec.template.spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod',
      'spec.template.spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default ' +
        'in v1.33+',
      'volume "none" (Projected) has no sources provided',
    ],
  ],
  [
    'a name that makes no host names',
    `/apis/apps/v1${IN}/deployments`,
    deployment({}, 'a.b'),
    [
      'metadata.name: this is used in Pod names and hostnames, which can result in ' +
        'surprising behavior; a DNS label is recommended: [must not contain dots]',
    ],
  ],
  [
    'parts of bytes',
    `/api/v1${IN}/persistentvolumeclaims`,
    {
      metadata: { name: 'a' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1.5' } } },
    },
    [
      'spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be ' +
        'an integer',
    ],
  ],
  [
    'a range with bits behind its prefix, and one with another spelling',
    `/apis/networking.k8s.io/v1${IN}/networkpolicies`,
    {
      metadata: { name: 'a' },
      spec: {
        podSelector: {},
        ingress: [{ from: [{ ipBlock: { cidr: '2001:DB8::/32' } }] }],
      },
    },
    [
      'spec.ingress[0].from[0].ipBlock.cidr: IPv6 CIDR value "2001:DB8::/32" should be in ' +
        'RFC 5952 canonical format ("2001:db8::/32")',
    ],
  ],
])('it warns of %s', async ([, path, body, warnings]) => {
  const { api } = await startApi();
  const answer = await api.send('POST', path, { body });
  expect(answer.status).toBe(201);
  expect(warningsIn(answer)).toEqual(warnings);
});

test('an update warns where it leads to another generation alone', async () => {
  const { api } = await startApi();
  const path = `/apis/apps/v1${IN}/deployments`;
  const { body } = await api.send('POST', path, { body: deployment({ imagePullSecrets: [{}] }) });
  const labelled = { ...body, metadata: { ...body.metadata, labels: { a: 'b' } } };
  expect(warningsIn(await api.send('PUT', `${path}/a`, { body: labelled }))).toEqual([]);
  const scaled = { ...body, metadata: { name: 'a' }, spec: { ...body.spec, replicas: 3 } };
  expect(warningsIn(await api.send('PUT', `${path}/a`, { body: scaled }))).toHaveLength(1);
});

test('a create of an existing object gets warnings and is refused', async () => {
  const { api } = await startApi();
  const body = pod({ imagePullSecrets: [{}] });
  await api.send('POST', `/api/v1${IN}/pods`, { body });
  const again = await api.send('POST', `/api/v1${IN}/pods`, { body });
  expect(again.status).toBe(409);
  expect(warningsIn(again)).toHaveLength(1);
});
