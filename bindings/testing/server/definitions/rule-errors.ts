/**
 * Validates the rules in CEL of a definition: they must compile, and `oldSelf` needs a value that
 * can be correlated. apiextensions-apiserver: pkg/apis/apiextensions/validation.
 */
import { isObject, objectAt } from '../json.ts';
import { compileRules } from '../rules/compile.ts';
import { additional, type Schema, schemaAt } from '../schema/structural.ts';
import { type FieldError, fieldInvalid } from '../status.ts';

/** @param uncorrelatable the schema below which old and new values cannot be correlated */
export function ruleDefinitionErrors(
  schema: Schema,
  path: string,
  isRoot: boolean,
  uncorrelatable: string | undefined,
): FieldError[] {
  const errors = ofSchema(schema, path, isRoot, uncorrelatable);
  const atomic = schema['x-kubernetes-map-type'] === 'atomic' ? path : undefined;
  for (const [name, property] of Object.entries(objectAt(schema, 'properties')))
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

function ofSchema(
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
