/**
 * Items for recorded keys. A queue must treat a key alike as a string, as a request and through a
 * key function, so every queue trace is replayed in each form. Each form is one to one: no two keys
 * give equal items.
 */
import { type Request, requestKey } from 'capstan/workqueue';
import type { ItemForm } from '../runner.ts';

interface Named {
  readonly id: string;
}

export interface Items<T> {
  /** For QueueOptions and LimiterOptions. */
  readonly key: ((item: T) => string) | undefined;
  /** A new item each time, as an event handler makes it. */
  make(key: string): T;
  /** The recorded key of an item. */
  read(item: T): string;
}

const strings: Items<string> = { key: undefined, make: (key) => key, read: (item) => item };

const requests: Items<Request> = {
  key: requestKey,
  make(key) {
    const cut = key.indexOf('/') + 1;
    return { namespace: key.slice(0, cut), name: key.slice(cut) };
  },
  read: ({ namespace, name }) => namespace + name,
};

const objects: Items<Named> = {
  key: (item) => item.id,
  make: (id) => ({ id }),
  read: (item) => item.id,
};

/** Calls `use` with the items of a form, whose type is local to the call. */
export function withItems<R>(form: ItemForm, use: <T>(items: Items<T>) => R): R {
  if (form === 'request') return use(requests);
  if (form === 'object') return use(objects);
  return use(strings);
}
