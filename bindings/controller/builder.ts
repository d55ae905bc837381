/**
 * The builder: it makes a controller step by step, with controller-runtime's method names, rules
 * and errors. The result is the same as that of `createController`. controller-runtime:
 * pkg/builder/controller.go.
 */

import { invalid, requireObject } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { FromServer, KubeObject } from '../base/object.ts';
import type { Request } from '../base/request.ts';
import type { Resource } from '../base/resource.ts';
import type { Namespaces } from '../cache/rest/namespaces.ts';
import type { Controller } from './controller.ts';
import { buildController } from './create-controller.ts';
import { type Manager, requireManager } from './manager.ts';
import { type ControllerSettings, SETTING_NAMES } from './options.ts';
import { type RequestType, requireRequestType } from './own-requests.ts';
import type { Reconcile, Reconciler } from './reconcile.ts';
import type { EventHandler, Predicate, Source } from './source.ts';
import {
  invalidPlan,
  type Owned,
  type OwnsOptions,
  requireWatchOptions,
  type Watched,
  type WatchesOptions,
  type WatchPlan,
} from './watches.ts';

/**
 * The type of an object of which only the metadata is watched. It lists the keys of KubeObject
 * instead of those of O, so that generic callers can read them.
 */
type MetadataOf<O> = Pick<O & KubeObject, keyof KubeObject>;

const NAMES = namesOf<ControllerSettings & Namespaces>()({
  ...SETTING_NAMES,
  namespace: 1,
  namespaces: 1,
});

/**
 * The builder of {@link newControllerManagedBy}. Each method returns the builder. `for` sets the
 * object type that the reconcile function gets.
 */
export class ControllerBuilder<T extends object = KubeObject, R = Request> {
  readonly #manager: Manager;
  readonly #request: RequestType<R> | undefined;
  #for: WatchPlan<T>['for'];
  #forTwice = false;
  readonly #owns: Owned[] = [];
  readonly #watches: Watched<never, R>[] = [];
  readonly #sources: Source<R>[] = [];
  readonly #reconcileAllOn: Source[] = [];
  readonly #eventFilters: Predicate<KubeObject>[] = [];
  #options: ControllerSettings<R> & Namespaces = {};
  #name: string | undefined;
  #logs: Pick<ControllerSettings<R>, 'logger' | 'logConstructor'> = {};

  constructor(manager: Manager, request?: RequestType<R>) {
    requireManager('manager', manager);
    if (request !== undefined) requireRequestType('request', request);
    this.#manager = manager;
    this.#request = request;
  }

  /** Sets the resource whose objects are reconciled. May be called once. */
  for<F extends object>(
    resource: Resource<F, string>,
    options: WatchesOptions<NoInfer<F>> = {},
  ): ControllerBuilder<F, R> {
    requireWatchOptions(options, 'for');
    const builder = this as unknown as ControllerBuilder<F, R>;
    if (builder.#for !== undefined) builder.#forTwice = true;
    else builder.#for = { ...options, resource };
    return builder;
  }

  /**
   * Watches a resource whose objects are owned by objects of `for`. An event requests a reconcile
   * of the owner with `controller: true`; with `matchEveryOwner`, of every owner.
   */
  owns<O extends object>(
    resource: Resource<O, string>,
    options: OwnsOptions<NoInfer<O>> = {},
  ): this {
    requireWatchOptions(options, 'owns');
    this.#owns.push({ ...options, resource });
    return this;
  }

  /** Watches a resource; the handler maps its events to requests. */
  watches<O extends object>(
    resource: Resource<O, string>,
    handler: EventHandler<FromServer<NoInfer<O>>, R>,
    options: WatchesOptions<NoInfer<O>> = {},
  ): this {
    requireWatchOptions(options, 'watches');
    this.#watches.push({ ...options, resource, handler });
    return this;
  }

  /**
   * The same as `watches`, but only the metadata of the objects is watched, so that handler and
   * predicates see nothing else.
   *
   * Do not annotate the parameter of a map function with a type whose members are all optional (the
   * types of client-node): TypeScript accepts it although the other members are missing.
   */
  watchesMetadata<O extends object>(
    resource: Resource<O, string>,
    handler: EventHandler<FromServer<MetadataOf<NoInfer<O>>>, R>,
    options: WatchesOptions<MetadataOf<NoInfer<O>>> = {},
  ): this {
    requireWatchOptions(options, 'watches');
    this.#watches.push({ ...options, metadataOnly: true, resource, handler });
    return this;
  }

  /**
   * Adds a source of any kind. The predicates of `withEventFilter` do not apply to it.
   * controller-runtime: `WatchesRawSource`.
   */
  watchesRawSource(source: Source<R>): this {
    this.#sources.push(source);
    return this;
  }

  /**
   * Any request from this source requests a reconcile of every object of `for` in the cache.
   * kube-rs: `reconcile_all_on`.
   */
  reconcileAllOn(source: Source): this {
    this.#reconcileAllOn.push(source);
    return this;
  }

  /**
   * Adds a predicate for the events of all resources. It runs before the predicates of each
   * resource.
   */
  withEventFilter(predicate: Predicate<KubeObject>): this {
    this.#eventFilters.push(predicate);
    return this;
  }

  /**
   * Sets the options of the controller and replaces those of an earlier call. `named` and
   * `withLogger` take precedence over `name`, `logger` and `logConstructor`.
   */
  withOptions(options: ControllerSettings<R> & Namespaces): this {
    requireObject('options', options);
    if ('reconcile' in options)
      throw invalidPlan('the reconciler is given to "complete" or "build", not in the options');
    requireNames('options', options, 'option of withOptions()', NAMES);
    this.#options = options;
    return this;
  }

  /**
   * Sets the name in metrics, logs and messages. Default: the kind in lower case. It must be unique
   * in the process unless `skipNameValidation` is set.
   */
  named(name: string): this {
    this.#name = name;
    return this;
  }

  /**
   * Sets the logger, or a function that makes the logger of a request. The function is called with
   * `undefined` for the logger of the controller itself.
   */
  withLogger(logger: Logger | ((request: R | undefined) => Logger)): this {
    this.#logs = typeof logger === 'function' ? { logConstructor: logger } : { logger };
    return this;
  }

  /** Makes the controller and adds it to the manager. Throws as `build` does. */
  complete(reconciler: Reconcile<T, R> | Reconciler<T, R>): void {
    this.build(reconciler);
  }

  /**
   * The same as `complete`, but returns the controller.
   *
   * @throws CapstanError INVALID_ARGUMENT for options that cannot work; STOPPED if the manager is
   * stopping. Nothing is added then.
   */
  build(reconciler: Reconcile<T, R> | Reconciler<T, R>): Controller<R> {
    if (
      typeof reconciler !== 'function' &&
      typeof (reconciler as Partial<Reconciler<T, R>> | null)?.reconcile !== 'function'
    )
      throw invalid('reconciler', 'a reconcile function, or an object with one', reconciler);
    if (this.#forTwice)
      throw invalidPlan(
        '"for" is to be called once: a controller reconciles the objects of one resource',
      );
    const { namespace, namespaces, ...options } = this.#options;
    const plan: WatchPlan<T, R> = {
      request: this.#request,
      for: this.#for,
      owns: this.#owns,
      watches: this.#watches,
      sources: this.#sources,
      reconcileAllOn: this.#reconcileAllOn,
      eventFilters: this.#eventFilters,
      namespaces: { namespace, namespaces },
    };
    const named = this.#name === undefined ? {} : { name: this.#name };
    return buildController(
      plan,
      { ...options, ...this.#logs, ...named },
      reconciler,
      this.#manager,
    );
  }
}

/**
 * Starts building a controller that is added to the manager, which starts and stops it.
 * controller-runtime: `builder.ControllerManagedBy`, `builder.TypedControllerManagedBy`.
 *
 * @param request the type of the requests, if it is one of your own: see {@link defineRequest}.
 *   `for`, `owns` and `reconcileAllOn` are refused then
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * newControllerManagedBy(manager)
 *   .for(Website, { predicates: [generationChangedPredicate()] })
 *   .owns(Deployment)
 *   .withOptions({ maxConcurrentReconciles: 4 })
 *   .complete(async (request, { get, logger }) => {
 *     const website = get(request);
 *     if (website !== undefined) logger.info('there it is');
 *   });
 */
export function newControllerManagedBy<R = Request>(
  manager: Manager,
  request?: RequestType<R>,
): ControllerBuilder<KubeObject, R> {
  return new ControllerBuilder(manager, request);
}
