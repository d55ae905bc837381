/** store: an Indexer with hostile names, several indices and tombstones. */
import { DeletedFinalStateUnknown, Indexer, type IndexFunc } from 'capstan/cache';
import type { Observed, Step, Subject, Trace } from '../runner.ts';
import { text, texts, unknownOp } from './fields.ts';
import { fromItem, type Item, object, objects, sortedByKey } from './objects.ts';

const indexFuncs = new Map<string, IndexFunc<Item>>([
  ['namespace', (item) => [item.metadata.namespace]],
  ['node', (item) => [item.node]],
  ['labels', (item) => item.labels],
  ['nameLength', (item) => [String([...item.metadata.name].length)]],
  ['nothing', () => []],
]);

function indexers(names: readonly string[]): Record<string, IndexFunc<Item>> {
  return Object.fromEntries(
    names.map((name) => {
      const func = indexFuncs.get(name);
      if (func === undefined) throw new TypeError(`no index function ${JSON.stringify(name)}`);
      return [name, func];
    }),
  );
}

const found = (item: Item | undefined): object =>
  item === undefined ? { exists: false } : { exists: true, object: fromItem(item) };

function orError(call: () => unknown): unknown {
  try {
    return call();
  } catch {
    return { error: true };
  }
}

function replay(indexer: Indexer<Item>, step: Step): Observed {
  const index = () => text(step, 'index');
  const value = () => text(step, 'value');
  switch (step.op) {
    case 'new':
      return {};
    case 'add':
      indexer.add(object(step));
      return {};
    case 'update':
      indexer.update(object(step));
      return {};
    case 'delete':
      indexer.delete(object(step));
      return {};
    case 'deleteTombstone':
      indexer.delete(new DeletedFinalStateUnknown<Item>(text(step, 'key'), undefined));
      return {};
    case 'replace':
      indexer.replace(objects(step), text(step, 'rv'));
      return {};
    case 'get':
      return { want: found(indexer.get(object(step))) };
    case 'getByKey':
      return { want: found(indexer.getByKey(text(step, 'key'))) };
    case 'list':
      return { want: sortedByKey(indexer.list()) };
    case 'listKeys':
      return { want: indexer.listKeys().sort() };
    case 'index':
      return { want: orError(() => sortedByKey(indexer.index(index(), object(step)))) };
    case 'byIndex':
      return { want: orError(() => sortedByKey(indexer.byIndex(index(), value()))) };
    case 'indexKeys':
      return { want: orError(() => indexer.indexKeys(index(), value())) };
    case 'listIndexFuncValues':
      return { want: indexer.listIndexFuncValues(index()).sort() };
    case 'addIndexers':
      return {
        want: orError(() => indexer.addIndexers(indexers(texts(step, 'indexers'))) ?? null),
      };
    case 'bookmark':
      indexer.bookmark(text(step, 'rv'));
      return {};
    case 'lastResourceVersion':
      return { want: indexer.lastStoreSyncResourceVersion() };
    case 'resync':
      indexer.resync();
      return {};
    default:
      throw unknownOp(step);
  }
}

export const store: Subject = {
  observes: ['want'],
  begin(first): Trace {
    const indexer = new Indexer<Item>(undefined, indexers(texts(first, 'indexers')));
    return { step: (step) => replay(indexer, step) };
  },
};
