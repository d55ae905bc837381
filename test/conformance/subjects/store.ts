/** store: an Indexer with hostile names, several indices and tombstones. */
import { DeletedFinalStateUnknown, Indexer, type IndexFunc } from 'capstan/cache';
import type { Observed, Trace, TraceStep, TraceSubject } from '../runner.ts';
import { textField, textsField, unknownOp } from './fields.ts';
import { fromItem, type ItemObject, sortedByKey, stepObject, stepObjects } from './objects.ts';

const indexFuncs = new Map<string, IndexFunc<ItemObject>>([
  ['namespace', (item) => [item.metadata.namespace]],
  ['node', (item) => [item.node]],
  ['labels', (item) => item.labels],
  ['nameLength', (item) => [String([...item.metadata.name].length)]],
  ['nothing', () => []],
]);

function indexers(names: readonly string[]): Record<string, IndexFunc<ItemObject>> {
  return Object.fromEntries(
    names.map((name) => {
      const func = indexFuncs.get(name);
      if (func === undefined) throw new TypeError(`no index function ${JSON.stringify(name)}`);
      return [name, func];
    }),
  );
}

const found = (item: ItemObject | undefined): object =>
  item === undefined ? { exists: false } : { exists: true, object: fromItem(item) };

function orError(call: () => unknown): unknown {
  try {
    return call();
  } catch {
    return { error: true };
  }
}

function replay(indexer: Indexer<ItemObject>, step: TraceStep): Observed {
  const index = () => textField(step, 'index');
  const value = () => textField(step, 'value');
  switch (step.op) {
    case 'new':
      return {};
    case 'add':
      indexer.add(stepObject(step));
      return {};
    case 'update':
      indexer.update(stepObject(step));
      return {};
    case 'delete':
      indexer.delete(stepObject(step));
      return {};
    case 'deleteTombstone':
      indexer.delete(new DeletedFinalStateUnknown<ItemObject>(textField(step, 'key'), undefined));
      return {};
    case 'replace':
      indexer.replace(stepObjects(step), textField(step, 'rv'));
      return {};
    case 'get':
      return { want: found(indexer.get(stepObject(step))) };
    case 'getByKey':
      return { want: found(indexer.getByKey(textField(step, 'key'))) };
    case 'list':
      return { want: sortedByKey(indexer.list()) };
    case 'listKeys':
      return { want: indexer.listKeys().sort() };
    case 'index':
      return { want: orError(() => sortedByKey(indexer.index(index(), stepObject(step)))) };
    case 'byIndex':
      return { want: orError(() => sortedByKey(indexer.byIndex(index(), value()))) };
    case 'indexKeys':
      return { want: orError(() => indexer.indexKeys(index(), value())) };
    case 'listIndexFuncValues':
      return { want: indexer.listIndexFuncValues(index()).sort() };
    case 'addIndexers':
      return {
        want: orError(() => indexer.addIndexers(indexers(textsField(step, 'indexers'))) ?? null),
      };
    case 'bookmark':
      indexer.bookmark(textField(step, 'rv'));
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

export const store: TraceSubject = {
  observes: ['want'],
  begin(first): Trace {
    const indexer = new Indexer<ItemObject>(undefined, indexers(textsField(first, 'indexers')));
    return { step: (step) => replay(indexer, step) };
  },
};
