/**
 * The provisioner as a runnable of a manager: informers feed two queues of uids, one of claims and
 * one of volumes, each with its own workers. Its only state is the API and the notes of unfinished
 * directories, so that another process can continue after a crash.
 */
import {
  DeletedFinalStateUnknown,
  FilteringResourceEventHandler,
  type Resource,
  type ResourceEventHandler,
} from 'capstan/cache';
import { type ObjectMeta, objectReference } from 'capstan/client';
import { type Runnable, withFields } from 'capstan/controller';
import type { ControllerManager } from 'capstan/manager';
import type { RateLimiter } from 'capstan/workqueue';
import { Claims } from './claims.ts';
import { Directories } from './directories.ts';
import {
  type ClassObject,
  PersistentVolume,
  PersistentVolumeClaim,
  PROVISIONER,
  StorageClass,
} from './resources.ts';
import { type Failure, UidQueue } from './uid-queue.ts';
import { Volumes } from './volumes.ts';

export interface ProvisionerOptions {
  /** The root of the directories. Pods mount them by this path, so every node must have it. */
  readonly root: string;
  /** The `provisioner` of its StorageClasses. Default `capstan.dev/directory`. */
  readonly name?: string;
  /** The workers of each queue. Default 4. */
  readonly workers?: number;
  /** The time limit of one try, in milliseconds. Default 60 000. */
  readonly timeout?: number;
  /**
   * After this many failures in a row a claim or volume is given up until it changes. Default 15.
   */
  readonly maxFailures?: number;
  /**
   * Makes the rate limiter of a queue. Default: 15 s to 1000 s per uid, and 10 a second in total.
   */
  readonly rateLimiter?: () => RateLimiter;
}

/** Runs while this process leads. */
export class Provisioner implements Runnable {
  readonly name: string;
  readonly #informers;
  readonly #directories: Directories;
  readonly #claims: Claims;
  readonly #volumes: Volumes;
  readonly #claimQueue: UidQueue;
  readonly #volumeQueue: UidQueue;

  constructor(manager: ControllerManager, options: ProvisionerOptions) {
    const {
      name = PROVISIONER,
      workers = 4,
      timeout = 60_000,
      maxFailures = 15,
      rateLimiter,
    } = options;
    const { client, cache, clock } = manager;
    this.name = name;
    this.#informers = {
      claims: cache.informerFor(PersistentVolumeClaim),
      volumes: cache.informerFor(PersistentVolume),
      classes: cache.informerFor(StorageClass),
    };
    const { claims, volumes, classes } = this.#informers;
    const events = manager.eventRecorder(name);
    this.#directories = new Directories(options.root);
    const shared = { provisioner: name, client, directories: this.#directories };
    this.#claims = new Claims({
      ...shared,
      claims: claims.getIndexer(),
      classes: classes.lister(),
      events,
    });
    this.#volumes = new Volumes({ ...shared, volumes: volumes.getIndexer() });
    const settings = {
      ...{ workers, timeout, maxFailures, clock },
      logger: withFields(manager.logger, { provisioner: name }),
      metricsProvider: manager.queueMetrics,
      mayWork: () => manager.holdsLease(),
    };
    /** Writes an Event about an object that could not be worked on. */
    const reporting =
      <T extends object>(
        resource: Resource<T, string>,
        byUid: (uid: string) => T | undefined,
        action: string,
        reasons: { failed: string; givenUp: string },
      ) =>
      (uid: string, failure: Failure): void => {
        const object = byUid(uid);
        if (object === undefined) return;
        const reason = failure.givenUp ? reasons.givenUp : reasons.failed;
        const note = noteOf(failure);
        events.event(objectReference(resource, object), { type: 'Warning', reason, action, note });
      };
    this.#claimQueue = new UidQueue({
      ...settings,
      name: 'claims',
      rateLimiter: rateLimiter?.(),
      work: (uid, signal) => this.#claims.provision(uid, signal),
      onFailure: reporting(
        PersistentVolumeClaim,
        (uid) => this.#claims.byUid(uid),
        'Provisioning',
        { failed: 'ProvisioningFailed', givenUp: 'ProvisioningGivenUp' },
      ),
    });
    this.#volumeQueue = new UidQueue({
      ...settings,
      name: 'volumes',
      rateLimiter: rateLimiter?.(),
      work: (uid, signal) => this.#volumes.reclaim(uid, signal),
      onFailure: reporting(PersistentVolume, (uid) => this.#volumes.byUid(uid), 'Deleting', {
        failed: 'VolumeFailedDelete',
        givenUp: 'VolumeDeletionGivenUp',
      }),
    });
  }

  /** The manager calls this after the informers have synced. */
  async start({ signal }: { signal: AbortSignal }): Promise<void> {
    for (const { uid } of await this.#directories.unfinished()) this.#claimQueue.add(uid);
    const { claims, volumes, classes } = this.#informers;
    const ofClasses = classes.addEventHandler(this.#onClasses());
    const ofClaims = claims.addEventHandler(
      feed(this.#claimQueue, (claim) => this.#claims.isOurs(claim)),
    );
    const ofVolumes = volumes.addEventHandler(
      feed(this.#volumeQueue, (volume) => this.#volumes.isOurs(volume)),
    );
    try {
      await Promise.all([this.#claimQueue.run(signal), this.#volumeQueue.run(signal)]);
    } finally {
      classes.removeEventHandler(ofClasses);
      claims.removeEventHandler(ofClaims);
      volumes.removeEventHandler(ofVolumes);
    }
  }

  /** A class may be created after its claims. */
  #onClasses(): ResourceEventHandler<ClassObject> {
    const look = (storageClass: ClassObject): void => {
      if (storageClass.provisioner !== this.name) return;
      for (const { metadata } of this.#claims.ofClass(storageClass))
        this.#claimQueue.changed(metadata.uid ?? '');
    };
    return {
      onAdd: look,
      onUpdate: (old, now) => {
        if (old.metadata.resourceVersion !== now.metadata.resourceVersion) look(now);
      },
    };
  }
}

/**
 * Queues the uids of objects that pass the filter. An unchanged object in a relist does not count
 * as changed.
 */
function feed<T extends { metadata: ObjectMeta }>(
  queue: UidQueue,
  filterFunc: (object: T) => boolean,
): ResourceEventHandler<T> {
  const uidOf = ({ metadata: { uid = '' } }: T): string => uid;
  return new FilteringResourceEventHandler<T>({
    filterFunc,
    handler: {
      onAdd: (object) => queue.changed(uidOf(object)),
      onUpdate(old, now) {
        // deleted and created again while the watch was down
        if (uidOf(old) !== uidOf(now)) queue.gone(uidOf(old));
        if (old.metadata.resourceVersion === now.metadata.resourceVersion) queue.add(uidOf(now));
        else queue.changed(uidOf(now));
      },
      onDelete(gone) {
        const last = gone instanceof DeletedFinalStateUnknown ? gone.obj : gone;
        if (last !== undefined) queue.gone(uidOf(last));
      },
    },
  });
}

function noteOf({ error, failures, givenUp }: Failure): string {
  const why = error instanceof Error ? error.message : String(error);
  return givenUp ? `given up after ${failures} failures, until it changes: ${why}` : why;
}
