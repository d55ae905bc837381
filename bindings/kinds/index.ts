/**
 * Every built-in kind of Kubernetes 1.36, ready for informers, controllers and clients: the group,
 * version, plural and scope that a real API server has, and the type of client-node.
 *
 * A kind has its newest stable version. The kinds that have no stable version yet have their newest
 * beta version, which a server serves only where it is switched on. What is missing: kinds that are
 * only alpha, older versions of a kind, and kinds that are no resource, such as `Scale` and
 * `Eviction` (see `subResource` of a client). `defineResource` describes those, and custom
 * kinds.
 *
 * Two groups have a kind `Event`. `Event` is that of the core group, `EventsV1Event` that of
 * events.k8s.io.
 *
 * Only what is imported ends up in a bundle. The types need `@kubernetes/client-node`, an optional
 * peer; at run time it is not loaded.
 *
 * @example
 * const pods = await client.list(Pod, { namespace: 'default' });
 * // With indices of your own, for informers and caches:
 * const PodByNode = defineResource<V1Pod>()({ ...Pod, indexers: { byNode: 'spec.nodeName' } });
 *
 * @module
 */
export * from './kinds.ts';
