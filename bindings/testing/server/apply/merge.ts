/**
 * Merges an applied configuration into an object: its values win, lists by keys and sets keep the
 * items that it does not name, and items keep the object's order, except where the configuration's
 * order contradicts it. structured-merge-diff: typed/merge.go.
 */

import type { Atom, ListType, MapType } from '../../../apimachinery/atoms.ts';
import { memberType } from '../../../apimachinery/atoms.ts';
import { isObject, type Json, type JsonObject, ownMember } from '../json.ts';
import { elementOf, elementShapeOf, isList } from './elements.ts';

/** undefined: the result is empty. */
export function merge(
  type: Atom,
  live: Json | undefined,
  config: Json | undefined,
): Json | undefined {
  const shape = elementShapeOf(type, config === undefined ? live : config);
  if (shape === 'map') {
    const map = type.map as MapType;
    const [left, right] = [isObject(live) ? live : {}, isObject(config) ? config : {}];
    const names = new Set([...Object.keys(left), ...Object.keys(right)]);
    if (!map.atomic && names.size > 0) {
      const out: [string, Json][] = [];
      for (const name of names) {
        const childType = memberType(map, name);
        const [lhs, rhs] = [ownMember(left, name), ownMember(right, name)];
        const merged = childType === undefined ? (rhs ?? lhs) : merge(childType, lhs, rhs);
        if (merged !== undefined) out.push([name, merged]);
      }
      return out.length === 0 ? undefined : (Object.fromEntries(out) as JsonObject);
    }
  }
  if (shape === 'list') {
    const list = type.list as ListType;
    const [left, right] = [isList(live) ? live : [], isList(config) ? config : []];
    if (list.merge !== 'atomic' && left.length + right.length > 0)
      return mergeItems(list, left, right);
  }
  return config === undefined ? live : config;
}

function mergeItems(
  list: ListType,
  live: readonly Json[],
  config: readonly Json[],
): Json | undefined {
  const left = live.map((value) => elementOf(list, value));
  const right = config.map((value) => elementOf(list, value));
  const out: Json[] = [];
  const take = (lhs: Json | undefined, rhs: Json | undefined): void => {
    const merged = merge(list.items(), lhs, rhs);
    if (merged !== undefined) out.push(merged);
  };
  /** Only items that occur once in the object are merged. */
  const liveItems = new Map<string, Json>();
  for (const [at, value] of live.entries()) {
    const element = left[at] as string;
    liveItems.set(element, liveItems.has(element) ? null : value);
  }
  const configElements = new Set(right);
  const shared = right.filter((element) => liveItems.has(element)).values();
  const merged = new Set<string>();
  let next = shared.next().value;
  for (let at = 0, to = 0; at < left.length || to < right.length; ) {
    const lhs = left[at];
    const rhs = right[to];
    if (lhs !== undefined && rhs !== undefined) {
      if (lhs === rhs) {
        merged.add(lhs);
        take(liveItems.get(lhs), config[to]);
        at++;
        to++;
        next = shared.next().value;
        continue;
      }
      if (configElements.has(lhs) && next !== undefined && next !== lhs) {
        at++; // in both lists, but later in the other one
        continue;
      }
    }
    if (lhs !== undefined) {
      if (!configElements.has(lhs)) {
        take(live[at], undefined);
        at++;
        continue;
      }
      if (merged.has(lhs)) at++;
    }
    if (rhs !== undefined) {
      merged.add(rhs);
      take(liveItems.get(rhs), config[to]);
      to++;
      if (next === rhs) next = shared.next().value;
    }
  }
  return out.length === 0 ? undefined : out;
}
