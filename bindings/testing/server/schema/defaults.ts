/**
 * Pruning and defaulting of a custom object by its schema: unknown members are removed, disallowed
 * nulls are removed by decoding, and members that are missing, or disallowed nulls, get their
 * default. apiextensions-apiserver: pkg/apiserver/schema/pruning, defaulting.
 */
import { isObject, type Json, type JsonObject } from '../json.ts';
import { additional, isEmbedded, keepsUnknown, type Schema, schemaAt } from './structural.ts';

/** @param applied the object was merged and not decoded: its nulls stay, and fail validation */
export const pruneAndDefault = (schema: Schema, object: JsonObject, applied: boolean): JsonObject =>
  withDefaults(
    schema,
    applied ? prune(schema, object, true) : pruneObject(schema, object),
  ) as JsonObject;

/**
 * Prunes without setting defaults, for an object that is served in another version than it is
 * stored in.
 */
export const pruneObject = (schema: Schema, object: JsonObject): JsonObject =>
  withoutNulls(schema, prune(schema, object, true)) as JsonObject;

const RESOURCE = ['apiVersion', 'kind', 'metadata'];

/**
 * Removes the members that the schema does not specify. Without a schema these are all members,
 * unless unknown fields are preserved.
 *
 * @param unknown called with the path of each removed member, such as `spec.list[0].x`
 */
export function prune(
  schema: Schema | undefined,
  value: Json,
  isRoot: boolean,
  unknown?: (path: string) => void,
  path = '',
): Json {
  const keeps = schema !== undefined && keepsUnknown(schema);
  if (Array.isArray(value)) {
    const items = schema === undefined ? undefined : schemaAt(schema, 'items');
    if (items === undefined && keeps) return value;
    return value.map((item: Json, at) => prune(items, item, false, unknown, `${path}[${at}]`));
  }
  if (!isObject(value)) return value;
  const properties = schemaAt(schema ?? {}, 'properties');
  const rest = additional(schema ?? {});
  const hasRest = schema?.additionalProperties !== undefined;
  const isResource = isRoot || (schema !== undefined && isEmbedded(schema));
  const kept: [string, Json | undefined][] = [];
  for (const [name, member] of Object.entries(value)) {
    const at = path === '' ? name : `${path}.${name}`;
    const property = properties === undefined ? undefined : schemaAt(properties, name);
    if (isResource && RESOURCE.includes(name)) kept.push([name, member]);
    else if (member === undefined) continue;
    else if (property !== undefined) kept.push([name, prune(property, member, false, unknown, at)]);
    else if (isObject(rest)) kept.push([name, prune(rest, member, false, unknown, at)]);
    else if (keeps) kept.push([name, member]);
    else if (hasRest) kept.push([name, prune(undefined, member, false, unknown, at)]);
    else unknown?.(at);
  }
  return Object.fromEntries(kept);
}

/** The real server ignores a default of null: Go decodes it as missing. */
const hasDefault = (schema: JsonObject): boolean =>
  schema.default !== undefined && schema.default !== null;

const isDisallowedNull = (schema: JsonObject, value: Json | undefined): boolean =>
  value === null && schema.nullable !== true;

/** Removes disallowed nulls, except those that have a default, which replaces them. */
function withoutNulls(schema: Schema, value: Json): Json {
  if (Array.isArray(value)) {
    const items = schemaAt(schema, 'items');
    return items === undefined ? value : value.map((item: Json) => withoutNulls(items, item));
  }
  if (!isObject(value)) return value;
  const properties = schemaAt(schema, 'properties') ?? {};
  const rest = additional(schema);
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      const of = schemaAt(properties, name) ?? rest;
      if (!isObject(of) || member === undefined) return [[name, member]];
      return isDisallowedNull(of, member) && !hasDefault(of)
        ? []
        : [[name, withoutNulls(of, member)]];
    }),
  );
}

/** Sets the defaults of the schema and of the schemas below it. */
export function withDefaults(schema: Schema, value: Json): Json {
  if (Array.isArray(value)) {
    const items = schemaAt(schema, 'items');
    return items === undefined ? value : value.map((item: Json) => defaultItem(items, item));
  }
  if (!isObject(value)) return value;
  const properties = Object.entries(schemaAt(schema, 'properties') ?? {});
  const members = new Map<string, Json | undefined>(Object.entries(value));
  for (const [name, property] of properties) {
    if (!isObject(property)) continue;
    const had = members.get(name);
    if (had !== undefined) members.set(name, defaultItem(property, had));
    else if (hasDefault(property))
      members.set(name, withDefaults(property, property.default as Json));
  }
  const rest = additional(schema);
  if (isObject(rest)) {
    const named = new Set(properties.map(([name]) => name));
    for (const [name, member] of members) {
      if (named.has(name) || member === undefined) continue;
      members.set(name, defaultItem(rest, member));
    }
  }
  return Object.fromEntries(members);
}

const defaultItem = (schema: Schema, item: Json): Json =>
  withDefaults(
    schema,
    isDisallowedNull(schema, item) && hasDefault(schema) ? (schema.default as Json) : item,
  );
