/**
 * Validates the form of `x-kubernetes-validations`, without compiling the rules.
 * apiextensions-apiserver: pkg/apis/apiextensions/validation.
 */
import { isObject, type JsonObject, stringAt } from '../json.ts';
import type { Schema } from '../schema/structural.ts';
import { type FieldError, fieldInvalid, fieldNotSupported, fieldRequired } from '../status.ts';
import { fieldPath } from './selectable.ts';

const REASONS = [
  'FieldValueDuplicate',
  'FieldValueForbidden',
  'FieldValueInvalid',
  'FieldValueRequired',
];

export const validationRules = (schema: Schema): JsonObject[] => {
  const rules = schema['x-kubernetes-validations'];
  return Array.isArray(rules) ? rules.filter(isObject) : [];
};

export const ruleShapeErrors = (schema: Schema, path: string): FieldError[] =>
  validationRules(schema).flatMap((rule, at) =>
    ofRule(rule, schema, `${path}.x-kubernetes-validations[${at}]`),
  );

const isMultiline = (text: string): boolean => /[\n\r]/.test(text);

function ofRule(rule: JsonObject, schema: Schema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const text = stringAt(rule, 'rule').trim();
  const message = stringAt(rule, 'message');
  if (text === '') errors.push(fieldRequired(`${path}.rule`, 'rule is not specified'));
  else if (message !== '' && message.trim() === '')
    errors.push(fieldInvalid(`${path}.message`, message, 'must be non-empty if specified'));
  else if (isMultiline(message.trim()))
    errors.push(fieldInvalid(`${path}.message`, message, 'must not contain line breaks'));
  else if (isMultiline(text) && message.trim() === '') {
    const why = 'message must be specified if rule contains line breaks';
    errors.push(fieldRequired(`${path}.message`, why));
  }
  const expression = stringAt(rule, 'messageExpression');
  if (expression !== '' && expression.trim() === '') {
    const why = 'messageExpression must be non-empty if specified';
    errors.push(fieldRequired(`${path}.messageExpression`, why));
  }
  const { reason } = rule;
  if (typeof reason === 'string' && !REASONS.includes(reason))
    errors.push(fieldNotSupported(`${path}.reason`, reason, REASONS));
  const place = stringAt(rule, 'fieldPath');
  const field = `${path}.fieldPath`;
  if (place === '') return errors;
  if (place.trim() === '')
    errors.push(fieldInvalid(field, place, 'must be non-empty if specified'));
  if (isMultiline(place)) errors.push(fieldInvalid(field, place, 'must not contain line breaks'));
  if (typeof fieldPath(place, schema, true) === 'string')
    errors.push(fieldInvalid(field, place, 'must be a valid path'));
  return errors;
}
