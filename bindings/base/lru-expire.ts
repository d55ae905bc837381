/**
 * A cache of the most recently used values; each expires after a time of its own. A Map keeps its
 * keys in insertion order, so the first is the least recently used. client-go:
 * k8s.io/apimachinery/pkg/util/cache LRUExpireCache.
 */
import type { Clock } from './clock.ts';

interface Entry<V> {
  readonly value: V;
  readonly expires: number;
}

export class LRUExpire<V> {
  readonly #clock: Clock;
  readonly #maxSize: number;
  readonly #entries = new Map<string, Entry<V>>();

  constructor(maxSize: number, clock: Clock) {
    this.#maxSize = maxSize;
    this.#clock = clock;
  }

  /** @param ttl milliseconds; at exactly that age the value is still valid */
  set(key: string, value: V, ttl: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, expires: this.#clock.now() + ttl });
    if (this.#entries.size <= this.#maxSize) return;
    // A Map walks over all deleted keys to reach its first one, so several are removed at a time.
    let more = this.#maxSize >> 8;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      if (more-- === 0) return;
    }
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    if (this.#clock.now() > entry.expires) return undefined;
    this.#entries.set(key, entry);
    return entry.value;
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** The entries, the least recently used first. Does not count as use. */
  unexpired(): [string, V][] {
    const now = this.#clock.now();
    return [...this.#entries]
      .filter(([, { expires }]) => now <= expires)
      .map(([key, { value }]) => [key, value]);
  }
}
