/**
 * Validates a CustomResourceDefinition. The real server validates its internal form, in which
 * members that all versions share are in the spec: hence paths such as
 * `spec.validation.openAPIV3Schema`. apiextensions-apiserver:
 * pkg/apis/apiextensions/validation/validation.go, v1/conversion.go.
 */
import { isObject, type Json, type JsonObject, memberObject, sameJson, stringAt } from '../json.ts';
import { validateApproval, validateStoredVersions } from '../registry/definitions.ts';
import { label1035, subdomain } from '../registry/names.ts';
import { selectableErrors } from '../schema/field-path.ts';
import type { Schema } from '../schema/structural.ts';
import { type FieldError, fieldInvalid, fieldNotSupported, fieldRequired } from '../status.ts';
import { conversionErrors } from './conversion.ts';
import {
  hasDefaults,
  isEstablished,
  leniencyOf,
  type SchemaLeniency,
  schemasOf,
} from './leniency.ts';
import { schemaErrors } from './schema-check.ts';

/** Members of versions that are in the internal spec if all versions have the same. */
const COMMON = ['subresources', 'schema', 'additionalPrinterColumns', 'selectableFields'] as const;
type Common = (typeof COMMON)[number];

/** The members that move from the versions into the internal spec. */
function commonOf(versions: readonly JsonObject[]): Partial<Record<Common, Json>> {
  const [first] = versions;
  if (first === undefined) return {};
  return Object.fromEntries(
    COMMON.flatMap((name) =>
      versions.every((version) => sameJson(version[name], first[name]))
        ? [[name, first[name] ?? null]]
        : [],
    ),
  );
}

/** @param old before the update; undefined: it is a create */
export function validateDefinition(crd: JsonObject, old: JsonObject | undefined): FieldError[] {
  const spec = memberObject(crd, 'spec');
  const was = old === undefined ? undefined : memberObject(old, 'spec');
  return [
    ...specErrors(spec, leniencyOf(spec, was)),
    ...(old === undefined || was === undefined ? [] : immutableErrors(spec, was, old)),
    ...namesErrors(
      memberObject(memberObject(crd, 'status'), 'acceptedNames'),
      'status.acceptedNames',
    ),
    ...validateStoredVersions(crd),
    ...validateApproval(crd, old),
    ...(spec.preserveUnknownFields === true && was?.preserveUnknownFields !== true
      ? [
          fieldInvalid(
            'spec.preserveUnknownFields',
            true,
            'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in ' +
              'spec.versions[*].schema instead',
          ),
        ]
      : []),
  ];
}

function immutableErrors(spec: JsonObject, was: JsonObject, old: JsonObject): FieldError[] {
  const [names, had] = [memberObject(spec, 'names'), memberObject(was, 'names')];
  const pairs: [field: string, now: Json | undefined, before: Json | undefined][] = [
    ['spec.group', spec.group, was.group],
    ['spec.names.plural', names.plural, had.plural],
  ];
  if (isEstablished(old))
    pairs.unshift(['spec.scope', spec.scope, was.scope], ['spec.names.kind', names.kind, had.kind]);
  return pairs.flatMap(([field, now, before]) =>
    now === before ? [] : [fieldInvalid(field, now ?? null, 'field is immutable')],
  );
}

const required = (value: Json | undefined, field: string): FieldError[] =>
  value === undefined || value === '' ? [fieldRequired(field, '')] : [];

function oneOf(value: string, field: string, known: readonly string[]): FieldError[] {
  if (value === '') return [fieldRequired(field, '')];
  return known.includes(value) ? [] : [fieldNotSupported(field, value, known)];
}

function specErrors(spec: JsonObject, lenient: SchemaLeniency): FieldError[] {
  const errors: FieldError[] = [];
  const group = stringAt(spec, 'group');
  if (group === '') errors.push(fieldRequired('spec.group', ''));
  else {
    const why = subdomain(group);
    if (why.length > 0) errors.push(fieldInvalid('spec.group', group, why.join(',')));
    else if (!group.includes('.'))
      errors.push(fieldInvalid('spec.group', group, 'should be a domain with at least one dot'));
  }
  errors.push(...oneOf(stringAt(spec, 'scope'), 'spec.scope', ['Cluster', 'Namespaced']));
  const versions = (Array.isArray(spec.versions) ? spec.versions : []).filter(isObject);
  const common = commonOf(versions);
  const keeps = spec.preserveUnknownFields === true;
  errors.push(...missingSchemas(versions, common, keeps, lenient));
  if (keeps && schemasOf(spec).some(hasDefaults)) {
    const why = 'must be false in order to use defaults in the schema';
    errors.push(fieldInvalid('spec.preserveUnknownFields', true, why));
  }
  errors.push(...versionErrors(versions, common, lenient));
  const names = memberObject(spec, 'names');
  for (const name of ['plural', 'singular', 'kind', 'listKind'])
    errors.push(...required(names[name], `spec.names.${name}`));
  errors.push(...namesErrors(names, 'spec.names'));
  const hasStatus = versions.some(statusOf);
  errors.push(...commonErrors(common, hasStatus, lenient));
  errors.push(...conversionErrors(spec, lenient));
  return errors;
}

const statusOf = (version: JsonObject): boolean =>
  isObject(memberObject(version, 'subresources').status);

function missingSchemas(
  versions: readonly JsonObject[],
  common: Partial<Record<Common, Json>>,
  keeps: boolean,
  lenient: SchemaLeniency,
): FieldError[] {
  const schemaOf = (version: JsonObject): Json | undefined =>
    memberObject(version, 'schema').openAPIV3Schema;
  if (isObject(common.schema) && common.schema.openAPIV3Schema !== undefined) return [];
  return versions.flatMap((version, at) => {
    if (schemaOf(version) !== undefined) return [];
    const field = `spec.versions[${at}].schema.openAPIV3Schema`;
    if (!lenient.noSchema) return [fieldRequired(field, '')];
    const why = 'because otherwise all fields are pruned';
    return !keeps && version.served === true ? [fieldRequired(field, why)] : [];
  });
}

function versionErrors(
  versions: readonly JsonObject[],
  common: Partial<Record<Common, Json>>,
  lenient: SchemaLeniency,
): FieldError[] {
  const errors: FieldError[] = [];
  for (const [at, version] of versions.entries()) {
    const path = `spec.versions[${at}]`;
    const name = stringAt(version, 'name');
    const why = label1035(name);
    if (why.length > 0) errors.push(fieldInvalid(`${path}.name`, name, why.join(',')));
    errors.push(...deprecationErrors(version, `${path}.deprecationWarning`));
    const own = Object.fromEntries(
      COMMON.flatMap((part) =>
        Object.hasOwn(common, part) ? [] : [[part, version[part] ?? null]],
      ),
    );
    errors.push(...partErrors(own, path, 'schema', statusOf(version), lenient));
  }
  const names = versions.map((version) => stringAt(version, 'name'));
  if (new Set(names).size < names.length)
    errors.push(fieldInvalid('spec.versions', versions, 'must contain unique version names'));
  if (versions.filter(({ storage }) => storage === true).length !== 1) {
    const why = 'must have exactly one version marked as storage version';
    errors.push(fieldInvalid('spec.versions', versions, why));
  }
  // The first version is in the internal spec as well.
  const [first = ''] = names;
  if (first !== '' && label1035(first).length > 0)
    errors.push(fieldInvalid('spec.version', first, label1035(first).join(',')));
  return errors;
}

const commonErrors = (
  common: Partial<Record<Common, Json>>,
  hasStatus: boolean,
  lenient: SchemaLeniency,
): FieldError[] => partErrors(common, 'spec', 'validation', hasStatus, lenient);

/** Validates schema, subresources, columns and selectable fields, of a version or of the spec. */
function partErrors(
  part: Partial<Record<string, Json>>,
  path: string,
  schemaName: string,
  hasStatus: boolean,
  lenient: SchemaLeniency,
): FieldError[] {
  const schema = isObject(part.schema) ? part.schema.openAPIV3Schema : undefined;
  const fields = Array.isArray(part.selectableFields) ? part.selectableFields.filter(isObject) : [];
  const columns = Array.isArray(part.additionalPrinterColumns)
    ? part.additionalPrinterColumns.filter(isObject)
    : [];
  return [
    ...(isObject(schema)
      ? schemaErrors(schema as Schema, `${path}.${schemaName}.openAPIV3Schema`, hasStatus, lenient)
      : []),
    ...(isObject(part.subresources)
      ? scaleErrors(memberObject(part, 'subresources'), `${path}.subresources`)
      : []),
    ...columns.flatMap((column, at) =>
      columnErrors(column, `${path}.additionalPrinterColumns[${at}]`),
    ),
    ...selectableErrors(fields, isObject(schema) ? schema : undefined, `${path}.selectableFields`),
  ];
}

function deprecationErrors(version: JsonObject, field: string): FieldError[] {
  const { deprecationWarning: warning } = version;
  if (typeof warning !== 'string') return [];
  if (version.deprecated !== true)
    return [fieldInvalid(field, warning, 'can only be set for deprecated versions')];
  const wrong: string[] = [];
  if (Buffer.byteLength(warning) > 256) wrong.push('must be <= 256 characters long');
  if (warning === '') wrong.push('must not be an empty string');
  if (/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(warning))
    wrong.push('must only contain printable UTF-8 characters');
  return wrong.map((why) => fieldInvalid(field, warning, why));
}

/** Validates the requested or the accepted names. */
function namesErrors(names: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const check = (name: string, field: string, mixed = false): void => {
    const why = label1035(mixed ? name.toLowerCase() : name);
    if (why.length === 0) return;
    const also = mixed ? 'may have mixed case, but should otherwise match: ' : '';
    errors.push(fieldInvalid(`${path}.${field}`, name, also + why.join(',')));
  };
  for (const member of ['plural', 'singular', 'kind', 'listKind']) {
    const name = stringAt(names, member);
    if (name !== '') check(name, member, member === 'kind' || member === 'listKind');
  }
  for (const member of ['shortNames', 'categories']) {
    const list = names[member];
    for (const [at, name] of (Array.isArray(list) ? (list as readonly Json[]) : []).entries())
      check(String(name), `${member}[${at}]`);
  }
  const { kind, listKind } = names;
  if (typeof kind === 'string' && kind !== '' && kind === listKind)
    errors.push(fieldInvalid(`${path}.listKind`, kind, 'kind and listKind may not be the same'));
  return errors;
}

const COLUMN_TYPES = ['boolean', 'date', 'integer', 'number', 'string'];
const COLUMN_FORMATS = [
  'byte',
  'date',
  'date-time',
  'double',
  'float',
  'int32',
  'int64',
  'password',
];

function columnErrors(column: JsonObject, path: string): FieldError[] {
  const errors = required(column.name, `${path}.name`);
  const type = stringAt(column, 'type');
  const oneOfTypes = `must be one of ${COLUMN_TYPES.join(',')}`;
  if (type === '') errors.push(fieldRequired(`${path}.type`, oneOfTypes));
  else if (!COLUMN_TYPES.includes(type))
    errors.push(fieldInvalid(`${path}.type`, type, oneOfTypes));
  const format = stringAt(column, 'format');
  if (format !== '' && !COLUMN_FORMATS.includes(format)) {
    const why = `must be one of ${COLUMN_FORMATS.join(',')}`;
    errors.push(fieldInvalid(`${path}.format`, format, why));
  }
  const jsonPath = stringAt(column, 'jsonPath');
  if (jsonPath === '') errors.push(fieldRequired(`${path}.JSONPath`, ''));
  else errors.push(...pathErrors(jsonPath, `${path}.JSONPath`));
  return errors;
}

const pathErrors = (path: string, field: string): FieldError[] =>
  path.startsWith('.')
    ? []
    : [fieldInvalid(field, path, 'must be a simple json path starting with .')];

function scaleErrors({ scale }: JsonObject, path: string): FieldError[] {
  if (!isObject(scale)) return [];
  const errors: FieldError[] = [];
  const check = (member: string, starts: readonly string[], isRequired: boolean): void => {
    const field = `${path}.scale.${member}`;
    const value = stringAt(scale, member);
    if (value === '') {
      if (isRequired) errors.push(fieldRequired(field, ''));
      return;
    }
    const wrong = pathErrors(value, field);
    errors.push(...wrong);
    if (wrong.length === 0 && !starts.some((start) => value.startsWith(`${start}.`)))
      errors.push(fieldInvalid(field, value, `should be a json path under ${starts.join(' or ')}`));
  };
  check('specReplicasPath', ['.spec'], true);
  check('statusReplicasPath', ['.status'], true);
  check('labelSelectorPath', ['.spec', '.status'], false);
  return errors;
}
