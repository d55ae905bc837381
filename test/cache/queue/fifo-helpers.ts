/** Objects, deltas and consumers for the tests of the two queues. */
import type { Delta, Deltas } from '../../../bindings/cache/queue/deltas.ts';
import type {
  KeyListerGetter,
  Queue,
  QueueWithBatch,
} from '../../../bindings/cache/queue/queue.ts';
import { DeletedFinalStateUnknown } from '../../../bindings/cache/rest/keys.ts';

/** The key is the name; `val` is the version. */
export interface Item {
  readonly name: string;
  readonly val: number;
}

export const item = (name: string, val: number): Item => ({ name, val });
export const nameOf = ({ name }: Item): string => name;

/** A store with these objects, in this order. */
export function knowing(...items: readonly Item[]): KeyListerGetter<Item> {
  return {
    listKeys: () => items.map(nameOf),
    getByKey: (key) => items.find(({ name }) => name === key),
  };
}

/** `Added foo@1`, `Deleted bar@2 (tombstone)`, `ReplacedAll 7: foo@1 bar@2`. */
export function deltaText(delta: Delta<Item>): string {
  const one = ({ name, val }: Item): string => `${name}@${val}`;
  if (delta.type === 'ReplacedAll')
    return `ReplacedAll ${delta.resourceVersion}: ${delta.objects.map(one).join(' ')}`;
  if (delta.type === 'Bookmark') return `Bookmark ${delta.resourceVersion}`;
  if (delta.type === 'SyncAll') return 'SyncAll';
  const { type, object } = delta;
  if (!(object instanceof DeletedFinalStateUnknown)) return `${type} ${one(object)}`;
  return `${type} ${object.obj === undefined ? `${object.key}@?` : one(object.obj)} (tombstone)`;
}

/** Pops once; the deltas joined, and ` initial` after those of the initial population. */
export function popOne(queue: Queue<Item>): string | undefined {
  let popped: string | undefined;
  queue.tryPop((deltas, isInInitialList) => {
    popped = deltas.map(deltaText).join(', ') + (isInInitialList ? ' initial' : '');
  });
  return popped;
}

/** Pops until nothing is left. */
export function popAll(queue: Queue<Item>): string[] {
  const popped: string[] = [];
  for (let one = popOne(queue); one !== undefined; one = popOne(queue)) popped.push(one);
  return popped;
}

/** As {@link popAll}, in batches, without `initial`. */
export async function popBatches(queue: QueueWithBatch<Item>): Promise<string[][]> {
  const popped: string[][] = [];
  const take = (deltas: Deltas<Item>): void => void popped.push(deltas.map(deltaText));
  while (queue.len() > 0) await queue.popBatch(take, take);
  return popped;
}

export async function codeOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
    return 'no error';
  } catch (error) {
    return (error as { code?: unknown }).code ?? error;
  }
}
