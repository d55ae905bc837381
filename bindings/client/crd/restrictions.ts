/** What restricts the values of a schema, in the words of OpenAPI 3.0, and what is said of them beside that. */
import type { Node } from './nodes.ts';
import { notInRE2, serverFormat, toRE2 } from './patterns.ts';
import { SchemaError, type StructuralSchema } from './structural-schema.ts';

/** The values of `enum` or `const`. */
export function valuesOf(node: Node): unknown[] | undefined {
  if (node.const !== undefined) return [node.const];
  return Array.isArray(node.enum) ? node.enum : undefined;
}

/** What is kept although it restricts nothing. */
export function annotations(node: Node): StructuralSchema {
  const kept: StructuralSchema = {};
  if (typeof node.title === 'string') kept.title = node.title;
  if (typeof node.description === 'string') kept.description = node.description;
  if (node.default !== undefined) kept.default = node.default;
  return kept;
}

const PLAIN = [
  ...(['multipleOf', 'minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'] as const),
];

/** What restricts values, in the words of OpenAPI 3.0. */
export function restrictions(node: Node, path: string): StructuralSchema {
  const schema: Node = {};
  const values = valuesOf(node)?.filter((value) => value !== null);
  if (values !== undefined) schema.enum = values;
  if (typeof node.multipleOf === 'number' && !Number.isInteger(node.multipleOf))
    throw new SchemaError(
      path,
      `the server cannot tell multiples of ${node.multipleOf} (of 0.01 it refuses 0.29, 19.99 and 1): count in smaller units, or give an override with a type`,
    );
  for (const keyword of PLAIN) if (typeof node[keyword] === 'number') schema[keyword] = node[keyword];
  bound(node, schema, 'minimum', 'exclusiveMinimum', Math.max);
  bound(node, schema, 'maximum', 'exclusiveMaximum', Math.min);
  if (typeof node.pattern === 'string') {
    const why = notInRE2(node.pattern);
    if (why === undefined) schema.pattern = toRE2(node.pattern);
    // The pattern by which a library checks a format is its own affair; one that a user wrote is a promise.
    else if (typeof node.format !== 'string')
      throw new SchemaError(path, `the server's regular expressions (RE2) cannot say ${node.pattern}: it has ${why}`);
  }
  const format = typeof node.format === 'string' ? serverFormat(node.format) : undefined;
  // The server takes an empty text for no base64: a library's pattern says better what it accepts.
  if (format !== undefined && !(format === 'byte' && schema.pattern !== undefined)) schema.format = format;
  if (Array.isArray(node.allOf)) schema.allOf = node.allOf.map((part) => restrictions(part as Node, path));
  return schema as StructuralSchema;
}

/** JSON Schema has a number for each; OpenAPI 3.0 one number, and whether it is itself excluded. */
function bound(
  node: Node,
  schema: Node,
  inclusive: 'minimum' | 'maximum',
  exclusive: 'exclusiveMinimum' | 'exclusiveMaximum',
  stricter: (a: number, b: number) => number,
): void {
  const limit = node[inclusive];
  const beyond = node[exclusive];
  if (typeof limit === 'number') schema[inclusive] = limit;
  if (beyond === true && typeof limit === 'number') schema[exclusive] = true; // draft 4
  if (typeof beyond !== 'number') return;
  if (typeof limit === 'number' && stricter(limit, beyond) === limit && limit !== beyond) return;
  schema[inclusive] = beyond;
  schema[exclusive] = true;
}

/**
 * The server asks null to be among the values of an enum too, and takes a null that is among them for the text "null" (seen at 1.36.3): where a
 * value may be null, its enum is said in restrictions that null is not asked to meet.
 */
export function nullableEnum(schema: StructuralSchema, path: string): StructuralSchema {
  const { enum: values, ...rest } = schema;
  if (schema.nullable !== true || values === undefined) return schema;
  if (schema.type === 'boolean') {
    if (values.length === 2) return rest;
    throw new SchemaError(path, 'a boolean that may be null cannot be restricted to one value');
  }
  const escaped = (value: unknown): string => String(value).replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  const said: StructuralSchema =
    schema.type === 'string'
      ? { pattern: `^(?:${values.map(escaped).join('|')})$` }
      : { anyOf: (values as number[]).map((value) => ({ minimum: value, maximum: value })) };
  const taken = Object.keys(said).some((keyword) => keyword in rest);
  return taken ? { ...rest, allOf: [...(rest.allOf ?? []), said] } : { ...rest, ...said };
}
