/**
 * The queues that pauses.ts and memory.ts load, one a process: ours from the built package, the
 * naive port, and two lower limits that show the cost of the load itself. `ring` keeps the items in
 * order and reads each string once, because any queue has to hash it (V8 then joins the parts of
 * the string, which changes its size); `none` has no queue.
 */
import { type Request, requestKey, WorkQueue } from 'capstan/workqueue';
import { naive } from '../peers/naive-ts/naive.mjs';
import type { PeerQueue } from '../peers/naive-ts/workloads.mjs';

export const PEERS = ['capstan', 'naive', 'ring', 'none'] as const;
export type PeerName = (typeof PEERS)[number];

/**
 * The kinds of items. `fresh`: a string that is concatenated at each use, as in an event handler.
 * `request`: a new { namespace, name } at each use. `same`: strings that the program keeps, such as
 * a cache's keys.
 */
export const ITEMS = ['fresh', 'request', 'same'] as const;
export type ItemKind = (typeof ITEMS)[number];

/** A ring with room for one item more than it ever holds. */
class Ring<T> implements PeerQueue<T> {
  readonly #items: (T | undefined)[];
  /** Kept so that the engine cannot optimise the reading away. */
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

/** Makes a queue of the peer for at most `live` items of this kind; undefined for `none`. */
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
 * The number of names in every namespace: a million keys are made of a few thousand flat strings,
 * so that the source of the keys takes little memory.
 */
const NAMES = 1_000;

/** Item i of `count` different ones. The same index always gives the same key, of 35 characters. */
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
  // Names come in another order than the one in memory.
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
