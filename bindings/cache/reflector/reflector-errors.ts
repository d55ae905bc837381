/**
 * Classifies the failures of a reflector: which requests can be repeated as they are, and which
 * failures are reported.
 */
import { CapstanError } from '../../base/errors.ts';
import { isConnectionReset, isLasting, isLongWait } from '../rest/rest.ts';
import { isStatusError, isTooManyRequests } from '../rest/status-error.ts';
import { connectionLoss } from '../rest/transport.ts';
import type { WatchFailure } from './status.ts';

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
  return isTooManyRequests(error) || !(error instanceof CapstanError);
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
  if (isConnectionReset(error) || error instanceof VeryShortWatch) return false;
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
