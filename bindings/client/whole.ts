/**
 * Rejects writes of cached objects that would delete what the cache has left out: the program has
 * never seen it.
 */
import { CapstanError } from '../base/errors.ts';
import { sameExactJson } from '../base/exact-json.ts';
import { isJsonObject, ownMember } from '../base/json-value.ts';
import { describeObject } from './metadata.ts';
import type { AnyResource } from './types.ts';

/** Objects that were made from the server's state. */
const whole = new WeakSet<object>();

/** Marks an object whose missing members are to be deleted. */
export function markWhole(object: object): void {
  whole.add(object);
}

export const isWhole = (object: object): boolean => whole.has(object);

/** The object to write, the server's object, and what the cache keeps of it. */
export interface WrittenStates {
  readonly now: object;
  readonly kept: object;
  readonly given: object;
  /** Whether it is a merge patch, which keeps members that it does not have. */
  readonly isPatch: boolean;
}

/**
 * Throws for a write that would delete or overwrite what the cache has left out or changed.
 *
 * @param what such as `an update`
 * @param part the member that is written, where the write is to nothing else
 * @throws CapstanError INVALID_ARGUMENT
 */
export function requireNothingLost(
  resource: AnyResource,
  what: string,
  { now, kept, given, isPatch }: WrittenStates,
  part?: string,
): void {
  const of = (object: object): unknown =>
    part === undefined ? object : (object as Record<string, unknown>)[part];
  const lost = lostAt(of(now), of(kept), of(given), part ?? '', isPatch);
  if (lost === undefined) return;
  throw new CapstanError(
    'INVALID_ARGUMENT',
    `${what} of ${resource.plural} ${describeObject(now).replace(/^\S+ /, '')} ` +
      `would lose ${JSON.stringify(lost)}, which the cache leaves out (drop, a ` +
      'transform or metadataOnly): patch the members that are to change, use ' +
      'createOrUpdate, or read the object with { forUpdate: true }',
  );
}

/**
 * The path of the first member that the server has and would lose: the write has there what the
 * cache kept, or nothing.
 */
function lostAt(
  now: unknown,
  kept: unknown,
  given: unknown,
  path: string,
  isPatch: boolean,
): string | undefined {
  if (sameExactJson(now, kept)) return undefined;
  if (Array.isArray(now) && Array.isArray(given))
    return lostInList(now, Array.isArray(kept) ? kept : [], given, path);
  if (isJsonObject(now) && isJsonObject(given)) {
    const before = isJsonObject(kept) ? kept : {};
    for (const name of Object.keys(now)) {
      if (isPatch && !Object.hasOwn(given, name)) continue;
      const at = path === '' ? name : `${path}.${name}`;
      if (at === 'metadata.managedFields') continue; // which the server keeps
      const lost = lostAt(now[name], ownMember(before, name), ownMember(given, name), at, isPatch);
      if (lost !== undefined) return lost;
    }
    return undefined;
  }
  return sameExactJson(given, kept) && !sameExactJson(given, now) ? path : undefined;
}

/** Elements are matched by their place, and by what the cache has kept of them. */
function lostInList(
  now: readonly unknown[],
  kept: readonly unknown[],
  given: readonly unknown[],
  path: string,
): string | undefined {
  if (kept.length !== now.length) {
    const left = now.filter((element) => !has(kept, element));
    return left.every((element) => has(given, element)) ? undefined : path;
  }
  for (const [i, element] of now.entries()) {
    if (sameExactJson(element, kept[i]) || has(given, element)) continue;
    const at = `${path}[${i}]`;
    const lost = has(given, kept[i]) ? at : lostAt(element, kept[i], given[i], at, false);
    if (lost !== undefined) return lost;
  }
  return undefined;
}

const has = (list: readonly unknown[], element: unknown): boolean =>
  list.some((each) => sameExactJson(each, element));

/**
 * Whether a merge patch could overwrite what a cache has changed: it has a list, or names a member.
 */
export function mayReplace(body: unknown): boolean {
  return (
    isJsonObject(body) &&
    Object.values(body).some((value) => Array.isArray(value) || mayReplace(value))
  );
}

/**
 * The object with the server's status, if its status is what the cache has kept. The kind decides
 * whether a write to the object writes its status.
 */
export function withStatusOf<T extends object>(object: T, now: object, kept: object): T {
  const [given, before, status] = [object, kept, now].map((of) => (of as WithStatus).status);
  if (status === undefined || sameExactJson(status, before) || !sameExactJson(given, before))
    return object;
  return { ...object, status };
}

interface WithStatus {
  readonly status?: unknown;
}
