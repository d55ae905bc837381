/**
 * Finds the resource of a kind by the server's discovery documents. An answer is kept until it is
 * invalidated; a kind that a kept answer does not have is requested again, because its definition
 * may have been created meanwhile. controller-runtime: pkg/client/apiutil/restmapper.go; client-go:
 * restmapper, discovery.
 */

import { type Clock, systemClock } from '../base/clock.ts';
import { CapstanError, invalid, requireObject } from '../base/errors.ts';
import { namesOf, requireNames, requireSignalOptions } from '../base/names.ts';
import type { KubeObject } from '../base/object.ts';
import { defineResource, groupVersion, type Resource } from '../base/resource.ts';
import { abortable } from '../base/wait.ts';
import { groupPath, groupVersionPath } from '../cache/reflector/discovery.ts';
import { StatusError } from '../cache/rest/status-error.ts';
import { requireTransport, type Transport } from '../cache/rest/transport.ts';
import { RestClient } from './rest-client.ts';
import type { AnyResource, CallOptions } from './types.ts';

/** A group, version and kind. apimachinery: schema.GroupVersionKind. */
export interface GroupVersionKind {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** A group and kind. Without a version, the preferred version of the group that has the kind. */
export type GroupKind = Omit<GroupVersionKind, 'version'> & { readonly version?: string };

/** A group, version and plural. Without a version, the preferred one of the group that has it. */
export interface GroupResource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version?: string | undefined;
  readonly plural: string;
}

/** The answer of {@link Discovery.resources}. */
export interface ServerResources {
  readonly resources: Resource<KubeObject>[];
  /** Errors by `group/version`, such as one of an aggregated API that is down. */
  readonly failed: ReadonlyMap<string, unknown>;
}

interface Found {
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  readonly verbs: readonly unknown[];
  /** Its plural, singular and kind in lower case, and its short names. */
  readonly words: readonly unknown[];
}

/** apimachinery: meta/v1 APIGroup. */
interface Group {
  readonly name?: unknown;
  readonly versions?: { version?: unknown }[];
  readonly preferredVersion?: { version?: unknown };
}

const NAMES = namesOf<{ clock: Clock }>()({ clock: 1 });
const DISCOVER_NAMES = namesOf<{ clock: Clock } & CallOptions>()({ clock: 1, signal: 1 });
const KIND_NAMES = namesOf<GroupKind>()({ group: 1, version: 1, kind: 1 });
const RESOURCE_NAMES = namesOf<GroupResource>()({ group: 1, version: 1, plural: 1 });
const WORD = /^[A-Za-z0-9][A-Za-z0-9-]*(\.[A-Za-z0-9][A-Za-z0-9-]*)*$/;

/**
 * Finds and keeps the resources of one server, by kind. controller-runtime: meta.RESTMapper.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const discovery = new Discovery(transport);
 * const kind = { group: 'apps', kind: 'Deployment' };
 * const deployments = await discovery.resourceFor(kind, { signal });
 * const { items } = await client.list(deployments, { namespace: 'default' });
 */
export class Discovery {
  readonly #rest: RestClient;
  /** By `group/version`. Calls at the same time share a request. */
  readonly #kinds = new Map<string, Promise<readonly Found[]>>();
  readonly #versions = new Map<string, Promise<string[]>>();
  /** The names of all groups but the core group; at most one entry. */
  readonly #groups = new Map<'', Promise<string[]>>();

  constructor(transport: Transport, options: { clock?: Clock | undefined } = {}) {
    requireNames('options', options, 'option of Discovery', NAMES);
    requireTransport('transport', transport);
    this.#rest = new RestClient(transport, {
      clock: options.clock ?? systemClock,
      onWarning: () => undefined,
    });
  }

  /**
   * Finds the resource of a kind. Rejects with StatusError 404 if the server has no such kind, with
   * the server's other errors, with TransportError, and with CapstanError DECODE, ABORTED and
   * INVALID_ARGUMENT.
   */
  async resourceFor<T extends object = KubeObject>(
    kind: GroupKind,
    options: CallOptions = {},
  ): Promise<Resource<T>> {
    requireSignalOptions(options, 'resourceFor()');
    requireNames('kind', kind, 'member of a kind', KIND_NAMES);
    if (typeof kind.group !== 'string')
      throw invalid('kind.group', 'a string, "" for the core group', kind.group);
    if (typeof kind.kind !== 'string' || kind.kind === '')
      throw invalid('kind.kind', 'such as "Pod"', kind.kind);
    const isIt = ({ kind: name }: Found): boolean => name === kind.kind;
    const found = await this.#twice(() => this.#find(kind, isIt, options), kind.group);
    if (found === undefined) throw noMatch(`kind ${JSON.stringify(kind.kind)} in ${placeOf(kind)}`);
    return resourceFrom<T>(found);
  }

  /**
   * Finds the kind of a resource, such as `{ group: 'apps', plural: 'deployments' }`. Rejects as
   * {@link Discovery.resourceFor}. apimachinery: meta.RESTMapper.KindFor.
   */
  async kindFor(resource: GroupResource, options: CallOptions = {}): Promise<GroupVersionKind> {
    requireSignalOptions(options, 'kindFor()');
    requireNames('resource', resource, 'member of a resource', RESOURCE_NAMES);
    const { group, plural } = resource;
    if (typeof group !== 'string')
      throw invalid('resource.group', 'a string, "" for the core group', group);
    if (typeof plural !== 'string' || plural === '')
      throw invalid('resource.plural', 'such as "pods"', plural);
    const isIt = (found: Found): boolean => found.plural === plural;
    const found = await this.#twice(() => this.#find(resource, isIt, options), group);
    if (found === undefined)
      throw noMatch(`resource ${JSON.stringify(plural)} in ${placeOf(resource)}`);
    return { group, version: found.version, kind: found.kind };
  }

  /**
   * Finds the resource that a person means by a name, as kubectl does: a plural, a singular, a kind
   * or a short name, alone or with its group, such as `po`, `deployment`, `deployments.apps` or
   * `deployments.v1.apps`. Without a group, the core group comes first, then the others in the
   * server's order. Rejects as {@link Discovery.resourceFor}. client-go: restmapper's shortcut
   * expander, schema.ParseResourceArg.
   *
   * @example
   * const discovery = new Discovery(transport);
   * const deployments = await discovery.resourceNamed('deploy');
   * console.log((await client.list(deployments)).items.length);
   */
  async resourceNamed<T extends object = KubeObject>(
    name: string,
    options: CallOptions = {},
  ): Promise<Resource<T>> {
    requireSignalOptions(options, 'resourceNamed()');
    if (typeof name !== 'string' || !WORD.test(name))
      throw invalid('name', 'such as "pods", "deploy" or "deployments.apps"', name);
    const [word = '', ...rest] = name.toLowerCase().split('.');
    const [version = '', ...group] = rest;
    const isIt = ({ words }: Found): boolean => words.includes(word);
    const find = async () => {
      if (rest.length > 0) {
        const found = await this.#find({ group: rest.join('.') }, isIt, options);
        if (found !== undefined || !/^v[0-9]/.test(version)) return found;
        return this.#find({ group: group.join('.'), version }, isIt, options);
      }
      for (const of of ['', ...(await this.#groupNames(options.signal))]) {
        const found = await this.#find({ group: of }, isIt, options);
        if (found !== undefined) return found;
      }
      return undefined;
    };
    const found = await this.#twice(find);
    if (found === undefined) throw noMatch(`resource ${JSON.stringify(name)}`);
    return resourceFrom<T>(found);
  }

  /**
   * Finds the resource of an object by its apiVersion and kind. Rejects as {@link
   * Discovery.resourceFor}.
   */
  resourceOf<T extends object = KubeObject>(
    object: object,
    options: CallOptions = {},
  ): Promise<Resource<T>> {
    return this.resourceFor<T>(groupVersionKindFor(object), options);
  }

  /** Whether the objects of a kind have a namespace. Rejects as {@link Discovery.resourceFor}. */
  async isObjectNamespaced(object: object, options: CallOptions = {}): Promise<boolean> {
    return (await this.resourceOf(object, options)).namespaced;
  }

  /**
   * Lists the server's resources, without subresources: each in its group's preferred version, else
   * in the first version that has it. Group versions that fail are in `failed`. Rejects if the
   * groups cannot be read; otherwise as {@link Discovery.resourceFor}. client-go:
   * ServerPreferredResources, SupportsAllVerbs.
   *
   * @param options `verbs`: those that a resource must have, all of them. Default: none
   * @example
   * const discovery = new Discovery(transport);
   * const { resources, failed } = await discovery.resources({ verbs: ['list', 'delete'], signal });
   */
  async resources(
    options: CallOptions & { readonly verbs?: readonly string[] | undefined } = {},
  ): Promise<ServerResources> {
    const { verbs = [], signal } = options;
    this.invalidate();
    const groups = await this.#allGroups(signal);
    const failed = new Map<string, unknown>();
    const all = [{ name: '', versions: [{ version: 'v1' }] }, ...groups].map(async (group) => {
      const byPlural = new Map<
        string,
        { resource: Resource<KubeObject>; verbs: readonly unknown[] }
      >();
      const name = String(group.name);
      for (const version of versionsIn(group, '/apis')) {
        try {
          for (const { verbs, words: _, ...found } of await this.#kindsOf(name, version, signal)) {
            const resource = defineResource<KubeObject>()({ ...found, group: name, version });
            if (!byPlural.has(found.plural)) byPlural.set(found.plural, { resource, verbs });
          }
        } catch (error) {
          if (signal?.aborted) throw error;
          failed.set(groupVersion({ group: name, version }), error);
        }
      }
      const wanted = [...byPlural.values()].filter((found) =>
        verbs.every((verb) => found.verbs.includes(verb)),
      );
      return wanted.map(({ resource }) => resource);
    });
    return { resources: (await Promise.all(all)).flat(), failed };
  }

  /** Asks again, without the kept answers of a group (or of all), if these do not have it. */
  async #twice<V>(find: () => Promise<V | undefined>, group?: string): Promise<V | undefined> {
    const known = group === undefined ? this.size > 0 : this.#keeps(group);
    const found = await find();
    if (found !== undefined || !known) return found;
    this.invalidate(group);
    return find();
  }

  #keeps(group: string): boolean {
    return (
      this.#versions.has(group) || [...this.#kinds.keys()].some((name) => groupOf(name) === group)
    );
  }

  /** @internal The number of kept answers. */
  get size(): number {
    return this.#kinds.size + this.#versions.size + this.#groups.size;
  }

  /** Forgets the answers for one group, or all answers. */
  invalidate(group?: string): void {
    if (group === undefined) {
      this.#kinds.clear();
      this.#versions.clear();
      this.#groups.clear();
      return;
    }
    this.#versions.delete(group);
    for (const name of this.#kinds.keys()) if (groupOf(name) === group) this.#kinds.delete(name);
  }

  async #find(
    { group, version }: { readonly group: string; readonly version?: string | undefined },
    isIt: (found: Found) => boolean,
    { signal }: CallOptions,
  ) {
    const versions = version === undefined ? await this.#versionsOf(group, signal) : [version];
    for (const candidate of versions) {
      const found = (await this.#kindsOf(group, candidate, signal)).find(isIt);
      if (found !== undefined) return { group, version: candidate, ...found };
    }
    return undefined;
  }

  #groupNames(signal: AbortSignal | undefined): Promise<string[]> {
    return kept(this.#groups, '', signal, async () => {
      const groups = await this.#allGroups(signal);
      return groups.map(({ name }) => name).filter((name) => typeof name === 'string');
    });
  }

  /** All groups but the core group. */
  async #allGroups(signal: AbortSignal | undefined): Promise<Group[]> {
    const { groups } = (await this.#rest.send({ method: 'GET', path: '/apis', signal })) as {
      groups?: Group[];
    };
    if (!Array.isArray(groups))
      throw new CapstanError('DECODE', 'GET /apis: expected an APIGroupList with groups');
    return groups;
  }

  /** The versions of a group, the preferred one first. */
  #versionsOf(group: string, signal: AbortSignal | undefined): Promise<string[]> {
    if (group === '') return Promise.resolve(['v1']);
    return kept(this.#versions, group, signal, async () => {
      const path = groupPath(group);
      const body = await this.#askFor(path, signal);
      return body === undefined ? [] : versionsIn(body, path);
    });
  }

  #kindsOf(
    group: string,
    version: string,
    signal: AbortSignal | undefined,
  ): Promise<readonly Found[]> {
    return kept(this.#kinds, groupVersion({ group, version }), signal, async () => {
      const path = groupVersionPath({ group, version });
      const body = await this.#askFor(path, signal);
      if (body === undefined) return [];
      const { resources } = body as {
        resources?: (Partial<Record<keyof Found, unknown>> & {
          name?: unknown;
          singularName?: unknown;
          shortNames?: unknown;
        })[];
      };
      if (!Array.isArray(resources))
        throw new CapstanError('DECODE', `GET ${path}: expected an APIResourceList with resources`);
      return resources.flatMap(({ name, kind, namespaced, verbs, singularName, shortNames }) => {
        if (typeof name !== 'string' || typeof kind !== 'string' || typeof namespaced !== 'boolean')
          return [];
        // Names of subresources have a slash.
        if (name.includes('/')) return [];
        const short: unknown[] = Array.isArray(shortNames) ? shortNames : [];
        const words = [name, singularName, kind.toLowerCase(), ...short];
        return [
          { kind, plural: name, namespaced, verbs: Array.isArray(verbs) ? verbs : [], words },
        ];
      });
    });
  }

  /** `undefined` if the server answers 404. */
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
 * Finds the resource of a kind by one request. {@link Discovery} keeps the answers.
 *
 * @throws StatusError 404 for a kind that the server does not have; whatever else it answers;
 *   TransportError; CapstanError DECODE, ABORTED and INVALID_ARGUMENT
 * @example
 * const kind = { group: 'example.com', version: 'v1', kind: 'Website' };
 * const websites = await discover(transport, kind, { signal });
 */
export function discover<T extends object = KubeObject>(
  transport: Transport,
  kind: GroupKind,
  options: CallOptions & { clock?: Clock | undefined } = {},
): Promise<Resource<T>> {
  requireNames('options', options, 'option of discover()', DISCOVER_NAMES);
  const { clock, signal } = options;
  return new Discovery(transport, { clock }).resourceFor<T>(kind, { signal });
}

/**
 * The group, version and kind of a resource, or of an object by its apiVersion and kind.
 *
 * @throws CapstanError INVALID_ARGUMENT for an object without apiVersion or kind, as the items of
 *   some lists and caches are
 * @example
 * groupVersionKindFor({ apiVersion: 'apps/v1', kind: 'Deployment' }).group; // 'apps'
 */
export function groupVersionKindFor(of: object | AnyResource): GroupVersionKind {
  requireObject('of', of);
  const { plural, group, version, kind } = of as Partial<AnyResource>;
  if (plural !== undefined && group !== undefined && version !== undefined && kind !== undefined)
    return { group, version, kind };
  const { apiVersion } = of as KubeObject;
  if (
    typeof apiVersion !== 'string' ||
    typeof kind !== 'string' ||
    !/^(?:[^/]+\/)?[^/]+$/.test(apiVersion)
  )
    throw invalid('object', 'an object with apiVersion and kind', `${apiVersion} ${kind}`);
  return {
    group: groupOf(apiVersion),
    version: apiVersion.slice(apiVersion.indexOf('/') + 1),
    kind,
  };
}

const placeOf = ({ group, version }: Pick<GroupKind, 'group' | 'version'>): string =>
  (version === undefined ? group : groupVersion({ group, version })) || 'v1';

/** Without a name in its details, by which isNoMatch() recognises it. */
function noMatch(what: string): StatusError {
  const message = `the server has no ${what}`;
  const body = { kind: 'Status', code: 404, reason: 'NotFound', message };
  return new StatusError(404, body, 'discovery');
}

function resourceFrom<T extends object>({
  group,
  version,
  kind,
  plural,
  namespaced,
}: Omit<Resource<T>, 'indexers'>): Resource<T> {
  return defineResource<T>()({ group, version, kind, plural, namespaced });
}

/** Whether the objects of a resource have a namespace. */
export function isObjectNamespaced(resource: AnyResource): boolean {
  return resource.namespaced;
}

/** The versions of a group, the preferred one first. Throws CapstanError DECODE. */
function versionsIn({ versions, preferredVersion }: Group, path: string): string[] {
  if (!Array.isArray(versions))
    throw new CapstanError('DECODE', `GET ${path}: expected an APIGroup with versions`);
  const all = [preferredVersion?.version, ...versions.map(({ version }) => version)];
  return [...new Set(all.filter((version) => typeof version === 'string'))];
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
}

/**
 * Keeps an answer and shares it between callers. Errors and empty answers are not kept: the next
 * call asks again. A caller's signal ends only its own call; callers that shared the request ask
 * again.
 */
async function kept<V extends readonly unknown[]>(
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
      if (signal?.aborted || !(error instanceof CapstanError && error.code === 'ABORTED'))
        throw error;
      return kept(map, key, signal, ask);
    }
  }
  const asking = ask();
  map.set(key, asking);
  let answer: V | undefined;
  try {
    answer = await asking;
    return answer;
  } finally {
    if ((answer === undefined || answer.length === 0) && map.get(key) === asking) map.delete(key);
  }
}
