/** Values at paths such as `.spec.replicas`, as in CustomResourceDefinitions. */
import { isObject, type Json, type JsonObject, without } from '../json.ts';

export const pathNames = (path: string): string[] => path.split('.').filter((name) => name !== '');

/** Returns undefined if there is no value. */
export function valueAt(object: JsonObject, path: string): Json | undefined {
  let value: Json | undefined = object;
  for (const name of pathNames(path)) value = isObject(value) ? value[name] : undefined;
  return value;
}

/** The object with the value set. Missing objects on the path are created. */
export function withValueAt(object: JsonObject, path: string, value: Json): JsonObject {
  const [name, ...rest] = pathNames(path);
  if (name === undefined) return object;
  const below = object[name];
  const inner =
    rest.length === 0 ? value : withValueAt(isObject(below) ? below : {}, rest.join('.'), value);
  return { ...object, [name]: inner };
}

/** The object without the value there. */
export function withoutValueAt(object: JsonObject, path: string): JsonObject {
  const names = pathNames(path);
  const last = names.pop() ?? '';
  const parent = names.join('.');
  const holder = valueAt(object, parent);
  if (!isObject(holder)) return object;
  const rest = without(holder, last);
  return parent === '' ? rest : withValueAt(object, parent, rest);
}
