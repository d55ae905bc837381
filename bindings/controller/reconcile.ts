/**
 * What a reconcile function is given, what it may answer, and what each answer means for its
 * request. Exactly one outcome per call: controller-runtime, pkg/internal/controller/controller.go
 * reconcileHandler.
 */

import { CapstanError, hasCode, invalid, isAbort, isError, someCause } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { Request } from '../base/request.ts';
import { explained } from '../base/shared-object.ts';
import type { Resource } from '../cache/rest/resource.ts';
import { isPriority } from '../workqueue/index.ts';
import type { Cause } from './source.ts';

/**
 * What is to become of a request after a run that did not fail. Nothing: its failures are
 * forgotten, and it comes again when something asks for it.
 */
export interface Result {
  /** Again, after the rate limiter's delay, as after an error. */
  requeue?: boolean | undefined;
  /**
   * Again after so many milliseconds; failures so far are forgotten. Wins over `requeue`; 0 and
   * less say nothing.
   */
  requeueAfter?: number | undefined;
  /**
   * The priority of the request when it comes again, an integer of 32 bits; by default the one that
   * it has. As in controller-runtime it takes effect only in a priority queue (`usePriorityQueue`),
   * and only together with `requeue` or `requeueAfter`.
   */
  priority?: number | undefined;
}

const RESULT_NAMES = namesOf<Result>()({ requeueAfter: 1, requeue: 1, priority: 1 });

/** What a run is given beside its request. */
export interface ReconcileContext<T> {
  /**
   * Fires when `reconciliationTimeout` is over (reason: code TIMEOUT) or the controller stops
   * (reason: code STOPPED).
   */
  readonly signal: AbortSignal;
  /**
   * 1 for the first try, one more after each failure or `requeue` until one succeeds: the limiter's
   * count and one.
   */
  readonly attempt: number;
  readonly get: CachedGet<T>;
  /**
   * The controller's, which adds the controller, the request and the reconcile id to what it says.
   */
  readonly logger: Logger;
  /**
   * A random UUID: what this run says and does can be found by it. controller-runtime:
   * `controller.ReconcileIDFromContext`.
   */
  readonly reconcileId: string;
  /**
   * Why: what has asked for this run since the one before, in order, but for a `requeueAfter` that
   * is not due yet: it was merged into this run without leading to it, and comes last. Of more than
   * eight the first ones and the newest. Empty where something else than the controller's sources
   * added the request to its queue. For people and logs: to decide by it would lose what a
   * controller that restarts has not seen.
   */
  readonly causes: readonly Cause[];
  /** How many causes there were beside `causes`. */
  readonly moreCauses: number;
}

/**
 * Reads from the controller's caches: an object of `for`, or of the given resource in `owns` or
 * `watches`, of its metadata alone where these were asked for. `undefined`: there is none. Objects
 * are read-only, and a cache may lag behind the server, your own writes included; whatever it
 * missed leads to another reconcile.
 *
 * @throws CapstanError INVALID_ARGUMENT for a resource that the controller does not watch
 */
export interface CachedGet<T> {
  (request: Request): T | undefined;
  <O extends object>(request: Request, owned: Resource<O, string>): O | undefined;
}

/**
 * Makes the world match one object. What it throws or rejects with is a failure of this request
 * alone.
 */
export type Reconcile<T> = (
  request: Request,
  context: ReconcileContext<T>,
) => Promise<Result | Nothing> | Result | Nothing;

/** An object with such a function. controller-runtime: `reconcile.Reconciler`. */
export interface Reconciler<T> {
  reconcile: Reconcile<T>;
}

/** What a function without a return statement gives. */
type Nothing = ReturnType<() => void>;

/**
 * A failure that trying again cannot mend: the request is neither retried nor forgotten, until its
 * object changes. An error with a TerminalError among its causes counts as one. Code `TERMINAL`.
 *
 * Source: controller-runtime, reconcile.TerminalError.
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
 * What an engine throws for a mistake in a program (`undefined` has no members, no such name,
 * recursion without end), as Go's panics. No failure of a network is one: `fetch` reports it by a
 * TypeError that has a cause.
 */
export function isPanic(error: unknown): boolean {
  try {
    if (!isError(error)) return false;
    const { name, cause } = error; // not by class: those of Node's core may be another realm's
    if (hasCode(error, 'MUTATED')) return isPanic(cause);
    return (
      /^(Reference|Range|Syntax)Error$/.test(name) || (name === 'TypeError' && cause === undefined)
    );
  } catch {
    return false; // an engine throws no Proxy
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
  /** By the end of the controller: no failure of the request's. */
  | { readonly kind: 'aborted'; readonly error: unknown };

/** Never throws: an answer of the wrong shape is a failure like any other. */
export function outcomeOf(result: unknown): Outcome {
  if (result === undefined || result === null) return { kind: 'success' };
  if (typeof result !== 'object')
    return wrong('result', 'nothing or { requeue?, requeueAfter?, priority? }', result);
  const unknown = unknownIn(result);
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
  if (priority !== undefined && !isPriority(priority))
    return wrong('result.priority', 'an integer of 32 bits', priority);
  if (requeueAfter !== undefined && requeueAfter > 0)
    return { kind: 'requeueAfter', ms: requeueAfter, priority };
  return requeue === true ? { kind: 'requeue', priority } : { kind: 'success' };
}

/** The names are compared here first, as this is on the way of each run. */
function unknownIn(result: object): unknown {
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

/** @param ending the reason of the call's signal, where the end of the controller has fired it */
export function outcomeOfError(error: unknown, ending: unknown): Outcome {
  if (ending !== undefined && isAbort(error, ending)) return { kind: 'aborted', error };
  return { kind: isTerminal(error) ? 'terminal' : 'error', error: explained(error) };
}

function wrong(name: string, expected: string, got: unknown): Outcome {
  return { kind: 'error', error: invalid(name, expected, got) };
}
