/**
 * Cases about sequences of subresources and reviews: evictions within a budget, tokens and their
 * reviews, and the approval of certificate requests.
 */
import type { Random } from '../../helpers/random.ts';
import type { JsonObject } from '../same-answers/api.ts';
import type { ParityCase, RequestStep } from './case.ts';
import { mutated } from './mutate.ts';
import { collectionOf, SAMPLES, sampleName, sampleOf } from './objects.ts';

const CORE = '/api/v1/namespaces/NS';
const POD = `${CORE}/pods/a`;
const MERGE = 'application/merge-patch+json';
const STRATEGIC = 'application/strategic-merge-patch+json';
const APPLY = 'application/apply-patch+yaml';
const JSON_PATCH = 'application/json-patch+json';
const BUDGETS = '/apis/policy/v1/namespaces/NS/poddisruptionbudgets';

const container: JsonObject = {
  name: 'web',
  image: 'i',
  resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '2' } },
};
const pod = (spec: JsonObject = {}, name = 'a'): RequestStep => ({
  method: 'POST',
  path: `${CORE}/pods`,
  body: {
    metadata: { name, labels: { app: name } },
    spec: { containers: [container], ...spec },
  },
});
const patch = (path: string, body: unknown, type = MERGE): RequestStep => ({
  method: 'PATCH',
  path,
  body,
  type,
});
const get = (path: string): RequestStep => ({ method: 'GET', path });
const post = (path: string, body: unknown): RequestStep => ({ method: 'POST', path, body });
const put = (path: string, body: unknown): RequestStep => ({ method: 'PUT', path, body });

const debug: JsonObject = {
  name: 'debug',
  image: 'busybox',
  command: ['sh'],
  env: [{ name: 'A', value: 'b' }],
  stdin: true,
  targetContainerName: 'web',
  imagePullPolicy: 'Always',
  terminationMessagePolicy: 'File',
  volumeMounts: [{ name: 'v', mountPath: '/v' }],
  securityContext: { runAsUser: 1 },
};
const VOLUMES: JsonObject = { volumes: [{ name: 'v', emptyDir: {} }] };

function ephemeral(random: Random): RequestStep[] {
  const path = `${POD}/ephemeralcontainers`;
  const with_ = (...containers: JsonObject[]): JsonObject => ({
    spec: { ephemeralContainers: containers },
  });
  const odd = random.pick<JsonObject>([
    mutated(random, debug),
    mutated(random, debug),
    { ...debug, name: 'web' },
    { ...debug, ports: [{ containerPort: 1 }] },
    { ...debug, resources: { requests: { cpu: '1' } } },
    { ...debug, lifecycle: { preStop: { exec: { command: ['a'] } } } },
    { ...debug, targetContainerName: 'x' },
    { ...debug, volumeMounts: [{ name: 'x', mountPath: '/x' }] },
    { ...debug, volumeMounts: [{ name: 'v', mountPath: '/x', subPath: 'y' }] },
    { name: 'debug' },
  ]);
  return [
    pod(VOLUMES),
    ...random.pick<RequestStep[]>([
      [
        patch(path, with_(debug), STRATEGIC),
        patch(path, with_({ ...debug, name: 'b' }), STRATEGIC),
      ],
      [patch(path, with_(odd), STRATEGIC)],
      [patch(path, with_(odd), STRATEGIC)],
      [patch(path, with_(debug)), patch(path, with_({ ...debug, image: 'j' }))],
      [patch(path, with_(debug)), patch(path, { spec: { ephemeralContainers: null } })],
      [patch(path, with_(debug, debug))],
      [patch(path, [{ op: 'add', path: '/spec/ephemeralContainers', value: [debug] }], JSON_PATCH)],
      [
        patch(
          `${path}?fieldManager=m`,
          { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, ...with_(debug) },
          APPLY,
        ),
        patch(`${POD}?fieldManager=m`, { metadata: { labels: { a: 'b' } } }),
      ],
      [
        put(path, {
          metadata: { name: 'a', resourceVersion: '{{0.metadata.resourceVersion}}' },
          ...with_(debug),
        }),
      ],
      [put(path, { metadata: { name: 'a', resourceVersion: '1' }, ...with_(debug) })],
      [patch(`${path}?dryRun=All`, with_(debug))],
      [patch(path, { metadata: { labels: { b: 'c' } }, spec: { nodeName: 'n' } })],
      [patch(`${CORE}/pods/none/ephemeralcontainers`, with_(debug))],
    ]),
    get(POD),
  ];
}

function resize(random: Random): RequestStep[] {
  const path = `${POD}/resize`;
  const to = (resources: unknown, more: JsonObject = {}): JsonObject => ({
    spec: { containers: [{ name: 'web', resources: resources as JsonObject, ...more }] },
  });
  const quantity = random.pick(['500m', '1', '2', '3', '0', '-1', 'x', '1e3']);
  return [
    pod(),
    random.pick<RequestStep>([
      patch(path, to({ requests: { cpu: quantity } }), STRATEGIC),
      patch(path, to({ limits: { cpu: quantity } }), STRATEGIC),
      patch(path, to({ requests: { memory: quantity } }), STRATEGIC),
      patch(path, to({ limits: { memory: '2Gi' } }), STRATEGIC),
      patch(
        path,
        to({ requests: { 'example.com/x': '1' }, limits: { 'example.com/x': '1' } }),
        STRATEGIC,
      ),
      patch(path, to({ requests: { 'ephemeral-storage': '1' } }), STRATEGIC),
      patch(path, to({ requests: { cpu: null } }), STRATEGIC),
      patch(path, to(null), STRATEGIC),
      patch(path, to({}, { image: 'j' }), STRATEGIC),
      patch(
        path,
        to({}, { resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }] }),
        STRATEGIC,
      ),
      patch(path, { spec: { containers: [container, { ...container, name: 'b' }] } }),
      patch(path, { spec: { containers: [{ ...container, name: 'b' }] } }),
      patch(path, { metadata: { labels: { a: 'b' } }, status: { phase: 'Failed' } }),
      patch(`${path}?dryRun=All`, to({ requests: { cpu: quantity } }), STRATEGIC),
      put(path, { metadata: { name: 'a' }, spec: { containers: [container] } }),
      put(path, { metadata: { name: 'a' } }),
      patch(
        `${path}?fieldManager=m&force=true`,
        {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { name: 'a' },
          ...to({ requests: { cpu: '1500m' } }),
        },
        APPLY,
      ),
    ]),
    get(POD),
  ];
}

function eviction(random: Random): RequestStep[] {
  const evict = (more: JsonObject = {}): RequestStep =>
    post(`${POD}/eviction`, { metadata: { name: 'a' }, ...more });
  const phase = random.pick(['Running', 'Running', 'Running', 'Pending', 'Succeeded']);
  const ready = random.pick(['True', 'True', 'False']);
  const budget = (name: string, spec: JsonObject = {}): RequestStep =>
    post(BUDGETS, {
      metadata: { name },
      spec: { minAvailable: 1, selector: { matchLabels: { app: 'a' } }, ...spec },
    });
  const counted = (disruptionsAllowed: number, more: JsonObject = {}): RequestStep =>
    patch(`${BUDGETS}/b/status`, {
      status: {
        observedGeneration: 1,
        disruptionsAllowed,
        currentHealthy: 1,
        desiredHealthy: 1,
        expectedPods: 1,
        ...more,
      },
    });
  return [
    pod(),
    patch(`${POD}/status`, {
      status: { phase, conditions: [{ type: 'Ready', status: ready }] },
    }),
    ...random.pick<RequestStep[]>([
      [],
      [budget('b')],
      [budget('b'), counted(0)],
      [budget('b'), counted(1)],
      [budget('b'), counted(2)],
      [budget('b'), counted(-1)],
      [budget('b'), counted(1, { disruptedPods: { x: '2026-01-01T00:00:00Z' } })],
      [budget('b'), counted(0, { currentHealthy: 0 })],
      [budget('b'), counted(1, { observedGeneration: 0 })],
      [budget('b'), budget('c')],
      [budget('b', { selector: {} }), counted(0)],
      [budget('b', { selector: { matchLabels: { app: 'x' } } })],
      [budget('b', { unhealthyPodEvictionPolicy: 'AlwaysAllow' }), counted(0)],
      [budget('b', { unhealthyPodEvictionPolicy: 'IfHealthyBudget' }), counted(0)],
    ]),
    random.pick([
      evict(),
      evict(),
      evict(),
      evict({ deleteOptions: { dryRun: ['All'] } }),
      evict({ deleteOptions: { gracePeriodSeconds: 0 } }),
      evict({ deleteOptions: { preconditions: { uid: '{{0.metadata.uid}}' } } }),
      evict({ deleteOptions: { preconditions: { uid: 'u' } } }),
      evict({ surplus: 1 }),
      evict({ apiVersion: 'policy/v1beta1', kind: 'Eviction' }),
    ]),
    get(POD),
    get(`${BUDGETS}/b`),
  ];
}

const TOKEN = `${CORE}/serviceaccounts/a/token`;

function tokens(random: Random): RequestStep[] {
  const spec = random.pick<JsonObject>([
    {},
    { expirationSeconds: random.pick([599, 600, 3600, 2 ** 32, 2 ** 32 + 1, -1]) },
    { audiences: random.pick([['x'], ['x', 'https://kubernetes.default.svc'], [], ['']]) },
    { boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'a' } },
    { boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'b' } },
    { boundObjectRef: { kind: 'Pod', name: 'a', uid: '{{1.metadata.uid}}' } },
    { boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'a', uid: 'u' } },
    { boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: 's' } },
    { boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: 'none' } },
    { boundObjectRef: { kind: 'Node', apiVersion: 'v1', name: 'none' } },
    { boundObjectRef: { kind: 'ConfigMap', apiVersion: 'v1', name: 's' } },
    { boundObjectRef: { kind: 'Pod', apiVersion: 'v2', name: 'a' } },
    { boundObjectRef: {} },
    { surplus: 1 },
    { expirationSeconds: 'x' },
    { audiences: 'x' },
  ]);
  const more = random.pick<JsonObject>([
    {},
    {},
    {},
    { metadata: { name: 'a' } },
    { metadata: { name: 'b' } },
    { metadata: { name: 'a', uid: 'u' } },
    { metadata: { namespace: 'other' } },
    { metadata: { labels: { a: 'b' } } },
  ]);
  const query = random.pick([
    '',
    '',
    '',
    '?dryRun=All',
    '?fieldValidation=Strict',
    '?fieldManager=m',
  ]);
  const reviewed = random.pick<JsonObject>([
    {},
    {},
    { audiences: ['x'] },
    { audiences: ['x', 'https://kubernetes.default.svc'] },
  ]);
  return [
    post(`${CORE}/serviceaccounts`, { metadata: { name: 'a' } }),
    pod({ serviceAccountName: random.pick(['a', 'a', 'default']) }),
    post(`${CORE}/secrets`, { metadata: { name: 's' } }),
    post(TOKEN + query, { spec, ...more }),
    post('/apis/authentication.k8s.io/v1/tokenreviews', {
      spec: { token: '{{3.status.token}}', ...reviewed },
    }),
    {
      ...post('/apis/authentication.k8s.io/v1/selfsubjectreviews', {}),
      headers: { authorization: 'Bearer {{3.status.token}}' },
    },
  ];
}

function connects(random: Random): RequestStep[] {
  const two: JsonObject = { containers: [container, { ...container, name: 'b' }] };
  const what = random.pick([
    ...['log', 'log?container=web', 'log?container=x', 'log?tailLines=-1', 'log?tailLines=x'],
    ...['log?sinceSeconds=0', 'log?limitBytes=1', 'log?sinceTime=x', 'log?follow=true'],
    ...['exec', 'exec?command=ls', 'exec?container=x', 'attach', 'portforward'],
    ...['portforward?ports=1', 'portforward?ports=x', 'proxy', 'proxy/a/b', 'log/x', 'nothing'],
  ]);
  const name = random.pick(['a', 'a', 'a', 'none']);
  return [
    pod(random.pick<JsonObject>([{}, {}, two, { nodeName: 'none' }])),
    {
      method: random.pick(['GET', 'GET', 'GET', 'POST', 'PUT', 'DELETE']),
      path: `${CORE}/pods/${name}/${what}`,
    },
  ];
}

const SIGNERS = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const SIGNING = SAMPLES.find(({ kind }) => kind === 'CertificateSigningRequest');

function approvals(random: Random): RequestStep[] {
  if (SIGNING === undefined) return [get(SIGNERS)];
  const name = sampleName(SIGNING, 'a');
  const path = `${SIGNERS}/${name}/approval`;
  const condition = (type: string, more: JsonObject = {}): JsonObject => ({
    status: { conditions: [{ type, status: 'True', reason: 'r', message: 'm', ...more }] },
  });
  return [
    { method: 'POST', path: collectionOf(SIGNING), body: sampleOf(SIGNING) },
    ...random.pick<RequestStep[]>([
      [get(path)],
      [patch(path, condition('Approved'))],
      [patch(path, condition('Approved')), patch(path, condition('Denied'))],
      [patch(path, condition('Denied')), patch(path, { status: { conditions: null } })],
      [patch(path, condition('Approved', { status: 'False' }))],
      [patch(path, condition('Other'))],
      [patch(path, { status: { certificate: 'eA==' } })],
      [patch(path, { metadata: { labels: { a: 'b' } }, spec: { username: 'x' } })],
      [patch(`${SIGNERS}/${name}/status`, condition('Approved'))],
      [patch(`${SIGNERS}/${name}/status`, condition('Failed'))],
      [patch(`${SIGNERS}/${name}/status`, { status: { certificate: 'eA==' } })],
      [put(path, { metadata: { name }, ...condition('Approved') })],
      [post(path, condition('Approved'))],
    ]),
    get(`${SIGNERS}/${name}`),
  ];
}

function finalizes(random: Random): RequestStep[] {
  const path = `${CORE}/finalize`;
  const spec = random.pick<JsonObject>([
    { finalizers: [] },
    { finalizers: ['kubernetes'] },
    { finalizers: ['example.com/a'] },
    { finalizers: ['bad name'] },
    { finalizers: ['one'] },
    {},
  ]);
  const metadata = random.pick<JsonObject>([
    { name: 'NS' },
    { name: 'NS', labels: { a: 'b' } },
    { name: 'other' },
    { name: 'NS', resourceVersion: '1' },
  ]);
  return [
    random.pick([
      put(path, { metadata, spec }),
      put(path, { metadata, spec }),
      put(path, { metadata, spec }),
      get(path),
      patch(path, { spec }),
      put('/api/v1/namespaces/none/finalize', { metadata: { name: 'none' }, spec }),
      patch(CORE, { spec }),
    ]),
    get(CORE),
  ];
}

function bindings(random: Random): RequestStep[] {
  const target = random.pick<JsonObject>([
    { kind: 'Node', name: 'n' },
    { kind: 'Node', apiVersion: 'v1', name: 'n' },
    { name: 'n' },
    { kind: 'Pod', name: 'n' },
    { kind: 'Node', name: '' },
    { kind: 'Node', name: 'Not Valid' },
  ]);
  const metadata = random.pick<JsonObject>([
    { name: 'a' },
    { name: 'a' },
    { name: 'a', annotations: { x: 'y' } },
    { name: 'a', labels: { x: 'y' } },
    { name: 'b' },
    { name: 'a', namespace: 'other' },
    { name: 'a', uid: 'u' },
    {},
  ]);
  const path = random.pick([`${CORE}/bindings`, `${POD}/binding`]);
  const query = random.pick(['', '', '', '?dryRun=All', '?fieldValidation=Strict']);
  const gates: JsonObject = random.chance(0.15)
    ? { schedulingGates: [{ name: 'example.com/g' }] }
    : {};
  return [
    pod(gates),
    post(path + query, { metadata, target, ...(random.chance(0.15) ? { surplus: 1 } : {}) }),
    get(POD),
    post(path, { metadata, target }),
  ];
}

const PARTS: readonly ((random: Random) => RequestStep[])[] = [
  ...[ephemeral, ephemeral, resize, resize, eviction, eviction],
  ...[tokens, tokens, connects, approvals, finalizes, bindings],
];

export const subresourceCases = (random: Random, count: number): ParityCase[] =>
  Array.from({ length: count }, () => ({
    group: 'subresource',
    steps: random.pick(PARTS)(random),
  }));
