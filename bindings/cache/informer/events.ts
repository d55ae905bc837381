/**
 * The notifications of an informer as an async iterator. The iterator is an ordinary handler;
 * events that are not consumed yet are buffered.
 */

import { Backlog } from '../../base/backlog.ts';
import { onAbort } from '../../base/wait.ts';
import { DeletedFinalStateUnknown } from '../rest/keys.ts';
import type { Registration, ResourceEventHandler } from './handler.ts';

/**
 * An event of `informer.events()`. `old` is set for updates only. The object of a delete is the
 * last known state.
 */
export interface InformerEvent<T> {
  type: 'add' | 'update' | 'delete';
  object: T;
  old?: T;
}

class EventIterator<T> implements AsyncIterator<InformerEvent<T>> {
  readonly #backlog = new Backlog<InformerEvent<T>>();
  readonly #waiting: ((result: IteratorResult<InformerEvent<T>>) => void)[] = [];
  #onEnd: (() => void) | undefined;
  #ended = false;

  readonly handler: ResourceEventHandler<T> = {
    onAdd: (object) => this.#push({ type: 'add', object }),
    onUpdate: (old, object) => this.#push({ type: 'update', object, old }),
    onDelete: (object) => {
      const last = object instanceof DeletedFinalStateUnknown ? object.obj : object;
      if (last !== undefined) this.#push({ type: 'delete', object: last });
    },
  };

  /** @param onEnd called once, when the iteration ends for any reason */
  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
  }

  next(): Promise<IteratorResult<InformerEvent<T>>> {
    const value = this.#backlog.shift();
    if (value !== undefined) return Promise.resolve({ done: false, value });
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** The consumer has left the loop: drops the buffered events. */
  return(): Promise<IteratorResult<InformerEvent<T>>> {
    this.#backlog.clear();
    this.end();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Adds no further events; buffered ones can still be consumed. */
  end(): void {
    this.#ended = true;
    for (const resolve of this.#waiting.splice(0)) resolve({ done: true, value: undefined });
    this.#onEnd?.();
    this.#onEnd = undefined;
  }

  #push(event: InformerEvent<T>): void {
    if (this.#ended) return;
    const resolve = this.#waiting.shift();
    if (resolve === undefined) this.#backlog.push(event);
    else resolve({ done: false, value: event });
  }
}

/** The part of an informer that an iterator uses. */
interface Source<T> {
  isStopped(): boolean;
  addEventHandler(handler: ResourceEventHandler<T>, options: { name: string }): Registration;
  removeEventHandler(registration: Registration): void;
}

/** The active iterators of one informer. */
export class EventIterators<T> {
  readonly #open = new Set<EventIterator<T>>();

  iterate(source: Source<T>, signal: AbortSignal | undefined): AsyncIterator<InformerEvent<T>> {
    let registration: Registration | undefined;
    let unlisten = (): void => undefined;
    const iterator = new EventIterator<T>(() => {
      unlisten();
      this.#open.delete(iterator);
      if (registration !== undefined) source.removeEventHandler(registration);
    });
    if (source.isStopped() || signal?.aborted) {
      iterator.end();
    } else {
      this.#open.add(iterator);
      unlisten = onAbort(signal, () => iterator.end());
      registration = source.addEventHandler(iterator.handler, { name: 'events' });
    }
    return iterator;
  }

  end(): void {
    for (const iterator of [...this.#open]) iterator.end();
  }
}
