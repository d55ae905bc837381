/**
 * The interfaces of https://standardschema.dev, copied so that no library is a dependency. All
 * libraries validate (`~standard.validate`). Those that also export JSON Schema have
 * `~standard.jsonSchema`: Zod from 4.2, ArkType from 2.1.28, Valibot through `toStandardJsonSchema`
 * of `@valibot/to-json-schema`.
 */
import { textOfError } from '../../base/error-text.ts';
import { CapstanError, invalid, requireFunction, requireObject } from '../../base/errors.ts';

/**
 * A schema of any library. `Input` is the type before validation, `Output` after it, with defaults.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** The validated value, or its issues. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** One issue of a value. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The input type of a schema. */
export type InferInput<S extends StandardSchema> = NonNullable<S['~standard']['types']>['input'];
/** The output type of a schema. */
export type InferOutput<S extends StandardSchema> = NonNullable<S['~standard']['types']>['output'];

/** A JSON Schema, of any draft. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** The part of Standard JSON Schema that is used. */
interface Converter {
  input(options: { target: string }): JsonSchema;
  output(options: { target: string }): JsonSchema;
}

/** Throws CapstanError INVALID_ARGUMENT. */
export function requireSchema(name: string, schema: unknown): void {
  // ArkType's schemas are functions.
  const standard = typeof schema === 'function' || typeof schema === 'object' ? schema : undefined;
  const props = (standard as Partial<StandardSchema> | null | undefined)?.['~standard'];
  if (typeof props?.validate !== 'function')
    throw invalid(name, 'a Standard Schema, such as one of Zod, Valibot or ArkType', schema);
}

/**
 * The JSON Schemas of input and output. Throws CapstanError SCHEMA if the schema has none; the
 * cause is the library's error.
 */
export function jsonSchemasOf(
  name: string,
  schema: StandardSchema,
): { input: JsonSchema; output: JsonSchema } {
  const { vendor, jsonSchema } = schema['~standard'] as {
    vendor: string;
    jsonSchema?: Partial<Converter>;
  };
  const { input, output } = jsonSchema ?? {};
  if (typeof input !== 'function' || typeof output !== 'function')
    throw new CapstanError(
      'SCHEMA',
      `${name}: this schema of ${vendor} gives no JSON Schema ("~standard".jsonSchema): ` +
        'take Zod 4.2, ArkType 2.1.28 or later, toStandardJsonSchema(schema) of ' +
        '@valibot/to-json-schema, or withJsonSchema(schema, jsonSchema)',
    );
  const convert = (convertTo: Converter['input'], what: string): JsonSchema => {
    try {
      return convertTo.call(jsonSchema, { target: 'draft-2020-12' });
    } catch (cause) {
      const why = textOfError(cause);
      throw new CapstanError(
        'SCHEMA',
        `${name}: ${vendor} cannot give the JSON Schema of ${what}: ${why}`,
        { cause },
      );
    }
  };
  return {
    input: convert(input, 'what may be written'),
    output: convert(output, 'what comes out of it'),
  };
}

/**
 * Adds a JSON Schema to a schema whose library exports none, or replaces it.
 *
 * @param jsonSchema draft 2020-12 or 7, of what may be written
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * type Spec = { size: number };
 * const anything: StandardSchema<Spec> = {
 *   '~standard': { version: 1, vendor: 'mine', validate: (value) => ({ value: value as Spec }) },
 * };
 * const spec = withJsonSchema(anything, {
 *   type: 'object',
 *   properties: { size: { type: 'integer' } },
 *   required: ['size'],
 * });
 */
export function withJsonSchema<Input, Output>(
  schema: StandardSchema<Input, Output>,
  jsonSchema: JsonSchema,
): StandardSchema<Input, Output> {
  requireSchema('schema', schema);
  requireObject('jsonSchema', jsonSchema);
  const standard = schema['~standard'];
  requireFunction('schema.~standard.validate', standard.validate);
  const { version, vendor, types } = standard;
  const validate = (value: unknown) => standard.validate(value);
  const props = {
    version,
    vendor,
    validate,
    types,
    jsonSchema: { input: () => jsonSchema, output: () => jsonSchema },
  };
  return { '~standard': props };
}
