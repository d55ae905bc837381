/**
 * Checks that an answer is the object or list that was requested. A proxy or gateway may answer 200
 * with something else, which must not be taken for the object.
 */

import { CapstanError, show } from '../base/errors.ts';
import { freezeParsed } from '../base/freeze.ts';
import { excerpt } from '../base/not-json.ts';
import type { FromServer, KubeObject } from '../base/object.ts';
import { groupVersion, isBuiltInGroup, type Resource } from '../base/resource.ts';
import { describeKind, withKind } from '../cache/decode/decoder.ts';
import { isStatus } from '../cache/rest/status-error.ts';
import type { AnyResource, ObjectKey, ObjectList } from './types.ts';

/** The requested object. */
export interface Wanted {
  readonly resource: AnyResource;
  /** Without a name if the server makes it up. */
  readonly key?: Partial<ObjectKey> | undefined;
  /** The prefix of a name that the server makes up. */
  readonly generateName?: string | undefined;
  /** The subresource; "" for the object itself. */
  readonly subresource?: string | undefined;
  /** The kind of the body that was sent to a subresource. */
  readonly sentKind?: unknown;
}

/**
 * The server keeps at most this many characters of `generateName`. apiserver: names/generate.go.
 */
const GENERATED = 58;

/** Subresources whose answer is the object. Others may answer with kinds of their own. */
const OF_OBJECT: ReadonlySet<string> = new Set(['', 'status']);

/**
 * The answer. A missing kind and apiVersion are filled in, as Go's decoders do.
 *
 * @param what the request, such as `GET /api/v1/namespaces/a/pods/b`
 * @throws CapstanError DECODE for a Status, for another kind or name, and for an object that has
 *   no metadata
 */
export function objectFrom<T extends object>(answer: object, what: string, wanted: Wanted): T {
  const { resource, key, subresource = '', sentKind, generateName = '' } = wanted;
  const apiVersion = groupVersion(resource);
  const got = answer as KubeObject;
  const isScale = subresource === 'scale';
  const isObject = !isScale && (OF_OBJECT.has(subresource) || got.kind === resource.kind);
  const kind = isObject ? resource.kind : isScale ? 'Scale' : sentKind;
  const hasKind = kind === undefined ? !isStatus(answer) : (got.kind ?? kind) === kind;
  if (!hasKind || (isObject && (got.apiVersion ?? apiVersion) !== apiVersion))
    throw unlike(answer, what, wanted);
  if (!isObject && !isScale) return answer as T;
  const { name, namespace } = got.metadata ?? {};
  const wantedName = key?.name ?? name;
  const isUnnamed =
    !!got.metadata && name === undefined && key?.name === undefined && mayBeUnnamed(resource);
  const isNamed =
    typeof name === 'string' &&
    name !== '' &&
    name === wantedName &&
    (key?.name !== undefined || name.startsWith(generateName.slice(0, GENERATED)));
  if (
    !(isNamed || isUnnamed) ||
    (resource.namespaced && (namespace ?? key?.namespace) !== key?.namespace)
  )
    throw unlike(answer, what, wanted);
  return (isObject ? withKind(answer, { apiVersion, kind: resource.kind }) : answer) as T;
}

/** Reviews are not stored and need no name. */
export const mayBeUnnamed = ({ kind }: AnyResource): boolean => kind.endsWith('Review');

/**
 * Checks the answer to a deletion: a Status of success, or the object. Throws CapstanError DECODE.
 */
export function requireDeletion(answer: object, what: string, wanted: Wanted): void {
  if (!isStatus(answer)) objectFrom(answer, what, wanted);
}

/**
 * Checks the answer to a deletion of many: a Status of success, or the list of the deleted objects.
 * Throws CapstanError DECODE.
 */
export function requireDeletions(
  answer: object,
  what: string,
  resource: AnyResource,
  namespace?: string,
): void {
  if (!isStatus(answer)) listFrom(resource as Resource<object, string>, answer, what, namespace);
}

/**
 * The list, read-only. The server leaves out apiVersion and kind of items of built-in kinds; they
 * are filled in here.
 *
 * @param namespace that was asked for; none or "": all
 * @throws CapstanError DECODE for a list of another kind, and for an item that is no object of this
 *   kind and namespace with a name, by its place
 */
export function listFrom<T extends object>(
  resource: Resource<T, string>,
  answer: object,
  what: string,
  namespace?: string,
): ObjectList<T> {
  const { kind, apiVersion, items, metadata } = answer as KubeObject & {
    items?: unknown;
    metadata?: ObjectList<T>['metadata'] | null;
  };
  const head = { apiVersion: groupVersion(resource), kind: resource.kind };
  const hasItems = items === null ? kind !== undefined : Array.isArray(items);
  const isList =
    hasItems &&
    typeof (metadata ?? {}) === 'object' &&
    typeof (metadata?.continue ?? '') === 'string'; // else there is a new one on each page
  if (!isList || !isListKind(resource, apiVersion, kind))
    throw new CapstanError(
      'DECODE',
      `${what}: expected a list of ${describeKind(head)} with items, got ${described(answer)}`,
    );
  const where = namespace && resource.namespaced ? ` in ${namespace}` : '';
  const complete = (item: (FromServer<T> & KubeObject) | null, i: number): FromServer<T> => {
    const kind = item?.kind ?? head.kind;
    const apiVersion = item?.apiVersion ?? head.apiVersion;
    const { name, namespace: of } = item?.metadata ?? {};
    const isNamed = typeof name === 'string' && name !== '';
    const isThere = !resource.namespaced || !namespace || (of ?? namespace) === namespace;
    if (kind !== head.kind || apiVersion !== head.apiVersion || !item || !isNamed || !isThere)
      throw new CapstanError(
        'DECODE',
        `${what}: expected ${describeKind(head)} objects with a ` +
          `name${where}, got items[${i}] ${described(item)}`,
      );
    return withKind(item, head);
  };
  const list = ((items ?? []) as (FromServer<T> & KubeObject)[]).map(complete);
  return { items: freezeParsed(list), metadata: metadata ?? {} };
}

/** A custom resource definition may name its list kind. Then group and items identify it. */
function isListKind(resource: AnyResource, apiVersion: unknown, kind: unknown): boolean {
  if (kind === undefined || (kind === 'List' && (apiVersion ?? 'v1') === 'v1')) return true;
  if ((apiVersion ?? groupVersion(resource)) !== groupVersion(resource)) return false;
  return kind === `${resource.kind}List` || !isBuiltInGroup(resource.group);
}

function unlike(
  answer: object,
  what: string,
  { resource, key, subresource }: Wanted,
): CapstanError {
  const { namespace, name } = key ?? {};
  const of = [describeKind({ apiVersion: groupVersion(resource), kind: resource.kind })];
  if (name !== undefined) of.push(namespace ? `${namespace}/${name}` : name);
  const part = subresource ? `the ${subresource} of ` : '';
  const advice = what.startsWith('GET ')
    ? ''
    : ': whether this write was carried out is not known, so read the object';
  return new CapstanError(
    'DECODE',
    `${what}: expected ${part}the ${of.join(' ')}, got ${described(answer)}${advice}`,
  );
}

/** Short, and without the content, which may be a Secret. */
function described(answer: unknown): string {
  if (typeof answer !== 'object' || answer === null) return excerpt(answer);
  const { apiVersion, kind, metadata, status, message } = answer as KubeObject & {
    status?: unknown;
    message?: unknown;
  };
  if (isStatus(answer)) {
    const said = typeof message === 'string' ? `: ${show(message)}` : '';
    return `a Status ${show(status)}${said}`;
  }
  const { namespace, name } = metadata ?? {};
  const of = kind === undefined ? 'an object without kind' : `a ${show(apiVersion)} ${show(kind)}`;
  if (metadata === undefined || metadata === null) return `${of} without metadata`;
  return `${of} ${show(namespace === undefined ? name : `${namespace}/${name}`)}`;
}
