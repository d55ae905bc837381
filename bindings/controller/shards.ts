/**
 * Shards as controllers see them: which requests this process may reconcile now. `capstan/manager`
 * implements them for its option `shards`.
 *
 * A request is in the slot of its namespace, or of its name if it has no namespace. A controller
 * adds and reconciles a request only while its slot is open in this process. It drops the others:
 * when a slot opens, the controller handles all objects of the slot again, as at a start.
 */

import type { Clock } from '../base/clock.ts';
import { CapstanError } from '../base/errors.ts';
import { handleError, Seldom } from '../base/handle-error.ts';
import { type Request, requestKey } from '../base/request.ts';
import type { Resource } from '../base/resource.ts';
import type { AddOptions } from '../workqueue/index.ts';
import type { Cause, SourceQueue } from './source.ts';

/** The shards of a manager. */
export interface Shards {
  /** The slots that are open in this process now, sorted. */
  readonly slots: readonly number[];
  /**
   * Whether the slot of an object is open in this process now.
   *
   * @param resource the object's; needed only if it is cluster-scoped and the key has a namespace
   */
  owns(
    key: { readonly namespace?: string | undefined; readonly name: string },
    resource?: Resource<never, string>,
  ): boolean;
  /**
   * Resolves when all slots that this process owns are open. Rejects with CapstanError ABORTED when
   * the signal fires.
   */
  ready(options?: { signal?: AbortSignal | undefined }): Promise<void>;
}

/** The shards as controllers use them. */
export interface ShardGate extends Shards {
  /**
   * Begins work of a request and returns its slot. Call `leave` with the slot when the work has
   * ended. Returns `undefined` if the slot is not open here.
   */
  enter(request: Request): number | undefined;
  leave(slot: number): void;
  /** The slot of a request; `undefined` before the first map. */
  slotOf(request: Request): number | undefined;
  /** Whether the slot of a request is open here. */
  isOpen(request: Request): boolean;
  /** Whether the caches have the objects of the request's slot. */
  hasObjects(request: Request): boolean;
  /** Whether every replica has all objects of a resource (`shared`). */
  isShared(resource: Resource<never, string>): boolean;
  /** Adds a controller. The returned function removes it. */
  join(worker: ShardWorker): () => void;
}

/** A controller as the shards see it. */
export interface ShardWorker {
  readonly name: string;
  /** What it reconciles. The edges between slots are chosen by these objects. */
  readonly resource: Resource<never, string> | undefined;
  /** Whether its sources have synced. */
  isPrepared(): boolean;
  /** Handles the objects of slots that have opened. */
  opened(has: (request: Request) => boolean): void;
  /** Aborts running reconciles. */
  abort(which: (request: Request) => boolean, reason: CapstanError): void;
}

/** The text whose hash decides the slot: the namespace, or the name if there is none. */
export const shardText = ({ namespace, name }: Request): string => namespace || name;

export function notOwned(what: string): CapstanError {
  return new CapstanError(
    'SHARD_NOT_OWNED',
    `${what}: this replica does not run its slot; the owner of the slot reconciles the object`,
  );
}

/** A queue that drops requests whose slot is not open here. */
export function ownedQueue(queue: SourceQueue, shards: ShardGate): SourceQueue {
  return {
    addWithCause(options, request, cause) {
      if (shards.isOpen(request)) queue.addWithCause(options, request, cause);
    },
  };
}

/**
 * Reports a request in another namespace than that of the event's object: the owner of its slot may
 * be a replica that does not get the event.
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
            'which another replica may own, and that replica does not get the event: make ' +
            `${object.kind} shared (cache.perResource), or return requests of its namespace only`,
        );
        handleError(error, `source "${source}"`, more);
      });
    this.#queue.addWithCause(options, request, cause);
  }
}

/**
 * Throws CapstanError SHARD_CROSSED if objects of `watched` and the objects that their events
 * request are in different slots.
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
      'with shards their objects are in different slots, and the owner of one does not get the ' +
      `events of the other. Make it shared: cache: { perResource: new Map([[${watched.kind}, ` +
      '{ shared: true }]]) }',
  );
}

/** A Namespace is in the slot of its content, as its name is hashed. */
const slotsBy = ({ namespaced, group, kind }: Resource<never, string>): 'namespace' | 'name' =>
  namespaced || (group === '' && kind === 'Namespace') ? 'namespace' : 'name';
