/**
 * The indices of a store: what an object is listed under, by index. The values of an object are
 * computed before anything is touched; a change that finds no memory leaves every index as it was.
 */

import { CapstanError, invalid, show } from '../../base/errors.ts';
import { parsePath, pathIndexFunc } from '../../base/json-path.ts';
import { CHANGED_METADATA, CHANGED_SPEC, CHANGED_STATUS } from '../../generated/abi.ts';
import type { CacheCore } from '../../wasm/cache-core.ts';
import { IndexMap } from '../../wasm/index-map.ts';
import { PathBlock } from '../../wasm/path-block.ts';
import { ANY } from '../bytes/change.ts';
import type { StoredObject } from '../bytes/stored-object.ts';
import type { StoredObjects } from '../bytes/stored-objects.ts';
import type { KubeObject } from '../rest/keys.ts';
import { type IndexFunc, type IndexSpec, requireIndexSpec } from '../rest/resource.ts';
import type { Column } from './column.ts';

/** The values of an object under an index. One, as nearly all have, stands without an array. */
export type Values = string | readonly string[];

/** Room for the pairs and the sets of an object with a hundred values. */
const SPARE_BYTES = 8192;

/** In place of values: the core reads them out of the bytes of the stored object. */
const fromBytes = Symbol('values of a version');

/**
 * The name of the index that every informer has: objects by namespace, "" for those without one.
 */
export const namespaceIndex = 'namespace';

/**
 * An index over labels, by `name=value`, as selectors write them. Its values are read out of the
 * bytes.
 *
 * @example
 * const pods = new Indexer<V1Pod, 'byLabel'>(undefined, { byLabel: labelIndex });
 * pods.byIndex('byLabel', 'app=web');
 */
export const labelIndex = 'metadata.labels';

/**
 * An index over owners, by the uid in each owner reference. Its values are read out of the bytes.
 *
 * @example
 * const pods = new Indexer<V1Pod, 'byOwner'>(undefined, { byOwner: ownerIndex });
 * pods.byIndex('byOwner', '9e5d2c14-0b7a-4c1e-8f63-2a1f0f5c7d21'); // what a ReplicaSet with this uid owns
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
  /** In the core's memory; 0: the values are read from decoded objects. */
  readonly path: number;
  /** Bits of changes without which the values stay what they are. */
  readonly dependsOn: number;
}

export class Indices<T extends object> {
  readonly #core: CacheCore;
  readonly #inWasm: boolean;
  /**
   * A block of the core's that is free for those who have to undo a change when the memory has
   * ended; 0: there is none.
   */
  #spare = 0;
  readonly #failed: (name: string, error: unknown, object: T) => readonly string[];
  readonly #byName = new Map<string, Index<T>>();
  /** In the order in which they were added. */
  readonly each: Index<T>[] = [];
  /** Some index function is called with every object, and may keep it. */
  showObjects = false;
  /**
   * The bits of changes that leave no index as it is; ANY: there is an index that any change may
   * touch, also one without a bit.
   */
  dependsOn = 0;

  /** @param failed gives the values in place of an index function that threw, or throws */
  constructor(
    core: CacheCore,
    inWasm: boolean,
    failed: (name: string, error: unknown, object: T) => readonly string[],
  ) {
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

  /**
   * The same for an object whose stored object has its bytes in the core: what a path says is left
   * to `set`, and where that part of the object did not change, nothing is to be done.
   *
   * @param changes against the stored object that is there (assembly/changes.ts); all bits where
   *   there is none
   */
  valuesOfStored(object: T, changes: number): (Values | typeof fromBytes | undefined)[] {
    const all: (Values | typeof fromBytes | undefined)[] = [];
    for (const index of this.each) {
      // The bits know of metadata, spec and status alone: no bit at all is no proof that nothing
      // else changed.
      if (index.dependsOn !== ANY && (changes & index.dependsOn) === 0) all.push(undefined);
      else all.push(index.path === 0 ? index.valuesOf(object) : fromBytes);
    }
    return all;
  }

  /**
   * Lists a slot under these values; `undefined` leaves an index as it is.
   *
   * @param before the slot's values so far, asked for only when the memory ended at an index: those
   *   before it get back what they had. What they gave up for it may be part of a larger table by
   *   then, so the spare block is there for them
   * @param stored whose bytes have the values that are in none of the lists
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
      this.#giveSpare();
      // The last one first: what an index gave back, those after it may have taken.
      for (let i = done - 1; i >= 0; i--) setValues((each[i] as Index<T>).map, slot, old[i] ?? []);
      throw error;
    }
  }

  #giveSpare(): void {
    if (this.#spare !== 0) this.#core.exports.pathFree(this.#spare, SPARE_BYTES);
    this.#spare = 0;
  }

  clear(slot: number): void {
    for (const { map } of this.each) map.clear(slot);
  }

  /** Adds indices over the objects that are there; all of them or, where it throws, none. */
  add(more: Record<string, IndexSpec<T>>, column: Column<T>): void {
    const specs = Object.entries(more);
    for (const [name, spec] of specs) {
      requireIndexSpec(name, spec);
      if (this.#byName.has(name))
        throw new CapstanError('INDEX_EXISTS', `there is an index ${show(name)} already`);
    }
    const made: (PathBlock | IndexMap)[] = [];
    try {
      const added = specs.map(([name, spec]) => {
        const valuesOf = this.#checked(name, typeof spec === 'string' ? pathIndexFunc(spec) : spec);
        const { storedObjects } = column;
        const block = storedObjects === undefined ? undefined : this.#pathOf(spec);
        if (block !== undefined) made.push(block);
        const path = block?.handle ?? 0;
        const values: [number, Values | typeof fromBytes][] = [];
        for (const slot of column.slots()) {
          const inBytes = path !== 0 && storedObjects?.has(slot) === true;
          values.push([slot, inBytes ? fromBytes : valuesOf(column.at(slot) as T)]);
        }
        return { name, spec, valuesOf, path, values };
      });
      const filled = added.map(({ name, spec, valuesOf, path, values }) => {
        const map = new IndexMap(this.#core, this.#inWasm);
        made.push(map);
        const index: Index<T> = { spec, valuesOf, map, path, dependsOn: partOf(spec) };
        for (const [slot, of] of values) {
          if (of !== fromBytes) setValues(map, slot, of);
          else {
            const storedObjects = column.storedObjects as StoredObjects;
            setFromBytes(
              index,
              slot,
              storedObjects.handle,
              storedObjects.numberAt(slot),
              () => column.at(slot) as T,
            );
          }
        }
        return { name, index };
      });
      for (const { name, index } of filled) {
        this.#byName.set(name, index);
        this.each.push(index);
        if (index.path === 0) this.showObjects = true;
        this.dependsOn |= index.dependsOn;
      }
    } catch (error) {
      for (const each of made) each.dispose(this.#core);
      throw error;
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

  /** The path that an index function follows, in the core's memory. */
  #pathOf(spec: IndexSpec<T>): PathBlock | undefined {
    if (spec === metaNamespaceIndexFunc)
      return new PathBlock(this.#core, ['metadata', 'namespace']);
    if (typeof spec !== 'string') return undefined;
    const names = parsePath(spec);
    // of these the bytes need not say what the object shows
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
        return this.#failed(name, error, object);
      }
    };
  }
}

/**
 * The bits of the part that an index looks at, where it names one: `spec`, `status`, or what
 * `metadata` means in a change.
 */
function partOf(spec: unknown): number {
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
