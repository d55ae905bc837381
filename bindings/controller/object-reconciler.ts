/**
 * Reconcilers that get the object instead of its name. controller-runtime:
 * pkg/reconcile/reconcile.go, AsReconciler.
 */

import { requireFunction } from '../base/errors.ts';
import { namesOf, requireMembers } from '../base/names.ts';
import type { FromServer } from '../base/object.ts';
import { notResource, type Resource } from '../base/resource.ts';
import { isNotFound } from '../cache/rest/status-error.ts';
import type { Reader } from '../client/types.ts';
import type { Reconcile, ReconcileContext, Reconciler } from './reconcile.ts';

/** Reconciles the objects of one resource. controller-runtime: reconcile.ObjectReconciler. */
export interface ObjectReconciler<T extends object> {
  readonly resource: Resource<T, string>;
  /**
   * A reconcile function that gets the object. The object is read-only if the client reads from a
   * cache.
   */
  reconcile(object: FromServer<T>, context: ReconcileContext<T>): ReturnType<Reconcile<T>>;
}

const NAMES = namesOf<ObjectReconciler<never>>()({ reconcile: 1, resource: 1 });

/**
 * Makes a reconciler that reads the object before each call. If the object does not exist, nothing
 * is called; any other error of the read is a failure of the reconcile.
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
  if (typeof resource?.kind !== 'string') throw notResource('reconciler.resource', resource);
  return {
    async reconcile(request, context) {
      let object: FromServer<T>;
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
