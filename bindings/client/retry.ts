/**
 * Retries calls that fail with a conflict. client-go: util/retry; apimachinery: pkg/util/wait
 * Backoff and ExponentialBackoff. `steps` is the number of calls, with one wait less.
 */
import { guardRandom } from '../base/backoff.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { aborted, invalid, requireFunction, requireInteger } from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';
import { abortable, sleep } from '../base/wait.ts';
import { isConflict } from './status-errors.ts';

/** How often to try and how long to wait in between. apimachinery: wait.Backoff. */
export interface RetryBackoff {
  /** The most calls, at least 1. */
  readonly steps: number;
  /** The first wait, in milliseconds. */
  readonly duration: number;
  /** The factor from one wait to the next. Default 1. 0 also means constant waits, as in Go. */
  readonly factor?: number | undefined;
  /** Each wait d is random in [d, (1 + jitter) d). Default 0. */
  readonly jitter?: number | undefined;
  /**
   * The longest wait without jitter, in milliseconds. A longer one ends the retries. Default 0: no
   * limit.
   */
  readonly cap?: number | undefined;
}

/** Options of the retries. */
export interface RetryOptions {
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: (() => number) | undefined;
}

const BACKOFF_NAMES = namesOf<RetryBackoff>()({
  steps: 1,
  duration: 1,
  factor: 1,
  jitter: 1,
  cap: 1,
});
const NAMES = namesOf<RetryOptions>()({ signal: 1, clock: 1, random: 1 });

/**
 * For an object that several clients change: 5 times, 10 ms apart. client-go: retry.DefaultRetry.
 */
export const defaultRetry: RetryBackoff = { steps: 5, duration: 10, factor: 1, jitter: 0.1 };

/**
 * For an object that controllers manage while others change it: 4 times, after 10, 50 and 250 ms.
 * client-go: retry.DefaultBackoff.
 */
export const defaultBackoff: RetryBackoff = { steps: 4, duration: 10, factor: 5, jitter: 0.1 };

/**
 * Calls `fn` until it does not fail with a conflict. `fn` must read the object at each call. A
 * cached read by the client that wrote is fine: after a conflict it asks the server until the cache
 * has a newer version. Resolves with what `fn` returns. Rejects with the last conflict after all
 * steps, with any other error at once, and with ABORTED. client-go: retry.RetryOnConflict.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * await retryOnConflict(defaultRetry, async () => {
 *   const website = structuredClone(await client.get(Website, key));
 *   website.spec.replicas++;
 *   return client.update(Website, website);
 * });
 */
export function retryOnConflict<R>(
  backoff: RetryBackoff,
  fn: () => Promise<R> | R,
  options: RetryOptions = {},
): Promise<R> {
  return retryOnError(backoff, isConflict, fn, options);
}

/**
 * As {@link retryOnConflict}, for any errors. client-go: retry.OnError.
 *
 * @param retriable whether to try again after an error
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const pod = await retryOnError(defaultBackoff, isTooManyRequests, () =>
 *   client.get(Pod, key, { live: true }),
 * );
 */
export async function retryOnError<R>(
  backoff: RetryBackoff,
  retriable: (error: unknown) => boolean,
  fn: () => Promise<R> | R,
  options: RetryOptions = {},
): Promise<R> {
  requireBackoff(backoff);
  requireNames('options', options, 'option of retryOnError()', NAMES);
  requireFunction('retriable', retriable);
  requireFunction('fn', fn);
  const {
    signal = new AbortController().signal,
    clock = systemClock,
    random = Math.random,
  } = options;
  const chance = guardRandom(random);
  const { factor = 1, jitter = 0, cap = 0 } = backoff;
  let { steps, duration } = backoff;
  for (;;) {
    if (signal.aborted) throw aborted('the call', signal.reason);
    try {
      return await abortable((async () => fn())(), signal);
    } catch (error) {
      if (signal.aborted || !retriable(error) || --steps <= 0) throw error;
      const wait = duration * (1 + chance() * jitter);
      if (factor !== 0) duration *= factor;
      if (factor !== 0 && cap > 0 && duration > cap) {
        duration = cap;
        steps = 0;
      }
      await sleep(clock, wait, signal);
      if (steps === 0 && !signal.aborted) throw error;
    }
  }
}

function requireBackoff(backoff: RetryBackoff): void {
  requireNames('backoff', backoff, 'member of a backoff', BACKOFF_NAMES);
  requireInteger('backoff.steps', backoff.steps, 1);
  const { duration, factor = 1, jitter = 0, cap = 0 } = backoff;
  for (const [name, value] of Object.entries({ duration, factor, jitter, cap }))
    if (typeof value !== 'number' || !(value >= 0))
      throw invalid(`backoff.${name}`, 'a number >= 0', value);
}
