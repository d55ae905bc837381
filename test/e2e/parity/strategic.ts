/**
 * Cases about strategic merge patches with directives, on every list and map of every kind. The Go
 * types determine which of them merge, and by which key.
 */
import type { Random } from '../../helpers/random.ts';
import type { Json, JsonObject } from '../same-answers/api.ts';
import { sampleOf } from './objects.ts';
import {
  createStep,
  type Group,
  getStep,
  objectPath,
  PATCHES,
  pickKind,
  times,
  VALIDATION,
} from './steps.ts';

type Path = string[];

/** Members that are lists or maps, with the path of their parent. */
function containers(object: JsonObject): { path: Path; name: string; value: Json }[] {
  const found: { path: Path; name: string; value: Json }[] = [];
  const walk = (value: Json, path: Path): void => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
    for (const [name, member] of Object.entries(value)) {
      if (path.length === 0 && (name === 'apiVersion' || name === 'kind')) continue;
      if (typeof member === 'object' && member !== null)
        found.push({ path, name, value: member as Json });
      walk(member as Json, [...path, name]);
    }
  };
  walk(object, []);
  return found;
}

const nested = (path: Path, patch: JsonObject): JsonObject =>
  path.reduceRight<JsonObject>((inner, name) => ({ [name]: inner }), patch);

/** The first member of an item that is a string or number, as its key. */
function keyOf(item: Json): JsonObject {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return {};
  const [name, value] =
    Object.entries(item).find(([, value]) => typeof value !== 'object') ??
    Object.entries(item)[0] ??
    [];
  return name === undefined ? {} : { [name]: value as Json };
}

function ofList(random: Random, name: string, list: readonly Json[]): JsonObject {
  const first = (list[0] as Json | undefined) ?? 'x';
  const isMap = typeof first === 'object' && first !== null;
  const key = keyOf(first);
  const changed = isMap ? { ...(first as JsonObject), added: 'x' } : 'added';
  const other: Json = isMap
    ? Object.fromEntries(
        Object.entries(first as JsonObject).map(([member, value]) => [
          member,
          typeof value === 'string'
            ? `${value}2`
            : typeof value === 'number'
              ? value + 1
              : (value as Json),
        ]),
      )
    : 'other';
  return random.pick<JsonObject>([
    { [name]: [other] },
    { [name]: [other, first] },
    { [name]: [changed] },
    { [name]: [] },
    { [name]: null },
    { [name]: [null] },
    { [name]: [{ ...key, $patch: 'delete' }] },
    { [name]: [{ $patch: 'replace' }, other] },
    { [name]: [{ ...key, $patch: 'merge' }] },
    { [name]: [{ $patch: 'delete' }] },
    { [`$setElementOrder/${name}`]: isMap ? [keyOf(other), key] : [other, first], [name]: [other] },
    { [`$setElementOrder/${name}`]: isMap ? [key] : [first] },
    { [`$setElementOrder/${name}`]: 'x' },
    { [`$deleteFromPrimitiveList/${name}`]: [first] },
    { [`$deleteFromPrimitiveList/${name}`]: 'x' },
    { [`$deleteFromPrimitiveList/${name}`]: ['not-there'], [name]: [other] },
    { [name]: { $patch: 'delete' } },
  ]);
}

function ofMap(random: Random, name: string, map: JsonObject): JsonObject {
  const [member, value] = Object.entries(map)[0] ?? ['x', 'y'];
  return random.pick<JsonObject>([
    { [name]: { $patch: 'replace', [member]: value as Json } },
    { [name]: { $patch: 'replace' } },
    { [name]: { $patch: 'delete' } },
    { [name]: { $patch: 'delete', [member]: value as Json } },
    { [name]: { $patch: 'merge', [member]: value as Json } },
    { [name]: { $patch: 7 } },
    { [name]: { $retainKeys: [member], [member]: value as Json } },
    { [name]: { $retainKeys: ['other'], other: 'x' } },
    { [name]: { $retainKeys: [], [member]: value as Json } },
    { [name]: { $retainKeys: 'x' } },
    { [name]: { [member]: null, added: 'x' } },
    { [name]: { [member]: { $patch: 'delete' } } },
    { [name]: {} },
    { [name]: [] },
  ]);
}

export const strategicPatches: Group = (random, count) =>
  times(count, () => {
    const kind = pickKind(random);
    const object = sampleOf(kind);
    const { path, name, value } = random.pick(containers(object));
    const inner = Array.isArray(value)
      ? ofList(random, name, value)
      : ofMap(random, name, value as JsonObject);
    return {
      group: 'strategic',
      steps: [
        createStep(kind, object),
        {
          method: 'PATCH',
          path: objectPath(kind) + random.pick(VALIDATION),
          body: nested(path, inner),
          type: PATCHES.strategic,
        },
        getStep(kind),
      ],
    };
  });
