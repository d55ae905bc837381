/**
 * Index values by path: `spec.nodeName`. A path names members from the root; a dot inside a name is
 * written `\.`, and a bracket `\[`.
 *
 * - A string, number or boolean at the end is one value, as text. Nothing there, or null, is no
 *   value.
 * - An array on the way or at the end stands for each of its elements
 *   (`metadata.ownerReferences.uid`).
 * - An object at the end is one value `name=value` for each of its members that is a string, number
 *   or boolean, which is how selectors write labels (`metadata.labels`).
 *
 * Only own members are followed, so that `__proto__` is an ordinary name.
 */
import { invalid } from './errors.ts';

/**
 * Matches paths of kubectl and JSONPath, which would find nothing as names of members. `$ref` is a
 * name.
 */
const JSON_PATH = /^\{|^\$[.[]|(?<!\\)\[/;

/**
 * The member names of a path. Throws CapstanError INVALID_ARGUMENT for an empty path, an empty name
 * in it, and JSONPath.
 */
export function parsePath(path: string): readonly string[] {
  const names = path.split(/(?<!\\)\./).map((name) => name.replace(/\\([.[])/g, '$1'));
  if (names.includes('') || JSON_PATH.test(path)) {
    const expected =
      'names joined by dots, such as "spec.containers.image" ' +
      'or "metadata.labels.example\\.com/app"';
    throw invalid('path', expected, path);
  }
  return names;
}

/** The index function of a path. */
export function pathIndexFunc(path: string): (object: object) => string[] {
  const names = parsePath(path);
  return (object) => {
    const values: string[] = [];
    collect(object, names, 0, values);
    return values;
  };
}

function collect(value: unknown, names: readonly string[], depth: number, into: string[]): void {
  if (Array.isArray(value)) {
    for (const element of value.some(Array.isArray) ? flattened(value) : value)
      collect(element, names, depth, into);
    return;
  }
  const name = names[depth];
  if (name !== undefined) {
    if (typeof value === 'object' && value !== null && Object.hasOwn(value, name)) {
      collect((value as Record<string, unknown>)[name], names, depth + 1, into);
    }
  } else if (isScalar(value)) {
    into.push(String(value));
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value))
      if (isScalar(member)) into.push(`${key}=${member}`);
  }
}

/** Without recursion, because arrays may nest at any depth. */
function flattened(array: readonly unknown[]): unknown[] {
  const elements: unknown[] = [];
  const open = [array.values()];
  for (let last = open.at(-1); last !== undefined; last = open.at(-1)) {
    const { done, value } = last.next();
    if (done) open.pop();
    else if (Array.isArray(value)) open.push(value.values());
    else elements.push(value);
  }
  return elements;
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
