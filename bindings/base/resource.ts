/**
 * Describes a resource: its group, version, kind and plural, the type of its objects, and the
 * indices of its caches.
 */
import { CapstanError, invalid, requireFunction, requireObject } from './errors.ts';
import { parsePath } from './json-path.ts';
import { namesOf, requireNames } from './names.ts';
import type { FromServer } from './object.ts';
import { pathSegment } from './urls.ts';

/**
 * The index values of an object: any number, also none; duplicates are allowed. client-go:
 * IndexFunc.
 */
export type IndexFunc<T> = (object: T) => readonly string[];

/**
 * An index function, or a path such as `spec.nodeName`, which is evaluated on the bytes of objects.
 * A path joins member names from the root by dots; a dot inside a name is written `\.` (in a string
 * `'metadata.annotations.example\\.com/team'`), a bracket `\[`. It is not a JSONPath.
 *
 * - A string, number or boolean at the end is one value, as text. A missing member, or null, gives
 *   no value.
 * - For an array, the path applies to each element: `spec.containers.image`,
 *   `metadata.ownerReferences.uid`.
 * - An object at the end gives a value `name=value` for each member that is a string, number or
 *   boolean: `metadata.labels`.
 */
export type IndexSpec<T> = IndexFunc<T> | string;

/**
 * A resource as the server serves it, and the indices of its caches. Made by {@link
 * defineResource}.
 */
export interface Resource<T, I extends string = never> {
  /** Empty for the core group. */
  group: string;
  version: string;
  kind: string;
  plural: string;
  namespaced: boolean;
  indexers: Record<I, IndexSpec<T>>;
}

const RESOURCE_NAMES = namesOf<Resource<never>>()({
  group: 1,
  version: 1,
  kind: 1,
  plural: 1,
  namespaced: 1,
  indexers: 1,
});

/**
 * Describes a resource for informers, controllers and clients. It takes two calls: the first sets
 * the type of the objects, the second infers the index names, so that the compiler checks
 * `byIndex('byNode', …)`.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const Pod = defineResource<V1Pod>()({
 *   group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true,
 *   indexers: { byNode: 'spec.nodeName' },
 * });
 */
export function defineResource<T extends object>(
  ...none: []
): <
  const D extends Omit<Resource<T>, 'indexers'> & {
    indexers?: Record<string, IndexSpec<FromServer<T>>>;
  },
>(
  definition: D,
) => Resource<T, keyof D['indexers'] & string> {
  const [given] = none as readonly unknown[];
  if (given !== undefined) throw twoCalls(invalid('defineResource()', 'no argument', given));
  return (definition) => {
    if (definition === undefined) throw twoCalls(invalid('definition', 'an object', definition));
    requireNames('definition', definition, 'member of a resource', RESOURCE_NAMES);
    const { group, version, kind, plural, namespaced } = definition;
    if (typeof group !== 'string') throw invalid('group', 'a string, "" for the core group', group);
    if (group === 'core') throw invalid('group', '"" for the core group', group);
    if (group !== '') requireSegment('group', group);
    requireSegment('version', version);
    requireSegment('plural', plural);
    if (plural !== plural.toLowerCase())
      throw invalid('plural', `lower case, as in paths: "${plural.toLowerCase()}"`, plural);
    if (typeof kind !== 'string' || kind === '' || kind.includes('/'))
      throw invalid('kind', 'a name without "/"', kind);
    if (typeof namespaced !== 'boolean') throw invalid('namespaced', 'true or false', namespaced);
    if (definition.indexers !== undefined) requireObject('indexers', definition.indexers);
    for (const [name, spec] of Object.entries(definition.indexers ?? {}))
      requireIndexSpec(name, spec);
    return {
      group,
      version,
      kind,
      plural,
      namespaced,
      indexers: { ...definition.indexers },
    } as Resource<T, keyof (typeof definition)['indexers'] & string>;
  };
}

/** The error for a value in place of a resource. A function is what the first call returns. */
export function notResource(name: string, got: unknown): CapstanError {
  const error = invalid(name, 'what defineResource returns', got);
  return typeof got === 'function' ? twoCalls(error) : error;
}

function twoCalls({ code, message }: CapstanError): CapstanError {
  const calls = 'defineResource<T>()({ group, version, kind, plural, namespaced })';
  return new CapstanError(code, `${message}: it takes two calls, ${calls}`);
}

/**
 * Throws INVALID_ARGUMENT for a name that would have to be escaped in a URL path; no group, version
 * or resource has one.
 */
function requireSegment(what: string, value: string): void {
  if (pathSegment(what, value) !== value)
    throw invalid(what, 'letters, digits, "-", "." and "_" alone', value);
}

/** Throws CapstanError INVALID_ARGUMENT unless `spec` is a function or a path. */
export function requireIndexSpec(name: string, spec: unknown): void {
  if (typeof spec === 'string') parsePath(spec);
  else requireFunction(`indexers.${name}`, spec);
}

/** `v1` or `apps/v1`. */
export function groupVersion({ group, version }: { group: string; version: string }): string {
  return group === '' ? version : `${group}/${version}`;
}

/** Identifies a resource, whatever definition describes it: `apps/v1/deployments`, `/v1/pods`. */
export function resourceId({
  group,
  version,
  plural,
}: {
  group: string;
  version: string;
  plural: string;
}): string {
  return `${group}/${version}/${plural}`;
}

const BUILT_IN = new Set(
  (
    'admissionregistration apiextensions apiregistration authentication authorization ' +
    'certificates coordination discovery events flowcontrol.apiserver internal.apiserver ' +
    'networking node rbac.authorization resource scheduling storage storagemigration'
  )
    .split(' ')
    .map((name) => `${name}.k8s.io`),
);

/**
 * Whether Kubernetes itself serves the group: a group without a dot, which no
 * CustomResourceDefinition may have, or one of the list above.
 */
export function isBuiltInGroup(group: string): boolean {
  return !group.includes('.') || BUILT_IN.has(group);
}
