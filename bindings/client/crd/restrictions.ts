/** Translates the restrictions and annotations of a schema to OpenAPI 3.0. */
import type { Node } from './nodes.ts';
import { notInRE2, serverFormat, toRE2 } from './patterns.ts';
import { SchemaError, type StructuralSchema } from './structural-schema.ts';

/** The values of `enum` or `const`. */
export function valuesOf(node: Node): unknown[] | undefined {
  if (node.const !== undefined) return [node.const];
  return Array.isArray(node.enum) ? node.enum : undefined;
}

/** The annotations, which restrict nothing. */
export function annotations(node: Node): StructuralSchema {
  const kept: StructuralSchema = {};
  if (typeof node.title === 'string') kept.title = node.title;
  if (typeof node.description === 'string') kept.description = node.description;
  if (node.default !== undefined) kept.default = node.default;
  return kept;
}

const PLAIN = [
  ...([
    'multipleOf',
    'minLength',
    'maxLength',
    'minItems',
    'maxItems',
    'minProperties',
    'maxProperties',
  ] as const),
];

/**
 * The restrictions of a schema in OpenAPI 3.0.
 *
 * @param type the type of the values, if it is known
 */
export function restrictions(node: Node, path: string, type: unknown): StructuralSchema {
  const schema: Node = {};
  const values = valuesOf(node)?.filter((value) => value !== null);
  const whole = type === 'number' ? values?.filter(Number.isSafeInteger).length : 0;
  const mixed = values !== undefined && whole !== 0 && whole !== values.length;
  if (values !== undefined && !mixed) schema.enum = values;
  // The server ignores the fraction of a value when it compares it with integers of an enum
  // (1.36.3): it accepts 2.7 for 2.
  if (whole && !mixed) schema.multipleOf = 1;
  if (typeof node.multipleOf === 'number' && !Number.isInteger(node.multipleOf))
    throw new SchemaError(
      path,
      `the server cannot tell multiples of ${node.multipleOf} (of 0.01 it refuses 0.29, ` +
        '19.99 and 1): count in smaller units, or give an override with a type',
    );
  for (const keyword of PLAIN)
    if (typeof node[keyword] === 'number') schema[keyword] = node[keyword];
  const apart = [
    ...(mixed ? [among(values, path, type)] : []),
    ...bound(node, schema, 'minimum', 'exclusiveMinimum', type),
    ...bound(node, schema, 'maximum', 'exclusiveMaximum', type),
  ];
  if (typeof node.pattern === 'string') {
    const why = notInRE2(node.pattern);
    if (why === undefined) schema.pattern = toRE2(node.pattern);
    // A library's pattern for a format is an implementation detail; a user's pattern is kept.
    else if (typeof node.format !== 'string')
      throw new SchemaError(
        path,
        `the server's regular expressions (RE2) cannot say ${node.pattern}: it has ${why}`,
      );
  }
  const format = typeof node.format === 'string' ? serverFormat(node.format) : undefined;
  // The server rejects an empty text as base64, so a library's pattern is more precise.
  if (format !== undefined && !(format === 'byte' && schema.pattern !== undefined))
    schema.format = format;
  if (Array.isArray(node.allOf))
    apart.push(...node.allOf.map((part) => restrictions(part as Node, path, type)));
  if (apart.length > 0) schema.allOf = apart;
  return schema as StructuralSchema;
}

/** An enum of numbers, as bounds. */
const among = (values: readonly unknown[], path: string, type: unknown): StructuralSchema => ({
  anyOf: values.map((value) => restrictions({ minimum: value, maximum: value }, path, type)),
});

/**
 * JSON Schema has a number for an exclusive bound; OpenAPI 3.0 has one number and a flag. The
 * server compares an integer with the bound without its fraction, and rejects all integers if the
 * bound has one (1.36.3). So a bound of integers is rounded inwards; of other numbers the rest must
 * be exclusive if it lies outside of the range, and not if it lies inside. Returns these
 * restrictions apart.
 */
function bound(
  node: Node,
  schema: Node,
  inclusive: 'minimum' | 'maximum',
  exclusive: 'exclusiveMinimum' | 'exclusiveMaximum',
  type: unknown,
): StructuralSchema[] {
  const limits = [node[inclusive], node[exclusive]].filter((each) => typeof each === 'number');
  if (limits.length === 0) return [];
  const lower = inclusive === 'minimum';
  const limit = lower ? Math.max(...limits) : Math.min(...limits);
  const excluded = limit === node[exclusive] || node[exclusive] === true; // draft 4
  const inwards = (lower ? Math.ceil(limit) : Math.floor(limit)) + 0; // No -0.
  const cut = Math.trunc(limit) + 0;
  schema[inclusive] = type === 'integer' ? inwards : limit;
  if (limit === cut || type === 'integer') {
    if (excluded && limit === cut) schema[exclusive] = true;
    return [];
  }
  if (cut === inwards) return excluded ? [{ not: { enum: [limit] } }] : [];
  if (!excluded) return [{ [inclusive]: cut, [exclusive]: true }];
  schema[exclusive] = true;
  return [];
}

/**
 * The server requires null to be in the enum of a nullable value, and reads a null in an enum as
 * the text "null" (seen at 1.36.3). So the enum of a nullable value is written as restrictions that
 * null need not meet.
 */
export function nullableEnum(schema: StructuralSchema, path: string): StructuralSchema {
  const { enum: values, ...rest } = schema;
  if (schema.nullable !== true || values === undefined) return schema;
  if (schema.type === 'boolean') {
    if (values.length === 2) return rest;
    throw new SchemaError(path, 'a boolean that may be null cannot be restricted to one value');
  }
  const escaped = (value: unknown): string =>
    String(value).replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  const said: StructuralSchema =
    schema.type === 'string'
      ? { pattern: `^(?:${values.map(escaped).join('|')})$` }
      : among(values, path, schema.type);
  const taken = Object.keys(said).some((keyword) => keyword in rest);
  return taken ? { ...rest, allOf: [...(rest.allOf ?? []), said] } : { ...rest, ...said };
}
