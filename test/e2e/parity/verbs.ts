/**
 * Uses all verbs of each resource with one object, so that every seed covers everything that the
 * real server serves.
 */
import type { JsonObject } from '../same-answers/api.ts';
import type { ParityCase, RequestStep } from './case.ts';
import { collectionOf, SAMPLES, sampleName, sampleOf } from './objects.ts';
import type { SampleKind } from './sample-kind.ts';
import { createStep, getStep, objectPath, PATCHES } from './steps.ts';

const labelled = (kind: SampleKind, name: string): JsonObject => {
  const sample = sampleOf(kind, name);
  const metadata = sample.metadata as JsonObject;
  return {
    ...sample,
    metadata: { ...metadata, labels: { ...(metadata.labels as object), run: 'NS' } },
  };
};

/** Reads a subresource, and writes it in both ways. */
function ofPart(kind: SampleKind, part: string, body: JsonObject): RequestStep[] {
  const path = `${objectPath(kind)}/${part}`;
  return [
    { method: 'GET', path },
    { method: 'PUT', path, body },
    { method: 'PATCH', path, body, type: PATCHES.merge },
  ];
}

function throughAllVerbs(kind: SampleKind): ParityCase {
  const collection = collectionOf(kind);
  const only = `fieldSelector=metadata.name%3D${encodeURIComponent(sampleName(kind, 'a'))}`;
  const changed = labelled(kind, 'a');
  const metadata = { ...(changed.metadata as JsonObject), annotations: { a: 'b' } };
  const version = { resourceVersion: '{{0.metadata.resourceVersion}}' };
  // The result of a dry run has no resourceVersion.
  const from = kind.controlled ? '' : '&resourceVersion={{0.metadata.resourceVersion}}';
  return {
    group: 'verb',
    steps: [
      createStep(kind, labelled(kind, 'a')),
      {
        method: 'GET',
        path: `${collection}?watch=true&timeoutSeconds=1&${only}${from}`,
        watch: true,
      },
      getStep(kind),
      { method: 'GET', path: `${collection}?${only}` },
      {
        method: 'PUT',
        path: objectPath(kind),
        body: { ...changed, metadata: { ...metadata, ...version } },
      },
      {
        method: 'PATCH',
        path: objectPath(kind),
        body: { metadata: { labels: { patched: 'yes' } } },
        type: PATCHES.merge,
      },
      ...(kind.status === undefined ? [] : ofPart(kind, 'status', { status: kind.status })),
      ...(kind.scale ? ofPart(kind, 'scale', { spec: { replicas: 4 } }) : []),
      { method: 'DELETE', path: objectPath(kind), body: { propagationPolicy: 'Background' } },
      createStep(kind, labelled(kind, 'b')),
      {
        method: 'DELETE',
        path: `${collection}?labelSelector=run%3DNS`,
        body: { propagationPolicy: 'Background' },
      },
      { method: 'GET', path: `${collection}?labelSelector=run%3DNS` },
    ],
  };
}

/** A subresource that only one kind has. */
function ofKind(name: string, part: string, body: JsonObject): ParityCase {
  const kind = SAMPLES.find((sample) => sample.kind === name) as SampleKind;
  return {
    group: 'verb',
    steps: [createStep(kind, sampleOf(kind, 'a')), ...ofPart(kind, part, body)],
  };
}

const APPROVED = { type: 'Approved', status: 'True', reason: 'Asked', message: 'as asked' };

/** A read-only kind. */
const COMPONENTS = '/api/v1/componentstatuses';

export const verbCases = (): ParityCase[] => [
  ...SAMPLES.map(throughAllVerbs),
  ofKind('Pod', 'ephemeralcontainers', {
    spec: { ephemeralContainers: [{ name: 'debug', image: 'busybox' }] },
  }),
  ofKind('Pod', 'resize', {
    spec: { containers: [{ name: 'c', resources: { limits: { cpu: '1' } } }] },
  }),
  ofKind('CertificateSigningRequest', 'approval', { status: { conditions: [APPROVED] } }),
  { group: 'verb', steps: [{ method: 'GET', path: COMPONENTS }] },
  { group: 'verb', steps: [{ method: 'GET', path: `${COMPONENTS}/nothing` }] },
  { group: 'verb', steps: [{ method: 'POST', path: COMPONENTS, body: {} }] },
  { group: 'verb', steps: [{ method: 'DELETE', path: `${COMPONENTS}/nothing` }] },
];
