/**
 * Checks what a queue hands out: each added key is handed out after its last add, a delayed one
 * after its time, and no key is held by two workers at once.
 */
import { CapstanError } from 'capstan/workqueue';

export class HandoutCheck {
  handouts = 0;
  readonly #peer: string;
  /**
   * Whether time passes only between calls. Then it is known which keys are due, and handing out
   * any other key is an error.
   */
  readonly #exact: boolean;
  /** Added keys that were not handed out since, with the time of their first add. */
  readonly #owed = new Map<string, number>();
  readonly #waits = new Map<string, number>();
  readonly #held = new Set<string>();
  #adds = 0;

  constructor(peer: string, exact: boolean) {
    this.#peer = peer;
    this.#exact = exact;
  }

  added(key: string, delay: number, due: number, now: number): void {
    this.#adds++;
    if (delay === 0) {
      if (!this.#owed.has(key)) this.#owed.set(key, due);
      return;
    }
    // Of two waits for one key client-go keeps the earlier one.
    const at = now + delay;
    const before = this.#waits.get(key);
    if (before !== undefined && before <= now && !this.#owed.has(key)) this.#owed.set(key, before);
    if (before === undefined || at < before || before <= now) this.#waits.set(key, at);
  }

  /** Returns since when the key was due. */
  handedOut(key: string, now: number): number {
    if (this.#held.has(key)) throw this.#wrong(`handed "${key}" to two workers at once`);
    this.#held.add(key);
    this.handouts++;
    const since = this.#owed.get(key);
    const wait = this.#waits.get(key);
    const fired = wait !== undefined && wait <= now;
    const unasked = since === undefined && !fired;
    if (unasked && (this.#exact || this.handouts > 2 * this.#adds))
      throw this.#wrong(`handed out "${key}", which was not added, or before its delay`);
    this.#owed.delete(key);
    if (fired) this.#waits.delete(key);
    return Math.min(since ?? now, fired ? wait : now);
  }

  finished(key: string): void {
    this.#held.delete(key);
  }

  /** The time until which keys wait for their delay; -Infinity without any. */
  lastWait(): number {
    let last = Number.NEGATIVE_INFINITY;
    for (const at of this.#waits.values()) last = Math.max(last, at);
    return last;
  }

  get isComplete(): boolean {
    return this.#owed.size === 0 && this.#waits.size === 0;
  }

  /** @throws CapstanError INVALID_ARGUMENT if a key was lost */
  requireComplete(): void {
    if (this.isComplete) return;
    const lost = [...this.#owed.keys(), ...this.#waits.keys()];
    throw this.#wrong(
      `lost ${lost.length} of the added keys, such as "${lost[0]}": they were never handed out`,
    );
  }

  #wrong(what: string): CapstanError {
    return new CapstanError('INVALID_ARGUMENT', `the queue of ${this.#peer} ${what}`);
  }
}
