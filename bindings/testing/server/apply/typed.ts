/**
 * Typed values: the set of fields of a value, the difference of two values, and a value without
 * some fields. Sets of fields are comparable with those of managers. structured-merge-diff:
 * typed/tofieldset.go, compare.go, remove.go.
 */

import type { Atom, ListType, MapType } from '../../../apimachinery/atoms.ts';
import { memberType } from '../../../apimachinery/atoms.ts';
import { goText, isObject, type Json, type JsonObject, ownMember, sameJson } from '../json.ts';
import { elementOf, elementShapeOf, isList } from './elements.ts';
import { Builder, type FieldSet, member, type PathElements, pathText } from './field-set.ts';

/** The fields of a value that its applier owns. */
export function fieldsOf(type: Atom, value: Json): FieldSet {
  const builder = new Builder();
  collect(type, value, [], builder);
  return builder.build();
}

function collect(type: Atom, value: Json, path: PathElements, into: Builder): void {
  const shape = elementShapeOf(type, value);
  if (shape === 'scalar') into.insert(path);
  if (shape === 'map') {
    const map = type.map as MapType;
    if (map.atomic) into.insert(path);
    else if (isObject(value)) {
      for (const [name, child] of Object.entries(value)) {
        if (child === undefined) continue;
        const at = [...path, member(name)];
        const childType = memberType(map, name);
        if (childType !== undefined) collect(childType, child, at, into);
        const empty = child === null || (isObject(child) && Object.keys(child).length === 0);
        if (empty || map.field(name) === undefined) into.insert(at);
      }
    }
  }
  if (shape === 'list') {
    const list = type.list as ListType;
    if (list.merge === 'atomic') into.insert(path);
    else if (isList(value)) collectItems(list, value, path, into);
  }
}

function collectItems(
  list: ListType,
  items: readonly Json[],
  path: PathElements,
  into: Builder,
): void {
  const elements = items.map((value) => elementOf(list, value));
  const [seen, duplicates] = [new Set<string>(), new Set<string>()];
  for (const element of elements) (seen.has(element) ? duplicates : seen).add(element);
  for (const [at, value] of items.entries()) {
    const element = elements[at] as string;
    // A duplicate item is owned as a whole.
    if (!duplicates.has(element)) collect(list.items(), value, [...path, element], into);
    into.insert([...path, element]);
  }
}

/**
 * The error of a value of a wrong type, as `.spec.x: expected string, got …`; undefined: none.
 *
 * @param allowDuplicates lists by keys may have duplicate items
 */
export function typeError(
  type: Atom,
  value: Json,
  path: PathElements = [],
  allowDuplicates = false,
): string | undefined {
  const fail = (why: string): string => `${pathText(path)}: ${why}`;
  const shape = elementShapeOf(type, value);
  if (value === null || shape === undefined) return undefined;
  if (shape === 'scalar') {
    const wanted = type.scalar === 'numeric' ? 'number' : type.scalar;
    if (typeof value === 'object')
      return fail(`expected ${wanted === 'any' ? 'any scalar' : wanted}, got ${goValue(value)}`);
    const given = typeof value === 'bigint' ? 'number' : typeof value;
    if (wanted === 'any' || given === wanted) return undefined;
    if (wanted === 'number') return fail(`expected numeric (int or float), got ${goType(value)}`);
    if (wanted === 'string')
      return fail(`expected string, got &value.valueUnstructured{Value:${goValue(value)}}`);
    return fail(`expected boolean, got &{${String(value)}}`);
  }
  if (shape === 'map') {
    if (!isObject(value)) return fail(`expected map, got &{${goText(value)}}`);
    const map = type.map as MapType;
    for (const [name, child] of Object.entries(value)) {
      if (child === undefined) continue;
      const childType = memberType(map, name);
      if (childType === undefined)
        return `${pathText([...path, member(name)])}: field not declared in schema`;
      const wrong = typeError(childType, child, [...path, member(name)], allowDuplicates);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  }
  if (!isList(value)) return fail(`expected list, got &{${goText(value)}}`);
  const list = type.list as ListType;
  const seen = new Set<string>();
  for (const [at, child] of value.entries()) {
    let element = `i:${at}`;
    if (list.merge !== 'atomic') {
      try {
        element = elementOf(list, child);
      } catch (error) {
        return fail(`element ${at}: ${(error as Error).message}`);
      }
      if (seen.has(element) && !allowDuplicates)
        return fail(`duplicate entries for key ${pathText([element])}`);
      seen.add(element);
    }
    const wrong = typeError(list.items(), child, [...path, element], allowDuplicates);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

const goType = (value: Json): string => (typeof value === 'boolean' ? 'bool' : typeof value);
const goValue = (value: Json): string =>
  typeof value === 'string' ? JSON.stringify(value) : goText(value);

/** The differences of two values; each field is in one set at most. */
export interface Comparison {
  added: FieldSet;
  modified: FieldSet;
  removed: FieldSet;
}

export function compare(type: Atom, old: Json | undefined, now: Json | undefined): Comparison {
  const walk = { added: new Builder(), modified: new Builder(), removed: new Builder() };
  if (old !== undefined || now !== undefined) compareAt(type, old, now, [], walk);
  return {
    added: walk.added.build(),
    modified: walk.modified.build(),
    removed: walk.removed.build(),
  };
}

interface Differences {
  added: Builder;
  modified: Builder;
  removed: Builder;
}

function compareAt(
  type: Atom,
  old: Json | undefined,
  now: Json | undefined,
  path: PathElements,
  into: Differences,
): void {
  const [before, after] = [elementShapeOf(type, old), elementShapeOf(type, now)];
  let leaf: boolean;
  if (now === undefined) leaf = compareAs(before, type, old, now, path, into);
  else if (old === undefined || before === after)
    leaf = compareAs(after, type, old, now, path, into);
  else {
    compareAs(before, type, old, now, path, into);
    leaf = compareAs(after, type, old, now, path, into);
  }
  if (leaf) return;
  if (old === undefined) into.added.insert(path);
  else if (now === undefined) into.removed.insert(path);
}

/** true: the value was compared atomically. */
function compareAs(
  shape: ReturnType<typeof elementShapeOf>,
  type: Atom,
  old: Json | undefined,
  now: Json | undefined,
  path: PathElements,
  into: Differences,
): boolean {
  if (shape === 'map') {
    const map = type.map as MapType;
    const [left, right] = [isObject(old) ? old : {}, isObject(now) ? now : {}];
    const names = new Set([...Object.keys(left), ...Object.keys(right)]);
    if (!map.atomic && names.size > 0) {
      for (const name of names) {
        const childType = memberType(map, name);
        const [before, after] = [ownMember(left, name), ownMember(right, name)];
        if (childType !== undefined && (before !== undefined || after !== undefined))
          compareAt(childType, before, after, [...path, member(name)], into);
      }
      return false;
    }
  }
  if (shape === 'list') {
    const list = type.list as ListType;
    const [left, right] = [isList(old) ? old : [], isList(now) ? now : []];
    if (list.merge !== 'atomic' && left.length + right.length > 0) {
      compareItems(list, left, right, path, into);
      return false;
    }
  }
  if (old === undefined) into.added.insert(path);
  else if (now === undefined) into.removed.insert(path);
  else if (!sameJson(old, now)) into.modified.insert(path);
  return true;
}

function compareItems(
  list: ListType,
  old: readonly Json[],
  now: readonly Json[],
  path: PathElements,
  into: Differences,
): void {
  const [left, right] = [byElement(list, old), byElement(list, now)];
  const none: readonly Json[] = [];
  for (const element of new Set([...left.keys(), ...right.keys()])) {
    const [before, after] = [left.get(element) ?? none, right.get(element) ?? none];
    const at = [...path, element];
    if (before.length <= 1 && after.length <= 1)
      compareAt(list.items(), before[0], after[0], at, into);
    else if (before.length >= 2 && after.length >= 2) {
      if (!sameJson(before, after)) into.modified.insert(at);
    } else if (before.length >= 2) {
      if (after.length > 0) compareAt(list.items(), undefined, after[0], at, into);
      into.removed.insert(at);
    } else {
      if (before.length > 0) compareAt(list.items(), before[0], undefined, at, into);
      into.added.insert(at);
    }
  }
}

/** The items by their elements, without items that have none and so cannot be owned. */
function byElement(list: ListType, items: readonly Json[]): Map<string, Json[]> {
  const found = new Map<string, Json[]>();
  for (const value of items) {
    const element = tryElement(list, value);
    if (element === undefined) continue;
    const same = found.get(element);
    if (same === undefined) found.set(element, [value]);
    else same.push(value);
  }
  return found;
}

function tryElement(list: ListType, value: Json): string | undefined {
  try {
    return elementOf(list, value);
  } catch {
    return undefined;
  }
}

/** The value without these fields; undefined if nothing remains. */
export function remove(type: Atom, value: Json, fields: FieldSet): Json | undefined {
  const shape = elementShapeOf(type, value);
  if (shape === 'map') {
    const map = type.map as MapType;
    if (map.atomic || !isObject(value)) return undefined;
    const left: [string, Json][] = [];
    for (const [name, child] of Object.entries(value)) {
      const element = member(name);
      if (child === undefined || fields.has(element)) continue;
      left.push([name, removeBelow(memberType(map, name), child, fields.below(element))]);
    }
    return left.length === 0 ? undefined : (Object.fromEntries(left) as JsonObject);
  }
  if (shape === 'list') {
    const list = type.list as ListType;
    if (list.merge === 'atomic' || !isList(value)) return undefined;
    const left = value.flatMap((child) => {
      const element = tryElement(list, child);
      if (element === undefined) return [child];
      return fields.has(element) ? [] : [removeBelow(list.items(), child, fields.below(element))];
    });
    return left.length === 0 ? undefined : left;
  }
  return value;
}

function removeBelow(type: Atom | undefined, value: Json, fields: FieldSet): Json {
  if (type === undefined || fields.size === 0) return value;
  // An empty result is null, as in structured-merge-diff; a stored object has no nulls.
  return remove(type, value, fields) ?? null;
}
