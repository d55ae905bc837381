/**
 * What a custom object is made into by its schema: members that it does not know go (pruning), those that have a default and are not
 * there get it, and null where it is not allowed counts as not there.
 * apiextensions-apiserver: pkg/apiserver/schema/pruning, defaulting.
 */
import { isObject, type Json, type JsonObject } from '../json.ts';
import { additional, isEmbedded, keepsUnknown, type Schema, schemaAt } from './structural.ts';

/** @param root of the object itself, whose metadata the server knows */
export function structured(schema: Schema, object: JsonObject): JsonObject {
  return withDefaults(schema, prune(schema, object, true)) as JsonObject;
}

const RESOURCE = ['apiVersion', 'kind', 'metadata'];

/** @param unknown is told the paths of what goes, such as `spec.list[0].x` */
export function prune(schema: Schema, value: Json, isRoot: boolean, unknown?: (path: string) => void, path = ''): Json {
  if (Array.isArray(value)) {
    const items = schemaAt(schema, 'items');
    if (items === undefined) return value;
    return value.map((item: Json, at) => prune(items, item, false, unknown, `${path}[${at}]`));
  }
  if (!isObject(value)) return value;
  const properties = schemaAt(schema, 'properties');
  const rest = additional(schema);
  const isResource = isRoot || isEmbedded(schema);
  const kept: [string, Json | undefined][] = [];
  for (const [name, member] of Object.entries(value)) {
    const at = path === '' ? name : `${path}.${name}`;
    const property = properties === undefined ? undefined : schemaAt(properties, name);
    if (isResource && RESOURCE.includes(name)) kept.push([name, member]);
    else if (member === undefined) continue;
    else if (property !== undefined) kept.push([name, prune(property, member, false, unknown, at)]);
    else if (isObject(rest)) kept.push([name, prune(rest, member, false, unknown, at)]);
    else if (rest === true || keepsUnknown(schema)) kept.push([name, member]);
    else unknown?.(at);
  }
  return Object.fromEntries(kept);
}

/** A default of null is none to the real server: Go reads it as absent. */
const hasDefault = (schema: JsonObject): boolean => schema.default !== undefined && schema.default !== null;

/** The value with the defaults of its schema, and of what lies below. */
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
    const absent = had === undefined || (had === null && property.nullable !== true && hasDefault(property));
    if (absent && hasDefault(property)) members.set(name, withDefaults(property, property.default as Json));
    else if (had === null && property.nullable !== true) members.delete(name);
    else if (had !== undefined) members.set(name, withDefaults(property, had));
  }
  const rest = additional(schema);
  if (isObject(rest)) {
    const named = new Set(properties.map(([name]) => name));
    for (const [name, member] of members) {
      if (named.has(name) || member === undefined) continue;
      if (member === null && rest.nullable !== true && !hasDefault(rest)) members.delete(name);
      else members.set(name, defaultItem(rest, member));
    }
  }
  return Object.fromEntries(members);
}

const defaultItem = (schema: Schema, item: Json): Json =>
  item === null && schema.nullable !== true && hasDefault(schema)
    ? withDefaults(schema, schema.default as Json)
    : withDefaults(schema, item);
