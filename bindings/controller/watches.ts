/**
 * What a controller watches, as its options and its builder say it, and the sources that this means. One cache for each resource and selection,
 * from one factory, so that a resource that is reconciled and owned is watched once. controller-runtime: pkg/builder/controller.go, doWatch.
 */
import type { InformerSelection, SharedInformerFactory } from '../cache/factory.ts';
import type { KubeObject } from '../cache/keys.ts';
import type { Resource } from '../cache/resource.ts';
import type { Indexer } from '../cache/store.ts';
import type { Clock } from '../clock.ts';
import { CapstanError, invalid, requireFunction, requireObject } from '../errors.ts';
import type { Request } from '../request.ts';
import { EveryObject } from './every-object.ts';
import { enqueueRequestForObject, enqueueRequestForOwner } from './handlers.ts';
import type { CachedGet } from './reconcile.ts';
import type { EventHandler, Predicate, Source } from './source.ts';
import { type PlannedSource, requireSource } from './source-set.ts';
import { kindSource } from './sources.ts';

/** How a resource is watched. */
export interface WatchesOptions<T extends object> {
  /** Which events count: all of the predicates have to let one through. */
  readonly predicates?: readonly Predicate<T>[];
  /** Asks the server for nothing but metadata: less to send and to keep. `get` gives objects that have nothing else then. */
  readonly metadataOnly?: boolean;
}

export interface OwnsOptions<T extends object> extends WatchesOptions<T> {
  /** All owner references to the reconciled resource count, and not only that of the controller. controller-runtime: `MatchEveryOwner`. */
  readonly matchEveryOwner?: boolean;
}

/** A resource whose objects belong to reconciled ones; made by {@link owning}. */
export interface Owned<T extends object = never> extends OwnsOptions<T> {
  readonly resource: Resource<T, string>;
}

/** A resource, and what its events lead to; made by {@link watching}. */
export interface Watched<T extends object = never> extends WatchesOptions<T> {
  readonly resource: Resource<T, string>;
  readonly handler: EventHandler<T>;
}

/**
 * An element of the option `owns`, typed by its resource.
 *
 * @example
 * createController({ transport, for: Website, owns: [owning(Deployment, { metadataOnly: true })], reconcile: () => {} });
 */
export function owning<T extends object>(resource: Resource<T, string>, options: OwnsOptions<T> = {}): Owned {
  return { ...options, resource };
}

/**
 * An element of the option `watches`, typed by its resource.
 *
 * @example
 * const handler = enqueueRequestsFromMapFunc((pod: V1Pod) => {
 *   const website = pod.metadata?.labels?.website;
 *   return website === undefined ? [] : [{ namespace: pod.metadata?.namespace ?? '', name: website }];
 * });
 * createController({ transport, for: Website, watches: [watching(Pod, handler)], reconcile: () => {} });
 */
export function watching<T extends object>(
  resource: Resource<T, string>,
  handler: EventHandler<NoInfer<T>>,
  options: WatchesOptions<NoInfer<T>> = {},
): Watched {
  return { ...options, resource, handler };
}

/** All that a controller watches. */
export interface WatchPlan<T extends object> {
  readonly for: (WatchesOptions<T> & { readonly resource: Resource<T, string> }) | undefined;
  readonly owns: readonly Owned[];
  readonly watches: readonly Watched[];
  readonly sources: readonly Source[];
  /** Sources that concern every object. */
  readonly reconcileAllOn: readonly Source[];
  /** For all resources, but not for `sources`. */
  readonly eventFilters: readonly Predicate<KubeObject>[];
  readonly namespace: string | undefined;
}

interface Seen {
  readonly selection: InformerSelection;
  indexer: Indexer<never, string> | undefined;
}

/** The sources of a plan over the caches of a factory, and the reader of those caches. */
export class Watches<T extends object> {
  readonly sources: readonly PlannedSource[];
  readonly get: CachedGet<T>;
  readonly #cache: SharedInformerFactory;
  readonly #plan: WatchPlan<T>;
  readonly #clock: Clock;
  /** By the definition of the resource: whole objects where some are watched whole and some by their metadata. */
  readonly #seen = new Map<Resource<never, string>, Seen>();
  /** Of the resource that is reconciled, once it has been read. */
  #main: Indexer<never, string> | undefined;

  constructor(controller: string, cache: SharedInformerFactory, plan: WatchPlan<T>, clock: Clock) {
    this.#cache = cache;
    this.#plan = plan;
    this.#clock = clock;
    this.sources = [...this.#kinds(), ...this.#raw()];
    this.get = (request: Request, resource?: Resource<never, string>): never => {
      const indexer = resource === undefined ? this.#mainIndexer() : this.#indexerOf(resource);
      if (indexer === undefined) throw invalid('resource', `a resource that "${controller}" watches`, resource);
      return indexer.getByName(request) as never;
    };
  }

  #kinds(): PlannedSource[] {
    const { for: main, owns, watches } = this.#plan;
    const sources: PlannedSource[] = [];
    if (main !== undefined) sources.push(this.#kind('for', main, enqueueRequestForObject()));
    for (const owned of owns) {
      const owner = main?.resource as Resource<T, string>; // requirePlan: there is one
      const handler = enqueueRequestForOwner(owner, { onlyController: owned.matchEveryOwner !== true });
      sources.push(this.#kind('owns', owned, handler));
    }
    for (const watched of watches) sources.push(this.#kind('watches', watched, watched.handler));
    return sources;
  }

  #kind<O extends object>(
    how: string,
    { resource, predicates = [], metadataOnly = false }: WatchesOptions<O> & { resource: Resource<O, string> },
    handler: EventHandler<O>,
  ): PlannedSource {
    const { namespace, eventFilters } = this.#plan;
    const selection: InformerSelection = {
      ...(resource.namespaced && namespace !== undefined ? { namespace } : {}),
      ...(metadataOnly ? { metadataOnly } : {}),
    };
    const seen = this.#seen.get(resource);
    if (seen === undefined || (seen.selection.metadataOnly && !metadataOnly))
      this.#seen.set(resource, { selection, indexer: undefined });
    return {
      resource: resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`,
      source: kindSource<O>({
        cache: this.#cache,
        resource,
        handler,
        predicates: [...(eventFilters as readonly Predicate<O>[]), ...predicates],
        name: `${how} ${resource.kind}`,
        selection,
        clock: this.#clock,
      }),
    };
  }

  #raw(): PlannedSource[] {
    const { sources, reconcileAllOn, for: main } = this.#plan;
    const keys = (): readonly string[] =>
      main === undefined ? [] : (this.#indexerOf(main.resource)?.listKeys() ?? []);
    return [
      ...sources.map((source) => ({ source })),
      ...reconcileAllOn.map(
        (source): PlannedSource => ({
          source,
          through: (queue, signal) => new EveryObject(queue, keys, this.#clock, signal),
        }),
      ),
    ];
  }

  #mainIndexer(): Indexer<never, string> | undefined {
    this.#main ??= this.#plan.for && this.#indexerOf(this.#plan.for.resource);
    return this.#main;
  }

  /** Asked for when something is read, as a cache that nobody has asked for before would be filled from then on. */
  #indexerOf(resource: Resource<never, string>): Indexer<never, string> | undefined {
    const seen = this.#seen.get(resource);
    if (seen === undefined) return undefined;
    seen.indexer ??= this.#cache.informerFor(resource, seen.selection).getIndexer();
    return seen.indexer;
  }
}

/** Throws CapstanError INVALID_ARGUMENT: controller-runtime's rules for what is to be watched. */
export function requirePlan<T extends object>(plan: WatchPlan<T>): void {
  const { for: main, owns, watches, sources, reconcileAllOn, eventFilters, namespace } = plan;
  if (main !== undefined) requireWatched('for', main);
  for (const [i, owned] of owns.entries()) requireWatched(`owns[${i}]`, owned);
  for (const [i, watched] of watches.entries()) {
    requireWatched(`watches[${i}]`, watched);
    requireObject(`options.watches[${i}].handler`, watched.handler);
  }
  for (const [i, source] of sources.entries()) requireSource(`options.sources[${i}]`, source);
  for (const [i, source] of reconcileAllOn.entries()) requireSource(`options.reconcileAllOn[${i}]`, source);
  requirePredicates('options.eventFilters', eventFilters);
  if (namespace !== undefined && typeof namespace !== 'string')
    throw invalid('options.namespace', 'a string', namespace);
  if (namespace !== undefined && namespace !== '' && main?.resource.namespaced === false) {
    throw invalid('options.namespace', `nothing, as ${main.resource.kind} has no namespaces`, namespace);
  }
  if (main === undefined && (owns.length > 0 || reconcileAllOn.length > 0)) {
    throw problem('"owns" and "reconcileAllOn" need "for", the resource whose objects are to be reconciled');
  }
  if (main === undefined && watches.length === 0 && sources.length === 0) {
    throw problem(
      'nothing is watched, and so nothing would ever be reconciled: use "for", "watches" or a source of your own',
    );
  }
}

export function problem(message: string): CapstanError {
  return new CapstanError('INVALID_ARGUMENT', message);
}

function requireWatched(name: string, { resource, predicates, metadataOnly }: Owned | Watched): void {
  if (typeof resource?.kind !== 'string') throw invalid(`options.${name}`, 'what defineResource returns', resource);
  if (metadataOnly !== undefined && typeof metadataOnly !== 'boolean')
    throw invalid(`options.${name}.metadataOnly`, 'a boolean', metadataOnly);
  if (predicates !== undefined) requirePredicates(`options.${name}.predicates`, predicates);
}

function requirePredicates(name: string, predicates: readonly Predicate<never>[]): void {
  if (!Array.isArray(predicates)) throw invalid(name, 'an array of predicates', predicates);
  for (const [i, predicate] of (predicates as readonly Predicate<never>[]).entries()) {
    requireObject(`${name}[${i}]`, predicate);
    for (const event of ['create', 'update', 'delete', 'generic'] as const)
      if (predicate[event] !== undefined) requireFunction(`${name}[${i}].${event}`, predicate[event]);
  }
}
