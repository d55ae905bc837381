/**
 * Discovery: which resources a server serves. It is read to describe a resource that the program
 * knows by name only, and to find out whether a resource is no longer served. The latter empties a
 * cache, so the server's own discovery must prove it. A proxy's 404 does not prove it, nor does the
 * removal of one version, because the objects are still served in the others.
 */
import { systemClock } from '../../base/clock.ts';
import { CapstanError, invalid } from '../../base/errors.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import { objectFromJson } from '../../base/not-json.ts';
import {
  defineResource,
  groupVersion,
  isBuiltInGroup,
  type Resource,
} from '../../base/resource.ts';
import { pathSegment } from '../../base/urls.ts';
import { within } from '../../base/wait.ts';
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
 * A discovery document has at most about 100 KB; after this long without a byte the connection is
 * dead.
 */
const DISCOVERY_IDLE_MS = 90_000;

/** The members of meta/v1 APIResourceList, APIGroup and APIGroupList that are read here. */
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
 * Describes a resource that is known by name only, for dynamic caches: reads its kind and scope
 * from discovery. Default of `version`: the server's preferred version.
 *
 * @param name the group, version and plural, as in the URL
 * @throws StatusError: 404 for a resource that the server does not serve, or any other refusal;
 *   TransportError; CapstanError DECODE, ABORTED and INVALID_ARGUMENT
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
 * `/api/v1` or `/apis/apps/v1`. Throws CapstanError INVALID_ARGUMENT for a group or version that is
 * not one segment of a path.
 */
export function groupVersionPath({ group, version }: { group: string; version: string }): string {
  return `${group === '' ? '/api' : groupPath(group)}/${pathSegment('version', version)}`;
}

/**
 * `/apis/apps`. The group may come from untrusted input, such as the apiVersion of a reference.
 * Throws CapstanError INVALID_ARGUMENT.
 */
export function groupPath(group: string): string {
  return `/apis/${pathSegment('group', group)}`;
}

/**
 * Whether `error`, the refusal of a list, means that the server no longer serves the resource in
 * any version. kube-apiserver gives the same answer for a resource that is gone and for one that is
 * served in other versions only: a Status NotFound for the collection or, for custom resources, the
 * plain page "404 page not found", as any proxy might. So discovery must confirm it. Built-in
 * groups are always served: a 404 for them comes from a proxy. False if unsure; never rejects.
 */
export async function confirmAbsence(
  transport: Transport,
  resource: GroupVersionResource,
  error: unknown,
  caller: Caller,
): Promise<boolean> {
  if (!isStatusError(error) || error.status !== 404 || isBuiltInGroup(resource.group)) return false;
  const hasStatus = isStatus(error.body);
  if (hasStatus && (error.reason !== 'NotFound' || (error.body.details?.name ?? '') !== ''))
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
 * Whether the server's discovery lacks a resource in this version. False for any other answer, and
 * for none; never rejects.
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
      // A version without resources is not served, nor is a group without versions; the core group
      // always is.
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
 * What the server serves instead of a resource, as part of a message, such as `it has the kind
 * Deployment as "deployments"`; "" if there is nothing similar, or no answer. Never rejects.
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
    // the message is built without this part
  }
  return '';
}

/** How long an error waits for this advice, in milliseconds. */
const ADVICE_MS = 2000;

/**
 * The advice for the message of a 404: what the server serves instead of the resource. "" if there
 * is nothing similar, or no answer within two seconds; undefined for the 404 of an object. Never
 * rejects.
 *
 * @param text the body of the 404
 */
export async function adviceOn404(
  transport: Transport,
  resource: GroupVersionResource & { kind: string },
  caller: Caller,
  text: string,
): Promise<string | undefined> {
  if (isOfObject(text)) return undefined;
  const timeout = new AbortController();
  const { clock } = caller;
  const asking = servedInstead(transport, resource, {
    clock,
    signal: AbortSignal.any([caller.signal, timeout.signal]),
  });
  const instead = (await within(clock, ADVICE_MS, asking)) ? await asking : '';
  timeout.abort();
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

/** The versions of a group; [] for an unknown group. */
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
