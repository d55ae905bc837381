/**
 * Discovery: /api, /apis and the resource lists, single and aggregated, of the built-in and the
 * known custom resources. client-go's RESTMapper and kubectl read them to map kinds to paths.
 */
import { createHash } from 'node:crypto';
import { apiVersionOf, type Kind, type Kinds } from './registry/kinds.ts';
import { type Subresource, subresourcesOf } from './registry/subresources.ts';

const CUSTOM_VERBS = [
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'create',
  'update',
  'watch',
];
const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** The version of Kubernetes that this server follows. */
export const VERSION_INFO = {
  major: '1',
  minor: '36',
  emulationMajor: '1',
  emulationMinor: '36',
  minCompatibilityMajor: '1',
  minCompatibilityMinor: '35',
  gitVersion: 'v1.36.3+capstan',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: '',
  platform: '',
} as const;

/** GET /api. @param address host and port of this server */
export const coreVersions = (address: string): object => ({
  kind: 'APIVersions',
  versions: ['v1'],
  serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: address }],
});

/** Kubernetes' groups in the order of the real server; others follow them. */
const GROUPS = [
  ...[
    'apiregistration.k8s.io',
    'apps',
    'events.k8s.io',
    'authentication.k8s.io',
    'authorization.k8s.io',
    'autoscaling',
    'batch',
    'certificates.k8s.io',
  ],
  ...[
    'networking.k8s.io',
    'policy',
    'rbac.authorization.k8s.io',
    'storage.k8s.io',
    'admissionregistration.k8s.io',
  ],
  ...[
    'apiextensions.k8s.io',
    'scheduling.k8s.io',
    'coordination.k8s.io',
    'node.k8s.io',
    'discovery.k8s.io',
  ],
  ...['resource.k8s.io', 'flowcontrol.apiserver.k8s.io'],
];

/** All groups but the core group. */
function groupNames(kinds: Kinds): string[] {
  const names = new Set(kinds.all().map((kind) => kind.group));
  names.delete('');
  const known = GROUPS.filter((name) => names.has(name));
  return [...known, ...[...names].filter((name) => !GROUPS.includes(name)).sort()];
}

/** GET /apis */
export function groupList(kinds: Kinds): object {
  return {
    kind: 'APIGroupList',
    apiVersion: 'v1',
    groups: groupNames(kinds).map((name) => group(kinds, name)),
  };
}

/** GET /apis/<group>; undefined for an unknown group. */
export function groupDocument(kinds: Kinds, name: string): object | undefined {
  if (name === '' || !kinds.all().some((kind) => kind.group === name)) return undefined;
  return { kind: 'APIGroup', apiVersion: 'v1', ...group(kinds, name) };
}

const versionsOf = (kinds: Kinds, group: string): string[] => {
  const inGroup = kinds.all().filter((kind) => kind.group === group);
  return [...new Set(inGroup.map((kind) => kind.version))].sort(byPriority);
};

function group(kinds: Kinds, name: string): object {
  const versions = versionsOf(kinds, name).map((version) => ({
    groupVersion: `${name}/${version}`,
    version,
  }));
  return { name, versions, preferredVersion: versions[0] };
}

/**
 * v2 before v1 before v1beta1 before v1alpha1; apimachinery: pkg/version
 * CompareKubeAwareVersionStrings.
 */
function byPriority(a: string, b: string): number {
  const rank = (version: string): number[] => {
    const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
    if (match === null) return [0, 0, 0];
    const stability = match[2] === undefined ? 3 : match[2] === 'beta' ? 2 : 1;
    return [stability, Number(match[1]), Number(match[3] ?? 0)];
  };
  const left = rank(a);
  const right = rank(b);
  for (const [at, value] of left.entries()) {
    if (value !== right[at]) return (right[at] ?? 0) - value;
  }
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The verbs of a kind. */
export const verbsOf = (kind: Kind): readonly string[] => {
  if (!kind.builtIn) return CUSTOM_VERBS;
  if (kind.verbs !== undefined) return kind.verbs;
  return kind.plural === 'namespaces' ? VERBS.filter((verb) => verb !== 'deletecollection') : VERBS;
};

const servedKinds = (kinds: Kinds, name: { group: string; version: string }): Kind[] =>
  kinds
    .all()
    .filter((kind) => kind.group === name.group && kind.version === name.version)
    .sort((a, b) => (a.plural < b.plural ? -1 : 1));

const HEALTH_CHECKS = ['ping', 'log', 'etcd', 'informer-sync'];

/**
 * GET /readyz, /livez and /healthz: one check, or all of them as a list if `verbose`; undefined for
 * an unknown check.
 */
export function health(endpoint: string, check: string, verbose: boolean): string | undefined {
  if (check !== '') return HEALTH_CHECKS.includes(check) ? 'ok' : undefined;
  if (!verbose) return 'ok';
  return [...HEALTH_CHECKS.map((name) => `[+]${name} ok`), `${endpoint} check passed\n`].join('\n');
}

/** GET /api/v1 and /apis/<group>/<version>; undefined for an unknown version. */
export function resourceList(
  kinds: Kinds,
  name: { group: string; version: string },
): object | undefined {
  const found = servedKinds(kinds, name);
  if (found.length === 0) return undefined;
  const resources = found.flatMap((kind) => [
    resource(kind),
    ...subresourcesOf(kind).map((sub) => subresource(kind, sub)),
  ]);
  return {
    kind: 'APIResourceList',
    ...(name.group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: apiVersionOf(name),
    resources,
  };
}

const resource = (kind: Kind): object => ({
  name: kind.plural,
  singularName: kind.singular,
  namespaced: kind.namespaced ?? true,
  kind: kind.kind,
  verbs: verbsOf(kind),
  ...(kind.shortNames.length > 0 ? { shortNames: kind.shortNames } : {}),
  ...(kind.categories.length > 0 ? { categories: kind.categories } : {}),
  ...(kind.verbs === undefined ? { storageVersionHash: storageHash(kind) } : {}),
});

/** Built-in kinds whose storage version differs from the served version. */
const STORED_AS: Readonly<Record<string, string>> = {
  'events.k8s.io/v1/Event': '/v1/Event',
  'autoscaling/v1/HorizontalPodAutoscaler': 'autoscaling/v2/HorizontalPodAutoscaler',
  ...Object.fromEntries(
    [
      'admissionregistration.k8s.io/v1/MutatingAdmissionPolicy',
      'admissionregistration.k8s.io/v1/MutatingAdmissionPolicyBinding',
      'apiextensions.k8s.io/v1/CustomResourceDefinition',
    ].map((name) => [name, name.replace('/v1/', '/v1beta1/')]),
  ),
};

/** apiserver: pkg/endpoints/discovery/storageversionhash.go. */
function storageHash({ group, version, kind, definition }: Kind): string {
  const typeName = `${definition?.storage ?? `${group}/${version}`}/${kind}`;
  const stored = STORED_AS[typeName] ?? typeName;
  return createHash('sha256').update(stored).digest().subarray(0, 8).toString('base64');
}

const subresource = (
  kind: Kind,
  { name, group, version, kind: of, verbs }: Subresource,
): object => ({
  name: `${kind.plural}/${name}`,
  singularName: '',
  namespaced: kind.namespaced ?? true,
  ...(group === '' ? {} : { group, version }),
  kind: of,
  verbs,
});

/** The media type of aggregated discovery; other clients get single lists. */
export const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

export function acceptsAggregated(accept: string | undefined): boolean {
  for (const range of (accept ?? '').split(',')) {
    const [type, ...parameters] = range.split(';').map((part) => part.trim());
    if (type !== 'application/json' && type !== '*/*') continue;
    const wanted = ['g=apidiscovery.k8s.io', 'v=v2', 'as=APIGroupDiscoveryList'];
    if (wanted.every((parameter) => parameters.includes(parameter))) return true;
    if (!parameters.some((parameter) => parameter.startsWith('as='))) return false;
  }
  return false;
}

/** GET /api and /apis in one document: KEP-3352. */
export function aggregated(kinds: Kinds, core: boolean): object {
  const names = core ? [''] : groupNames(kinds);
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: names.map((name) => ({
      metadata: name === '' ? {} : { name },
      versions: versionsOf(kinds, name).map((version) => ({
        version,
        resources: servedKinds(kinds, { group: name, version }).map(aggregatedResource),
        freshness: 'Current',
      })),
    })),
  };
}

function aggregatedResource(kind: Kind): object {
  // The built-in kinds' entries omit group and version.
  const own = kind.builtIn
    ? { group: '', version: '' }
    : { group: kind.group, version: kind.version };
  const subresources = subresourcesOf(kind).map(({ name, group, version, kind: of, verbs }) => ({
    subresource: name,
    responseKind: group === '' ? { ...own, kind: of } : { group, version, kind: of },
    verbs,
  }));
  return {
    resource: kind.plural,
    responseKind: { ...own, kind: kind.kind },
    scope: (kind.namespaced ?? true) ? 'Namespaced' : 'Cluster',
    singularResource: kind.singular,
    verbs: verbsOf(kind),
    ...(kind.shortNames.length > 0 ? { shortNames: kind.shortNames } : {}),
    ...(kind.categories.length > 0 ? { categories: kind.categories } : {}),
    ...(subresources.length > 0 ? { subresources } : {}),
  };
}
