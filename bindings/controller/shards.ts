/**
 * Shards as controllers see them: which requests this process may reconcile at a moment.
 * `capstan/manager` implements it for its option `shards`.
 *
 * A request belongs to the slot of its namespace; a request without one to that of its name. It is
 * added and reconciled only while its slot is open here. When a slot opens, its objects are handled
 * again as at a start, so that whatever was dropped before comes again.
 */

import type { Clock } from '../base/clock.ts';
import { CapstanError } from '../base/errors.ts';
import { handleError, Seldom } from '../base/handle-error.ts';
import { type Request, requestKey } from '../base/request.ts';
import type { Resource } from '../cache/rest/resource.ts';
import type { AddOptions } from '../workqueue/index.ts';
import type { Cause, SourceQueue } from './source.ts';

/** The shards of a manager. */
export interface Shards {
  /** The slots that this process runs now, sorted. */
  readonly slots: readonly number[];
  /**
   * Whether this process runs the slot of an object at this moment.
   *
   * @param resource of a cluster-scoped object, if the key has a namespace all the same
   */
  owns(
    key: { readonly namespace?: string | undefined; readonly name: string },
    resource?: Resource<never, string>,
  ): boolean;
  /**
   * Resolves when this process runs all slots that the map gives it. Rejects with ABORTED when the
   * signal fires.
   */
  ready(options?: { signal?: AbortSignal | undefined }): Promise<void>;
}

/** What a controller needs of the shards beside. */
export interface ShardGate extends Shards {
  /** Begins work; undefined if the request's slot is not open here. Call `leave` with the slot. */
  enter(request: Request): number | undefined;
  leave(slot: number): void;
  /** The slot of a request; undefined before there are slots. */
  slotOf(request: Request): number | undefined;
  /** Whether requests of its slot are taken. */
  isOpen(request: Request): boolean;
  /** Whether the cache has the objects of its slot. */
  hasObjects(request: Request): boolean;
  /** Whether the cache has all objects of a resource. */
  isShared(resource: Resource<never, string>): boolean;
  /** Adds a controller. The returned function removes it. */
  join(worker: ShardWorker): () => void;
}

/** A controller as the shards see it. */
export interface ShardWorker {
  readonly name: string;
  /** What it reconciles, for the choice of the slots. */
  readonly resource: Resource<never, string> | undefined;
  /** Its sources have synced. */
  isPrepared(): boolean;
  /** Handles the objects of slots that have opened. */
  opened(has: (request: Request) => boolean): void;
  /** Aborts runs. */
  abort(which: (request: Request) => boolean, reason: CapstanError): void;
}

/** The request's namespace, or its name if it has none: what is hashed. */
export const shardText = ({ namespace, name }: Request): string => namespace || name;

export function notOwned(what: string): CapstanError {
  return new CapstanError(
    'SHARD_NOT_OWNED',
    `${what}: its slot is not run by this replica; the one that has it reconciles it`,
  );
}

/** Takes requests of open slots only. */
export function ownedQueue(queue: SourceQueue, shards: ShardGate): SourceQueue {
  return {
    addWithCause(options, request, cause) {
      if (shards.isOpen(request)) queue.addWithCause(options, request, cause);
    },
  };
}

/**
 * Reports requests for objects of another slot than that of the event's object: a replica that owns
 * such an object does not get the event.
 */
export class CrossingCheck implements SourceQueue {
  readonly #queue: SourceQueue;
  readonly #seldom: Seldom;

  constructor(queue: SourceQueue, clock: Clock) {
    this.#queue = queue;
    this.#seldom = new Seldom(clock);
  }

  addWithCause(options: AddOptions, request: Request, cause: Cause): void {
    const { object, source } = cause;
    if (object !== undefined && shardText(object) !== shardText(request))
      this.#seldom.say('crossed', (more) => {
        const error = new CapstanError(
          'SHARD_CROSSED',
          `an event of ${object.kind} ${requestKey(object)} requests ${requestKey(request)}, ` +
            'which may belong to another replica, and that one does not get the event: ' +
            `make ${object.kind} shared (cache.perResource), or map within a namespace`,
        );
        handleError(error, `source "${source}"`, more);
      });
    this.#queue.addWithCause(options, request, cause);
  }
}

/**
 * Throws CapstanError SHARD_CROSSED for a resource whose events cannot request objects of their own
 * slot.
 */
export function requireSameSlot(
  how: 'owns' | 'watches',
  watched: Resource<never, string>,
  main: Resource<never, string> | undefined,
  shards: ShardGate,
): void {
  if (main === undefined || shards.isShared(watched)) return;
  if (slotsBy(watched) === 'namespace' && slotsBy(main) === 'namespace') return;
  if (how === 'watches' && watched === main) return;
  const scope = ({ namespaced }: Resource<never, string>): string =>
    namespaced ? 'has namespaces' : 'is cluster-scoped';
  throw new CapstanError(
    'SHARD_CROSSED',
    `${how} ${watched.kind}, which ${scope(watched)}, for ${main.kind}, which ${scope(main)}: ` +
      'with shards their objects lie in different slots, and the replica that owns one does not ' +
      `get the events of the other. Share it: cache: { perResource: new Map([[${watched.kind}, ` +
      '{ shared: true }]]) }',
  );
}

/** A Namespace lies where its content does. */
const slotsBy = ({ namespaced, group, kind }: Resource<never, string>): 'namespace' | 'name' =>
  namespaced || (group === '' && kind === 'Namespace') ? 'namespace' : 'name';
