/**
 * Names of objects as values: namespace and name, and keys in place of objects. client-go:
 * tools/cache/object-names.go, tools/cache/store.go ObjectToName, tools/cache/index.go
 * IndexFuncToKeyFuncAdapter.
 */
import { invalid } from '../../base/errors.ts';
import { isTombstone, metaNamespaceKeyFunc, splitMetaNamespaceKey } from '../rest/keys.ts';
import type { IndexFunc } from '../rest/resource.ts';

/** Namespace and name of an object; the namespace is "" where there is none. */
export class ObjectName {
  readonly namespace: string;
  readonly name: string;

  constructor(namespace: string, name: string) {
    this.namespace = namespace;
    this.name = name;
  }

  /** The key that {@link metaNamespaceKeyFunc} makes: `namespace/name`, or `name`. */
  toString(): string {
    return this.namespace === '' ? this.name : `${this.namespace}/${this.name}`;
  }
}

/**
 * The name that a key stands for.
 *
 * @throws CapstanError INVALID_KEY for a key with more than one slash
 */
export function parseObjectName(key: string): ObjectName {
  const { namespace, name } = splitMetaNamespaceKey(key);
  return new ObjectName(namespace, name);
}

/**
 * The name of an object.
 *
 * @throws CapstanError INVALID_ARGUMENT for a value without `metadata.name`
 */
export function objectToName(object: object): ObjectName {
  metaNamespaceKeyFunc(object); // has the checks
  const { namespace, name } = (object as { metadata: { namespace?: string | null; name: string } })
    .metadata;
  return new ObjectName(namespace ?? '', name);
}

/**
 * As {@link objectToName}, and the name that the key of a tombstone stands for: for `onDelete`,
 * which gets either.
 *
 * @throws CapstanError INVALID_ARGUMENT, INVALID_KEY
 */
export function deletionHandlingObjectToName(object: object): ObjectName {
  return isTombstone(object) ? parseObjectName(object.key) : objectToName(object);
}

/**
 * An index function as a key function, for an index in which each object has a value of its own.
 *
 * @returns a function that throws CapstanError INVALID_ARGUMENT for an object with no value or with
 *   several
 */
export function indexFuncToKeyFuncAdapter<T>(indexFunc: IndexFunc<T>): (object: T) => string {
  return (object) => {
    const values = indexFunc(object);
    const [only] = values;
    if (only === undefined || values.length > 1)
      throw invalid('indexFunc', 'a function that gives one value', values);
    return only;
  };
}
