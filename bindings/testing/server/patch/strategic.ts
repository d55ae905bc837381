/**
 * Strategic merge patch, on values that are never mutated: maps are merged, lists of built-in kinds
 * are merged by the key of their type, unless a directive says otherwise: `$patch`, `$retainKeys`,
 * `$setElementOrder/x`, `$deleteFromPrimitiveList/x`. apimachinery:
 * pkg/util/strategicpatch/patch.go.
 */

import type { Atom, PatchRule } from '../../../apimachinery/atoms.ts';
import { memberType } from '../../../apimachinery/atoms.ts';
import { goText, isObject, type Json, type JsonObject, jsonKey, withoutNulls } from '../json.ts';
import { ApiError, badRequest } from '../status.ts';

const PATCH = '$patch';
const RETAIN_KEYS = '$retainKeys';
const ORDER = '$setElementOrder/';
const DELETE_FROM = '$deleteFromPrimitiveList/';

/**
 * Throws 400 for invalid `$retainKeys`, and 500 for everything else that cannot be merged, as the
 * real server does.
 */
export function strategicPatch(type: Atom, target: JsonObject, patch: JsonObject): JsonObject {
  return mergeMap(type, target, patch);
}

const badDirective = (directive: Json, of: JsonObject): ApiError =>
  mergeError(`unknown patch type: ${goText(directive)} in map: ${goText(of)}`);

const mergeError = (why: string): ApiError => new ApiError(500, why);

const notAList = (value: Json): ApiError => {
  const what = isObject(value)
    ? 'map[string]interface {}'
    : typeof value === 'boolean'
      ? 'bool'
      : typeof value;
  return mergeError(`expected a []interface {}, but received a ${what}`);
};

const NO_RULE: PatchRule = { merge: false, replace: false, retainKeys: false };
const ruleOf = (type: Atom | undefined, name: string): PatchRule =>
  type?.map?.field(name)?.patch ?? NO_RULE;
/** A RawExtension: bytes to Go, which cannot be merged. */
const RAW: Atom = { map: { field: () => undefined, values: undefined, atomic: true } };
const typeOf = (type: Atom | undefined, name: string): Atom | undefined => {
  if (type?.map === undefined) return undefined;
  return type.map.field(name)?.code === '*' ? RAW : memberType(type.map, name);
};

const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);

function mergeMap(type: Atom | undefined, original: JsonObject, given: JsonObject): JsonObject {
  const directive = given[PATCH];
  if (directive !== undefined) {
    if (directive === 'replace')
      return Object.fromEntries(Object.entries(given).filter(([name]) => name !== PATCH));
    if (directive === 'delete') return {};
    throw badDirective(directive, given);
  }
  const result = new Map<string, Json | undefined>(Object.entries(retainKeys(original, given)));
  const patch = new Map<string, Json | undefined>(Object.entries(given));
  patch.delete(RETAIN_KEYS);
  setOrders(type, result, patch);
  for (const [name, value] of patch) {
    if (value === undefined) continue;
    if (name.startsWith(DELETE_FROM)) {
      deleteFrom(type, result, name.slice(DELETE_FROM.length), value);
      continue;
    }
    if (value === null) {
      result.delete(name);
      continue;
    }
    const had = result.get(name);
    const { replace } = ruleOf(type, name);
    const merges = (isObject(had) && isObject(value)) || (isList(had) && isList(value));
    if (type === RAW && merges)
      throw mergeError(
        `unable to find api field in struct RawExtension for the json field "${name}"`,
      );
    if (isObject(had) && isObject(value)) {
      result.set(name, replace ? value : mergeMap(typeOf(type, name), had, value));
    } else if (isList(had) && isList(value)) {
      result.set(name, mergeList(type, name, had, value));
    } else {
      const kept = withoutDirectives(withoutNulls(value));
      if (kept === undefined) result.delete(name);
      else result.set(name, kept);
    }
  }
  return Object.fromEntries(result);
}

/**
 * Lists of objects are merged, as if the patch had named the list; other values than lists are
 * ignored.
 */
function deleteFrom(
  type: Atom | undefined,
  result: Map<string, Json | undefined>,
  name: string,
  value: Json,
): void {
  const list = result.get(name);
  if (value === null) result.delete(name);
  if (!isList(list) || !isList(value)) return;
  if (isObject(list[0] ?? value[0])) {
    const { mergeKey } = ruleOf(type, name);
    if (mergeKey === undefined) throw mergeError('cannot merge lists without merge key for struct');
    result.set(name, mergeList(type, name, list, value));
    return;
  }
  const deleted = new Set(value.map(jsonKey));
  result.set(
    name,
    list.filter((item) => !deleted.has(jsonKey(item))),
  );
}

/**
 * `$retainKeys` names the members that stay. It must name those that the patch sets, but not those
 * that it removes.
 */
function retainKeys(original: JsonObject, patch: JsonObject): JsonObject {
  const keys = patch[RETAIN_KEYS];
  if (keys === undefined) return original;
  const wrong = (): ApiError => badRequest('invalid patch format of retainKeys');
  if (!isList(keys)) throw wrong();
  const retained = new Set(keys);
  for (const [name, value] of Object.entries(patch)) {
    if (!name.startsWith('$') && value !== null && !retained.has(name)) throw wrong();
  }
  return Object.fromEntries(Object.entries(original).filter(([name]) => retained.has(name)));
}

/** Merges and orders the lists that have `$setElementOrder`, and removes them from the patch. */
function setOrders(
  type: Atom | undefined,
  result: Map<string, Json | undefined>,
  patch: Map<string, Json | undefined>,
): void {
  for (const [directive, order] of [...patch]) {
    if (!directive.startsWith(ORDER)) continue;
    patch.delete(directive);
    if (!isList(order)) throw notAList(order ?? null);
    const name = directive.slice(ORDER.length);
    const [had, given] = [result.get(name), patch.get(name)];
    const { mergeKey } = ruleOf(type, name);
    if (isList(given)) requireOrdered(given, order, mergeKey);
    if (!isList(had) && !isList(given)) continue;
    const merged = !isList(given)
      ? (had as readonly Json[])
      : isList(had)
        ? mergeList(type, name, had, given)
        : ((withoutDirectives(given) ?? []) as readonly Json[]);
    result.set(name, sortMerged(merged, order, isList(had) ? had : [], mergeKey));
    patch.delete(name);
  }
}

/** The items of a patch must have the order of its `$setElementOrder`. */
function requireOrdered(
  items: readonly Json[],
  order: readonly Json[],
  mergeKey: string | undefined,
): void {
  const names = order.map((item) => itemKey(item, mergeKey));
  let at = 0;
  for (const item of items) {
    if (isObject(item) && item[PATCH] === 'delete') continue;
    const name = itemKey(item, mergeKey);
    while (at < order.length && (name === undefined || names[at] !== name)) at++;
    if (at === order.length) {
      throw mergeError(
        `The order in patch list:\n${goText(items)}\n doesn't match $setElementOrder ` +
          `list:\n${goText(order)}\n`,
      );
    }
    at++;
  }
}

function mergeList(
  type: Atom | undefined,
  name: string,
  original: readonly Json[],
  patch: readonly Json[],
): readonly Json[] {
  const { merge, mergeKey } = ruleOf(type, name);
  if (!merge) return patch;
  if (original.length === 0 && patch.length === 0) return original;
  requireOneType(original, patch);
  if (!isObject(original[0] ?? patch[0])) {
    return sortMerged([...new Set([...original, ...patch])], patch, original, undefined);
  }
  if (mergeKey === undefined) throw mergeError(`cannot merge lists without merge key for ${name}`);
  const items = type?.map?.field(name)?.type().list?.items();
  return mergeObjects(
    items,
    original as readonly JsonObject[],
    patch as readonly JsonObject[],
    mergeKey,
  );
}

function requireOneType(original: readonly Json[], patch: readonly Json[]): void {
  const all = [...original, ...patch];
  if (all.some(isList)) throw mergeError('lists of lists are not supported');
  const kinds = new Set(all.map((item) => (item === null ? 'null' : typeof item)));
  if (kinds.size > 1)
    throw mergeError(`list element types are not identical: ${goText([original, patch])}`);
}

function mergeObjects(
  items: Atom | undefined,
  original: readonly JsonObject[],
  patch: readonly JsonObject[],
  mergeKey: string,
): readonly Json[] {
  const keyOf = (item: JsonObject): string => {
    const key = item[mergeKey];
    if (key === undefined)
      throw mergeError(`map: ${goText(item)} does not contain declared merge key: ${mergeKey}`);
    return jsonKey(key);
  };
  const deleted = new Set<string | undefined>();
  const rest: JsonObject[] = [];
  let replace = false;
  for (const item of patch) {
    const directive = item[PATCH];
    if (directive === undefined) rest.push(item);
    else if (directive === 'delete') deleted.add(keyOf(item));
    else if (directive === 'replace') replace = true;
    else if (directive === 'merge')
      throw mergeError('merging lists cannot yet be specified in the patch');
    else throw badDirective(directive, item);
  }
  if (replace) return rest;
  const remaining = original.filter((item) => !deleted.has(itemKey(item, mergeKey)));
  const merged = [...remaining];
  const places = firstIndices(remaining, mergeKey);
  for (const item of rest) {
    const key = keyOf(item);
    const at = places.get(key) ?? merged.length;
    const had = merged[at];
    const next = had === undefined ? withoutDirectives(item) : mergeMap(items, had, item);
    merged[at] = (next ?? {}) as JsonObject;
    places.delete(key); // removed if the patch sets the key to null
    places.set(jsonKey(merged[at][mergeKey]), at);
  }
  return sortMerged(merged, rest, remaining, mergeKey);
}

/**
 * Sorts merged items: those of the patch in its order, the others in the object's order. An item of
 * the object comes before one of the patch only if it did so in the object.
 */
function sortMerged(
  merged: readonly Json[],
  patchOrder: readonly Json[],
  serverOrder: readonly Json[],
  mergeKey: string | undefined,
): readonly Json[] {
  const [inPatch, inServer] = [
    firstIndices(patchOrder, mergeKey),
    firstIndices(serverOrder, mergeKey),
  ];
  const items = merged.map((item) => {
    const name = itemKey(item, mergeKey);
    return { item, patch: inPatch.get(name) ?? -1, server: inServer.get(name) ?? -1 };
  });
  const patched = items.filter(({ patch }) => patch >= 0).sort((a, b) => a.patch - b.patch);
  const server = items.filter(({ patch }) => patch < 0).sort((a, b) => a.server - b.server);
  const result: Json[] = [];
  for (let left = 0, right = 0; left < server.length || right < patched.length; ) {
    const [serverItem, patchItem] = [server[left], patched[right]];
    if (
      serverItem !== undefined &&
      (patchItem === undefined || (serverItem.server >= 0 && serverItem.server < patchItem.server))
    ) {
      result.push(serverItem.item);
      left++;
    } else if (patchItem !== undefined) {
      result.push(patchItem.item);
      right++;
    }
  }
  return result;
}

/** The first index of each item, by its key. */
function firstIndices(
  list: readonly Json[],
  mergeKey: string | undefined,
): Map<string | undefined, number> {
  const places = new Map<string | undefined, number>();
  for (const [at, item] of list.entries()) {
    const name = itemKey(item, mergeKey);
    if (name !== undefined && !places.has(name)) places.set(name, at);
  }
  return places;
}

/** The key by which items are the same; undefined: the item equals no other. */
function itemKey(item: Json, mergeKey: string | undefined): string | undefined {
  if (mergeKey === undefined) return jsonKey(item);
  return isObject(item) ? jsonKey(item[mergeKey]) : undefined;
}

/**
 * The value that a patch adds, without objects that have a `$patch`; undefined if the value is one.
 * Other directives stay and are reported as unknown fields.
 */
function withoutDirectives(value: Json): Json | undefined {
  if (isList(value)) {
    return value.flatMap((item) => {
      const kept = withoutDirectives(item);
      return kept === undefined ? [] : [kept];
    });
  }
  if (!isObject(value)) return value;
  if (value[PATCH] !== undefined) return undefined;
  const kept: [string, Json][] = [];
  for (const [name, member] of Object.entries(value)) {
    const inner = member === undefined ? undefined : withoutDirectives(member);
    if (inner !== undefined) kept.push([name, inner]);
  }
  return Object.fromEntries(kept);
}
