/**
 * What a kind of object is called on the wire and which indices its caches keep. One value, typed
 * by its object.
 */
import { invalid, requireFunction } from '../../base/errors.ts';
import { parsePath } from '../../base/json-path.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import { pathSegment } from '../../base/urls.ts';

/** The values under which an index finds an object. They may repeat or be none. */
export type IndexFunc<T> = (object: T) => readonly string[];

/**
 * A function, or a path such as `spec.nodeName`, which is evaluated on the bytes of objects. A path
 * names members from the root, joined by dots; a dot inside a name is written `\.` (in a string
 * `'metadata.annotations.example\\.com/team'`), a bracket `\[`. It is no JSONPath.
 *
 * - A string, number or boolean at the end is one value, as text. Nothing there, or null, is no
 *   value.
 * - An array on the way or at the end stands for each of its elements: `spec.containers.image`,
 *   `metadata.ownerReferences.uid`.
 * - An object at the end is one value `name=value` for each of its members that is a string, number
 *   or boolean: `metadata.labels`.
 */
export type IndexSpec<T> = IndexFunc<T> | string;

/**
 * A kind of object: where the server has it, and the indices of its caches. {@link defineResource}
 * makes one.
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
 * Names a resource for informers and controllers. Call it twice: the first call fixes the object's
 * type, the second infers the index names, so that `byIndex('byNode', …)` is checked.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const Pod = defineResource<V1Pod>()({
 *   group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true,
 *   indexers: { byNode: 'spec.nodeName' },
 * });
 */
export function defineResource<T extends object>(): <
  const D extends Omit<Resource<T>, 'indexers'> & { indexers?: Record<string, IndexSpec<T>> },
>(
  definition: D,
) => Resource<T, keyof D['indexers'] & string> {
  return (definition) => {
    requireNames('definition', definition, 'member of a resource', RESOURCE_NAMES);
    const { group, version, kind, plural, namespaced } = definition;
    if (typeof group !== 'string') throw invalid('group', 'a string, "" for the core group', group);
    if (group !== '') requireSegment('group', group);
    requireSegment('version', version);
    requireSegment('plural', plural);
    if (typeof kind !== 'string' || kind === '' || kind.includes('/'))
      throw invalid('kind', 'a name without "/"', kind);
    if (typeof namespaced !== 'boolean') throw invalid('namespaced', 'true or false', namespaced);
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

/** No group, version or resource has a name that a path has to escape. */
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

/**
 * What tells a resource from all others, whichever definition names it: `apps/v1/deployments`,
 * `/v1/pods`.
 */
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

/** Kubernetes' own: all without a dot, which no CustomResourceDefinition may have, and these. */
export function isBuiltInGroup(group: string): boolean {
  return !group.includes('.') || BUILT_IN.has(group);
}
