/**
 * Discovery: /api, /apis and the resource lists, of the built-in resources and of all custom ones that were seen or
 * defined. client-go's RESTMapper and kubectl read these to turn kinds into paths.
 */
import { apiVersionOf, type Kind, type Kinds } from './registry/kinds.ts';

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** The version this server's answers are modelled on. */
export const VERSION = {
  major: '1',
  minor: '36',
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

/** GET /apis */
export function groupList(kinds: Kinds): object {
  const names = new Set(kinds.all().map((kind) => kind.group));
  names.delete('');
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: [...names].map((name) => group(kinds, name)) };
}

/** GET /apis/<group>; undefined when nothing of it is known. */
export function groupDocument(kinds: Kinds, name: string): object | undefined {
  if (name === '' || !kinds.all().some((kind) => kind.group === name)) return undefined;
  return { kind: 'APIGroup', apiVersion: 'v1', ...group(kinds, name) };
}

function group(kinds: Kinds, name: string): object {
  const inGroup = kinds.all().filter((kind) => kind.group === name);
  const versions = [...new Set(inGroup.map((kind) => kind.version))].sort(byPriority).map((version) => ({
    groupVersion: `${name}/${version}`,
    version,
  }));
  return { name, versions, preferredVersion: versions[0] };
}

/** v2 before v1 before v1beta1 before v1alpha1; apimachinery: pkg/version CompareKubeAwareVersionStrings. */
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

/** GET /api/v1 and /apis/<group>/<version>; undefined when nothing of it is known. */
export function resourceList(kinds: Kinds, name: { group: string; version: string }): object | undefined {
  const found = kinds.all().filter((kind) => kind.group === name.group && kind.version === name.version);
  if (found.length === 0) return undefined;
  const resources = found
    .sort((a, b) => (a.plural < b.plural ? -1 : 1))
    .flatMap((kind) => (kind.status ? [resource(kind), statusOf(kind)] : [resource(kind)]));
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: apiVersionOf(name), resources };
}

const resource = (kind: Kind): object => ({
  name: kind.plural,
  singularName: kind.singular,
  namespaced: kind.namespaced ?? true,
  kind: kind.kind,
  verbs: VERBS,
  ...(kind.shortNames.length > 0 ? { shortNames: kind.shortNames } : {}),
});

const statusOf = (kind: Kind): object => ({
  name: `${kind.plural}/status`,
  singularName: '',
  namespaced: kind.namespaced ?? true,
  kind: kind.kind,
  verbs: ['get', 'patch', 'update'],
});
