/**
 * A controller for Websites: each has a Deployment and a Service of its name. Both are put back when somebody changes or
 * deletes them, follow the Website's spec, and go when it goes: a finalizer holds the Website until they are deleted.
 *
 * The reconcile function is level-triggered. It never asks what happened, only what should be and what is; doing nothing
 * twice, or a whole reconcile again after a failure half-way, ends in the same place.
 */
import type { Resource, Transport } from 'capstan/cache';
import {
  type ControllerOptions,
  createController,
  type ReconcileContext,
  type Result,
  TerminalError,
} from 'capstan/controller';
import type { Request } from 'capstan/workqueue';
import { Api, isConflict, isNotFound, pathOf } from './api.ts';
import { deploymentOf, serviceOf } from './children.ts';
import { type ChildObject, Deployment, Service, Website, type WebsiteObject } from './resources.ts';

export const FINALIZER = 'demo.capstan.dev/children';

type Reconcile = ControllerOptions<WebsiteObject>['reconcile'];
type Context = ReconcileContext<WebsiteObject>;
type Options = Partial<Omit<ControllerOptions<WebsiteObject>, 'transport' | 'for' | 'owns' | 'reconcile'>>;

/** Ready to `run`. `wrap` may put something around the reconcile function, such as a measurement. */
export function createWebsiteController(
  transport: Transport,
  options: Options = {},
  wrap: (reconcile: Reconcile) => Reconcile = (reconcile) => reconcile,
) {
  return createController<WebsiteObject>({
    name: 'website',
    maxConcurrentReconciles: 8,
    reconciliationTimeout: 10_000,
    ...options,
    transport,
    for: Website,
    owns: [Deployment, Service],
    reconcile: wrap(reconcileWebsites(new Api(transport))),
  });
}

export function reconcileWebsites(api: Api): Reconcile {
  return async (request, context) => {
    const website = context.get(request);
    if (website === undefined) return undefined; // gone, and its children went before it
    try {
      if (website.metadata.deletionTimestamp === undefined) await keep(api, website, context);
      else await release(api, website, context.signal);
      return undefined;
    } catch (error) {
      return staleOrThrow(error, request, context);
    }
  };
}

/** Brings children and status to what the spec says. */
async function keep(api: Api, cached: WebsiteObject, { get, signal }: Context): Promise<void> {
  if (!Number.isInteger(cached.spec?.replicas)) throw new TerminalError('spec.replicas is not an integer'); // until it changes
  const website = await withFinalizer(api, cached, signal);
  const { name, namespace, generation } = website.metadata;
  await ensure(api, Deployment, deploymentOf(website), get({ namespace, name }, Deployment), signal);
  await ensure(api, Service, serviceOf(website), get({ namespace, name }, Service), signal);

  const status = { observedGeneration: generation, address: `${name}.${namespace}.svc:${website.spec.port}` };
  if (!matches(website.status, status)) await api.patch(pathOf(Website, namespace, name, 'status'), { status }, signal);
}

/** The finalizer comes before the first child: otherwise a Website deleted in between would leave it behind. */
async function withFinalizer(api: Api, website: WebsiteObject, signal: AbortSignal): Promise<WebsiteObject> {
  const { name, namespace, resourceVersion, finalizers = [] } = website.metadata;
  if (finalizers.includes(FINALIZER)) return website;
  const metadata = { resourceVersion, finalizers: [...finalizers, FINALIZER] };
  return api.patch<WebsiteObject>(pathOf(Website, namespace, name), { metadata }, signal);
}

/** Deletes the children, then lets the Website go. */
async function release(api: Api, website: WebsiteObject, signal: AbortSignal): Promise<void> {
  const { name, namespace, resourceVersion, finalizers = [] } = website.metadata;
  if (!finalizers.includes(FINALIZER)) return;
  await api.delete(pathOf(Deployment, namespace, name), signal);
  await api.delete(pathOf(Service, namespace, name), signal);
  const metadata = { resourceVersion, finalizers: finalizers.filter((one) => one !== FINALIZER) };
  await api.patch(pathOf(Website, namespace, name), { metadata }, signal);
}

/**
 * Creates the child, or corrects what differs. What the server has beyond `desired` (defaults, status) is left alone. The
 * cached child may be out of date; then its news will come and lead here again.
 */
async function ensure(
  api: Api,
  resource: Resource<ChildObject>,
  desired: ChildObject,
  cached: ChildObject | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { metadata, spec } = desired; // an object that came in a list has no apiVersion and no kind to compare
  const { namespace, name } = metadata;
  if (cached === undefined) await api.create(pathOf(resource, namespace), desired, signal);
  else if (!matches(cached, { metadata, spec })) await api.patch(pathOf(resource, namespace, name), desired, signal);
}

/** Whether `actual` has everything that `desired` has, and not what is null there. Arrays are equal in length. */
export function matches(actual: unknown, desired: unknown): boolean {
  if (desired === null) return actual === undefined || actual === null;
  if (typeof desired !== 'object') return actual === desired;
  if (typeof actual !== 'object' || actual === null) return false;
  if (Array.isArray(desired) && (!Array.isArray(actual) || actual.length !== desired.length)) return false;
  return Object.entries(desired).every(([key, value]) => matches((actual as Record<string, unknown>)[key], value));
}

/** The cache may lag behind the server. That is no failure: the news is on its way, or comes with the next try. */
function staleOrThrow(error: unknown, request: Request, { get }: Context): Result {
  if (isConflict(error)) return { requeue: true }; // changed, or created already, by a try whose answer was lost
  if (isNotFound(error) && get(request) === undefined) return {}; // deleted meanwhile
  throw error;
}
