/** The key of an object, for reads and writes of it. */
import { deletionHandlingObjectToName, type ObjectName } from '../cache/parity/object-name.ts';

/**
 * The key of an object: its namespace ("" for a cluster-scoped one) and its name, for `get`,
 * `patch` and `delete` of a client. As text it is `namespace/name`, or `name`. It also takes a
 * tombstone, as `onDelete` gets either. controller-runtime: client.ObjectKeyFromObject.
 *
 * @throws CapstanError INVALID_ARGUMENT for a value without `metadata.name`
 * @example
 * const patch = { metadata: { labels: { seen: 'true' } } };
 * await client.patch(Pod, objectKey(pod), { type: 'merge', body: patch });
 * logger.info({ pod: `${objectKey(pod)}` }, 'labelled'); // default/web-0
 */
export function objectKey(object: object): ObjectName {
  return deletionHandlingObjectToName(object);
}
