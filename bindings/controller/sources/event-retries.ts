/**
 * Retries events whose handler failed, with back-off, until the handler succeeds or the source
 * ends. controller-runtime has no such retries: its handlers cannot fail.
 *
 * Waiting updates of one object are merged into one, from the first old state to the last new
 * state. The number of waiting events is bounded, so that a handler that always fails does not fill
 * the memory.
 */

import type { Clock } from '../../base/clock.ts';
import { LazyChange } from '../../cache/bytes/change.ts';
import type { EventKind } from '../predicates.ts';
import type { UpdateEvent } from '../source.ts';

const FIRST_MS = 100;
const LONGEST_MS = 30_000;
const MOST_EVENTS = 10_000;

/** An event whose handler has failed `tries` times. */
export interface FailedEvent<L extends { readonly kind: EventKind }> {
  readonly route: L;
  readonly event: unknown;
  readonly object: unknown;
  readonly tries: number;
}

/** The waiting events of one object. */
interface Waiting<L extends { readonly kind: EventKind }> {
  events: FailedEvent<L>[];
  timer: unknown;
}

/** The delay after this many failures, in milliseconds. */
export function retryDelay(tries: number): number {
  return Math.min(FIRST_MS * 2 ** (tries - 1), LONGEST_MS);
}

export class EventRetries<L extends { readonly kind: EventKind }> {
  readonly #clock: Clock;
  readonly #handle: (failed: FailedEvent<L>) => void;
  readonly #byKey = new Map<string, Waiting<L>>();
  #size = 0;
  #unnamed = 0;

  /** @param handle handles an event again; must not throw */
  constructor(clock: Clock, handle: (failed: FailedEvent<L>) => void) {
    this.#clock = clock;
    this.#handle = handle;
  }

  /**
   * Returns false if too many events wait: this event is dropped.
   *
   * @param key of the object; undefined if the event is not to be merged with others
   */
  add(key: string | undefined, failed: FailedEvent<L>): boolean {
    const at = key ?? `#${++this.#unnamed}`;
    const waiting = this.#byKey.get(at);
    if (waiting !== undefined && mergeIntoLast(waiting.events, failed)) return true;
    if (this.#size >= MOST_EVENTS) return false;
    if (waiting === undefined) {
      const timer = this.#clock.setTimer(() => this.#fire(at), retryDelay(failed.tries));
      this.#byKey.set(at, { events: [failed], timer });
    } else waiting.events.push(failed);
    this.#size++;
    return true;
  }

  /** Drops all events. */
  stop(): void {
    for (const { timer } of this.#byKey.values()) this.#clock.clearTimer(timer);
    this.#byKey.clear();
    this.#size = 0;
  }

  #fire(key: string): void {
    const { events = [] } = this.#byKey.get(key) ?? {};
    this.#byKey.delete(key); // first, because events that fail again are added again
    this.#size -= events.length;
    for (const event of events) this.#handle(event);
  }
}

function mergeIntoLast<L extends { readonly kind: EventKind }>(
  events: FailedEvent<L>[],
  failed: FailedEvent<L>,
): boolean {
  const last = events.at(-1);
  if (last?.route.kind !== 'update' || failed.route.kind !== 'update') return false;
  const { objectOld } = last.event as UpdateEvent<object>;
  const { objectNew } = failed.event as UpdateEvent<object>;
  const event = { objectOld, objectNew, change: new LazyChange(objectOld, objectNew) };
  events[events.length - 1] = { ...failed, event, tries: Math.max(last.tries, failed.tries) };
  return true;
}
