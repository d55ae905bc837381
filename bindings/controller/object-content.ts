/**
 * The content of an object without the members that a server changes at each write. Used to tell
 * whether and where a write changed the object.
 */

import { isJsonObject } from '../base/json-value.ts';

/** Members of metadata that change with each write, or differ between objects of the same name. */
const VOLATILE = new Set([
  'resourceVersion',
  'generation',
  'managedFields',
  'uid',
  'creationTimestamp',
  'selfLink',
]);

function withoutVolatile(object: object): Record<string, unknown> {
  const { apiVersion: _, kind: __, metadata, ...rest } = object as Record<string, unknown>;
  if (!isJsonObject(metadata)) return rest;
  const kept = Object.entries(metadata).filter(([name]) => !VOLATILE.has(name));
  return { ...rest, metadata: Object.fromEntries(kept) };
}

/** The content as text; members keep the server's order. */
export const contentOf = (object: object): string => JSON.stringify(withoutVolatile(object));

/** The content with all times and observed generations replaced by constants. */
export const withoutTimes = (content: string): string =>
  content
    .replace(
      /\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?/g,
      'time',
    )
    .replace(/(?<![\w.])\d{10,19}(?:\.\d+)?(?![\w.])/g, 'time')
    .replace(/"observedGeneration":\d+/g, '"observedGeneration":0');

/** The paths at which two objects differ, such as `spec.ports[0].name`. */
export const pathsBetween = (before: object, after: object): string[] =>
  differingPaths(withoutVolatile(before), withoutVolatile(after), '');

function differingPaths(before: unknown, after: unknown, path: string): string[] {
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length)
    return before.flatMap((item, i) => differingPaths(item, after[i], `${path}[${i}]`));
  if (isJsonObject(before) && isJsonObject(after))
    return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name) =>
      differingPaths(before[name], after[name], path === '' ? name : `${path}.${name}`),
    );
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [path];
}

/**
 * The paths at which a request body differs from the object before it. Of a JSON patch, the paths
 * that it names; of other patches and of applied configurations, only the members that they have.
 *
 * @param contentType of the patch; undefined if the body is a whole object
 */
export function pathsOfBody(
  contentType: string | undefined,
  body: string,
  before: object,
): string[] {
  let sent: unknown;
  try {
    sent = JSON.parse(body);
  } catch {
    return []; // an applied configuration in YAML
  }
  if (Array.isArray(sent))
    return sent.flatMap(({ op, path }: { op?: string; path?: string }) =>
      op === 'test' || typeof path !== 'string' ? [] : [path.slice(1).replaceAll('/', '.')],
    );
  if (!isJsonObject(sent)) return [];
  return contentType === undefined
    ? pathsBetween(before, sent)
    : patchedPaths(withoutVolatile(sent), withoutVolatile(before), '');
}

function patchedPaths(patch: unknown, before: unknown, path: string): string[] {
  if (isJsonObject(patch) && isJsonObject(before))
    return Object.entries(patch).flatMap(([name, member]) =>
      patchedPaths(member, before[name], path === '' ? name : `${path}.${name}`),
    );
  if (patch === null && before === undefined) return [path];
  return JSON.stringify(patch) === JSON.stringify(before) ? [] : [path];
}
