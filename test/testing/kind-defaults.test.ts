/**
 * Built-in kinds get the defaults of a real kube-apiserver 1.36.3: each `want` is what that one
 * answered. A controller that reads an object back otherwise met members in a cluster that its
 * tests had never seen.
 */
import { describe, expect, test } from 'vitest';
import { startApi } from '../helpers/server/requests.ts';

const IN = 'namespaces/default';
const container = { name: 'c', image: 'i' };
const selector = { matchLabels: { a: 'b' } };
const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [container] } };

const rows: [what: string, path: string, body: object, want: object][] = [
  [
    'a Pod',
    `/api/v1/${IN}/pods`,
    { spec: { containers: [{ ...container, ports: [{ containerPort: 80 }] }] } },
    {
      spec: {
        containers: [
          {
            imagePullPolicy: 'Always',
            terminationMessagePath: '/dev/termination-log',
            ports: [{ containerPort: 80, protocol: 'TCP' }],
          },
        ],
        restartPolicy: 'Always',
        terminationGracePeriodSeconds: 30,
        dnsPolicy: 'ClusterFirst',
        securityContext: {},
        schedulerName: 'default-scheduler',
        enableServiceLinks: true,
        priority: 0,
        preemptionPolicy: 'PreemptLowerPriority',
        tolerations: [
          { key: 'node.kubernetes.io/not-ready', tolerationSeconds: 300 },
          { key: 'node.kubernetes.io/unreachable', tolerationSeconds: 300 },
        ],
      },
      status: { phase: 'Pending', qosClass: 'BestEffort' },
    },
  ],
  [
    'an image that is pinned, and a probe',
    `/api/v1/${IN}/pods`,
    {
      spec: {
        containers: [{ ...container, image: 'r:5/i:1', livenessProbe: { httpGet: { port: 80 } } }],
      },
    },
    {
      spec: {
        containers: [
          {
            imagePullPolicy: 'IfNotPresent',
            livenessProbe: {
              httpGet: { path: '/', port: 80, scheme: 'HTTP' },
              timeoutSeconds: 1,
              periodSeconds: 10,
              successThreshold: 1,
              failureThreshold: 3,
            },
          },
        ],
      },
    },
  ],
  [
    'limits, which are requests too',
    `/api/v1/${IN}/pods`,
    {
      spec: {
        containers: [{ ...container, resources: { limits: { cpu: '1', memory: '1Gi' } } }],
      },
    },
    {
      spec: { containers: [{ resources: { requests: { cpu: '1', memory: '1Gi' } } }] },
      status: { qosClass: 'Guaranteed' },
    },
  ],
  [
    'a Deployment',
    `/apis/apps/v1/${IN}/deployments`,
    { spec: { selector, template } },
    {
      spec: {
        replicas: 1,
        strategy: {
          type: 'RollingUpdate',
          rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' },
        },
        revisionHistoryLimit: 10,
        progressDeadlineSeconds: 600,
      },
    },
  ],
  [
    'a Service',
    `/api/v1/${IN}/services`,
    { spec: { ports: [{ port: 80 }] } },
    {
      spec: {
        type: 'ClusterIP',
        clusterIP: expect.stringMatching(/^10\.0\./),
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: 'SingleStack',
        sessionAffinity: 'None',
        internalTrafficPolicy: 'Cluster',
        ports: [{ port: 80, targetPort: 80, protocol: 'TCP' }],
      },
    },
  ],
  [
    'a Job, whose selector is its own',
    `/apis/batch/v1/${IN}/jobs`,
    { spec: { template: { spec: { restartPolicy: 'Never', containers: [container] } } } },
    {
      spec: {
        parallelism: 1,
        completions: 1,
        backoffLimit: 6,
        completionMode: 'NonIndexed',
        selector: {
          matchLabels: { 'batch.kubernetes.io/controller-uid': expect.any(String) },
        },
        template: { metadata: { labels: { 'batch.kubernetes.io/job-name': 'a' } } },
      },
    },
  ],
  [
    'a claim',
    `/api/v1/${IN}/persistentvolumeclaims`,
    { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } },
    {
      metadata: { finalizers: ['kubernetes.io/pvc-protection'] },
      spec: { volumeMode: 'Filesystem' },
    },
  ],
  [
    'a NetworkPolicy with rules for what leaves',
    `/apis/networking.k8s.io/v1/${IN}/networkpolicies`,
    { spec: { podSelector: {}, egress: [{ ports: [{ port: 53 }] }] } },
    {
      spec: {
        policyTypes: ['Ingress', 'Egress'],
        egress: [{ ports: [{ protocol: 'TCP', port: 53 }] }],
      },
    },
  ],
];

describe('defaults of built-in kinds', () => {
  test.for(rows)('%s', async ([, path, body, want]) => {
    const { api } = await startApi();
    const made = await api.make(path, { metadata: { name: 'a' }, ...body });
    expect(made).toMatchObject(want);
  });

  test('are filled in again where a patch takes them away', async () => {
    const { api } = await startApi();
    const path = `/apis/apps/v1/${IN}/deployments`;
    await api.make(path, { metadata: { name: 'a' }, spec: { selector, template } });
    const { body } = await api.patch(
      `${path}/a`,
      { spec: { replicas: null } },
      'application/merge-patch+json',
    );
    expect(body).toMatchObject({ metadata: { generation: 1 }, spec: { replicas: 1 } });
  });
});
