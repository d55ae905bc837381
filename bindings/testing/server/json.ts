/**
 * JSON values as the server holds them: parsed once, never mutated, compared by value. Member names
 * come from tenants, so objects are only ever built through Object.fromEntries or spread, which
 * make `__proto__` an ordinary member.
 */
import { eachNumber, jsonText } from '../../base/exact-json.ts';
import { isJsonObject } from '../../base/json-value.ts';

export { ownMember, sameJson } from '../../base/json-value.ts';

/** An int64 that JavaScript's numbers would round is a BigInt, so that it is stored as it came. */
export type Json = null | boolean | number | bigint | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [member: string]: Json | undefined;
}

/** Throws a SyntaxError. */
export function readJson(text: string): Json {
  const value = { '': JSON.parse(text) as Json };
  if (/\d{16}/.test(text))
    eachNumber(text, value[''], (holder, name, number) => {
      const written = holder as Record<string, Json>;
      if (!/^-?\d+$/.test(number) || Number.isSafeInteger(written[name])) return;
      if (typeof written[name] !== 'number' || written[name] !== Number(number)) return;
      // as Go: what is no int64 is a float64
      if (BigInt.asIntN(64, BigInt(number)) === BigInt(number)) written[name] = BigInt(number);
    });
  return value[''];
}

export function writeJson(value: Json | object): string {
  try {
    return JSON.stringify(value);
  } catch {
    return jsonText(value) as string; // there is a BigInt
  }
}

export const isObject = isJsonObject as (value: unknown) => value is JsonObject;

/** The member as an object; anything else counts as an empty one. */
export const objectAt = (parent: JsonObject, member: string): JsonObject => {
  const value = parent[member];
  return isObject(value) ? value : {};
};

/** The member as a string; anything else counts as an empty one. */
export const stringAt = (parent: JsonObject, member: string): string => {
  const value = parent[member];
  return typeof value === 'string' ? value : '';
};

/** All members but one. */
export function without(object: JsonObject, ...members: string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([member]) => !members.includes(member)));
}

/** What a patch adds has no members that are null: they would have removed something. */
export function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) =>
      member === null || member === undefined ? [] : [[name, withoutNulls(member)]],
    ),
  );
}

/** A text that values have in common if they are the same by `sameJson`, to find them by. */
export function jsonKey(value: Json | undefined): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(jsonKey).join()}]`;
  if (!isObject(value)) return String(value);
  const names = Object.keys(value).filter((name) => value[name] !== undefined);
  return `{${names.sort().map((name) => `${JSON.stringify(name)}:${jsonKey(value[name])}`)}}`;
}

/** A value as Go's %v prints it, for messages of the real server that quote one. */
export function goText(value: Json | undefined): string {
  if (Array.isArray(value)) return `[${value.map(goText).join(' ')}]`;
  if (!isObject(value)) return value === null || value === undefined ? '<nil>' : String(value);
  const names = Object.keys(value).sort();
  return `map[${names.map((name) => `${name}:${goText(value[name])}`).join(' ')}]`;
}

/** What Go's JSON decoder says of a value that it cannot read into what is there. */
export function unmarshalError(value: Json, into: string): string {
  const type = Array.isArray(value)
    ? 'array'
    : typeof value === 'bigint'
      ? 'number'
      : typeof value === 'boolean'
        ? 'bool'
        : value === null
          ? 'null'
          : typeof value;
  return `json: cannot unmarshal ${type} into ${into}`;
}

/** Members in the order of their names, as Go writes a map. */
export function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name, sorted(value[name] as Json)]),
  );
}
