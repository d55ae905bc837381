/**
 * Validates a custom object by the rules in CEL of its definition. apiextensions-apiserver:
 * pkg/apiserver/schema/cel/validation.go. The cost of rules is not limited.
 */

import {
  isObject,
  type Json,
  jsonKey,
  memberObject,
  ownMember,
  sameJson,
  stringAt,
} from '../json.ts';
import { fieldPath } from '../schema/field-path.ts';
import { additional, type Schema, schemaAt } from '../schema/structural.ts';
import { mapKeyOf, mapKeys } from '../schema/validate.ts';
import { type FieldError, fieldForbidden, fieldInvalid, fieldRequired } from '../status.ts';
import { type CompiledRule, compileRules } from './compile.ts';

const NO_FIELD = '<nil>';

/** @param old before an update; undefined: it is a create */
export const evaluateRules = (schema: Schema, value: Json, old: Json | undefined): FieldError[] =>
  walk(schema, value, old, '', true);

/** By the rules of a schema itself, without those of the schemas below it, of a new value. */
export const evaluateOwnRules = (schema: Schema, value: Json, isRoot: boolean): FieldError[] =>
  value === null
    ? []
    : compileRules(schema, isRoot).flatMap((rule) =>
        evaluateRule(rule, schema, value, undefined, ''),
      );

/**
 * The error that rules were not evaluated, because of other errors of the object; otherwise none.
 */
export const uncheckedRules = (errors: readonly FieldError[]): FieldError[] =>
  errors.some(({ reason }) => BLOCKING_REASONS.includes(reason))
    ? [
        fieldInvalid(
          NO_FIELD,
          null,
          'some validation rules were not checked because the object was invalid; correct the ' +
            'existing errors to complete validation',
        ),
      ]
    : [];

const BLOCKING_REASONS: readonly string[] = [
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
];

/** Whether there are rules in the schema. */
export function hasRules(schema: Schema): boolean {
  let known = withRules.get(schema);
  if (known === undefined) {
    const rest = additional(schema);
    const below = [
      ...Object.values(memberObject(schema, 'properties')),
      schema.items ?? null,
      rest ?? null,
    ];
    known =
      schema['x-kubernetes-validations'] !== undefined ||
      below.some((each) => isObject(each) && hasRules(each));
    withRules.set(schema, known);
  }
  return known;
}

const withRules = new WeakMap<Schema, boolean>();

function walk(
  schema: Schema,
  value: Json,
  old: Json | undefined,
  path: string,
  isRoot: boolean,
): FieldError[] {
  if (value === null || !hasRules(schema)) return [];
  const errors = compileRules(schema, isRoot).flatMap((rule) =>
    evaluateRule(rule, schema, value, old, path),
  );
  if (Array.isArray(value)) {
    const items = schemaAt(schema, 'items');
    const keys = mapKeys(schema);
    if (items === undefined) return errors;
    const was = new Map<string, Json>();
    if (keys !== undefined && Array.isArray(old))
      for (const each of old as readonly Json[]) was.set(jsonKey(mapKeyOf(keys, each)), each);
    for (const [at, item] of value.entries()) {
      const before = keys === undefined ? undefined : was.get(jsonKey(mapKeyOf(keys, item)));
      errors.push(...walk(items, item, before, `${path}[${at}]`, false));
    }
  } else if (isObject(value)) {
    const rest = additional(schema);
    const was = isObject(old) && schema['x-kubernetes-map-type'] !== 'atomic' ? old : {};
    for (const [name, member] of Object.entries(value)) {
      const property = schemaAt(memberObject(schema, 'properties'), name);
      const of = property ?? (isObject(rest) ? rest : undefined);
      if (of === undefined || member === undefined) continue;
      const at =
        property === undefined ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`;
      errors.push(...walk(of, member, ownMember(was, name), at, false));
    }
  }
  return errors;
}

function evaluateRule(
  { given, usesOldSelf, holds, message }: CompiledRule,
  schema: Schema,
  value: Json,
  old: Json | undefined,
  path: string,
): FieldError[] {
  const isNew = old === undefined || old === null;
  if (holds === undefined || (usesOldSelf && isNew && given.optionalOldSelf !== true)) return [];
  const text = stringAt(given, 'rule').trim();
  const field = path === '' ? NO_FIELD : path;
  try {
    if (holds(value, old)) return [];
  } catch (error) {
    const [first = ''] = String((error as Error).message).split('\n');
    const why = first.replace(/^No such key/, 'no such key');
    return [fieldInvalid(field, schema.type ?? '', `${why} evaluating rule: ${text}`)];
  }
  // Ratcheting: an unchanged value may stay, unless the rule is about the change (`oldSelf`).
  if (!usesOldSelf && !isNew && sameJson(value, old)) return [];
  let why: string | undefined;
  try {
    why = message?.(value, old).trim();
  } catch {
    // As on the real server, the rule's message is used instead.
  }
  if (why === undefined || why === '' || /[\n\r]/.test(why))
    why = stringAt(given, 'message').trim() || `failed rule: ${text}`;
  return [withReason(errorPath(given.fieldPath, schema, path), value, why, given.reason)];
}

function errorPath(below: Json | undefined, schema: Schema, path: string): string {
  const found = typeof below === 'string' && below !== '' ? fieldPath(below, schema, true) : '';
  if (typeof found === 'string') return path === '' ? NO_FIELD : path;
  const steps = found.steps.map((step) => (step.startsWith('[') ? step : `.${step}`)).join('');
  return path === '' ? steps.replace(/^\./, '') : `${path}${steps}`;
}

function withReason(field: string, value: Json, why: string, reason: Json | undefined): FieldError {
  switch (reason) {
    case 'FieldValueForbidden':
      return fieldForbidden(field, why);
    case 'FieldValueRequired':
      return fieldRequired(field, why);
    case 'FieldValueDuplicate':
      return { field, reason, message: `Duplicate value: ${JSON.stringify(value)}` };
    default:
      // Objects and arrays are not quoted.
      return typeof value === 'object'
        ? { field, reason: 'FieldValueInvalid', message: `Invalid value: ${why}` }
        : fieldInvalid(field, value, why);
  }
}
