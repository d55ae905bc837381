/** Cases about reads: lists and their pages, watches, and content negotiation. */
import type { JsonObject } from '../same-answers/api.ts';
import type { RequestStep } from './case.ts';
import { collectionOf, sampleOf } from './objects.ts';
import { createStep, type Group, LISTED, objectPath, PATCHES, pickKind, times } from './steps.ts';

const LIST_QUERIES = [
  'limit=1',
  'limit=2',
  'limit=0',
  'limit=-1',
  'limit=x',
  'labelSelector=app%3Dx',
  'labelSelector=app+in+(x,y)',
  'labelSelector=app+notin+(x)',
  'labelSelector=!app',
  'labelSelector=app',
  'labelSelector=a%3D%3D%3Db',
  'labelSelector=app+in+()',
  'labelSelector=app%3Dnot+valid',
  'fieldSelector=metadata.name%3Da',
  'fieldSelector=metadata.name!%3Da',
  'fieldSelector=metadata.namespace%3DNS',
  'fieldSelector=spec.nodeName%3Dn',
  'fieldSelector=status.phase%3DPending',
  'fieldSelector=status.phase%3DActive',
  'fieldSelector=type%3DOpaque',
  'fieldSelector=spec.nothing%3Dx',
  'fieldSelector=metadata.labels%3Dx',
  'fieldSelector=,',
  'fieldSelector=a',
  'resourceVersion=0',
  'resourceVersion=x',
  'resourceVersion=-1',
  'resourceVersion=0&resourceVersionMatch=NotOlderThan',
  'resourceVersion=0&resourceVersionMatch=Exact',
  'resourceVersionMatch=Exact',
  'resourceVersionMatch=NotOlderThan',
  'resourceVersionMatch=Other&resourceVersion=1',
  'resourceVersion={{0.metadata.resourceVersion}}&resourceVersionMatch=Exact',
  'resourceVersion={{0.metadata.resourceVersion}}&resourceVersionMatch=NotOlderThan',
  'resourceVersion={{2.metadata.resourceVersion}}',
  'resourceVersion={{0.metadata.resourceVersion}}&resourceVersionMatch=Exact&limit=1',
  'continue=x',
  'continue=',
  'limit=1&continue=x&resourceVersion=5',
  'timeoutSeconds=1',
  'timeoutSeconds=x',
  'timeoutSeconds=-1',
  'allowWatchBookmarks=true',
  'sendInitialEvents=true',
  'pretty=true',
  'unknown=1',
  'watch=0',
  'watch=false',
];

/** Three objects with labels, a list, and its next page if there is one. */
export const listCases: Group = (random, count) =>
  times(count, () => {
    const kind = pickKind(random, LISTED);
    const labelled = (name: string, app: string): RequestStep => {
      const sample = sampleOf(kind, name);
      const metadata = { ...(sample.metadata as JsonObject), labels: { app } };
      return createStep(kind, { ...sample, metadata });
    };
    const queries = [random.pick(LIST_QUERIES)];
    if (random.chance(0.4)) queries.push(random.pick(LIST_QUERIES));
    const query = queries.join('&');
    const steps: RequestStep[] = [
      labelled('a', 'x'),
      labelled('b', 'y'),
      labelled('c', 'x'),
      { method: 'GET', path: `${collectionOf(kind)}?${query}`, accept: random.pick(ACCEPTS) },
    ];
    if (query.includes('limit=')) {
      const next = `${query}&continue={{3.metadata.continue}}`;
      steps.push({ method: 'GET', path: `${collectionOf(kind)}?${next}` });
    }
    return { group: 'list', steps };
  });

const JSON_ACCEPT = 'application/json';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const METADATA = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
const ACCEPTS = [JSON_ACCEPT, JSON_ACCEPT, JSON_ACCEPT, TABLE, METADATA_LIST, 'application/yaml'];
const ALL_ACCEPTS = [
  ...ACCEPTS,
  METADATA,
  `${TABLE},application/json`,
  'application/json;as=Table;v=v1beta1;g=meta.k8s.io',
  'application/json;as=Table;v=v9;g=meta.k8s.io',
  'application/json;as=Nothing;v=v1;g=meta.k8s.io',
  'application/xml',
  'text/html',
  '*/*',
  'application/*',
  'application/json;q=0.1,application/yaml',
  '',
];

export const negotiationCases: Group = (random, count) =>
  times(count, () => {
    const kind = pickKind(random);
    const accept = random.pick(ALL_ACCEPTS);
    const read: RequestStep = random.pick<RequestStep>([
      { method: 'GET', path: objectPath(kind), accept },
      { method: 'GET', path: `${collectionOf(kind)}?labelSelector=run%3DNS`, accept },
      { method: 'GET', path: `${objectPath(kind)}?includeObject=None`, accept },
      { method: 'GET', path: `${objectPath(kind)}?includeObject=Object`, accept },
      {
        method: 'PATCH',
        path: objectPath(kind),
        accept,
        body: { metadata: { labels: { a: 'b' } } },
        type: PATCHES.merge,
      },
      { method: 'DELETE', path: objectPath(kind), accept },
      { method: 'GET', path: `${collectionOf(kind)}/not-there`, accept },
    ]);
    const sample = sampleOf(kind);
    const metadata = { ...(sample.metadata as JsonObject), labels: { run: 'NS' } };
    const yaml = random.chance(0.2);
    const first: RequestStep = yaml
      ? { ...createStep(kind, JSON.stringify({ ...sample, metadata })), type: 'application/yaml' }
      : createStep(kind, { ...sample, metadata });
    return { group: 'negotiation', steps: [first, read] };
  });

const WATCH_QUERIES = [
  '',
  '&resourceVersion=0',
  '&resourceVersion={{0.metadata.resourceVersion}}',
  '&resourceVersion={{1.metadata.resourceVersion}}',
  '&resourceVersion=x',
  '&allowWatchBookmarks=true',
  '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan',
  '&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan',
  '&sendInitialEvents=true',
  '&sendInitialEvents=false',
  '&sendInitialEvents=true&resourceVersionMatch=Exact',
  '&labelSelector=app%3Dx',
  '&fieldSelector=metadata.name%3Da',
  '&fieldSelector=nothing%3Da',
  '&limit=1',
  '&continue=x',
];

export const watchCases: Group = (random, count) =>
  times(count, () => {
    const kind = pickKind(random, LISTED);
    const labels = (app: string | null): RequestStep => ({
      method: 'PATCH',
      path: objectPath(kind),
      body: { metadata: { labels: { app } } },
      type: PATCHES.merge,
    });
    const path = random.chance(0.15)
      ? collectionOf(kind).replace(/^(\/api\/v1|\/apis\/[^/]+\/[^/]+)/, '$1/watch')
      : collectionOf(kind);
    const changes: RequestStep[] = [
      createStep(kind, sampleOf(kind, 'b')),
      labels('y'),
      labels(null),
    ];
    if (random.chance(0.5))
      changes.push({ method: 'DELETE', path: `${objectPath(kind)}?gracePeriodSeconds=0` });
    return {
      group: 'watch',
      steps: [
        createStep(kind),
        labels('x'),
        {
          method: 'GET',
          path: `${path}?watch=true&timeoutSeconds=2${random.pick(WATCH_QUERIES)}`,
          watch: true,
          accept: random.pick([JSON_ACCEPT, JSON_ACCEPT, JSON_ACCEPT, TABLE, METADATA]),
        },
        ...changes,
      ],
    };
  });
