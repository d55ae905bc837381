/**
 * How a reflector judges its failures: which can simply be tried again, which mean the end of the
 * resource, and which deserve a word.
 */
import { CapstanError } from '../../base/errors.ts';
import { isConnectionReset, isLasting, isLongWait } from '../rest/rest.ts';
import { isStatusError, isTooManyRequests } from '../rest/status-error.ts';
import { connectionLoss } from '../rest/transport.ts';
import type { WatchFailure } from './status.ts';

/** A watch that ends sooner and brought nothing new is a {@link VeryShortWatch}. */
export const VERY_SHORT_WATCH_MS = 1000;

/**
 * A watch that ended within a second with nothing new. Not to be resumed at once, lest a broken
 * server be asked without pause.
 */
export class VeryShortWatch extends CapstanError {
  constructor(what: string, cause: unknown) {
    super('TRANSPORT', `the watch of ${what} ended at once, with nothing new`, { cause });
  }
}

/**
 * The server asks for patience, or is not there: what was asked can be asked again as it is.
 * client-go: reflector.go isWatchErrorRetriable.
 */
export function isBusy(error: unknown): boolean {
  const lost = connectionLoss(error);
  // No connection: the server restarts. `unknown` counts as refused.
  if (lost !== undefined) return lost === 'refused' || lost === 'unknown';
  return isTooManyRequests(error) || !(error instanceof CapstanError);
}

/**
 * Whether a failure is reported where nobody asked to be told of all of them: not what belongs to a
 * healthy life.
 */
export function isWorthReporting(
  error: unknown,
  { class: kind, next, afterMs }: WatchFailure,
): boolean {
  if (isLasting(error)) return true;
  // A refused connection is part of a server's restart, and a version that is gone is routine,
  // until the back-off has grown.
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
      return !isStatusError(error); // a refusal: the server has no streams
    default:
      return false;
  }
}
