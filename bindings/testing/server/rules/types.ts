/**
 * The CEL types of a schema and their values: each object schema has a class, maps are maps, and
 * fields that the schema does not specify are missing. apiserver: pkg/cel/common/schemas.go,
 * values.go.
 */
import type { Environment } from '@marcbachmann/cel-js';
import { isObject, type Json, jsonKey, memberObject, ownMember } from '../json.ts';
import {
  additional,
  isEmbedded,
  isIntOrString,
  type Schema,
  schemaAt,
} from '../schema/structural.ts';

export interface CelType {
  /** The name in the library: `list<string>`. */
  name: string;
  /** Converts a JSON value of this type. */
  read(value: Json): unknown;
}

/** Objects, which are compared by their JSON. It has no member that a schema may have too. */
abstract class Struct {
  readonly #value: Json;

  constructor(value: Json) {
    this.#value = value;
  }

  static same(a: Struct, b: Struct): boolean {
    return jsonKey(a.#value) === jsonKey(b.#value);
  }
}

const METADATA: Schema = {
  type: 'object',
  properties: { name: { type: 'string' }, generateName: { type: 'string' } },
};

const RESERVED = new Set([
  ...['true', 'false', 'null', 'in', 'as', 'break', 'const', 'continue', 'else', 'for', 'function'],
  ...['if', 'import', 'let', 'loop', 'package', 'namespace', 'return', 'var', 'void', 'while'],
]);

/** The name of a member in rules: `x-y` is `x__dash__y`. pkg/cel/escaping.go. */
function escapedName(name: string): string | undefined {
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(name)) return undefined;
  if (RESERVED.has(name)) return `__${name}__`;
  const parts: Record<string, string> = {
    __: '__underscores__',
    '.': '__dot__',
    '-': '__dash__',
    '/': '__slash__',
  };
  const escaped = name.replaceAll(/__|[./-]/g, (part) => parts[part] ?? part);
  return /^[A-Za-z_]/.test(escaped) ? escaped : undefined;
}

/**
 * Registers the types of the schema in the environment. undefined: rules cannot access such a
 * value.
 */
export function celTypeOf(
  env: Environment,
  schema: Schema,
  isRoot: boolean,
  counter: { count: number } = { count: 0 },
): CelType | undefined {
  if (isIntOrString(schema)) return { name: 'dyn', read: plain };
  const known = knownType(env, schema, isRoot, counter);
  // A nullable value is either null or of its type, so that its static type is dyn.
  if (known === undefined || schema.nullable !== true) return known;
  return { name: 'dyn', read: (value) => (value === null ? null : known.read(value)) };
}

function knownType(
  env: Environment,
  schema: Schema,
  isRoot: boolean,
  counter: { count: number },
): CelType | undefined {
  switch (schema.type) {
    case 'string':
      return textType(String(schema.format ?? ''));
    case 'boolean':
      return { name: 'bool', read: plain };
    case 'integer':
      return {
        name: 'int',
        read: (value) => (typeof value === 'number' ? BigInt(Math.trunc(value)) : value),
      };
    case 'number':
      return { name: 'double', read: Number };
    case 'array': {
      const of = celTypeOf(env, schemaAt(schema, 'items') ?? {}, false, counter);
      if (of === undefined) return undefined;
      return {
        name: `list<${of.name}>`,
        read: (value) => (Array.isArray(value) ? value.map((each: Json) => of.read(each)) : value),
      };
    }
    case 'object':
      return objectType(env, schema, isRoot, counter);
    default:
      return undefined;
  }
}

/** Converts a value without a schema: integers become int. */
const plain = (value: Json): unknown =>
  typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : value;

function textType(format: string): CelType {
  switch (format.replaceAll('-', '')) {
    case 'byte':
      return {
        name: 'bytes',
        read: (value) => new Uint8Array(Buffer.from(String(value), 'base64')),
      };
    case 'date':
    case 'datetime':
      return { name: 'google.protobuf.Timestamp', read: (value) => new Date(String(value)) };
    default:
      return { name: 'string', read: plain };
  }
}

function objectType(
  env: Environment,
  schema: Schema,
  isRoot: boolean,
  counter: { count: number },
): CelType | undefined {
  const rest = additional(schema);
  if (isObject(rest)) {
    const of = celTypeOf(env, rest, false, counter);
    if (of === undefined) return undefined;
    const read = (value: Json): unknown =>
      isObject(value)
        ? new Map(Object.entries(value).map(([name, each]) => [name, of.read(each ?? null)]))
        : value;
    return { name: `map<string, ${of.name}>`, read };
  }
  const isResource = isRoot || isEmbedded(schema);
  const properties = {
    ...memberObject(schema, 'properties'),
    ...(isResource
      ? { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: METADATA }
      : {}),
  };
  const fields: [name: string, as: string, type: CelType][] = [];
  for (const [name, property] of Object.entries(properties)) {
    const as = escapedName(name);
    const type = isObject(property) ? celTypeOf(env, property, false, counter) : undefined;
    if (as !== undefined && type !== undefined) fields.push([name, as, type]);
  }
  const name = `object${counter.count++}`;
  const ctor = class extends Struct {
    constructor(value: Json) {
      super(value);
      if (!isObject(value)) return;
      for (const [from, as, type] of fields) {
        const member = ownMember(value, from);
        if (member !== undefined)
          Object.defineProperty(this, as, { value: type.read(member), enumerable: true });
      }
    }
  };
  env.registerType(name, {
    ctor,
    fields: Object.fromEntries(fields.map(([, as, type]) => [as, type.name])),
  });
  env.registerOperator(`${name} == ${name}`, Struct.same);
  return { name, read: (value) => (isObject(value) ? new ctor(value) : value) };
}
