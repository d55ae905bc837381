/**
 * The kinds that the provisioner works with, as far as it reads and writes them, and the names that
 * it puts on them.
 */
import { defineResource } from 'capstan/cache';
import type { ObjectMeta } from 'capstan/client';

/** What a StorageClass names to be served by this program. */
export const PROVISIONER = 'capstan.dev/directory';
/** On volumes: their directory is there and has to go first. */
export const FINALIZER = 'capstan.dev/directory';
/** On volumes: who made them. Kubernetes' own name for it. */
export const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by';

export interface ClaimObject {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  spec: {
    storageClassName?: string;
    /** The volume that the claim is bound to. */
    volumeName?: string;
    accessModes?: string[];
    volumeMode?: string;
    resources?: { requests?: Record<string, string> };
    selector?: object;
    dataSource?: object;
    dataSourceRef?: object;
  };
  status?: { phase?: 'Pending' | 'Bound' | 'Lost' };
}

/** Which claim a volume is for. */
export interface ClaimReference {
  apiVersion: 'v1';
  kind: 'PersistentVolumeClaim';
  namespace: string;
  name: string;
  uid: string;
}

export interface VolumeObject {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  spec: {
    capacity: Record<string, string>;
    accessModes: string[];
    persistentVolumeReclaimPolicy?: 'Delete' | 'Retain' | 'Recycle';
    storageClassName?: string;
    volumeMode?: string;
    hostPath?: { path: string; type?: string };
    claimRef?: ClaimReference;
  };
  status?: { phase?: 'Pending' | 'Available' | 'Bound' | 'Released' | 'Failed' };
}

export interface ClassObject {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  provisioner: string;
  reclaimPolicy?: 'Delete' | 'Retain';
  volumeBindingMode?: 'Immediate' | 'WaitForFirstConsumer';
}

export const PersistentVolumeClaim = defineResource<ClaimObject>()({
  group: '',
  version: 'v1',
  kind: 'PersistentVolumeClaim',
  plural: 'persistentvolumeclaims',
  namespaced: true,
  indexers: { byUid: 'metadata.uid', byClass: 'spec.storageClassName' },
});

export const PersistentVolume = defineResource<VolumeObject>()({
  group: '',
  version: 'v1',
  kind: 'PersistentVolume',
  plural: 'persistentvolumes',
  namespaced: false,
  indexers: { byUid: 'metadata.uid' },
});

export const StorageClass = defineResource<ClassObject>()({
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'StorageClass',
  plural: 'storageclasses',
  namespaced: false,
});

/**
 * One claim, one name: a second provisioner, or this one after a crash, cannot make a second
 * volume.
 */
export const volumeNameOf = (uid: string): string => `pvc-${uid}`;
