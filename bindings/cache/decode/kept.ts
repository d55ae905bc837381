/**
 * Computes what a cache keeps of an object of the server: less than the server has if members are
 * dropped or a transform changes it. A client that writes such an object back would delete the
 * rest.
 */
import type { KubeObject } from '../../base/object.ts';
import { trimOf, trimValue } from './trim.ts';

/** The options of a cache that change its objects. */
export interface KeptOptions<T> {
  readonly drop?: readonly string[] | undefined;
  readonly transform?: ((object: T) => T) | undefined;
  readonly metadataOnly?: boolean | undefined;
}

/**
 * A function that gives, as a new object, what the cache keeps of an object, without
 * `managedFields`; `undefined` if the cache keeps all the rest. If the transform throws, the object
 * stays as the transform left it.
 */
export function keptBy<T extends object>({
  drop = [],
  transform,
  metadataOnly = false,
}: KeptOptions<T>): ((object: T) => T) | undefined {
  if (drop.length === 0 && transform === undefined && !metadataOnly) return undefined;
  const trim = trimOf(drop, false);
  return (object) => {
    const copy = JSON.parse(JSON.stringify(object)) as T;
    trimValue(copy, trim);
    if (metadataOnly) {
      const { apiVersion, kind, metadata } = copy as KubeObject;
      return { apiVersion, kind, metadata } as T;
    }
    try {
      return transform?.(copy) ?? copy;
    } catch {
      return copy; // reported when the object came from the server
    }
  };
}
