/**
 * The OpenAPI of custom kinds: the pattern with other names, and the schema of the definition.
 * apiextensions-apiserver: pkg/controller/openapi/builder and v2.
 */
import { isObject, type Json, type JsonObject, memberObject, without } from '../json.ts';
import { apiVersionOf, type Kind } from '../registry/kinds.ts';
import {
  additional,
  isEmbedded,
  isIntOrString,
  keepsUnknown,
  type Schema,
  schemaAt,
} from '../schema/structural.ts';
import { CLUSTER, NAMESPACED, renamed, schemaName } from './pattern.ts';

/** A document or a part of one, as far as it is built here. */
export interface Parts {
  paths: JsonObject;
  /** `components.schemas` of version 3, `definitions` of version 2. */
  schemas: JsonObject;
}

const SCALES = ['Scale', 'ScaleSpec', 'ScaleStatus'].map((kind) =>
  schemaName({ group: 'autoscaling.api.k8s.io', version: 'v1' }, kind),
);

/**
 * The part for one kind.
 *
 * @param pattern the text of the pattern's part
 */
export function partOf(kind: Kind, pattern: Parts, v2: boolean): Parts {
  const from = kind.namespaced === false ? CLUSTER : NAMESPACED;
  const other = from === CLUSTER ? NAMESPACED : CLUSTER;
  const ofKind = (name: string): boolean => !new RegExp(`${other.plural}|${other.kind}`).test(name);
  const isServed = (path: string): boolean =>
    ofKind(path) &&
    (kind.status || !path.endsWith('/status')) &&
    (kind.scale !== undefined || !path.endsWith('/scale'));
  const isUsed = (name: string): boolean =>
    ofKind(name) && (kind.scale !== undefined || !SCALES.includes(name));
  const text = JSON.stringify({
    paths: filtered(pattern.paths, isServed),
    schemas: filtered(pattern.schemas, isUsed),
  });
  const { paths, schemas } = JSON.parse(renamed(text, from, kind)) as Parts;
  const name = schemaName(kind, kind.kind);
  const listName = schemaName(kind, kind.listKind);
  const fields = selectableFields(kind);
  return {
    paths,
    schemas: {
      ...schemas,
      [name]: { ...rootSchema(kind, memberObject(schemas, name), v2), ...fields },
      [listName]: { ...memberObject(schemas, listName), ...fields },
    },
  };
}

const filtered = (all: JsonObject, wanted: (name: string) => boolean): JsonObject =>
  Object.fromEntries(Object.entries(all).filter(([name]) => wanted(name)));

const selectableFields = ({ selectable = [] }: Kind): JsonObject =>
  some(
    'x-kubernetes-selectable-fields',
    selectable.map((fieldPath) => ({ fieldPath })),
  );

const GVK = 'x-kubernetes-group-version-kind';

/** The schema of a kind without a definition: unknown fields are preserved. */
const UNDEFINED: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

function rootSchema(kind: Kind, pattern: JsonObject, v2: boolean): JsonObject {
  const gvk: JsonObject = { [GVK]: pattern[GVK] ?? null };
  const schema = kind.definition === undefined ? UNDEFINED : kind.schema;
  if (schema === undefined || (v2 && keepsUnknown(schema))) return { type: 'object', ...gvk };
  const own = memberObject(pattern, 'properties');
  const { apiVersion = {}, kind: ofKind = {}, metadata = {} } = own;
  const described = schemaFor(schema, v2, metadata);
  return {
    ...described,
    properties: {
      ...memberObject(described, 'properties'),
      ...{ apiVersion, kind: ofKind, metadata },
    },
    ...gvk,
  };
}

const INT_OR_STRING = [{ type: 'integer' }, { type: 'string' }];
/** Members that OpenAPI v2 does not have. */
const NOT_IN_V2 = ['allOf', 'oneOf', 'anyOf', 'not', 'nullable', 'default'];

const EMBEDDED = {
  apiVersion: {
    description:
      'apiVersion defines the versioned schema of this representation of an object. More info: ' +
      'https://git.k8s.io/community/contributors/devel/sig-architecture/' +
      'api-conventions.md#resources',
    type: 'string',
  },
  kind: {
    description:
      'kind is a string value representing the type of this object. In CamelCase. More info: ' +
      'https://git.k8s.io/community/contributors/devel/sig-architecture/' +
      'api-conventions.md#types-kinds',
    type: 'string',
  },
};

/** @param metadata the schema of ObjectMeta in this version */
function schemaFor(schema: Schema, v2: boolean, metadata: Json): JsonObject {
  let result: JsonObject = v2 ? without(schema, ...NOT_IN_V2) : schema;
  if (isIntOrString(schema))
    result = v2 ? without(result, 'type') : { anyOf: INT_OR_STRING, ...without(result, 'type') };
  // Clients of v2 take a schema with properties, items or a type for closed.
  const open = v2 && (schema.nullable === true || keepsUnknown(schema));
  if (open) {
    const closes = schema.nullable === true || ['object', 'array'].includes(String(schema.type));
    result = without(result, 'properties', 'items', ...(closes ? ['type'] : []));
  }
  const properties = schemaAt(result, 'properties');
  if (properties !== undefined && Object.keys(properties).length === 0)
    result = without(result, 'properties');
  else if (properties !== undefined) {
    result = { ...result, properties: each(properties, v2, metadata) };
    const required = result.required;
    if (v2 && Array.isArray(required)) {
      const isSet = (name: Json): boolean => schemaAt(properties, String(name))?.nullable !== true;
      result = { ...without(result, 'required'), ...some('required', required.filter(isSet)) };
    }
  }
  const items = schemaAt(result, 'items');
  if (items !== undefined) result = { ...result, items: schemaFor(items, v2, metadata) };
  const rest = additional(result);
  if (isObject(rest)) {
    result = { ...result, additionalProperties: schemaFor(rest, v2, metadata) };
    if (v2 && rest.nullable === true) result = without(result, 'required');
  }
  if (!isEmbedded(schema) || (v2 && keepsUnknown(schema))) return result;
  const required = Array.isArray(result.required) ? result.required : [];
  const missing = ['kind', 'apiVersion'].filter((name) => !required.includes(name));
  return {
    ...result,
    required: [...required, ...missing],
    properties: { ...memberObject(result, 'properties'), ...EMBEDDED, metadata },
  };
}

const each = (schemas: JsonObject, v2: boolean, metadata: Json): JsonObject =>
  Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [
      name,
      isObject(schema) ? schemaFor(schema, v2, metadata) : schema,
    ]),
  );

const some = (name: string, list: readonly Json[]): JsonObject =>
  list.length === 0 ? {} : { [name]: list };

/** The name of the v3 document that describes the kind. */
export const documentName = (kind: Kind): string => `apis/${apiVersionOf(kind)}`;
