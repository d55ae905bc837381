/**
 * Trims the objects of a cache: removes the members of the option `drop` and `managedFields`. A
 * tree of member names says what to remove. Objects are trimmed as bytes (assembly/trim.ts) or,
 * once decoded, here. A trimmed member is absent, as if the server had not sent it. For an array,
 * the tree applies to each element.
 */

import { invalid } from '../../base/errors.ts';
import { parsePath } from '../../base/json-path.ts';
import { isObjectLike } from '../../base/json-value.ts';

/** What happens to a member: it is removed, it is kept, or its value is trimmed by a subtree. */
export type TrimAction = 'remove' | 'keep' | Trim;

export interface Trim {
  /** For members that are not in `members`. */
  readonly others: 'remove' | 'keep';
  readonly members: Map<string, TrimAction>;
}

/** Members that a cache needs. */
const KEPT = ['metadata', 'metadata.name', 'metadata.namespace', 'metadata.resourceVersion'];

/**
 * The member names of a path. Throws CapstanError INVALID_ARGUMENT for a path that cannot be
 * dropped.
 */
function droppedPath(path: unknown): readonly string[] {
  const names = typeof path === 'string' ? parsePath(path) : [];
  // A lone surrogate is not UTF-8: an object has such a name only if it is written as an escape.
  if (
    names.length > 0 &&
    !KEPT.includes(names.join('.')) &&
    !names.some((name) => /\p{Surrogate}/u.test(name))
  )
    return names;
  const expected =
    'paths of members such as "spec.template", but not metadata, nor its name, namespace or ' +
    'resourceVersion';
  throw invalid('options.drop', expected, path);
}

/**
 * Makes the tree that removes these members.
 *
 * @param drop paths as in json-path.ts
 * @throws CapstanError INVALID_ARGUMENT
 */
export function trimOf(drop: readonly string[], keepManagedFields: boolean): Trim {
  const root: Trim = { others: 'keep', members: new Map() };
  for (const path of drop) cut(root, droppedPath(path));
  if (!keepManagedFields) cut(root, ['metadata', 'managedFields']);
  return root;
}

function cut(root: Trim, names: readonly string[]): void {
  let node = root;
  for (const name of names.slice(0, -1)) {
    let next = node.members.get(name);
    if (next === 'remove') return;
    if (next === undefined || next === 'keep') {
      next = { others: 'keep', members: new Map() };
      node.members.set(name, next);
    }
    node = next;
  }
  node.members.set(names.at(-1) as string, 'remove');
}

/** The tree that keeps only apiVersion, kind and metadata, trimmed as before. */
export function trimToMetadata(trim: Trim): Trim {
  const members = ['apiVersion', 'kind', 'metadata'].map(
    (name) => [name, trim.members.get(name) ?? 'keep'] as const,
  );
  return { others: 'remove', members: new Map(members) };
}

/**
 * Trims, in place, a value that JSON.parse gave and that has not been handed out. Without
 * recursion, as it may nest deeply.
 */
export function trimValue(value: unknown, trim: Trim): void {
  const todo: { value: unknown; trim: Trim }[] = [{ value, trim }];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const { trim: by } = next;
    if (Array.isArray(next.value)) {
      for (const element of next.value)
        if (isObjectLike(element)) todo.push({ value: element, trim: by });
    } else if (isObjectLike(next.value)) {
      const object = next.value as Record<string, unknown>;
      if (by.others === 'remove')
        for (const name of Object.keys(object)) if (!by.members.has(name)) delete object[name];
      for (const [name, fate] of by.members) {
        if (fate === 'keep' || !Object.hasOwn(object, name)) continue;
        if (fate === 'remove') delete object[name];
        else todo.push({ value: object[name], trim: fate });
      }
    }
  }
}
