/**
 * A limit on how many requests go out. What it keeps true: requests go in the order in which they
 * came, each takes one token, and one whose signal fires while it waits takes none. client-go:
 * util/flowcontrol/throttle.go, rest/request.go tryThrottle.
 */

import { type Clock, systemClock } from '../base/clock.ts';
import { aborted, invalid, requireFunction, requireInteger } from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';
import { abortable, sleep } from '../base/wait.ts';
import type { Transport } from '../cache/rest/transport.ts';
import { BucketRateLimiter } from '../workqueue/index.ts';

/** client-go: rest/config.go DefaultQPS and DefaultBurst. */
const QPS = 5;
const BURST = 10;

/** A token bucket; the defaults are client-go's. */
export interface RateLimitOptions {
  /** Requests a second in the long run. Default 5. */
  readonly qps?: number | undefined;
  /** Requests at once after a pause. Default 10. */
  readonly burst?: number | undefined;
  readonly clock?: Clock | undefined;
}

const NAMES = namesOf<RateLimitOptions>()({ qps: 1, burst: 1, clock: 1 });

/**
 * A token bucket that several clients and transports may share.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const limiter = new RequestRateLimiter({ qps: 20, burst: 30 });
 * const client = newClient({ transport, rateLimit: limiter });
 * const informers = newSharedInformerFactory(rateLimitedTransport(transport, limiter));
 */
export class RequestRateLimiter {
  readonly #bucket: BucketRateLimiter;
  readonly #clock: Clock;
  /** Settles when whoever came last has had its turn. */
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  /**
   * When the token is there that was taken for whoever comes first: who gives up before leaves it
   * to the next.
   */
  #due: number | undefined;

  constructor(options: RateLimitOptions = {}) {
    requireNames('rateLimit', options, 'option of a RequestRateLimiter', NAMES);
    const { qps = QPS, burst = BURST, clock = systemClock } = options;
    if (typeof qps !== 'number' || !(qps > 0)) throw invalid('rateLimit.qps', 'a number > 0', qps);
    requireInteger('rateLimit.burst', burst, 1);
    this.#bucket = new BucketRateLimiter(qps, burst, { clock });
    this.#clock = clock;
  }

  /** How many requests wait. */
  waiting(): number {
    return this.#waiting;
  }

  /**
   * Resolves when a request may go out; rejects with ABORTED when the signal fires before.
   *
   * @param what waits, for that error
   */
  async wait(signal: AbortSignal, what = 'the call'): Promise<void> {
    if (signal.aborted) throw aborted(what, signal.reason);
    this.#waiting++;
    const before = this.#last;
    const turn = this.#turn(before, signal);
    // Whoever gives up must not let the next one overtake those before it. Without its outcome,
    // which has that of the one before in it.
    this.#last = Promise.allSettled([before, turn]).then(() => undefined);
    try {
      await turn;
    } catch (error) {
      throw signal.aborted
        ? aborted(`${what}, which waited for the rate limit,`, signal.reason)
        : error;
    } finally {
      this.#waiting--;
    }
  }

  async #turn(before: Promise<unknown>, signal: AbortSignal): Promise<void> {
    await abortable(before, signal);
    signal.throwIfAborted();
    this.#due ??= this.#clock.now() + this.#bucket.when('');
    const delay = this.#due - this.#clock.now();
    if (delay > 0) await sleep(this.#clock, delay, signal);
    signal.throwIfAborted();
    this.#due = undefined;
  }
}

/** Also one of another copy of the package, which is of another class. */
function isLimiter(
  rateLimit: true | RateLimitOptions | RequestRateLimiter,
): rateLimit is RequestRateLimiter {
  return typeof (rateLimit as Partial<RequestRateLimiter> | null)?.wait === 'function';
}

/** The limiter that an option means. */
export function limiterOf(
  rateLimit: boolean | RateLimitOptions | RequestRateLimiter | undefined,
  clock: Clock,
): RequestRateLimiter | undefined {
  if (rateLimit === undefined || rateLimit === false) return undefined;
  if (isLimiter(rateLimit)) return rateLimit;
  return new RequestRateLimiter(
    rateLimit === true ? { clock } : { ...rateLimit, clock: rateLimit.clock ?? clock },
  );
}

/**
 * A transport whose requests wait for a token, watches excepted: for the lists of informers, which
 * then share the limit of a client.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const factory = newSharedInformerFactory(rateLimitedTransport(transport, { qps: 5, burst: 10 }));
 */
export function rateLimitedTransport(
  transport: Transport,
  rateLimit: RateLimitOptions | RequestRateLimiter = {},
): Transport {
  requireFunction('transport.request', (transport as Partial<Transport> | undefined)?.request);
  const limiter = isLimiter(rateLimit) ? rateLimit : new RequestRateLimiter(rateLimit);
  const never = new AbortController().signal;
  return {
    ...(transport.host === undefined ? {} : { host: () => transport.host?.() ?? 'none' }),
    waitsFor: () => transport.waitsFor?.(),
    async request(request) {
      if (request.query?.watch !== 'true')
        await limiter.wait(request.signal ?? never, `${request.method} ${request.path}`);
      request.beforeSend?.(); // the transport may be one that does not call it
      return transport.request(request);
    },
    close: async () => transport.close?.(),
  };
}
