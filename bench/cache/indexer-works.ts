/**
 * The indexer workloads of peers/client-go/cache.go on our Indexer: Pods with a namespace index and
 * a node index, both by a function, as there. The objects are plain ones, filled in by hand.
 */
import { Indexer, metaNamespaceKeyFunc } from 'capstan/cache';
import { names } from '../peers/naive-ts/workloads.mjs';

interface Pod {
  metadata: { namespace: string; name: string; labels: Record<string, string> };
  spec: { nodeName: string };
}

type PodIndexer = Indexer<Pod, 'namespace' | 'node'>;

const NODES = 1000;

function pods(n: number, shift: number): Pod[] {
  const data = names(n);
  return data.names.map((name, i) => ({
    metadata: { namespace: data.namespaces[i] ?? '', name, labels: { app: `app-${i % 500}` } },
    spec: { nodeName: `node-${(i + shift) % NODES}` },
  }));
}

function newIndexer(): PodIndexer {
  return new Indexer<Pod, 'namespace' | 'node'>(metaNamespaceKeyFunc, {
    namespace: (pod) => [pod.metadata.namespace],
    node: (pod) => [pod.spec.nodeName],
  });
}

function fill(indexer: PodIndexer, list: readonly Pod[]): PodIndexer {
  for (const pod of list) indexer.update(pod);
  return indexer;
}

function must(got: number, want: number, work: string): void {
  if (got !== want) throw new Error(`${work}: found ${got} objects, expected ${want}`);
}

/**
 * Each function prepares its data and returns the work; the work returns its number of operations.
 */
export const indexerWorks: Record<string, (n: number) => () => number> = {
  'indexer-add': (n) => {
    const first = pods(n, 0);
    return () => {
      const indexer = fill(newIndexer(), first);
      must(indexer.indexKeys('node', 'node-0').length, Math.ceil(n / NODES), 'indexer-add');
      return n;
    };
  },
  'indexer-update-same': (n) => {
    const first = pods(n, 0);
    const indexer = fill(newIndexer(), first);
    return () => {
      fill(indexer, first);
      return n;
    };
  },
  'indexer-update-move': (n) => {
    const [first, moved] = [pods(n, 0), pods(n, 1)];
    const indexer = fill(newIndexer(), first);
    return () => {
      fill(indexer, moved);
      fill(indexer, first);
      must(indexer.indexKeys('node', 'node-0').length, Math.ceil(n / NODES), 'indexer-update-move');
      return 2 * n;
    };
  },
  'indexer-by-index': (n) => {
    const indexer = fill(newIndexer(), pods(n, 0));
    return () => {
      let seen = 0;
      for (let i = 0; i < 20_000; i++) seen += indexer.byIndex('node', `node-${i % NODES}`).length;
      if (n % NODES === 0) must(seen, 20_000 * (n / NODES), 'indexer-by-index');
      return 20_000;
    };
  },
  'indexer-get': (n) => gets(n, (i) => i % n),
  'indexer-get-random': (n) => gets(n, (i) => (i * STRIDE) % n),
};

/** The step between two keys, so that they are read in another order than the one in memory. */
const STRIDE = 61_837;
const GETS = 1_000_000;

function gets(n: number, at: (i: number) => number): () => number {
  const { keys } = names(n);
  // computed before the gets: a remainder of numbers beyond 2^31 takes JavaScript longer than a get
  const order = Int32Array.from({ length: GETS }, (_, i) => at(i));
  const indexer = fill(newIndexer(), pods(n, 0));
  return () => {
    let seen = 0;
    for (let i = 0; i < GETS; i++)
      if (indexer.getByKey(keys[order[i] as number] ?? '') !== undefined) seen++;
    must(seen, GETS, 'indexer-get');
    return GETS;
  };
}
