/**
 * What an object says, less what a server changes at each write: to tell whether a write has
 * changed anything, and what.
 */

import { isJsonObject } from '../base/json-object.ts';

/** Members of metadata that differ after each write, or with each object of the same name. */
const VOLATILE = new Set([
  'resourceVersion',
  'generation',
  'managedFields',
  'uid',
  'creationTimestamp',
  'selfLink',
]);

function shown(object: object): Record<string, unknown> {
  const { apiVersion: _, kind: __, metadata, ...rest } = object as Record<string, unknown>;
  if (!isJsonObject(metadata)) return rest;
  const kept = Object.entries(metadata).filter(([name]) => !VOLATILE.has(name));
  return { ...rest, metadata: Object.fromEntries(kept) };
}

/** As text, in the order in which the server has the members. */
export const contentOf = (object: object): string => JSON.stringify(shown(object));

/** The same with times, and generations that were observed, all alike. */
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
  differing(shown(before), shown(after), '');

function differing(before: unknown, after: unknown, path: string): string[] {
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length)
    return before.flatMap((item, i) => differing(item, after[i], `${path}[${i}]`));
  if (isJsonObject(before) && isJsonObject(after))
    return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name) =>
      differing(before[name], after[name], path === '' ? name : `${path}.${name}`),
    );
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [path];
}

/**
 * The paths at which what was sent says something else than the object before; of a JSON patch,
 * those that it names. Of a patch or an applied configuration only what it has counts.
 *
 * @param contentType that of a patch; undefined: a whole object was sent
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
    : namedIn(shown(sent), shown(before), '');
}

function namedIn(patch: unknown, before: unknown, path: string): string[] {
  if (isJsonObject(patch) && isJsonObject(before))
    return Object.entries(patch).flatMap(([name, member]) =>
      namedIn(member, before[name], path === '' ? name : `${path}.${name}`),
    );
  if (patch === null && before === undefined) return [path];
  return JSON.stringify(patch) === JSON.stringify(before) ? [] : [path];
}
