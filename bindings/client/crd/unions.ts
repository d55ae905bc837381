/**
 * Unions, as far as they can be structural: a value has one type, so the alternatives of a union have to be of one type too. Then the
 * parent has all that any of them has, and `anyOf` says which combinations are allowed. Values that may be an integer or a string are the
 * one exception that Kubernetes has. Null is no alternative but `nullable`.
 */
import { type Node, normalise, type Scope, sameValue } from './nodes.ts';
import { annotations, restrictions, valuesOf } from './restrictions.ts';
import type { Translation } from './structural.ts';
import { SchemaError, type StructuralSchema, validationsOf, withoutValidations } from './structural-schema.ts';

/** The alternatives of a schema that is a union. */
export function branchesOf({ anyOf, oneOf }: Node, path: string): readonly unknown[] | undefined {
  if (anyOf !== undefined && oneOf !== undefined)
    throw new SchemaError(
      path,
      'two unions at once ("anyOf" and "oneOf") have no form here: write out their combinations',
    );
  const branches = anyOf ?? oneOf;
  return Array.isArray(branches) ? branches : undefined;
}

/** @param node what stands beside the union @param branches its alternatives */
export function union(
  translation: Translation,
  node: Node,
  branches: readonly unknown[],
  scope: Scope,
  path: string,
): StructuralSchema {
  const { anyOf: _, oneOf: __, ...beside } = node;
  const flat = branches.flatMap((branch) => alternativesOf(branch, scope, path));
  const alternatives = flat.filter(({ node: each }) => !isNull(each));
  const nullable = alternatives.length < flat.length ? { nullable: true } : {};
  const said = { ...annotations(node), ...nullable };
  if (alternatives.length === 0) throw new SchemaError(path, 'a value that is always null has no form here');
  const [only] = alternatives;
  if (only !== undefined && alternatives.length === 1) {
    const merged = { ...beside, allOf: [...(Array.isArray(beside.allOf) ? beside.allOf : []), only.node] };
    return { ...translation.schema(merged, only.scope, path), ...said };
  }
  const values = alternatives.map((each) =>
    Object.keys(each.node).every(isEnumKeyword) ? valuesOf(each.node) : undefined,
  );
  if (values.every((each) => each !== undefined)) {
    const all = [...new Set(values.flat())];
    return { ...translation.schema({ ...plainly(beside), enum: all }, scope, path), ...said };
  }
  const schemas = alternatives.map((each) => translation.schema(each.node, each.scope, path));
  const types = new Set(schemas.map(({ type }) => type));
  if (types.size === 2 && types.has('integer') && types.has('string'))
    return { ...intOrString([...schemas, restrictions(beside, path)], path), ...said };
  if (types.has('object') && types.size === 1) {
    const parent = Object.keys(beside).some((keyword) => !ANNOTATING.has(keyword))
      ? translation.schema({ type: 'object', properties: {}, ...beside }, scope, path)
      : { type: 'object' as const };
    return { ...objects(schemas, parent, path), ...said };
  }
  const [type] = types;
  if (types.size > 1 || type === undefined || type === 'array')
    throw new SchemaError(
      path,
      `the alternatives of a union have to be of one type, and not arrays: these are ${schemas.map(describe).join(', ')}`,
    );
  // Scalars of one type: each alternative is what it allows.
  const anyOf = schemas.map(validationsOf);
  const restricted = anyOf.every((each) => Object.keys(each).length > 0);
  return { type, ...restrictions(beside, path), ...(restricted ? { anyOf } : {}), ...said };
}

const ANNOTATING = new Set([
  'title',
  'description',
  'default',
  'examples',
  '$schema',
  '$defs',
  'definitions',
  'type',
  'id',
  '$id',
]);

const isEnumKeyword = (keyword: string): boolean =>
  keyword === 'enum' || keyword === 'const' || ANNOTATING.has(keyword) || keyword === 'deprecated';

const describe = ({ type }: StructuralSchema): string => type ?? 'of any type';

const plainly = ({ title: _, description: __, default: ___, ...rest }: Node): Node => rest;

const isNull = (node: Node): boolean => node.type === 'null' || (node.const === null && 'const' in node);

/** A union within a union is one. */
function alternativesOf(branch: unknown, outer: Scope, path: string): { node: Node; scope: Scope }[] {
  const { node, scope } = normalise(branch, outer, path);
  const inner = branchesOf(node, path);
  const alone = Object.keys(node).every(
    (keyword) => keyword === 'anyOf' || keyword === 'oneOf' || ANNOTATING.has(keyword),
  );
  if (inner !== undefined && alone) return inner.flatMap((each) => alternativesOf(each, scope, path));
  if (!Array.isArray(node.type)) return [{ node, scope }];
  return node.type.map((type) => ({ node: { ...node, type }, scope }));
}

/** Restrictions of numbers do not touch strings, nor the other way: they may stand side by side. An enum would. */
function intOrString(schemas: readonly StructuralSchema[], path: string): StructuralSchema {
  const parts = schemas.map(validationsOf);
  const names = parts.flatMap((part) => Object.keys(part));
  if (names.includes('enum') || new Set(names).size < names.length)
    throw new SchemaError(path, 'a value that is an integer or a string can be restricted as either, but by no enum');
  return { 'x-kubernetes-int-or-string': true, ...Object.assign({}, ...parts) };
}

/** All members of any alternative in the parent; which go together in `anyOf`. */
function objects(schemas: readonly StructuralSchema[], parent: StructuralSchema, path: string): StructuralSchema {
  const properties: Record<string, StructuralSchema> = { ...parent.properties };
  const branches: StructuralSchema[] = schemas.map(() => ({}));
  const names = new Set(schemas.flatMap((schema) => Object.keys(schema.properties ?? {})));
  for (const schema of schemas)
    if (schema.additionalProperties !== undefined || schema['x-kubernetes-preserve-unknown-fields'] === true)
      throw new SchemaError(path, 'alternatives of a union that have members of any name have no form here');
  for (const name of names) {
    const own = schemas.map((schema) => schema.properties?.[name]);
    const at = `${path}.${name}`;
    const beside = Object.hasOwn(properties, name) ? [properties[name]] : [];
    properties[name] = member([...own, ...beside], at, (index, restricted) => {
      const branch = branches[index];
      if (branch !== undefined) branch.properties = { ...branch.properties, [name]: restricted };
    });
  }
  const common = [...names].filter((name) => schemas.every(({ required }) => required?.includes(name)));
  const required = [...new Set([...(parent.required ?? []), ...common])];
  for (const [index, schema] of schemas.entries()) {
    const rest = (schema.required ?? []).filter((name) => !common.includes(name));
    if (rest.length > 0) (branches[index] as StructuralSchema).required = rest;
  }
  // An alternative that asks for nothing allows everything.
  const anyOf = branches.every((branch) => Object.keys(branch).length > 0) ? { anyOf: branches } : {};
  return { ...parent, type: 'object', properties, ...(required.length > 0 ? { required } : {}), ...anyOf };
}

/** One member that some alternatives have. @param restrict what an alternative adds to the common schema */
function member(
  own: readonly (StructuralSchema | undefined)[],
  path: string,
  restrict: (index: number, restricted: StructuralSchema) => void,
): StructuralSchema {
  const there = own.filter((schema) => schema !== undefined);
  const [first] = there as [StructuralSchema];
  if (first.default !== undefined && there.length < own.length)
    throw new SchemaError(path, 'a default that only some alternatives have would be given to all of them');
  if (there.every((schema) => sameValue(schema, first))) return first;
  const bare = (schema: StructuralSchema): StructuralSchema => {
    const { title: _, description: __, ...rest } = withoutValidations(schema);
    return rest;
  };
  const scalar = first.type !== 'object' && first.type !== 'array' && first.type !== undefined;
  if (!scalar || !there.every((schema) => sameValue(bare(schema), bare(first))))
    throw new SchemaError(path, 'the alternatives of a union have different schemas for this member');
  for (const [index, schema] of own.entries()) {
    const restricted = schema === undefined ? {} : validationsOf(schema);
    if (Object.keys(restricted).length > 0) restrict(index, restricted);
  }
  const values = there.flatMap(({ enum: each }) => each ?? []);
  const enumerated = there.every(({ enum: each }) => each !== undefined);
  return { ...withoutValidations(first), ...(enumerated ? { enum: [...new Set(values)] } : {}) };
}
