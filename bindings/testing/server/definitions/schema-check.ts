/**
 * Validates the schema of a CustomResourceDefinition: Kubernetes' subset of OpenAPI, then
 * structural schemas and defaults. apiextensions-apiserver: pkg/apis/apiextensions/validation
 * (ValidateCustomResourceDefinitionOpenAPISchema).
 */
import { isObject, type Json, memberObject } from '../json.ts';
import { isEmbedded, type Schema, schemaAt } from '../schema/structural.ts';
import {
  type FieldError,
  fieldForbidden,
  fieldInvalid,
  fieldNotSupported,
  fieldRequired,
} from '../status.ts';
import { defaultErrors } from './default-check.ts';
import { type SchemaLeniency, setItemProblem } from './leniency.ts';
import { ruleDefinitionErrors, ruleShapeErrors } from './rule-errors.ts';
import { structuralErrors, unsupported } from './structural-check.ts';

/** The place of a schema in the definition. */
interface Place {
  path: string;
  isRoot: boolean;
  /** The reason why a default is forbidden here. */
  noDefault?: string;
  insideMetadata: boolean;
  lenient: SchemaLeniency;
}

/** @param hasStatus the status subresource is enabled, which restricts the root of the schema */
export function schemaErrors(
  schema: Schema,
  path: string,
  hasStatus: boolean,
  lenient: SchemaLeniency,
): FieldError[] {
  const errors = hasStatus ? rootErrors(schema, path) : [];
  if (schema.nullable === true)
    errors.push(fieldForbidden(`${path}.nullable`, 'nullable cannot be true at the root'));
  const problem = unsupported(schema);
  if (!lenient.structural && problem === undefined) {
    const structural = structuralErrors(schema, path);
    errors.push(
      ...(structural.length > 0
        ? structural
        : defaultErrors(schema, path, lenient.unprunedDefaults)),
    );
  }
  const place = { path, isRoot: true, insideMetadata: false, lenient };
  errors.push(...openApiErrors(schema, place));
  // Rules are compiled only for a valid schema, which has types.
  if (errors.length === 0) errors.push(...ruleDefinitionErrors(schema, path, true, undefined));
  if (errors.length === 0 && problem !== undefined) errors.push(fieldInvalid(path, '', problem));
  return errors;
}

const AT_ROOT = new Set([
  ...['description', 'type', 'format', 'title', 'maximum', 'exclusiveMaximum', 'minimum'],
  ...['exclusiveMinimum', 'maxLength', 'minLength', 'pattern', 'maxItems', 'minItems'],
  ...['uniqueItems', 'multipleOf', 'required', 'items', 'properties', 'externalDocs', 'example'],
  ...['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-validations'],
]);
/** Members that Go validates before the type. */
const BEFORE_TYPE = ['id', '$schema', '$ref'];

function rootErrors(schema: Schema, path: string): FieldError[] {
  const names = Object.keys(schema).filter((name) => schema[name] !== undefined);
  const wrongType = schema.type !== undefined && schema.type !== 'object';
  if (wrongType && !names.some((name) => BEFORE_TYPE.includes(name))) {
    const why =
      'only "object" is allowed as the type at the root of the schema if the status subresource ' +
      'is enabled';
    return [fieldInvalid(`${path}.type`, schema.type, why)];
  }
  if (names.every((name) => AT_ROOT.has(name))) return [];
  const why =
    `only ${[...AT_ROOT].join(' ')} fields are allowed at the root of the schema if ` +
    'the status subresource is enabled';
  return [fieldInvalid(path, schema, why)];
}

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string'];

function openApiErrors(schema: Schema, place: Place): FieldError[] {
  return [
    ...standardErrors(schema, place),
    ...belowErrors(schema, place),
    ...listTypeErrors(schema, place),
    ...ruleShapeErrors(schema, place.path),
  ];
}

const UNSUPPORTED = [
  'id',
  'additionalItems',
  'patternProperties',
  'definitions',
  'dependencies',
  '$ref',
];

function standardErrors(
  schema: Schema,
  { path, noDefault, insideMetadata, lenient }: Place,
): FieldError[] {
  const errors: FieldError[] = [];
  const type = typeof schema.type === 'string' ? schema.type : '';
  if (!lenient.types && type !== '' && !TYPES.includes(type))
    errors.push(fieldNotSupported(`${path}.type`, type, TYPES));
  if (noDefault !== undefined && (schema.default ?? null) !== null)
    errors.push(fieldForbidden(`${path}.default`, `must not be set ${noDefault}`));
  for (const member of UNSUPPORTED)
    if (schema[member] !== undefined)
      errors.push(fieldForbidden(`${path}.${member}`, `${member} is not supported`));
  if (type === 'null') {
    const why = 'type cannot be set to null, use nullable as an alternative';
    errors.push(fieldForbidden(`${path}.type`, why));
  }
  if (Array.isArray(schema.items) && schema.items.length > 0) {
    const why = 'items must be a schema object and not an array';
    errors.push(fieldForbidden(`${path}.items`, why));
  }
  if (insideMetadata && isEmbedded(schema)) {
    const why = 'must not be used inside of resource meta';
    errors.push(fieldForbidden(`${path}.x-kubernetes-embedded-resource`, why));
  }
  if (schema.uniqueItems === true) {
    const why = 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic';
    errors.push(fieldForbidden(`${path}.uniqueItems`, why));
  }
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    const field = `${path}.x-kubernetes-preserve-unknown-fields`;
    errors.push(fieldInvalid(field, false, 'must be true or undefined'));
  }
  return errors;
}

const METADATA = ['metadata', 'kind', 'apiVersion'];

/** Validates the subschemas. */
function belowErrors(schema: Schema, place: Place): FieldError[] {
  const errors: FieldError[] = [];
  const { path, insideMetadata } = place;
  const visit = (at: string, value: Json | undefined, more: Partial<Place> = {}): void => {
    if (isObject(value))
      errors.push(...openApiErrors(value, { ...place, isRoot: false, ...more, path: path + at }));
  };
  const { additionalProperties } = schema;
  const properties = memberObject(schema, 'properties');
  if (additionalProperties !== undefined) {
    if (Object.keys(properties).length > 0 && additionalProperties !== true) {
      const why = 'additionalProperties and properties are mutual exclusive';
      errors.push(fieldForbidden(`${path}.additionalProperties`, why));
    }
    const noDefault = 'inside additionalProperties applying to object metadata';
    visit('.additionalProperties', additionalProperties, insideMetadata ? { noDefault } : {});
  }
  for (const [name, property] of Object.entries(properties)) {
    const inside = (place.isRoot || isEmbedded(schema)) && METADATA.includes(name);
    visit(`.properties[${name}]`, property, {
      ...(inside ? { insideMetadata: true } : {}),
      ...(inside && place.isRoot ? { noDefault: `in top-level ${name}` } : {}),
    });
  }
  visit('.not', schema.not);
  for (const member of ['allOf', 'oneOf', 'anyOf', 'items']) {
    const list = schema[member];
    for (const [at, each] of (Array.isArray(list) ? (list as readonly Json[]) : []).entries())
      visit(`.${member}[${at}]`, each);
  }
  visit('.items', schema.items);
  for (const member of ['definitions', 'dependencies'])
    for (const [name, each] of Object.entries(memberObject(schema, member)))
      visit(`.${member}[${name}]`, each);
  return errors;
}

const LIST = 'x-kubernetes-list-type';
const MAP = 'x-kubernetes-map-type';
const KEYS = 'x-kubernetes-list-map-keys';

function listTypeErrors(schema: Schema, { path, lenient }: Place): FieldError[] {
  const errors: FieldError[] = [];
  const type = typeof schema.type === 'string' ? schema.type : '';
  const needType = (why: string): void =>
    void errors.push(
      type === '' ? fieldRequired(`${path}.type`, why) : fieldInvalid(`${path}.type`, type, why),
    );
  const mapType = schema[MAP];
  if (typeof mapType === 'string') {
    if (type !== 'object') needType(`must be object if ${MAP} is specified`);
    if (mapType !== 'atomic' && mapType !== 'granular')
      errors.push(fieldNotSupported(`${path}.${MAP}`, mapType, ['atomic', 'granular']));
  }
  const listType = schema[LIST];
  const keys = Array.isArray(schema[KEYS]) ? (schema[KEYS] as readonly Json[]) : [];
  if (typeof listType === 'string') {
    const problem = setItemProblem(schema);
    if (type !== 'array') needType(`must be array if ${LIST} is specified`);
    else if (!lenient.sets && problem !== undefined) {
      const why = `must be atomic as item of a list with ${LIST}=set`;
      errors.push(fieldInvalid(`${path}.items.${problem}`, null, why));
    }
    if (!['atomic', 'set', 'map'].includes(listType))
      errors.push(fieldNotSupported(`${path}.${LIST}`, listType, ['atomic', 'set', 'map']));
  }
  if (keys.length > 0 && listType !== 'map') {
    const why = `must be map if ${KEYS} is non-empty`;
    const at = `${path}.${LIST}`;
    errors.push(
      typeof listType === 'string' ? fieldInvalid(at, listType, why) : fieldRequired(at, why),
    );
  }
  if (listType === 'map') errors.push(...mapListErrors(schema, keys, path));
  if (!lenient.mapKeys) errors.push(...keyErrors(schema, keys, path));
  return errors;
}

function mapListErrors(schema: Schema, keys: readonly Json[], path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (keys.length === 0)
    errors.push(fieldRequired(`${path}.${KEYS}`, `must not be empty if ${LIST} is map`));
  const { items } = schema;
  if (items === undefined)
    errors.push(fieldRequired(`${path}.items`, `must have a schema if ${LIST} is map`));
  else if (!isObject(items)) {
    const why = `must only have a single schema if ${LIST} is map`;
    errors.push(fieldInvalid(`${path}.items`, items, why));
  } else if (items.type !== 'object') {
    const why = `must be object if parent array's ${LIST} is map`;
    errors.push(fieldInvalid(`${path}.items.type`, items.type ?? '', why));
  } else {
    const properties = memberObject(items, 'properties');
    for (const [at, key] of keys.entries()) {
      const property = schemaAt(properties, String(key));
      if (property === undefined) {
        const why = 'entries must all be names of item properties';
        errors.push(fieldInvalid(`${path}.${KEYS}`, keys, why));
      } else if (property.type === 'array' || property.type === 'object') {
        const why = `must be a scalar type if parent array's ${LIST} is map`;
        errors.push(fieldInvalid(`${path}.items.properties[${key}].type`, items.type, why));
      }
      if (keys.indexOf(key) < at)
        errors.push(fieldInvalid(`${path}.${KEYS}`, keys, 'must not contain duplicate entries'));
    }
  }
  return errors;
}

/** List keys must be properties, and neither they nor the items may be nullable. */
function keyErrors(schema: Schema, keys: readonly Json[], path: string): FieldError[] {
  const listType = schema[LIST];
  const items = schemaAt(schema, 'items');
  if (items === undefined || (listType !== 'set' && listType !== 'map')) return [];
  const errors: FieldError[] = [];
  if (items.nullable === true) {
    const why = `cannot be nullable when ${LIST} is ${listType}`;
    errors.push(fieldForbidden(`${path}.items.nullable`, why));
  }
  if (listType === 'set') return errors;
  const required = Array.isArray(items.required) ? (items.required as readonly Json[]) : [];
  for (const key of keys) {
    const property = schemaAt(memberObject(items, 'properties'), String(key));
    if (property === undefined) continue;
    const at = `${path}.items.properties[${key}]`;
    const why = `this property is in ${KEYS}, so it`;
    if (!required.includes(key) && (property.default ?? null) === null)
      errors.push(
        fieldRequired(`${at}.default`, `${why} must have a default or be a required property`),
      );
    if (property.nullable === true)
      errors.push(fieldForbidden(`${at}.nullable`, `${why} cannot be nullable`));
  }
  return errors;
}
