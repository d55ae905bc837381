/**
 * A controller from one object of options, and what a controller is to those who run it. The
 * builder (builder.ts) is the other way to the same thing; what a controller does is in loop.ts.
 */

import { CapstanError, invalid, requireFunction } from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';
import { newSharedInformerFactory, type SharedInformerFactory } from '../cache/informer/factory.ts';
import type { KubeObject } from '../cache/rest/keys.ts';
import type { Resource } from '../cache/rest/resource.ts';
import type { Transport } from '../cache/rest/transport.ts';
import { type Controller, ReconcileLoop } from './controller.ts';
import type { Manager } from './manager.ts';
import { metricsOfManager } from './metrics.ts';
import { type ControllerSettings, resolveSettings, SETTING_NAMES } from './options.ts';
import type { Reconcile, Reconciler } from './reconcile.ts';
import type { Predicate, Source } from './source.ts';
import {
  type Owned,
  PlannedWatches,
  problem,
  requirePlan,
  type Watched,
  type WatchPlan,
} from './watches.ts';

/** What a controller reconciles, and how. All types follow from `for`. */
export interface ControllerOptions<T extends object> extends ControllerSettings {
  /** The server; the controller has caches of its own then. Or a `manager`. */
  transport?: Transport | undefined;
  /**
   * Runs the controller on its caches, once it runs itself; then `run` is not to be called. Or a
   * `transport`.
   */
  manager?: Manager | undefined;
  /**
   * The resource whose objects are reconciled. Only a controller that has `watches` or `sources`
   * does without one.
   */
  for?: Resource<T, string> | undefined;
  /** Which events of `for` count: all of the predicates have to let one through. */
  predicates?: readonly Predicate<NoInfer<T>>[] | undefined;
  /** Asks for the metadata of `for` alone. */
  metadataOnly?: boolean | undefined;
  /**
   * Resources whose objects belong to one of `for`: a change of such an object is a request for the
   * object that its owner reference with `controller: true` names. With options: {@link owning}.
   */
  owns?: readonly (Resource<never, string> | Owned)[] | undefined;
  /** Other resources, and what their events lead to: {@link watching}. */
  watches?: readonly Watched[] | undefined;
  /** The same, by their metadata alone. */
  watchesMetadata?: readonly Watched[] | undefined;
  /** Sources of any kind. `eventFilters` are not asked about them. */
  sources?: readonly Source[] | undefined;
  /**
   * When one of these speaks, whatever it says, every object of `for` that is known is reconciled.
   * kube-rs: `reconcile_all_on`.
   */
  reconcileAllOn?: readonly Source[] | undefined;
  /**
   * Predicates for the events of all resources, asked before those of each. controller-runtime:
   * `WithEventFilter`.
   */
  eventFilters?: readonly Predicate<KubeObject>[] | undefined;
  /**
   * One namespace. By default those of the manager's cache, and where it has none of its own, all.
   */
  namespace?: string | undefined;
  /** Several namespaces, each watched by itself; in place of `namespace`. */
  namespaces?: readonly string[] | undefined;
  reconcile: Reconcile<NoInfer<T>>;
}

const NAMES = namesOf<ControllerOptions<never>>()({
  ...SETTING_NAMES,
  transport: 1,
  manager: 1,
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
 * A controller as controller-runtime has it: a level-triggered loop that brings the world to what
 * the objects of one resource say.
 *
 * After each reconcile: an error → again after the rate limiter's delay; `requeueAfter` → failures
 * forgotten, again after that time; `requeue` → again after the rate limiter's delay; success →
 * failures forgotten; {@link TerminalError} → neither again nor forgotten. Errors go to the logger,
 * where there is one, else to the hook of `setErrorHandler`.
 *
 * With a `manager` it is added to it. Source: controller-runtime,
 * builder.ControllerManagedBy(mgr).For().Owns().Complete().
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
export function createController<T extends object>(options: ControllerOptions<T>): Controller {
  requireNames('options', options, 'option of createController()', NAMES);
  requireFunction('options.reconcile', options.reconcile);
  const { transport, manager } = options;
  if (manager === undefined) requireFunction('options.transport.request', transport?.request);
  else if (transport !== undefined)
    throw problem('"transport" and "manager" exclude each other: a manager has its own');
  const { for: resource, predicates, metadataOnly } = options;
  const plan: WatchPlan<T> = {
    for: resource && { resource, predicates, metadataOnly },
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

/** Everything is checked before anything is made, and added to the manager last. */
export function buildController<T extends object>(
  plan: WatchPlan<T>,
  options: ControllerSettings,
  reconciler: Reconcile<T> | Reconciler<T>,
  host: Manager | Transport,
): Controller {
  const manager = 'holdsLease' in host ? host : undefined;
  requirePlan(plan);
  const settings = resolveSettings(options, plan.for?.resource, manager);
  const { name, clock, skipNameValidation } = settings;
  const own =
    manager === undefined
      ? newSharedInformerFactory(host as Transport, { clock, shutdownTimeout: 0 })
      : undefined;
  const cache = manager?.cache ?? (own as SharedInformerFactory);
  const { sources, get } = new PlannedWatches(name, cache, plan, clock);
  const giveBack = manager === undefined || skipNameValidation ? undefined : claimName(name);
  const loop = new ReconcileLoop<T>({
    settings,
    sources,
    get,
    reconcile:
      typeof reconciler === 'function'
        ? reconciler
        : (request, context) => reconciler.reconcile(request, context),
    holdsLease: manager && (() => manager.holdsLease()),
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
  return loop;
}

function list<E>(name: string, expected: string, given: readonly E[] | undefined): readonly E[] {
  if (given === undefined) return [];
  if (!Array.isArray(given)) throw invalid(`options.${name}`, `an array of ${expected}`, given);
  for (const [i, one] of given.entries()) {
    if (typeof one !== 'object' || one === null)
      throw invalid(
        `options.${name}[${i}]`,
        name === 'owns' ? 'what defineResource returns' : `one of ${expected}`,
        one,
      );
  }
  return given;
}

/**
 * Names of the controllers of this process that have not ended.
 */
const used = new Set<string>();

/** The function it returns gives the name back; it is to be called once. */
function claimName(name: string): () => void {
  if (used.has(name)) {
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `a controller with the name "${name}" exists already: names tell controllers apart in metrics and logs; ` +
        'give this one another name, or switch the check off with "skipNameValidation"',
    );
  }
  used.add(name);
  return () => used.delete(name);
}
