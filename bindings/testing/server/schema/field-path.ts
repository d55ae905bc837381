/**
 * The selectable fields of a custom resource, and field paths in a schema. apiextensions-apiserver:
 * pkg/apiserver/schema/cel/validation.go (ValidFieldPath).
 */
import { isObject, type JsonObject, stringAt } from '../json.ts';
import { type FieldError, fieldInvalid, fieldRequired } from '../status.ts';
import { additional, isEmbedded, type Schema, schemaAt } from './structural.ts';

const MOST_FIELDS = 8;

export interface FieldPath {
  steps: string[];
  schema: Schema | undefined;
}

/** Resolves the path `.spec.list[0]['x']` in a schema. A string is the error. */
export function fieldPath(path: string, root: Schema, lists: boolean): FieldPath | string {
  const parts = [...path.matchAll(/\.([^.[\]]*)|\[(?:(\d+)|'((?:[^'\\]|\\.)*)')\]|([\s\S])/g)];
  let schema: Schema | undefined = root;
  const steps: string[] = [];
  if (parts.length === 0) return 'must not be empty';
  for (const [at, [, name, index, quoted, rest]] of parts.entries()) {
    if (rest !== undefined) return `unexpected ${JSON.stringify(rest)}`;
    if (schema === undefined) return 'does not refer to a valid field';
    if (index !== undefined) {
      if (!lists) return 'array notation is not allowed';
      schema = schemaAt(schema, 'items');
      steps.push(`[${index}]`);
    } else {
      const member = name ?? quoted?.replaceAll(/\\(.)/g, '$1') ?? '';
      if (name !== undefined && !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return 'is no identifier';
      const isResource = at === 0 || isEmbedded(schema);
      const rest: Schema | true | undefined = additional(schema);
      const found: Schema | undefined =
        schemaAt(schemaAt(schema, 'properties') ?? {}, member) ??
        (isResource && isMetadata(member)
          ? { type: member === 'metadata' ? 'object' : 'string' }
          : undefined) ??
        (isObject(rest) ? rest : undefined);
      if (found === undefined && steps[0] !== 'metadata') return 'does not refer to a valid field';
      schema = found ?? { type: 'string' };
      steps.push(member);
    }
  }
  return { steps, schema };
}

const isMetadata = (member: string): boolean =>
  member === 'apiVersion' || member === 'kind' || member === 'metadata';

export function selectableErrors(
  fields: readonly JsonObject[],
  schema: Schema | undefined,
  path: string,
): FieldError[] {
  if (fields.length === 0) return [];
  if (schema === undefined)
    return [
      fieldInvalid(
        path,
        '',
        'may only be set when `version.schema.openAPIV3Schema` is not included',
      ),
    ];
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [at, field] of fields.entries()) {
    const place = `${path}[${at}].jsonPath`;
    const jsonPath = stringAt(field, 'jsonPath');
    if (jsonPath === '') {
      errors.push(fieldRequired(place, ''));
      continue;
    }
    const found = fieldPath(jsonPath, schema, false);
    if (typeof found === 'string') {
      errors.push(fieldInvalid(place, jsonPath, `is an invalid path: ${found}`));
      continue;
    }
    if (found.steps[0] === 'metadata')
      errors.push(fieldInvalid(place, jsonPath, 'must not point to fields in metadata'));
    if (!['string', 'boolean', 'integer'].includes(String(found.schema?.type))) {
      const why =
        'must point to a field of type string, boolean or integer. Enum string fields and ' +
        'strings with formats are allowed.';
      errors.push(fieldInvalid(place, jsonPath, why));
    }
    const key = found.steps.join('.');
    if (seen.has(key)) {
      const message = `Duplicate value: ${JSON.stringify(jsonPath)}`;
      errors.push({ field: place, reason: 'FieldValueDuplicate', message });
    }
    seen.add(key);
  }
  if (seen.size > MOST_FIELDS) {
    const message = `Too many: ${seen.size}: must have at most ${MOST_FIELDS} items`;
    errors.push({ field: path, reason: 'FieldValueTooMany', message });
  }
  return errors;
}
