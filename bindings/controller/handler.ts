/**
 * From a notification to the requests it concerns. A handler only names requests; what they need is found out by the
 * reconcile function from the cache, so that a notification that came twice or late does no harm.
 *
 * What no change stands behind comes last: an object of an initial list and an update that changed nothing (a resync or a relist) have
 * {@link LowPriority}, so that a controller that starts or resyncs still answers to what happens meanwhile.
 * controller-runtime: pkg/handler/enqueue.go, pkg/handler/eventhandler.go, pkg/handler/enqueue_owner.go, pkg/internal/source/event_handler.go.
 */

import type { ResourceEventHandler } from '../cache/handler.ts';
import { DeletedFinalStateUnknown, type KubeObject, splitMetaNamespaceKey } from '../cache/keys.ts';
import type { Resource } from '../cache/resource.ts';
import { CapstanError, show } from '../errors.ts';
import { handleError } from '../handle-error.ts';
import type { Request } from '../request.ts';

export type Enqueue = (request: Request, priority: number) => void;

/** The priority of requests behind which there is no change. controller-runtime: `handler.LowPriority`. */
export const LowPriority = -100;
const NORMAL_PRIORITY = 0;

function priorityOfAdd(isInInitialList: boolean): number {
  return isInInitialList ? LowPriority : NORMAL_PRIORITY;
}

function priorityOfUpdate(old: object, now: object): number {
  return versionOf(old) === versionOf(now) ? LowPriority : NORMAL_PRIORITY;
}

function versionOf(object: KubeObject): string {
  return object.metadata?.resourceVersion ?? '';
}

/** The request of each object itself. A tombstone without its object has its key, which is enough. */
export function enqueueRequestForObject(enqueue: Enqueue): ResourceEventHandler<object> {
  return {
    onAdd: (object, isInInitialList) => enqueue(requestOf(object), priorityOfAdd(isInInitialList)),
    onUpdate: (old, now) => enqueue(requestOf(now), priorityOfUpdate(old, now)),
    onDelete: (object) => {
      if (!(object instanceof DeletedFinalStateUnknown)) enqueue(requestOf(object), NORMAL_PRIORITY);
      else if (object.obj !== undefined) enqueue(requestOf(object.obj as object), NORMAL_PRIORITY);
      else enqueue(splitMetaNamespaceKey(object.key), NORMAL_PRIORITY);
    },
  };
}

/** The resource of the owners. */
export type Owner = Pick<Resource<never, string>, 'group' | 'kind' | 'namespaced'>;

export interface OwnerOptions {
  /** Only the owner reference with `controller: true`, of which there is at most one. */
  onlyController?: boolean;
}

/**
 * The requests of the owners of each object that are of the group and kind of `owner`, whatever their version: before
 * and after an update, so that an owner that lost the object hears of it too. The owner of a tombstone without its
 * object is not known; its resync or its next change repairs that.
 */
export function enqueueRequestForOwner(
  owner: Owner,
  enqueue: Enqueue,
  options: OwnerOptions = {},
): ResourceEventHandler<object> {
  const forOwners = (priority: number, ...objects: object[]): void => {
    const requests = new Map<string, Request>();
    for (const object of objects) {
      for (const request of ownersOf(object, owner, options)) {
        requests.set(JSON.stringify([request.namespace, request.name]), request);
      }
    }
    for (const request of requests.values()) enqueue(request, priority);
  };
  return {
    onAdd: (object, isInInitialList) => forOwners(priorityOfAdd(isInInitialList), object),
    onUpdate: (old, now) => forOwners(priorityOfUpdate(old, now), old, now),
    onDelete: (object) => {
      if (!(object instanceof DeletedFinalStateUnknown)) forOwners(NORMAL_PRIORITY, object);
      else if (object.obj !== undefined) forOwners(NORMAL_PRIORITY, object.obj as object);
    },
  };
}

interface OwnerReference {
  apiVersion?: string;
  kind?: string;
  name?: string;
  controller?: boolean;
}

/** Stops at the first reference whose apiVersion cannot be parsed; what was found before it counts. */
function* ownersOf(object: object, owner: Owner, { onlyController = false }: OwnerOptions): Generator<Request> {
  const metadata = (object as KubeObject & { metadata?: { ownerReferences?: OwnerReference[] } }).metadata;
  const references = metadata?.ownerReferences ?? [];
  const namespace = owner.namespaced ? (metadata?.namespace ?? '') : '';
  for (const { apiVersion = '', kind, name, controller } of references) {
    if (onlyController && controller !== true) continue;
    const group = groupOf(apiVersion);
    if (group === undefined) {
      const where = `the owner references of ${metadata?.namespace ?? ''}/${metadata?.name}`;
      const expected = 'expected an apiVersion "version" or "group/version"';
      handleError(
        new CapstanError('INVALID_ARGUMENT', `${where}: ${expected}, got ${show(apiVersion)}`),
        'owner handler',
      );
      return;
    }
    if (group === owner.group && kind === owner.kind && name !== undefined) yield { namespace, name };
    if (onlyController) return; // metav1.GetControllerOf: the first one
  }
}

/** apimachinery: schema.ParseGroupVersion; `undefined` where that is an error. */
function groupOf(apiVersion: string): string | undefined {
  const parts = apiVersion.split('/');
  if (parts.length > 2) return undefined;
  return parts.length === 2 ? parts[0] : '';
}

function requestOf(object: object): Request {
  const { namespace, name } = (object as KubeObject).metadata ?? {};
  return { namespace: namespace ?? '', name: name ?? '' };
}
