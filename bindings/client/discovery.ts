/**
 * Which resource a kind is, asked of the server once. What it keeps true: an answer is kept until somebody says that it is stale, and a kind
 * that a kept answer does not have is asked for again, as its definition may have come meanwhile. controller-runtime:
 * pkg/client/apiutil/restmapper.go; client-go: restmapper, discovery.
 */
import { groupVersionPath } from '../cache/discovery.ts';
import type { KubeObject } from '../cache/keys.ts';
import { defineResource, groupVersion, type Resource } from '../cache/resource.ts';
import { StatusError } from '../cache/status-error.ts';
import type { Transport } from '../cache/transport.ts';
import { abortable } from '../cache/wait.ts';
import { type Clock, systemClock } from '../clock.ts';
import { CapstanError, invalid, requireFunction, requireObject } from '../errors.ts';
import { RestClient } from './rest-client.ts';
import type { AnyResource, CallOptions } from './types.ts';

/** Which kind, as an object names it by apiVersion and kind. */
export interface GroupVersionKind {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Which kind is asked for. Without a version, the server's preferred one among those that have it. */
export type GroupKind = Omit<GroupVersionKind, 'version'> & { readonly version?: string };

interface Found {
  readonly plural: string;
  readonly namespaced: boolean;
}

/**
 * What one server has, by kind.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const discovery = new Discovery(transport);
 * const deployments = await discovery.resourceFor({ group: 'apps', kind: 'Deployment' }, { signal });
 * const { items } = await client.list(deployments, { namespace: 'default' });
 */
export class Discovery {
  readonly #rest: RestClient;
  /** By `group/version`; a call that is under way is shared. */
  readonly #kinds = new Map<string, Promise<Map<string, Found>>>();
  readonly #versions = new Map<string, Promise<string[]>>();

  constructor(transport: Transport, options: { clock?: Clock } = {}) {
    requireFunction('transport.request', (transport as Partial<Transport> | undefined)?.request);
    this.#rest = new RestClient(transport, { clock: options.clock ?? systemClock, onWarning: () => undefined });
  }

  /**
   * The resource of a kind. Rejects with StatusError 404 where the server has no such kind, and with whatever else it answers;
   * with TransportError, and with CapstanError DECODE, ABORTED and INVALID_ARGUMENT.
   */
  async resourceFor<T extends object = KubeObject>(kind: GroupKind, options: CallOptions = {}): Promise<Resource<T>> {
    requireObject('kind', kind);
    if (typeof kind.group !== 'string') throw invalid('kind.group', 'a string, "" for the core group', kind.group);
    if (typeof kind.kind !== 'string' || kind.kind === '') throw invalid('kind.kind', 'such as "Pod"', kind.kind);
    const known = this.#kinds.size + this.#versions.size > 0;
    const found = await this.#find(kind, options);
    if (found !== undefined) return defineResource<T>()(found);
    if (known) {
      this.invalidate(kind.group);
      const later = await this.#find(kind, options);
      if (later !== undefined) return defineResource<T>()(later);
    }
    const where = kind.version === undefined ? kind.group : groupVersion({ group: kind.group, version: kind.version });
    const message = `the server has no kind ${JSON.stringify(kind.kind)} in ${where === '' ? 'v1' : where}`;
    throw new StatusError(404, { kind: 'Status', code: 404, reason: 'NotFound', message }, 'discovery');
  }

  /** The resource of an object, by its apiVersion and kind; otherwise as {@link Discovery.resourceFor}. */
  resourceOf<T extends object = KubeObject>(object: object, options: CallOptions = {}): Promise<Resource<T>> {
    return this.resourceFor<T>(groupVersionKindFor(object), options);
  }

  /** Whether objects of a kind are in a namespace; otherwise as {@link Discovery.resourceFor}. */
  async isObjectNamespaced(object: object, options: CallOptions = {}): Promise<boolean> {
    return (await this.resourceOf(object, options)).namespaced;
  }

  /** Forgets what the server said, of one group or of all. */
  invalidate(group?: string): void {
    if (group === undefined) {
      this.#kinds.clear();
      this.#versions.clear();
      return;
    }
    this.#versions.delete(group);
    for (const name of this.#kinds.keys()) if (groupOf(name) === group) this.#kinds.delete(name);
  }

  async #find({ group, version, kind }: GroupKind, { signal }: CallOptions) {
    const versions = version === undefined ? await this.#versionsOf(group, signal) : [version];
    for (const candidate of versions) {
      const found = (await this.#kindsOf(group, candidate, signal)).get(kind);
      if (found !== undefined) return { group, version: candidate, kind, ...found };
    }
    return undefined;
  }

  /** The preferred one first. */
  #versionsOf(group: string, signal: AbortSignal | undefined): Promise<string[]> {
    if (group === '') return Promise.resolve(['v1']);
    return kept(this.#versions, group, signal, async () => {
      const path = `/apis/${group}`;
      const body = await this.#askFor(path, signal);
      if (body === undefined) return [];
      const { versions, preferredVersion } = body as {
        versions?: { version?: unknown }[];
        preferredVersion?: { version?: unknown };
      };
      if (!Array.isArray(versions)) throw new CapstanError('DECODE', `GET ${path}: expected an APIGroup with versions`);
      const all = [preferredVersion?.version, ...versions.map(({ version }) => version)];
      return [...new Set(all.filter((version) => typeof version === 'string'))];
    });
  }

  #kindsOf(group: string, version: string, signal: AbortSignal | undefined): Promise<Map<string, Found>> {
    return kept(this.#kinds, groupVersion({ group, version }), signal, async () => {
      const path = groupVersionPath({ group, version });
      const found = new Map<string, Found>();
      const body = await this.#askFor(path, signal);
      if (body === undefined) return found;
      const { resources } = body as { resources?: { name?: unknown; kind?: unknown; namespaced?: unknown }[] };
      if (!Array.isArray(resources))
        throw new CapstanError('DECODE', `GET ${path}: expected an APIResourceList with resources`);
      for (const { name, kind, namespaced } of resources) {
        if (typeof name !== 'string' || typeof kind !== 'string' || typeof namespaced !== 'boolean') continue;
        // Subresources have a slash, and kinds of their own or of their object. Of two resources of a kind the first counts.
        if (!name.includes('/') && !found.has(kind)) found.set(kind, { plural: name, namespaced });
      }
      return found;
    });
  }

  /** undefined: the server does not have it. */
  async #askFor(path: string, signal: AbortSignal | undefined): Promise<object | undefined> {
    try {
      return await this.#rest.send({ method: 'GET', path, signal });
    } catch (error) {
      if (error instanceof StatusError && error.status === 404) return undefined;
      throw error;
    }
  }
}

/**
 * The resource of a kind, asked of the server for this once: see {@link Discovery}, which keeps what it was told.
 *
 * @throws StatusError 404 for a kind that the server does not have; whatever else it answers; TransportError; CapstanError DECODE,
 *   ABORTED and INVALID_ARGUMENT
 * @example
 * const websites = await discover(transport, { group: 'example.com', version: 'v1', kind: 'Website' }, { signal });
 */
export function discover<T extends object = KubeObject>(
  transport: Transport,
  kind: GroupKind,
  options: CallOptions & { clock?: Clock } = {},
): Promise<Resource<T>> {
  return new Discovery(transport, options).resourceFor<T>(kind, options);
}

/**
 * Group, version and kind of a resource, or of an object by what it says of itself.
 *
 * @throws CapstanError INVALID_ARGUMENT for an object without apiVersion or kind, as the items of some lists and caches are
 * @example
 * groupVersionKindFor({ apiVersion: 'apps/v1', kind: 'Deployment' }).group; // 'apps'
 */
export function groupVersionKindFor(of: object | AnyResource): GroupVersionKind {
  requireObject('of', of);
  const { plural, group, version, kind } = of as Partial<AnyResource>;
  if (plural !== undefined && group !== undefined && version !== undefined && kind !== undefined)
    return { group, version, kind };
  const { apiVersion } = of as KubeObject;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || !/^(?:[^/]+\/)?[^/]+$/.test(apiVersion))
    throw invalid('object', 'an object with apiVersion and kind', `${apiVersion} ${kind}`);
  return { group: groupOf(apiVersion), version: apiVersion.slice(apiVersion.indexOf('/') + 1), kind };
}

/** Whether the objects of a resource are in a namespace each. */
export function isObjectNamespaced(resource: AnyResource): boolean {
  return resource.namespaced;
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
}

/** A failure is not kept: the next call asks again. A caller's signal ends its own call; those who wait with it ask anew. */
async function kept<V>(
  map: Map<string, Promise<V>>,
  key: string,
  signal: AbortSignal | undefined,
  ask: () => Promise<V>,
): Promise<V> {
  const running = map.get(key);
  if (running !== undefined) {
    try {
      return await (signal === undefined ? running : abortable(running, signal));
    } catch (error) {
      if (signal?.aborted || !(error instanceof CapstanError && error.code === 'ABORTED')) throw error;
      return kept(map, key, signal, ask);
    }
  }
  const asking = ask();
  map.set(key, asking);
  try {
    return await asking;
  } catch (error) {
    if (map.get(key) === asking) map.delete(key);
    throw error;
  }
}
