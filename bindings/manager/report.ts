/**
 * What a manager says of itself: plain data, made when it is asked for, and never the contents of
 * an object. The live page shows it, and its JSON is made from it (page/state.ts), where texts of
 * errors lose what looks like a secret.
 */
import type { InformerStatus } from '../cache/index.ts';
import type { ControllerReport, ErrorReport } from '../controller/index.ts';

/** A manager as the live page shows it, at the moment of the call. */
export interface ManagerReport {
  /** The version of this package. */
  readonly version: string;
  /** Milliseconds since `start`; `undefined` before. */
  readonly startedAgoMs: number | undefined;
  /** By the clock that `at` of a cause is read from, in milliseconds. */
  readonly now: number;
  /** The manager is ending: nothing new begins. */
  readonly stopping: boolean;
  /** Absent where there is no leader election. */
  readonly leader?: LeaderReport;
  readonly controllers: readonly ControllerReport[];
  readonly informers: readonly InformerReport[];
  readonly runnables: readonly RunnableReport[];
}

/** Who leads, as this process knows it. */
export interface LeaderReport {
  /** `namespace/name` of the Lease. */
  readonly lease: string;
  /** By which this process stands for election. */
  readonly identity: string;
  /** Whom the Lease names; `undefined` while nobody is known to lead. */
  readonly holder: string | undefined;
  /** Whether this process may begin what only the leader does: `Manager.holdsLease()`. */
  readonly holdsLease: boolean;
  /**
   * Milliseconds until the lease runs out unless it is renewed, by this process's monotonic clock:
   * its own, or the other's as it was last seen. Negative once it has.
   */
  readonly validMs: number | undefined;
}

/** `key` is what a source's status names as its `informer`. */
export interface InformerReport extends InformerStatus {
  readonly key: string;
  /** In words, such as `websites.demo.example/v1 in team-a`. */
  readonly resource: string;
}

/** What a manager runs that is no controller, too. */
export interface RunnableReport {
  readonly name: string;
  /**
   * `HTTP servers`, `webhooks`, `caches`, `others`, `warmup` or `leader election`: they start in
   * this order.
   */
  readonly group: string;
  readonly state: 'not started' | 'waiting for leadership' | 'running' | 'ended' | 'failed';
  readonly error?: ErrorReport;
}

/** Where an object is cached. */
export interface ObjectReport {
  readonly namespace: string;
  readonly name: string;
  /** The key of the informer that has it. */
  readonly informer: string;
  /** Where it is known: not of objects that were found by a part of their name. */
  readonly resourceVersion?: string;
}

/** What {@link findObjects} needs of an informer. */
export interface SearchedInformer {
  getIndexer(): { getByKey(key: string): unknown; listKeys(): readonly string[] };
}

/**
 * The objects whose `namespace/name` is the text; where there is none, those whose key contains it,
 * at most `limit`. `informers` are by their key in the report, as `SharedInformerFactory.informers`
 * gives them. One look-up for each in the first case; in the second, all keys of the caches are
 * read.
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
