/**
 * A client-side rate limit. Requests go out in the order in which they arrived and take one token
 * each; a request whose signal fires while it waits takes none. client-go:
 * util/flowcontrol/throttle.go, rest/request.go tryThrottle.
 */
/// <reference lib="esnext.disposable" preserve="true" />

import { type Clock, systemClock } from '../base/clock.ts';
import { aborted, invalid, requireInteger, requireObject } from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';
import { TokenBucket } from '../base/token-bucket.ts';
import { abortable, sleep } from '../base/wait.ts';
import { closeWith, requireTransport, type Transport } from '../cache/rest/transport.ts';

/** client-go: rest/config.go DefaultQPS and DefaultBurst. */
const QPS = 5;
const BURST = 10;

/** Options of a token bucket. The defaults are client-go's. */
export interface RateLimitOptions {
  /** The sustained rate, in requests per second. Default 5. */
  readonly qps?: number | undefined;
  /** The largest burst after a pause. Default 10. */
  readonly burst?: number | undefined;
  readonly clock?: Clock | undefined;
}

const NAMES = namesOf<RateLimitOptions>()({ qps: 1, burst: 1, clock: 1 });

/**
 * A token bucket. Several clients and transports may share one.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const limiter = new RequestRateLimiter({ qps: 20, burst: 30 });
 * const client = newClient({ transport, rateLimit: limiter });
 * const informers = newSharedInformerFactory(rateLimitedTransport(transport, limiter));
 */
export class RequestRateLimiter {
  readonly #bucket: TokenBucket;
  readonly #clock: Clock;
  /** Settles after the last request of the queue. */
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  /** When the next token is due. A request that gives up leaves it to the next one. */
  #due: number | undefined;

  constructor(options: RateLimitOptions = {}) {
    requireNames('rateLimit', options, 'option of a RequestRateLimiter', NAMES);
    const { qps = QPS, burst = BURST, clock = systemClock } = options;
    if (typeof qps !== 'number' || !(qps > 0)) throw invalid('rateLimit.qps', 'a number > 0', qps);
    requireInteger('rateLimit.burst', burst, 1);
    this.#bucket = new TokenBucket(qps / 1000, burst, clock);
    this.#clock = clock;
  }

  /** The number of waiting requests. */
  waiting(): number {
    return this.#waiting;
  }

  /**
   * Resolves when the request may go out. Rejects with ABORTED if the signal fires first.
   *
   * @param what waits, for that error
   */
  async wait(signal: AbortSignal, what = 'the call'): Promise<void> {
    if (signal.aborted) throw aborted(what, signal.reason);
    this.#waiting++;
    const before = this.#last;
    const turn = this.#turn(before, signal);
    // A request that gives up must not let the next one overtake earlier ones. Its own outcome is
    // dropped, because it would keep all earlier ones in memory.
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
    this.#due ??= this.#clock.now() + this.#bucket.reserve();
    const delay = this.#due - this.#clock.now();
    if (delay > 0) await sleep(this.#clock, delay, signal);
    signal.throwIfAborted();
    this.#due = undefined;
  }
}

/** Also true for a limiter of another copy of the package. */
function isLimiter(
  rateLimit: true | RateLimitOptions | RequestRateLimiter,
): rateLimit is RequestRateLimiter {
  return typeof (rateLimit as Partial<RequestRateLimiter> | null)?.wait === 'function';
}

/** The limiter of an option. */
export function limiterOf(
  rateLimit: boolean | RateLimitOptions | RequestRateLimiter | undefined,
  clock: Clock,
): RequestRateLimiter | undefined {
  if (rateLimit === undefined || rateLimit === false) return undefined;
  if (isLimiter(rateLimit)) return rateLimit;
  if (rateLimit !== true) requireObject('rateLimit', rateLimit);
  return new RequestRateLimiter(
    rateLimit === true ? { clock } : { ...rateLimit, clock: rateLimit.clock ?? clock },
  );
}

/**
 * Wraps a transport so that its requests wait for a token, except watches. Use it for informers
 * that share the limit of a client.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const factory = newSharedInformerFactory(rateLimitedTransport(transport, { qps: 5, burst: 10 }));
 */
export function rateLimitedTransport(
  transport: Transport,
  rateLimit: RateLimitOptions | RequestRateLimiter = {},
): Transport & AsyncDisposable {
  requireTransport('transport', transport);
  const limiter = isLimiter(rateLimit) ? rateLimit : new RequestRateLimiter(rateLimit);
  const never = new AbortController().signal;
  return {
    ...(transport.host === undefined ? {} : { host: () => transport.host?.() ?? 'none' }),
    waitsFor: () => transport.waitsFor?.(),
    async request(request) {
      if (request.query?.watch !== 'true')
        await limiter.wait(request.signal ?? never, `${request.method} ${request.path}`);
      request.beforeSend?.(); // a transport need not call it
      return transport.request(request);
    },
    ...closeWith(transport),
  };
}
