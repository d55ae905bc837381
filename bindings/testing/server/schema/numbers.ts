/**
 * Validates numbers of a custom object as Go compares them: integers as int64, others as float64.
 * kube-openapi: pkg/validation/validate/validator.go, values.go; swag 0.23.
 */
import type { Json } from '../json.ts';
import { sameJson } from '../json.ts';
import { type FieldError, fieldInvalid } from '../status.ts';
import type { Schema } from './structural.ts';

export function validateNumber(schema: Schema, value: number, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const fail = (why: string): void =>
    void errors.push(fieldInvalid(path, value, `${path} in body should be ${why}`));
  const { minimum, maximum, multipleOf, exclusiveMinimum, exclusiveMaximum, format, type } = schema;
  const inRange = (of: number, what: string): boolean => {
    const most = format === 'int32' ? 2 ** 31 : 2 ** 63;
    if (type !== 'integer' || (Number.isInteger(of) && of < most && of >= -most)) return true;
    const called = typeof format === 'string' ? `with format ${format}` : '(default format)';
    const why = `${what} value must be of type integer ${called} in ${path}`;
    errors.push({
      field: '<nil>',
      reason: 'FieldValueInvalid',
      message: `Invalid value: "": ${why}`,
    });
    return false;
  };
  // An integer is compared with the bound without its fraction.
  const limit = (of: number, what: string): number =>
    inRange(of, `${what} boundary`) && isInt64(value) ? Math.trunc(of) : of;
  inRange(value, 'Checked');
  if (typeof multipleOf === 'number' && Number.isInteger(value) && Math.trunc(multipleOf) === 0) {
    errors.push(
      fieldInvalid(path, 0, `factor MultipleOf declared for ${path} must be positive: 0`),
    );
  } else if (typeof multipleOf === 'number' && !isMultiple(value, multipleOf))
    fail(`a multiple of ${multipleOf}`);
  if (typeof maximum === 'number') {
    const most = limit(maximum, 'Maximum');
    if (exclusiveMaximum === true && value >= most) fail(`less than ${most}`);
    if (exclusiveMaximum !== true && value > most) fail(`less than or equal to ${most}`);
  }
  if (typeof minimum === 'number') {
    const least = limit(minimum, 'Minimum');
    if (exclusiveMinimum === true && value <= least) fail(`greater than ${least}`);
    if (exclusiveMinimum !== true && value < least) fail(`greater than or equal to ${least}`);
  }
  return errors;
}

/** The real server truncates a value that it compares with an integer. */
export const isSame = (known: Json, value: Json): boolean =>
  sameJson(
    known,
    typeof value === 'number' && typeof known === 'number' && isInt64(known)
      ? Math.trunc(value) + 0
      : value,
  );

const isInt64 = (value: number): boolean => Number.isInteger(value) && Math.abs(value) < 2 ** 63;

/**
 * The real server truncates the factor of an int64. A float quotient counts as an integer if it is
 * slightly above one, but not if it is slightly below: 0.07 is a multiple of 0.01, 0.29 is not.
 * swag 0.23: IsFloat64AJSONInteger.
 */
const isMultiple = (value: number, of: number): boolean => {
  if (isInt64(value)) return value % Math.trunc(of) === 0;
  const quotient = of < 1 ? (1 / of) * value : value / of;
  if (Math.abs(quotient) > Number.MAX_SAFE_INTEGER) return false;
  const whole = Math.trunc(quotient);
  return quotient === whole || (whole > 0 && (quotient - whole) / (quotient + whole) < 1e-9);
};
