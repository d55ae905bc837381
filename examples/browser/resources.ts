/**
 * The resources that the page shows and the proxy passes on, with the members that the page reads.
 */
import { defineResource } from 'capstan/cache';
import * as kinds from 'capstan/kinds';

interface Metadata {
  name: string;
  namespace?: string;
  uid?: string;
  labels?: Record<string, string>;
  creationTimestamp?: string;
  deletionTimestamp?: string;
}

interface Condition {
  type: string;
  status: string;
  reason?: string;
}

export interface PodObject {
  metadata: Metadata;
  spec?: { nodeName?: string; containers?: { name: string; image: string }[] };
  status?: {
    phase?: string;
    reason?: string;
    containerStatuses?: {
      ready?: boolean;
      restartCount?: number;
      state?: { waiting?: { reason?: string } };
    }[];
  };
}

export interface NodeObject {
  metadata: Metadata;
  spec?: { unschedulable?: boolean };
  status?: { conditions?: Condition[] };
}

export const Pod = defineResource<PodObject>()({
  ...kinds.Pod,
  indexers: { byNode: 'spec.nodeName' },
});

export const Node = defineResource<NodeObject>()(kinds.Node);
