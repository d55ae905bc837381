/** Equality of recorded and replayed JSON values, strictly, on any runtime. */

/**
 * Whether two JSON values are the same: numbers by Object.is, lists in order, objects by own keys
 * in any order and by prototype, so that an instance of a class differs from a plain object, and an
 * undefined field from a missing one.
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

/** Longer values are compared inside, so that a message names the difference. */
const SHOWN = 120;

/** The first difference of two values, by its path, as deep as needed for a short message. */
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
