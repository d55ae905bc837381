/**
 * Prepares JSON Schema for translation: resolves the references of a schema and merges its `allOf`.
 * The result means the same and is one object; only its sub-schemas may still have references.
 */
import { isJsonObject } from '../../base/json-value.ts';
import type { JsonSchema } from './standard-schema.ts';
import { SchemaError } from './structural-schema.ts';

export type Node = Record<string, unknown>;

/** The document, and the references that lead to the current schema. */
export interface Scope {
  readonly root: JsonSchema;
  readonly refs: readonly string[];
}

export const sameValue = (a: unknown, b: unknown): boolean => canonical(a) === canonical(b);

/** JSON with sorted members, to compare schemas by. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    isJsonObject(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}

/** Keywords that describe the schema and not its values. */
const ANNOTATIONS = new Set([
  '$schema',
  '$id',
  '$defs',
  'definitions',
  '$comment',
  'title',
  'description',
  'examples',
  'id',
]);

/** Resolves the reference of a schema and merges its `allOf`. */
export function normalise(
  value: unknown,
  scope: Scope,
  path: string,
): { node: Node; scope: Scope } {
  if (value === true) return { node: {}, scope };
  if (!isJsonObject(value))
    throw new SchemaError(path, 'expected a schema; one that nothing matches has no form here');
  const { $ref, ...own } = value;
  if (typeof $ref !== 'string') return { node: foldAllOf(value, scope, path), scope };
  if (scope.refs.includes($ref))
    throw new SchemaError(
      path,
      `the schema contains itself (${$ref}), and the server takes no references`,
    );
  const within = { root: scope.root, refs: [...scope.refs, $ref] };
  const { node: target, scope: inner } = normalise(resolve($ref, scope.root, path), within, path);
  const folded = foldAllOf(own, scope, path);
  return {
    node: Object.keys(folded).length === 0 ? target : merge(folded, target, path),
    scope: inner,
  };
}

function resolve($ref: string, root: JsonSchema, path: string): unknown {
  if (!$ref.startsWith('#')) throw new SchemaError(path, `the reference ${$ref} leaves the schema`);
  let at: unknown = root;
  for (const part of $ref.split('/').slice(1)) {
    const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    at = isJsonObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }
  if (at === undefined) throw new SchemaError(path, `the reference ${$ref} points to nothing`);
  return at;
}

/** Restrictions that may occur twice stay in `allOf`; all other keywords are merged. */
function foldAllOf(value: Node, scope: Scope, path: string): Node {
  const { allOf, ...own } = value;
  if (!Array.isArray(allOf)) return value;
  let node: Node = own;
  const kept: Node[] = [];
  for (const each of allOf) {
    const part = normalise(each, scope, path).node;
    const clash = Object.keys(part).some(
      (keyword) => keyword in node && !sameValue(node[keyword], part[keyword]),
    );
    if (clash && isRestriction(part)) kept.push(part);
    else node = merge(node, part, path);
  }
  return kept.length === 0 ? node : { ...node, allOf: kept };
}

const RESTRICTIONS = new Set([
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'multipleOf',
  'enum',
  'format',
]);

const isRestriction = (node: Node): boolean =>
  Object.keys(node).every((keyword) => RESTRICTIONS.has(keyword));

/** Merges two schemas. */
function merge(a: Node, b: Node, path: string): Node {
  const both: Node = { ...a };
  for (const [keyword, value] of Object.entries(b)) {
    const existing = both[keyword];
    if (existing === undefined) both[keyword] = value;
    else if (!sameValue(existing, value))
      both[keyword] = mergeKeyword(keyword, existing, value, path);
  }
  return both;
}

/** Merges the values of one keyword. Throws SchemaError if they contradict each other. */
export function mergeKeyword(keyword: string, a: unknown, b: unknown, path: string): unknown {
  if (ANNOTATIONS.has(keyword)) return a;
  if (keyword === 'required' && Array.isArray(a) && Array.isArray(b))
    return [...new Set([...a, ...b])];
  if (keyword === 'properties' && isJsonObject(a) && isJsonObject(b)) {
    const both: Node = { ...a };
    for (const [name, value] of Object.entries(b))
      both[name] = Object.hasOwn(both, name) ? { allOf: [both[name], value] } : value;
    return both;
  }
  if (keyword === 'type' && [a, b].includes('integer') && [a, b].includes('number'))
    return 'integer';
  if (keyword === 'allOf' && Array.isArray(a) && Array.isArray(b)) return [...a, ...b];
  throw new SchemaError(
    path,
    `"${keyword}" is given twice, as ${canonical(a)} and ${canonical(b)}`,
  );
}
