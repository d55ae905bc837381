/** Equality of what was recorded and what was seen: JSON values, strictly, on any runtime. */

/**
 * Whether two JSON values are the same: numbers by Object.is, lists in order, objects by their own
 * keys in any order and by their prototype, so that an object of a class is not taken for a plain
 * one, and a field that is `undefined` is not taken for one that is missing.
 */
export function sameValue(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  const keys = Reflect.ownKeys(a);
  if (keys.length !== Reflect.ownKeys(b).length) return false;
  return keys.every(
    (key) => Object.hasOwn(b, key) && sameValue(Reflect.get(a, key), Reflect.get(b, key)),
  );
}

/**
 * Values of more than this many characters are looked into, so that a message shows where a whole
 * scenario went another way.
 */
const SHOWN = 120;

/**
 * Where two values that are not the same differ first, by the names that lead there, as deep as it
 * takes to be short.
 */
export function firstDifference(
  a: unknown,
  b: unknown,
  path: string,
): { path: string; a: unknown; b: unknown } {
  const short = (JSON.stringify(a) ?? '').length + (JSON.stringify(b) ?? '').length <= SHOWN;
  if (short || typeof a !== 'object' || typeof b !== 'object' || a === null || b === null)
    return { path, a, b };
  const keys = [...new Set([...Reflect.ownKeys(a), ...Reflect.ownKeys(b)])].filter(
    (key) => typeof key === 'string',
  );
  const key = keys.find((key) => !sameValue(Reflect.get(a, key), Reflect.get(b, key)));
  if (key === undefined) return { path, a, b };
  return firstDifference(
    Reflect.get(a, key),
    Reflect.get(b, key),
    Array.isArray(a) ? `${path}[${key}]` : `${path}.${key}`,
  );
}
