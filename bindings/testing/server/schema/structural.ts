/**
 * The structural schema (openAPIV3Schema) of a custom resource, and the type that it gives for
 * merging: lists are atomic and maps are merged, unless `x-kubernetes-list-type` and
 * `x-kubernetes-map-type` say otherwise.
 */

import {
  type Atom,
  anyJson,
  type Field,
  type ListType,
  scalarOf,
} from '../../../apimachinery/atoms.ts';
import { typeNamed } from '../../../apimachinery/built-in.ts';
import { isObject, type Json, type JsonObject, ownMember } from '../json.ts';

/** A schema: OpenAPI's JSON Schema with Kubernetes' extensions. */
export type Schema = JsonObject;

export const schemaAt = (schema: Schema, member: string): Schema | undefined => {
  const value = ownMember(schema, member);
  return isObject(value) ? value : undefined;
};

export const keepsUnknown = (schema: Schema): boolean =>
  schema['x-kubernetes-preserve-unknown-fields'] === true;
export const isEmbedded = (schema: Schema): boolean =>
  schema['x-kubernetes-embedded-resource'] === true;
export const isIntOrString = (schema: Schema): boolean =>
  schema['x-kubernetes-int-or-string'] === true;

/**
 * The schema of members that are not in `properties`; true: any value; undefined: there are none.
 */
export function additional(schema: Schema): Schema | true | undefined {
  const value = schema.additionalProperties;
  return isObject(value) ? value : value === true ? true : undefined;
}

/** The rules in CEL of a schema. */
export const validationRules = (schema: Schema): JsonObject[] => {
  const rules = schema['x-kubernetes-validations'];
  return Array.isArray(rules) ? rules.filter(isObject) : [];
};

/** The type of a custom kind's objects; without a schema any member is allowed. */
export function customType(schema: Schema | undefined): Atom {
  return objectType(
    schema ?? { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    true,
  );
}

/** Formats of strings that merging treats as strings; other formats are any scalar. */
const STRING_FORMATS = ['', 'byte'];

function typeOf(schema: Schema): Atom {
  if (isIntOrString(schema)) return anyJson;
  switch (schema.type) {
    case 'object':
      return objectType(schema, isEmbedded(schema));
    case 'array':
      return { list: listType(schema) };
    case 'string':
      // kube-openapi: schemaconv/openapi.go convertPrimitive.
      return scalarOf(STRING_FORMATS.includes(String(schema.format ?? '')) ? 'string' : 'any');
    case 'integer':
    case 'number':
      return scalarOf('numeric');
    case 'boolean':
      return scalarOf('boolean');
    default:
      return anyJson;
  }
}

const lazy = (schema: Schema): (() => Atom) => {
  let atom: Atom | undefined;
  return () => {
    atom ??= typeOf(schema);
    return atom;
  };
};

function objectType(schema: Schema, isResource: boolean): Atom {
  const fields = new Map<string, Field>();
  for (const [name, property] of Object.entries(schemaAt(schema, 'properties') ?? {})) {
    if (!isObject(property)) continue;
    const fallback: Json | undefined = property.default;
    fields.set(name, {
      type: lazy(property),
      code: String(property.type ?? ''),
      ...(fallback === undefined ? {} : { fallback }),
    });
  }
  if (isResource) {
    for (const name of ['apiVersion', 'kind'])
      fields.set(name, { type: () => scalarOf('string'), code: 's' });
    fields.set('metadata', { type: () => typeNamed('ObjectMeta'), code: 'ObjectMeta' });
  }
  const rest = additional(schema);
  const values =
    keepsUnknown(schema) || rest === true
      ? () => anyJson
      : rest === undefined
        ? undefined
        : lazy(rest);
  const atomic = schema['x-kubernetes-map-type'] === 'atomic';
  return { map: { field: (name) => fields.get(name), values, atomic } };
}

function listType(schema: Schema): ListType {
  const items = lazy(schemaAt(schema, 'items') ?? {});
  const keys = schema['x-kubernetes-list-map-keys'];
  switch (schema['x-kubernetes-list-type']) {
    case 'set':
      return { items, merge: 'set' };
    case 'map':
      return {
        items,
        merge: Array.isArray(keys) ? keys.filter((key) => typeof key === 'string') : [],
      };
    default:
      return { items, merge: 'atomic' };
  }
}
