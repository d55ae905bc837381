/**
 * Remembers which resources this process reads as metadata only. Their objects have the kind of
 * whole objects, so that only the missing members tell them apart; writing one back would delete
 * these members on the server.
 */
import { type Resource, resourceId } from '../../base/resource.ts';

/** Entries are never removed, because objects outlive their informer. */
const resources = new Set<string>();

/** Called when a resource is about to be read as metadata only. */
export function noteMetadataOnly(resource: Resource<never, string>): void {
  resources.add(resourceId(resource));
}

const HEAD = ['apiVersion', 'kind', 'metadata'];

/** Whether an object may have been read as metadata only. */
export function mayBeMetadataOnly(resource: Resource<never, string>, object: object): boolean {
  return resources.has(resourceId(resource)) && hasMetadataAlone(object);
}

export function hasMetadataAlone(object: object): boolean {
  return Object.keys(object).every((name) => HEAD.includes(name));
}
