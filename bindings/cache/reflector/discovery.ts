/**
 * Discovery: which resources a server has. Two questions are asked of it here: what a resource that
 * the program does not know is like, and whether a resource that was there is gone. The second
 * decides over delete events for everything in a cache, so it is answered with yes only where the
 * server itself says so: a proxy's 404 never is, and neither is the end of one version, as the
 * objects live on in the others.
 */
import { systemClock } from '../../base/clock.ts';
import { CapstanError, invalid } from '../../base/errors.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import { objectFromJson } from '../../base/not-json.ts';
import { pathSegment } from '../../base/urls.ts';
import { within } from '../../base/wait.ts';
import { defineResource, groupVersion, isBuiltInGroup, type Resource } from '../rest/resource.ts';
import { type Caller, sendWithRepeats } from '../rest/rest.ts';
import {
  isNotFound,
  isStatus,
  isStatusError,
  StatusError,
  statusErrorFromAnswer,
} from '../rest/status-error.ts';
import type { Transport } from '../rest/transport.ts';

/**
 * An answer to discovery is some 100 KB at most; without a byte for this long the connection is
 * dead.
 */
const DISCOVERY_IDLE_MS = 90_000;

/** apimachinery: meta/v1 APIResourceList, APIGroup and APIGroupList, as far as they are read. */
interface ResourceList {
  kind: 'APIResourceList';
  resources: { name?: unknown; kind?: unknown; namespaced?: unknown }[];
}
interface GroupVersionResource {
  group: string;
  version: string;
  plural: string;
}
interface Group {
  name?: unknown;
  versions?: { version?: unknown }[];
  preferredVersion?: { version?: unknown };
}

const NAME_NAMES = namesOf<{ group: string; version: string; plural: string }>()({
  group: 1,
  version: 1,
  plural: 1,
});
const OPTION_NAMES = namesOf<{ signal: AbortSignal; clock: Caller['clock'] }>()({
  signal: 1,
  clock: 1,
});

/**
 * Describes a resource that is known by name only, for dynamic caches: asks the server for its kind
 * and whether it has namespaces. Without a version the server's preferred one is taken.
 *
 * @param name `plural` as in the URL
 * @throws StatusError 404 for a resource that the server does not have, and whatever else the
 *   server answers; TransportError; CapstanError DECODE, ABORTED and INVALID_ARGUMENT
 * @example
 * const name = { group: 'example.com', version: 'v1', plural: 'widgets' };
 * const widgets = await resourceOf(transport, name);
 * const listWatch = new ListWatch(transport, widgets);
 */
export async function resourceOf<T extends object = object>(
  transport: Transport,
  name: { group: string; version?: string | undefined; plural: string },
  options: { signal?: AbortSignal | undefined; clock?: Caller['clock'] | undefined } = {},
): Promise<Resource<T>> {
  requireNames('name', name, 'member of the name of a resource', NAME_NAMES);
  requireNames('options', options, 'option of resourceOf()', OPTION_NAMES);
  const { group, plural } = name;
  if (typeof group !== 'string') throw invalid('group', 'a string, "" for the core group', group);
  pathSegment('plural', plural);
  const caller = {
    clock: options.clock ?? systemClock,
    signal: options.signal ?? new AbortController().signal,
  };
  const version =
    name.version ?? (group === '' ? 'v1' : await preferredVersion(transport, group, caller));
  const path = groupVersionPath({ group, version });
  const found = resourcesIn(await getJson(transport, path, caller), path).find(
    (one) => one.name === plural,
  );
  if (found === undefined) {
    const message = `the server has no ${plural} in ${groupVersion({ group, version })}`;
    throw new StatusError(
      404,
      { kind: 'Status', code: 404, reason: 'NotFound', message },
      `GET ${path}`,
    );
  }
  const { kind, namespaced } = found;
  if (typeof kind !== 'string' || typeof namespaced !== 'boolean')
    throw new CapstanError(
      'DECODE',
      `GET ${path}: the entry of ${plural} expected kind and namespaced`,
    );
  return defineResource<T>()({ group, version, kind, plural, namespaced });
}

/**
 * `/api/v1` or `/apis/apps/v1`. Throws CapstanError INVALID_ARGUMENT for a group or version that
 * would leave its place in the path.
 */
export function groupVersionPath({ group, version }: { group: string; version: string }): string {
  return `${group === '' ? '/api' : groupPath(group)}/${pathSegment('version', version)}`;
}

/**
 * `/apis/apps`. Which group it is, may be a tenant's word: the apiVersion of a reference. Throws
 * CapstanError INVALID_ARGUMENT.
 */
export function groupPath(group: string): string {
  return `/apis/${pathSegment('group', group)}`;
}

/**
 * Whether the refusal of a list, `error`, means that the server no longer has the resource, in any
 * version. kube-apiserver answers alike for a resource that is gone and for one that only other
 * versions of its group still serve: with a Status NotFound for the collection or, of custom
 * resources, with the bare page "404 page not found", as any proxy might. So its discovery must say
 * it too, as JSON. Kubernetes' own groups are always served: a 404 for them comes from something
 * between. In doubt, false; never rejects.
 */
export async function confirmAbsence(
  transport: Transport,
  resource: GroupVersionResource,
  error: unknown,
  caller: Caller,
): Promise<boolean> {
  if (!isStatusError(error) || error.status !== 404 || isBuiltInGroup(resource.group)) return false;
  const said = isStatus(error.body);
  if (said && (error.reason !== 'NotFound' || (error.body.details?.name ?? '') !== ''))
    return false;
  try {
    for (const version of await versionsOf(transport, resource.group, caller))
      if (!(await isUnserved(transport, { ...resource, version }, caller))) return false;
    return true;
  } catch {
    return false;
  }
}

/**
 * Whether the server itself says, in its discovery, that it does not serve a resource in this
 * version. Any other answer, and none, is no such word: false; never rejects.
 */
export async function isUnserved(
  transport: Transport,
  resource: GroupVersionResource,
  caller: Caller,
): Promise<boolean> {
  const { group, version, plural } = resource;
  const path = groupVersionPath(resource);
  try {
    try {
      return resourcesIn(await getJson(transport, path, caller), path).every(
        ({ name }) => name !== plural,
      );
    } catch (error) {
      // With its last resource a version goes too, and with its last version a group; the core
      // group never does.
      return (
        isNotFound(error) &&
        group !== '' &&
        !(await versionsOf(transport, group, caller)).includes(version)
      );
    }
  } catch {
    return false;
  }
}

/**
 * What the server has in place of a resource that it does not serve, in words, such as `it has the
 * kind Deployment as "deployments"`; "" where it has nothing like it, or does not say. Never
 * rejects.
 */
export async function servedInstead(
  transport: Transport,
  resource: GroupVersionResource & { kind: string },
  caller: Caller,
): Promise<string> {
  const { group, kind, plural } = resource;
  const pluralIn = async (version: string): Promise<string | undefined> => {
    const path = groupVersionPath({ group, version });
    const all = resourcesIn(await getJson(transport, path, caller), path);
    const names = all.filter((one) => one.kind === kind && !String(one.name).includes('/'));
    return names.length === 0 ? undefined : String(names[0]?.name);
  };
  try {
    const versions = group === '' ? ['v1'] : await versionsOf(transport, group, caller);
    for (const version of new Set([resource.version, ...versions])) {
      const name = versions.includes(version) ? await pluralIn(version) : undefined;
      if (name !== undefined && (name !== plural || version !== resource.version))
        return `it has the kind ${kind} as "${name}" in ${groupVersion({ group, version })}`;
    }
  } catch {
    // the server was not asked to say more
  }
  return '';
}

/** How long an error waits for what it may say more, in milliseconds. */
const ADVICE_MS = 2000;

/**
 * What a refusal with 404 lacks, as it follows in its message: what the server has in place of a
 * resource that it does not serve. "" for what the server does not say within two seconds, and
 * where it has nothing like it; undefined for the 404 of an object. Never rejects.
 *
 * @param text of the refusal
 */
export async function adviceOn404(
  transport: Transport,
  resource: GroupVersionResource & { kind: string },
  caller: Caller,
  text: string,
): Promise<string | undefined> {
  if (isOfObject(text)) return undefined;
  const late = new AbortController();
  const { clock } = caller;
  const asking = servedInstead(transport, resource, {
    clock,
    signal: AbortSignal.any([caller.signal, late.signal]),
  });
  const instead = (await within(clock, ADVICE_MS, asking)) ? await asking : '';
  late.abort();
  return instead && `; ${instead}`;
}

function isOfObject(text: string): boolean {
  try {
    const body = JSON.parse(text) as { details?: { name?: unknown } } | null;
    return (body?.details?.name ?? '') !== '';
  } catch {
    return false; // 404 page not found
  }
}

/** None where the server does not list the group. */
async function versionsOf(transport: Transport, group: string, caller: Caller): Promise<string[]> {
  const { kind, groups } = (await getJson(transport, '/apis', caller)) as {
    kind?: unknown;
    groups?: Group[];
  };
  if (kind !== 'APIGroupList' || !Array.isArray(groups))
    throw new CapstanError('DECODE', 'GET /apis: expected an APIGroupList');
  const own = groups.filter(({ name }) => name === group);
  return own.flatMap(({ versions = [] }) => versions.map(({ version }) => String(version)));
}

async function preferredVersion(
  transport: Transport,
  group: string,
  caller: Caller,
): Promise<string> {
  const path = groupPath(group);
  const version = ((await getJson(transport, path, caller)) as Group).preferredVersion?.version;
  if (typeof version !== 'string' || version === '')
    throw new CapstanError('DECODE', `GET ${path}: expected an APIGroup with a preferredVersion`);
  return version;
}

function resourcesIn(body: object, path: string): ResourceList['resources'] {
  const { kind, resources } = body as Partial<ResourceList>;
  if (kind === 'APIResourceList' && Array.isArray(resources)) return resources;
  throw new CapstanError('DECODE', `GET ${path}: expected an APIResourceList`);
}

async function getJson(transport: Transport, path: string, caller: Caller): Promise<object> {
  const headers = { accept: 'application/json', 'accept-encoding': 'identity' };
  const exchange = await sendWithRepeats(
    transport,
    { method: 'GET', path, headers },
    { ...caller, idleMs: DISCOVERY_IDLE_MS },
  );
  try {
    if (exchange.status !== 200)
      throw statusErrorFromAnswer(exchange.status, await exchange.explanation(), `GET ${path}`);
    return objectFromJson(`GET ${path}`, await exchange.text());
  } finally {
    exchange.close();
  }
}
