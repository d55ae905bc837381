/**
 * The namespaces of a controller whose cache gets and loses some while it runs (`setNamespaces`).
 *
 * - A request in a namespace waits until all sources of that namespace have synced: its objects are
 *   not absent, they have not been listed.
 * - A request in a namespace that the cache no longer has is dropped, and its reconcile is aborted:
 *   its objects were not deleted.
 */

import { CapstanError } from '../base/errors.ts';
import type { Request } from '../base/request.ts';
import type { NamespaceChange } from '../cache/informer/factory-namespaces.ts';
import { RequestMap } from './request-map.ts';
import type { PlannedSource } from './source-set.ts';

/** What a controller watches in each namespace of its cache. */
export interface NamespacePlan {
  /** The namespaces at the start. */
  readonly namespaces: readonly string[];
  /** Whether a request names an object of one of these namespaces. */
  readonly hasRequests: boolean;
  sources(namespace: string): readonly PlannedSource[];
  /** The returned function ends the calls. */
  follow(listener: (change: NamespaceChange) => void): () => void;
}

/** The controller as its namespaces see it. */
export interface FollowingController {
  /** The returned function removes the source. */
  add(source: PlannedSource): () => void;
  /** Adds a request that has waited. */
  release(request: Request, priority: number): void;
  /** Forgets a request that has waited. */
  drop(request: Request): void;
  abort(which: (request: Request) => boolean, reason: CapstanError): void;
}

export function namespaceRemoved(namespace: string): CapstanError {
  return new CapstanError(
    'NAMESPACE_REMOVED',
    `the cache no longer has the namespace "${namespace}" (setNamespaces): its objects were not ` +
      'deleted, but they are not known here',
  );
}

class FollowedNamespace {
  removers: (() => void)[] = [];
  /** The number of sources that have not synced. */
  missing = 0;
  /** The priorities of requests that wait for the sources. */
  readonly waiting = new RequestMap<number>();
}

export class FollowedNamespaces {
  readonly #plan: NamespacePlan;
  readonly #host: FollowingController;
  readonly #byName = new Map<string, FollowedNamespace>();
  /** Namespaces that the cache had and no longer has. */
  readonly #removed = new Set<string>();
  readonly #unfollow: () => void;

  constructor(plan: NamespacePlan, host: FollowingController) {
    this.#plan = plan;
    this.#host = host;
    for (const namespace of plan.namespaces) this.#add(namespace);
    this.#unfollow = plan.follow(({ added, removed }) => {
      for (const namespace of removed) this.#remove(namespace);
      for (const namespace of added) this.#add(namespace);
    });
  }

  /** What becomes of a request that the queue has handed out. One that waits is kept here. */
  admit(request: Request, priority: number): 'run' | 'wait' | 'drop' {
    if (!this.#plan.hasRequests) return 'run';
    const followed = this.#byName.get(request.namespace);
    if (followed === undefined) return this.#removed.has(request.namespace) ? 'drop' : 'run';
    if (followed.missing === 0) return 'run';
    const before = followed.waiting.get(request) ?? priority;
    followed.waiting.set(request, Math.max(before, priority));
    return 'wait';
  }

  /** The requests that wait for the sources of their namespace. */
  get size(): number {
    let size = 0;
    for (const { waiting } of this.#byName.values()) size += waiting.size;
    return size;
  }

  stop(): void {
    this.#unfollow();
    this.#byName.clear();
  }

  #add(namespace: string): void {
    const followed = new FollowedNamespace();
    this.#byName.set(namespace, followed);
    this.#removed.delete(namespace);
    const onSynced = (): void => {
      if (--followed.missing === 0) this.#synced(followed);
    };
    const sources = this.#plan.sources(namespace);
    followed.missing = sources.length;
    followed.removers = sources.map((source) => this.#host.add({ ...source, onSynced }));
  }

  #synced({ waiting }: FollowedNamespace): void {
    for (const [request, priority] of waiting.entries()) this.#host.release(request, priority);
    waiting.clear();
  }

  #remove(namespace: string): void {
    const followed = this.#byName.get(namespace);
    this.#byName.delete(namespace);
    this.#removed.add(namespace);
    for (const remove of followed?.removers ?? []) remove();
    for (const [request] of followed?.waiting.entries() ?? []) this.#host.drop(request);
    if (this.#plan.hasRequests)
      this.#host.abort((request) => request.namespace === namespace, namespaceRemoved(namespace));
  }
}
