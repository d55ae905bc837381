/**
 * The queues that pauses.ts and memory.ts load, one a process: ours from the built package, the
 * naive port, and floors that show what the load costs by itself. `ring` keeps the items in their
 * order and does nothing else, as any queue that hands out what it was given must, except that it
 * reads a string once, as any code that hashes it must (the engine then joins its parts, which
 * changes its weight); `none` is no queue at all.
 */
import { type Request, requestKey, WorkQueue } from 'capstan/workqueue';
import { naive } from '../peers/naive-ts/naive.mjs';
import type { PeerQueue } from '../peers/naive-ts/workloads.mjs';

export const PEERS = ['capstan', 'naive', 'ring', 'none'] as const;
export type PeerName = (typeof PEERS)[number];

/**
 * What the items are. `fresh`: a string concatenated at each use, as an event handler does it.
 * `request`: a new { namespace, name } at each use. `same`: strings that the program keeps, such
 * as a cache's keys.
 */
export const ITEMS = ['fresh', 'request', 'same'] as const;
export type ItemKind = (typeof ITEMS)[number];

/** Room for one item more than are ever in it. */
class Ring<T> implements PeerQueue<T> {
  readonly #items: (T | undefined)[];
  /** Keeps the reading from being left out as useless. */
  read = 0;
  #from = 0;
  #to = 0;

  constructor(room: number) {
    this.#items = new Array<T | undefined>(room).fill(undefined);
  }

  add(item: T): void {
    if (typeof item === 'string') this.read = item.charCodeAt(item.length >> 1);
    this.#items[this.#to] = item;
    this.#to = this.#to + 1 === this.#items.length ? 0 : this.#to + 1;
  }

  tryGet(): T | undefined {
    const item = this.#items[this.#from];
    this.#items[this.#from] = undefined;
    this.#from = this.#from + 1 === this.#items.length ? 0 : this.#from + 1;
    return item;
  }

  done(_item: T): void {}

  len(): number {
    return (this.#to - this.#from + this.#items.length) % this.#items.length;
  }
}

/** A queue of the peer for items of this kind, `live` of them at most; `none` has none. */
export function queueOf(
  peer: PeerName,
  kind: ItemKind,
  live: number,
): PeerQueue<string | Request> | undefined {
  if (peer === 'none') return undefined;
  if (peer === 'ring') return new Ring<string | Request>(live + 2);
  if (kind === 'request') {
    const queue =
      peer === 'capstan' ? new WorkQueue<Request>({ key: requestKey }) : naive.requestQueue();
    return queue as PeerQueue<string | Request>;
  }
  const queue = peer === 'capstan' ? new WorkQueue() : naive.queue();
  return queue as PeerQueue<string | Request>;
}

/**
 * Names in every namespace, so that a million keys are made of a few thousand flat strings and the
 * source weighs nothing.
 */
const NAMES = 1_000;

/** Item i of `count` different ones, always by the same index the same key, of 35 characters. */
export function itemsOf(kind: ItemKind, count: number): (i: number) => string | Request {
  const namespaces = Array.from(
    { length: Math.ceil(count / NAMES) },
    (_, i) => `team-${String(i).padStart(5, '0')}`,
  );
  const names = Array.from(
    { length: NAMES },
    (_, i) => `web-frontend-7d9c5-${String(i).padStart(5, '0')}`,
  );
  const flat = JSON.parse(JSON.stringify({ namespaces, names })) as {
    namespaces: string[];
    names: string[];
  };
  // Names come in an order that has nothing to do with where they lie.
  const namespaceOf = (i: number): string => flat.namespaces[Math.floor(i / NAMES)] as string;
  const nameOf = (i: number): string => flat.names[(i * 619) % NAMES] as string;
  if (kind === 'request') return (i) => ({ namespace: namespaceOf(i), name: nameOf(i) });
  const fresh = (i: number): string => `${namespaceOf(i)}/${nameOf(i)}`;
  if (kind === 'fresh') return fresh;
  const kept = JSON.parse(
    JSON.stringify(Array.from({ length: count }, (_, i) => fresh(i))),
  ) as string[];
  return (i) => kept[i] as string;
}
