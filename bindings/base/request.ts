/** What a controller's queue holds: the namespace and name of an object. */

/** controller-runtime: reconcile.Request. A cluster scoped object has the namespace `''`. */
export interface Request {
  readonly namespace: string;
  readonly name: string;
}

/**
 * The key function for requests. Queues and limiters recognise it by identity and hash the two
 * parts without joining them, so that `('a', 'b/c')` and `('a/b', 'c')` stay two keys; the string
 * it returns is for people.
 *
 * @example
 * const queue = new WorkQueue<Request>({ key: requestKey });
 * queue.add({ namespace: 'default', name: 'web' });
 */
export const requestKey = (request: Request): string => `${request.namespace}/${request.name}`;

/** Whether an item has members of its own beside those of a request. */
export function hasMore(item: Request): boolean {
  for (const member in item)
    if (member !== 'namespace' && member !== 'name' && Object.hasOwn(item, member)) return true;
  return false;
}
