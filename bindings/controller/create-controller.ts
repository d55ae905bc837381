/**
 * `createController` makes a controller from one options object. The builder (builder.ts) makes the
 * same controller step by step; the controller itself is in controller.ts.
 */

import { CapstanError, invalid, requireFunction } from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { FromServer, KubeObject } from '../base/object.ts';
import type { Request } from '../base/request.ts';
import { notResource, type Resource } from '../base/resource.ts';
import { newSharedInformerFactory, type SharedInformerFactory } from '../cache/informer/factory.ts';
import { requireTransport, type Transport } from '../cache/rest/transport.ts';
import { type Controller, ReconcileLoop } from './controller.ts';
import { type Manager, requireManager } from './manager.ts';
import { metricsOfManager } from './metrics.ts';
import {
  type ControllerSettings,
  type ResolvedSettings,
  resolveSettings,
  SETTING_NAMES,
} from './options.ts';
import type { RequestType } from './own-requests.ts';
import type { Reconcile, Reconciler } from './reconcile.ts';
import type { Predicate, Source } from './source.ts';
import {
  invalidPlan,
  type Owned,
  PlannedWatches,
  requirePlan,
  type Watched,
  type WatchPlan,
} from './watches.ts';

/**
 * Options of {@link createController}. The object types follow from `for`, the type of the requests
 * from `request`.
 */
export interface ControllerOptions<T extends object, R = Request> extends ControllerSettings<R> {
  /**
   * The connection to the API server; the controller then makes informers of its own. Exactly one
   * of `transport` and `manager` is required.
   */
  transport?: Transport | undefined;
  /**
   * Adds the controller to this manager, which runs it on the manager's cache; do not call `run`
   * then. Exactly one of `transport` and `manager` is required.
   */
  manager?: Manager | undefined;
  /**
   * The type of the requests, if it is one of your own: see {@link defineRequest}. Handlers and
   * sources then make such requests. `for`, `owns` and `reconcileAllOn`, whose requests name an
   * object, are refused. Default: the namespace and the name of an object.
   */
  request?: RequestType<R> | undefined;
  /**
   * The resource whose objects are reconciled. May be omitted if there are `watches` or `sources`.
   */
  for?: Resource<T, string> | undefined;
  /** Filters of the events of `for`. An event is handled only if all predicates return true. */
  predicates?: readonly Predicate<FromServer<NoInfer<T>>>[] | undefined;
  /** Watches only the metadata of the objects of `for`. Default false. */
  metadataOnly?: boolean | undefined;
  /**
   * Resources whose objects are owned by objects of `for`. An event of such an object requests a
   * reconcile of the object that its owner reference with `controller: true` names. Use {@link
   * owning} to set options.
   */
  owns?: readonly (Resource<never, string> | Owned)[] | undefined;
  /**
   * Other resources, each with the handler that maps its events to requests: see {@link watching}.
   */
  watches?: readonly Watched<never, NoInfer<R>>[] | undefined;
  /** The same as `watches`, but only the metadata of the objects is watched. */
  watchesMetadata?: readonly Watched<never, NoInfer<R>>[] | undefined;
  /** Additional sources of requests. `eventFilters` do not apply to them. */
  sources?: readonly Source<NoInfer<R>>[] | undefined;
  /**
   * Any request from one of these sources requests a reconcile of every object of `for` in the
   * cache. kube-rs: `reconcile_all_on`.
   */
  reconcileAllOn?: readonly Source[] | undefined;
  /**
   * Predicates for the events of all resources. They run before the predicates of each resource.
   * controller-runtime: `WithEventFilter`.
   */
  eventFilters?: readonly Predicate<KubeObject>[] | undefined;
  /**
   * Watches only this namespace. Default: the namespaces of the manager's cache; all namespaces if
   * it has no such restriction.
   */
  namespace?: string | undefined;
  /** Watches each of these namespaces on its own. Excludes `namespace`. */
  namespaces?: readonly string[] | undefined;
  /** Called for each request; see {@link Reconcile}. */
  reconcile: Reconcile<NoInfer<T>, NoInfer<R>>;
}

const NAMES = namesOf<ControllerOptions<never>>()({
  ...SETTING_NAMES,
  transport: 1,
  manager: 1,
  request: 1,
  for: 1,
  predicates: 1,
  metadataOnly: 1,
  owns: 1,
  watches: 1,
  watchesMetadata: 1,
  sources: 1,
  reconcileAllOn: 1,
  eventFilters: 1,
  namespace: 1,
  namespaces: 1,
  reconcile: 1,
});

/**
 * Makes a level-triggered controller: it watches the objects of one resource and calls `reconcile`
 * for each object that changed. With a `manager` the controller is added to it. Source:
 * controller-runtime, builder.ControllerManagedBy(mgr).For().Owns().Complete().
 *
 * What happens after a reconcile:
 * - An error or rejection: retried after the rate limiter's delay.
 * - `requeueAfter`: the failure count is reset, and the request comes again after that time.
 * - `requeue`: the request comes again after the rate limiter's delay.
 * - No result: the failure count is reset.
 * - {@link TerminalError}: not retried; the failure count stays.
 *
 * Errors go to the logger; without a logger they go to the function set with `setErrorHandler`.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const controller = createController({
 *   transport,
 *   for: Website,
 *   owns: [Deployment],
 *   reconcile: async (request, { get, signal }) => {
 *     const website = get(request);
 *     if (website !== undefined) await apply(deploymentOf(website), signal);
 *   },
 * });
 * await controller.run({ signal });
 */
export function createController<T extends object, R = Request>(
  options: ControllerOptions<T, R>,
): Controller<R> {
  requireNames('options', options, 'option of createController()', NAMES);
  requireFunction('options.reconcile', options.reconcile);
  const { transport, manager } = options;
  if (manager === undefined) {
    if (typeof (transport as Partial<Manager> | undefined)?.holdsLease === 'function')
      throw invalidPlan('"options.transport" got a manager: pass it as "manager"');
    requireTransport('options.transport', transport);
  } else requireManager('options.manager', manager);
  if (manager !== undefined && transport !== undefined)
    throw invalidPlan('"transport" and "manager" exclude each other: a manager has a transport');
  const { for: resource, predicates, metadataOnly } = options;
  const plan: WatchPlan<T, R> = {
    request: options.request,
    for: resource === undefined ? undefined : { resource, predicates, metadataOnly },
    owns: list('owns', 'resources', options.owns).map((owned) =>
      'resource' in owned ? owned : { resource: owned },
    ),
    watches: [
      ...list('watches', 'what "watching" returns', options.watches),
      ...list('watchesMetadata', 'what "watching" returns', options.watchesMetadata).map(
        (watched) => ({
          ...watched,
          metadataOnly: true,
        }),
      ),
    ],
    sources: list('sources', 'sources', options.sources),
    reconcileAllOn: list('reconcileAllOn', 'sources', options.reconcileAllOn),
    eventFilters: list('eventFilters', 'predicates', options.eventFilters),
    namespaces: { namespace: options.namespace, namespaces: options.namespaces },
  };
  return buildController(plan, options, options.reconcile, manager ?? (transport as Transport));
}

/** Checks all options before it makes anything, and adds the controller to the manager last. */
export function buildController<T extends object, R>(
  ofRequests: WatchPlan<T, R>,
  optionsOfRequests: ControllerSettings<R>,
  reconciler: Reconcile<T, R> | Reconciler<T, R>,
  host: Manager | Transport,
): Controller<R> {
  const manager = 'holdsLease' in host ? host : undefined;
  // Within a controller every request is a Request: own-requests.ts.
  const plan = ofRequests as unknown as WatchPlan<T>;
  const options = optionsOfRequests as ControllerSettings<unknown> as ControllerSettings;
  requirePlan(plan);
  requireShardable(plan, manager);
  const settings = resolveSettings(options, plan.for?.resource, manager, plan.request);
  const { name, clock, skipNameValidation } = settings;
  const own =
    manager === undefined
      ? newSharedInformerFactory(host as Transport, { clock, shutdownTimeout: 0 })
      : undefined;
  const cache = manager?.cache ?? (own as SharedInformerFactory);
  const shards = manager?.shards;
  const { sources, get, namespaces } = new PlannedWatches(name, cache, plan, clock, shards);
  const giveBack = manager === undefined || skipNameValidation ? undefined : claimName(name);
  const loop = new ReconcileLoop<T>({
    settings,
    sources,
    get,
    namespaces,
    reconcile: reconcileOf(
      reconciler as Reconcile<T, unknown> | Reconciler<T, unknown>,
      settings.carrier,
    ),
    holdsLease: manager && (() => manager.holdsLease()),
    shards,
    resource: plan.for?.resource as Resource<never, string> | undefined,
    async onEnd() {
      giveBack?.();
      settings.forgetFigures();
      await own?.shutdown();
    },
  });
  try {
    manager?.add(loop);
  } catch (error) {
    giveBack?.();
    settings.forgetFigures();
    throw error;
  }
  manager?.addCollector(options.metrics ?? metricsOfManager(manager));
  return loop as Controller<unknown> as Controller<R>;
}

function reconcileOf<T>(
  reconciler: Reconcile<T, unknown> | Reconciler<T, unknown>,
  carrier: ResolvedSettings['carrier'],
): Reconcile<T> {
  const reconcile: Reconcile<T, unknown> =
    typeof reconciler === 'function'
      ? reconciler
      : (request, context) => reconciler.reconcile(request, context);
  if (carrier === undefined) return reconcile;
  return (request, context) => reconcile(carrier.own(request), context);
}

/** With shards the namespace of a request decides which replica reconciles it. */
function requireShardable<T extends object>(
  { request }: WatchPlan<T>,
  manager: Manager | undefined,
): void {
  if (manager?.shards === undefined || request === undefined || request.namespace !== undefined)
    return;
  throw invalidPlan(
    'with shards, the namespace of a request decides which replica reconciles it, and requests ' +
      'of this type have none: give defineRequest() the function "namespace". It returns the ' +
      'namespace of the watched objects, or "" if these are shared (cache.perResource)',
  );
}

function list<E>(name: string, expected: string, given: readonly E[] | undefined): readonly E[] {
  if (given === undefined) return [];
  if (!Array.isArray(given)) throw invalid(`options.${name}`, `an array of ${expected}`, given);
  for (const [i, one] of given.entries()) {
    if (typeof one !== 'object' || one === null)
      throw name === 'owns'
        ? notResource(`options.owns[${i}]`, one)
        : invalid(`options.${name}[${i}]`, `one of ${expected}`, one);
  }
  return given;
}

/**
 * Names of the controllers of this process. Metrics and logs identify a controller by its name, so
 * that two must not share one. controller-runtime (pkg/controller/name.go) never releases a name;
 * here a name is released when its controller has ended.
 */
const used = new Set<string>();

/** Call the returned function once to release the name. Throws CapstanError INVALID_ARGUMENT. */
function claimName(name: string): () => void {
  if (used.has(name)) {
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `a controller with the name "${name}" exists already: metrics and logs identify a ` +
        'controller by its name; give this one another name, or disable the check with ' +
        '"skipNameValidation"',
    );
  }
  used.add(name);
  return () => used.delete(name);
}
