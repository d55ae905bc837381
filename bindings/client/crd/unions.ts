/**
 * Translates unions to structural schemas. A value has one type, so all alternatives must have the
 * same type. The parent gets the members of all alternatives, and `anyOf` lists the allowed
 * combinations, or `oneOf` if exactly one may match. Kubernetes has one exception: values that are
 * an integer or a string. An alternative that is null becomes `nullable`.
 */
import { mergeKeyword, type Node, normalise, type Scope, sameValue } from './nodes.ts';
import { annotations, restrictions, valuesOf } from './restrictions.ts';
import {
  SchemaError,
  type StructuralSchema,
  validationsOf,
  withoutValidations,
} from './structural-schema.ts';

/** What a union needs of the translation that it is a part of. */
interface Translator {
  readonly strict: boolean;
  schema(value: unknown, scope: Scope, path: string): StructuralSchema;
}

/** The alternatives of a union; undefined if the schema is none. */
export function branchesOf({ anyOf, oneOf }: Node, path: string): readonly unknown[] | undefined {
  if (anyOf !== undefined && oneOf !== undefined)
    throw new SchemaError(
      path,
      'two unions at once ("anyOf" and "oneOf") have no form here: write out their combinations',
    );
  const branches = anyOf ?? oneOf;
  return Array.isArray(branches) ? branches : undefined;
}

/**
 * @param node the keywords beside the union
 * @param branches its alternatives
 */
export function union(
  translation: Translator,
  node: Node,
  branches: readonly unknown[],
  scope: Scope,
  path: string,
): StructuralSchema {
  const { anyOf: _, oneOf, ...beside } = node;
  const exclusive = branches === oneOf;
  const flat = branches.flatMap((branch) => alternativesOf(branch, beside, exclusive, scope, path));
  const alternatives = flat.filter(({ node: each }) => !isNull(each));
  const nullable = alternatives.length < flat.length ? { nullable: true } : {};
  const said: StructuralSchema = { ...annotations(node), ...nullable };
  if (alternatives.length === 0)
    throw new SchemaError(path, 'a value that is always null has no form here');
  const [only] = alternatives;
  if (only !== undefined && alternatives.length === 1) {
    const merged = {
      ...beside,
      allOf: [...(Array.isArray(beside.allOf) ? beside.allOf : []), only.node],
    };
    return { ...translation.schema(merged, only.scope, path), ...said };
  }
  const values = alternatives.map((each) =>
    Object.keys(each.node).every(isEnumKeyword) ? valuesOf(each.node) : undefined,
  );
  if (values.every((each) => each !== undefined)) {
    const each = values.flatMap((own) => [...new Set(own)]);
    const all = [...new Set(each)].filter(
      (one) => !exclusive || each.indexOf(one) === each.lastIndexOf(one),
    );
    if (all.length === 0)
      throw new SchemaError(
        path,
        'every value of "oneOf" is in several alternatives: none is left',
      );
    return { ...translation.schema({ ...plainly(beside), enum: all }, scope, path), ...said };
  }
  for (const each of alternatives)
    for (const keyword of Object.keys(each.node))
      if (keyword.startsWith('x-kubernetes-'))
        throw new SchemaError(
          path,
          `"${keyword}" has no form in an alternative of a union: say it of the union`,
        );
  const schemas = alternatives.map((each) => translation.schema(each.node, each.scope, path));
  if (schemas.some((schema) => schema.nullable)) said.nullable = true;
  const types = new Set(schemas.map(({ type }) => type));
  if (types.size === 2 && types.has('integer') && types.has('string'))
    return { ...intOrString([...schemas, restrictions(beside, path, 'integer')], path), ...said };
  if (types.has('object') && types.size === 1) {
    const parent = Object.keys(beside).some((keyword) => !ANNOTATING.has(keyword))
      ? translation.schema({ type: 'object', properties: {}, ...beside }, scope, path)
      : { type: 'object' as const };
    const closed = alternatives.map(
      (each) => translation.strict && isClosed(each.node, each.scope, path),
    );
    return { ...objects(schemas, parent, closed, exclusive, path), ...said };
  }
  const [type] = types;
  if (types.size > 1 || type === undefined || type === 'array')
    throw new SchemaError(
      path,
      'the alternatives of a union have to be of one type, and not ' +
        `arrays: these are ${schemas.map(describe).join(', ')}`,
    );
  // Scalars of one type: an alternative is its restrictions.
  const each = schemas.map(validationsOf);
  const vague = alternatives.find(
    ({ node: { format } }, at) => format !== undefined && isEmpty(each[at]),
  );
  if (exclusive && vague !== undefined)
    throw new SchemaError(
      path,
      '"oneOf" has an alternative of the format ' +
        `${vague.node.format}, which the server does not check`,
    );
  return { type, ...restrictions(beside, path, type), ...restriction(each, exclusive), ...said };
}

/** An alternative without restrictions allows everything, unless exactly one may match. */
function restriction(branches: StructuralSchema[], exclusive: boolean): StructuralSchema {
  if (exclusive) return { oneOf: branches };
  return !branches.some(isEmpty) ? { anyOf: branches } : {};
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

const isEmpty = (schema: StructuralSchema | undefined): boolean =>
  Object.keys(schema ?? {}).length === 0;

const describe = ({ type }: StructuralSchema): string => type ?? 'of any type';

const plainly = ({ title: _, description: __, default: ___, ...rest }: Node): Node => rest;

const isNull = (node: Node): boolean =>
  node.type === 'null' || (node.const === null && 'const' in node);

/**
 * A union inside of a union is flattened, unless it has restrictions of its own. The type beside a
 * union holds for its alternatives.
 */
function alternativesOf(
  branch: unknown,
  beside: Node,
  exclusive: boolean,
  outer: Scope,
  path: string,
): { node: Node; scope: Scope }[] {
  const { node: own, scope } = normalise(branch, outer, path);
  const alone = Object.keys(own).every((keyword) => keyword === 'anyOf' || ANNOTATING.has(keyword));
  if (Array.isArray(own.anyOf) && alone && !exclusive)
    return own.anyOf.flatMap((each) => alternativesOf(each, beside, exclusive, scope, path));
  const { type, properties } = beside;
  const same =
    typeof type !== 'string' || own.type === undefined || own.type === type || isNull(own);
  const typed = same ? {} : { type: mergeKeyword('type', own.type, type, path) };
  const node = {
    ...(typeof type === 'string' ? { type } : {}),
    ...(properties ? { properties: {} } : {}),
    ...own,
    ...typed,
  };
  if (!Array.isArray(node.type)) return [{ node, scope }];
  return node.type.map((type) => ({ node: { ...node, type }, scope }));
}

/**
 * Restrictions of numbers do not affect strings, nor the other way round, so both may be combined.
 * An enum would.
 */
function intOrString(schemas: readonly StructuralSchema[], path: string): StructuralSchema {
  const parts = schemas.map(validationsOf);
  for (const type of ['integer', 'string']) {
    const own = schemas.flatMap((schema, at) => (schema.type === type ? [parts[at]] : []));
    if (own.length > 1 && !own.every(isEmpty))
      throw new SchemaError(
        path,
        `of a value that is an integer or a string, one alternative can restrict the ${type}`,
      );
  }
  const names = parts.flatMap((part) => Object.keys(part));
  if (names.includes('enum') || names.includes('oneOf') || new Set(names).size < names.length)
    throw new SchemaError(
      path,
      'a value that is an integer or a string can be restricted as either, but not by an enum',
    );
  return { 'x-kubernetes-int-or-string': true, ...Object.assign({}, ...parts) };
}

/** Whether an alternative forbids other members. */
function isClosed(branch: unknown, outer: Scope, path: string): boolean {
  const { node, scope } = normalise(branch, outer, path);
  if (node.additionalProperties === false) return true;
  const branches = node.properties === undefined ? branchesOf(node, path) : undefined;
  return branches?.every((each) => isClosed(each, scope, path)) ?? false;
}

/**
 * The parent has the members of all alternatives; `anyOf` lists which go together, or `oneOf` if
 * several could match.
 */
function objects(
  schemas: readonly StructuralSchema[],
  parent: StructuralSchema,
  closed: readonly boolean[],
  exclusive: boolean,
  path: string,
): StructuralSchema {
  const properties: Record<string, StructuralSchema> = { ...parent.properties };
  const branches = schemas.map(validationsOf);
  const names = new Set(schemas.flatMap((schema) => Object.keys(schema.properties ?? {})));
  for (const schema of schemas)
    if (
      schema.additionalProperties !== undefined ||
      schema['x-kubernetes-preserve-unknown-fields'] === true
    )
      throw new SchemaError(
        path,
        'alternatives of a union that have members of any name have no form here',
      );
  for (const name of names) {
    const own = schemas.map((schema) => ownMember(schema, name));
    properties[name] = member(
      own,
      ownMember(parent, name),
      `${path}.${name}`,
      (index, restricted) => {
        const branch = branches[index];
        if (branch !== undefined) branch.properties = { ...branch.properties, [name]: restricted };
      },
    );
  }
  const common = [...names].filter((name) =>
    schemas.every(({ required }) => required?.includes(name)),
  );
  const required = [...new Set([...(parent.required ?? []), ...common])];
  for (const [index, schema] of schemas.entries()) {
    const branch = branches[index] as StructuralSchema;
    const rest = (schema.required ?? []).filter((name) => !common.includes(name));
    if (rest.length > 0) branch.required = rest;
    // Members of the other alternatives are known to the parent, so they are not pruned.
    const foreign = closed[index]
      ? [...names].filter((name) => !ownMember(schema, name) && !ownMember(parent, name))
      : [];
    if (foreign.length > 0) branch.not = { anyOf: foreign.map((name) => ({ required: [name] })) };
  }
  const apart = common.some((name) => {
    const values = schemas.map((schema) => ownMember(schema, name)?.enum);
    const all = values.flatMap((each) => each ?? []);
    return values.every((each) => each !== undefined) && new Set(all).size === all.length;
  });
  return {
    ...parent,
    type: 'object',
    properties,
    ...(required.length > 0 ? { required } : {}),
    ...restriction(branches, exclusive && !apart),
  };
}

const ownMember = (
  { properties = {} }: StructuralSchema,
  name: string,
): StructuralSchema | undefined => (Object.hasOwn(properties, name) ? properties[name] : undefined);

/**
 * One member that some alternatives have.
 *
 * @param beside its schema beside the union
 * @param restrict the restrictions that an alternative adds
 */
function member(
  own: readonly (StructuralSchema | undefined)[],
  beside: StructuralSchema | undefined,
  path: string,
  restrict: (index: number, restricted: StructuralSchema) => void,
): StructuralSchema {
  const there = [...own, beside].filter((schema) => schema !== undefined);
  const [first] = there as [StructuralSchema];
  if (first.default !== undefined && own.includes(undefined))
    throw new SchemaError(
      path,
      'a default that only some alternatives have would be given to all of them',
    );
  if (there.every((schema) => sameValue(schema, first))) return first;
  const bare = (schema: StructuralSchema): StructuralSchema => {
    const { title: _, description: __, ...rest } = withoutValidations(schema);
    return rest;
  };
  const scalar = first.type !== 'object' && first.type !== 'array' && first.type !== undefined;
  if (!scalar || !there.every((schema) => sameValue(bare(schema), bare(first))))
    throw new SchemaError(
      path,
      'the alternatives of a union have different schemas for this member',
    );
  for (const [index, schema] of own.entries()) {
    const restricted = schema === undefined ? {} : validationsOf(schema);
    if (Object.keys(restricted).length > 0) restrict(index, restricted);
  }
  if (beside !== undefined) return beside;
  const values = there.flatMap(({ enum: each }) => each ?? []);
  const enumerated = there.every(({ enum: each }) => each !== undefined);
  return { ...withoutValidations(first), ...(enumerated ? { enum: [...new Set(values)] } : {}) };
}
