/**
 * Values by request, found by the namespace and then by the name: no string is joined to look one
 * up, and `('a', 'b/c')` is not `('a/b', 'c')`. Memory follows the requests that are in it: the
 * maps of namespaces that became empty are kept for the next request of theirs, but never more of
 * them than there are others, and a few.
 */
import type { Request } from '../base/request.ts';

/** Empty namespaces that are kept whatever their share. */
const SPARE = 64;

export class RequestMap<V> {
  readonly #namespaces = new Map<string, Map<string, V>>();
  #empty = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(request: Request): V | undefined {
    return this.#namespaces.get(request.namespace)?.get(request.name);
  }

  has(request: Request): boolean {
    return this.#namespaces.get(request.namespace)?.has(request.name) === true;
  }

  set(request: Request, value: V): void {
    let names = this.#namespaces.get(request.namespace);
    if (names === undefined) {
      names = new Map();
      this.#namespaces.set(request.namespace, names);
    } else if (names.size === 0) this.#empty--;
    const before = names.size;
    names.set(request.name, value);
    this.#size += names.size - before;
  }

  /** Removes and answers the value. */
  take(request: Request): V | undefined {
    const names = this.#namespaces.get(request.namespace);
    const value = names?.get(request.name);
    if (names === undefined || !names.delete(request.name)) return undefined;
    this.#size--;
    if (names.size === 0) this.#emptied();
    return value;
  }

  *entries(): Generator<[Request, V]> {
    for (const [namespace, names] of this.#namespaces) {
      for (const [name, value] of names) yield [{ namespace, name }, value];
    }
  }

  clear(): void {
    this.#namespaces.clear();
    this.#empty = 0;
    this.#size = 0;
  }

  #emptied(): void {
    this.#empty++;
    if (this.#empty <= SPARE + this.#namespaces.size / 2) return;
    for (const [namespace, names] of this.#namespaces)
      if (names.size === 0) this.#namespaces.delete(namespace);
    this.#empty = 0;
  }
}
