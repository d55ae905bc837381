/**
 * The elements (keys) of items in lists by keys and sets, and which shape of a type a value has.
 * Shared by all walks over typed values. structured-merge-diff: typed/helpers.go.
 */

import type { Atom, ListType } from '../../../apimachinery/atoms.ts';
import { isObject, type Json } from '../json.ts';
import { item, keyElement } from './field-set.ts';

export type ElementShape = 'scalar' | 'list' | 'map';

/** The shape of the type that fits the value; for null and values that fit none, the first one. */
export function elementShapeOf(type: Atom, value: Json | undefined): ElementShape | undefined {
  const has = value === undefined || value === null ? undefined : shapeOfValue(value);
  if (has !== undefined && type[has] !== undefined) return has;
  if (type.map !== undefined) return 'map';
  if (type.scalar !== undefined) return 'scalar';
  return type.list === undefined ? undefined : 'list';
}

const shapeOfValue = (value: Json): ElementShape =>
  Array.isArray(value) ? 'list' : isObject(value) ? 'map' : 'scalar';

export const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);

/** The element of an item. Throws a TypeError with the reason if it has none. */
export function elementOf(list: ListType, value: Json): string {
  if (list.merge === 'atomic') throw new TypeError('invalid indexing of non-associative list');
  if (list.merge === 'set') {
    if (isObject(value))
      throw new TypeError("associative list without keys has an element that's a map type");
    if (Array.isArray(value))
      throw new TypeError('not supported: associative list with lists as elements');
    if (value === null)
      throw new TypeError("associative list without keys has an element that's an explicit null");
    return item(value);
  }
  if (value === null) throw new TypeError('associative list with keys may not have a null element');
  if (!isObject(value))
    throw new TypeError('associative list with keys may not have non-map elements');
  const { map } = list.items();
  const keys = list.merge.flatMap((key): [string, Json][] => {
    // null is a key; the fallback is only for a missing one.
    const found = value[key] === undefined ? map?.field(key)?.fallback : value[key];
    return found === undefined ? [] : [[key, found]];
  });
  if (keys.length === 0) {
    const names = list.merge.map((key) => JSON.stringify(key)).join(' ');
    throw new TypeError(
      `associative list with keys has an element that omits all key fields [${names}] (and ` +
        "doesn't have default values for any key fields)",
    );
  }
  return keyElement(keys);
}
