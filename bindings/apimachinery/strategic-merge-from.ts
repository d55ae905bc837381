/**
 * Makes strategic merge patches from two states of an object of a built-in kind. Lists are merged
 * by their merge keys, so that items which another client has added are kept. apimachinery:
 * pkg/util/strategicpatch/patch.go CreateTwoWayMergePatch; controller-runtime: pkg/client/patch.go
 * StrategicMergeFrom.
 */
import { CapstanError, invalid } from '../base/errors.ts';
import { noteText, sameExactJson, sameText, textOfNumber } from '../base/exact-json.ts';
import { isJsonObject } from '../base/json-value.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { FromServer } from '../base/object.ts';
import { groupVersion, notResource, type Resource } from '../base/resource.ts';
import {
  lockedVersion,
  type MergeFromOptions,
  plainState,
  refuseNulls,
} from '../client/merge-from.ts';
import type { Patch } from '../client/types.ts';
import type { Atom, Field } from './atoms.ts';
import { builtInType } from './built-in.ts';

const NAMES = namesOf<MergeFromOptions>()({ optimisticLock: 1 });

/** The first state of an object, for a strategic merge patch. */
export interface StrategicPatchBase<T extends object> {
  /**
   * The patch to the second state.
   *
   * @throws CapstanError INVALID_ARGUMENT for a null that the first state does not have, and for a
   *   null in a changed item of a list, because null in a patch removes a field
   */
  to(modified: T): Patch & { readonly type: 'strategic' };
}

/**
 * Copies the first state for a strategic merge patch. The object may be changed after that. A list
 * with a merge key, such as the containers with their names, is patched item by item. Other lists
 * are replaced. A list is also replaced if two items have the same key, such as ports that differ
 * only by protocol; Go makes a wrong patch there. controller-runtime: client.StrategicMergeFrom.
 *
 * @throws CapstanError INVALID_ARGUMENT for a kind that is not built in, for which servers refuse
 *   such a patch (use `mergeFrom`); with `optimisticLock` for an object without a resourceVersion
 * @example
 * const key = { namespace: 'default', name: 'web' };
 * const deployment = structuredClone(await client.get(Deployment, key));
 * const base = strategicMergeFrom(Deployment, deployment);
 * for (const container of deployment.spec?.template.spec?.containers ?? [])
 *   if (container.name === 'web') container.image = 'web:2';
 * await client.patch(Deployment, key, base.to(deployment));
 */
export function strategicMergeFrom<T extends object>(
  resource: Resource<T, string>,
  original: NoInfer<T> | FromServer<NoInfer<T>>,
  options: MergeFromOptions = {},
): StrategicPatchBase<T> {
  if (typeof resource?.plural !== 'string') throw notResource('resource', resource);
  requireNames('options', options, 'option of strategicMergeFrom()', NAMES);
  const type = builtInType(groupVersion(resource), resource.kind);
  if (type === undefined)
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `"resource" expected a built-in kind, got ${groupVersion(resource)} ${resource.kind}: ` +
        'servers refuse strategic merge patches of custom resources; use mergeFrom',
    );
  const before = plainState('original', original) as JsonObject;
  const version = lockedVersion(original, options);
  return {
    to(modified) {
      const after = plainState('modified', modified) as JsonObject;
      const body = mapPatch(type, before, after, '', false) as { metadata?: object };
      if (version === undefined) return { type: 'strategic', body };
      const metadata = { ...body.metadata, resourceVersion: version };
      return { type: 'strategic', body: { ...body, metadata } };
    },
  };
}

type JsonObject = Record<string, unknown>;
type Members = Map<string, unknown>;

const fieldOf = (type: Atom | undefined, name: string): Field | undefined => type?.map?.field(name);

/** The type of a field's value, or of a map's values. */
const typeOf = (type: Atom | undefined, name: string): Atom | undefined =>
  fieldOf(type, name)?.type() ?? type?.map?.values?.();

/** @param retains whether the patch needs `$retainKeys`: the names of all fields that stay */
function mapPatch(
  type: Atom | undefined,
  before: JsonObject,
  after: JsonObject,
  path: string,
  retains: boolean,
): JsonObject {
  const patch: Members = new Map();
  for (const [name, value] of Object.entries(after)) {
    const old = Object.hasOwn(before, name) ? before[name] : undefined;
    if (old !== undefined && sameExactJson(old, value) && sameText(before, after, name)) continue;
    const here = `${path}.${name}`;
    const field = fieldOf(type, name);
    if (isJsonObject(old) && isJsonObject(value)) {
      // Go has bytes here, which cannot be merged, or the type says to replace the field.
      const whole = field?.code === '*' || field?.patch?.replace;
      if (whole) patch.set(name, { ...objectWithoutNulls(value, here), $patch: 'replace' });
      else {
        const retained = field?.patch?.retainKeys ?? false;
        const inner = mapPatch(typeOf(type, name), old, value, here, retained);
        if (Object.keys(inner).length > 0) patch.set(name, inner);
      }
    } else if (Array.isArray(old) && Array.isArray(value) && field?.patch?.merge)
      listPatch(field, name, old, value, here, patch);
    else patch.set(name, refuseNulls(value, here));
  }
  // Caches remove managedFields. The server keeps them.
  const removed = Object.keys(before).filter(
    (name) => !Object.hasOwn(after, name) && !(path === '.metadata' && name === 'managedFields'),
  );
  for (const name of removed) patch.set(name, null);
  if (retains && patch.size > 0 && Object.keys(after).length > 0)
    patch.set('$retainKeys', Object.keys(after).sort());
  return withTexts(patch, after);
}

/** The patch as an object, with the exact texts of its numbers. */
function withTexts(patch: Members, after: JsonObject): JsonObject {
  const object = Object.fromEntries(patch);
  for (const name of patch.keys()) {
    const text = Object.hasOwn(after, name) ? textOfNumber(after, name) : undefined;
    if (text !== undefined) noteText(object, name, text);
  }
  return object;
}

function objectWithoutNulls(value: JsonObject, path: string): JsonObject {
  return refuseNulls(value, path) as JsonObject;
}

/** Adds the changes of a list to the patch. */
function listPatch(
  field: Field,
  name: string,
  before: readonly unknown[],
  after: readonly unknown[],
  path: string,
  patch: Members,
): void {
  const mergeKey = field.patch?.mergeKey;
  if (before.length === 0) {
    patch.set(name, refuseNulls(after, path));
    return;
  }
  const all = [...before, ...after];
  if (mergeKey === undefined) {
    if (all.some((item) => typeof item === 'object'))
      throw invalid(`modified${path}`, 'a list of texts or numbers', after);
    scalarsPatch(name, before, after, patch);
    return;
  }
  if (!all.every(isJsonObject)) throw invalid(`modified${path}`, 'a list of objects', after);
  const [had, has] = [before as JsonObject[], after as JsonObject[]];
  const [old, now] = [byKey(had, mergeKey), byKey(has, mergeKey)];
  if (old === undefined || now === undefined) {
    // With this item the server replaces the whole list.
    patch.set(name, [...(refuseNulls(after, path) as object[]), { $patch: 'replace' }]);
    return;
  }
  const items: JsonObject[] = [];
  for (const [at, item] of has.entries()) {
    const key = item[mergeKey];
    const known = old.get(key);
    const here = `${path}[${at}]`;
    if (known === undefined) {
      items.push(objectWithoutNulls(item, here));
      continue;
    }
    const type = field.type().list?.items();
    const inner = mapPatch(type, known, item, here, field.patch?.retainKeys ?? false);
    if (Object.keys(inner).length > 0) items.push({ ...inner, [mergeKey]: key });
  }
  const deleted = [...old.keys()].filter((key) => !now.has(key)).sort(byText);
  items.push(...deleted.map((key) => ({ $patch: 'delete', [mergeKey]: key })));
  const isMoved =
    had.length !== has.length || had.some((one, at) => one[mergeKey] !== has[at]?.[mergeKey]);
  if (items.length > 0) patch.set(name, items);
  if (has.length > 0 && (items.length > 0 || isMoved))
    patch.set(
      `$setElementOrder/${name}`,
      has.map((item) => ({ [mergeKey]: item[mergeKey] })),
    );
}

function scalarsPatch(
  name: string,
  before: readonly unknown[],
  after: readonly unknown[],
  patch: Members,
): void {
  const added = after.filter((item) => !before.includes(item));
  const deleted = [...new Set(before)].filter((item) => !after.includes(item)).sort(byText);
  if (added.length > 0) patch.set(name, added);
  if (deleted.length > 0) patch.set(`$deleteFromPrimitiveList/${name}`, deleted);
  if (after.length > 0) patch.set(`$setElementOrder/${name}`, after);
}

const byText = (a: unknown, b: unknown): number => (String(a) < String(b) ? -1 : 1);

/** Returns `undefined` if two items have the same key, or an item has none. */
function byKey(
  items: readonly JsonObject[],
  mergeKey: string,
): Map<unknown, JsonObject> | undefined {
  const map = new Map(items.map((item) => [item[mergeKey], item]));
  return map.size < items.length || map.has(undefined) || map.has(null) ? undefined : map;
}
