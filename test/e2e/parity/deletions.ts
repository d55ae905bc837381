/** Cases of deletions. */
import type { Random } from '../../helpers/random.ts';
import type { JsonObject } from '../same-answers/api.ts';
import type { RequestStep } from './case.ts';
import { sampleOf } from './objects.ts';
import { createStep, type Group, getStep, objectPath, PATCHES, pickKind, times } from './steps.ts';

const DELETE_QUERIES = [
  '',
  '?dryRun=All',
  '?dryRun=Some',
  '?propagationPolicy=Foreground',
  '?propagationPolicy=Background',
  '?propagationPolicy=Orphan',
  '?propagationPolicy=Nothing',
  '?gracePeriodSeconds=0',
  '?gracePeriodSeconds=5',
  '?gracePeriodSeconds=-1',
  '?gracePeriodSeconds=x',
  '?orphanDependents=true',
  '?orphanDependents=true&propagationPolicy=Orphan',
];
export const DELETE_BODIES: unknown[] = [
  undefined,
  undefined,
  {},
  { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Foreground' },
  { kind: 'Other', apiVersion: 'v1' },
  { kind: 'DeleteOptions', apiVersion: 'v2' },
  { gracePeriodSeconds: 3 },
  { gracePeriodSeconds: 'x' },
  { preconditions: { uid: '{{0.metadata.uid}}' } },
  { preconditions: { uid: 'other' } },
  { preconditions: { resourceVersion: '1' } },
  { preconditions: { resourceVersion: '{{0.metadata.resourceVersion}}' } },
  { orphanDependents: true },
  { dryRun: ['All'] },
  { dryRun: ['x'] },
  { unknown: 1 },
  '{',
  '[]',
];

export const deletes: Group = (random, count) =>
  times(count, () => {
    if (random.chance(0.3)) return { group: 'delete', steps: gracefully(random) };
    if (random.chance(0.25)) return { group: 'delete', steps: namespaceEnds(random) };
    const kind = pickKind(random);
    const sample = sampleOf(kind);
    const finalizers = random.chance(0.35)
      ? { finalizers: [random.pick(['example.com/x', 'foregroundDeletion', 'orphan'])] }
      : {};
    const body = { ...sample, metadata: { ...(sample.metadata as JsonObject), ...finalizers } };
    const remove: RequestStep = {
      method: 'DELETE',
      path: objectPath(kind) + random.pick(DELETE_QUERIES),
      body: random.pick(DELETE_BODIES),
    };
    const steps: RequestStep[] = [createStep(kind, body), remove, getStep(kind)];
    if (random.chance(0.4)) steps.push({ method: 'DELETE', path: objectPath(kind) });
    if (random.chance(0.4)) {
      steps.push({
        method: 'PATCH',
        path: objectPath(kind),
        body: { metadata: { finalizers: null } },
        type: PATCHES.merge,
      });
      steps.push(getStep(kind));
    }
    return { group: 'delete', steps };
  });

const PODS = '/api/v1/namespaces/NS/pods';

/** Pods with a grace period, and requests to them meanwhile. */
function gracefully(random: Random): RequestStep[] {
  const finalizers = random.chance(0.3)
    ? { finalizers: [random.pick(['example.com/x', 'foregroundDeletion', 'orphan'])] }
    : {};
  const pod: RequestStep = {
    method: 'POST',
    path: PODS,
    body: {
      metadata: { name: 'a', labels: { app: 'a' }, ...finalizers },
      spec: {
        containers: [{ name: 'web', image: 'i' }],
        ...random.pick<JsonObject>([{ nodeName: 'n' }, { nodeName: 'n' }, { nodeName: 'n' }, {}]),
        ...random.pick<JsonObject>([
          ...[{}, {}, { terminationGracePeriodSeconds: 7 }],
          ...[{ terminationGracePeriodSeconds: 0 }, { terminationGracePeriodSeconds: -3 }],
        ]),
      },
    },
  };
  const remove = (): RequestStep => ({
    method: 'DELETE',
    path: `${PODS}/a${random.pick(GRACE_QUERIES)}`,
    body: random.pick(GRACE_BODIES),
  });
  const evict: RequestStep = {
    method: 'POST',
    path: `${PODS}/a/eviction`,
    body: { metadata: { name: 'a' }, deleteOptions: random.pick(EVICTION_OPTIONS) },
  };
  const patch = (path: string, body: unknown): RequestStep => ({
    method: 'PATCH',
    path,
    body,
    type: PATCHES.merge,
  });
  const get: RequestStep = { method: 'GET', path: `${PODS}/a` };
  const binding = { metadata: { name: 'a' }, target: { name: 'n' } };
  const between = (): RequestStep[] =>
    random.pick<RequestStep[]>([
      [],
      [],
      [get],
      [patch(`${PODS}/a`, { metadata: { finalizers: null } })],
      [patch(`${PODS}/a`, { metadata: { finalizers: ['example.com/y'] } })],
      [patch(`${PODS}/a`, { metadata: { deletionGracePeriodSeconds: 1 } })],
      [patch(`${PODS}/a`, { metadata: { deletionTimestamp: null } })],
      [patch(`${PODS}/a`, { metadata: { labels: { b: 'c' } } })],
      [patch(`${PODS}/a/status`, { status: { phase: random.pick(['Running', 'Failed']) } })],
      [{ method: 'POST', path: `${PODS}/a/binding`, body: binding }],
      [{ ...pod, body: { ...(pod.body as JsonObject) } }],
      [evict],
    ]);
  const watch: RequestStep = {
    method: 'GET',
    path: `${PODS}?watch=true&timeoutSeconds=2&resourceVersion={{0.metadata.resourceVersion}}`,
    watch: true,
  };
  const first = random.pick<RequestStep[]>([
    [remove()],
    [remove()],
    [remove()],
    [evict],
    [{ method: 'DELETE', path: `${PODS}${random.pick(GRACE_QUERIES)}` }],
  ]);
  return [
    pod,
    ...(random.chance(0.2) ? [watch] : []),
    ...(random.chance(0.3) ? between() : []),
    ...first,
    ...between(),
    remove(),
    ...between(),
    get,
  ];
}

const NAMESPACES = '/api/v1/namespaces';
const OWN = `${NAMESPACES}/NS-b`;

/** A Namespace from its create to its removal, and writes to it meanwhile. */
function namespaceEnds(random: Random): RequestStep[] {
  const finalizers = random.chance(0.3)
    ? { finalizers: [random.pick(['example.com/x', 'foregroundDeletion', 'orphan'])] }
    : {};
  const spec = random.pick<JsonObject>([
    ...[{}, {}, {}, { finalizers: [] }, { finalizers: ['example.com/y'] }],
    ...[{ finalizers: ['example.com/y', 'kubernetes'] }, { finalizers: ['bad'] }],
  ]);
  const made: RequestStep = {
    method: 'POST',
    path: NAMESPACES,
    body: { metadata: { name: 'NS-b', labels: { a: 'b' }, ...finalizers }, spec },
  };
  const get: RequestStep = { method: 'GET', path: OWN };
  const remove = (): RequestStep => ({
    method: 'DELETE',
    path: OWN + random.pick(NAMESPACE_QUERIES),
    body: random.pick(NAMESPACE_BODIES),
  });
  const post = (path: string, body: unknown): RequestStep => ({
    method: 'POST',
    path: OWN + path,
    body,
  });
  const patch = (body: unknown, path = ''): RequestStep => ({
    method: 'PATCH',
    path: OWN + path,
    body,
    type: random.pick([PATCHES.merge, PATCHES.strategic]),
  });
  const finalize = (names: string[] | undefined, more: JsonObject = {}): RequestStep => ({
    method: 'PUT',
    path: `${OWN}/finalize`,
    body: {
      metadata: { name: 'NS-b', ...more },
      spec: names === undefined ? {} : { finalizers: names },
    },
  });
  const between = (): RequestStep =>
    random.pick<RequestStep>([
      get,
      post('/configmaps', { metadata: { name: 'b' } }),
      post('/configmaps?dryRun=All', { metadata: { name: 'b' } }),
      post('/pods/a/eviction', { metadata: { name: 'a' } }),
      post('/serviceaccounts/a/token', { spec: {} }),
      post('/bindings', { metadata: { name: 'a' }, target: { name: 'n' } }),
      {
        method: 'PUT',
        path: `/apis/coordination.k8s.io/v1/namespaces/NS-b/leases/l`,
        body: { metadata: { name: 'l' }, spec: { holderIdentity: 'h' } },
      },
      { ...patch({ data: { k: 'v' } }, '/configmaps/a'), type: PATCHES.merge },
      { method: 'GET', path: `${OWN}/configmaps/a` },
      { method: 'DELETE', path: `${OWN}/configmaps/a` },
      patch({ spec: { finalizers: [] } }),
      patch({ spec: { finalizers: ['example.com/z'] } }),
      patch({ spec: null }),
      patch({ metadata: { finalizers: null } }),
      patch({ metadata: { labels: { c: 'd' } } }),
      patch({ metadata: { labels: { 'kubernetes.io/metadata.name': 'x' } } }),
      patch({ status: { phase: 'Terminating' } }, '/status'),
      patch({ status: { phase: 'Active' } }, '/status'),
      patch({ status: { conditions: [{ type: 'x', status: 'True' }] } }, '/status'),
      finalize([]),
      finalize(undefined),
      finalize(['example.com/y']),
      finalize([], { finalizers: ['example.com/w'] }),
      finalize([], { resourceVersion: '1' }),
      made,
      {
        ...patch({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'NS-b' } }),
        path: `${OWN}?fieldManager=m`,
        type: PATCHES.apply,
      },
    ]);
  if (random.chance(0.15)) {
    const name = random.pick(['default', 'kube-system', 'kube-public', 'kube-node-lease']);
    const path = `${NAMESPACES}/${name}`;
    const isFor = name === 'kube-node-lease' ? '?dryRun=All' : random.pick(NAMESPACE_QUERIES);
    return random.pick<RequestStep[]>([
      [{ method: 'GET', path }],
      [
        { method: 'DELETE', path: path + isFor },
        { method: 'GET', path },
      ],
      [{ ...made, body: { metadata: { name } } }],
      [{ method: 'PUT', path, body: { metadata: { name }, spec: {} } }],
    ]);
  }
  return [
    made,
    post('/configmaps', { metadata: { name: 'a' } }),
    ...(random.chance(0.4) ? [between()] : []),
    remove(),
    between(),
    between(),
    ...(random.chance(0.5) ? [remove()] : []),
    between(),
    get,
  ];
}

const NAMESPACE_QUERIES = [
  ...['', '', '', '?dryRun=All', '?propagationPolicy=Foreground', '?propagationPolicy=Orphan'],
  ...['?propagationPolicy=Background', '?orphanDependents=false', '?orphanDependents=true'],
  ...['?gracePeriodSeconds=0', '?gracePeriodSeconds=5'],
];
const NAMESPACE_BODIES: unknown[] = [
  ...[undefined, undefined, undefined, undefined, {}, { gracePeriodSeconds: 0 }],
  { preconditions: { uid: '{{0.metadata.uid}}' } },
  { preconditions: { uid: 'other' } },
  { preconditions: { resourceVersion: '1' } },
  { preconditions: { resourceVersion: '{{0.metadata.resourceVersion}}' } },
  { dryRun: ['All'] },
];

const GRACE_QUERIES = [
  ...['', '', '', '?gracePeriodSeconds=0', '?gracePeriodSeconds=5', '?gracePeriodSeconds=40'],
  ...['?gracePeriodSeconds=-1', '?gracePeriodSeconds=99999999999999999999', '?dryRun=All'],
  ...['?gracePeriodSeconds=3&dryRun=All', '?gracePeriodSeconds=0&dryRun=All'],
  ...['?propagationPolicy=Foreground', '?propagationPolicy=Orphan&gracePeriodSeconds=2'],
  ...['?orphanDependents=false', '?propagationPolicy=Background&gracePeriodSeconds=1'],
];
const GRACE_BODIES: unknown[] = [
  ...[undefined, undefined, undefined, {}, { gracePeriodSeconds: 0 }],
  ...[{ gracePeriodSeconds: 3 }, { gracePeriodSeconds: -5 }, { gracePeriodSeconds: null }],
  { gracePeriodSeconds: 9_000_000_000_000 },
  { gracePeriodSeconds: 0, preconditions: { uid: '{{0.metadata.uid}}' } },
  { gracePeriodSeconds: 0, preconditions: { resourceVersion: '{{0.metadata.resourceVersion}}' } },
  { gracePeriodSeconds: 0, preconditions: { uid: 'other' } },
  { orphanDependents: false, gracePeriodSeconds: 3 },
];
const EVICTION_OPTIONS: JsonObject[] = [
  ...[{}, {}, { gracePeriodSeconds: 0 }, { gracePeriodSeconds: 4 }, { dryRun: ['All'] }],
  ...[{ dryRun: ['x'] }, { propagationPolicy: 'Orphan' }, { propagationPolicy: 'x' }],
  { preconditions: { resourceVersion: '{{0.metadata.resourceVersion}}' } },
  { gracePeriodSeconds: -1, preconditions: { uid: '{{0.metadata.uid}}' } },
];
