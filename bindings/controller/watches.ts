/**
 * The resources that a controller watches, and the sources that follow from them. There is one
 * informer for each resource and selection, so that a resource that is both reconciled and owned is
 * watched once. controller-runtime: pkg/builder/controller.go, doWatch.
 */

import type { Clock } from '../base/clock.ts';
import { CapstanError, invalid, requireBoolean } from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { FromServer, KubeObject } from '../base/object.ts';
import type { Request } from '../base/request.ts';
import { notResource, type Resource } from '../base/resource.ts';
import type { SharedInformerFactory } from '../cache/informer/factory.ts';
import type { NamespaceChange } from '../cache/informer/factory-namespaces.ts';
import type { InformerSelection } from '../cache/informer/factory-options.ts';
import { type Namespaces, requireNamespaces } from '../cache/rest/namespaces.ts';
import type { Indexer } from '../cache/store/store.ts';
import {
  enqueueRequestForObject,
  enqueueRequestForOwner,
  requireEventHandler,
} from './handlers.ts';
import { type NamespacePlan, namespaceRemoved } from './namespaces.ts';
import { type RequestType, requireRequestType } from './own-requests.ts';
import { requirePredicate } from './predicates.ts';
import type { CachedGet } from './reconcile.ts';
import { ReconcileAllQueue } from './reconcile-all-on.ts';
import { CrossingCheck, notOwned, requireSameSlot, type ShardGate } from './shards.ts';
import type { EventHandler, Predicate, Source } from './source.ts';
import { type PlannedSource, requireSource } from './source-set.ts';
import { kindSource } from './sources/kind.ts';

/** How a resource is watched. controller-runtime: builder.ForOption, builder.WatchesOption. */
export interface WatchesOptions<T extends object> {
  /**
   * Filters of the events. An event is handled only if all predicates return true. Default: none.
   */
  readonly predicates?: readonly Predicate<FromServer<T>>[] | undefined;
  /**
   * Watches only the metadata of the objects, which saves bandwidth and memory. `get` then returns
   * objects without other members. Default false.
   */
  readonly metadataOnly?: boolean | undefined;
}

/** How an owned resource is watched. controller-runtime: builder.OwnsOption. */
export interface OwnsOptions<T extends object> extends WatchesOptions<T> {
  /**
   * Requests a reconcile of every owner of the reconciled resource, not only of the owner with
   * `controller: true`. Default false. controller-runtime: `MatchEveryOwner`.
   */
  readonly matchEveryOwner?: boolean | undefined;
}

/** A resource whose objects are owned by reconciled objects; see {@link owning}. */
export interface Owned<T extends object = never> extends OwnsOptions<T> {
  readonly resource: Resource<T, string>;
}

const WATCH_NAMES = namesOf<WatchesOptions<never>>()({ predicates: 1, metadataOnly: 1 });
const OWN_NAMES = namesOf<OwnsOptions<never>>()({ ...WATCH_NAMES, matchEveryOwner: 1 });
const OWNED_NAMES = namesOf<Owned>()({ ...OWN_NAMES, resource: 1 });

/** A resource with the handler that maps its events to requests; see {@link watching}. */
export interface Watched<T extends object = never, R = Request> extends WatchesOptions<T> {
  readonly resource: Resource<T, string>;
  readonly handler: EventHandler<FromServer<T>, R>;
}

const WATCHED_NAMES = namesOf<Watched>()({ ...WATCH_NAMES, resource: 1, handler: 1 });

/** Throws CapstanError INVALID_ARGUMENT. */
export function requireWatchOptions<T extends object>(
  options: OwnsOptions<T>,
  how: 'for' | 'owns' | 'watches',
): void {
  requireNames('options', options, `option of ${how}`, how === 'owns' ? OWN_NAMES : WATCH_NAMES);
}

/**
 * Makes an element of the option `owns` and checks its options against the resource's type.
 *
 * @throws CapstanError INVALID_ARGUMENT for an unknown option
 * @example
 * const owns = [owning(Deployment, { metadataOnly: true })];
 * createController({ transport, for: Website, owns, reconcile: () => {} });
 */
export function owning<T extends object>(
  resource: Resource<T, string>,
  options: OwnsOptions<T> = {},
): Owned {
  requireWatchOptions(options, 'owns');
  return { ...options, resource };
}

/**
 * Makes an element of the option `watches` and checks its handler and options against the
 * resource's type.
 *
 * @throws CapstanError INVALID_ARGUMENT for an unknown option
 * @example
 * const handler = enqueueRequestsFromMapFunc((pod: V1Pod) => {
 *   const { namespace = '', labels = {} } = pod.metadata ?? {};
 *   return labels.website === undefined ? [] : [{ namespace, name: labels.website }];
 * });
 * const watches = [watching(Pod, handler)];
 * createController({ transport, for: Website, watches, reconcile: () => {} });
 */
export function watching<T extends object, R = Request>(
  resource: Resource<T, string>,
  handler: EventHandler<FromServer<NoInfer<T>>, R>,
  options: WatchesOptions<NoInfer<T>> = {},
): Watched<never, R> {
  requireWatchOptions(options, 'watches');
  return { ...options, resource, handler };
}

/** Everything that a controller watches. */
export interface WatchPlan<T extends object, R = Request> {
  readonly request: RequestType<R> | undefined;
  readonly for: (WatchesOptions<T> & { readonly resource: Resource<T, string> }) | undefined;
  readonly owns: readonly Owned[];
  readonly watches: readonly Watched<never, R>[];
  readonly sources: readonly Source<R>[];
  /** Each request from one of these becomes a request for every object of `for`. */
  readonly reconcileAllOn: readonly Source[];
  /** Predicates for all resources. They do not apply to `sources`. */
  readonly eventFilters: readonly Predicate<KubeObject>[];
  readonly namespaces: Namespaces;
}

/** The informers of one watched resource: one, or one for each namespace. */
class ResourceCaches {
  selections: readonly InformerSelection[];
  /** Whether the namespaces are those of the cache, which may change. */
  readonly #follows: boolean;
  /** Namespaces that the cache had and no longer has. */
  readonly #removed = new Set<string>();
  readonly #cache: SharedInformerFactory;
  readonly #resource: Resource<never, string>;
  /** By namespace; the key is "" if one informer has all namespaces. */
  readonly #indexers = new Map<string, Indexer<never, string>>();
  /** The indexer if there is only one. */
  #only: Indexer<never, string> | undefined;

  constructor(
    cache: SharedInformerFactory,
    resource: Resource<never, string>,
    selections: readonly InformerSelection[],
    follows: boolean,
  ) {
    this.#cache = cache;
    this.#resource = resource;
    this.selections = selections;
    this.#follows = follows;
  }

  /** Follows a change of the cache's namespaces. */
  changed({ added, removed }: NamespaceChange, metadataOnly: boolean): void {
    if (!this.#follows) return;
    const left = this.selections.filter(({ namespace = '' }) => !removed.includes(namespace));
    const more = added.map((namespace) => ({ ...(metadataOnly && { metadataOnly }), namespace }));
    this.selections = [...left, ...more];
    for (const namespace of removed) {
      this.#indexers.delete(namespace);
      this.#removed.add(namespace);
    }
    for (const namespace of added) this.#removed.delete(namespace);
  }

  /**
   * The indexer that has the objects of a namespace. Throws CapstanError NAMESPACE_REMOVED for one
   * that the cache no longer has.
   */
  of(namespace: string): Indexer<never, string> | undefined {
    if (this.#only !== undefined) return this.#only;
    if (this.#follows) return this.#followed(namespace);
    const [first = {}, ...more] = this.selections;
    if (more.length === 0) {
      this.#only = this.#indexer(first);
      return this.#only;
    }
    const selection = this.selections.find((each) => each.namespace === namespace);
    return selection && this.#indexer(selection);
  }

  #followed(namespace: string): Indexer<never, string> | undefined {
    const known = this.#indexers.get(namespace);
    if (known !== undefined) return known;
    if (this.#removed.has(namespace)) throw namespaceRemoved(namespace);
    const selection = this.selections.find((each) => each.namespace === namespace);
    return selection && this.#indexer(selection);
  }

  all(): Indexer<never, string>[] {
    return this.selections.map((selection) => this.#indexer(selection));
  }

  /**
   * Gets the informer on the first read instead of in the constructor, because a factory starts an
   * informer as soon as it is asked for it.
   */
  #indexer(selection: InformerSelection): Indexer<never, string> {
    const { namespace = '' } = selection;
    let indexer = this.#indexers.get(namespace);
    if (indexer === undefined) {
      indexer = this.#cache.informerFor(this.#resource, selection).getIndexer();
      this.#indexers.set(namespace, indexer);
    }
    return indexer;
  }
}

/** The sources of a plan, and the `get` function that reads from their caches. */
export class PlannedWatches<T extends object> {
  readonly sources: readonly PlannedSource[];
  readonly get: CachedGet<T>;
  /** Absent: no source follows the namespaces of the cache. */
  readonly namespaces: NamespacePlan | undefined;
  readonly #cache: SharedInformerFactory;
  /** Makes the sources of one namespace. */
  readonly #inEach: ((namespace: string) => PlannedSource)[] = [];
  readonly #plan: WatchPlan<T>;
  readonly #clock: Clock;
  readonly #shards: ShardGate | undefined;
  /** If a resource is watched both whole and by metadata alone, this has the whole objects. */
  readonly #caches = new Map<Resource<never, string>, ResourceCaches>();
  /** Those of `#caches` that have the metadata alone. */
  readonly #byMetadata = new Set<Resource<never, string>>();

  /** @throws CapstanError SHARD_CROSSED for resources that shards divide differently */
  constructor(
    controller: string,
    cache: SharedInformerFactory,
    plan: WatchPlan<T>,
    clock: Clock,
    shards?: ShardGate,
  ) {
    this.#cache = cache;
    this.#shards = shards;
    this.#plan = plan;
    this.#clock = clock;
    this.sources = [...this.#kinds(), ...this.#raw()];
    if (this.#inEach.length > 0) this.namespaces = this.#namespacePlan();
    const main = plan.for && this.#caches.get(plan.for.resource);
    this.get = (request: Request, resource?: Resource<never, string>): never => {
      const caches = resource === undefined ? main : this.#caches.get(resource);
      if (caches === undefined)
        throw invalid('resource', `a resource that "${controller}" watches`, resource);
      if (typeof request?.name !== 'string') throw invalid('request', 'a request', request);
      return caches.of(request.namespace)?.getByName(request) as never;
    };
    if (shards !== undefined) this.get = this.#getOwned(this.get, shards);
  }

  /** What the cache lacks because another replica has it is not absent. */
  #getOwned(get: CachedGet<T>, shards: ShardGate): CachedGet<T> {
    const main = this.#plan.for?.resource as Resource<never, string> | undefined;
    return (request: Request, resource?: Resource<never, string>): never => {
      const { kind = '' } = resource ?? main ?? {};
      const object = get(request, resource as Resource<never, string>);
      if (object === undefined && !shards.hasObjects(request)) {
        const which = resource ?? main;
        if (which === undefined || !shards.isShared(which))
          throw notOwned(`get ${kind} ${request.namespace}/${request.name}`);
      }
      return object as never;
    };
  }

  #kinds(): PlannedSource[] {
    const { for: main, owns, watches } = this.#plan;
    const shards = this.#shards;
    if (shards !== undefined) {
      const of = main?.resource as Resource<never, string> | undefined;
      for (const { resource } of owns) requireSameSlot('owns', resource, of, shards);
      for (const { resource } of watches) requireSameSlot('watches', resource, of, shards);
    }
    const sources: PlannedSource[] = [];
    if (main !== undefined) sources.push(...this.#kind('for', main, enqueueRequestForObject()));
    for (const owned of owns) {
      const owner = main?.resource as Resource<T, string>; // requirePlan has checked it
      const handler = enqueueRequestForOwner(owner, {
        onlyController: owned.matchEveryOwner !== true,
      });
      sources.push(...this.#kind('owns', owned, handler));
    }
    for (const watched of watches) sources.push(...this.#kind('watches', watched, watched.handler));
    return sources;
  }

  #kind<O extends object>(
    how: string,
    {
      resource,
      predicates = [],
      metadataOnly = false,
    }: WatchesOptions<O> & { resource: Resource<O, string> },
    handler: EventHandler<FromServer<O>>,
  ): PlannedSource[] {
    const { eventFilters } = this.#plan;
    const base = metadataOnly ? { metadataOnly } : {};
    const selections = this.#selections(resource, base);
    const follows = this.#follows(resource);
    const caches = this.#caches.get(resource);
    if (caches === undefined || (this.#byMetadata.has(resource) && !metadataOnly)) {
      this.#caches.set(resource, new ResourceCaches(this.#cache, resource, selections, follows));
      if (metadataOnly) this.#byMetadata.add(resource);
      else this.#byMetadata.delete(resource);
    }
    const shards = this.#shards;
    const isDivided = shards !== undefined && !shards.isShared(resource);
    const sourceOf = (selection: InformerSelection, where: string): PlannedSource => ({
      isDivided,
      ...(isDivided && { wrap: (queue) => new CrossingCheck(queue, this.#clock) }),
      resource: resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`,
      source: kindSource<O>({
        cache: this.#cache,
        resource,
        handler,
        predicates: [...(eventFilters as readonly Predicate<FromServer<O>>[]), ...predicates],
        name: `${how} ${resource.kind}${where}`,
        selection,
        clock: this.#clock,
      }),
    });
    if (follows) {
      this.#inEach.push((namespace) => sourceOf({ ...base, namespace }, ` in ${namespace}`));
      return [];
    }
    return selections.map((selection, _, { length }) =>
      sourceOf(selection, length === 1 ? '' : ` in ${selection.namespace}`),
    );
  }

  /** Whether the namespaces of a resource are those of the cache, which may change. */
  #follows(resource: Resource<never, string>): boolean {
    const { namespace, namespaces } = this.#plan.namespaces;
    return (
      namespace === undefined && namespaces === undefined && this.#cache.isInEachNamespace(resource)
    );
  }

  #namespacePlan(): NamespacePlan {
    const main = this.#plan.for?.resource as Resource<never, string> | undefined;
    const caches = this.#caches;
    return {
      namespaces: this.#cache.namespaces() ?? [],
      hasRequests: main !== undefined && this.#follows(main),
      sources: (namespace) => this.#inEach.map((source) => source(namespace)),
      follow: (listener) =>
        this.#cache.onNamespaces((change) => {
          for (const [resource, each] of caches)
            each.changed(change, this.#byMetadata.has(resource));
          listener(change);
        }),
    };
  }

  /** One for each namespace of the controller or of the cache. */
  #selections(
    resource: Resource<never, string>,
    selection: InformerSelection,
  ): InformerSelection[] {
    const { namespace, namespaces } = this.#plan.namespaces;
    if (resource.namespaced && namespace !== undefined) return [{ ...selection, namespace }];
    const own = resource.namespaced ? namespaces : undefined;
    const several = own ?? this.#cache.namespacesOf(resource as Resource<never, never>);
    if (own === undefined && several.length === 1 && !this.#follows(resource)) return [selection];
    return several.map((each) => ({ ...selection, namespace: each }));
  }

  #raw(): PlannedSource[] {
    const { sources, reconcileAllOn, for: main } = this.#plan;
    const caches = main && this.#caches.get(main.resource);
    const keys = (): readonly string[] =>
      caches?.all().flatMap((indexer) => indexer.listKeys()) ?? [];
    return [
      ...sources.map((source) => ({ source })),
      ...reconcileAllOn.map(
        (source): PlannedSource => ({
          source,
          wrap: (queue, signal) => new ReconcileAllQueue(queue, keys, this.#clock, signal),
        }),
      ),
    ];
  }
}

/** Checks a plan by controller-runtime's rules. Throws CapstanError INVALID_ARGUMENT. */
export function requirePlan<T extends object>(plan: WatchPlan<T>): void {
  const { for: main, owns, watches, sources, reconcileAllOn, eventFilters, namespaces } = plan;
  if (plan.request !== undefined) requireOwnRequests(plan.request, plan);
  if (main !== undefined) requireWatched('for', main);
  for (const [i, owned] of owns.entries()) {
    requireNames(`options.owns[${i}]`, owned, 'member of an owned resource', OWNED_NAMES);
    requireWatched(`owns[${i}]`, owned);
  }
  for (const [i, watched] of watches.entries()) {
    requireNames(`options.watches[${i}]`, watched, 'member of a watched resource', WATCHED_NAMES);
    requireWatched(`watches[${i}]`, watched);
    requireEventHandler(`options.watches[${i}].handler`, watched.handler);
  }
  for (const [i, source] of sources.entries()) requireSource(`options.sources[${i}]`, source);
  for (const [i, source] of reconcileAllOn.entries())
    requireSource(`options.reconcileAllOn[${i}]`, source);
  requirePredicates('options.eventFilters', eventFilters);
  requireNamespaces('options', namespaces);
  for (const [option, value] of Object.entries(namespaces)) {
    if (value === undefined || value === '' || main?.resource.namespaced !== false) continue;
    throw invalid(
      `options.${option}`,
      `nothing, as ${main.resource.kind} has no namespaces`,
      value,
    );
  }
  if (main === undefined && (owns.length > 0 || reconcileAllOn.length > 0)) {
    throw invalidPlan(
      '"owns" and "reconcileAllOn" need "for", the resource whose objects are reconciled',
    );
  }
  if (main === undefined && watches.length === 0 && sources.length === 0) {
    throw invalidPlan(
      'nothing is watched, so nothing would be reconciled: use "for", "watches" or "sources"',
    );
  }
}

function requireOwnRequests<T extends object>(
  type: RequestType<Request>,
  { for: main, owns, reconcileAllOn }: WatchPlan<T>,
): void {
  requireRequestType('options.request', type);
  if (main === undefined && owns.length === 0 && reconcileAllOn.length === 0) return;
  throw invalidPlan(
    '"for", "owns" and "reconcileAllOn" make requests of a namespace and a name, which are not ' +
      'of the type of "request": use "watches" with a handler that returns requests of that type',
  );
}

export function invalidPlan(message: string): CapstanError {
  return new CapstanError('INVALID_ARGUMENT', message);
}

function requireWatched(
  name: string,
  { resource, predicates, metadataOnly }: Owned | Watched,
): void {
  if (typeof resource?.kind !== 'string') throw notResource(`options.${name}`, resource);
  requireBoolean(`options.${name}.metadataOnly`, metadataOnly);
  if (predicates !== undefined) requirePredicates(`options.${name}.predicates`, predicates);
}

function requirePredicates(name: string, predicates: readonly Predicate<never>[]): void {
  if (!Array.isArray(predicates)) throw invalid(name, 'an array of predicates', predicates);
  for (const [i, predicate] of (predicates as readonly Predicate<never>[]).entries()) {
    requirePredicate(`${name}[${i}]`, predicate);
  }
}
