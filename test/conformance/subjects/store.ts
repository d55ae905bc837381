/** store: an Indexer with hostile names, several indices and tombstones. */
import { DeletedFinalStateUnknown, Indexer, type IndexFunc, metaNamespaceKeyFunc } from 'capstan/cache';
import type { Observed, Step, Subject, Trace } from '../runner.ts';
import { text, texts, unknownOp } from './fields.ts';

interface Recorded {
  readonly ns: string;
  readonly name: string;
  readonly rv: string;
  readonly node: string;
  readonly labels: readonly string[];
}

interface Item {
  readonly metadata: { readonly namespace: string; readonly name: string; readonly resourceVersion: string };
  readonly node: string;
  readonly labels: readonly string[];
}

const toItem = ({ ns, name, rv, node, labels }: Recorded): Item => ({
  metadata: { namespace: ns, name, resourceVersion: rv },
  node,
  labels,
});

const fromItem = ({ metadata, node, labels }: Item): Recorded => ({
  ns: metadata.namespace,
  name: metadata.name,
  rv: metadata.resourceVersion,
  node,
  labels,
});

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

const object = (step: Step): Item => toItem(step.object as Recorded);

function sortedByKey(items: readonly Item[]): Recorded[] {
  const keyed = items.map((item) => ({ key: metaNamespaceKeyFunc(item), item: fromItem(item) }));
  return keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)).map(({ item }) => item);
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
      indexer.replace((step.objects as readonly Recorded[]).map(toItem), text(step, 'rv'));
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
      return { want: orError(() => indexer.addIndexers(indexers(texts(step, 'indexers'))) ?? null) };
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
