/**
 * Translates JSON Schema (draft 2020-12 or 7) to the structural schema of a
 * CustomResourceDefinition: every value has one type, there are no references, and restrictions are
 * separate.
 *
 * What cannot be expressed is an error with its path and is not left out, because a server must not
 * accept objects that the controller's types exclude. Left out are annotations, formats that the
 * server does not know, and `additionalProperties: false`, because unknown members are pruned;
 * members of other alternatives of a union are known.
 */
import { isJsonObject } from '../../base/json-value.ts';
import { type Node, normalise, type Scope } from './nodes.ts';
import { annotations, nullableEnum, restrictions, valuesOf } from './restrictions.ts';
import type { JsonSchema } from './standard-schema.ts';
import { SchemaError, type StructuralSchema } from './structural-schema.ts';
import { branchesOf, union } from './unions.ts';

/** Schemas by path that the user sets; see the option `overrides` of a custom resource. */
export type Overrides = Readonly<Record<string, StructuralSchema>>;

/** Translates one schema, and keeps which overrides were used. */
export class Translation {
  readonly #overrides: Overrides;
  readonly used = new Set<string>();
  /**
   * Whether `additionalProperties: false` is meant. Output schemas have it on every object, because
   * other members were dropped.
   */
  readonly strict: boolean;
  /**
   * Whether this is an output schema: only these say whether the named members of a record are
   * always there.
   */
  readonly #reads: boolean;

  constructor(overrides: Overrides, strict: boolean, reads = false) {
    this.#reads = reads;
    this.#overrides = overrides;
    this.strict = strict;
  }

  /** Translates a document whose path in the object is `path`. */
  document(root: JsonSchema, path: string): StructuralSchema {
    return this.schema(root, { root, refs: [] }, path);
  }

  /** Throws SchemaError. */
  schema(value: unknown, scope: Scope, path: string): StructuralSchema {
    const override = Object.hasOwn(this.#overrides, path) ? this.#overrides[path] : undefined;
    if (override === undefined) return this.#translate(value, scope, path);
    this.used.add(path);
    const replaces =
      override.type !== undefined ||
      override['x-kubernetes-preserve-unknown-fields'] === true ||
      override['x-kubernetes-int-or-string'] === true;
    return replaces ? override : { ...this.#translate(value, scope, path), ...override };
  }

  #translate(value: unknown, outer: Scope, path: string): StructuralSchema {
    const { node, scope } = normalise(value, outer, path);
    for (const keyword of REFUSED)
      if (node[keyword] !== undefined)
        throw new SchemaError(path, `"${keyword}" has no form in a structural schema`);
    const extensions = extensionsOf(node);
    if (
      extensions['x-kubernetes-preserve-unknown-fields'] === true &&
      node.properties === undefined
    )
      return {
        ...annotations(node),
        ...extensions,
        ...(node.type === 'object' ? { type: 'object' } : {}),
      };
    const branches = branchesOf(node, path);
    const schema =
      branches === undefined
        ? this.#typed(node, scope, path)
        : union(this, node, branches, scope, path);
    return nullableEnum({ ...schema, ...extensions }, path);
  }

  #typed(node: Node, scope: Scope, path: string): StructuralSchema {
    const types = typesOf(node, path);
    const nullable = types.includes('null') ? { nullable: true } : {};
    const [type, other] = types.filter((each) => each !== 'null');
    if (other !== undefined) {
      const alternatives = types.filter((each) => each !== 'null').map((each) => ({ type: each }));
      return {
        ...union(this, { ...node, type: undefined }, alternatives, scope, path),
        ...nullable,
      };
    }
    if (type === undefined) {
      if (types.length > 0)
        throw new SchemaError(path, 'a value that is always null has no form here');
      if (Object.keys(node).some((keyword) => SPEAKS_OF_VALUES.has(keyword)))
        throw new SchemaError(path, 'the schema names no type');
      return { ...annotations(node), ...ANYTHING };
    }
    return { ...annotations(node), ...this.ofType(type, node, scope, path), ...nullable };
  }

  /** Translates a schema of one type, with its restrictions. */
  ofType(type: string, node: Node, scope: Scope, path: string): StructuralSchema {
    const schema: StructuralSchema = {
      type: type as StructuralSchema['type'],
      ...restrictions(node, path, type),
    };
    switch (type) {
      case 'string':
      case 'integer':
      case 'number':
      case 'boolean':
        return schema;
      case 'array':
        return { ...schema, ...this.#array(node, scope, path) };
      case 'object':
        return { ...schema, ...this.#object(node, scope, path) };
      default:
        throw new SchemaError(path, `there is no type ${JSON.stringify(type)}`);
    }
  }

  #array(node: Node, scope: Scope, path: string): StructuralSchema {
    if (node.prefixItems !== undefined || Array.isArray(node.items))
      throw new SchemaError(
        path,
        'a tuple, whose items differ by their place, has no form here: take an object',
      );
    const items = this.schema(node.items ?? true, scope, `${path}[]`);
    if (node.uniqueItems !== true) return { items };
    if (items.type === 'object' || items.type === 'array' || items.type === undefined)
      throw new SchemaError(
        path,
        'only scalars can be asked to be unique; of objects make a map by keys, in an override',
      );
    return { items, 'x-kubernetes-list-type': 'set' };
  }

  #object(node: Node, scope: Scope, path: string): StructuralSchema {
    const schema: StructuralSchema = {};
    const { properties, additionalProperties: more, propertyNames, required } = node;
    const names = isJsonObject(properties) ? Object.keys(properties) : [];
    if (Array.isArray(required) && required.length > 0) schema.required = required as string[];
    if (isJsonObject(properties) && names.length > 0) {
      schema.properties = Object.fromEntries(
        names.map((name) => [name, this.schema(properties[name], scope, `${path}.${name}`)]),
      );
    }
    const keys = namesOf(propertyNames, path);
    if (keys !== undefined && more !== false) {
      const value = this.schema(more ?? true, scope, `${path}.*`);
      if (
        this.#reads &&
        value.default !== undefined &&
        keys.some((key) => !schema.required?.includes(key))
      )
        throw new SchemaError(
          `${path}.*`,
          'a default of members that may be missing would be given to all of them',
        );
      return {
        ...schema,
        properties: {
          ...Object.fromEntries(keys.map((key) => [key, value])),
          ...schema.properties,
        },
      };
    }
    const open = more === true || (isJsonObject(more) && Object.keys(more).length === 0);
    // `{ type: 'object' }` alone allows all members. With `properties`, even an empty one, the
    // others are pruned.
    if (open || (more === undefined && properties === undefined))
      return { ...schema, 'x-kubernetes-preserve-unknown-fields': true };
    if (!isJsonObject(more)) return schema;
    if (names.length > 0)
      throw new SchemaError(
        path,
        'an object has either named members or any members of one schema, not both',
      );
    return { ...schema, additionalProperties: this.schema(more, scope, `${path}.*`) };
  }
}

/** With `nullable`, because the server drops a member that is null without it. */
const ANYTHING: StructuralSchema = { 'x-kubernetes-preserve-unknown-fields': true, nullable: true };

/** Keywords that no structural schema has. */
const REFUSED = [
  ...[
    'not',
    'if',
    'then',
    'else',
    'patternProperties',
    'dependentRequired',
    'dependentSchemas',
    'dependencies',
  ],
  ...['contains', 'unevaluatedItems', 'unevaluatedProperties', '$dynamicRef', '$recursiveRef'],
];

const SPEAKS_OF_VALUES = new Set([
  ...[
    'minimum',
    'maximum',
    'exclusiveMinimum',
    'exclusiveMaximum',
    'multipleOf',
    'minLength',
    'maxLength',
    'pattern',
  ],
  ...[
    'minItems',
    'maxItems',
    'minProperties',
    'maxProperties',
    'required',
    'allOf',
    'propertyNames',
    'uniqueItems',
  ],
]);

/** The allowed keys of a record; undefined if any key is allowed. */
function namesOf(propertyNames: unknown, path: string): string[] | undefined {
  if (propertyNames === undefined || propertyNames === true || !isJsonObject(propertyNames))
    return undefined;
  const { type, enum: names, const: only, ...others } = propertyNames;
  if ((type !== undefined && type !== 'string') || Object.keys(others).length > 0)
    throw new SchemaError(
      path,
      'the names of members can be restricted by a rule in CEL alone (self.all(name, …))',
    );
  const all = only === undefined ? names : [only];
  return Array.isArray(all) ? (all as string[]) : undefined;
}

function typesOf(node: Node, path: string): string[] {
  const { type } = node;
  if (typeof type === 'string') return [type];
  if (Array.isArray(type)) return type as string[];
  const values = valuesOf(node);
  if (values !== undefined) {
    const types = new Set(values.map((value) => typeOfValue(value, path)));
    if (types.has('integer') && types.has('number')) types.delete('integer');
    return [...types];
  }
  if (node.properties !== undefined || node.additionalProperties !== undefined) return ['object'];
  if (node.items !== undefined || node.prefixItems !== undefined) return ['array'];
  return [];
}

function typeOfValue(value: unknown, path: string): string {
  if (value === null) return 'null';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  if (typeof value === 'string' || typeof value === 'boolean') return typeof value;
  throw new SchemaError(path, 'the values of an enum can be strings, numbers and booleans');
}

function extensionsOf(node: Node): StructuralSchema {
  return Object.fromEntries(
    Object.entries(node).filter(([keyword]) => keyword.startsWith('x-kubernetes-')),
  );
}
