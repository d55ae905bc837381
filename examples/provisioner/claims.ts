/**
 * Provisions the volume of a claim. Invariants: the name of the volume is derived from the claim's
 * uid, and each step is idempotent, so that the next try completes after a crash at any point; a
 * deleted claim leaves no directory behind.
 */
import type { Indexer, Lister } from 'capstan/cache';
import {
  type Client,
  type EventSink,
  ignoreAlreadyExists,
  ignoreNotFound,
  isBeingDeleted,
  objectReference,
} from 'capstan/client';
import { TerminalError } from 'capstan/controller';
import type { Directories } from './directories.ts';
import {
  type ClaimObject,
  type ClaimReference,
  type ClassObject,
  FINALIZER,
  PersistentVolume,
  PersistentVolumeClaim,
  PROVISIONED_BY,
  type VolumeObject,
  volumeNameOf,
} from './resources.ts';

export interface ClaimsOptions {
  readonly provisioner: string;
  readonly client: Client;
  readonly claims: Pick<Indexer<ClaimObject, 'byUid' | 'byClass'>, 'byIndex'>;
  readonly classes: Lister<ClassObject>;
  readonly directories: Directories;
  readonly events: EventSink;
}

export class Claims {
  readonly #options: ClaimsOptions;

  constructor(options: ClaimsOptions) {
    this.#options = options;
  }

  byUid(uid: string): ClaimObject | undefined {
    return this.#options.claims.byIndex('byUid', uid)[0];
  }

  /** Whether this provisioner serves the claim's class. Other claims are not queued. */
  isOurs(claim: ClaimObject): boolean {
    return this.#classOf(claim) !== undefined;
  }

  /** The claims to queue when their class is created or changes after them. */
  ofClass({ metadata: { name = '' } }: ClassObject): ClaimObject[] {
    return this.#options.claims.byIndex('byClass', name);
  }

  async provision(uid: string, signal: AbortSignal): Promise<void> {
    const { client, directories, events } = this.#options;
    const claim = this.byUid(uid);
    const name = volumeNameOf(uid);
    if (claim === undefined) return this.#abandon(name, signal);
    const storageClass = this.#classOf(claim);
    if (storageClass === undefined || isBeingDeleted(claim)) return;
    // bound to another volume by a user
    if (claim.spec.volumeName !== undefined && claim.spec.volumeName !== name) return;
    const known = await client.get(PersistentVolume, { name }, { signal }).catch(ignoreNotFound);
    if (known === undefined) {
      requireSupported(claim, storageClass);
      const reference = referenceOf(claim);
      await directories.begin(name, reference);
      signal.throwIfAborted();
      await this.#create(volumeFor(reference, claim, storageClass, this.#options), signal);
      events.event(objectReference(PersistentVolumeClaim, claim), {
        reason: 'ProvisioningSucceeded',
        action: 'Provisioning',
        note: `provisioned volume ${name}`,
      });
    }
    await directories.finish(name);
  }

  /** An earlier try may have created it and lost the answer. */
  async #create(volume: VolumeObject, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const created = await client
      .create(PersistentVolume, volume, { signal })
      .catch(ignoreAlreadyExists);
    if (created !== undefined) return;
    const { name = '' } = volume.metadata;
    const existing = await client.get(PersistentVolume, { name }, { live: true, signal });
    if (existing.spec.claimRef?.uid === volume.spec.claimRef?.uid) return;
    throw new TerminalError(`there is a PersistentVolume ${name} that was not made for this claim`);
  }

  /**
   * The claim is not in the cache any more. Removes an unfinished directory if the server confirms
   * that neither the claim nor the volume exists.
   */
  async #abandon(name: string, signal: AbortSignal): Promise<void> {
    const { client, directories } = this.#options;
    const note = await directories.noteOf(name);
    if (note === undefined) return;
    const live = { live: true, signal };
    const claim = await client.get(PersistentVolumeClaim, note, live).catch(ignoreNotFound);
    if (claim?.metadata.uid === note.uid) return; // its event will arrive
    const volume = await client.get(PersistentVolume, { name }, live).catch(ignoreNotFound);
    if (volume === undefined) await directories.remove(name);
    else await directories.finish(name); // it is Released; volumes.ts deletes it
  }

  #classOf({ spec: { storageClassName = '' } }: ClaimObject): ClassObject | undefined {
    const storageClass = this.#options.classes.get(storageClassName);
    return storageClass?.provisioner === this.#options.provisioner ? storageClass : undefined;
  }
}

function referenceOf({
  metadata: { namespace = '', name = '', uid = '' },
}: ClaimObject): ClaimReference {
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid };
}

/** Rejects claims that a directory cannot satisfy; a retry would not help. */
function requireSupported(
  { spec }: ClaimObject,
  { volumeBindingMode = 'Immediate' }: ClassObject,
): void {
  if (spec.selector !== undefined)
    throw new TerminalError('a claim with a selector cannot be provisioned');
  if (spec.volumeMode === 'Block')
    throw new TerminalError('a directory is no block device: volumeMode must be Filesystem');
  if (spec.dataSource !== undefined || spec.dataSourceRef !== undefined)
    throw new TerminalError('a directory begins empty: dataSource is not supported');
  if (volumeBindingMode !== 'Immediate')
    throw new TerminalError(
      'directories are on every node: volumeBindingMode of the class must be Immediate',
    );
}

function volumeFor(
  claimRef: ClaimReference,
  { spec }: ClaimObject,
  storageClass: ClassObject,
  { provisioner, directories }: ClaimsOptions,
): VolumeObject {
  const name = volumeNameOf(claimRef.uid);
  const { reclaimPolicy = 'Delete' } = storageClass;
  return {
    metadata: {
      name,
      annotations: { [PROVISIONED_BY]: provisioner },
      finalizers: reclaimPolicy === 'Delete' ? [FINALIZER] : [],
    },
    spec: {
      capacity: { storage: spec.resources?.requests?.storage ?? '0' },
      accessModes: spec.accessModes ?? ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: reclaimPolicy,
      storageClassName: storageClass.metadata.name,
      volumeMode: 'Filesystem',
      hostPath: { path: directories.pathOf(name), type: 'Directory' },
      claimRef,
    },
  };
}
