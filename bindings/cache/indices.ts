/**
 * The indices of a store: what an object is listed under, by index. The values of an object are computed before anything is
 * touched; a change that finds no memory leaves every index as it was.
 */
import type { CacheCore } from '../cache-core.ts';
import { CapstanError, invalid, show } from '../errors.ts';
import { IndexMap } from '../index-map.ts';
import { PathBlock } from '../path-block.ts';
import type { Version } from './bytes/version.ts';
import { parsePath, pathIndexFunc } from './json-path.ts';
import type { KubeObject } from './keys.ts';
import { type IndexFunc, type IndexSpec, requireIndexSpec } from './resource.ts';

/** The values of an object under an index. One, as nearly all have, stands without an array. */
export type Values = string | readonly string[];

/** In place of values: the core reads them out of the bytes of the version. */
const fromBytes = Symbol('values of a version');

/** The name of the index that every informer has: objects by namespace, "" for those without one. */
export const namespaceIndex = 'namespace';

/**
 * An index over labels, by `name=value`, as selectors write them. Its values are read out of the bytes.
 *
 * @example
 * const Pod = defineResource<V1Pod>()({ ...PodKind, indexers: { byLabel: labelIndex } });
 * informer.getIndexer().byIndex('byLabel', 'app=web');
 */
export const labelIndex = 'metadata.labels';

/**
 * An index over owners, by the uid in each owner reference. Its values are read out of the bytes.
 *
 * @example
 * const Pod = defineResource<V1Pod>()({ ...PodKind, indexers: { byOwner: ownerIndex } });
 * informer.getIndexer().byIndex('byOwner', replicaSet.metadata.uid);
 */
export const ownerIndex = 'metadata.ownerReferences.uid';

/** client-go: tools/cache/index.go MetaNamespaceIndexFunc. */
export function metaNamespaceIndexFunc(object: object): string[] {
  return [(object as KubeObject).metadata?.namespace ?? ''];
}

export interface Index<T> {
  readonly spec: IndexSpec<T>;
  readonly valuesOf: (object: T) => Values;
  readonly map: IndexMap;
  /** Made for the first version; 0: its values are read from decoded objects. */
  path?: number;
}

export class Indices<T extends object> {
  readonly #core: CacheCore;
  readonly #inWasm: boolean;
  readonly #failed: (name: string, error: unknown) => readonly string[];
  readonly #byName = new Map<string, Index<T>>();
  /** In the order in which they were added. */
  readonly each: Index<T>[] = [];

  /** @param failed gives the values in place of an index function that threw, or throws */
  constructor(core: CacheCore, inWasm: boolean, failed: (name: string, error: unknown) => readonly string[]) {
    this.#core = core;
    this.#inWasm = inWasm;
    this.#failed = failed;
  }

  /** In the order of `each`. */
  valuesOf(object: T): Values[] {
    const all: Values[] = [];
    for (const index of this.each) all.push(index.valuesOf(object));
    return all;
  }

  /** The same for an object whose version has its bytes in the core: what a path says is left to `set`. */
  valuesOfVersion(object: T): (Values | typeof fromBytes)[] {
    const all: (Values | typeof fromBytes)[] = [];
    for (const index of this.each) {
      index.path ??= this.#pathOf(index.spec);
      all.push(index.path === 0 ? index.valuesOf(object) : fromBytes);
    }
    return all;
  }

  /**
   * Lists a slot under these values; `undefined` leaves an index as it is.
   *
   * @param before the slot's values so far, asked for only when the memory ended at an index: those before it get back what they had,
   *   which needs no more room than there was
   * @param version whose bytes have the values that are in none of the lists
   */
  set(
    slot: number,
    values: readonly (Values | typeof fromBytes | undefined)[],
    before: () => readonly Values[],
    version?: Version,
  ): void {
    const { each } = this;
    let done = 0;
    try {
      for (; done < each.length; done++) {
        const of = values[done];
        if (of === undefined) continue;
        const index = each[done] as Index<T>;
        if (of === fromBytes) setFromBytes(index, slot, version as Version);
        else setValues(index.map, slot, of);
      }
    } catch (error) {
      const old = before();
      for (let i = 0; i < done; i++) setValues((each[i] as Index<T>).map, slot, old[i] ?? []);
      throw error;
    }
  }

  clear(slot: number): void {
    for (const { map } of this.each) map.clear(slot);
  }

  /** Adds indices over the objects that are there; throws INDEX_EXISTS before it adds any. */
  add(more: Record<string, IndexSpec<T>>, objects: () => Iterable<readonly [number, T]>): void {
    const added = Object.entries(more).map(([name, spec]) => {
      requireIndexSpec(name, spec);
      if (this.#byName.has(name)) throw new CapstanError('INDEX_EXISTS', `there is an index ${show(name)} already`);
      const valuesOf = this.#checked(name, typeof spec === 'string' ? pathIndexFunc(spec) : spec);
      const values: [number, Values][] = [];
      for (const [slot, object] of objects()) values.push([slot, valuesOf(object)]);
      return { name, spec, valuesOf, values };
    });
    for (const { name, spec, valuesOf, values } of added) {
      const map = new IndexMap(this.#core, this.#inWasm);
      for (const [slot, of] of values) setValues(map, slot, of);
      const index = { spec, valuesOf, map };
      this.#byName.set(name, index);
      this.each.push(index);
    }
  }

  find(name: string): Index<T> | undefined {
    return this.#byName.get(name);
  }

  /** Throws UNKNOWN_INDEX. */
  get(name: string): Index<T> {
    const index = this.#byName.get(name);
    if (index !== undefined) return index;
    const names = [...this.#byName.keys()].map(show).join(', ');
    throw new CapstanError(
      'UNKNOWN_INDEX',
      `there is no index ${show(name)}; there ${names === '' ? 'are none' : `is ${names}`}`,
    );
  }

  specs(): Record<string, IndexSpec<T>> {
    return Object.fromEntries([...this.#byName].map(([name, { spec }]) => [name, spec]));
  }

  /** The path that an index function follows, in the core's memory; 0 for any other. */
  #pathOf(spec: IndexSpec<T>): number {
    if (!this.#inWasm) return 0;
    if (spec === metaNamespaceIndexFunc) return new PathBlock(this.#core, ['metadata', 'namespace']).handle;
    return typeof spec === 'string' ? new PathBlock(this.#core, parsePath(spec)).handle : 0;
  }

  #checked(name: string, indexFunc: IndexFunc<T>): (object: T) => Values {
    return (object) => {
      try {
        const values: unknown = indexFunc(object);
        if (Array.isArray(values)) {
          const first: unknown = values.length === 1 ? values[0] : undefined;
          if (typeof first === 'string') return first;
          const list: unknown[] = Array.from(values); // holes become undefined
          if (list.every((value) => typeof value === 'string')) return list;
        }
        throw invalid(`indexers.${name}`, 'a function that returns an array of strings', values);
      } catch (error) {
        return this.#failed(name, error);
      }
    };
  }
}

function setValues(map: IndexMap, slot: number, values: Values): void {
  if (typeof values === 'string') map.setOne(slot, values);
  else map.set(slot, values);
}

function setFromBytes<T extends object>(index: Index<T>, slot: number, version: Version): void {
  const { owner, id } = version;
  if (index.map.setFromBytes(slot, owner.handle, id, index.path as number, typeof index.spec !== 'string')) return;
  setValues(index.map, slot, index.valuesOf(owner.objectOf(version) as T));
}
