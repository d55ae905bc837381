/**
 * SharedInformerFactory: one shared informer for each resource. client-go: informers/factory.go,
 * and dynamic/dynamicinformer, as there is only one type of informer here.
 *
 * Invariant: calls with the same resource, namespace, selectors and `metadataOnly` get the same
 * informer, so that the objects are listed, watched and stored once.
 */
/// <reference lib="esnext.disposable" preserve="true" />
import { systemClock } from '../../base/clock.ts';
import { CapstanError, invalid } from '../../base/errors.ts';
import { handleError } from '../../base/handle-error.ts';
import { omitUndefined } from '../../base/json-value.ts';
import { requireNames, requireSignalOptions } from '../../base/names.ts';
import type { FromServer } from '../../base/object.ts';
import { type IndexSpec, notResource, type Resource, resourceId } from '../../base/resource.ts';
import { abortable } from '../../base/wait.ts';
import { isUnserved, servedInstead } from '../reflector/discovery.ts';
import { ListWatch } from '../reflector/list-watch.ts';
import { type HashRange, HashRanges } from '../rest/hash-ranges.ts';
import { isNotFound } from '../rest/status-error.ts';
import { requireTransport, type Transport } from '../rest/transport.ts';
import type { Lister } from '../store/lister.ts';
import { FactoryNamespaces, type NamespaceChange } from './factory-namespaces.ts';
import {
  byResourceId,
  type FactoryOptions,
  type GenericInformer,
  type InformerSelection,
  optionsOf,
  type ResourceOptions,
  type ResourceSelection,
  requireFactoryOptions,
  SELECTION_NAMES,
  SERVED_NAMES,
} from './factory-options.ts';
import { SharedIndexInformer } from './informer.ts';
import { SyncResult, waitFor } from './wait-for-sync.ts';

interface Entry {
  readonly name: string;
  readonly namespace: string;
  /** Its key without the namespace; undefined if `setNamespaces` does not affect it. */
  readonly inEach: string | undefined;
  /** The id of its resource. */
  readonly of: string;
  readonly informer: SharedIndexInformer<never, string>;
}

/**
 * Informers with one transport and common options, which start and stop together. client-go:
 * informers.SharedInformerFactory.
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
  /** By resource id, so that all definitions of a resource are equal. */
  readonly #selections: ReadonlyMap<string, ResourceSelection>;
  readonly #perResource: ReadonlyMap<string, ResourceOptions>;
  readonly #customResync: ReadonlyMap<string, number>;
  readonly #entries = new Map<string, Entry>();
  /** Pending checks whether a resource is served, by resource id. */
  readonly #pendingChecks = new Map<string, Promise<boolean | undefined>>();
  /** Removed informers that have not ended; `shutdown` waits for them too. */
  readonly #removed = new Set<Entry['informer']>();
  #shuttingDown = false;
  #ranges: readonly HashRange[] | undefined;
  readonly #namespaces: FactoryNamespaces;
  /** The last call of `start`. */
  #started: { signal?: AbortSignal | undefined } | undefined;

  /** @throws CapstanError INVALID_ARGUMENT */
  constructor(transport: Transport, options: FactoryOptions = {}) {
    requireTransport('transport', transport);
    requireFactoryOptions(options);
    const { customResync, selections, perResource } = options;
    this.#transport = transport;
    this.#options = options;
    this.#selections = byResourceId(selections);
    this.#perResource = byResourceId(perResource);
    this.#customResync = byResourceId(customResync);
    this.#ranges = options.ranges;
    this.#namespaces = new FactoryNamespaces(options.namespaces);
  }

  /**
   * The namespaces now: those of the option `namespaces`, or of the last call of `setNamespaces`.
   * Undefined without the option.
   */
  namespaces(): readonly string[] | undefined {
    return this.#namespaces.current;
  }

  /**
   * Changes the option `namespaces` while informers run. Resolves when the informers of removed
   * namespaces have ended; everything else is done when the call returns.
   *
   * - Only the new namespace is listed and watched: for each resource that has an informer in other
   *   namespaces, and for each controller and client over the factory. {@link hasSyncedIn} tells
   *   when its objects are there. If the server refuses, logs, reports and {@link waitForCacheSync}
   *   name the namespace, and its informers try again; the other namespaces go on.
   * - A removed namespace is forgotten: its informers end and its objects are dropped, without a
   *   call of any handler, because nothing was deleted. Controllers drop its requests and abort its
   *   reconciles, and their `get` throws NAMESPACE_REMOVED, so that no reconcile takes the objects
   *   for deleted. A client asks the server for them.
   * - A namespace that comes back is listed anew: handlers get its objects as of an initial list.
   * - Resources with a namespace of their own in `selections`, and cluster-scoped ones, stay.
   *
   * @throws CapstanError INVALID_ARGUMENT, also for a factory that was made without `namespaces`;
   *   STOPPED after `shutdown`
   * @example
   * const factory = newSharedInformerFactory(transport, { namespaces: [] });
   * const teams = newSharedInformerFactory(transport).informerFor(Namespace);
   * const follow = () => {
   *   const found = teams.lister().list({ labelSelector: 'team' });
   *   return factory.setNamespaces(found.map(({ metadata }) => metadata.name));
   * };
   * teams.addEventHandler({ onAdd: follow, onUpdate: follow, onDelete: follow });
   */
  setNamespaces(namespaces: readonly string[]): Promise<void> {
    const change = this.#namespaces.change(namespaces, this.#shuttingDown);
    for (const namespace of change.added) this.#addNamespace(namespace);
    if (change.added.length + change.removed.length > 0) this.#namespaces.tell(change);
    const gone = new Set(change.removed);
    const ending = [...this.#entries].filter(
      ([, { inEach, namespace }]) => inEach !== undefined && gone.has(namespace),
    );
    return Promise.all(ending.map(([key, entry]) => this.#end(key, entry))).then(() => undefined);
  }

  /**
   * Whether all informers of a namespace have synced: false if the factory does not have the
   * namespace. Handlers may not have got all objects then.
   */
  hasSyncedIn(namespace: string): boolean {
    if (this.#namespaces.current !== undefined && !this.#namespaces.has(namespace)) return false;
    return [...this.#entries.values()].every(
      (entry) => entry.namespace !== namespace || entry.informer.hasSynced(),
    );
  }

  /**
   * Calls a listener within each call of `setNamespaces`, until the returned function is called: to
   * drop what a program keeps in memory for a removed namespace.
   */
  onNamespaces(listener: (change: NamespaceChange) => void): () => void {
    return this.#namespaces.listen(listener);
  }

  /** @internal Whether a resource has an informer in each of the namespaces of `setNamespaces`. */
  isInEachNamespace(resource: Resource<never, string>): boolean {
    const { namespace, namespaces } = this.#selections.get(resourceId(resource)) ?? {};
    return (
      this.#namespaces.current !== undefined &&
      resource.namespaced &&
      namespace === undefined &&
      namespaces === undefined
    );
  }

  #addNamespace(namespace: string): void {
    for (const { resource, selection } of this.#namespaces.inEach.values()) {
      const { name } = this.#describe(resource, { ...selection, namespace });
      try {
        const informer = this.informerFor(resource, { ...selection, namespace });
        if (this.#started !== undefined && !informer.hasStarted())
          this.#run(name, informer as unknown as Entry['informer'], this.#started);
      } catch (error) {
        handleError(error, `informer of ${name}`);
      }
    }
  }

  /**
   * Changes the option `ranges` of all informers that are not `shared`, including those that are
   * created later: see {@link SharedIndexInformer.setRanges}.
   *
   * @throws CapstanError INVALID_ARGUMENT, also for a factory that was made without `ranges`
   */
  setRanges(ranges: readonly HashRange[]): void {
    HashRanges.of('ranges', ranges, { namespaced: true });
    if (this.#ranges === undefined)
      throw invalid('ranges', 'none, as the factory was made without the option', ranges);
    this.#ranges = ranges;
    for (const { of, informer } of this.#entries.values())
      if (!this.#perResource.get(of)?.shared) informer.setRanges(ranges);
  }

  /** Whether all started informers have all objects of their ranges. */
  hasRanges(): boolean {
    return [...this.#entries.values()].every(
      ({ informer }) => !informer.hasStarted() || informer.hasRanges(),
    );
  }

  /**
   * The informer of a resource and selection, created at the first call. Another definition of the
   * same resource gets the same informer, to which its indices are added. A new informer runs after
   * the next `start`. client-go: InformerFor.
   *
   * @throws CapstanError INVALID_ARGUMENT, also if the factory has several namespaces and the
   *   selection has none; INDEX_EXISTS for an index with the same name and another function;
   *   STOPPED after `shutdown`, for a new informer
   */
  informerFor<T extends object, I extends string = never>(
    resource: Resource<T, I>,
    selection: InformerSelection = {},
  ): SharedIndexInformer<T, I> {
    const { key, name, restricted, selected, namespace, inEach } = this.#describe(
      resource,
      selection,
    );
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      if (this.#shuttingDown)
        throw new CapstanError('STOPPED', 'this factory has been shut down: make another one');
      const informer = this.#newInformer(resource, selected, restricted);
      if (inEach !== undefined && this.#namespaces.has(namespace)) {
        const { namespace: _, ...others } = selected;
        this.#namespaces.inEach.set(inEach, {
          resource: resource as unknown as Resource<never, never>,
          selection: others,
        });
      }
      entry = {
        ...{ name, namespace, inEach },
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
   * The namespaces of a resource's informers, one informer for each. `['']`: one informer for all
   * namespaces, or a cluster-scoped resource.
   */
  namespacesOf<T extends object>(
    resource: Resource<T, never>,
    selection: InformerSelection = {},
  ): readonly string[] {
    const { namespace = '' } = this.#options;
    const namespaces = this.#namespaces.current ?? [namespace];
    const own = this.#selections.get(resourceId(resource));
    const one = selection.namespace ?? own?.namespace;
    if (one !== undefined) return [one];
    return resource.namespaced ? (own?.namespaces ?? namespaces) : [''];
  }

  /**
   * The name of an informer in messages and reports, such as `deployments.apps/v1 in demo`. The
   * informer need not exist.
   */
  nameOf<T extends object>(
    resource: Resource<T, never>,
    selection: InformerSelection = {},
  ): string {
    return this.#describe(resource, selection).name;
  }

  /**
   * Whether the server serves a resource: false if discovery lacks it and a list is refused with
   * 404. True in all other cases, including failures of the server, which an informer will report
   * itself. Usually takes one request, which concurrent calls share, whatever their selection; none
   * if the informer has synced.
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
    const check =
      this.#pendingChecks.get(id) ??
      this.#checkServed(resource, selection, signal).finally(() => this.#pendingChecks.delete(id));
    this.#pendingChecks.set(id, check);
    return (await abortable(check, signal).catch(() => true)) ?? this.isServed(resource, options);
  }

  /** @internal What the server serves instead of a resource, for messages. */
  servedInstead<T extends object>(
    resource: Resource<T, never>,
    signal: AbortSignal,
  ): Promise<string> {
    const caller = { clock: this.#options.clock ?? systemClock, signal };
    return servedInstead(this.#transport, resource, caller);
  }

  /**
   * `undefined`: the signal has fired, and other callers that share this request must repeat it.
   */
  async #checkServed<T extends object>(
    resource: Resource<T, never>,
    selection: InformerSelection,
    signal: AbortSignal,
  ): Promise<boolean | undefined> {
    const caller = { clock: this.#options.clock ?? systemClock, signal };
    try {
      if (await isUnserved(this.#transport, resource, caller))
        // Some servers list a custom resource in discovery only after its first use.
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
   * Whether the informer exists already.
   *
   * @throws CapstanError INVALID_ARGUMENT, also if the factory has several namespaces and the
   *   selection has none
   */
  has(resource: Resource<never, string>, selection: InformerSelection = {}): boolean {
    return this.#entries.has(this.#describe(resource, selection).key);
  }

  /** As {@link informerFor}, with its lister. client-go: ForResource. */
  forResource<T extends object, I extends string = never>(
    resource: Resource<T, I>,
    selection: InformerSelection = {},
  ): GenericInformer<T, I> {
    const informer = this.informerFor(resource, selection);
    return { informer: () => informer, lister: () => informer.lister() };
  }

  /** The lister of a resource; creates its informer, as {@link informerFor}. */
  lister<T extends object, I extends string = never>(
    resource: Resource<T, I>,
    selection: InformerSelection = {},
  ): Lister<FromServer<T>> {
    return this.informerFor(resource, selection).lister();
  }

  /**
   * Calls {@link SharedIndexInformer.wrote} of all informers of a resource, whatever their
   * selection. Never throws, because the object has been written: errors, such as those of
   * `tweakListOptions`, go to handleError.
   */
  wrote<T extends object>(resource: Resource<T, never>, object: T): void {
    const id = resourceId(resource);
    for (const { of, name, informer } of this.#entries.values()) {
      try {
        if (of === id) informer.wrote(object as never);
      } catch (error) {
        handleError(error, `informer of ${name}, which could not note an object that was written`);
      }
    }
  }

  /** All informers by their name in messages and reports, such as `deployments.apps/v1 in demo`. */
  informers(): Map<string, SharedIndexInformer<never, string>> {
    return new Map([...this.#entries.values()].map(({ name, informer }) => [name, informer]));
  }

  /**
   * Starts the informers that were not started yet; they run until the signal fires. Call it again
   * for informers that were created later. After `shutdown` it has no effect. client-go: Start.
   */
  start(options: { signal?: AbortSignal | undefined } = {}): void {
    requireSignalOptions(options, 'start()');
    if (this.#shuttingDown) return;
    this.#started = options;
    for (const { name, informer } of this.#entries.values()) {
      if (informer.hasStarted()) continue; // started by an earlier call, or by the program
      this.#run(name, informer, options);
    }
  }

  #run(
    name: string,
    informer: Entry['informer'],
    options: { signal?: AbortSignal | undefined },
  ): void {
    informer.run(options).catch((error) => handleError(error, `informer of ${name}`));
  }

  /**
   * Waits until all started informers have synced, or the signal fires, and tells which have. Never
   * rejects. Handlers may not have got all objects then: see {@link Registration.hasSyncedChecker}.
   * client-go: WaitForCacheSyncWithContext.
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
   * Stops and removes the informer of a resource; a later call of `informerFor` creates a new one.
   * Resolves when it has ended: with true, or false if there was none. Rejects with
   * INVALID_ARGUMENT if the factory has several namespaces and the selection has none.
   */
  async remove<T extends object>(
    resource: Resource<T, never>,
    selection: InformerSelection = {},
  ): Promise<boolean> {
    const { key } = this.#describe(resource, selection);
    const entry = this.#entries.get(key);
    if (entry === undefined) return false;
    const { inEach } = entry;
    const ended = this.#end(key, entry);
    if (![...this.#entries.values()].some((other) => other.inEach === inEach))
      this.#namespaces.inEach.delete(inEach ?? '');
    await ended;
    return true;
  }

  async #end(key: string, { informer }: Entry): Promise<void> {
    this.#entries.delete(key);
    this.#removed.add(informer);
    await informer.stop();
    // Stopped again, because the first call does not wait for a handler that called `remove`.
    void informer.stop().then(() => this.#removed.delete(informer));
  }

  /**
   * Stops all informers and resolves when they have ended, as {@link SharedIndexInformer.stop}. No
   * informer starts after it. May be called at any time, and repeatedly. (client-go's Shutdown
   * waits for the informers without stopping them.)
   */
  async shutdown(): Promise<void> {
    this.#shuttingDown = true;
    const informers = [...this.#entries.values()].map(({ informer }) => informer);
    await Promise.all([...informers, ...this.#removed].map((informer) => informer.stop()));
  }

  /** The same as `shutdown()`, for `await using factory = …`. */
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
      compression,
      customResync: ____,
      perResource: _____,
      name,
      ...all
    } = this.#options;
    const id = resourceId(resource);
    const { transform, shared, ...options } = optionsOf(all, this.#perResource.get(id));
    return new SharedIndexInformer(this.#listWatch(resource, selection), {
      ...options,
      ranges: shared ? undefined : this.#ranges,
      resyncPeriod: this.#customResync.get(id) ?? options.resyncPeriod,
      transform: transform && ((object: T) => transform(object) as T),
      name: name && `${name}${restricted}`,
    });
  }

  #listWatch<T extends object, I extends string>(
    resource: Resource<T, I>,
    selection: InformerSelection,
  ): ListWatch<T, I> {
    const { tweakListOptions: tweak, idleTimeout, maxListBytes, compression } = this.#options;
    const namespace = this.#namespaceOf(resource, selection);
    return new ListWatch(this.#transport, resource, {
      ...selection,
      namespace,
      tweak,
      idleTimeout,
      maxListBytes,
      compression,
    });
  }

  #namespaceOf<T, I extends string>(
    resource: Resource<T, I>,
    selection: InformerSelection,
  ): string {
    const all = this.namespacesOf(resource as Resource<never, never>, selection);
    if (all.length === 1) return all[0] as string;
    const expected = `a namespace, as there is an informer of ${resource.plural} for each of`;
    const which = all.length === 0 ? 'those of setNamespaces()' : all.join(', ');
    throw invalid('selection.namespace', `${expected} ${which}`, undefined);
  }

  /** The identity of an informer, as a key and as a name. */
  #describe<T, I extends string>(
    resource: Resource<T, I>,
    selection: InformerSelection,
  ): {
    key: string;
    name: string;
    namespace: string;
    /** The key without the namespace; undefined if `setNamespaces` does not affect it. */
    inEach: string | undefined;
    restricted: string;
    selected: InformerSelection;
  } {
    if (typeof resource?.plural !== 'string') throw notResource('resource', resource);
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
    const inEach = this.isInEachNamespace(resource as Resource<never, never>)
      ? JSON.stringify([group, version, plural, labelSelector, fieldSelector, metadataOnly])
      : undefined;
    const name = `${base}/${version}${restricted}`;
    return { key, name, namespace, inEach, restricted, selected };
  }
}

/**
 * The same as `new SharedInformerFactory(transport, options)`. client-go:
 * NewSharedInformerFactoryWithOptions.
 *
 * @throws CapstanError INVALID_ARGUMENT
 */
export function newSharedInformerFactory(
  transport: Transport,
  options: FactoryOptions = {},
): SharedInformerFactory {
  return new SharedInformerFactory(transport, options);
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
        `the informer of ${name} has an index "${index}" with another function: ` +
          'share one defineResource, or name the index anew',
      );
    }
  }
  if (Object.keys(missing).length > 0) informer.addIndexers(missing);
}
