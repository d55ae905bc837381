/** The objects of recorded stores and queues. */
import { metaNamespaceKeyFunc } from 'capstan/cache';
import type { TraceStep } from '../runner.ts';

export interface Recorded {
  readonly ns: string;
  readonly name: string;
  readonly rv: string;
  readonly node: string;
  readonly labels: readonly string[];
}

export interface ItemObject {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly resourceVersion: string;
  };
  readonly node: string;
  readonly labels: readonly string[];
}

const toItem = ({ ns, name, rv, node, labels }: Recorded): ItemObject => ({
  metadata: { namespace: ns, name, resourceVersion: rv },
  node,
  labels,
});

export const fromItem = ({ metadata, node, labels }: ItemObject): Recorded => ({
  ns: metadata.namespace,
  name: metadata.name,
  rv: metadata.resourceVersion,
  node,
  labels,
});

export const stepObject = (step: TraceStep): ItemObject => toItem(step.object as Recorded);

export const stepObjects = (step: TraceStep): ItemObject[] =>
  (step.objects as readonly Recorded[]).map(toItem);

export function sortedByKey(items: readonly ItemObject[]): Recorded[] {
  const keyed = items.map((item) => ({ key: metaNamespaceKeyFunc(item), item: fromItem(item) }));
  return keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)).map(({ item }) => item);
}
