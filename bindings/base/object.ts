/** What every Kubernetes object has: its metadata, and what a server adds to it. */

/**
 * The members that every Kubernetes object has. Objects from a cache are read-only, because all
 * readers share them.
 */
export interface KubeObject {
  apiVersion?: string | undefined;
  kind?: string | undefined;
  metadata?:
    | {
        namespace?: string | undefined;
        name?: string | undefined;
        resourceVersion?: string | undefined;
      }
    | undefined;
}

/**
 * An object that came from a server: it has a name, a uid and a resourceVersion, which are optional
 * in most types of objects. Caches, listers, handlers and a client's reads and writes give such
 * objects. It is a `T` wherever one is expected.
 *
 * It is a statement of the type, which nothing checks at run time. It does not hold for what a
 * server answers without storing it: reviews and bindings have no name, and the answer of a dry
 * run's `create` has no resourceVersion. It also does not hold for the members that a `transform`
 * or `drop` removes.
 *
 * @example
 * const names = (pods: readonly FromServer<V1Pod>[]): string[] =>
 *   pods.map((pod) => pod.metadata.name); // without `?.` and `!`
 */
export type FromServer<T> = T & {
  metadata: { name: string; uid: string; resourceVersion: string };
};

/** The resourceVersion of an object, or ""; `undefined` for an object without metadata. */
export function resourceVersionOf(object: object): string | undefined {
  const { metadata } = object as KubeObject;
  return typeof metadata === 'object' && metadata !== null
    ? (metadata.resourceVersion ?? '')
    : undefined;
}
