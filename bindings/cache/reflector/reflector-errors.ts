/**
 * The failures of a reflector: after which the same request can be sent again, which are reported,
 * and how many there were.
 */
import type { Clock } from '../../base/clock.ts';
import { CapstanError, isCapstanError } from '../../base/errors.ts';
import { handleError, tell } from '../../base/handle-error.ts';
import { goesOn, isConnectionReset, isLasting, isLongWait } from '../rest/rest.ts';
import { isStatusError, isTooManyRequests } from '../rest/status-error.ts';
import { connectionLoss } from '../rest/transport.ts';
import {
  classOf,
  type FailureClass,
  type NextStep,
  type ReflectorStatus,
  type WatchErrorHandler,
  type WatchFailure,
} from './status.ts';

/** A watch that ends earlier, without an event, is a {@link VeryShortWatch}. */
export const VERY_SHORT_WATCH_MS = 1000;

/**
 * A watch that ended within a second, without an event. It is not resumed at once, so that a broken
 * server is not called in a tight loop. client-go: reflector.go VeryShortWatchError.
 */
export class VeryShortWatch extends CapstanError {
  constructor(what: string, cause: unknown) {
    super('TRANSPORT', `the watch of ${what} ended at once, with nothing new`, { cause });
  }
}

/**
 * Whether the server is overloaded or unreachable, so that the same request can be sent again
 * later. client-go: reflector.go isWatchErrorRetriable.
 */
export function isBusy(error: unknown): boolean {
  const lost = connectionLoss(error);
  // No connection: the server may be restarting. `unknown` counts as `refused`.
  if (lost !== undefined) return lost === 'refused' || lost === 'unknown';
  return isTooManyRequests(error) || !isCapstanError(error);
}

/**
 * Whether the default watch error handler reports a failure; it does not report those of normal
 * operation.
 */
export function isWorthReporting(
  error: unknown,
  { class: kind, next, afterMs }: WatchFailure,
): boolean {
  if (isLasting(error)) return true;
  // A refused connection (the server restarts) and an expired version are normal until the back-off
  // is long.
  const isLong = isLongWait(afterMs);
  if (kind === 'expired') return isLong;
  if (isConnectionReset(error) || (isCapstanError(error) && error instanceof VeryShortWatch))
    return false;
  switch (next) {
    case 'park':
      return true;
    case 'repeat':
      return isLong;
    case 'relist':
    case 'rewatch':
      return isLong || (next === 'relist' && !isBusy(error));
    case 'list':
      return !isStatusError(error); // otherwise the server does not support watch lists
    default:
      return false;
  }
}

/** The failures of a reflector: counted for {@link ReflectorStatus}, and reported. */
export class ReflectorFailures {
  readonly #clock: Clock;
  readonly #isParked: () => boolean;
  readonly #describe: string;
  readonly #onError: WatchErrorHandler;
  readonly #counts: Record<FailureClass, number> = {
    auth: 0,
    expired: 0,
    throttled: 0,
    network: 0,
    decode: 0,
    full: 0,
    server: 0,
  };
  #last: { failure: WatchFailure; error: unknown; at: number } | undefined;

  constructor(
    clock: Clock,
    isParked: () => boolean,
    describe: string,
    handler: WatchErrorHandler | undefined,
  ) {
    this.#clock = clock;
    this.#isParked = isParked;
    this.#describe = describe;
    this.#onError = handler ?? ((error, failure) => this.#report(error, failure));
  }

  add(error: unknown, next: NextStep, afterMs: number, onError = this.#onError): void {
    const failure: WatchFailure = { class: classOf(error), next, afterMs };
    this.#counts[failure.class]++;
    this.#last = { failure, error, at: this.#clock.now() };
    tell(() => onError(error, failure), 'watch error handler');
  }

  /** Whether a failed request waits to be sent again. */
  repeatsLater(now: number): boolean {
    const last = this.#last;
    return last?.failure.next === 'repeat' && now - last.at < last.failure.afterMs;
  }

  report(now: number): Pick<ReflectorStatus, 'failures' | 'lastFailure'> {
    const last = this.#last;
    return {
      failures: { ...this.#counts },
      lastFailure: last && { ...last.failure, error: last.error, agoMs: now - last.at },
    };
  }

  #report(error: unknown, failure: WatchFailure): void {
    if (failure.next === 'park' && this.#isParked()) return; // reported already
    if (!isWorthReporting(error, failure)) return;
    const { afterMs } = failure;
    const when = isLongWait(afterMs) ? goesOn(afterMs, this.#clock) : '';
    handleError(error, `reflector of ${this.#describe}${when}`);
  }
}
