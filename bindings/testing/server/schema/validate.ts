/**
 * Validates a value by its schema, with the real server's messages. An update may keep an invalid
 * value that it does not change (ratcheting). kube-openapi: pkg/validation/validate;
 * apiextensions-apiserver: pkg/apiserver/validation.
 */
import {
  isObject,
  type Json,
  type JsonObject,
  jsonKey,
  ownMember,
  sameJson,
  writeJson,
} from '../json.ts';
import {
  type FieldError,
  fieldInvalid,
  fieldNotSupported,
  fieldRequired,
  fieldTooLong,
} from '../status.ts';
import { formatError, isKnownFormat } from './formats.ts';
import { isSame, validateNumber } from './numbers.ts';
import { additional, isIntOrString, type Schema, schemaAt } from './structural.ts';

/** @param old the value before an update; undefined: it is new */
export const validateObject = (
  schema: Schema,
  value: Json,
  old: Json | undefined,
): FieldError[] => [...check(schema, value, old, '', true).errors];

/**
 * The errors of a check, and how many parts of the value matched: if no alternative of an anyOf or
 * oneOf matches, the errors are those of the one with the most matches.
 */
class Result {
  readonly errors: FieldError[] = [];
  matches = 0;

  /** Adds errors up to the first one that was already added. */
  add(...errors: readonly FieldError[]): void {
    let found = false;
    for (const error of errors) {
      found ||= this.errors.some(
        ({ field, message }) => field === error.field && message === error.message,
      );
      if (!found) this.errors.push(error);
    }
  }

  merge(other: Result): void {
    this.add(...other.errors);
    this.matches += other.matches;
  }

  get isValid(): boolean {
    return this.errors.length === 0;
  }
}

/** The real server's path of errors that belong to no field. */
const NO_FIELD = '<nil>';

const fieldName = (path: string): string => (path === '' ? NO_FIELD : path);

const typeInvalid = (path: string, value: unknown, why: string): FieldError => ({
  ...fieldInvalid(fieldName(path), value, why),
  reason: 'FieldValueTypeInvalid',
});

function jsonType(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  if (typeof value === 'bigint') return 'integer';
  return typeof value;
}

/** @param ratchets errors of an unchanged value are ignored */
function check(
  schema: Schema,
  value: Json,
  old: Json | undefined,
  path: string,
  ratchets: boolean,
): Result {
  const result = new Result();
  if (ratchets && old !== undefined && sameJson(value, old)) return result;
  const wanted = isIntOrString(schema) ? 'integer,string' : String(schema.type ?? '');
  const wrongType = typeErrors(schema, wanted, value, path);
  result.add(...wrongType);
  result.matches += (wanted === '' ? 0 : wrongType.length === 0 ? 2 : 1) + 2;
  if (value !== null) {
    checkCombinations(schema, value, old, path, result);
    if (typeof value === 'string') result.add(...validateString(schema, value, path));
    if (typeof value === 'number') result.add(...validateNumber(schema, value, path));
    if (typeof value === 'bigint')
      result.add(...validateNumber(schema, Math.min(Number(value), LARGEST), path));
    if (Array.isArray(value)) checkItems(schema, value, old, path, result);
    result.matches += Array.isArray(value) || typeof value === 'number' ? 4 : 3;
  }
  const { enum: known } = schema;
  if (Array.isArray(known) && known.length > 0 && !known.some((each: Json) => isSame(each, value)))
    result.add(fieldNotSupported(fieldName(path), value, (known as readonly Json[]).map(String)));
  if (isObject(value)) checkMembers(schema, value, old, path, result);
  return result;
}

/** The largest float64 that is an int64. */
const LARGEST = 2 ** 63 - 1024;

function typeErrors(schema: Schema, wanted: string, value: Json, path: string): FieldError[] {
  if (wanted === '' || (value === null && schema.nullable === true)) return [];
  const given = jsonType(value);
  const types = wanted.split(',');
  // For a string with a format the real server checks only that, and accepts a list.
  const hasFormat = typeof schema.format === 'string' && isKnownFormat(schema.format, wanted);
  if (hasFormat && wanted === 'string' && given === 'array') return [];
  if (types.includes(given) || (given === 'integer' && types.includes('number'))) return [];
  return [typeInvalid(path, given, `${path} in body must be of type ${wanted}: "${given}"`)];
}

const listOf = (schema: Schema, member: string): Schema[] => {
  const list = schema[member];
  return Array.isArray(list) ? list.filter(isObject) : [];
};

/** anyOf, oneOf, allOf and not. */
function checkCombinations(
  schema: Schema,
  value: Json,
  old: Json | undefined,
  path: string,
  result: Result,
): void {
  const of = (each: Schema): Result => check(each, value, old, path, false);
  const fail = (why: string): void =>
    result.add(fieldInvalid(NO_FIELD, '', `"${path}" must ${why}`));
  const anyOf = listOf(schema, 'anyOf');
  if (anyOf.length > 0) {
    const results: Result[] = [];
    for (const each of anyOf) {
      results.push(of(each));
      if (results.at(-1)?.isValid) break;
    }
    const valid = results.find(({ isValid }) => isValid);
    if (valid === undefined) fail('validate at least one schema (anyOf)');
    result.merge(valid ?? bestResult(results));
  }
  const oneOf = listOf(schema, 'oneOf').map(of);
  if (oneOf.length > 0) {
    const valid = oneOf.filter(({ isValid }) => isValid);
    const [first] = valid;
    if (valid.length !== 1 || first === undefined) {
      const found =
        valid.length === 0 ? 'Found none valid' : `Found ${valid.length} valid alternatives`;
      fail(`validate one and only one schema (oneOf). ${found}`);
      if (valid.length === 0) result.merge(bestResult(oneOf));
    } else result.merge(first);
  }
  const allOf = listOf(schema, 'allOf').map(of);
  for (const each of allOf) result.merge(each);
  if (allOf.some(({ isValid }) => !isValid)) {
    const none = allOf.every(({ isValid }) => !isValid) ? '. None validated' : '';
    fail(`validate all the schemas (allOf)${none}`);
  }
  if (isObject(schema.not) && of(schema.not).isValid) fail('not validate the schema (not)');
}

/** The first of the results with the most matches. */
const bestResult = (results: readonly Result[]): Result =>
  results.reduce((most, each) => (each.matches > most.matches ? each : most));

/** Reports only the first error of length and pattern. */
function validateString(schema: Schema, value: string, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const length = [...value].length;
  const { minLength, maxLength, pattern, format, type } = schema;
  const at = fieldName(path);
  if (typeof maxLength === 'number' && length > maxLength) errors.push(fieldTooLong(at, maxLength));
  else if (typeof minLength === 'number' && length < minLength) {
    const why = `${path} in body should be at least ${minLength} chars long`;
    errors.push(fieldInvalid(at, value, why));
  } else if (typeof pattern === 'string' && pattern !== '' && !matches(pattern, value))
    errors.push(fieldInvalid(at, value, `${path} in body should match '${pattern}'`));
  const counts = typeof format === 'string' && isKnownFormat(format, String(type ?? ''));
  if (counts && formatError(format, value)) {
    const why = `${path} in body must be of type ${format}: ${writeJson(value)}`;
    errors.push(typeInvalid(path, value, why));
  }
  return errors;
}

/** Patterns that JavaScript cannot compile, as their syntax is RE2's only, match everything. */
function matches(pattern: string, value: string): boolean {
  try {
    const own = pattern.replaceAll(/\\(?:x(?=\{)|[\s\S])/g, (escaped) =>
      escaped === '\\x' ? '\\u' : escaped,
    );
    return new RegExp(own, 'u').test(value);
  } catch {
    return true;
  }
}

function checkItems(
  schema: Schema,
  value: readonly Json[],
  old: Json | undefined,
  path: string,
  result: Result,
): void {
  const items = schemaAt(schema, 'items');
  if (items !== undefined) {
    const was = earlierItems(schema, old);
    for (const [at, item] of value.entries())
      result.merge(check(items, item, was?.(item), `${path}[${at}]`, true));
  }
  const { minItems, maxItems } = schema;
  if (typeof minItems === 'number' && value.length < minItems) {
    const why = `${path} in body should have at least ${minItems} items`;
    result.add(fieldInvalid(fieldName(path), value.length, why));
  }
  if (typeof maxItems === 'number' && value.length > maxItems)
    result.add(tooMany(path, value.length, maxItems));
}

const tooMany = (path: string, count: number, most: number): FieldError => ({
  field: fieldName(path),
  reason: 'FieldValueTooMany',
  message: `Too many: ${count}: must have at most ${most} items`,
});

/**
 * Finds an item before the update: only items of a list by keys can be correlated, the first one of
 * each key.
 */
function earlierItems(
  schema: Schema,
  old: Json | undefined,
): ((item: Json) => Json | undefined) | undefined {
  const keys = mapKeys(schema);
  if (keys === undefined || !Array.isArray(old)) return undefined;
  const was = new Map<string, Json>();
  for (const item of (old as readonly Json[]).toReversed())
    was.set(jsonKey(mapKeyOf(keys, item)), item);
  return (item) => (isObject(item) ? was.get(jsonKey(mapKeyOf(keys, item))) : undefined);
}

/** The keys of a list that is a map; undefined for other lists. */
export const mapKeys = (schema: Schema): readonly string[] | undefined => {
  const keys = schema['x-kubernetes-list-map-keys'];
  if (schema['x-kubernetes-list-type'] !== 'map' || !Array.isArray(keys)) return undefined;
  return keys.filter((key) => typeof key === 'string');
};

/** The keys of an item. */
export const mapKeyOf = (keys: readonly string[], item: Json): JsonObject =>
  Object.fromEntries(
    keys.flatMap((key) => {
      const value = isObject(item) ? ownMember(item, key) : undefined;
      return value === undefined ? [] : [[key, value]];
    }),
  );

function checkMembers(
  schema: Schema,
  value: JsonObject,
  old: Json | undefined,
  path: string,
  result: Result,
): void {
  const at = (name: string): string => (path === '' ? name : `${path}.${name}`);
  const count = Object.keys(value).length;
  const { minProperties, maxProperties, required } = schema;
  if (typeof minProperties === 'number' && count < minProperties) {
    const why = `${path} in body should have at least ${minProperties} properties`;
    result.add(fieldInvalid(fieldName(path), count, why));
  }
  if (typeof maxProperties === 'number' && count > maxProperties)
    result.add(tooMany(path, count, maxProperties));
  const properties = schemaAt(schema, 'properties') ?? {};
  const rest = additional(schema);
  // Members of an atomic map are not correlated with those before the update.
  const was = isObject(old) && schema['x-kubernetes-map-type'] !== 'atomic' ? old : {};
  for (const [name, member] of Object.entries(value)) {
    const of = schemaAt(properties, name) ?? (isObject(rest) ? rest : undefined);
    if (of === undefined || member === undefined) continue;
    result.merge(check(of, member, ownMember(was, name), at(name), true));
  }
  for (const name of Array.isArray(required) ? (required as readonly Json[]) : [])
    if (ownMember(value, String(name)) === undefined)
      result.add(fieldRequired(at(String(name)), ''));
}
