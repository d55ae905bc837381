/**
 * A map with requests as keys. It looks up the namespace and then the name, so that no string is
 * concatenated and `('a', 'b/c')` differs from `('a/b', 'c')`. Empty maps of namespaces are kept
 * for reuse: at most half of all, plus SPARE.
 */
import type { Request } from '../base/request.ts';

/** Empty maps that are kept in any case. */
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

  /** Removes the request and returns its value. */
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
