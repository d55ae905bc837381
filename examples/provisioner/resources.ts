/**
 * The kinds that the provisioner uses, with the members that it reads and writes, and the names
 * that it sets on them.
 */
import { defineResource } from 'capstan/cache';
import type { ObjectMeta } from 'capstan/client';
import * as kinds from 'capstan/kinds';

/** The `provisioner` of the StorageClasses that this program serves. */
export const PROVISIONER = 'capstan.dev/directory';
/** Finalizer of volumes: their directory exists and must be removed first. */
export const FINALIZER = 'capstan.dev/directory';
/** Annotation of volumes: their provisioner. Kubernetes' name for it. */
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

/** The claim of a volume. */
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
  ...kinds.PersistentVolumeClaim,
  indexers: { byUid: 'metadata.uid', byClass: 'spec.storageClassName' },
});

export const PersistentVolume = defineResource<VolumeObject>()({
  ...kinds.PersistentVolume,
  indexers: { byUid: 'metadata.uid' },
});

export const StorageClass = defineResource<ClassObject>()(kinds.StorageClass);

/**
 * The volume's name is derived from the claim, so that a second provisioner, or this one after a
 * crash, cannot create a second volume.
 */
export const volumeNameOf = (uid: string): string => `pvc-${uid}`;
