/**
 * Namespaces: the initial ones, the checks at a create, and the deletion. A deletion marks a
 * Namespace; after a delay its controller deletes the objects in it, and removes it when none is
 * left. apiserver: pkg/admission/plugin/namespace/lifecycle; kubernetes:
 * pkg/registry/core/namespace/storage, pkg/controller/namespace.
 */
import type { Clock } from '../../../base/clock.ts';
import { type JsonObject, memberObject } from '../json.ts';
import { forbiddenObject, namespaceTerminating, notFound } from '../status.ts';
import { type DeletionOptions, finalizersFor, finalizersIn } from './deletion.ts';
import type { Kind, ResourceName } from './kinds.ts';
import { metadataOf, type ResourceStore, type Stored } from './store.ts';
import { ofResource } from './strategy.ts';

export const NAMESPACES: ResourceName = { group: '', version: 'v1', plural: 'namespaces' };
/** The Namespaces of a new cluster. */
export const OWN_NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];
const IMMORTAL = ['default', 'kube-system', 'kube-public'];
/** Milliseconds; kubernetes: namespaceDeletionGracePeriod. */
const CONTROLLER_DELAY = 5000;
const FINALIZER = 'kubernetes';

/** What the controller needs from the registry. */
export interface NamespaceHost {
  /** The store of Namespaces. */
  namespaces(): ResourceStore;
  /** All resources that have or had objects. */
  resources(): { kind: Kind; store: ResourceStore }[];
  now(): string;
  /** Deletes an object. One with finalizers or a grace period stays. */
  remove(kind: Kind, store: ResourceStore, stored: Stored): void;
}

export class NamespaceController {
  readonly #host: NamespaceHost;
  readonly #clock: Clock;
  /** Whether the server has the Namespaces of a cluster, and deletes them with a delay. */
  readonly #ofCluster: boolean;
  readonly #timers = new Set<unknown>();
  /** Namespaces whose content was deleted: they are removed with their last object. */
  readonly #ending = new Set<string>();

  constructor(host: NamespaceHost, clock: Clock, ofCluster: boolean) {
    this.#host = host;
    this.#clock = clock;
    this.#ofCluster = ofCluster;
  }

  /**
   * Throws 403 if the namespace is being deleted, and 404 if there is none.
   *
   * @param strict whether the namespace must exist
   */
  requireOpen(kind: Kind, namespace: string, name: string, strict: boolean): void {
    const stored = this.#host.namespaces().get(namespace);
    if (stored === undefined) {
      const isThere = !strict || (!this.#ofCluster && OWN_NAMESPACES.includes(namespace));
      if (!isThere) throw notFound({ group: '', what: 'namespaces', name: namespace });
    } else if (memberObject(stored.object, 'status').phase === 'Terminating') {
      throw namespaceTerminating(ofResource(kind, name), namespace);
    }
  }

  /** Throws 403 for a Namespace that may not be deleted. */
  requireDeletable(kind: Kind, name: string): void {
    if (this.#ofCluster && IMMORTAL.includes(name))
      throw forbiddenObject(ofResource(kind, name), 'this namespace may not be deleted');
  }

  /**
   * The Namespace as its deletion leaves it; undefined: it has no finalizers left and is removed.
   */
  deleted(kind: Kind, { object }: Stored, options: DeletionOptions): JsonObject | undefined {
    const was = metadataOf(object);
    if (was.deletionTimestamp !== undefined)
      return finalizersIn(object).length > 0 ? object : undefined;
    const { finalizers: _, ...others } = was;
    const finalizers = finalizersFor(
      kind,
      was,
      options.cascades ? 'Foreground' : options.propagation,
    );
    return {
      ...object,
      metadata: {
        ...others,
        deletionTimestamp: this.#host.now(),
        ...(finalizers.length > 0 ? { finalizers } : {}),
      },
      status: { ...memberObject(object, 'status'), phase: 'Terminating' },
    };
  }

  /** Called when the Namespace was marked: starts the delay of the controller. */
  marked(name: string): void {
    if (!this.#ofCluster) {
      this.#end(name);
      return;
    }
    const timer = this.#clock.setTimer(() => {
      this.#timers.delete(timer);
      this.#end(name);
    }, CONTROLLER_DELAY);
    this.#timers.add(timer);
  }

  /** Called when an object in the namespace was removed. */
  released(name: string): void {
    if (this.#ending.has(name) && this.#contents(name).length === 0) this.#finalize(name);
  }

  /** Stops the controller. */
  stop(): void {
    for (const timer of this.#timers) this.#clock.clearTimer(timer);
    this.#timers.clear();
  }

  #end(name: string): void {
    for (const { kind, store, stored } of this.#contents(name))
      this.#host.remove(kind, store, stored);
    this.#ending.add(name);
    this.released(name);
  }

  #contents(name: string): { kind: Kind; store: ResourceStore; stored: Stored }[] {
    return this.#host
      .resources()
      .flatMap(({ kind, store }) =>
        store.asOf(store.current, name, '').map((stored) => ({ kind, store, stored })),
      );
  }

  #finalize(name: string): void {
    this.#ending.delete(name);
    const store = this.#host.namespaces();
    const stored = store.get(name);
    if (stored === undefined || metadataOf(stored.object).deletionTimestamp === undefined) return;
    const left = finalizersIn(stored.object).filter((finalizer) => finalizer !== FINALIZER);
    if (left.length === 0 && metadataOf(stored.object).finalizers === undefined) store.remove(name);
    else if (left.length !== finalizersIn(stored.object).length)
      store.put(name, { ...stored.object, spec: left.length > 0 ? { finalizers: left } : {} });
  }
}
