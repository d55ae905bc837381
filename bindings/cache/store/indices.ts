/**
 * The indices of a store: for each index, the slots by index value. The values of an object are
 * computed before any index changes; a change that finds no memory leaves all indices as they were.
 */

import { CapstanError, invalid, show } from '../../base/errors.ts';
import { parsePath, pathIndexFunc } from '../../base/json-path.ts';
import type { KubeObject } from '../../base/object.ts';
import { type IndexFunc, type IndexSpec, requireIndexSpec } from '../../base/resource.ts';
import type { IsOver, Steps } from '../../base/wait.ts';
import { CHANGED_METADATA, CHANGED_SPEC, CHANGED_STATUS } from '../../generated/abi.ts';
import type { CacheCore } from '../../wasm/cache-core.ts';
import { IndexMap } from '../../wasm/index-map.ts';
import { PathBlock } from '../../wasm/path-block.ts';
import { ANY } from '../bytes/change.ts';
import type { StoredObject } from '../bytes/stored-object.ts';
import type { Column } from './column.ts';

/** The values of an object in one index. A single value, the usual case, needs no array. */
export type Values = string | readonly string[];

/** Enough for the index entries of an object with a hundred values. */
const SPARE_BYTES = 8192;

/** Stands for values that the core reads from the bytes of the stored object. */
const fromBytes = Symbol('values in the bytes');

/**
 * The name of the index that every informer has: objects by namespace, "" for cluster-scoped ones.
 * client-go: NamespaceIndex.
 */
export const namespaceIndex = 'namespace';

/**
 * An index over labels, by `name=value`. Its values are read from the bytes of objects.
 *
 * @example
 * const pods = new Indexer<V1Pod, 'byLabel'>(undefined, { byLabel: labelIndex });
 * pods.byIndex('byLabel', 'app=web');
 */
export const labelIndex = 'metadata.labels';

/**
 * An index over owners, by the uid in each owner reference. Its values are read from the bytes of
 * objects.
 *
 * @example
 * const pods = new Indexer<V1Pod, 'byOwner'>(undefined, { byOwner: ownerIndex });
 * pods.byIndex('byOwner', '9e5d2c14-0b7a-4c1e-8f63-2a1f0f5c7d21'); // the Pods of a ReplicaSet
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
  /** The path, in the core's memory; 0: the values are computed from decoded objects. */
  readonly path: number;
  /** The bits of changes (bytes/change.ts) that can change the values. */
  readonly dependsOn: number;
}

export class Indices<T extends object> {
  readonly #core: CacheCore;
  readonly #inWasm: boolean;
  /**
   * A reserved block of the core, for undoing a change when memory has run out; 0: there is none.
   */
  #spare = 0;
  readonly #onFailure: (name: string, error: unknown, object: T) => readonly string[];
  readonly #byName = new Map<string, Index<T>>();
  /** Names of indices that are being added. */
  readonly #coming = new Set<string>();
  /** In the order in which they were added, including those that are being added. */
  readonly each: Index<T>[] = [];
  /** An index function is called with every object, and may keep a reference. */
  showObjects = false;
  /**
   * The bits of changes that can change an index; ANY: there is an index that any change may
   * affect, even one without a bit.
   */
  dependsOn = 0;
  /** Grows whenever `each` changes. */
  generation = 0;

  /** @param failed called if an index function throws: returns the values instead, or throws */
  constructor(
    core: CacheCore,
    inWasm: boolean,
    failed: (name: string, error: unknown, object: T) => readonly string[],
  ) {
    this.#core = core;
    this.#inWasm = inWasm;
    this.#onFailure = failed;
  }

  /** In the order of `each`. */
  valuesOf(object: T): Values[] {
    const all: Values[] = [];
    for (const index of this.each) all.push(index.valuesOf(object));
    return all;
  }

  /**
   * The same for a stored object: `fromBytes` for a path, whose values `set` reads from the bytes;
   * `undefined` if the change cannot affect the index.
   *
   * @param changes compared with the stored object of the slot (assembly/changes.ts); all bits if
   *   there is none
   */
  valuesOfStored(object: T, changes: number): (Values | typeof fromBytes | undefined)[] {
    const all: (Values | typeof fromBytes | undefined)[] = [];
    for (const index of this.each) {
      // There are bits for metadata, spec and status only: without a bit, something else may have
      // changed.
      if (index.dependsOn !== ANY && (changes & index.dependsOn) === 0) all.push(undefined);
      else all.push(index.path === 0 ? index.valuesOf(object) : fromBytes);
    }
    return all;
  }

  /**
   * Sets the values of a slot; `undefined` leaves an index as it is.
   *
   * @param before the previous values of the slot, computed only if memory runs out at an index:
   *   those before it are restored. The memory that they freed may be part of a larger table by
   *   then, so the spare block is freed for them
   * @param stored the stored object that has the values for `fromBytes`
   */
  set(
    slot: number,
    values: readonly (Values | typeof fromBytes | undefined)[],
    before: () => readonly Values[],
    stored?: StoredObject,
  ): void {
    const { each } = this;
    let done = 0;
    if (this.#spare === 0) this.#spare = this.#core.exports.pathNew(SPARE_BYTES);
    try {
      for (; done < each.length; done++) {
        const of = values[done];
        if (of === undefined) continue;
        const index = each[done] as Index<T>;
        if (of !== fromBytes) setValues(index.map, slot, of);
        else {
          const { owner, id } = stored as StoredObject;
          setFromBytes(
            index,
            slot,
            owner.handle,
            id,
            () => owner.objectOf(stored as StoredObject) as T,
          );
        }
      }
    } catch (error) {
      if (done === 0) throw error;
      const old = before();
      this.#freeSpare();
      // In reverse order, because later indices may have taken memory that earlier ones freed.
      for (let i = done - 1; i >= 0; i--) setValues((each[i] as Index<T>).map, slot, old[i] ?? []);
      throw error;
    }
  }

  #freeSpare(): void {
    if (this.#spare !== 0) this.#core.exports.pathFree(this.#spare, SPARE_BYTES);
    this.#spare = 0;
  }

  clear(slot: number): void {
    for (const { map } of this.each) map.clear(slot);
  }

  /**
   * Adds indices over the stored objects, in steps: all of them or, if it throws or is ended, none.
   * Between the steps they follow every change; `find` and `get` give them after the last.
   */
  *add(more: Record<string, IndexSpec<T>>, column: Column<T>, isOver: IsOver): Steps {
    const specs = Object.entries(more);
    for (const [name, spec] of specs) {
      requireIndexSpec(name, spec);
      if (this.#byName.has(name) || this.#coming.has(name))
        throw new CapstanError('INDEX_EXISTS', `there is an index ${show(name)} already`);
    }
    const created: (PathBlock | IndexMap)[] = [];
    const added: [string, Index<T>][] = [];
    let done = false;
    try {
      for (const [name, spec] of specs) {
        const valuesOf = this.#checked(name, typeof spec === 'string' ? pathIndexFunc(spec) : spec);
        const block = column.storedObjects === undefined ? undefined : this.#pathOf(spec);
        if (block !== undefined) created.push(block);
        const map = new IndexMap(this.#core, this.#inWasm);
        created.push(map);
        const path = block?.handle ?? 0;
        added.push([name, { spec, valuesOf, map, path, dependsOn: changeBitsOf(spec) }]);
        this.#coming.add(name);
      }
      this.each.push(...added.map(([, index]) => index));
      this.#changed();
      for (const slot of column.slots()) {
        for (const [, index] of added) fill(index, slot, column);
        if (isOver()) yield;
      }
      for (const [name, index] of added) this.#byName.set(name, index);
      done = true;
    } finally {
      for (const [name] of added) this.#coming.delete(name);
      if (!done) {
        for (const [, index] of added) {
          const at = this.each.indexOf(index);
          if (at >= 0) this.each.splice(at, 1);
        }
        this.#changed();
        for (const each of created) each.dispose(this.#core);
      }
    }
  }

  #changed(): void {
    this.generation++;
    this.showObjects = this.each.some(({ path }) => path === 0);
    this.dependsOn = this.each.reduce((bits, index) => bits | index.dependsOn, 0);
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

  /**
   * Puts the path of an index into the core's memory; `undefined` if the index has none that the
   * bytes can answer.
   */
  #pathOf(spec: IndexSpec<T>): PathBlock | undefined {
    if (spec === metaNamespaceIndexFunc)
      return new PathBlock(this.#core, ['metadata', 'namespace']);
    if (typeof spec !== 'string') return undefined;
    const names = parsePath(spec);
    // the object may show another kind or apiVersion than its bytes
    return names[0] === 'kind' || names[0] === 'apiVersion'
      ? undefined
      : new PathBlock(this.#core, names);
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
        return this.#onFailure(name, error, object);
      }
    };
  }
}

/**
 * The bits of changes that can affect an index, by the part that its path begins with: `spec`,
 * `status` or `metadata`.
 */
function changeBitsOf(spec: unknown): number {
  if (spec === metaNamespaceIndexFunc) return CHANGED_METADATA;
  if (typeof spec !== 'string') return ANY;
  const [part, name] = parsePath(spec);
  if (part === 'spec') return CHANGED_SPEC;
  if (part === 'status') return CHANGED_STATUS;
  if (
    part === 'metadata' &&
    name !== undefined &&
    name !== 'resourceVersion' &&
    name !== 'managedFields'
  )
    return CHANGED_METADATA;
  return ANY;
}

function setValues(map: IndexMap, slot: number, values: Values): void {
  if (typeof values === 'string') map.setOne(slot, values);
  else map.set(slot, values);
}

/** Sets the index values of the object at a slot. */
function fill<T extends object>(index: Index<T>, slot: number, column: Column<T>): void {
  const { storedObjects } = column;
  const number = index.path === 0 ? -1 : (storedObjects?.numberAt(slot) ?? -1);
  if (storedObjects === undefined || number < 0)
    setValues(index.map, slot, index.valuesOf(column.at(slot) as T));
  else setFromBytes(index, slot, storedObjects.handle, number, () => column.at(slot) as T);
}

function setFromBytes<T>(
  index: Index<T>,
  slot: number,
  objects: number,
  stored: number,
  object: () => T,
): void {
  const orEmpty = typeof index.spec !== 'string'; // the namespace: see #pathOf
  if (index.map.setFromBytes(slot, objects, stored, index.path, orEmpty)) return;
  setValues(index.map, slot, index.valuesOf(object()));
}
