/**
 * The resources that a real API server serves, from its discovery, and the built-in kinds that
 * capstan/kinds has of them. Used by the script that writes capstan/kinds, and by the test that
 * compares it with a server.
 */
import type { Transport } from 'capstan/cache';

/** One resource in one version. */
export interface Discovered {
  /** Empty for the core group. */
  group: string;
  version: string;
  kind: string;
  plural: string;
  namespaced: boolean;
  subresources: string[];
  verbs: string[];
}

export interface ServedKind extends Discovered {
  /** The name of the constant. */
  exported: string;
}

interface Answer {
  items: {
    metadata: { name?: string };
    versions: {
      version: string;
      resources: {
        resource: string;
        responseKind: { kind: string };
        scope: 'Namespaced' | 'Cluster';
        verbs: string[];
        subresources?: { subresource: string }[];
      }[];
    }[];
  }[];
}

const ACCEPT = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/** All resources in all versions, by the aggregated discovery. */
export async function servedResources(transport: Transport): Promise<Discovered[]> {
  const all: Discovered[] = [];
  for (const path of ['/api', '/apis']) {
    const response = await transport.request({ method: 'GET', path, headers: { accept: ACCEPT } });
    const chunks: Uint8Array[] = [];
    for await (const chunk of response.body) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString('utf8');
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text}`);
    for (const { metadata, versions } of (JSON.parse(text) as Answer).items)
      for (const { version, resources } of versions)
        for (const { resource, responseKind, scope, verbs, subresources = [] } of resources)
          all.push({
            group: metadata.name ?? '',
            version,
            kind: responseKind.kind,
            plural: resource,
            namespaced: scope === 'Namespaced',
            subresources: subresources.map(({ subresource }) => subresource).sort(),
            verbs,
          });
  }
  return all;
}

/** v2 before v1, v1 before v1beta2, that before v1beta1, as Kubernetes orders versions. */
function rank(version: string): [stable: number, major: number, minor: number] {
  const [, major = '', level, minor = ''] = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version) ?? [];
  return [level === undefined ? 2 : level === 'beta' ? 1 : 0, Number(major), Number(minor)];
}

function newerFirst(a: Discovered, b: Discovered): number {
  const [left, right] = [rank(a.version), rank(b.version)];
  return right[0] - left[0] || right[1] - left[1] || right[2] - left[2];
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/**
 * The newest version of each kind, a stable one before a beta one; kinds that are only alpha are
 * left out. In the order of groups and names. The core group has its kinds' names for itself:
 * `Event`, and `EventsV1Event` of events.k8s.io.
 */
export function kindsOf(resources: readonly Discovered[]): ServedKind[] {
  const newest = new Map<string, Discovered>();
  for (const each of [...resources].sort(newerFirst)) {
    const id = `${each.group}/${each.kind}`;
    if (!each.version.includes('alpha') && !newest.has(id)) newest.set(id, each);
  }
  const by = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
  const sorted = [...newest.values()].sort((a, b) => by(a.group, b.group) || by(a.kind, b.kind));
  const taken = new Set<string>();
  return sorted.map((each) => {
    const isTaken = taken.has(each.kind);
    taken.add(each.kind);
    const first = each.group.split('.')[0] ?? '';
    const exported = isTaken ? `${capital(first)}${capital(each.version)}${each.kind}` : each.kind;
    return { ...each, exported };
  });
}
