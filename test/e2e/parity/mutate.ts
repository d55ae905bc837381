/**
 * Changes one place of an object into a typical mistake: a member that is missing, null, empty, of
 * a wrong type, out of range, duplicated or renamed.
 */

import type { Random } from '../../helpers/random.ts';
import type { Json, JsonObject } from '../same-answers/api.ts';

type Path = (string | number)[];

/** Values that are wrong or unusual in many places. */
const ODD: readonly Json[] = [
  null,
  '',
  'x',
  'A_b',
  'a.b/c d',
  '-1',
  '10',
  '1.5',
  '2026-01-02T03:04:05Z',
  '10.0.0.1',
  '::1',
  'YQ==',
  0,
  -1,
  1,
  1.5,
  65536,
  2147483648,
  true,
  false,
  [],
  {},
  ['x'],
  ['x', 'x'],
  [null],
  [{}],
  { a: 'b' },
  { a: null },
  { 'not valid!': 'x' },
  'x'.repeat(70),
  'x'.repeat(300),
];

/** A copy of the object with one place changed. */
export function mutated(random: Random, object: JsonObject): JsonObject {
  const copy = structuredClone(object);
  const places = placesOf(copy);
  const place = random.pick(places);
  const parent = parentOf(copy, place);
  const last = place[place.length - 1] as string | number;
  const value = (parent as Record<string | number, Json>)[last] as Json;
  const dice = random.next();
  if (dice < 0.25) remove(parent, last);
  else if (dice < 0.33) set(parent, last, null);
  else if (dice < 0.45) set(parent, last, emptyOf(value));
  else if (dice < 0.55) set(parent, last, swapped(value));
  else if (dice < 0.62 && Array.isArray(parent)) parent.push(structuredClone(value));
  else if (dice < 0.7 && !Array.isArray(parent)) {
    (parent as JsonObject)[`${String(last)}X`] = structuredClone(value);
  } else set(parent, last, structuredClone(random.pick(ODD)));
  return copy;
}

/** All paths below apiVersion and kind; deep ones of a Pod template have less weight. */
function placesOf(object: JsonObject): Path[] {
  const found: Path[] = [];
  const walk = (value: Json, path: Path): void => {
    if (Array.isArray(value)) {
      value.forEach((item, index) => {
        found.push([...path, index]);
        walk(item, [...path, index]);
      });
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, member] of Object.entries(value)) {
        if (path.length === 0 && (name === 'apiVersion' || name === 'kind')) continue;
        found.push([...path, name]);
        walk(member, [...path, name]);
      }
    }
  };
  walk(object, []);
  return found.length === 0 ? [['metadata']] : found;
}

function parentOf(object: JsonObject, place: Path): Json[] | JsonObject {
  let at: Json = object;
  for (const step of place.slice(0, -1)) at = (at as Record<string | number, Json>)[step] as Json;
  return at as Json[] | JsonObject;
}

function remove(parent: Json[] | JsonObject, last: string | number): void {
  if (Array.isArray(parent)) parent.splice(last as number, 1);
  else delete parent[last];
}

function set(parent: Json[] | JsonObject, last: string | number, value: Json): void {
  (parent as Record<string | number, Json>)[last] = value;
}

function emptyOf(value: Json): Json {
  if (Array.isArray(value)) return [];
  if (typeof value === 'object' && value !== null) return {};
  if (typeof value === 'number') return 0;
  return typeof value === 'string' ? '' : false;
}

/** Swaps numbers and strings, items and lists. */
function swapped(value: Json): Json {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return value.length;
  if (typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return (value[0] as Json | undefined) ?? {};
  return value === null ? 'null' : [value];
}
