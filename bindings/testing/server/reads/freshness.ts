/**
 * Waits for a resourceVersion that does not exist yet. The real server's watch cache may lag behind
 * etcd, so that a request with a newer resourceVersion waits for a while before it fails with 504.
 * apiserver: storage/cacher/watch_cache.go, waitUntilFreshAndBlock and its blockTimeout.
 */
import type { Clock } from '../../../base/clock.ts';
import type { Output } from '../answers/output.ts';
import type { VersionCounter } from '../registry/store.ts';
import { TooLargeVersion } from '../status.ts';

export class Freshness {
  readonly #versions: VersionCounter;
  readonly #clock: Clock;
  readonly #waitMs: number;

  constructor(versions: VersionCounter, clock: Clock, waitMs: number) {
    this.#versions = versions;
    this.#clock = clock;
    this.#waitMs = waitMs;
  }

  /**
   * Runs a read. If its resourceVersion does not exist yet, waits and runs it a second time, which
   * may throw.
   */
  async answer<T>(output: Output, run: () => T): Promise<T> {
    try {
      return run();
    } catch (error) {
      if (!(error instanceof TooLargeVersion && error.isCached)) throw error;
      await this.waitFor(error.requested, output);
      return run();
    }
  }

  /** Resolves when the resourceVersion exists, after the timeout, or when the client has left. */
  waitFor(version: number, output: Output): Promise<void> {
    if (this.#versions.current >= version || this.#waitMs === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        forget();
        this.#clock.clearTimer(timer);
        resolve();
      };
      const timer = this.#clock.setTimer(end, this.#waitMs);
      const forget = this.#versions.onNext((current) => {
        if (current >= version) end();
      });
      output.onClose(end);
    });
  }
}
