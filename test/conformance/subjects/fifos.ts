/**
 * deltafifo and realfifo: what is popped, and when the queue counts as synced. Popped deltas are
 * applied to a store, which is the queue's known store if it has one.
 */
import {
  DeletedFinalStateUnknown,
  type Delta,
  DeltaFIFO,
  type Deltas,
  Indexer,
  metaNamespaceKeyFunc,
  type Queue,
  RealFIFO,
} from 'capstan/cache';
import type { Observed, Trace, TraceStep, TraceSubject } from '../runner.ts';
import { flagField, textField, unknownOp } from './fields.ts';
import { type ItemObject, sortedByKey, stepObject, stepObjects } from './objects.ts';

/** Lists its keys sorted, which fixes the order of the queue's deletions. */
class KnownStore extends Indexer<ItemObject> {
  override listKeys(): string[] {
    return super.listKeys().sort();
  }
}

const describe = (item: ItemObject): object => ({
  key: metaNamespaceKeyFunc(item),
  rv: item.metadata.resourceVersion,
});

function recorded(delta: Delta<ItemObject>): object {
  switch (delta.type) {
    case 'ReplacedAll':
      return { type: delta.type, rv: delta.resourceVersion, objects: delta.objects.map(describe) };
    case 'Bookmark':
      return { type: delta.type, rv: delta.resourceVersion };
    case 'SyncAll':
      return { type: delta.type };
    default: {
      const { type, object } = delta;
      if (!(object instanceof DeletedFinalStateUnknown)) return { type, ...describe(object) };
      return {
        type,
        key: object.key,
        rv: object.obj?.metadata.resourceVersion ?? null,
        tombstone: true,
      };
    }
  }
}

function apply(known: Indexer<ItemObject>, delta: Delta<ItemObject>): void {
  if (delta.type === 'ReplacedAll') known.replace(delta.objects, delta.resourceVersion);
  else if (delta.type === 'Deleted') known.delete(delta.object);
  else if (delta.type !== 'SyncAll' && delta.type !== 'Bookmark') known.update(delta.object);
}

async function replay(
  queue: Queue<ItemObject>,
  known: Indexer<ItemObject>,
  step: TraceStep,
): Promise<unknown> {
  switch (step.op) {
    case 'new':
    case 'hasSynced':
      return undefined;
    case 'add':
      return queue.add(stepObject(step));
    case 'update':
      return queue.update(stepObject(step));
    case 'delete':
      return queue.delete(stepObject(step));
    case 'replace':
      return queue.replace(stepObjects(step), textField(step, 'rv'));
    case 'resync':
      return queue.resync();
    case 'bookmark':
      return queue.bookmark?.(textField(step, 'rv'));
    case 'pop': {
      let want: unknown;
      await queue.pop((deltas, isInInitialList) => {
        for (const delta of deltas) apply(known, delta);
        want = {
          deltas: deltas.map(recorded),
          isInInitialList,
          hasSyncedWhileProcessing: queue.hasSynced(),
        };
      });
      return want;
    }
    case 'popBatch': {
      if (!(queue instanceof RealFIFO)) throw new TypeError('popBatch: this queue has no batches');
      let want: unknown;
      const take = (process: string) => (deltas: Deltas<ItemObject>, isInInitialList: boolean) => {
        for (const delta of deltas) apply(known, delta);
        want = { process, deltas: deltas.map(recorded), isInInitialList };
      };
      await queue.popBatch(take('batch'), take('single'));
      return want;
    }
    case 'known':
      return sortedByKey(known.list());
    default:
      throw unknownOp(step);
  }
}

function subject(
  make: (first: TraceStep, known: Indexer<ItemObject>) => Queue<ItemObject>,
): TraceSubject {
  return {
    observes: ['want', 'len', 'hasSynced'],
    begin(first): Trace {
      const known = new KnownStore();
      const queue = make(first, known);
      return {
        async step(step): Promise<Observed> {
          const want = await replay(queue, known, step);
          return { want, len: queue.len(), hasSynced: queue.hasSynced() };
        },
        end: () => queue.close(),
      };
    },
  };
}

export const deltafifo = subject((first, known) => {
  const knownObjects = flagField(first, 'knownObjects') ? known : undefined;
  return new DeltaFIFO<ItemObject>({
    emitDeltaTypeReplaced: flagField(first, 'emitDeltaTypeReplaced'),
    knownObjects,
  });
});

export const realfifo = subject((first, known) => {
  const atomicEvents = flagField(first, 'atomicEvents');
  const emitDeltaTypeBookmark = flagField(first, 'emitDeltaTypeBookmark');
  return new RealFIFO<ItemObject>({
    atomicEvents,
    emitDeltaTypeBookmark,
    knownObjects: atomicEvents ? undefined : known,
  });
});
