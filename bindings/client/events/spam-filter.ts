/**
 * Limits the Events of one source about one object: a burst, then one per refill, so that an object
 * that is always unhealthy does not fill the server. client-go: tools/record/events_cache.go
 * EventSourceObjectSpamFilter.
 */

import type { Clock } from '../../base/clock.ts';
import { LRUExpire } from '../../base/lru-expire.ts';
import { TokenBucket } from '../../base/token-bucket.ts';

/** client-go: maxLruCacheEntries. An object beyond these counts as new. */
const MAX_OBJECTS = 4096;

export class SpamFilter {
  readonly #clock: Clock;
  readonly #burst: number;
  readonly #refillPeriod: number;
  readonly #buckets: LRUExpire<TokenBucket>;

  /** @param refillPeriod milliseconds per token */
  constructor(clock: Clock, burst: number, refillPeriod: number) {
    this.#clock = clock;
    this.#burst = burst;
    this.#refillPeriod = refillPeriod;
    this.#buckets = new LRUExpire(MAX_OBJECTS, clock);
  }

  /** Takes a token of this source and object; false if there is none. */
  accept(key: string): boolean {
    const bucket =
      this.#buckets.get(key) ?? new TokenBucket(1 / this.#refillPeriod, this.#burst, this.#clock);
    this.#buckets.set(key, bucket, Number.POSITIVE_INFINITY);
    return bucket.allow();
  }
}
