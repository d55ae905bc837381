/**
 * Builds a controller step by step, as Go authors know it. controller-runtime:
 * pkg/builder/controller.go; its rules and errors. What comes out is what `createController` makes.
 */

import { invalid, requireFunction, requireObject } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { Request } from '../base/request.ts';
import type { KubeObject } from '../cache/rest/keys.ts';
import type { Namespaces } from '../cache/rest/namespaces.ts';
import type { Resource } from '../cache/rest/resource.ts';
import type { Controller } from './controller.ts';
import { buildController } from './create-controller.ts';
import type { Manager } from './manager.ts';
import { type ControllerSettings, SETTING_NAMES } from './options.ts';
import type { Reconcile, Reconciler } from './reconcile.ts';
import type { EventHandler, Predicate, Source } from './source.ts';
import {
  type Owned,
  type OwnsOptions,
  problem,
  requireWatchOptions,
  type Watched,
  type WatchesOptions,
  type WatchPlan,
} from './watches.ts';

/**
 * What there is of an object that is watched by its metadata. Keys that are known whatever O is: of
 * others a generic caller could read none.
 */
type MetadataOf<O> = Pick<O & KubeObject, keyof KubeObject>;

const NAMES = namesOf<ControllerSettings & Namespaces>()({
  ...SETTING_NAMES,
  namespace: 1,
  namespaces: 1,
});

/**
 * The builder of {@link newControllerManagedBy}. Each method answers the builder itself, typed by
 * what `for` was given.
 */
export class ControllerBuilder<T extends object = KubeObject> {
  readonly #manager: Manager;
  #for: WatchPlan<T>['for'];
  #forTwice = false;
  readonly #owns: Owned[] = [];
  readonly #watches: Watched[] = [];
  readonly #sources: Source[] = [];
  readonly #reconcileAllOn: Source[] = [];
  readonly #eventFilters: Predicate<KubeObject>[] = [];
  #options: ControllerSettings & Namespaces = {};
  #name: string | undefined;
  #logs: Pick<ControllerSettings, 'logger' | 'logConstructor'> = {};

  constructor(manager: Manager) {
    requireObject('manager', manager);
    for (const method of ['add', 'addCollector', 'holdsLease'] as const)
      requireFunction(`manager.${method}`, manager[method]);
    this.#manager = manager;
  }

  /** The resource whose objects are reconciled; at most once. */
  for<F extends object>(
    resource: Resource<F, string>,
    options: WatchesOptions<NoInfer<F>> = {},
  ): ControllerBuilder<F> {
    requireWatchOptions(options, 'for');
    const builder = this as unknown as ControllerBuilder<F>;
    if (builder.#for !== undefined) builder.#forTwice = true;
    else builder.#for = { ...options, resource };
    return builder;
  }

  /**
   * A resource whose objects belong to one of `for`: their events are requests for their owner, the
   * controller one unless `matchEveryOwner`.
   */
  owns<O extends object>(
    resource: Resource<O, string>,
    options: OwnsOptions<NoInfer<O>> = {},
  ): this {
    requireWatchOptions(options, 'owns');
    this.#owns.push({ ...options, resource });
    return this;
  }

  /** A resource, and what its events lead to. */
  watches<O extends object>(
    resource: Resource<O, string>,
    handler: EventHandler<NoInfer<O>>,
    options: WatchesOptions<NoInfer<O>> = {},
  ): this {
    requireWatchOptions(options, 'watches');
    this.#watches.push({ ...options, resource, handler });
    return this;
  }

  /**
   * The same, by the metadata of its objects alone: handler and predicates see nothing else of
   * them. Write no type at the parameter of a map function: one whose members are all optional, as
   * client-node's are, is accepted and promises more than there is.
   */
  watchesMetadata<O extends object>(
    resource: Resource<O, string>,
    handler: EventHandler<MetadataOf<NoInfer<O>>>,
    options: WatchesOptions<MetadataOf<NoInfer<O>>> = {},
  ): this {
    return this.watches(resource, handler, { ...options, metadataOnly: true });
  }

  /** A source of any kind. The filters of `withEventFilter` are not asked about it. */
  watchesRawSource(source: Source): this {
    this.#sources.push(source);
    return this;
  }

  /**
   * When the source speaks, whatever it says, every object of `for` that is known is reconciled.
   * kube-rs: `reconcile_all_on`.
   */
  reconcileAllOn(source: Source): this {
    this.#reconcileAllOn.push(source);
    return this;
  }

  /** A predicate for the events of all resources, asked before their own. */
  withEventFilter(predicate: Predicate<KubeObject>): this {
    this.#eventFilters.push(predicate);
    return this;
  }

  /**
   * How the controller works; those of an earlier call are replaced. What `named` and `withLogger`
   * say wins.
   */
  withOptions(options: ControllerSettings & Namespaces): this {
    requireObject('options', options);
    if ('reconcile' in options)
      throw problem('the reconciler is given to "complete" or "build", not in the options');
    requireNames('options', options, 'option of withOptions()', NAMES);
    this.#options = options;
    return this;
  }

  /**
   * In metrics, logs and messages; by default the kind in lower case. Unique in the process, unless
   * `skipNameValidation`.
   */
  named(name: string): this {
    this.#name = name;
    return this;
  }

  /**
   * Where the controller logs to, or a function that makes the logger of a request (of the
   * controller itself where there is none).
   */
  withLogger(logger: Logger | ((request: Request | undefined) => Logger)): this {
    this.#logs = typeof logger === 'function' ? { logConstructor: logger } : { logger };
    return this;
  }

  /** Makes the controller and adds it to the manager. */
  complete(reconciler: Reconcile<T> | Reconciler<T>): void {
    this.build(reconciler);
  }

  /**
   * As `complete`, and answers the controller.
   *
   * @throws CapstanError INVALID_ARGUMENT; STOPPED once the manager is ending. Then nothing was
   *   added.
   */
  build(reconciler: Reconcile<T> | Reconciler<T>): Controller {
    if (
      typeof reconciler !== 'function' &&
      typeof (reconciler as Partial<Reconciler<T>> | null)?.reconcile !== 'function'
    )
      throw invalid('reconciler', 'a reconcile function, or an object with one', reconciler);
    if (this.#forTwice)
      throw problem(
        '"for" is to be called once: a controller reconciles the objects of one resource',
      );
    const { namespace, namespaces, ...options } = this.#options;
    const plan: WatchPlan<T> = {
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
 * Begins a controller that the manager starts, and ends. controller-runtime:
 * `builder.ControllerManagedBy`.
 *
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
export function newControllerManagedBy(manager: Manager): ControllerBuilder {
  return new ControllerBuilder(manager);
}
