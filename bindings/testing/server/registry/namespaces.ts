/**
 * Namespaces: which there are from the beginning, what may be created in them, and how they end. A
 * deletion marks one; its controller comes a while later, deletes what lies in it, and ends it when
 * nothing is left. apiserver: pkg/admission/plugin/namespace/lifecycle; kubernetes:
 * pkg/registry/core/namespace/storage, pkg/controller/namespace.
 */
import type { Clock } from '../../../base/clock.ts';
import { type JsonObject, objectAt } from '../json.ts';
import { forbiddenObject, namespaceTerminating, notFound } from '../status.ts';
import { type DeletionOptions, finalizersFor, finalizersIn } from './deletion.ts';
import type { Kind, ResourceName } from './kinds.ts';
import { metadataOf, type ResourceStore, type Stored } from './store.ts';
import { ofResource } from './strategy.ts';

export const NAMESPACES: ResourceName = { group: '', version: 'v1', plural: 'namespaces' };
/** Those that a cluster has from the beginning. */
export const OWN_NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];
const IMMORTAL = ['default', 'kube-system', 'kube-public'];
/** Milliseconds; kubernetes: namespaceDeletionGracePeriod. */
const CONTROLLER_COMES = 5000;
const FINALIZER = 'kubernetes';

/** What the controller needs of the registry. */
export interface NamespaceHost {
  /** The store of Namespaces. */
  namespaces(): ResourceStore;
  /** The resources that have objects, or had. */
  resources(): { kind: Kind; store: ResourceStore }[];
  now(): string;
  /** Deletes an object; what has finalizers or time to end stays. */
  remove(kind: Kind, store: ResourceStore, stored: Stored): void;
}

export class NamespaceController {
  readonly #host: NamespaceHost;
  readonly #clock: Clock;
  /** Whether there are those of a cluster, and a controller that takes its time. */
  readonly #ofCluster: boolean;
  readonly #timers = new Set<unknown>();
  /** Their content was deleted: they end when the last of it is gone. */
  readonly #ending = new Set<string>();

  constructor(host: NamespaceHost, clock: Clock, ofCluster: boolean) {
    this.#host = host;
    this.#clock = clock;
    this.#ofCluster = ofCluster;
  }

  /**
   * Throws 403 where the namespace ends, and 404 where there is none.
   * @param strict whether it has to be there
   */
  requireOpen(kind: Kind, namespace: string, name: string, strict: boolean): void {
    const stored = this.#host.namespaces().get(namespace);
    if (stored === undefined) {
      const isThere = !strict || (!this.#ofCluster && OWN_NAMESPACES.includes(namespace));
      if (!isThere) throw notFound({ group: '', what: 'namespaces', name: namespace });
    } else if (objectAt(stored.object, 'status').phase === 'Terminating') {
      throw namespaceTerminating(ofResource(kind, name), namespace);
    }
  }

  /** Some of a cluster's may not be deleted. Throws 403. */
  requireMortal(kind: Kind, name: string): void {
    if (this.#ofCluster && IMMORTAL.includes(name))
      throw forbiddenObject(ofResource(kind, name), 'this namespace may not be deleted');
  }

  /** The Namespace as its deletion leaves it; undefined: nothing of its own holds it any longer. */
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
      status: { ...objectAt(object, 'status'), phase: 'Terminating' },
    };
  }

  /** The Namespace was marked: the controller comes. */
  marked(name: string): void {
    if (!this.#ofCluster) {
      this.#end(name);
      return;
    }
    const timer = this.#clock.setTimer(() => {
      this.#timers.delete(timer);
      this.#end(name);
    }, CONTROLLER_COMES);
    this.#timers.add(timer);
  }

  /** An object in the namespace is gone. */
  released(name: string): void {
    if (this.#ending.has(name) && this.#contents(name).length === 0) this.#finalize(name);
  }

  /** No controller comes any more. */
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
