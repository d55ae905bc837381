/**
 * JSON values of the server: parsed once, never mutated, compared by value. Member names come from
 * clients, so objects are built only by Object.fromEntries or spread, for which `__proto__` is an
 * ordinary member.
 */
import { eachNumber, jsonText } from '../../base/exact-json.ts';
import { isJsonObject, type Json, type JsonObject } from '../../base/json-value.ts';

export { type Json, type JsonObject, ownMember, sameJson } from '../../base/json-value.ts';

/** Throws a SyntaxError. */
export function readJson(text: string): Json {
  const value = { '': JSON.parse(text) as Json };
  if (/\d{16}/.test(text))
    eachNumber(text, value[''], (holder, name, number) => {
      const written = holder as Record<string, Json>;
      if (!/^-?\d+$/.test(number) || Number.isSafeInteger(written[name])) return;
      if (typeof written[name] !== 'number' || written[name] !== Number(number)) return;
      // as in Go: a number that is not an int64 is a float64
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

/** The member if it is an object, otherwise an empty object. */
export const memberObject = (parent: JsonObject, member: string): JsonObject => {
  const value = parent[member];
  return isObject(value) ? value : {};
};

/** The member if it is a string, otherwise an empty string. */
export const stringAt = (parent: JsonObject, member: string): string => {
  const value = parent[member];
  return typeof value === 'string' ? value : '';
};

/** All members but these. */
export function without(object: JsonObject, ...members: string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([member]) => !members.includes(member)));
}

/** Removes null members from a value that a patch adds: in a patch they stand for a removal. */
export function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) =>
      member === null || member === undefined ? [] : [[name, withoutNulls(member)]],
    ),
  );
}

/** A string that is the same for values that are equal by `sameJson`; for maps and sets. */
export function jsonKey(value: Json | undefined): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(jsonKey).join()}]`;
  if (!isObject(value)) return String(value);
  const names = Object.keys(value).filter((name) => value[name] !== undefined);
  return `{${names.sort().map((name) => `${JSON.stringify(name)}:${jsonKey(value[name])}`)}}`;
}

/** A value as Go's %v prints it, for messages that quote a value. */
export function goText(value: Json | undefined): string {
  if (Array.isArray(value)) return `[${value.map(goText).join(' ')}]`;
  if (!isObject(value)) return value === null || value === undefined ? '<nil>' : String(value);
  const names = Object.keys(value).sort();
  return `map[${names.map((name) => `${name}:${goText(value[name])}`).join(' ')}]`;
}

/** The error of Go's JSON decoder for a value of a wrong type. */
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

/** Members sorted by name, as Go writes a map. */
export function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name, sorted(value[name] as Json)]),
  );
}
