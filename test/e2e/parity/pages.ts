/**
 * Cases about pages of lists and watches from versions: pairs of parameters, and selectors on the
 * fields of each kind.
 */
import type { Random } from '../../helpers/random.ts';
import type { JsonObject } from '../same-answers/api.ts';
import type { RequestStep } from './case.ts';
import { collectionOf, sampleOf } from './objects.ts';
import type { SampleKind } from './sample-kind.ts';
import { createStep, type Group, LISTED, objectPath, PATCHES, pickKind, times } from './steps.ts';

const FIELDS = [
  ...['metadata.name', 'metadata.namespace', 'spec.nodeName', 'spec.restartPolicy', 'status.phase'],
  ...['spec.schedulerName', 'spec.serviceAccountName', 'spec.hostNetwork', 'status.podIP', 'type'],
  ...['status.nominatedNodeName', 'spec.unschedulable', 'status.replicas', 'status.successful'],
  ...['involvedObject.kind', 'involvedObject.name', 'reason', 'source', 'reportingComponent'],
  ...['regarding.name', 'regarding.kind', 'reportingController', 'spec.signerName', 'spec.type'],
  ...['spec.clusterIP', 'spec.driver', 'metadata.uid', 'spec.host'],
];
const VALUES = [
  'a',
  'x',
  '',
  'NS',
  'Always',
  'Pending',
  'false',
  '0',
  'Opaque',
  'Pod',
  'ClusterIP',
];

const selector = (random: Random): string =>
  Array.from(
    { length: 1 + random.int(2) },
    () => `${random.pick(FIELDS)}${random.pick(['=', '==', '!='])}${random.pick(VALUES)}`,
  ).join(',');

const VERSIONS = [
  ...['', '', '0', 'x', '-1', '999999999999', '18446744073709551616'],
  ...[
    '{{0.metadata.resourceVersion}}',
    '{{1.metadata.resourceVersion}}',
    '{{2.metadata.resourceVersion}}',
  ],
];
const MATCHES = ['', '', 'Exact', 'NotOlderThan', 'exact', ''];
const LABELS = [
  '',
  '',
  'app=x',
  'app!=x',
  'app in (x,z)',
  'app notin (x)',
  '!app',
  'app,app=y',
  'nothing',
];

function listQuery(random: Random): string {
  const parameters = new Map<string, string>();
  const add = (name: string, value: string, chance = 0.5): void => {
    if (random.chance(chance)) parameters.set(name, value);
  };
  add('limit', random.pick(['0', '1', '2', '3', '10', '-1', 'x', '9999999999']), 0.6);
  add('resourceVersion', random.pick(VERSIONS));
  add('resourceVersionMatch', random.pick(MATCHES), 0.4);
  add('continue', random.pick(['', 'x', 'e30', 'eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ']), 0.1);
  add('labelSelector', random.pick(LABELS), 0.4);
  add('fieldSelector', selector(random), 0.4);
  add('timeoutSeconds', random.pick(['0', '1', 'x']), 0.1);
  add('sendInitialEvents', random.pick(['true', 'false']), 0.08);
  add('allowWatchBookmarks', 'true', 0.08);
  return written(parameters);
}

/** References to responses are not escaped, as they are replaced later. */
const written = (parameters: ReadonlyMap<string, string>): string =>
  [...parameters]
    .map(([name, value]) => `${name}=${value.startsWith('{{') ? value : encodeURIComponent(value)}`)
    .join('&');

const made = (kind: SampleKind, name: string, app: string): RequestStep => {
  const sample = sampleOf(kind, name);
  const metadata = { ...(sample.metadata as JsonObject), labels: { app } };
  return createStep(kind, { ...sample, metadata });
};

/** Three objects, a list, and its next pages, with possible changes in between. */
export const pages: Group = (random, count) =>
  times(count, () => {
    const kind = pickKind(random, LISTED);
    const query = listQuery(random);
    const next = (step: number, more = ''): RequestStep => ({
      method: 'GET',
      path: `${collectionOf(kind)}?limit=1&continue={{${step}.metadata.continue}}${more}`,
    });
    const change: RequestStep = random.pick<RequestStep>([
      made(kind, 'd', 'x'),
      { method: 'DELETE', path: `${objectPath(kind, 'b')}?gracePeriodSeconds=0` },
      {
        method: 'PATCH',
        path: objectPath(kind, 'c'),
        body: { metadata: { labels: { app: 'z' } } },
        type: PATCHES.merge,
      },
      { method: 'GET', path: objectPath(kind, 'a') },
    ]);
    return {
      group: 'page',
      steps: [
        ...[made(kind, 'a', 'x'), made(kind, 'b', 'y'), made(kind, 'c', 'x')],
        { method: 'GET', path: `${collectionOf(kind)}?${query}` },
        ...(query.includes('limit=')
          ? [
              change,
              next(3, query.includes('labelSelector') ? '&labelSelector=app%3Dx' : ''),
              next(5),
              next(
                3,
                random.pick([
                  '',
                  '&resourceVersion={{0.metadata.resourceVersion}}',
                  '&resourceVersionMatch=Exact',
                ]),
              ),
            ]
          : []),
      ],
    };
  });

function watchQuery(random: Random): string {
  const parameters = new Map([
    ['watch', random.pick(['true', 'true', '1', 'yes', ''])],
    ['timeoutSeconds', '1'],
  ]);
  const add = (name: string, value: string, chance: number): void => {
    if (random.chance(chance)) parameters.set(name, value);
  };
  add('resourceVersion', random.pick(VERSIONS), 0.7);
  add('resourceVersionMatch', random.pick(MATCHES), 0.3);
  add('sendInitialEvents', random.pick(['true', 'true', 'false', '0', '']), 0.4);
  add('allowWatchBookmarks', random.pick(['true', 'false']), 0.4);
  add('labelSelector', random.pick(LABELS), 0.3);
  add('fieldSelector', selector(random), 0.3);
  add('limit', '1', 0.1);
  add('continue', 'x', 0.05);
  return written(parameters);
}

/** A watch from some version, with changes that add objects to its selection and remove them. */
export const selections: Group = (random, count) =>
  times(count, () => {
    const kind = pickKind(random, LISTED);
    const label = (name: string, app: string | null): RequestStep => ({
      method: 'PATCH',
      path: objectPath(kind, name),
      body: { metadata: { labels: { app } } },
      type: PATCHES.merge,
    });
    return {
      group: 'selection',
      steps: [
        ...[made(kind, 'a', 'x'), made(kind, 'b', 'y'), label('b', 'x')],
        { method: 'GET', path: `${collectionOf(kind)}?${watchQuery(random)}`, watch: true },
        ...[label('a', 'y'), label('a', 'x'), label('b', null), made(kind, 'c', 'x')],
        { method: 'DELETE', path: `${objectPath(kind, 'b')}?gracePeriodSeconds=0` },
      ],
    };
  });
