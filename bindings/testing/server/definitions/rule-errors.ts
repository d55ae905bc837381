/**
 * Validates the rules in CEL (`x-kubernetes-validations`) of a definition: their form, then whether
 * they compile, and whether `oldSelf` has a value that can be correlated. apiextensions-apiserver:
 * pkg/apis/apiextensions/validation.
 */
import { isObject, type JsonObject, memberObject, stringAt } from '../json.ts';
import { compileRules } from '../rules/compile.ts';
import { fieldPath } from '../schema/field-path.ts';
import { additional, type Schema, schemaAt, validationRules } from '../schema/structural.ts';
import { type FieldError, fieldInvalid, fieldNotSupported, fieldRequired } from '../status.ts';

const REASONS = [
  'FieldValueDuplicate',
  'FieldValueForbidden',
  'FieldValueInvalid',
  'FieldValueRequired',
];

export const ruleShapeErrors = (schema: Schema, path: string): FieldError[] =>
  validationRules(schema).flatMap((rule, at) =>
    shapeErrors(rule, schema, `${path}.x-kubernetes-validations[${at}]`),
  );

const isMultiline = (text: string): boolean => /[\n\r]/.test(text);

function shapeErrors(rule: JsonObject, schema: Schema, path: string): FieldError[] {
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

/** @param uncorrelatable the schema below which old and new values cannot be correlated */
export function ruleDefinitionErrors(
  schema: Schema,
  path: string,
  isRoot: boolean,
  uncorrelatable: string | undefined,
): FieldError[] {
  const errors = compileErrors(schema, path, isRoot, uncorrelatable);
  const atomic = schema['x-kubernetes-map-type'] === 'atomic' ? path : undefined;
  for (const [name, property] of Object.entries(memberObject(schema, 'properties')))
    if (isObject(property))
      errors.push(
        ...ruleDefinitionErrors(
          property,
          `${path}.properties[${name}]`,
          false,
          uncorrelatable ?? atomic,
        ),
      );
  const rest = additional(schema);
  if (isObject(rest))
    errors.push(
      ...ruleDefinitionErrors(rest, `${path}.additionalProperties`, false, uncorrelatable),
    );
  const items = schemaAt(schema, 'items');
  const unkeyed = schema['x-kubernetes-list-type'] === 'map' ? undefined : path;
  if (items !== undefined)
    errors.push(...ruleDefinitionErrors(items, `${path}.items`, false, uncorrelatable ?? unkeyed));
  return errors;
}

function compileErrors(
  schema: Schema,
  path: string,
  isRoot: boolean,
  uncorrelatable: string | undefined,
): FieldError[] {
  return compileRules(schema, isRoot).flatMap(({ given, usesOldSelf, error, messageError }, at) => {
    const place = `${path}.x-kubernetes-validations[${at}]`;
    const errors: FieldError[] = [];
    if (error !== undefined) errors.push(fieldInvalid(`${place}.rule`, given, error));
    if (messageError !== undefined)
      errors.push(fieldInvalid(`${place}.messageExpression`, given, messageError));
    if (error === undefined && usesOldSelf && uncorrelatable !== undefined) {
      const portion = `the uncorrelatable portion of the schema within ${uncorrelatable}`;
      const why = `oldSelf cannot be used on ${portion}`;
      errors.push(fieldInvalid(`${place}.rule`, given.rule, why));
    }
    if (!usesOldSelf && given.optionalOldSelf !== undefined) {
      const why = 'may not be set if oldSelf is not used in rule';
      errors.push(fieldInvalid(`${place}.optionalOldSelf`, given.optionalOldSelf, why));
    }
    return errors;
  });
}
