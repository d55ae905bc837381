/**
 * Groups Events that repeat into series. Events of the same kind, reason, action, reporter and
 * objects are a group, which ends after six minutes without one. Each note of a group has an Event,
 * up to ten; all other notes share one Event with the note of the first of them, because the server
 * does not allow a note to change. An Event is written at its first and second occurrence. From
 * then on it is counted here, as a series, and written every half hour (the server forgets an Event
 * after an hour), when it happens again after six minutes, and at the end of its group. Notes do
 * not expire one by one: an object that fails slowly with a new text each time would keep getting
 * Events of its own, until the spam filter refuses them.
 *
 * client-go: tools/events/event_broadcaster.go; tools/record/events_cache.go EventAggregator.
 * Unlike in the former, the resourceVersion of the object is not compared: an object whose status
 * changes at each failure would never have a series.
 */

import type { Clock } from '../../base/clock.ts';
import { formatMicroTime } from '../../base/times.ts';
import { combined, type KubeEvent, type ObjectReference } from './event.ts';

/** In milliseconds. client-go: finishTime, refreshTime. */
export const FINISH_MS = 6 * 60_000;
const REFRESH_MS = 30 * 60_000;
/**
 * The most groups, as in tools/record; tools/events has no bound. The group that was silent longest
 * ends early. It also bounds the writes of series.
 */
export const MAX_ENTRIES = 4096;
/**
 * The most notes of a group with an Event of their own. client-go: tools/record
 * defaultAggregateMaxEvents.
 */
const MAX_NOTES = 10;

/** An Event with its count, and what the server has of it. */
export interface EventEntry {
  readonly event: KubeEvent;
  count: number;
  /** By the monotonic clock. */
  lastSeen: number;
  /** The time between the last two occurrences, in milliseconds. */
  gap: number;
  /** The time of day. */
  lastObserved: number;
  /** The count that the server has; 0 if it does not have the Event. */
  written: number;
  /** Its state in the writer; `new`: it waits for its first write. */
  state: 'idle' | 'new' | 'queued' | 'writing' | 'again';
}

interface Group {
  lastSeen: number;
  /** By note; undefined for the entry of all other notes. */
  readonly entries: Map<string | undefined, EventEntry>;
}

function groupOf(event: KubeEvent): string {
  const { type, action, reason, reportingController, reportingInstance, regarding, related } =
    event;
  const parts = [
    type,
    action,
    reason,
    reportingController,
    reportingInstance,
    ...refParts(regarding),
  ];
  return JSON.stringify(related === undefined ? parts : [...parts, ...refParts(related)]);
}

function refParts(reference: ObjectReference): (string | undefined)[] {
  const { apiVersion, kind, namespace, name, uid, fieldPath } = reference;
  return [apiVersion, kind, namespace, name, uid, fieldPath];
}

/** The Event to write. */
export function eventOf(entry: EventEntry): KubeEvent {
  return entry.count > 1 ? { ...entry.event, series: seriesOf(entry) } : entry.event;
}

export function seriesOf({ count, lastObserved }: EventEntry): {
  count: number;
  lastObservedTime: string;
} {
  return { count, lastObservedTime: formatMicroTime(lastObserved * 1000) };
}

function slotOf({ entries }: Group, { note }: KubeEvent): string | undefined {
  return entries.has(note) || entries.size < MAX_NOTES ? note : undefined;
}

export class SeriesCache {
  readonly #clock: Clock;
  readonly #write: (entry: EventEntry) => void;
  /** Ordered by silence, the longest first. */
  readonly #groups = new Map<string, Group>();
  /** The number of entries of all groups. */
  #size = 0;
  #finishing: unknown;
  #refreshing: unknown;

  /** @param write called to have an entry written soon */
  constructor(clock: Clock, write: (entry: EventEntry) => void) {
    this.#clock = clock;
    this.#write = write;
  }

  /**
   * The entry of an event that happened again; undefined if it has none. Its group counts as active
   * in both cases.
   */
  seenAgain(event: KubeEvent, wallMs: number): EventEntry | undefined {
    const key = groupOf(event);
    const group = this.#groups.get(key);
    if (group === undefined) return undefined;
    this.#seen(key, group);
    const entry = group.entries.get(slotOf(group, event));
    if (entry === undefined) return undefined;
    entry.count++;
    entry.gap = group.lastSeen - entry.lastSeen;
    entry.lastSeen = group.lastSeen;
    entry.lastObserved = wallMs;
    return entry;
  }

  /** The oldest time that counts as active. */
  add(event: KubeEvent, wallMs: number): EventEntry {
    const key = groupOf(event);
    const group = this.#groups.get(key) ?? { lastSeen: 0, entries: new Map() };
    this.#seen(key, group);
    const slot = slotOf(group, event);
    const fresh = { count: 1, lastSeen: group.lastSeen, gap: 0, lastObserved: wallMs, written: 0 };
    const entry: EventEntry = {
      event: slot === undefined ? combined(event) : event,
      ...fresh,
      state: 'idle',
    };
    group.entries.set(slot, entry);
    this.#size++;
    for (const [oldest, { entries }] of this.#groups) {
      if (this.#size <= MAX_ENTRIES) break;
      this.#finish(oldest, entries);
    }
    this.#finishing ??= this.#clock.setTimer(() => this.#finishDue(), FINISH_MS);
    this.#refreshing ??= this.#clock.setTimer(() => this.#refreshAll(), REFRESH_MS);
    return entry;
  }

  #seen(key: string, group: Group): void {
    group.lastSeen = this.#clock.now();
    this.#groups.delete(key);
    this.#groups.set(key, group);
  }

  /** Ends all series and clears the timer. */
  finishAll(): void {
    for (const [key, group] of this.#groups) this.#finish(key, group.entries);
    this.#clock.clearTimer(this.#finishing);
    this.#clock.clearTimer(this.#refreshing);
  }

  #finish(key: string, entries: Group['entries']): void {
    this.#groups.delete(key);
    this.#size -= entries.size;
    this.#writeNews(entries);
  }

  /**
   * A single Event was written, is about to be, or was given up. A count that the server has, or
   * has forgotten, need not be written.
   */
  #writeNews(entries: Group['entries']): void {
    for (const entry of entries.values())
      if (entry.count > Math.max(entry.written, 1)) this.#write(entry);
  }

  #finishDue(): void {
    this.#finishing = undefined;
    const now = this.#clock.now();
    for (const [key, group] of this.#groups) {
      const left = group.lastSeen + FINISH_MS - now;
      if (left > 0) {
        this.#finishing = this.#clock.setTimer(() => this.#finishDue(), left);
        return;
      }
      this.#finish(key, group.entries);
    }
  }

  #refreshAll(): void {
    this.#refreshing = undefined;
    for (const { entries } of this.#groups.values()) this.#writeNews(entries);
    if (this.#size > 0)
      this.#refreshing = this.#clock.setTimer(() => this.#refreshAll(), REFRESH_MS);
  }
}
