/**
 * From a notification to the requests it concerns. A handler only names requests; what they need is found out by the
 * reconcile function from the cache, so that a notification that came twice or late does no harm.
 * controller-runtime: pkg/handler/enqueue.go, pkg/handler/enqueue_owner.go, pkg/internal/source/event_handler.go.
 */
import { DeletedFinalStateUnknown, type KubeObject, splitMetaNamespaceKey } from '../cache/keys.ts';
import type { ResourceEventHandler } from '../cache/processor.ts';
import type { Resource } from '../cache/resource.ts';
import { CapstanError, show } from '../errors.ts';
import { handleError } from '../handle-error.ts';
import type { Request } from '../request.ts';

export type Enqueue = (request: Request) => void;

/** The request of each object itself. A tombstone without its object has its key, which is enough. */
export function enqueueRequestForObject(enqueue: Enqueue): ResourceEventHandler<object> {
  const forObject = (object: object): void => enqueue(requestOf(object));
  return {
    onAdd: forObject,
    onUpdate: (_old, now) => forObject(now),
    onDelete: (object) => {
      if (!(object instanceof DeletedFinalStateUnknown)) forObject(object);
      else if (object.obj !== undefined) forObject(object.obj as object);
      else enqueue(splitMetaNamespaceKey(object.key));
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
  const forOwners = (...objects: object[]): void => {
    const requests = new Map<string, Request>();
    for (const object of objects) {
      for (const request of ownersOf(object, owner, options)) {
        requests.set(JSON.stringify([request.namespace, request.name]), request);
      }
    }
    for (const request of requests.values()) enqueue(request);
  };
  return {
    onAdd: (object) => forOwners(object),
    onUpdate: (old, now) => forOwners(old, now),
    onDelete: (object) => {
      if (!(object instanceof DeletedFinalStateUnknown)) forOwners(object);
      else if (object.obj !== undefined) forOwners(object.obj as object);
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
