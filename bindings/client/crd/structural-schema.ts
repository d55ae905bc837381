/**
 * The type of structural schemas, the OpenAPI v3 subset of CustomResourceDefinitions, and the error
 * for schemas that it cannot express.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
 */
import { CapstanError } from '../../base/errors.ts';

/** A CEL rule: `x-kubernetes-validations`. */
export interface ValidationRule {
  /** The rule, such as `self.min <= self.max`. With `oldSelf` it restricts updates. */
  rule: string;
  message?: string;
  messageExpression?: string;
  reason?:
    | 'FieldValueInvalid'
    | 'FieldValueForbidden'
    | 'FieldValueRequired'
    | 'FieldValueDuplicate';
  fieldPath?: string;
  optionalOldSelf?: boolean;
}

/** apiextensions.k8s.io/v1 JSONSchemaProps, as far as they are used here. */
export interface StructuralSchema {
  type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  title?: string;
  description?: string;
  default?: unknown;
  nullable?: boolean;
  format?: string;
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: boolean;
  exclusiveMaximum?: boolean;
  multipleOf?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minItems?: number;
  maxItems?: number;
  minProperties?: number;
  maxProperties?: number;
  required?: string[];
  properties?: Record<string, StructuralSchema>;
  additionalProperties?: StructuralSchema;
  items?: StructuralSchema;
  allOf?: StructuralSchema[];
  anyOf?: StructuralSchema[];
  oneOf?: StructuralSchema[];
  not?: StructuralSchema;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  'x-kubernetes-int-or-string'?: boolean;
  'x-kubernetes-embedded-resource'?: boolean;
  'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  'x-kubernetes-list-map-keys'?: string[];
  'x-kubernetes-map-type'?: 'atomic' | 'granular';
  'x-kubernetes-validations'?: ValidationRule[];
}

/**
 * A schema has something that a CustomResourceDefinition cannot express. `path` is its place, such
 * as `spec.ports[].name`. Code `SCHEMA`.
 */
export class SchemaError extends CapstanError {
  readonly path: string;

  constructor(path: string, message: string) {
    super('SCHEMA', `${path}: ${message}`);
    this.path = path;
  }

  override get name(): string {
    return 'SchemaError';
  }
}

/** The keywords that only restrict values and may be in `allOf` and `anyOf`. */
const VALUE_VALIDATIONS = [
  ...([
    'format',
    'enum',
    'minimum',
    'maximum',
    'exclusiveMinimum',
    'exclusiveMaximum',
    'multipleOf',
  ] as const),
  ...([
    'minLength',
    'maxLength',
    'pattern',
    'minItems',
    'maxItems',
    'minProperties',
    'maxProperties',
  ] as const),
  ...(['allOf', 'anyOf', 'oneOf', 'not'] as const),
] as const;

/** The restrictions of a schema. */
export function validationsOf(schema: StructuralSchema): StructuralSchema {
  const entries = VALUE_VALIDATIONS.filter((name) => schema[name] !== undefined).map((name) => [
    name,
    schema[name],
  ]);
  return Object.fromEntries(entries) as StructuralSchema;
}

/** The schema without its restrictions. */
export function withoutValidations(schema: StructuralSchema): StructuralSchema {
  const rest = { ...schema };
  for (const name of VALUE_VALIDATIONS) delete rest[name];
  return rest;
}
