/**
 * The report of a controller for pages and logs: plain data, copied on each call, without the
 * contents of objects, which may be secret. It answers why an object is not reconciled: whether it
 * is queued, delayed, failing, or was never requested.
 */
import type { Cause, SourceStatus } from './source.ts';

/** A controller as the live page shows it. Times are in milliseconds, relative to the call. */
export interface ControllerReport {
  readonly name: string;
  /** `Website.demo.capstan.dev`. */
  readonly groupKind: string;
  /** Also `waiting for leadership` if the lease expired while the controller was running. */
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
   * Counts of all requests, whatever the filter. A request that is ready or processing and also
   * delayed is counted in both.
   */
  readonly queue: {
    readonly ready: number;
    readonly waiting: number;
    readonly processing: number;
    readonly hasPriorities: boolean;
  };
  readonly keys: readonly KeyReport[];
  /** Newest first. */
  readonly recent: readonly RunReport[];
  readonly totals: Readonly<Record<RunReport['outcome'], number>>;
  /** The hot loops of the last ten minutes, newest first; at most twenty. */
  readonly hotLoops: readonly HotLoopReport[];
  /** Whether `limit` cut `keys`. */
  readonly more: boolean;
}

/**
 * An object that reconciles of a request write again and again, each because of the event of the
 * previous write, although its content stays the same.
 */
export interface HotLoopReport {
  /** The namespace of the request. */
  readonly namespace: string;
  readonly name: string;
  /** The kind and `namespace/name` of the written object. */
  readonly object: string;
  /**
   * The paths that the writes change, such as `spec.ingress`; at most five.
   * `metadata.resourceVersion` if no other change is visible.
   */
  readonly paths: readonly string[];
  /** The number of writes in a row. */
  readonly writes: number;
  /** Milliseconds since the last write. */
  readonly agoMs: number;
}

/** A request that is queued or running, or has failed with a terminal error. */
export interface KeyReport {
  readonly namespace: string;
  readonly name: string;
  /** `failed`: it ended with a terminal error and was not added again. */
  readonly state: 'processing' | 'ready' | 'waiting' | 'failed';
  readonly priority: number | undefined;
  /** Milliseconds until its delay ends. */
  readonly waitingMs: number | undefined;
  /** Milliseconds since it became ready or began to run. */
  readonly sinceMs: number | undefined;
  readonly failures: number;
  readonly lastError: ErrorReport | undefined;
  readonly causes: readonly Cause[];
  /** The number of causes that are not listed. */
  readonly moreCauses: number;
}

/** The order in which keys are listed: running, failing, ready, delayed. */
export function rankOf(state: KeyReport['state'], fails: boolean): number {
  if (state === 'processing') return 0;
  if (state === 'failed' || fails) return 1;
  return state === 'ready' ? 2 : 3;
}

/** An error as text. */
export interface ErrorReport {
  /** `CapstanError` with its code, or the name of the error's class. */
  readonly name: string;
  readonly message: string;
  /** Milliseconds since the error. */
  readonly agoMs: number;
}

/** A finished reconcile. */
export interface RunReport {
  readonly namespace: string;
  readonly name: string;
  readonly reconcileId: string;
  /** `aborted`: the end of the controller interrupted it. */
  readonly outcome: 'success' | 'requeue' | 'requeueAfter' | 'error' | 'terminal' | 'aborted';
  readonly requeueAfterMs?: number;
  readonly attempt: number;
  /** `agoMs`: milliseconds since it ended. `tookMs`: its duration. */
  readonly agoMs: number;
  readonly tookMs: number;
  readonly error?: ErrorReport;
  readonly causes: readonly Cause[];
  readonly moreCauses: number;
}
