/**
 * ObjectName: namespace and name of an object as a value, and conversions from keys and objects.
 * client-go: tools/cache/object-names.go, tools/cache/store.go ObjectToName, tools/cache/index.go
 * IndexFuncToKeyFuncAdapter.
 */
import { invalid } from '../../base/errors.ts';
import type { IndexFunc } from '../../base/resource.ts';
import { isTombstone, metaNamespaceKeyFunc, splitMetaNamespaceKey } from '../rest/keys.ts';

/**
 * Namespace and name of an object; the namespace is "" for a cluster-scoped one. client-go:
 * ObjectName.
 */
export class ObjectName {
  readonly namespace: string;
  readonly name: string;

  constructor(namespace: string, name: string) {
    this.namespace = namespace;
    this.name = name;
  }

  /** The key of {@link metaNamespaceKeyFunc}: `namespace/name`, or `name`. */
  toString(): string {
    return this.namespace === '' ? this.name : `${this.namespace}/${this.name}`;
  }
}

/**
 * Parses a key. client-go: ParseObjectName.
 *
 * @throws CapstanError INVALID_KEY for a key with more than one slash
 */
export function parseObjectName(key: string): ObjectName {
  const { namespace, name } = splitMetaNamespaceKey(key);
  return new ObjectName(namespace, name);
}

/**
 * The name of an object. client-go: ObjectToName.
 *
 * @throws CapstanError INVALID_ARGUMENT for a value without `metadata.name`
 */
export function objectToName(object: object): ObjectName {
  metaNamespaceKeyFunc(object); // throws for an object without a name
  const { namespace, name } = (object as { metadata: { namespace?: string | null; name: string } })
    .metadata;
  return new ObjectName(namespace ?? '', name);
}

/**
 * As {@link objectToName}, and also takes a tombstone, as `onDelete` gets either. client-go:
 * DeletionHandlingObjectToName.
 *
 * @throws CapstanError INVALID_ARGUMENT, INVALID_KEY
 */
export function deletionHandlingObjectToName(object: object): ObjectName {
  return isTombstone(object) ? parseObjectName(object.key) : objectToName(object);
}

/**
 * Converts an index function to a key function, for an index in which each object has exactly one
 * value. client-go: IndexFuncToKeyFuncAdapter.
 *
 * @returns a function that throws CapstanError INVALID_ARGUMENT unless the object has exactly one
 *   value
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
