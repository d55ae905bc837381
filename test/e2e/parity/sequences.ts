/**
 * Cases about sequences of states: owners that are deleted with each policy, objects that are being
 * deleted, and definitions that change while objects exist.
 */
import type { Random } from '../../helpers/random.ts';
import type { JsonObject } from '../same-answers/api.ts';
import type { RequestStep } from './case.ts';
import { sampleOf } from './objects.ts';
import type { SampleKind } from './sample-kind.ts';
import {
  createStep,
  type Group,
  getStep,
  LISTED,
  objectPath,
  PATCHES,
  pickKind,
  times,
} from './steps.ts';

const MAPS = '/api/v1/namespaces/NS/configmaps';
const OWNER = `${MAPS}/owner`;

const merge = (path: string, body: unknown): RequestStep => ({
  method: 'PATCH',
  path,
  body,
  type: PATCHES.merge,
});

const remove = (path: string, propagationPolicy?: string): RequestStep => ({
  method: 'DELETE',
  path,
  ...(propagationPolicy === undefined ? {} : { body: { propagationPolicy } }),
});

const owned = (kind: SampleKind, reference: JsonObject): JsonObject => {
  const sample = sampleOf(kind);
  const own = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: '{{0.metadata.uid}}' };
  const ownerReferences = [{ ...own, ...reference }];
  return { ...sample, metadata: { ...(sample.metadata as JsonObject), ownerReferences } };
};

const POLICIES = [undefined, 'Foreground', 'Background', 'Orphan'];

function endings(random: Random, kind: SampleKind): RequestStep[] {
  const [policy, again] = [random.pick(POLICIES), random.pick(POLICIES)];
  const finalizers = random.pick([[], ['example.com/x'], ['example.com/x', 'foregroundDeletion']]);
  const sample = sampleOf(kind);
  const metadata = sample.metadata as JsonObject;
  const held = { ...sample, metadata: { ...metadata, finalizers: ['example.com/x'] } };
  return random.pick<() => RequestStep[]>([
    () => [
      { method: 'POST', path: MAPS, body: { metadata: { name: 'owner', finalizers } } },
      createStep(
        kind,
        owned(
          kind,
          random.pick<JsonObject>([{}, { blockOwnerDeletion: true }, { controller: true }]),
        ),
      ),
      ...[remove(OWNER, policy), { method: 'GET', path: OWNER }, getStep(kind)],
      ...[remove(OWNER, again), merge(OWNER, { metadata: { finalizers: null } })],
      ...[{ method: 'GET', path: OWNER }, getStep(kind)],
    ],
    () => [
      createStep(kind, held),
      ...[remove(objectPath(kind), policy), getStep(kind), createStep(kind, held)],
      random.pick([
        merge(objectPath(kind), { metadata: { labels: { a: 'b' } } }),
        merge(objectPath(kind), { metadata: { finalizers: ['example.com/x', 'example.com/y'] } }),
        merge(objectPath(kind), { metadata: { finalizers: ['example.com/y'] } }),
        merge(objectPath(kind), { metadata: { deletionTimestamp: null } }),
        merge(objectPath(kind), { metadata: { deletionGracePeriodSeconds: 9 } }),
        merge(objectPath(kind), { metadata: { ownerReferences: [] } }),
      ]),
      ...[
        remove(objectPath(kind), again),
        merge(objectPath(kind), { metadata: { finalizers: [] } }),
        getStep(kind),
      ],
      ...[createStep(kind), getStep(kind)],
    ],
    () => [
      createStep(kind, held),
      { method: 'GET', path: `${MAPS}?watch=true&timeoutSeconds=1`, watch: true },
      remove(`${objectPath(kind)}?gracePeriodSeconds=0`, policy),
      { method: 'PUT', path: objectPath(kind), body: sample },
      getStep(kind),
    ],
    () => [
      { method: 'POST', path: MAPS, body: { metadata: { name: 'owner' } } },
      createStep(kind, owned(kind, { uid: 'other' })),
      merge(objectPath(kind), {
        metadata: {
          ownerReferences: [
            {
              apiVersion: 'v1',
              kind: 'ConfigMap',
              name: 'owner',
              uid: '{{0.metadata.uid}}',
              blockOwnerDeletion: true,
            },
          ],
        },
      }),
      {
        method: 'DELETE',
        path: objectPath(kind),
        body: {
          preconditions: {
            uid: '{{1.metadata.uid}}',
            resourceVersion: '{{1.metadata.resourceVersion}}',
          },
        },
      },
      {
        method: 'DELETE',
        path: objectPath(kind),
        body: {
          preconditions: {
            uid: '{{1.metadata.uid}}',
            resourceVersion: '{{2.metadata.resourceVersion}}',
          },
        },
      },
      getStep(kind),
    ],
  ])();
}

export const owners: Group = (random, count) =>
  times(count, () => ({ group: 'owner', steps: endings(random, pickKind(random, LISTED)) }));

const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const DEFINED = `${CRD}/bars.NS.example.com`;
const bars = (version: string, name = ''): string =>
  `/apis/NS.example.com/${version}/namespaces/NS/bars${name}`;

const schema = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  openAPIV3Schema: {
    type: 'object',
    properties: { spec: { type: 'object', properties, ...more } },
  },
});
const version = (name: string, of: JsonObject, more: JsonObject = {}): JsonObject => ({
  ...{ name, served: true, storage: false, schema: of, ...more },
});
const BEFORE = schema({
  size: { type: 'integer' },
  name: { type: 'string' },
  list: { type: 'array', items: { type: 'string' } },
  map: { type: 'object', additionalProperties: { type: 'string' } },
});
/** The same with owners of the items of the list. */
const GRANULAR = schema({
  size: { type: 'integer' },
  name: { type: 'string' },
  list: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
  map: { type: 'object', additionalProperties: { type: 'string' } },
});
/** The changed schemas of `v1`. */
const AFTER: readonly JsonObject[] = [
  schema({ size: { type: 'string' }, name: { type: 'string' } }),
  schema({ size: { type: 'integer', minimum: 5 } }),
  schema({ size: { type: 'integer' }, added: { type: 'string', default: 'new' } }),
  schema({ size: { type: 'integer' } }, { required: ['name', 'added'] }),
  schema({ name: { type: 'string', enum: ['x', 'y'] } }),
  schema({ list: { type: 'array', maxItems: 1, items: { type: 'string' } } }),
  schema({
    list: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
    map: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  }),
  schema({
    name: { type: 'string' },
    list: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'atomic' },
    map: {
      ...{ type: 'object', additionalProperties: { type: 'string' } },
      'x-kubernetes-map-type': 'atomic',
    },
  }),
  schema({}, { 'x-kubernetes-preserve-unknown-fields': true }),
  schema({
    size: { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self >= oldSelf' }] },
  }),
  schema({ size: { type: 'integer', nullable: true, default: 3 } }),
];

function redefinition(random: Random): RequestStep[] {
  const before = random.pick([BEFORE, GRANULAR]);
  const object = (name: string, of: string, spec: JsonObject): JsonObject => ({
    apiVersion: `NS.example.com/${of}`,
    kind: 'Bar',
    metadata: { name },
    spec,
  });
  const specs: JsonObject[] = [
    { size: 3, name: 'x', list: ['a', 'b'], map: { k: 'v' } },
    { size: 7, list: ['a', 'a'] },
    { name: 'z', unknown: 1 },
  ];
  const crd = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'bars.NS.example.com' },
    spec: {
      group: 'NS.example.com',
      scope: 'Namespaced',
      names: { plural: 'bars', kind: 'Bar' },
      versions: [version('v1', before, { storage: true })],
    },
  };
  const after = random.pick(AFTER);
  // Until the new version is served, the real server may use the old definition.
  const storage = random.chance(0.4);
  const versions = [
    version('v1', after, { storage: !storage, served: random.chance(0.85) }),
    version('v2', random.chance(0.5) ? after : before, {
      storage,
      ...(random.chance(0.3)
        ? { additionalPrinterColumns: [{ name: 'Size', type: 'integer', jsonPath: '.spec.size' }] }
        : {}),
      ...(random.chance(0.3) ? { subresources: { status: {} } } : {}),
    }),
  ];
  const used = random.pick(['v1', 'v2']);
  const touch = merge(bars(used, '/a'), { metadata: { labels: { a: 'b' } } });
  const spec = random.pick<JsonObject>([
    { size: 8 },
    { size: 2 },
    { name: 'y' },
    { list: ['c'] },
    { size: null },
    { map: null, added: 'x' },
  ]);
  return [
    { method: 'POST', path: CRD, body: crd },
    { method: 'GET', path: bars('v1'), until: 200 },
    ...specs.map(
      (each, index): RequestStep => ({
        method: 'POST',
        path: bars('v1'),
        body: object('abc'.charAt(index), 'v1', each),
      }),
    ),
    { ...merge(DEFINED, { spec: { versions } }), path: DEFINED },
    { method: 'GET', path: bars('v2'), until: 200 },
    { method: 'GET', path: bars('v1', '/a') },
    { method: 'GET', path: bars('v2', '/a') },
    {
      method: 'GET',
      path: bars(used),
      accept: random.pick(['application/json', 'application/json;as=Table;v=v1;g=meta.k8s.io']),
    },
    ...[touch, merge(bars(used, '/a'), { spec }), merge(bars(used, '/b'), { spec })],
    {
      method: 'PATCH',
      path: `${bars(used, '/c')}?fieldManager=one&force=true`,
      body: object('c', used, spec),
      type: PATCHES.apply,
    },
    { method: 'POST', path: bars(used), body: object('d', used, { ...specs[0], ...spec }) },
    { method: 'GET', path: bars('v2', '/c') },
    { method: 'GET', path: `${DEFINED}/status` },
  ];
}

export const redefinitions: Group = (random, count) =>
  times(count, () => ({ group: 'redefine', steps: redefinition(random) }));
