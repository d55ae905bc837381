/// <reference lib="esnext.disposable" preserve="true" />
/**
 * One informer for each resource, shared by all who ask for it. client-go: informers/factory.go,
 * and dynamic/dynamicinformer, as there is one type of informer here.
 *
 * Invariant: two calls that name the same objects (resource, namespace, selectors, metadata only or
 * whole) get the same informer, so that these are listed, watched and stored once.
 */
import { systemClock } from '../../base/clock.ts';
import {
  CapstanError,
  invalid,
  requireBoolean,
  requireFunction,
  requireMs,
  requireNumber,
} from '../../base/errors.ts';
import { handleError } from '../../base/handle-error.ts';
import { omitUndefined } from '../../base/json-value.ts';
import { namesOf, requireNames, requireSignalOptions } from '../../base/names.ts';
import { abortable } from '../../base/wait.ts';
import {
  type CacheLimits,
  LIMIT_NAMES,
  requireBytesFree,
  requireCacheLimits,
} from '../decode/limits.ts';
import { isUnserved, servedInstead } from '../reflector/discovery.ts';
import { ListWatch, type ListWatchOptions } from '../reflector/list-watch.ts';
import type { KubeObject } from '../rest/keys.ts';
import { requireNamespaces } from '../rest/namespaces.ts';
import { type IndexSpec, type Resource, resourceId } from '../rest/resource.ts';
import { isNotFound } from '../rest/status-error.ts';
import type { Transport } from '../rest/transport.ts';
import type { Lister } from '../store/lister.ts';
import { SharedIndexInformer } from './informer.ts';
import { INFORMER_NAMES, type SharedIndexInformerOptions } from './informer-options.ts';
import { SyncResult, waitFor } from './wait-for-sync.ts';

/**
 * What an informer is restricted to. Where `namespace` is left out, the factory's counts, which
 * then may not be several.
 */
export type InformerSelection = Pick<
  ListWatchOptions,
  'namespace' | 'labelSelector' | 'fieldSelector' | 'metadataOnly'
>;

/**
 * What an informer of the resource is restricted to where the call of `informerFor` does not say.
 */
export interface ResourceSelection extends InformerSelection {
  /** Several namespaces in place of one, as {@link FactoryOptions.namespaces}. */
  namespaces?: readonly string[] | undefined;
}

/**
 * What the informers of one resource do with its objects, where that is not what those of all do.
 */
export interface ResourceOptions extends CacheLimits {
  /** See {@link FactoryOptions.transform}. `undefined`: none, also where there is one for all. */
  transform?: FactoryOptions['transform'] | undefined;
  /** See {@link SharedIndexInformerOptions}. */
  watchList?: boolean | undefined;
}

/** The options of the informers, for all of them, and those of a factory. */
export interface FactoryOptions extends Omit<SharedIndexInformerOptions, 'transform'> {
  /** For all informers, in milliseconds; 0, the default, is never. */
  resyncPeriod?: number | undefined;
  /** Resync periods of single resources, in milliseconds. */
  customResync?: ReadonlyMap<Resource<never, string>, number> | undefined;
  /** One namespace, for all resources that have any; by default all. */
  namespace?: string | undefined;
  /**
   * Several namespaces, in place of `namespace`: each resource that has any gets an informer for
   * each of them, and nothing is asked of the server that needs rights beyond them. An informer is
   * asked for with its namespace (`informerFor(Pod, { namespace: 'a' })`); controllers and clients
   * over the factory see all of them. controller-runtime: cache Options.DefaultNamespaces.
   *
   * @example
   * const factory = newSharedInformerFactory(transport, { namespaces: ['team-a', 'team-b'] });
   * const informers = factory.namespacesOf(Pod).map((namespace) => factory.informerFor(Pod, { namespace }));
   */
  namespaces?: readonly string[] | undefined;
  /**
   * What the informers of single resources are restricted to where the call of `informerFor` does
   * not say. controller-runtime: cache Options.ByObject.
   */
  selections?: ReadonlyMap<Resource<never, string>, ResourceSelection> | undefined;
  /**
   * Options of the informers of single resources; what is said here counts, and else what is said
   * for all. controller-runtime: cache Options.ByObject.
   *
   * @example
   * newSharedInformerFactory(transport, { perResource: new Map([[Pod, { drop: ['spec.volumes'], maxBytes: 1e9 }]]) });
   */
  perResource?: ReadonlyMap<Resource<never, string>, ResourceOptions> | undefined;
  /** Changes the query of each list and watch; see {@link ListWatchOptions.tweak}. */
  tweakListOptions?: ListWatchOptions['tweak'] | undefined;
  /** How long a watch may be silent, in milliseconds; see {@link ListWatchOptions.idleTimeout}. */
  idleTimeout?: number | undefined;
  /** The longest answer to a list, in bytes; see {@link ListWatchOptions.maxListBytes}. */
  maxListBytes?: number | undefined;
  /** Changes objects before they are stored; see {@link SharedIndexInformerOptions.transform}. */
  transform?: ((object: KubeObject) => KubeObject) | undefined;
  /**
   * The informers' name in metrics. Informers of one resource with other selections get what tells
   * them apart added to it.
   */
  name?: string | undefined;
}

export const SELECTION_NAMES = namesOf<InformerSelection>()({
  namespace: 1,
  labelSelector: 1,
  fieldSelector: 1,
  metadataOnly: 1,
});
const OF_RESOURCE_NAMES = namesOf<ResourceSelection>()({ ...SELECTION_NAMES, namespaces: 1 });
const PER_RESOURCE_NAMES = namesOf<ResourceOptions>()({
  ...LIMIT_NAMES,
  transform: 1,
  watchList: 1,
});
export const FACTORY_NAMES = namesOf<FactoryOptions>()({
  ...INFORMER_NAMES,
  customResync: 1,
  namespace: 1,
  namespaces: 1,
  selections: 1,
  perResource: 1,
  tweakListOptions: 1,
  idleTimeout: 1,
  maxListBytes: 1,
});
const SERVED_NAMES = namesOf<{ selection: unknown; signal: AbortSignal }>()({
  selection: 1,
  signal: 1,
});

/** An informer, and a reader of its cache. */
export interface GenericInformer<T extends object, I extends string> {
  informer(): SharedIndexInformer<T, I>;
  lister(): Lister<T>;
}

interface Entry {
  readonly name: string;
  /** Its resource, whatever it is restricted to. */
  readonly of: string;
  readonly informer: SharedIndexInformer<never, string>;
}

/**
 * Informers that share one server, one set of options, one start and one end.
 *
 * @example
 * const factory = newSharedInformerFactory(transport, { namespace: 'default' });
 * const pods = factory.informerFor(Pod);
 * pods.addEventHandler({ onAdd: (pod) => use(pod) });
 * factory.start({ signal });
 * const synced = await factory.waitForCacheSync({ signal: AbortSignal.timeout(30_000) });
 * const failed = synced.asError();
 * if (failed) throw failed;
 * factory.lister(Pod).namespace('default').list({ labelSelector: 'app=web' });
 * await factory.shutdown();
 */
export class SharedInformerFactory {
  readonly #transport: Transport;
  readonly #options: FactoryOptions;
  /** By what a resource is, so that every definition of it means the same. */
  readonly #selections: ReadonlyMap<string, ResourceSelection>;
  readonly #perResource: ReadonlyMap<string, ResourceOptions>;
  readonly #customResync: ReadonlyMap<string, number>;
  readonly #entries = new Map<string, Entry>();
  /** Whether a resource is served, by what it is, where the answer is under way. */
  readonly #asking = new Map<string, Promise<boolean | undefined>>();
  /** Those that were removed and have not ended: `shutdown` waits for them too. */
  readonly #removed = new Set<Entry['informer']>();
  #shuttingDown = false;

  /** @throws CapstanError INVALID_ARGUMENT */
  constructor(transport: Transport, options: FactoryOptions = {}) {
    requireFunction('transport.request', (transport as Partial<Transport> | undefined)?.request);
    requireNames('options', options, 'option of a SharedInformerFactory', FACTORY_NAMES);
    const { resyncPeriod, customResync, selections, perResource, tweakListOptions } = options;
    if (resyncPeriod !== undefined) requireNumber('options.resyncPeriod', resyncPeriod);
    requireMs('options.shutdownTimeout', options.shutdownTimeout ?? 0);
    for (const [name, map] of Object.entries({ customResync, selections, perResource })) {
      if (map !== undefined && !(map instanceof Map))
        throw invalid(`options.${name}`, 'a Map by resources', map);
    }
    for (const period of customResync?.values() ?? [])
      requireNumber('options.customResync', period);
    requireNamespaces('options', options);
    for (const [resource, selection] of selections ?? []) {
      requireNames('options.selections', selection, 'selection', OF_RESOURCE_NAMES);
      requireNamespaces('options.selections', selection);
      if (selection.namespaces !== undefined && !resource?.namespaced)
        throw invalid(
          'options.selections',
          'namespaces only for resources that have any',
          selection,
        );
    }
    if (tweakListOptions !== undefined)
      requireFunction('options.tweakListOptions', tweakListOptions);
    requireLimits(options);
    for (const own of perResource?.values() ?? []) {
      requireNames('options.perResource', own, 'option of one resource', PER_RESOURCE_NAMES);
      requireLimits(optionsOf(options, own));
    }
    this.#transport = transport;
    this.#options = options;
    this.#selections = byIdentity(selections);
    this.#perResource = byIdentity(perResource);
    this.#customResync = byIdentity(customResync);
  }

  /**
   * The informer of a resource, made at the first call. A later definition of the same resource
   * gets the same informer, with its indices added; the options of the first count. A new informer
   * runs from the next `start` on.
   *
   * @throws CapstanError INVALID_ARGUMENT, also where there is one for each of several namespaces
   *   and none is named; INDEX_EXISTS for an index that is there under the same name and another
   *   function; STOPPED after `shutdown`, where the informer would be new
   */
  informerFor<T extends object, I extends string = never>(
    resource: Resource<T, I>,
    selection: InformerSelection = {},
  ): SharedIndexInformer<T, I> {
    const { key, name, restricted, selected } = this.#describe(resource, selection);
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      if (this.#shuttingDown)
        throw new CapstanError('STOPPED', 'this factory has been shut down: make another one');
      const informer = this.#newInformer(resource, selected, restricted);
      entry = {
        name,
        of: resourceId(resource),
        informer: informer as unknown as Entry['informer'],
      };
      this.#entries.set(key, entry);
    } else {
      addMissingIndexers(
        name,
        entry.informer,
        resource.indexers as Record<string, IndexSpec<never>>,
      );
    }
    return entry.informer as unknown as SharedIndexInformer<T, I>;
  }

  /**
   * The namespaces of a resource's informers, each with one of its own; `['']` is one for all, and
   * for what has no namespace.
   */
  namespacesOf<T extends object>(
    resource: Resource<T, never>,
    selection: InformerSelection = {},
  ): readonly string[] {
    const { namespace = '', namespaces = [namespace] } = this.#options;
    const own = this.#selections.get(resourceId(resource));
    const one = selection.namespace ?? own?.namespace;
    if (one !== undefined) return [one];
    return resource.namespaced ? (own?.namespaces ?? namespaces) : [''];
  }

  /**
   * What an informer is called in messages and reports, such as `deployments.apps/v1 in demo`;
   * whether there is one or not.
   */
  nameOf<T extends object>(
    resource: Resource<T, never>,
    selection: InformerSelection = {},
  ): string {
    return this.#describe(resource, selection).name;
  }

  /**
   * Whether the server has a resource, as far as it can be told: false where its discovery lacks it
   * and a list of it is refused with 404. Whatever else happens, the server's failures included,
   * gives true, as an informer will find out by itself. Costs one request as a rule, which all
   * share who ask meanwhile, whatever their selection, and none where the informer has synced.
   *
   * @throws CapstanError INVALID_ARGUMENT
   */
  async isServed<T extends object>(
    resource: Resource<T, never>,
    options: { selection?: InformerSelection | undefined; signal?: AbortSignal | undefined } = {},
  ): Promise<boolean> {
    requireNames('options', options, 'option of isServed()', SERVED_NAMES);
    const { selection = {}, signal = new AbortController().signal } = options;
    if (this.#entries.get(this.#describe(resource, selection).key)?.informer.hasSynced())
      return true;
    const id = resourceId(resource);
    const asking =
      this.#asking.get(id) ??
      this.#ask(resource, selection, signal).finally(() => this.#asking.delete(id));
    this.#asking.set(id, asking);
    return (await abortable(asking, signal).catch(() => true)) ?? this.isServed(resource, options);
  }

  /** @internal What the server has in place of a resource that it does not serve, in words. */
  servedInstead<T extends object>(
    resource: Resource<T, never>,
    signal: AbortSignal,
  ): Promise<string> {
    const caller = { clock: this.#options.clock ?? systemClock, signal };
    return servedInstead(this.#transport, resource, caller);
  }

  /** `undefined`: the signal has fired, and those who wait for the same answer ask anew. */
  async #ask<T extends object>(
    resource: Resource<T, never>,
    selection: InformerSelection,
    signal: AbortSignal,
  ): Promise<boolean | undefined> {
    const caller = { clock: this.#options.clock ?? systemClock, signal };
    try {
      if (await isUnserved(this.#transport, resource, caller))
        // A server that learns of a custom resource by its first use has no discovery of it before.
        await this.#listWatch(resource, selection).list(
          { resourceVersion: '', limit: 1, continue: '' },
          { ...caller, terse: true },
        );
    } catch (error) {
      if (isNotFound(error)) return false;
    }
    return signal.aborted ? undefined : true;
  }

  /**
   * Whether there is an informer of the resource already.
   *
   * @throws CapstanError INVALID_ARGUMENT, also where there is one for each of several namespaces
   *   and none is named
   */
  has(resource: Resource<never, string>, selection: InformerSelection = {}): boolean {
    return this.#entries.has(this.#describe(resource, selection).key);
  }

  /** As {@link informerFor}, with the reader of its cache. client-go: ForResource. */
  forResource<T extends object, I extends string = never>(
    resource: Resource<T, I>,
    selection: InformerSelection = {},
  ): GenericInformer<T, I> {
    const informer = this.informerFor(resource, selection);
    return { informer: () => informer, lister: () => informer.lister() };
  }

  /** Reads the cache of a resource; asks for its informer, as {@link informerFor}. */
  lister<T extends object, I extends string = never>(
    resource: Resource<T, I>,
    selection: InformerSelection = {},
  ): Lister<T> {
    return this.informerFor(resource, selection).lister();
  }

  /**
   * Tells all informers of a resource, whatever they are restricted to, what this process has
   * written: {@link SharedIndexInformer.wrote}. Never throws, as it has been written: what fails,
   * such as a `tweakListOptions`, goes to handleError.
   */
  wrote<T extends object>(resource: Resource<T, never>, object: T): void {
    const id = resourceId(resource);
    for (const { of, name, informer } of this.#entries.values()) {
      try {
        if (of === id) informer.wrote(object as never);
      } catch (error) {
        handleError(error, `informer of ${name}, which was told of an object that was written`);
      }
    }
  }

  /**
   * The informers that there are, by what they are called in messages and reports, such as
   * `deployments.apps/v1 in demo`.
   */
  informers(): Map<string, SharedIndexInformer<never, string>> {
    return new Map([...this.#entries.values()].map(({ name, informer }) => [name, informer]));
  }

  /**
   * Starts the informers that were not started yet; they run until the signal fires. To be called
   * again after others were asked for. After `shutdown`: no effect.
   */
  start(options: { signal?: AbortSignal | undefined } = {}): void {
    requireSignalOptions(options, 'start()');
    if (this.#shuttingDown) return;
    for (const { name, informer } of this.#entries.values()) {
      if (informer.hasStarted()) continue; // by an earlier call, or by the program
      informer.run(options).catch((error) => handleError(error, `informer of ${name}`));
    }
  }

  /**
   * Waits until the informers that were started have synced, or the signal fires; says which have
   * and which have not. Never rejects. That handlers were told everything is another matter: see
   * {@link Registration.hasSyncedChecker}.
   */
  async waitForCacheSync(options: { signal?: AbortSignal | undefined } = {}): Promise<SyncResult> {
    requireSignalOptions(options, 'waitForCacheSync()');
    const started = [...this.#entries.values()].filter(({ informer }) => informer.hasStarted());
    await waitFor(options, '', ...started.map(({ informer }) => informer.hasSyncedChecker()));
    const synced = new Map(started.map(({ name, informer }) => [name, informer.hasSynced()]));
    const failures = new Map(
      started.flatMap(({ name, informer }) => {
        const error = informer.hasSynced() ? undefined : informer.status().lastFailure?.error;
        return error === undefined ? [] : [[name, error] as const];
      }),
    );
    return new SyncResult(synced, options.signal?.reason, failures);
  }

  /**
   * Stops the informer of a resource and forgets it: a later call of `informerFor` makes a new one.
   * Resolves when it has ended; with false where there is none. Rejects with INVALID_ARGUMENT where
   * there is one for each of several namespaces and none is named.
   */
  async remove<T extends object>(
    resource: Resource<T, never>,
    selection: InformerSelection = {},
  ): Promise<boolean> {
    const { key } = this.#describe(resource, selection);
    const entry = this.#entries.get(key);
    if (entry === undefined) return false;
    this.#entries.delete(key);
    const { informer } = entry;
    this.#removed.add(informer);
    await informer.stop();
    // Asked again: the first one does not wait for a handler that has called this.
    void informer.stop().then(() => this.#removed.delete(informer));
    return true;
  }

  /**
   * Stops all informers and resolves when they have ended, as {@link SharedIndexInformer.stop};
   * nothing starts any more. Legal at any time and any number of times. (client-go's waits for the
   * informers without stopping them.)
   */
  async shutdown(): Promise<void> {
    this.#shuttingDown = true;
    const informers = [...this.#entries.values()].map(({ informer }) => informer);
    await Promise.all([...informers, ...this.#removed].map((informer) => informer.stop()));
  }

  /**
   * `await using factory = …` shuts it down at the end of the block, where the runtime has
   * `Symbol.asyncDispose`.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.shutdown();
  }

  #newInformer<T extends object, I extends string>(
    resource: Resource<T, I>,
    selection: InformerSelection,
    restricted: string,
  ): SharedIndexInformer<T, I> {
    const {
      namespace: _,
      namespaces: __,
      selections: ___,
      tweakListOptions,
      idleTimeout,
      maxListBytes,
      customResync: ____,
      perResource: _____,
      name,
      ...all
    } = this.#options;
    const id = resourceId(resource);
    const { transform, ...options } = optionsOf(all, this.#perResource.get(id));
    return new SharedIndexInformer(this.#listWatch(resource, selection), {
      ...options,
      resyncPeriod: this.#customResync.get(id) ?? options.resyncPeriod,
      transform: transform && ((object: T) => transform(object) as T),
      name: name && `${name}${restricted}`,
    });
  }

  #listWatch<T extends object, I extends string>(
    resource: Resource<T, I>,
    selection: InformerSelection,
  ): ListWatch<T, I> {
    const { tweakListOptions: tweak, idleTimeout, maxListBytes } = this.#options;
    const namespace = this.#namespaceOf(resource, selection);
    return new ListWatch(this.#transport, resource, {
      ...selection,
      namespace,
      tweak,
      idleTimeout,
      maxListBytes,
    });
  }

  #namespaceOf<T, I extends string>(
    resource: Resource<T, I>,
    selection: InformerSelection,
  ): string {
    const [namespace = '', ...more] = this.namespacesOf(
      resource as Resource<never, never>,
      selection,
    );
    if (more.length === 0) return namespace;
    const expected = `a namespace, as there is an informer of ${resource.plural} for each of ${[namespace, ...more].join(', ')}`;
    throw invalid('selection.namespace', expected, undefined);
  }

  /** What tells an informer from all others: as a key, and in words. */
  #describe<T, I extends string>(
    resource: Resource<T, I>,
    selection: InformerSelection,
  ): { key: string; name: string; restricted: string; selected: InformerSelection } {
    if (typeof resource?.plural !== 'string')
      throw invalid('resource', 'what defineResource returns', resource);
    requireNames('selection', selection, 'selection', SELECTION_NAMES);
    const { namespaces: _, ...own }: ResourceSelection =
      this.#selections.get(resourceId(resource)) ?? {};
    const selected: InformerSelection = { ...own, ...omitUndefined(selection) };
    const { labelSelector = '', fieldSelector = '', metadataOnly = false } = selected;
    const namespace = this.#namespaceOf(resource, selected);
    const restricted = [
      namespace === (this.#options.namespace ?? '') || !resource.namespaced
        ? ''
        : ` in ${namespace || 'all namespaces'}`,
      labelSelector ? ` with labels ${labelSelector}` : '',
      fieldSelector ? ` with fields ${fieldSelector}` : '',
      metadataOnly ? ' by their metadata' : '',
    ].join('');
    const { plural, group, version } = resource;
    const base = group === '' ? plural : `${plural}.${group}`;
    const key = JSON.stringify([
      group,
      version,
      plural,
      namespace,
      labelSelector,
      fieldSelector,
      metadataOnly,
    ]);
    return { key, name: `${base}/${version}${restricted}`, restricted, selected };
  }
}

/**
 * A factory of informers. client-go: NewSharedInformerFactoryWithOptions.
 *
 * @throws CapstanError INVALID_ARGUMENT
 */
export function newSharedInformerFactory(
  transport: Transport,
  options: FactoryOptions = {},
): SharedInformerFactory {
  return new SharedInformerFactory(transport, options);
}

function requireLimits(options: FactoryOptions): void {
  const { transform, watchList } = options;
  if (transform !== undefined) requireFunction('options.transform', transform);
  requireBoolean('options.watchList', watchList);
  requireCacheLimits(options);
  if (transform !== undefined) requireBytesFree(options, 'a transform');
}

function addMissingIndexers(
  name: string,
  informer: SharedIndexInformer<never, string>,
  wanted: Record<string, IndexSpec<never>>,
): void {
  const present: Record<string, IndexSpec<never>> = informer.getIndexer().getIndexers();
  const missing: Record<string, IndexSpec<never>> = {};
  for (const [index, spec] of Object.entries(wanted)) {
    if (!Object.hasOwn(present, index)) missing[index] = spec;
    else if (present[index] !== spec) {
      throw new CapstanError(
        'INDEX_EXISTS',
        `the informer of ${name} has an index "${index}" with another function: share one defineResource, or name the index anew`,
      );
    }
  }
  if (Object.keys(missing).length > 0) informer.addIndexers(missing);
}

function byIdentity<V>(
  map: ReadonlyMap<Resource<never, string>, V> | undefined,
): ReadonlyMap<string, V> {
  return new Map([...(map ?? [])].map(([resource, value]) => [resourceId(resource), value]));
}

/** Those of one resource before those of all; a transform that is undefined is none. */
function optionsOf<O extends Pick<FactoryOptions, 'transform'>>(
  all: O,
  own: ResourceOptions = {},
): O & ResourceOptions {
  return { ...all, ...omitUndefined(own), ...('transform' in own && { transform: own.transform }) };
}
