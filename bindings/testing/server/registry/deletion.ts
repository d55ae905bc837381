/**
 * What a deletion changes in an object before it is removed: the object is marked, and stays while
 * it has finalizers or, for a Pod, until its grace period is over. apiserver:
 * pkg/registry/rest/delete.go BeforeDelete, pkg/registry/generic/registry/store.go; kubernetes:
 * pkg/registry/core/pod/strategy.go CheckGracefulDelete.
 */
import { type Json, type JsonObject, memberObject, stringAt, without } from '../json.ts';
import { afterSeconds } from '../times.ts';
import { isNamespace, isPod, type Kind } from './kinds.ts';
import { metadataOf } from './store.ts';

export interface DeletionOptions {
  uid?: string | undefined;
  resourceVersion?: string | undefined;
  propagation?: 'Foreground' | 'Background' | 'Orphan' | undefined;
  /** The grace period of a Pod on a node; undefined: the one in its spec. */
  gracePeriodSeconds?: number | undefined;
  /**
   * The old option `orphanDependents: false` was given. The response is then 202 if the object
   * stays.
   */
  cascades?: boolean | undefined;
  dryRun: boolean;
}

export interface Deletion {
  /** The marked object, or its last state. */
  object: JsonObject;
  stays: boolean;
}

/** @param now the current time in the format of metadata */
export function forDeletion(
  kind: Kind,
  object: JsonObject,
  options: DeletionOptions,
  now: string,
): Deletion {
  const grace = isPod(kind) ? graceOf(object, options, now) : undefined;
  if (grace === 'pending') return { object, stays: true };
  const was = metadataOf(object);
  const finalizers = finalizersFor(kind, was, options.propagation);
  const isHeld = finalizers.length > 0;
  if (!isHeld && grace === undefined) return { object, stays: false };
  const isMarked = was.deletionTimestamp !== undefined;
  const generation = Number(was.generation ?? 0);
  const metadata: JsonObject = {
    ...without(was, 'finalizers'),
    deletionTimestamp: grace?.deletionTimestamp ?? was.deletionTimestamp ?? now,
    deletionGracePeriodSeconds: grace?.deletionGracePeriodSeconds ?? 0,
    ...(!isMarked && generation > 0 ? { generation: generation + 1 } : {}),
    ...(isHeld ? { finalizers } : {}),
  };
  const stays = isHeld || (grace?.deletionGracePeriodSeconds ?? 0) > 0;
  return { object: { ...object, metadata }, stays };
}

/**
 * Whether an update removes the object: it has no finalizers left, and its grace period is over.
 */
export function endsByUpdate(kind: Kind, next: JsonObject, old: JsonObject): boolean {
  const was = metadataOf(old);
  return (
    !(isNamespace(kind) && finalizersIn(next).length > 0) &&
    metadataOf(next).finalizers === undefined &&
    was.deletionTimestamp !== undefined &&
    (was.deletionGracePeriodSeconds ?? 0) === 0
  );
}

interface Grace {
  deletionTimestamp: string;
  deletionGracePeriodSeconds: number;
}

/**
 * When a Pod ends. 'pending': it already ends, and the deletion changes nothing; undefined: its
 * grace period is over.
 */
function graceOf(
  pod: JsonObject,
  options: DeletionOptions,
  now: string,
): Grace | 'pending' | undefined {
  const asked = options.gracePeriodSeconds;
  const seconds = asked !== undefined && asked < 0 ? 1 : asked;
  const metadata = metadataOf(pod);
  if (metadata.deletionTimestamp === undefined) {
    const period = firstGrace(pod, seconds);
    return { deletionTimestamp: afterSeconds(now, period), deletionGracePeriodSeconds: period };
  }
  const has = Number(metadata.deletionGracePeriodSeconds ?? 0);
  if (has === 0) return undefined;
  // The grace period can only become shorter.
  if (seconds === undefined || seconds >= has) return 'pending';
  const until = afterSeconds(stringAt(metadata, 'deletionTimestamp'), seconds - has);
  if (until >= now) return { deletionTimestamp: until, deletionGracePeriodSeconds: seconds };
  return { deletionTimestamp: now, deletionGracePeriodSeconds: Math.min(seconds, 1) };
}

/** A Pod that has no node, or has ended, has no grace period: no kubelet would end it. */
function firstGrace(pod: JsonObject, asked: number | undefined): number {
  const spec = memberObject(pod, 'spec');
  const phase = stringAt(memberObject(pod, 'status'), 'phase');
  if (stringAt(spec, 'nodeName') === '' || phase === 'Failed' || phase === 'Succeeded') return 0;
  const period = asked ?? Number(spec.terminationGracePeriodSeconds ?? 0);
  return period < 0 ? 1 : period;
}

/**
 * Foreground and Orphan leave work to the garbage collector, which neither a bare kube-apiserver
 * nor this server has: the object stays until a client removes the finalizer. Without a policy, the
 * finalizers decide, or else the default of the kind, which is Background for most.
 */
export function finalizersFor(
  kind: Kind,
  metadata: JsonObject,
  asked: DeletionOptions['propagation'],
): readonly string[] {
  const has = (Array.isArray(metadata.finalizers) ? metadata.finalizers : []) as readonly string[];
  const others = has.filter(
    (finalizer) => finalizer !== 'foregroundDeletion' && finalizer !== 'orphan',
  );
  // The garbage collector ignores Events.
  if (kind.builtIn && kind.kind === 'Event') return others;
  const policy = asked ?? (kind.orphans && others.length === has.length ? 'Orphan' : undefined);
  if (policy === undefined) return has;
  if (policy === 'Background') return others;
  const wanted = policy === 'Orphan' ? 'orphan' : 'foregroundDeletion';
  return has.includes(wanted) && others.length === has.length - 1 ? has : [...others, wanted];
}

/** The finalizers in `spec.finalizers` of a Namespace. */
export function finalizersIn(namespace: JsonObject): readonly Json[] {
  const { finalizers } = memberObject(namespace, 'spec');
  return Array.isArray(finalizers) ? finalizers : [];
}
