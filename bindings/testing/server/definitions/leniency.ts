/**
 * The rules from which an update of a CustomResourceDefinition is exempt, as the old one violated
 * them: rules that are newer than existing definitions. apiextensions-apiserver:
 * pkg/apis/apiextensions/validation (validationOptions).
 */
import { isObject, type Json, type JsonObject, memberObject } from '../json.ts';
import { prune } from '../schema/defaults.ts';
import { isEmbedded, type Schema, validationRules } from '../schema/structural.ts';
import { structuralErrors, unsupported } from './structural-check.ts';

export interface SchemaLeniency {
  /** Versions may have no schema. */
  noSchema: boolean;
  types: boolean;
  structural: boolean;
  unprunedDefaults: boolean;
  sets: boolean;
  mapKeys: boolean;
  /** The caBundle may be invalid until the definition is established. */
  caBundle: boolean;
  /** All conversionReviewVersions may be unknown. */
  reviewVersions: boolean;
  /** Rules in CEL of the old definition. */
  rules: ReadonlySet<string>;
}

export const isEstablished = (crd: JsonObject): boolean => {
  const { conditions } = memberObject(crd, 'status');
  return (
    Array.isArray(conditions) &&
    conditions.some(
      (each) => isObject(each) && each.type === 'Established' && each.status === 'True',
    )
  );
};

/** The schemas of all versions. */
export const schemasOf = (spec: JsonObject): Schema[] =>
  (Array.isArray(spec.versions) ? spec.versions : []).filter(isObject).flatMap((version) => {
    const { openAPIV3Schema } = memberObject(version, 'schema');
    return isObject(openAPIV3Schema) ? [openAPIV3Schema] : [];
  });

/** The direct subschemas. */
export function subschemas(schema: Schema): Schema[] {
  const single = ['items', 'not', 'additionalProperties', 'additionalItems'].map(
    (name) => schema[name],
  );
  const lists = ['allOf', 'anyOf', 'oneOf', 'items'].flatMap((name) =>
    Array.isArray(schema[name]) ? (schema[name] as readonly Json[]) : [],
  );
  const maps = ['properties', 'patternProperties', 'definitions', 'dependencies'].flatMap((name) =>
    Object.values(memberObject(schema, name)),
  );
  return [...single, ...lists, ...maps].filter(isObject);
}

/** Whether the schema, or one below it, satisfies the predicate. */
export const anySchema = (schema: Schema, predicate: (schema: Schema) => boolean): boolean =>
  predicate(schema) || subschemas(schema).some((each) => anySchema(each, predicate));

export const hasDefaults = (schema: Schema): boolean =>
  anySchema(schema, (each) => each.default !== undefined && each.default !== null);

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string'];

/** @param was the spec before the update; undefined: it is a create */
export function leniencyOf(spec: JsonObject, was: JsonObject | undefined): SchemaLeniency {
  const schemas = was === undefined ? [] : schemasOf(was);
  const some = (predicate: (schema: Schema) => boolean): boolean =>
    schemas.some((each) => anySchema(each, predicate));
  const versions = was !== undefined && Array.isArray(was.versions) ? was.versions : [];
  const rules = new Set<string>();
  some((schema) => {
    for (const rule of validationRules(schema)) rules.add(String(rule.rule));
    return false;
  });
  const keeps = spec.preserveUnknownFields === true;
  return {
    noSchema: schemas.length < versions.length,
    types: some(({ type }) => typeof type === 'string' && type !== '' && !TYPES.includes(type)),
    structural:
      keeps &&
      schemas.some(
        (schema) => unsupported(schema) !== undefined || structuralErrors(schema, '').length > 0,
      ),
    unprunedDefaults: some(
      (schema) =>
        schema.default !== undefined &&
        JSON.stringify(prune(schema, schema.default, isEmbedded(schema))) !==
          JSON.stringify(schema.default),
    ),
    sets: some((schema) => setItemProblem(schema) !== undefined),
    mapKeys: false,
    caBundle: was === undefined,
    reviewVersions: false,
    rules,
  };
}

/** The member by which the items of a set should be atomic, and are not. */
export function setItemProblem(schema: Schema): string | undefined {
  const { items } = schema;
  if (schema['x-kubernetes-list-type'] !== 'set' || !isObject(items)) return undefined;
  const listType = items['x-kubernetes-list-type'];
  if (items.type === 'array' && listType !== undefined && listType !== 'atomic')
    return 'x-kubernetes-list-type';
  if (items.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic')
    return 'x-kubernetes-map-type';
  return undefined;
}
