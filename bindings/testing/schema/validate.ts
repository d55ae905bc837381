/**
 * What is wrong with a custom object by its schema, in the words of the real server. An update is
 * not held to what was wrong before and did not change (ratcheting). Rules in CEL
 * (`x-kubernetes-validations`) are not evaluated. kube-openapi: pkg/validation;
 * apiextensions-apiserver: pkg/apiserver/validation, pkg/registry/customresource.
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
import { formatError } from './formats.ts';
import { additional, isEmbedded, isIntOrString, type Schema, schemaAt } from './structural.ts';

/**
 * Of the metadata a schema may restrict the name and the prefix it is made from. @param old what
 * the value was; undefined: it is new
 */
export function validateObject(
  schema: Schema,
  value: JsonObject,
  old: JsonObject | undefined,
): FieldError[] {
  return validate(schema, value, old, '');
}

function validate(schema: Schema, value: Json, old: Json | undefined, path: string): FieldError[] {
  if (old !== undefined && sameJson(value, old)) return [];
  if (value === null && schema.nullable === true) return [];
  const wrongType = typeError(schema, value, path);
  if (wrongType !== undefined) return [wrongType];
  const errors = combined(schema, value, path);
  if (Array.isArray(schema.enum) && !schema.enum.some((known: Json) => isSame(known, value))) {
    errors.push(fieldNotSupported(path, value, (schema.enum as readonly Json[]).map(String)));
  }
  if (typeof value === 'string') errors.push(...validateString(schema, value, path));
  if (typeof value === 'number') errors.push(...validateNumber(schema, value, path));
  if (typeof value === 'bigint')
    errors.push(...validateNumber(schema, Math.min(Number(value), LARGEST), path));
  if (Array.isArray(value)) errors.push(...validateList(schema, value, old, path));
  if (isObject(value)) errors.push(...validateMembers(schema, value, old, path));
  return errors;
}

/** Of int64, as a number of JavaScript. */
const LARGEST = 2 ** 63 - 1024;

const shown = (path: string): string => (path === '' ? '<nil>' : path);

const typeInvalid = (path: string, value: unknown, why: string): FieldError => ({
  ...fieldInvalid(shown(path), value, why),
  reason: 'FieldValueTypeInvalid',
});

function jsonType(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  if (typeof value === 'bigint') return 'integer';
  return typeof value;
}

function typeError(schema: Schema, value: Json, path: string): FieldError | undefined {
  const given = jsonType(value);
  const wanted = isIntOrString(schema) ? 'integer,string' : schema.type;
  if (typeof wanted !== 'string' || wanted === '') return undefined;
  const fits = wanted
    .split(',')
    .some((type) => type === given || (type === 'number' && given === 'integer'));
  return fits
    ? undefined
    : typeInvalid(path, given, `${path} in body must be of type ${wanted}: ${writeJson(given)}`);
}

/** allOf, anyOf, oneOf and not. */
function combined(schema: Schema, value: Json, path: string): FieldError[] {
  const valid = (of: Json): boolean =>
    isObject(of) && validate(of, value, undefined, path).length === 0;
  const errors: FieldError[] = [];
  const fail = (why: string): void =>
    void errors.push(fieldInvalid(shown(path), value, `${path} in body ${why}`));
  for (const of of Array.isArray(schema.allOf) ? (schema.allOf as readonly Json[]) : []) {
    if (isObject(of)) errors.push(...validate(of, value, undefined, path));
  }
  if (errors.length > 0) fail('must validate all the schemas (allOf)');
  if (Array.isArray(schema.anyOf) && !schema.anyOf.some(valid)) {
    fail('must validate at least one schema (anyOf)');
    for (const of of schema.anyOf.slice(0, 1))
      if (isObject(of)) errors.push(...validate(of, value, undefined, path));
  }
  if (Array.isArray(schema.oneOf)) {
    const count = schema.oneOf.filter(valid).length;
    const found = count === 0 ? 'Found none valid' : `Found ${count} valid alternatives`;
    if (count !== 1) fail(`must validate one and only one schema (oneOf). ${found}`);
  }
  if (isObject(schema.not) && valid(schema.not)) fail('must not validate the schema (not)');
  return errors;
}

function validateString(schema: Schema, value: string, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const length = [...value].length;
  const { minLength, maxLength, pattern, format } = schema;
  if (typeof maxLength === 'number' && length > maxLength)
    errors.push(fieldTooLong(path, maxLength));
  if (typeof minLength === 'number' && length < minLength) {
    errors.push(
      fieldInvalid(path, value, `${path} in body should be at least ${minLength} chars long`),
    );
  }
  if (typeof pattern === 'string' && !matches(pattern, value)) {
    errors.push(fieldInvalid(path, value, `${path} in body should match '${pattern}'`));
  }
  if (typeof format === 'string' && formatError(format, value)) {
    errors.push(
      typeInvalid(path, value, `${path} in body must be of type ${format}: ${writeJson(value)}`),
    );
  }
  return errors;
}

/** RE2 is nearly JavaScript's; what it has and JavaScript has not is taken to match. */
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

function validateNumber(schema: Schema, value: number, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const fail = (why: string): void =>
    void errors.push(fieldInvalid(path, value, `${path} in body should be ${why}`));
  const { minimum, maximum, multipleOf, exclusiveMinimum, exclusiveMaximum, format, type } = schema;
  const inRange = (of: number, what: string): boolean => {
    const most = format === 'int32' ? 2 ** 31 : 2 ** 63;
    if (type !== 'integer' || (Number.isInteger(of) && of < most && of >= -most)) return true;
    const called = typeof format === 'string' ? `with format ${format}` : '(default format)';
    const why = `${what} value must be of type integer ${called} in ${path}`;
    errors.push({
      field: '<nil>',
      reason: 'FieldValueInvalid',
      message: `Invalid value: "": ${why}`,
    });
    return false;
  };
  // A whole value is held against what is left of a bound without its fraction.
  const limit = (of: number, what: string): number =>
    inRange(of, `${what} boundary`) && isInt64(value) ? Math.trunc(of) : of;
  inRange(value, 'Checked');
  if (typeof multipleOf === 'number' && Number.isInteger(value) && Math.trunc(multipleOf) === 0) {
    errors.push(
      fieldInvalid(path, 0, `factor MultipleOf declared for ${path} must be positive: 0`),
    );
  } else if (typeof multipleOf === 'number' && !isMultiple(value, multipleOf))
    fail(`a multiple of ${multipleOf}`);
  if (typeof maximum === 'number') {
    const most = limit(maximum, 'Maximum');
    if (exclusiveMaximum === true && value >= most) fail(`less than ${most}`);
    if (exclusiveMaximum !== true && value > most) fail(`less than or equal to ${most}`);
  }
  if (typeof minimum === 'number') {
    const least = limit(minimum, 'Minimum');
    if (exclusiveMinimum === true && value <= least) fail(`greater than ${least}`);
    if (exclusiveMinimum !== true && value < least) fail(`greater than or equal to ${least}`);
  }
  return errors;
}

/** Of a value that is held against a whole one the real server leaves the fraction out. */
const isSame = (known: Json, value: Json): boolean =>
  sameJson(
    known,
    typeof value === 'number' && typeof known === 'number' && isInt64(known)
      ? Math.trunc(value) + 0
      : value,
  );

const isInt64 = (value: number): boolean => Number.isInteger(value) && Math.abs(value) < 2 ** 63;

/**
 * The real server holds whole numbers against whole factors. What it has from a float may be a
 * little more than whole, and not a little less: 0.07 is a multiple of 0.01, 0.29 is not. swag
 * 0.23: IsFloat64AJSONInteger.
 */
const isMultiple = (value: number, of: number): boolean => {
  if (isInt64(value)) return value % Math.trunc(of) === 0;
  const quotient = of < 1 ? (1 / of) * value : value / of;
  if (Math.abs(quotient) > Number.MAX_SAFE_INTEGER) return false;
  const whole = Math.trunc(quotient);
  return quotient === whole || (whole > 0 && (quotient - whole) / (quotient + whole) < 1e-9);
};

function validateList(
  schema: Schema,
  value: readonly Json[],
  old: Json | undefined,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  const { minItems, maxItems } = schema;
  if (typeof minItems === 'number' && value.length < minItems) {
    errors.push(
      fieldInvalid(path, value.length, `${path} in body should have at least ${minItems} items`),
    );
  }
  if (typeof maxItems === 'number' && value.length > maxItems) {
    const message = `Too many: ${value.length}: must have at most ${maxItems} items`;
    errors.push({ field: path, reason: 'FieldValueTooMany', message });
  }
  const keyOf = keysOf(schema);
  const earlier = new Set<string>();
  // Only the items of a list by keys are known to be the same after an update. Of those with one
  // key the first counts.
  const was = new Map<string, Json>();
  if (keyOf !== undefined && Array.isArray(old))
    for (const item of (old as readonly Json[]).toReversed()) was.set(jsonKey(keyOf(item)), item);
  const items = schemaAt(schema, 'items');
  for (const [at, item] of value.entries()) {
    let before: Json | undefined;
    if (keyOf !== undefined) {
      const key = jsonKey(keyOf(item));
      if (earlier.has(key)) {
        const message = `Duplicate value: ${writeJson(keyOf(item))}`;
        errors.push({ field: `${path}[${at}]`, reason: 'FieldValueDuplicate', message });
      }
      earlier.add(key);
      if (isObject(item)) before = was.get(key);
    }
    if (items !== undefined) errors.push(...validate(items, item, before, `${path}[${at}]`));
  }
  return errors;
}

/** What must be different for all items; undefined: nothing must. */
function keysOf(schema: Schema): ((item: Json) => Json) | undefined {
  const keys = schema['x-kubernetes-list-map-keys'];
  if (schema['x-kubernetes-list-type'] === 'set') return (item) => item;
  if (schema['x-kubernetes-list-type'] !== 'map' || !Array.isArray(keys)) return undefined;
  return (item) =>
    Object.fromEntries(
      keys.flatMap((key) => (isObject(item) && item[key] !== undefined ? [[key, item[key]]] : [])),
    );
}

function validateMembers(
  schema: Schema,
  value: JsonObject,
  old: Json | undefined,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  const at = (name: string): string => (path === '' ? name : `${path}.${name}`);
  const count = Object.keys(value).length;
  const { minProperties, maxProperties, required } = schema;
  if (typeof minProperties === 'number' && count < minProperties) {
    errors.push(
      fieldInvalid(path, count, `${path} in body should have at least ${minProperties} properties`),
    );
  }
  if (typeof maxProperties === 'number' && count > maxProperties) {
    const message = `Too many: ${count}: must have at most ${maxProperties} items`;
    errors.push({ field: path, reason: 'FieldValueTooMany', message });
  }
  const properties = schemaAt(schema, 'properties');
  const rest = additional(schema);
  for (const name of Array.isArray(required) ? (required as readonly Json[]) : []) {
    if (ownMember(value, String(name)) === undefined)
      errors.push(fieldRequired(at(String(name)), ''));
  }
  for (const [name, member] of Object.entries(value)) {
    if (isEmbedded(schema) && ['apiVersion', 'kind', 'metadata'].includes(name)) continue;
    const property = properties === undefined ? undefined : schemaAt(properties, name);
    const of = property ?? (isObject(rest) ? rest : undefined);
    if (of === undefined || member === undefined) continue;
    errors.push(
      ...validate(of, member, isObject(old) ? ownMember(old, name) : undefined, at(name)),
    );
  }
  return errors;
}
