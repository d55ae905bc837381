/**
 * Which resources this process reads as metadata alone. Their objects show their own kind, so that
 * nothing but what is missing tells them from whole ones; who writes one back would delete the
 * rest.
 */
import { type Resource, resourceId } from './resource.ts';

/** As many as a program has such informers; an entry stays, as objects outlive their informer. */
const resources = new Set<string>();

/** Objects of the resource are read as metadata alone from now on. */
export function noteMetadataOnly(resource: Resource<never, string>): void {
  resources.add(resourceId(resource));
}

const HEAD = ['apiVersion', 'kind', 'metadata'];

/** Whether an object may be one that was read as metadata alone. */
export function mayBeMetadataOnly(resource: Resource<never, string>, object: object): boolean {
  return resources.has(resourceId(resource)) && hasMetadataAlone(object);
}

export function hasMetadataAlone(object: object): boolean {
  return Object.keys(object).every((name) => HEAD.includes(name));
}
