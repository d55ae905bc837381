/**
 * Validates that a schema is structural: every field has one type, outside of allOf, anyOf, oneOf
 * and not. apiextensions-apiserver: pkg/apiserver/schema/validation.go, complete.go, convert.go.
 */
import { isObject, type Json, type JsonObject, memberObject, sameJson } from '../json.ts';
import {
  isEmbedded,
  isIntOrString,
  keepsUnknown,
  type Schema,
  schemaAt,
} from '../schema/structural.ts';
import { type FieldError, fieldForbidden, fieldInvalid, fieldRequired } from '../status.ts';

type Level = 'root' | 'items' | 'fields';

const listOf = (schema: Schema, member: string): Schema[] => {
  const list = schema[member];
  return Array.isArray(list) ? list.filter(isObject) : [];
};

const isSet = (value: Json | undefined): boolean =>
  value !== undefined &&
  value !== null &&
  value !== '' &&
  value !== false &&
  !(typeof value === 'object' && Object.keys(value).length === 0);

/** The error of a member that no structural schema can have; undefined: none. */
export function unsupported(schema: Schema): string | undefined {
  for (const member of [
    'id',
    '$schema',
    '$ref',
    'patternProperties',
    'dependencies',
    'definitions',
  ])
    if (isSet(schema[member]))
      return `OpenAPIV3Schema '${member.replace('$schema', 'schema')}' is not supported`;
  if (schema.additionalItems !== undefined)
    return "OpenAPIV3Schema 'additionalItems' is not supported";
  if (schema['x-kubernetes-preserve-unknown-fields'] === false)
    return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
  if (Array.isArray(schema.items) && schema.items.length > 0)
    return "OpenAPIV3Schema 'items' must be a schema, but is an array";
  const members = [
    ...['items', 'not', 'additionalProperties'].map((name) => schema[name]),
    ...['allOf', 'anyOf', 'oneOf'].flatMap((name) => listOf(schema, name)),
    ...Object.values(memberObject(schema, 'properties')),
  ];
  for (const member of members) {
    const why = isObject(member) ? unsupported(member) : undefined;
    if (why !== undefined) return why;
  }
  return undefined;
}

export const structuralErrors = (schema: Schema, path: string): FieldError[] => [
  ...invariants(schema, 'root', path),
  ...completeness(schema, schema, path, path),
];

const INT_OR_STRING: Json = [{ type: 'integer' }, { type: 'string' }];

function invariants(schema: Schema, level: Level, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const items = schemaAt(schema, 'items');
  const type = typeof schema.type === 'string' ? schema.type : '';
  if (type === 'array' && items === undefined)
    errors.push(fieldRequired(`${path}.items`, 'must be specified'));
  if (items !== undefined) errors.push(...invariants(items, 'items', `${path}.items`));
  const properties = memberObject(schema, 'properties');
  for (const [name, property] of Object.entries(properties))
    if (isObject(property))
      errors.push(...invariants(property, 'fields', `${path}.properties[${name}]`));
  const { additionalProperties } = schema;
  if (additionalProperties !== undefined) {
    const at = `${path}.additionalProperties`;
    if (level === 'root') errors.push(fieldForbidden(at, 'must not be used at the root'));
    if (isObject(additionalProperties))
      errors.push(...invariants(additionalProperties, 'fields', at));
  }
  const intOrString = isIntOrString(schema);
  const [keeps, embedded] = [keepsUnknown(schema), isEmbedded(schema)];
  for (const [name, has] of [
    ['x-kubernetes-preserve-unknown-fields', keeps],
    ['x-kubernetes-embedded-resource', embedded],
  ] as const)
    if (intOrString && has) {
      const why = 'must be false if x-kubernetes-int-or-string is true';
      errors.push(fieldInvalid(`${path}.${name}`, true, why));
    }
  const first = listOf(schema, 'allOf')[0] ?? {};
  errors.push(
    ...valueErrors(
      schema,
      path,
      sameJson(schema.anyOf, INT_OR_STRING),
      sameJson(first.anyOf, INT_OR_STRING),
    ),
  );
  if (embedded && type !== 'object') {
    const why = 'must be object if x-kubernetes-embedded-resource is true';
    errors.push(
      type === '' ? fieldRequired(`${path}.type`, why) : fieldInvalid(`${path}.type`, type, why),
    );
  } else if (type === '' && !intOrString && !keeps) {
    const where = {
      root: 'at the root',
      items: 'for specified array items',
      fields: 'for specified object fields',
    };
    errors.push(fieldRequired(`${path}.type`, `must not be empty ${where[level]}`));
  }
  if (embedded && additionalProperties !== undefined) {
    const why = 'must not be used if x-kubernetes-embedded-resource is set';
    errors.push(fieldForbidden(`${path}.additionalProperties`, why));
  }
  if (level === 'root' && type !== '' && type !== 'object')
    errors.push(fieldInvalid(`${path}.type`, type, 'must be object at the root'));
  errors.push(...metadataRules(properties, level, embedded, path));
  if (embedded && !keeps && Object.keys(properties).length === 0) {
    const why =
      'must not be empty if x-kubernetes-embedded-resource is true without ' +
      'x-kubernetes-preserve-unknown-fields';
    errors.push(fieldRequired(`${path}.properties`, why));
  }
  return errors;
}

/**
 * apiVersion and kind must be strings; of metadata at the root only name and generateName may be
 * restricted.
 */
function metadataRules(
  properties: JsonObject,
  level: Level,
  embedded: boolean,
  path: string,
): FieldError[] {
  if (level !== 'root' && !embedded) return [];
  const errors: FieldError[] = [];
  const need = (name: string, type: string): void => {
    const property = properties[name];
    if (!isObject(property) || property.type === type) return;
    const at = `${path}.properties[${name}].type`;
    errors.push(fieldInvalid(at, property.type ?? '', `must be ${type}`));
  };
  need('kind', 'string');
  need('apiVersion', 'string');
  need('metadata', 'object');
  const { metadata } = properties;
  if (level !== 'root' || !isObject(metadata)) return errors;
  const names = Object.keys(memberObject(metadata, 'properties'));
  const onlyNames = names.every((name) => name === 'name' || name === 'generateName');
  const more = Object.entries(metadata).some(
    ([name, value]) => !['type', 'default', 'properties'].includes(name) && isSet(value),
  );
  if (!onlyNames || more) {
    const why =
      'must not specify anything other than name and generateName, but metadata is implicitly ' +
      'specified';
    errors.push(fieldForbidden(`${path}.properties[metadata]`, why));
  }
  return errors;
}

/** @param skipAnyOf @param skipAllOf ignore those of an int-or-string */
function valueErrors(
  schema: Schema,
  path: string,
  skipAnyOf: boolean,
  skipAllOf: boolean,
): FieldError[] {
  const errors: FieldError[] = [];
  const nested = (member: string, skip: (at: number) => boolean = () => false): void => {
    for (const [at, each] of listOf(schema, member).entries())
      errors.push(...nestedErrors(each, `${path}.${member}[${at}]`, skip(at)));
  };
  if (!skipAnyOf) nested('anyOf');
  nested('allOf', (at) => skipAllOf && at === 0);
  nested('oneOf');
  if (isObject(schema.not)) errors.push(...nestedErrors(schema.not, `${path}.not`, false));
  const { pattern } = schema;
  if (typeof pattern === 'string' && pattern !== '' && !isPattern(pattern)) {
    const why = `must be a valid regular expression, but isn't`;
    errors.push(fieldInvalid(`${path}.pattern`, pattern, why));
  }
  return errors;
}

/**
 * Whether RE2 would compile the pattern, nearly: JavaScript's syntax without back-references and
 * look-around.
 */
function isPattern(pattern: string): boolean {
  if (/\(\?(?:[=!]|<[=!])|\\[1-9]/.test(pattern.replaceAll('\\\\', ''))) return false;
  const plain = pattern
    .replaceAll(/\\(?:[AzQE]|pN)/g, '')
    .replaceAll(/\[\[:\^?\w+:\]\]/g, 'x')
    .replaceAll(/\(\?[imsU-]+\)/g, '')
    .replaceAll(/\(\?[imsU-]*:/g, '(?:')
    .replaceAll('(?P<', '(?<');
  try {
    new RegExp(plain);
    return true;
  } catch {
    return false;
  }
}

const EMPTY = [
  'type',
  'title',
  'description',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-validations',
];
const FALSE = [
  'nullable',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-int-or-string',
];
const UNDEFINED = ['default', 'x-kubernetes-list-type', 'x-kubernetes-map-type'];

/** Schemas in allOf, anyOf, oneOf and not may only restrict values. */
function nestedErrors(schema: Schema, path: string, skipAnyOf: boolean): FieldError[] {
  const errors = valueErrors(schema, path, skipAnyOf, false);
  const items = schemaAt(schema, 'items');
  if (items !== undefined) errors.push(...nestedErrors(items, `${path}.items`, false));
  const properties = memberObject(schema, 'properties');
  for (const [name, property] of Object.entries(properties))
    if (isObject(property))
      errors.push(...nestedErrors(property, `${path}.properties[${name}]`, false));
  if (schema.additionalProperties !== undefined && schema.additionalProperties !== false)
    errors.push(
      fieldForbidden(`${path}.additionalProperties`, 'must be undefined to be structural'),
    );
  for (const [members, must] of [
    [EMPTY, 'empty'],
    [FALSE, 'false'],
    [UNDEFINED, 'undefined'],
  ] as const)
    for (const member of members)
      if (isSet(schema[member]) || (must === 'undefined' && (schema[member] ?? null) !== null))
        errors.push(fieldForbidden(`${path}.${member}`, `must be ${must} to be structural`));
  if (Object.hasOwn(properties, 'metadata')) {
    const why = 'must not be specified in a nested context';
    errors.push(fieldForbidden(`${path}.properties[metadata]`, why));
  }
  return errors;
}

/**
 * Requires that fields restricted in allOf, anyOf, oneOf and not are also specified outside of
 * them.
 */
function completeness(value: Schema, schema: Schema, path: string, from: string): FieldError[] {
  const nested: [Schema, string][] = ['allOf', 'anyOf', 'oneOf'].flatMap((member) =>
    listOf(value, member).map((each, at): [Schema, string] => [each, `${from}.${member}[${at}]`]),
  );
  if (isObject(value.not)) nested.push([value.not, `${from}.not`]);
  return nested.flatMap(([each, at]) => nestedCompleteness(each, schema, path, at));
}

function nestedCompleteness(
  value: Schema,
  schema: Schema | undefined,
  path: string,
  from: string,
): FieldError[] {
  if (schema === undefined) return [fieldRequired(path, `because it is defined in ${from}`)];
  const errors = completeness(value, schema, path, from);
  const items = schemaAt(value, 'items');
  if (items !== undefined) {
    const of = schemaAt(schema, 'items');
    errors.push(...nestedCompleteness(items, of, `${path}.items`, `${from}.items`));
  }
  const known = memberObject(schema, 'properties');
  for (const [name, property] of Object.entries(memberObject(value, 'properties'))) {
    const step = `.properties[${name}]`;
    if (!isObject(property)) continue;
    errors.push(...nestedCompleteness(property, schemaAt(known, name), path + step, from + step));
  }
  return errors;
}
