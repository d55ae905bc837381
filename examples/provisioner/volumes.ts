/**
 * Deletes released volumes and their directories. Invariants: data is deleted only when the volume
 * is `Released`, its reclaim policy is `Delete` and the PersistentVolume is marked for deletion;
 * the PersistentVolume is removed only after its data.
 */
import type { Indexer } from 'capstan/cache';
import {
  type Client,
  containsFinalizer,
  finalizer,
  ignoreNotFound,
  isBeingDeleted,
  mergeFrom,
  removeFinalizer,
} from 'capstan/client';
import { TerminalError } from 'capstan/controller';
import type { Directories } from './directories.ts';
import { FINALIZER, PersistentVolume, PROVISIONED_BY, type VolumeObject } from './resources.ts';

export interface VolumesOptions {
  readonly provisioner: string;
  readonly client: Client;
  readonly volumes: Pick<Indexer<VolumeObject, 'byUid'>, 'byIndex'>;
  readonly directories: Directories;
}

export class Volumes {
  readonly #options: VolumesOptions;

  constructor(options: VolumesOptions) {
    this.#options = options;
  }

  byUid(uid: string): VolumeObject | undefined {
    return this.#options.volumes.byIndex('byUid', uid)[0];
  }

  /** Whether this provisioner created the volume. */
  isOurs({ metadata }: VolumeObject): boolean {
    return metadata.annotations?.[PROVISIONED_BY] === this.#options.provisioner;
  }

  async reclaim(uid: string, signal: AbortSignal): Promise<void> {
    const volume = this.byUid(uid);
    if (volume === undefined) return;
    if (volume.spec.persistentVolumeReclaimPolicy !== 'Delete') return this.#retain(volume, signal);
    const released = volume.status?.phase === 'Released';
    // still bound: its release queues it again
    if (isBeingDeleted(volume) && !released) return;
    const { client, directories } = this.#options;
    const { name = '' } = volume.metadata;
    await finalizer(
      client,
      PersistentVolume,
      FINALIZER,
      volume,
      {
        // Mark it for deletion first, so that it cannot be bound any more.
        apply: () =>
          released
            ? client
                .delete(PersistentVolume, { name }, { preconditions: { uid }, signal })
                .catch(ignoreNotFound)
            : undefined,
        cleanup: () => directories.remove(this.#nameOf(volume)),
      },
      { signal },
    );
  }

  /** Removes the finalizer: the data is not to be deleted. */
  async #retain(volume: VolumeObject, signal: AbortSignal): Promise<void> {
    if (!containsFinalizer(volume, FINALIZER)) return;
    const { name = '' } = volume.metadata;
    const patch = mergeFrom(volume, { optimisticLock: true }).to(
      removeFinalizer(volume, FINALIZER),
    );
    await this.#options.client
      .patch(PersistentVolume, { name }, patch, { signal })
      .catch(ignoreNotFound);
  }

  /** Rejects a volume whose path is not its own directory. */
  #nameOf({ metadata: { name = '' }, spec: { hostPath } }: VolumeObject): string {
    const path = this.#options.directories.pathOf(name);
    if (hostPath?.path === path) return name;
    throw new TerminalError(
      `the directory of ${name} is ${path}, but the volume says ${hostPath?.path}`,
    );
  }
}
