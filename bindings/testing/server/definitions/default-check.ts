/**
 * Validates the defaults in a schema: they must be valid by the schema and have no unknown fields.
 * apiextensions-apiserver: pkg/apiserver/schema/defaulting/validation.go.
 */
import { isObject, type Json, type JsonObject, memberObject, sameJson } from '../json.ts';
import { embeddedErrors, resourceErrors } from '../registry/embedded-resources.ts';
import { prune } from '../schema/defaults.ts';
import { isEmbedded, type Schema, schemaAt } from '../schema/structural.ts';
import { validateObject } from '../schema/validate.ts';
import { type FieldError, fieldInvalid } from '../status.ts';

/**
 * @param unpruned defaults may have unknown fields, as the definition had them before the update
 */
export const defaultErrors = (schema: Schema, path: string, unpruned: boolean): FieldError[] =>
  walk({ ...schema, 'x-kubernetes-embedded-resource': true }, path, {
    unpruned,
    embed: undefined,
  });

interface Walk {
  unpruned: boolean;
  /**
   * Within apiVersion, kind and metadata: makes the embedded resource that has the value there.
   */
  embed: ((value: Json) => JsonObject) | undefined;
}

function walk(schema: Schema, path: string, { unpruned, embed }: Walk): FieldError[] {
  const embedded = isEmbedded(schema);
  const inside = embedded ? undefined : embed;
  const value = schema.default;
  const errors: FieldError[] = [];
  if (value !== undefined && value !== null)
    errors.push(...errorsOfDefault(schema, value, `${path}.default`, unpruned, inside));
  const items = schemaAt(schema, 'items');
  if (items !== undefined) {
    const further = inside && ((item: Json) => inside([item]));
    errors.push(...walk(items, `${path}.items`, { unpruned, embed: further }));
  }
  for (const [name, property] of Object.entries(memberObject(schema, 'properties'))) {
    if (!isObject(property)) continue;
    const further = (member: Json): JsonObject =>
      inside === undefined
        ? { apiVersion: 'validation/v1', kind: 'Validation', [name]: member }
        : inside({ [name]: member });
    const isMeta = embedded && ['metadata', 'apiVersion', 'kind'].includes(name);
    const next = isMeta || inside !== undefined ? further : undefined;
    errors.push(...walk(property, `${path}.properties[${name}]`, { unpruned, embed: next }));
  }
  return errors;
}

function errorsOfDefault(
  schema: Schema,
  value: Json,
  path: string,
  unpruned: boolean,
  embed: ((value: Json) => JsonObject) | undefined,
): FieldError[] {
  const own = (): FieldError[] =>
    validateObject(schema, value, undefined).map((error) => ({
      ...error,
      field: error.field === '<nil>' || error.field === '' ? path : `${path}.${error.field}`,
    }));
  if (embed !== undefined) {
    const wrong = resourceErrors(embed(value), '');
    if (wrong.length > 0) return [fieldInvalid(path, value, 'must result in valid metadata')];
    return own();
  }
  const errors: FieldError[] = [];
  if (!unpruned && !sameJson(prune(schema, value, isEmbedded(schema)), value))
    errors.push(fieldInvalid(path, value, 'must not have unknown fields'));
  const resources = embeddedErrors(schema, value, path);
  return [...errors, ...(resources.length > 0 ? resources : own())];
}
