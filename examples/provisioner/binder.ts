/**
 * Replaces the part of kube-controller-manager that a server without one (the embedded one, or
 * envtest's) lacks: it binds a claim to the volume that names it, sets the phase `Released` on a
 * volume whose claim was deleted, and removes the protection finalizers. Do not run it in a
 * cluster.
 */

import type { Resource } from 'capstan/cache';
import {
  type Client,
  ignoreNotFound,
  isBeingDeleted,
  mergeFrom,
  removeFinalizer,
} from 'capstan/client';
import { enqueueRequestsFromMapFunc, newControllerManagedBy } from 'capstan/controller';
import type { ControllerManager } from 'capstan/manager';
import {
  type ClaimObject,
  PersistentVolume,
  PersistentVolumeClaim,
  type VolumeObject,
  volumeNameOf,
} from './resources.ts';

const VOLUME_PROTECTION = 'kubernetes.io/pv-protection';
const CLAIM_PROTECTION = 'kubernetes.io/pvc-protection';
/**
 * Milliseconds until a claim that is on the server but not in the cache is read again: its event
 * may arrive, or it may be deleted before the watch is back.
 */
const UNSEEN_CLAIM_MS = 1000;

export function addBinder(manager: ControllerManager): void {
  const { client } = manager;
  const claims = manager.cache.informerFor(PersistentVolumeClaim).getIndexer();
  newControllerManagedBy(manager)
    .named('binder')
    .for(PersistentVolume)
    .watches(
      PersistentVolumeClaim,
      enqueueRequestsFromMapFunc(({ metadata: { uid = '' } }: ClaimObject) => [
        { namespace: '', name: volumeNameOf(uid) },
      ]),
    )
    .withOptions({ maxConcurrentReconciles: 8 })
    .complete(async (request, { get, signal }) => {
      const volume = get(request);
      const [claim] = claims.byIndex('byUid', request.name.slice(volumeNameOf('').length));
      if (claim !== undefined && isBeingDeleted(claim)) {
        await unprotect(client, PersistentVolumeClaim, claim, CLAIM_PROTECTION, signal);
      } else if (claim !== undefined && volume !== undefined) {
        await bind(client, claim, volume, signal);
      } else if (volume !== undefined) {
        if (await isClaimed(client, volume, signal)) return { requeueAfter: UNSEEN_CLAIM_MS };
        await setPhase(client, PersistentVolume, volume, 'Released', signal);
        if (isBeingDeleted(volume))
          await unprotect(client, PersistentVolume, volume, VOLUME_PROTECTION, signal);
      }
      return {};
    });
}

/**
 * Reads a claim that is not in the cache from the server: the two watches are not synchronised, and
 * after a restart of the server the watch of volumes may be back seconds before that of claims.
 * Data is deleted because of this answer; kube-controller-manager reads live here too.
 */
async function isClaimed(
  client: Client,
  { spec: { claimRef } }: VolumeObject,
  signal: AbortSignal,
): Promise<boolean> {
  if (claimRef === undefined) return false;
  const claim = await client
    .get(PersistentVolumeClaim, claimRef, { live: true, signal })
    .catch(ignoreNotFound);
  return claim?.metadata.uid === claimRef.uid;
}

async function bind(
  client: Client,
  claim: ClaimObject,
  volume: VolumeObject,
  signal: AbortSignal,
): Promise<void> {
  await setPhase(client, PersistentVolume, volume, 'Bound', signal);
  const { namespace, name = '' } = claim.metadata;
  if (claim.spec.volumeName === undefined) {
    const patch = { type: 'merge', body: { spec: { volumeName: volume.metadata.name } } } as const;
    await client
      .patch(PersistentVolumeClaim, { namespace, name }, patch, { signal })
      .catch(ignoreNotFound);
  }
  await setPhase(client, PersistentVolumeClaim, claim, 'Bound', signal);
}

async function setPhase<T extends ClaimObject | VolumeObject>(
  client: Client,
  resource: Resource<T, string>,
  { metadata: { namespace, name = '' }, status }: T,
  phase: 'Bound' | 'Released',
  signal: AbortSignal,
): Promise<void> {
  if (status?.phase === phase) return;
  const patch = { type: 'merge', body: { status: { phase } } } as const;
  await client
    .status()
    .patch(resource, { namespace, name }, patch, { signal })
    .catch(ignoreNotFound);
}

async function unprotect<T extends ClaimObject | VolumeObject>(
  client: Client,
  resource: Resource<T, string>,
  object: T,
  protection: string,
  signal: AbortSignal,
): Promise<void> {
  const next = removeFinalizer(object, protection);
  if (next === object) return;
  const { namespace, name = '' } = object.metadata;
  const patch = mergeFrom(object, { optimisticLock: true }).to(next);
  await client.patch(resource, { namespace, name }, patch, { signal }).catch(ignoreNotFound);
}
