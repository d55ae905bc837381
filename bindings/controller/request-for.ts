/** The request to reconcile an object. */
import type { Request } from '../base/request.ts';
import { deletionHandlingObjectToName } from '../cache/parity/object-name.ts';

/**
 * The request to reconcile an object: its namespace ("" for a cluster-scoped one) and its name. It
 * also takes a tombstone, as `onDelete` gets either. Use it in map functions, in handlers, and to
 * add to a queue of requests. controller-runtime: reconcile.Request{NamespacedName:
 * client.ObjectKeyFromObject(obj)}.
 *
 * @throws CapstanError INVALID_ARGUMENT for a value without `metadata.name`
 * @example
 * // All websites again if a ConfigMap with settings changes.
 * const websites = manager.cache.informerFor(Website).getIndexer();
 * const handler = enqueueRequestsFromMapFunc(() => websites.list().map(requestFor));
 * newControllerManagedBy(manager).for(Website).watches(ConfigMap, handler);
 */
export function requestFor(object: object): Request {
  const { namespace, name } = deletionHandlingObjectToName(object);
  return { namespace, name };
}
