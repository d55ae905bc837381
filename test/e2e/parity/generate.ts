/** Generates the cases of a run from a seed: the same seed gives the same cases. */

import { Random } from '../../helpers/random.ts';
import type { JsonObject } from '../same-answers/api.ts';
import { applying } from './applying.ts';
import { bodies } from './bodies.ts';
import type { ParityCase, RequestStep } from './case.ts';
import { definitionCases } from './definitions.ts';
import { DELETE_BODIES, deletes } from './deletions.ts';
import { mutated } from './mutate.ts';
import { collectionOf, SAMPLES, sampleName, sampleOf } from './objects.ts';
import { pages, selections } from './pages.ts';
import { podSubresources, scales, statuses } from './parts.ts';
import { rbacCases } from './rbac.ts';
import { listCases, negotiationCases, watchCases } from './reads.ts';
import type { SampleKind } from './sample-kind.ts';
import { owners, redefinitions } from './sequences.ts';
import {
  createStep,
  type Group,
  getStep,
  LISTED,
  objectPath,
  PATCHES,
  pickKind,
  times,
  VALIDATION,
  WRITE_OPTIONS,
} from './steps.ts';
import { strategicPatches } from './strategic.ts';
import { subresourceCases } from './subresources.ts';
import { verbCases } from './verbs.ts';

const creates: Group = (random, count) =>
  times(count, (index) => {
    const kind = SAMPLES[index % SAMPLES.length] as SampleKind;
    if (index < SAMPLES.length)
      return { group: 'create', steps: [createStep(kind), getStep(kind)] };
    return { group: 'create', steps: [createStep(kind, ...oddBody(random, kind))] };
  });

function oddBody(random: Random, kind: SampleKind): [body: unknown, query: string] {
  const sample = sampleOf(kind);
  const text = JSON.stringify(sample);
  const other = random.pick(SAMPLES);
  const query = random.pick([...VALIDATION, ...WRITE_OPTIONS]);
  const bodies: (() => unknown)[] = [
    () => ({ ...sample, kind: other.kind }),
    () => ({ ...sample, apiVersion: other.apiVersion }),
    () => ({ ...sample, apiVersion: undefined }),
    () => ({ ...sample, kind: undefined }),
    () => ({ ...sample, kind: '' }),
    () => ({ ...sample, apiVersion: 7 }),
    () => ({ ...sample, metadata: undefined }),
    () => ({ ...sample, metadata: null }),
    () => ({ ...sample, metadata: {} }),
    () => ({ ...sample, metadata: [] }),
    () => ({ ...sample, metadata: { ...(sample.metadata as JsonObject), namespace: 'other' } }),
    () => ({ ...sample, metadata: { generateName: 'g-' } }),
    () => ({ ...sample, metadata: { generateName: 'G_' } }),
    () => ({ ...sample, metadata: { ...(sample.metadata as JsonObject), name: 'Not Valid' } }),
    () => ({
      ...sample,
      metadata: { ...(sample.metadata as JsonObject), uid: 'u', generation: 7 },
    }),
    () => ({ ...sample, metadata: { ...(sample.metadata as JsonObject), resourceVersion: '5' } }),
    () => ({ ...sample, metadata: { ...(sample.metadata as JsonObject), ...oddMetadata(random) } }),
    () => ({ ...sample, status: { phase: 'x', nothing: 1 } }),
    () => ({ ...sample, surplus: { a: 1 } }),
    () => text.replace('"metadata":{', '"metadata":{"labels":{"a":"1"},"labels":{"b":"2"},'),
    () => text.replace('{', `{"kind":"${kind.kind}",`),
    () => text.slice(0, -1),
    () => `${text}x`,
    () => `[${text}]`,
    () => 'null',
    () => '',
    () => '{}',
    () => '"text"',
    () => `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [] })}`,
    () => ({
      apiVersion: kind.apiVersion,
      kind: kind.kind,
      metadata: { name: sampleName(kind, 'a') },
    }),
  ];
  return [random.pick(bodies)(), query];
}

function oddMetadata(random: Random): JsonObject {
  return random.pick<JsonObject>([
    { labels: { 'a b': 'c' } },
    { labels: { a: 'b c' } },
    { labels: { a: 1 } },
    { labels: { a: null } },
    { labels: { ['x'.repeat(64)]: 'y' } },
    { labels: null },
    { labels: [] },
    { annotations: { 'Not/Valid/Key': 'x' } },
    { annotations: { a: 'x'.repeat(262_145) } },
    { annotations: { a: true } },
    { finalizers: ['one'] },
    { finalizers: ['example.com/one', 'example.com/one'] },
    { finalizers: ['Not Valid/x'] },
    { finalizers: [''] },
    { ownerReferences: [{}] },
    { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u' }] },
    { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: '', uid: '' }] },
    { ownerReferences: [{ apiVersion: 'v1', kind: 'Event', name: 'o', uid: 'u' }] },
    { ownerReferences: [{ apiVersion: 'apps/', kind: 'Deployment', name: 'o', uid: 'u' }] },
    { ownerReferences: [{ apiVersion: 'a/b/c', kind: 'Deployment', name: 'o', uid: 'u' }] },
    { finalizers: ['orphan', 'foregroundDeletion'] },
    { name: 'a_b' },
    { name: 'A' },
    { name: '1a' },
    { name: 'x'.repeat(64) },
    { name: 'a.b' },
    { name: 'a%b' },
    { name: '10.0.0.9' },
    {
      ownerReferences: [
        { apiVersion: 'v1', kind: 'A', name: 'o', uid: 'u', controller: true },
        { apiVersion: 'v1', kind: 'B', name: 'p', uid: 'v', controller: true },
      ],
    },
    { deletionTimestamp: '2026-01-02T03:04:05Z', deletionGracePeriodSeconds: 5 },
    { creationTimestamp: '2026-01-02T03:04:05Z' },
    { creationTimestamp: 'yesterday' },
    { managedFields: [] },
    { managedFields: [{ manager: 'x', operation: 'Update', apiVersion: 'v1' }] },
    { managedFields: [{ manager: 'x', operation: 'Nothing', apiVersion: 'v1' }] },
    { selfLink: '/x' },
    { generation: -1 },
    { name: '' },
    { name: 'a/b' },
    { name: '..' },
    { name: 'x'.repeat(254) },
    { name: 7 },
    { namespace: '' },
    { namespace: 'Not Valid' },
  ]);
}

/** Changes one place of a valid object: defaults, pruning, types and validation. */
const values: Group = (random, count) =>
  times(count, () => {
    const kind = pickKind(random, SAMPLES);
    let body = mutated(random, sampleOf(kind));
    if (random.chance(0.25)) body = mutated(random, body);
    return { group: 'values', steps: [createStep(kind, body, random.pick(VALIDATION))] };
  });

/** Creates a valid object, and changes one place by PUT. */
const updates: Group = (random, count) =>
  times(count, () => {
    const kind = pickKind(random);
    const first = createStep(kind);
    const body = mutated(random, sampleOf(kind));
    const metadata = { ...(body.metadata as JsonObject | undefined) };
    if (random.chance(0.7)) metadata.resourceVersion = '{{0.metadata.resourceVersion}}';
    else if (random.chance(0.3))
      metadata.resourceVersion = random.pick(['1', '0', 'x', '999999999']);
    if (random.chance(0.1)) metadata.uid = random.pick(['{{0.metadata.uid}}', 'u']);
    if (random.chance(0.05)) metadata.name = 'b';
    const query = random.chance(0.2) ? random.pick(WRITE_OPTIONS) : random.pick(VALIDATION);
    const isOdd = random.chance(0.2);
    if (isOdd) Object.assign(metadata, oddMetadata(random));
    const whole = isOdd || random.chance(0.15) ? sampleOf(kind) : body;
    return {
      group: 'update',
      steps: [
        first,
        { method: 'PUT', path: objectPath(kind) + query, body: { ...whole, metadata } },
        getStep(kind),
      ],
    };
  });

const patches: Group = (random, count) =>
  times(count, () => {
    const kind = pickKind(random);
    const type = random.pick(['merge', 'json', 'strategic'] as const);
    const query = random.chance(0.2) ? random.pick(WRITE_OPTIONS) : random.pick(VALIDATION);
    const body = type === 'json' ? jsonPatch(random, kind) : mergePatch(random, kind, type);
    return {
      group: 'patch',
      steps: [
        createStep(kind),
        { method: 'PATCH', path: objectPath(kind) + query, body, type: PATCHES[type] },
      ],
    };
  });

function mergePatch(random: Random, kind: SampleKind, type: 'merge' | 'strategic'): unknown {
  const whole = mutated(random, sampleOf(kind));
  const changeable = Object.entries(whole).filter(
    ([member]) => member !== 'apiVersion' && member !== 'kind',
  );
  const [name, value] = changeable.length === 0 ? ['spec', {}] : random.pick(changeable);
  return random.pick<() => unknown>([
    () => ({ [name]: value }),
    () => ({ [name]: value }),
    () => ({ [name]: null }),
    () => whole,
    () => ({ metadata: { labels: { a: 'b', c: null } } }),
    () => ({ metadata: { annotations: { a: '1' }, finalizers: ['example.com/x'] } }),
    () => ({ metadata: { resourceVersion: '{{0.metadata.resourceVersion}}', labels: { a: 'b' } } }),
    () => ({ metadata: { resourceVersion: '1' } }),
    () => ({ metadata: { uid: 'x' } }),
    () => ({ metadata: { name: 'b' } }),
    () => ({ metadata: null }),
    () => ({ kind: null }),
    () => ({ apiVersion: 'v9' }),
    () => ({ kind: 'Other' }),
    () => ({}),
    () => '[]',
    () => 'null',
    () => '{',
    () => ({ unknown: { a: 1 } }),
    ...(type === 'strategic'
      ? [
          () => ({ metadata: { $patch: 'replace', name: sampleName(kind, 'a') } }),
          () => ({ metadata: { labels: { $patch: 'delete' } } }),
          () => ({ metadata: { labels: { $patch: 'nothing' } } }),
          () => ({ metadata: { '$setElementOrder/finalizers': ['a'] } }),
          () => ({ [name]: { $patch: 'delete' } }),
          () => ({ spec: { containers: [{ name: 'web', image: 'other' }] } }),
          () => ({
            spec: { template: { spec: { containers: [{ name: 'web', image: 'other' }] } } },
          }),
          () => ({
            spec: { template: { spec: { containers: [{ name: 'web', $patch: 'delete' }] } } },
          }),
          () => ({ spec: { ports: [{ port: 80, $patch: 'delete' }] } }),
          () => ({ spec: { ports: [{ port: 81, name: 'other' }] } }),
          () => ({ spec: { $retainKeys: ['replicas'], replicas: 1 } }),
        ]
      : []),
  ])();
}

function jsonPatch(random: Random, kind: SampleKind): unknown {
  const members = Object.keys(kind.sample);
  const member = random.pick(members.length > 0 ? members : ['metadata']);
  return random.pick<unknown>([
    [{ op: 'remove', path: `/${member}` }],
    [{ op: 'replace', path: `/${member}`, value: null }],
    [{ op: 'replace', path: `/${member}`, value: {} }],
    [{ op: 'add', path: `/${member}`, value: mutated(random, sampleOf(kind))[member] ?? null }],
    [{ op: 'test', path: '/metadata/name', value: 'other' }],
    [{ op: 'test', path: '/metadata/labels', value: null }],
    [{ op: 'add', path: '/metadata/labels', value: { a: 'b' } }],
    [{ op: 'add', path: '/metadata/labels/x', value: 'y' }],
    [{ op: 'remove', path: '/metadata/labels' }],
    [{ op: 'replace', path: '/metadata/name', value: 'b' }],
    [{ op: 'copy', from: '/metadata/name', path: '/metadata/generateName' }],
    [{ op: 'move', from: `/${member}`, path: '/moved' }],
    [{ op: 'nothing', path: '/a' }],
    [{ op: 'add', path: 'no-slash', value: 1 }],
    [{ op: 'add' }],
    [{ op: 'replace', path: '/kind', value: 'Other' }],
    [{ op: 'remove', path: '/apiVersion' }],
    [],
    {},
    'null',
    '[{',
    [null],
    [
      { op: 'add', path: '/metadata/finalizers', value: ['example.com/a'] },
      { op: 'test', path: '/metadata/finalizers/0', value: 'example.com/a' },
    ],
    [{ op: 'add', path: '/metadata/finalizers/-', value: 'example.com/a' }],
  ]);
}

const applies: Group = (random, count) =>
  times(count, () => {
    const kind = pickKind(random);
    const apply = (manager: string, body: JsonObject, more = ''): RequestStep => ({
      method: 'PATCH',
      path: `${objectPath(kind)}?fieldManager=${manager}${more}`,
      body,
      type: PATCHES.apply,
    });
    const sample = sampleOf(kind);
    const steps: RequestStep[] = [];
    if (random.chance(0.4)) steps.push(createStep(kind));
    else steps.push(apply('one', random.chance(0.7) ? sample : mutated(random, sample)));
    const rounds = 1 + random.int(3);
    for (let round = 0; round < rounds; round++) {
      const body = random.chance(0.3) ? part(random, sample) : mutated(random, sample);
      const more = random.pick(['', '', '&force=true', '&dryRun=All', '&fieldValidation=Strict']);
      steps.push(apply(random.pick(['one', 'two']), body, more));
    }
    if (random.chance(0.1)) steps.push({ ...apply('', sample), path: objectPath(kind) });
    if (random.chance(0.1)) steps.push({ ...apply('x', sample), body: 'a: [' });
    steps.push(getStep(kind));
    return { group: 'apply', steps };
  });

/** The object without some of its members: the fields that an applier gives up. */
function part(random: Random, object: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(object).filter(
      ([name]) => ['apiVersion', 'kind', 'metadata'].includes(name) || random.chance(0.5),
    ),
  );
}

const reviews: Group = (random, count) =>
  times(count, () => {
    const attributes = random.pick<JsonObject>([
      { namespace: 'NS', verb: 'get', resource: 'pods' },
      { verb: '*', resource: '*', group: '*' },
      { verb: 'get', resource: 'pods', subresource: 'log', name: 'a' },
      {},
    ]);
    const auth = '/apis/authorization.k8s.io/v1';
    const review = (kind: string, spec: JsonObject, more: JsonObject = {}): JsonObject => ({
      apiVersion: 'authorization.k8s.io/v1',
      kind,
      spec,
      ...more,
    });
    const authn = (kind: string, spec: JsonObject): JsonObject => ({
      apiVersion: 'authentication.k8s.io/v1',
      kind,
      ...(Object.keys(spec).length === 0 && kind === 'SelfSubjectReview' ? {} : { spec }),
    });
    const step = random.pick<RequestStep>([
      {
        method: 'POST',
        path: `${auth}/subjectaccessreviews`,
        body: review('SubjectAccessReview', {
          user: 'u',
          groups: ['g'],
          resourceAttributes: attributes,
        }),
      },
      {
        method: 'POST',
        path: `${auth}/subjectaccessreviews`,
        body: review('SubjectAccessReview', { user: 'u' }),
      },
      {
        method: 'POST',
        path: `${auth}/subjectaccessreviews`,
        body: review('SubjectAccessReview', { resourceAttributes: attributes }),
      },
      {
        method: 'POST',
        path: `${auth}/subjectaccessreviews`,
        body: review('SubjectAccessReview', {
          user: 'u',
          resourceAttributes: attributes,
          nonResourceAttributes: { path: '/x', verb: 'get' },
        }),
      },
      {
        method: 'POST',
        path: `${auth}/subjectaccessreviews`,
        body: review('SubjectAccessReview', {
          user: 'u',
          nonResourceAttributes: { path: '/x', verb: 'get' },
        }),
      },
      {
        method: 'POST',
        path: `${auth}/subjectaccessreviews`,
        body: review(
          'SubjectAccessReview',
          { user: 'u', resourceAttributes: attributes },
          { metadata: { name: 'x' } },
        ),
      },
      {
        method: 'POST',
        path: `${auth}/selfsubjectaccessreviews`,
        body: review('SelfSubjectAccessReview', { resourceAttributes: attributes }),
      },
      {
        method: 'POST',
        path: `${auth}/selfsubjectaccessreviews`,
        body: review('SelfSubjectAccessReview', {}),
      },
      {
        method: 'POST',
        path: `${auth}/namespaces/NS/localsubjectaccessreviews`,
        body: review('LocalSubjectAccessReview', { user: 'u', resourceAttributes: attributes }),
      },
      {
        method: 'POST',
        path: `${auth}/namespaces/NS/localsubjectaccessreviews`,
        body: review(
          'LocalSubjectAccessReview',
          { user: 'u', resourceAttributes: { ...attributes, namespace: 'NS' } },
          { metadata: { namespace: 'NS' } },
        ),
      },
      {
        method: 'POST',
        path: `${auth}/selfsubjectrulesreviews`,
        body: review('SelfSubjectRulesReview', { namespace: 'NS' }),
      },
      {
        method: 'POST',
        path: `${auth}/selfsubjectrulesreviews`,
        body: review('SelfSubjectRulesReview', {}),
      },
      {
        method: 'POST',
        path: '/apis/authentication.k8s.io/v1/tokenreviews',
        body: authn('TokenReview', { token: 'nobody' }),
      },
      {
        method: 'POST',
        path: '/apis/authentication.k8s.io/v1/tokenreviews',
        body: authn('TokenReview', {}),
      },
      {
        method: 'POST',
        path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
        body: authn('SelfSubjectReview', {}),
      },
      { method: 'GET', path: `${auth}/subjectaccessreviews` },
      { method: 'GET', path: `${auth}/selfsubjectaccessreviews/x` },
      {
        method: 'POST',
        path: `${auth}/selfsubjectaccessreviews`,
        body: { ...review('Other', {}) },
      },
    ]);
    return {
      group: 'review',
      steps: [{ ...step, path: step.path + random.pick(['', '', '?dryRun=All', '?pretty=true']) }],
    };
  });

const PATHS = [
  '/api',
  '/api/v1',
  '/apis',
  '/apis/',
  '/apis/apps',
  '/apis/apps/v1',
  '/apis/apps/v9',
  '/apis/nothing.example.com',
  '/apis/nothing.example.com/v1',
  '/apis/nothing.example.com/v1/things',
  '/api/v2',
  '/api/v1/nothings',
  '/api/v1/namespaces/NS/nothings',
  '/api/v1/pods/a',
  '/api/v1/namespaces/NS/nodes',
  '/api/v1/namespaces/NS/pods/a/b/c',
  '/version',
  '/healthz',
  '/livez',
  '/readyz',
  '/readyz?verbose',
  '/healthz?verbose',
  '/livez/ping',
  '/readyz/ping',
  '/readyz/nothing',
  '/nothing',
  '/openapi',
  '/apis/authorization.k8s.io/v1',
  '/apis/authentication.k8s.io/v1',
  '/apis/apiextensions.k8s.io/v1',
  '/api/v1/namespaces/not-there',
  '/api/v1/namespaces/not-there/configmaps',
  '/api/v1/namespaces/not-there/configmaps/a',
  '/api/v1/namespaces/NS/configmaps/Not%20Valid',
  '/api/v1/namespaces/NS/configmaps/',
];
const METHODS = ['GET', 'GET', 'GET', 'GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'];

const paths: Group = (random, count) =>
  times(count, (index) => {
    const path = PATHS[index % PATHS.length] as string;
    const method = index < PATHS.length ? 'GET' : random.pick(METHODS);
    const body = method === 'GET' || method === 'HEAD' || method === 'OPTIONS' ? undefined : {};
    const type = method === 'PATCH' ? random.pick(Object.values(PATCHES)) : undefined;
    const step: RequestStep = { method, path };
    if (body !== undefined) step.body = body;
    if (type !== undefined) step.type = type;
    return { group: 'path', steps: [step] };
  });

const collections: Group = (random, count) =>
  times(count, () => {
    const kind = pickKind(random, LISTED);
    const finalizers: JsonObject = random.chance(0.3) ? { finalizers: ['example.com/x'] } : {};
    const made = (name: string, more: JsonObject): RequestStep => {
      const sample = sampleOf(kind, name);
      return createStep(kind, {
        ...sample,
        metadata: { ...(sample.metadata as JsonObject), ...more },
      });
    };
    const query = random.pick([
      '',
      '?labelSelector=app%3Dx',
      '?fieldSelector=metadata.name%3Da',
      '?dryRun=All',
      '?propagationPolicy=Foreground',
      '?gracePeriodSeconds=0',
      '?limit=1',
      '?labelSelector=x%3D%3D%3D',
    ]);
    return {
      group: 'collection',
      steps: [
        made('a', { labels: { app: 'x' }, ...finalizers }),
        made('b', { labels: { app: 'y' } }),
        { method: 'DELETE', path: collectionOf(kind) + query, body: random.pick(DELETE_BODIES) },
        { method: 'GET', path: collectionOf(kind) },
      ],
    };
  });

/** The relative size of each group. */
const GROUPS: Record<string, { part: number; group: Group }> = {
  create: { part: 180, group: creates },
  values: { part: 420, group: values },
  update: { part: 200, group: updates },
  patch: { part: 200, group: patches },
  apply: { part: 100, group: applies },
  delete: { part: 100, group: deletes },
  collection: { part: 30, group: collections },
  list: { part: 90, group: listCases },
  watch: { part: 60, group: watchCases },
  negotiation: { part: 60, group: negotiationCases },
  status: { part: 80, group: statuses },
  scale: { part: 30, group: scales },
  subresource: {
    part: 120,
    group: (random, count) => [
      ...podSubresources(random, Math.ceil(count / 3)),
      ...subresourceCases(random, count),
    ],
  },
  review: { part: 30, group: reviews },
  path: { part: 80, group: paths },
  definition: { part: 80, group: definitionCases },
  rbac: { part: 60, group: rbacCases },
  verb: { part: 0, group: verbCases },
  body: { part: 150, group: bodies },
  strategic: { part: 100, group: strategicPatches },
  applying: { part: 80, group: applying },
  page: { part: 80, group: pages },
  selection: { part: 50, group: selections },
  owner: { part: 60, group: owners },
  redefine: { part: 40, group: redefinitions },
};
const WHOLE = Object.values(GROUPS).reduce((sum, { part }) => sum + part, 0);

/** The number of cases of a run without `--count`. */
export const wholeCount = WHOLE;

/** About `count` distinct cases; `only` names the groups to include. */
export function generate(seed: number, count: number, only: readonly string[] = []): ParityCase[] {
  const distinct = new Map<string, ParityCase>();
  Object.entries(GROUPS).forEach(([name, { part: share, group }], index) => {
    if (only.length > 0 && !only.includes(name)) return;
    const random = new Random((seed + index * 0x9e3779b1) >>> 0);
    for (const made of group(random, Math.ceil((count * share) / WHOLE)))
      distinct.set(JSON.stringify(made), made);
  });
  return [...distinct.values()];
}

export const groupNames: readonly string[] = Object.keys(GROUPS);
