/**
 * JSON values: type checks, comparison and hash by value, and reads of own members.
 *
 * No library compares them: `workqueue` and `cache` have no dependency, and those that were looked
 * at (fast-deep-equal, dequal, fast-equals) treat an undefined member and an absent one as
 * different, and do not know the texts of numbers (exact-json.ts).
 */

/** An int64 that a JavaScript number would round may be a BigInt, so that it is kept unchanged. */
export type Json = null | boolean | number | bigint | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [member: string]: Json | undefined;
}

/** An object or an array. */
export function isObjectLike(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** An object, not an array. */
export const isJsonObject = (value: unknown): value is Record<string, unknown> =>
  isObjectLike(value) && !Array.isArray(value);

/**
 * An own member, never an inherited one such as `constructor`. `undefined` for null and undefined.
 */
export function ownMember<V>(value: { readonly [name: string]: V }, name: string): V | undefined;
export function ownMember(value: unknown, name: string): unknown;
export function ownMember(value: unknown, name: string): unknown {
  return value !== undefined && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

/** A copy of options without those that are undefined, to be spread over others. */
export function omitUndefined<O extends object>(options: O): O {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as O;
}

/**
 * Whether two values are the same JSON. The order of members does not count, and a member that is
 * undefined counts as absent. Throws a RangeError for values that are deeper than the stack.
 *
 * @param sameNumber called for two numbers that are equal in JavaScript, with their objects and the
 *   member's name
 */
export function sameJson(
  a: unknown,
  b: unknown,
  sameNumber?: (a: object, b: object, name: string) => boolean,
): boolean {
  if (a === b) return true;
  if (!isObjectLike(a) || !isObjectLike(b)) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) {
      if (!sameJson(a[i], b[i], sameNumber)) return false;
      if (typeof a[i] === 'number' && sameNumber?.(a, b, String(i)) === false) return false;
    }
    return true;
  }
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  let members = 0;
  for (const name of Object.keys(left)) {
    const value = left[name];
    if (value === undefined) continue;
    if (!Object.hasOwn(right, name) || !sameJson(value, right[name], sameNumber)) return false;
    if (typeof value === 'number' && sameNumber?.(a, b, name) === false) return false;
    members++;
  }
  const others = Object.keys(right);
  if (others.length === members) return true;
  return others.every((name) => right[name] === undefined || ownMember(left, name) !== undefined);
}

/** A copy in which the members of all objects are sorted by name. */
export function sortMembers(value: unknown): unknown {
  if (!isObjectLike(value)) return value;
  if (Array.isArray(value)) return value.map(sortMembers);
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, sortMembers(member)]),
  );
}

/**
 * A hash of 53 bits: cyrb53, which is in the public domain. Only a program that knows the seed can
 * construct two texts with the same hash.
 */
export function hashText(text: string, seed: number): number {
  let a = 0xdeadbeef ^ seed;
  let b = 0x41c6ce57 ^ seed;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 2654435761);
    b = Math.imul(b ^ unit, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return 4294967296 * (2097151 & b) + (a >>> 0);
}
