/** The objects of recorded stores and queues. */
import { metaNamespaceKeyFunc } from 'capstan/cache';
import type { Step } from '../runner.ts';

export interface Recorded {
  readonly ns: string;
  readonly name: string;
  readonly rv: string;
  readonly node: string;
  readonly labels: readonly string[];
}

export interface Item {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly resourceVersion: string;
  };
  readonly node: string;
  readonly labels: readonly string[];
}

export const toItem = ({ ns, name, rv, node, labels }: Recorded): Item => ({
  metadata: { namespace: ns, name, resourceVersion: rv },
  node,
  labels,
});

export const fromItem = ({ metadata, node, labels }: Item): Recorded => ({
  ns: metadata.namespace,
  name: metadata.name,
  rv: metadata.resourceVersion,
  node,
  labels,
});

export const object = (step: Step): Item => toItem(step.object as Recorded);

export const objects = (step: Step): Item[] => (step.objects as readonly Recorded[]).map(toItem);

export function sortedByKey(items: readonly Item[]): Recorded[] {
  const keyed = items.map((item) => ({ key: metaNamespaceKeyFunc(item), item: fromItem(item) }));
  return keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)).map(({ item }) => item);
}
