/**
 * Finds duplicate items in lists that are sets or maps by keys. apiextensions-apiserver:
 * pkg/apiserver/schema/listtype.
 */
import { isObject, type Json, jsonKey, writeJson } from '../json.ts';
import { type FieldError, fieldInvalid } from '../status.ts';
import { additional, type Schema, schemaAt } from './structural.ts';
import { mapKeyOf, mapKeys } from './validate.ts';

export function duplicateItems(schema: Schema, value: Json, path = ''): FieldError[] {
  if (Array.isArray(value)) {
    const items = schemaAt(schema, 'items');
    const below =
      items === undefined
        ? []
        : value.flatMap((item: Json, at) => duplicateItems(items, item, `${path}[${at}]`));
    return [...ofList(schema, value, path), ...below];
  }
  if (!isObject(value)) return [];
  const properties = schemaAt(schema, 'properties') ?? {};
  const rest = additional(schema);
  return Object.entries(value).flatMap(([name, member]) => {
    const property = schemaAt(properties, name);
    if (member === undefined) return [];
    if (property !== undefined)
      return duplicateItems(property, member, path === '' ? name : `${path}.${name}`);
    return isObject(rest) ? duplicateItems(rest, member, `${path}[${name}]`) : [];
  });
}

function ofList(schema: Schema, list: readonly Json[], path: string): FieldError[] {
  const keys = mapKeys(schema);
  if (keys !== undefined) {
    const wrong = list.findIndex((item) => item !== null && !isObject(item));
    if (wrong >= 0) {
      const why = 'must be an object for an array of list-type map';
      return [fieldInvalid(`${path}[${wrong}]`, list[wrong], why)];
    }
  } else if (schema['x-kubernetes-list-type'] !== 'set') return [];
  const seen = new Map<string, number>();
  return list.flatMap((item, at) => {
    const key: Json = keys === undefined ? item : mapKeyOf(keys, item);
    const text = jsonKey(key);
    const times = (seen.get(text) ?? 0) + 1;
    seen.set(text, times);
    // A third occurrence is not reported again.
    if (times !== 2) return [];
    const message = `Duplicate value: ${writeJson(key)}`;
    return [{ field: `${path}[${at}]`, reason: 'FieldValueDuplicate', message } as const];
  });
}
