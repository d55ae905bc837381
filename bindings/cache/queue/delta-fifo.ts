/**
 * DeltaFIFO: gathers deltas by object. A pop gives all deltas of one object since its last pop;
 * objects come in the order in which they were first queued. client-go: tools/cache/delta_fifo.go.
 *
 * Invariant: a queued key has at least one delta, and never two deletions in a row.
 */

import { Backlog } from '../../base/backlog.ts';
import { requireFunction } from '../../base/errors.ts';
import { namesOf, requireNames, requireSignalOptions } from '../../base/names.ts';
import { runSteps, type Steps } from '../../base/wait.ts';
import { DeletedFinalStateUnknown, metaNamespaceKeyFunc } from '../rest/keys.ts';
import type { Delta, Deltas } from './deltas.ts';
import {
  BaseFIFO,
  finish,
  type KeyListerGetter,
  type LoopQueue,
  lookUp,
  type PopProcess,
  requireKnownObjects,
  type TransformFunc,
} from './queue.ts';

/** Options of a {@link DeltaFIFO}. */
export interface DeltaFIFOOptions<T> {
  /** Default {@link metaNamespaceKeyFunc}. An object for which it throws is not queued. */
  keyFunction?: ((object: T) => string) | undefined;
  /**
   * The store that the consumer fills. Without it, a list gives no deletions of objects that are
   * not queued, and a resync does nothing.
   */
  knownObjects?: KeyListerGetter<T> | undefined;
  /** Objects of a list get the type `Replaced`. Default false: they get `Sync`, as in a resync. */
  emitDeltaTypeReplaced?: boolean | undefined;
  /** Called once for each object before it is queued; not for tombstones and resyncs. */
  transformer?: TransformFunc<T> | undefined;
  /** For messages. Default `DeltaFIFO`. */
  name?: string | undefined;
  /**
   * Called after each delta and each list, for a consumer that uses `tryPop`. Must not pop, as it
   * is called in the middle of an operation.
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

/** The queued deltas of one object. */
interface QueuedObject<T> {
  readonly key: string;
  readonly deltas: Delta<T>[];
}

/**
 * Gathers deltas by object, so that it stays short if the consumer is slow. Only {@link RealFIFO}
 * keeps the order between objects. client-go: DeltaFIFO.
 *
 * Unlike in `RealFIFO`, the deletion of an object that is neither queued nor known is dropped, the
 * deletions that follow from a list come after its objects, and the queue is already synced while
 * the last object of the first list is processed.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const store = newStore<V1Pod>();
 * const fifo = new DeltaFIFO<V1Pod>({ knownObjects: store, emitDeltaTypeReplaced: true });
 * fifo.add(pod);
 * await fifo.pop((deltas) => use(deltas), { signal });
 */
export class DeltaFIFO<T extends object> extends BaseFIFO<T> implements LoopQueue<T> {
  readonly #known: KeyListerGetter<T> | undefined;
  readonly #listed: 'Replaced' | 'Sync';
  readonly #transformer: TransformFunc<T> | undefined;
  readonly #onDelta: (() => void) | undefined;
  readonly #byKey = new Map<string, QueuedObject<T>>();
  /**
   * The same entries in order. A Map would be enough, but finding its first key is slow after many
   * deletions.
   */
  readonly #order = new Backlog<QueuedObject<T>>();

  constructor(options: DeltaFIFOOptions<T> = {}) {
    requireNames('options', options, 'option of a DeltaFIFO', NAMES);
    const {
      keyFunction = metaNamespaceKeyFunc,
      knownObjects,
      transformer,
      name = 'DeltaFIFO',
      onDelta,
    } = options;
    super(keyFunction, name);
    if (knownObjects !== undefined) requireKnownObjects(knownObjects);
    if (transformer !== undefined) requireFunction('options.transformer', transformer);
    if (onDelta !== undefined) requireFunction('options.onDelta', onDelta);
    this.#known = knownObjects;
    this.#listed = options.emitDeltaTypeReplaced ? 'Replaced' : 'Sync';
    this.#transformer = transformer;
    this.#onDelta = onDelta;
  }

  add(object: T): void {
    const key = this.keyFunction(object);
    const delta: Delta<T> = { type: 'Added', object: this.#transformed(object) };
    this.initial.changed();
    this.#push(key, delta);
  }

  update(object: T): void {
    const key = this.keyFunction(object);
    const delta: Delta<T> = { type: 'Updated', object: this.#transformed(object) };
    this.initial.changed();
    this.#push(key, delta);
  }

  /** Queues a deletion; dropped for an object that is neither queued nor known. */
  delete(object: T | DeletedFinalStateUnknown<T>): void {
    const key = this.keyOf(object);
    if (!this.#byKey.has(key) && !this.#knows(key)) {
      this.initial.changed();
      return;
    }
    const kept = object instanceof DeletedFinalStateUnknown ? object : this.#transformed(object);
    this.initial.changed();
    this.#push(key, { type: 'Deleted', object: kept });
  }

  /**
   * Queues a new list: its objects, then a tombstone for each queued or known object that is not in
   * it. If the key function or the transformer throws, nothing is queued.
   */
  replace(objects: readonly T[], _resourceVersion: string): void {
    const keys = objects.map((object) => this.keyFunction(object));
    const transformed = objects.map((object) => this.#transformed(object));
    const listed = new Set(keys);
    transformed.forEach((object, i) => {
      this.#push(keys[i] ?? '', { type: this.#listed, object });
    });
    const missing = this.#missing(listed);
    for (const tombstone of missing)
      this.#push(tombstone.key, { type: 'Deleted', object: tombstone });
    this.initial.listed(listed.size + missing.length);
    // nothing to pop, but the FIFO may have synced
    if (listed.size + missing.length === 0) this.#onDelta?.();
  }

  /** Queues every known object again, except those with queued deltas, which are newer. */
  resync(): void {
    const known = this.#known;
    if (known === undefined) return;
    for (const key of known.listKeys()) {
      const object = lookUp(known, key, this.name);
      if (object === undefined) continue;
      const id = this.keyFunction(object);
      if (!this.#byKey.has(id)) this.#push(id, { type: 'Sync', object });
    }
  }

  /** How many objects have queued deltas. */
  len(): number {
    return this.#order.length;
  }

  async pop(
    process: PopProcess<T>,
    options: { signal?: AbortSignal | undefined } = {},
  ): Promise<Deltas<T>> {
    requireSignalOptions(options, 'pop()');
    while (!this.isReady(options.signal)) await this.waiters.wait(options.signal);
    const isInInitialList = !this.hasSynced();
    return finish(this.#take(), process, isInInitialList, () => undefined);
  }

  tryPop(process: (deltas: Deltas<T>, isInInitialList: boolean) => void): boolean {
    if (this.len() === 0) return false;
    const isInInitialList = !this.hasSynced();
    process(this.#take(), isInInitialList);
    return true;
  }

  /** @internal Its deltas are of one object each, and need no steps. */
  popInSteps(
    process: (deltas: Deltas<T>, isInInitialList: boolean) => Steps | undefined,
  ): Steps | boolean {
    return this.tryPop((deltas, isInInitialList) => {
      const steps = process(deltas, isInInitialList);
      if (steps !== undefined) runSteps(steps);
    });
  }

  #take(): Deltas<T> {
    const queued = this.#order.shift();
    if (queued === undefined) return [];
    this.#byKey.delete(queued.key);
    this.initial.processed(this.initial.taken(1), false);
    return queued.deltas;
  }

  #knows(key: string): boolean {
    try {
      return this.#known?.getByKey(key) !== undefined;
    } catch {
      return true; // better to queue a deletion too many
    }
  }

  #missing(listed: ReadonlySet<string>): DeletedFinalStateUnknown<T>[] {
    const missing: DeletedFinalStateUnknown<T>[] = [];
    for (const { key, deltas } of this.#byKey.values()) {
      if (listed.has(key)) continue;
      missing.push(new DeletedFinalStateUnknown(key, lastObject(deltas)));
    }
    for (const key of this.#known?.listKeys() ?? []) {
      if (listed.has(key) || this.#byKey.has(key) || this.#known === undefined) continue;
      missing.push(new DeletedFinalStateUnknown(key, lookUp(this.#known, key, this.name)));
    }
    return missing;
  }

  #transformed(object: T): T {
    return this.#transformer === undefined ? object : this.#transformer(object);
  }

  #push(key: string, delta: Delta<T>): void {
    const queued = this.#byKey.get(key);
    if (queued === undefined) {
      const added: QueuedObject<T> = { key, deltas: [delta] };
      this.#byKey.set(key, added);
      this.#order.push(added);
    } else {
      append(queued.deltas, delta);
    }
    this.waiters.wakeAll();
    this.#onDelta?.();
  }
}

/**
 * Of two deletions in a row one is kept: the first, unless it is a tombstone, which may have an
 * older state.
 */
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
