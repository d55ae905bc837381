/**
 * What a cache makes of an object of the server: less than the server has, where members are
 * dropped or a transform changes it. A client that writes such an object back deletes the rest.
 */
import type { KubeObject } from '../rest/keys.ts';
import { trimOf, trimValue } from './trim.ts';

/** The part of a cache's options that changes objects. */
export interface KeptOptions<T> {
  readonly drop?: readonly string[] | undefined;
  readonly transform?: ((object: T) => T) | undefined;
  readonly metadataOnly?: boolean | undefined;
}

/**
 * What is kept of an object, as a new one, without `managedFields`; `undefined` where a cache has
 * all else as the server does. A transform that fails leaves what it has changed by then.
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
      return copy; // it was reported when the object came
    }
  };
}
