/**
 * Reconcilers that are given the object in place of its name. controller-runtime:
 * pkg/reconcile/reconcile.go, AsReconciler.
 */

import { invalid, requireFunction } from '../base/errors.ts';
import { namesOf, requireMembers } from '../base/names.ts';
import type { Resource } from '../cache/rest/resource.ts';
import { isNotFound } from '../cache/rest/status-error.ts';
import type { Reader } from '../client/types.ts';
import type { Reconcile, ReconcileContext, Reconciler } from './reconcile.ts';

/** Reconciles the objects of one resource. */
export interface ObjectReconciler<T extends object> {
  readonly resource: Resource<T, string>;
  /** As a reconcile function, with the object: read-only where the client reads from a cache. */
  reconcile(object: T, context: ReconcileContext<T>): ReturnType<Reconcile<T>>;
}

const NAMES = namesOf<ObjectReconciler<never>>()({ reconcile: 1, resource: 1 });

/**
 * A reconciler that reads the object first. There is nothing to do for one that is gone; any other
 * failure of the read is one of the reconcile.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const reconciler = asReconciler(manager.client, {
 *   resource: Website,
 *   reconcile: (website, { signal }) => apply(deploymentOf(website), signal),
 * });
 * newControllerManagedBy(manager).for(Website).complete(reconciler);
 */
export function asReconciler<T extends object>(
  client: Pick<Reader, 'get'>,
  reconciler: ObjectReconciler<T>,
): Reconciler<T> {
  requireFunction('client.get', (client as Partial<Reader> | undefined)?.get);
  requireMembers('reconciler', reconciler, 'member of an ObjectReconciler', NAMES, true);
  requireFunction('reconciler.reconcile', reconciler.reconcile);
  const { resource } = reconciler;
  if (typeof resource?.kind !== 'string')
    throw invalid('reconciler.resource', 'what defineResource returns', resource);
  return {
    async reconcile(request, context) {
      let object: T;
      try {
        object = await client.get(resource, request, { signal: context.signal });
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
      return reconciler.reconcile(object, context);
    },
  };
}
