/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The queue that gathers deltas by object: a pop gives all that happened to one object since it was
 * popped last, objects in the order in which they were queued first. client-go:
 * tools/cache/delta_fifo.go.
 *
 * Invariant: a key is in line exactly while it has deltas; it has at least one, and no two
 * deletions in a row.
 */

import { Backlog } from '../../base/backlog.ts';
import { requireFunction } from '../../base/errors.ts';
import { namesOf, requireNames, requireSignalOptions } from '../../base/names.ts';
import type { DoneChecker } from '../../base/wait.ts';
import { DeletedFinalStateUnknown, metaNamespaceKeyFunc } from '../rest/keys.ts';
import type { Delta, Deltas } from './deltas.ts';
import {
  finish,
  InitialPopulation,
  type KeyListerGetter,
  keyOf,
  lookUp,
  type PopProcess,
  type Queue,
  ready,
  requireKnownObjects,
  type TransformFunc,
  Waiters,
} from './queue.ts';

/** Of a {@link DeltaFIFO}. */
export interface DeltaFIFOOptions<T> {
  /** Default {@link metaNamespaceKeyFunc}. An object for which it throws is not queued. */
  keyFunction?: ((object: T) => string) | undefined;
  /**
   * The store behind the queue. Without it, objects that are neither queued nor in a list are not
   * missed, and a resync does nothing.
   */
  knownObjects?: KeyListerGetter<T> | undefined;
  /** An object of a list is `Replaced`. Default false: it is `Sync`, and looks like a resync. */
  emitDeltaTypeReplaced?: boolean | undefined;
  /**
   * Called once for each object, before it is queued; not for tombstones and for what a resync
   * repeats.
   */
  transformer?: TransformFunc<T> | undefined;
  /** For messages. Default `DeltaFIFO`. */
  name?: string | undefined;
  /**
   * Called after each delta and each list, for a consumer that uses `tryPop`. Must not pop: the
   * caller is not done.
   */
  onDelta?: (() => void) | undefined;
}

const NAMES = namesOf<DeltaFIFOOptions<never>>()({
  keyFunction: 1,
  knownObjects: 1,
  emitDeltaTypeReplaced: 1,
  transformer: 1,
  name: 1,
  onDelta: 1,
});

/** What waits of one object. */
interface Line<T> {
  readonly key: string;
  readonly deltas: Delta<T>[];
}

/**
 * All that happened to an object at once. Where a consumer is slow this queue is the shorter one;
 * only `RealFIFO` keeps the order between objects.
 *
 * Other than in `RealFIFO`, a deletion of an object that is neither queued nor known is dropped,
 * the deletions that a list brings come after its objects, and the queue counts as synced while the
 * last object of the first list is processed.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const store = newStore<V1Pod>();
 * const fifo = new DeltaFIFO<V1Pod>({ knownObjects: store, emitDeltaTypeReplaced: true });
 * fifo.add(pod);
 * await fifo.pop((deltas) => use(deltas), { signal });
 */
export class DeltaFIFO<T extends object> implements Queue<T> {
  readonly #keyFunction: (object: T) => string;
  readonly #known: KeyListerGetter<T> | undefined;
  readonly #listed: 'Replaced' | 'Sync';
  readonly #transformer: TransformFunc<T> | undefined;
  readonly #name: string;
  readonly #onDelta: (() => void) | undefined;
  readonly #lines = new Map<string, Line<T>>();
  /**
   * The same lines in order. A Map alone would do, were its first key not slow to find after many
   * deletions.
   */
  readonly #order = new Backlog<Line<T>>();
  readonly #waiters = new Waiters();
  readonly #initial: InitialPopulation;
  #closed = false;

  constructor(options: DeltaFIFOOptions<T> = {}) {
    requireNames('options', options, 'option of a DeltaFIFO', NAMES);
    const {
      keyFunction = metaNamespaceKeyFunc,
      knownObjects,
      transformer,
      name = 'DeltaFIFO',
      onDelta,
    } = options;
    requireFunction('options.keyFunction', keyFunction);
    if (knownObjects !== undefined) requireKnownObjects(knownObjects);
    if (transformer !== undefined) requireFunction('options.transformer', transformer);
    if (onDelta !== undefined) requireFunction('options.onDelta', onDelta);
    this.#keyFunction = keyFunction;
    this.#known = knownObjects;
    this.#listed = options.emitDeltaTypeReplaced ? 'Replaced' : 'Sync';
    this.#transformer = transformer;
    this.#name = name;
    this.#onDelta = onDelta;
    this.#initial = new InitialPopulation(name);
  }

  add(object: T): void {
    const key = this.#keyFunction(object);
    const delta: Delta<T> = { type: 'Added', object: this.#transformed(object) };
    this.#initial.changed();
    this.#push(key, delta);
  }

  update(object: T): void {
    const key = this.#keyFunction(object);
    const delta: Delta<T> = { type: 'Updated', object: this.#transformed(object) };
    this.#initial.changed();
    this.#push(key, delta);
  }

  /** Of an object that is neither queued nor known: dropped, as a list has reported it already. */
  delete(object: T | DeletedFinalStateUnknown<T>): void {
    const key = this.keyOf(object);
    if (!this.#lines.has(key) && !this.#knows(key)) {
      this.#initial.changed();
      return;
    }
    const kept = object instanceof DeletedFinalStateUnknown ? object : this.#transformed(object);
    this.#initial.changed();
    this.#push(key, { type: 'Deleted', object: kept });
  }

  /**
   * The list is the whole content from now on: its objects, then a tombstone for each that is
   * queued or known and not in it. On an error of the key function or the transformer nothing is
   * queued.
   */
  replace(objects: readonly T[], _resourceVersion: string): void {
    const keys = objects.map((object) => this.#keyFunction(object));
    const kept = objects.map((object) => this.#transformed(object));
    const listed = new Set(keys);
    kept.forEach((object, i) => {
      this.#push(keys[i] ?? '', { type: this.#listed, object });
    });
    const gone = this.#missing(listed);
    for (const tombstone of gone) this.#push(tombstone.key, { type: 'Deleted', object: tombstone });
    this.#initial.listed(listed.size + gone.length);
    // nothing to pop, but the queue may have synced
    if (listed.size + gone.length === 0) this.#onDelta?.();
  }

  /** Every known object is queued again, save those of which something is queued: that is newer. */
  resync(): void {
    const known = this.#known;
    if (known === undefined) return;
    for (const key of known.listKeys()) {
      const object = lookUp(known, key, this.#name);
      if (object === undefined) continue;
      const id = this.#keyFunction(object);
      if (!this.#lines.has(id)) this.#push(id, { type: 'Sync', object });
    }
  }

  /** How many objects have deltas. */
  len(): number {
    return this.#order.length;
  }

  hasSynced(): boolean {
    return this.#initial.synced;
  }

  hasSyncedChecker(): DoneChecker {
    return this.#initial.checker;
  }

  /**
   * The key of an object, of a tombstone, or of the newest of several deltas.
   *
   * @throws what the key function throws, and CapstanError INVALID_ARGUMENT for no deltas
   */
  keyOf(of: T | DeletedFinalStateUnknown<T> | Deltas<T>): string {
    return keyOf(of, this.#keyFunction);
  }

  close(): void {
    this.#closed = true;
    this.#waiters.wakeAll();
  }

  /** The same as `close()`. */
  [Symbol.dispose](): void {
    this.close();
  }

  isClosed(): boolean {
    return this.#closed;
  }

  async pop(
    process: PopProcess<T>,
    options: { signal?: AbortSignal | undefined } = {},
  ): Promise<Deltas<T>> {
    requireSignalOptions(options, 'pop()');
    while (!ready(this, this.#name, options.signal)) await this.#waiters.wait(options.signal);
    const isInInitialList = !this.hasSynced();
    return finish(this.#take(), process, isInInitialList, () => undefined);
  }

  tryPop(process: (deltas: Deltas<T>, isInInitialList: boolean) => void): boolean {
    if (this.len() === 0) return false;
    const isInInitialList = !this.hasSynced();
    process(this.#take(), isInInitialList);
    return true;
  }

  #take(): Deltas<T> {
    const line = this.#order.shift();
    if (line === undefined) return [];
    this.#lines.delete(line.key);
    this.#initial.through(this.#initial.taken(1), false);
    return line.deltas;
  }

  #knows(key: string): boolean {
    try {
      return this.#known?.getByKey(key) !== undefined;
    } catch {
      return true; // rather a deletion too many
    }
  }

  #missing(listed: ReadonlySet<string>): DeletedFinalStateUnknown<T>[] {
    const missing: DeletedFinalStateUnknown<T>[] = [];
    for (const { key, deltas } of this.#lines.values()) {
      if (listed.has(key)) continue;
      missing.push(new DeletedFinalStateUnknown(key, lastObject(deltas)));
    }
    for (const key of this.#known?.listKeys() ?? []) {
      if (listed.has(key) || this.#lines.has(key) || this.#known === undefined) continue;
      missing.push(new DeletedFinalStateUnknown(key, lookUp(this.#known, key, this.#name)));
    }
    return missing;
  }

  #transformed(object: T): T {
    return this.#transformer === undefined ? object : this.#transformer(object);
  }

  #push(key: string, delta: Delta<T>): void {
    const line = this.#lines.get(key);
    if (line === undefined) {
      const added: Line<T> = { key, deltas: [delta] };
      this.#lines.set(key, added);
      this.#order.push(added);
    } else {
      append(line.deltas, delta);
    }
    this.#waiters.wakeAll();
    this.#onDelta?.();
  }
}

/** Of two deletions in a row one stays: the first, unless that is a tombstone, which knows less. */
function append<T>(deltas: Delta<T>[], delta: Delta<T>): void {
  const last = deltas.at(-1);
  if (delta.type !== 'Deleted' || last?.type !== 'Deleted') deltas.push(delta);
  else if (last.object instanceof DeletedFinalStateUnknown) deltas[deltas.length - 1] = delta;
}

function lastObject<T>(deltas: Deltas<T>): T | undefined {
  const newest = deltas.at(-1);
  if (newest === undefined || !('object' in newest)) return undefined;
  return newest.object instanceof DeletedFinalStateUnknown ? newest.object.obj : newest.object;
}
