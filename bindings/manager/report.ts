/**
 * The report of a manager: plain data, made on each call, without the contents of objects. The live
 * page shows it. page/state.ts makes the page's JSON from it and redacts texts of errors.
 */
import type { InformerStatus } from '../cache/index.ts';
import type { ControllerReport, ErrorReport } from '../controller/index.ts';
import type { ShardReport } from '../shards/overview.ts';

/** The state of a manager at the time of the call. */
export interface ManagerReport {
  /** The version of this package. */
  readonly version: string;
  /** Milliseconds since `start`; `undefined` before. */
  readonly startedAgoMs: number | undefined;
  /** Milliseconds of the clock that `Cause.at` is read from. */
  readonly now: number;
  /** The manager is stopping and starts nothing new. */
  readonly stopping: boolean;
  /** Absent without leader election. */
  readonly leader?: LeaderReport;
  /** Absent without shards. */
  readonly shards?: ShardReport;
  readonly controllers: readonly ControllerReport[];
  readonly informers: readonly InformerReport[];
  readonly runnables: readonly RunnableReport[];
}

/** The leader as this process knows it. */
export interface LeaderReport {
  /** `namespace/name` of the Lease. */
  readonly lease: string;
  /** The identity of this process in the election. */
  readonly identity: string;
  /** The identity in the Lease; `undefined` if no leader is known. */
  readonly holder: string | undefined;
  /** Whether this process holds a valid lease: `Manager.holdsLease()`. */
  readonly holdsLease: boolean;
  /**
   * Milliseconds until the lease expires unless it is renewed, by this process's monotonic clock.
   * For another leader counted from when its last renewal was seen. Negative after the expiry.
   */
  readonly validMs: number | undefined;
}

/** The status of an informer. `key` is the `informer` of a source's status. */
export interface InformerReport extends InformerStatus {
  readonly key: string;
  /** As text, such as `websites.demo.example/v1 in team-a`. */
  readonly resource: string;
}

/** The state of a runnable. */
export interface RunnableReport {
  readonly name: string;
  /**
   * `HTTP servers`, `webhooks`, `caches`, `others`, `warmup` or `leader election`. Groups start in
   * this order.
   */
  readonly group: string;
  readonly state: 'not started' | 'waiting for leadership' | 'running' | 'ended' | 'failed';
  readonly error?: ErrorReport;
}

/** An object in a cache. */
export interface ObjectReport {
  readonly namespace: string;
  readonly name: string;
  /** The key of the informer that has it. */
  readonly informer: string;
  /** Absent if the object was found by a part of its name. */
  readonly resourceVersion?: string;
}

/** The part of an informer that {@link findObjects} uses. */
export interface SearchedInformer {
  getIndexer(): { getByKey(key: string): unknown; listKeys(): readonly string[] };
}

/**
 * Finds the objects whose `namespace/name` equals the text; if there is none, those whose
 * `namespace/name` contains it, at most `limit`. `informers` are the entries of
 * `SharedInformerFactory.informers`. The first search is one look-up in each cache; the second
 * reads all keys.
 */
export function findObjects(
  informers: Iterable<readonly [key: string, informer: SearchedInformer]>,
  text: string,
  limit: number,
): ObjectReport[] {
  const searched = [...informers];
  const exact = searched.flatMap(([key, informer]) => {
    const object = informer.getIndexer().getByKey(text);
    return object === undefined
      ? []
      : [{ ...reportOf(text, key), resourceVersion: versionOf(object) }];
  });
  if (exact.length > 0) return exact;
  const found: ObjectReport[] = [];
  for (const [key, informer] of searched) {
    for (const each of informer.getIndexer().listKeys()) {
      if (found.length >= limit) return found;
      if (each.includes(text)) found.push(reportOf(each, key));
    }
  }
  return found;
}

function reportOf(key: string, informer: string): ObjectReport {
  const slash = key.indexOf('/');
  return { namespace: key.slice(0, Math.max(slash, 0)), name: key.slice(slash + 1), informer };
}

function versionOf(object: unknown): string | undefined {
  const version = (object as { metadata?: { resourceVersion?: unknown } }).metadata
    ?.resourceVersion;
  return typeof version === 'string' ? version : undefined;
}
