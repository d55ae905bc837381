/**
 * The option `namespaces` of a factory, which `setNamespaces` changes while informers run, and the
 * resources that have an informer in each of these namespaces.
 */
import { CapstanError, invalid } from '../../base/errors.ts';
import { tell } from '../../base/handle-error.ts';
import type { Resource } from '../../base/resource.ts';
import { requireDistinct } from '../rest/namespaces.ts';
import type { InformerSelection } from './factory-options.ts';

/** What `setNamespaces` has changed. */
export interface NamespaceChange {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** A resource and selection that has an informer in each namespace. */
interface InEachNamespace {
  readonly resource: Resource<never, never>;
  /** The selection without its namespace. */
  readonly selection: InformerSelection;
}

export class FactoryNamespaces {
  /** Another array after each change. Undefined: the factory has no such option. */
  current: readonly string[] | undefined;
  /** By the key of an informer without its namespace. */
  readonly inEach = new Map<string, InEachNamespace>();
  readonly #pending: NamespaceChange[] = [];
  readonly #listeners = new Set<(change: NamespaceChange) => void>();

  constructor(namespaces: readonly string[] | undefined) {
    this.current = namespaces && Object.freeze([...namespaces]);
  }

  has(namespace: string): boolean {
    return this.current?.includes(namespace) === true;
  }

  /** Throws CapstanError INVALID_ARGUMENT or STOPPED, and has changed nothing then. */
  change(namespaces: readonly string[], hasEnded: boolean): NamespaceChange {
    requireDistinct('namespaces', namespaces, '');
    const before = this.current;
    if (before === undefined)
      throw invalid('namespaces', 'none, as the factory was made without the option', namespaces);
    if (hasEnded)
      throw new CapstanError('STOPPED', 'this factory has been shut down: make another one');
    const [old, now] = [new Set(before), new Set(namespaces)];
    const added = namespaces.filter((each) => !old.has(each));
    const removed = before.filter((each) => !now.has(each));
    if (added.length > 0 || removed.length > 0) this.current = Object.freeze([...namespaces]);
    return { added, removed };
  }

  listen(listener: (change: NamespaceChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Calls all listeners. A change that a listener makes is passed on after the current one, so that
   * all listeners get the changes in order.
   */
  tell(change: NamespaceChange): void {
    this.#pending.push(change);
    if (this.#pending.length > 1) return;
    for (const next of this.#pending)
      for (const listener of this.#listeners) tell(() => listener(next), 'setNamespaces()');
    this.#pending.length = 0;
  }
}
