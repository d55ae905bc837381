/**
 * What a controller says of itself, for a page or a log: plain data, copied when asked for, without
 * the contents of objects (which may be secret). It answers "why is my object not reconciled?": is
 * it queued, does it wait for a delay, does it fail, did nothing ask for it?
 */
import type { Cause, SourceStatus } from './source.ts';

/** A controller as the live page shows it, at the moment of the call. Times are in milliseconds. */
export interface ControllerReport {
  readonly name: string;
  /** `Website.demo.capstan.dev`. */
  readonly groupKind: string;
  /** `waiting for leadership` also where the lease has run out while it was working. */
  readonly state:
    | 'not started'
    | 'warming up'
    | 'waiting for leadership'
    | 'waiting for caches'
    | 'running'
    | 'ended';
  readonly workers: number;
  readonly sources: readonly (SourceStatus & { readonly name: string })[];
  /**
   * Requests in all, whatever the filter. One that is ready or worked at and waits for a delay too
   * is counted in both.
   */
  readonly queue: {
    readonly ready: number;
    readonly waiting: number;
    readonly processing: number;
    readonly hasPriorities: boolean;
  };
  readonly keys: readonly KeyReport[];
  /** The newest first. */
  readonly recent: readonly RunReport[];
  readonly totals: Readonly<Record<RunReport['outcome'], number>>;
  /** Those of the last ten minutes, the newest first; at most twenty. */
  readonly hotLoops: readonly HotLoopReport[];
  /** Whether `keys` was cut by the limit. */
  readonly more: boolean;
}

/**
 * An object that the reconciles of a request write again and again, each because of the event of
 * the write before, although nothing is different after it.
 */
export interface HotLoopReport {
  /** Of the request. */
  readonly namespace: string;
  readonly name: string;
  /** What is written: its kind and `namespace/name`. */
  readonly object: string;
  /**
   * What the writes set, such as `spec.ingress`; at most five. `metadata.resourceVersion`: nothing
   * that can be seen from outside.
   */
  readonly paths: readonly string[];
  /** How many writes in a row. */
  readonly writes: number;
  /** Milliseconds since the last one. */
  readonly agoMs: number;
}

/** A request in the queue, being reconciled, or given up. */
export interface KeyReport {
  readonly namespace: string;
  readonly name: string;
  /** `failed`: by a terminal error, and nothing has asked for it since. */
  readonly state: 'processing' | 'ready' | 'waiting' | 'failed';
  readonly priority: number | undefined;
  /** Milliseconds until its delay ends. */
  readonly waitingMs: number | undefined;
  /** Milliseconds for which it has been ready, or worked at. */
  readonly sinceMs: number | undefined;
  readonly failures: number;
  readonly lastError: ErrorReport | undefined;
  readonly causes: readonly Cause[];
  /** Causes that are not listed, as there were too many. */
  readonly moreCauses: number;
}

/** Most telling first: what is worked at, what fails, what is ready, what waits. */
export function rankOf(state: KeyReport['state'], fails: boolean): number {
  if (state === 'processing') return 0;
  if (state === 'failed' || fails) return 1;
  return state === 'ready' ? 2 : 3;
}

/** A failure, by its words alone. */
export interface ErrorReport {
  /** `CapstanError STATUS` or the name of its class. */
  readonly name: string;
  readonly message: string;
  /** Milliseconds ago. */
  readonly agoMs: number;
}

/** A reconcile that has ended. */
export interface RunReport {
  readonly namespace: string;
  readonly name: string;
  readonly reconcileId: string;
  /** `aborted`: by the end of the controller. */
  readonly outcome: 'success' | 'requeue' | 'requeueAfter' | 'error' | 'terminal' | 'aborted';
  readonly requeueAfterMs?: number;
  readonly attempt: number;
  /** Milliseconds since it ended, and for which it ran. */
  readonly agoMs: number;
  readonly tookMs: number;
  readonly error?: ErrorReport;
  readonly causes: readonly Cause[];
  readonly moreCauses: number;
}
