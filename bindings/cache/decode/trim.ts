/**
 * What is cut out of the objects of a cache: a tree of members' names, by which objects are trimmed
 * on their bytes (assembly/trim.ts), or here, where they have been decoded. Either way what is cut
 * is absent, as if the server had not sent it. An array stands for each of its elements.
 */

import { invalid } from '../../base/errors.ts';
import { parsePath } from '../../base/json-path.ts';
import { isObjectLike } from '../../base/json-value.ts';

/** What becomes of a member: it goes, it stays as it is, or its value is trimmed. */
export type Fate = 'goes' | 'stays' | Trim;

export interface Trim {
  /** Of members that are not named. */
  readonly others: 'goes' | 'stays';
  readonly members: Map<string, Fate>;
}

/** Caches cannot do without them. */
const KEPT = ['metadata', 'metadata.name', 'metadata.namespace', 'metadata.resourceVersion'];

/** The names of a path that can be dropped. Throws CapstanError INVALID_ARGUMENT. */
function droppedPath(path: unknown): readonly string[] {
  const names = typeof path === 'string' ? parsePath(path) : [];
  // A lone surrogate is no UTF-8: an object has such a name only where it is written as an escape.
  if (
    names.length > 0 &&
    !KEPT.includes(names.join('.')) &&
    !names.some((name) => /\p{Surrogate}/u.test(name))
  )
    return names;
  const expected =
    'paths of members such as "spec.template", but not metadata, nor its name, namespace or resourceVersion';
  throw invalid('options.drop', expected, path);
}

/**
 * The tree for objects without these members.
 *
 * @param drop paths as in json-path.ts
 * @throws CapstanError INVALID_ARGUMENT
 */
export function trimOf(drop: readonly string[], keepManagedFields: boolean): Trim {
  const root: Trim = { others: 'stays', members: new Map() };
  for (const path of drop) cut(root, droppedPath(path));
  if (!keepManagedFields) cut(root, ['metadata', 'managedFields']);
  return root;
}

function cut(root: Trim, names: readonly string[]): void {
  let node = root;
  for (const name of names.slice(0, -1)) {
    let next = node.members.get(name);
    if (next === 'goes') return;
    if (next === undefined || next === 'stays') {
      next = { others: 'stays', members: new Map() };
      node.members.set(name, next);
    }
    node = next;
  }
  node.members.set(names.at(-1) as string, 'goes');
}

/** The tree for what is left of such an object when only its type and metadata are kept. */
export function trimToMetadata(trim: Trim): Trim {
  const members = ['apiVersion', 'kind', 'metadata'].map(
    (name) => [name, trim.members.get(name) ?? 'stays'] as const,
  );
  return { others: 'goes', members: new Map(members) };
}

/**
 * Trims a value that JSON.parse has given and nobody has seen. However deep it nests: without
 * recursion.
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
      if (by.others === 'goes')
        for (const name of Object.keys(object)) if (!by.members.has(name)) delete object[name];
      for (const [name, fate] of by.members) {
        if (fate === 'stays' || !Object.hasOwn(object, name)) continue;
        if (fate === 'goes') delete object[name];
        else todo.push({ value: object[name], trim: fate });
      }
    }
  }
}
