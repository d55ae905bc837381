/**
 * The reconcile function: its arguments, its result, and the outcome that follows from the result.
 * Each call has exactly one outcome. controller-runtime: pkg/reconcile/reconcile.go;
 * pkg/internal/controller/controller.go, reconcileHandler.
 */

import {
  CapstanError,
  hasCode,
  invalid,
  isAbort,
  isError,
  isInt32,
  someCause,
} from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { FromServer } from '../base/object.ts';
import type { Request } from '../base/request.ts';
import type { Resource } from '../base/resource.ts';
import { explained } from '../base/shared-object.ts';
import type { Cause } from './source.ts';

/**
 * When a request is reconciled again after a run without an error. Without a result the failure
 * count is reset, and the request is reconciled again when an event asks for it.
 * controller-runtime: reconcile.Result.
 */
export interface Result {
  /** Reconcile again after the rate limiter's delay, as after an error. */
  requeue?: boolean | undefined;
  /**
   * Reconcile again after this many milliseconds, and reset the failure count. Takes precedence
   * over `requeue`. 0 and negative numbers have no effect.
   */
  requeueAfter?: number | undefined;
  /**
   * The priority of the request when it comes again, a 32-bit integer. Default: its current
   * priority. As in controller-runtime it takes effect only in a priority queue
   * (`usePriorityQueue`) and only together with `requeue` or `requeueAfter`.
   */
  priority?: number | undefined;
}

const RESULT_NAMES = namesOf<Result>()({ requeueAfter: 1, requeue: 1, priority: 1 });

/** The second argument of a reconcile function. */
export interface ReconcileContext<T> {
  /**
   * Fires after `reconciliationTimeout` (its reason has code TIMEOUT) or when the controller stops
   * (code STOPPED).
   */
  readonly signal: AbortSignal;
  /**
   * 1 for the first attempt, plus 1 for each failure or `requeue` since the last success: the rate
   * limiter's count + 1.
   */
  readonly attempt: number;
  readonly get: CachedGet<T>;
  /**
   * The time of day in milliseconds since 1970, as of `Date.now`. It is read from the controller's
   * clock, so that a test with a `FakeClock` decides the time. From a manager with the option
   * `wallNow` it is that. It needs no `this`: pass it on as `wallNow: context.now`.
   *
   * @example
   * createController({
   *   transport,
   *   for: ConfigMap,
   *   reconcile(request, { get, now }) {
   *     const created = Date.parse(String(get(request)?.metadata?.creationTimestamp));
   *     const age = now() - created; // delete it when it is an hour old
   *     return age < 3_600_000 ? { requeueAfter: 3_600_000 - age } : undefined;
   *   },
   * });
   */
  readonly now: () => number;
  /**
   * The controller's logger, with the fields `controller`, `namespace`, `name` and `reconcileId`.
   * A request of a type of your own is in the field `request`, by its key.
   */
  readonly logger: Logger;
  /**
   * A random UUID of this run, which also stands in its log lines and its span. controller-runtime:
   * `controller.ReconcileIDFromContext`.
   */
  readonly reconcileId: string;
  /**
   * What has requested this run since the previous one, in order. A `requeueAfter` that is not due
   * yet comes last: this run replaces it. At most eight: the first seven and the newest. Empty if
   * the request was added to the queue directly.
   *
   * Use it in logs only. A reconcile that decides by its causes misses what happened before the
   * controller started.
   */
  readonly causes: readonly Cause[];
  /** The number of causes that are not in `causes`. */
  readonly moreCauses: number;
}

/**
 * Reads an object from the controller's caches: an object of `for`, or of a resource in `owns` or
 * `watches`. Returns `undefined` if the cache does not have it. With `metadataOnly` the object has
 * only its metadata.
 *
 * Objects are read-only. A cache may be behind the server, also behind the controller's own writes;
 * each change that reaches it later requests another reconcile.
 *
 * @throws CapstanError INVALID_ARGUMENT for a resource that the controller does not watch
 */
export interface CachedGet<T> {
  (request: Request): FromServer<T> | undefined;
  <O extends object>(request: Request, owned: Resource<O, string>): FromServer<O> | undefined;
}

/**
 * Brings the actual state to the state that one object describes. If it throws or rejects, only
 * this request has failed. `R` is the type of the requests: see {@link defineRequest}.
 * controller-runtime: `reconcile.Func`, `reconcile.TypedFunc`.
 */
export type Reconcile<T, R = Request> = (
  request: R,
  context: ReconcileContext<T>,
) => Promise<Result | Nothing> | Result | Nothing;

/** An object with a reconcile function. controller-runtime: `reconcile.Reconciler`. */
export interface Reconciler<T, R = Request> {
  reconcile: Reconcile<T, R>;
}

/** The result of a function without a return statement. */
type Nothing = ReturnType<() => void>;

/**
 * An error that a retry cannot fix. The request is not retried until an event asks for it, and its
 * failure count stays. An error with a TerminalError in its cause chain is one too. Code
 * `TERMINAL`. Source: controller-runtime, reconcile.TerminalError.
 *
 * @example
 * throw new TerminalError('spec.image is not an image name', { cause: error });
 */
export class TerminalError extends CapstanError {
  constructor(message: string, options?: { cause?: unknown | undefined }) {
    super('TERMINAL', message, options);
  }

  override get name(): string {
    return 'TerminalError';
  }
}

/**
 * Whether an error is one that a JavaScript engine throws for a bug in the program: Go's panics. A
 * TypeError with a cause is not one: `fetch` reports network failures with it.
 */
export function isPanic(error: unknown): boolean {
  try {
    if (!isError(error)) return false;
    const { name, cause } = error; // not instanceof: Node's own errors may come from another realm
    if (hasCode(error, 'MUTATED')) return isPanic(cause);
    return (
      /^(Reference|Range|Syntax)Error$/.test(name) || (name === 'TypeError' && cause === undefined)
    );
  } catch {
    return false; // a Proxy threw, and an engine throws no Proxy
  }
}

export function isTerminal(error: unknown): boolean {
  return someCause(error, (each) => hasCode(each, 'TERMINAL'));
}

/** What happens to a request after its reconcile. */
export type Outcome =
  | { readonly kind: 'success' }
  | { readonly kind: 'requeue'; readonly priority: number | undefined }
  | { readonly kind: 'requeueAfter'; readonly ms: number; readonly priority: number | undefined }
  | { readonly kind: 'error'; readonly error: unknown }
  | { readonly kind: 'terminal'; readonly error: unknown }
  /** The controller was stopped; not a failure of the request. */
  | { readonly kind: 'aborted'; readonly error: unknown };

/** Never throws: a result of the wrong shape is an error outcome. */
export function outcomeOf(result: unknown): Outcome {
  if (result === undefined || result === null) return { kind: 'success' };
  if (typeof result !== 'object')
    return wrong('result', 'nothing or { requeue?, requeueAfter?, priority? }', result);
  const unknown = unknownMember(result);
  if (unknown !== undefined) return { kind: 'error', error: unknown };
  const { requeue, requeueAfter, priority } = result as Record<keyof Result, unknown>;
  if (requeue !== undefined && typeof requeue !== 'boolean')
    return wrong('result.requeue', 'a boolean', requeue);
  if (
    requeueAfter !== undefined &&
    (typeof requeueAfter !== 'number' || Number.isNaN(requeueAfter))
  ) {
    return wrong('result.requeueAfter', 'milliseconds', requeueAfter);
  }
  if (priority !== undefined && !isInt32(priority))
    return wrong('result.priority', 'an integer of 32 bits', priority);
  if (requeueAfter !== undefined && requeueAfter > 0)
    return { kind: 'requeueAfter', ms: requeueAfter, priority };
  return requeue === true ? { kind: 'requeue', priority } : { kind: 'success' };
}

/** Compares the names inline first, because this runs after every reconcile. */
function unknownMember(result: object): unknown {
  let known = false;
  for (const name in result) {
    known = name === 'requeueAfter' || name === 'requeue' || name === 'priority';
    if (!known) break;
  }
  if (known) return undefined;
  try {
    requireNames('result', result, 'member of the result of a reconcile', RESULT_NAMES);
  } catch (error) {
    return error;
  }
  return undefined;
}

/** @param ending the reason of the run's signal if the end of the controller has fired it */
export function outcomeOfError(error: unknown, ending: unknown): Outcome {
  if (ending !== undefined && isAbort(error, ending)) return { kind: 'aborted', error };
  return { kind: isTerminal(error) ? 'terminal' : 'error', error: explained(error) };
}

function wrong(name: string, expected: string, got: unknown): Outcome {
  return { kind: 'error', error: invalid(name, expected, got) };
}
