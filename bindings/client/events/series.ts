/**
 * Which Events are the same one again. Events of the same kind, reason, action, reporter and
 * objects are a group, which ends when none of them has come for six minutes. In it each note has
 * an Event, up to ten, and all others together have one with the note of its first, as the server
 * lets no note change. Such an Event is written when it happens first and when it happens again;
 * from then on it is only counted here, as a series, and written every half an hour, as the server
 * forgets an Event after an hour, when it comes again after six minutes, and at the end of its
 * group. Were notes forgotten one by one, an object that fails slowly with a new text each time
 * would go on to have Events of its own, which the spam filter refuses. client-go:
 * tools/events/event_broadcaster.go; tools/record/events_cache.go EventAggregator. Unlike in the
 * former, the resource version of the object is no part of what is compared: an object whose status
 * changes at each failure would never have a series.
 */

import type { Clock } from '../../base/clock.ts';
import { formatMicroTime } from '../../base/times.ts';
import { combined, type KubeEvent, type ObjectReference } from './event.ts';

/** client-go: finishTime, refreshTime. */
export const FINISH_MS = 6 * 60_000;
export const REFRESH_MS = 30 * 60_000;
/**
 * As many as tools/record remembers; tools/events has no bound. The group that was silent longest
 * ends early. Bounds the writes of series, too.
 */
export const MAX_ENTRIES = 4096;
/**
 * Notes of a group that have an Event of their own. client-go: tools/record
 * defaultAggregateMaxEvents.
 */
const MAX_NOTES = 10;

/** An Event, how often it has happened, and what of that the server knows. */
export interface EventEntry {
  readonly event: KubeEvent;
  count: number;
  /** By the clock. */
  lastSeen: number;
  /** Between the last two times, in ms. */
  gap: number;
  /** By the time of day. */
  lastObserved: number;
  /** The count that the server has; 0: it has no such Event. */
  written: number;
  /** What its writer does with it; `new`: it waits to be written for the first time. */
  state: 'idle' | 'new' | 'queued' | 'writing' | 'again';
}

interface Group {
  lastSeen: number;
  /** By their notes; undefined: the one for all other notes. */
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

/** The Event as it is to be on the server. */
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
  /** From the one that has been silent longest on. */
  readonly #groups = new Map<string, Group>();
  /** Entries of all groups. */
  #size = 0;
  #finishing: unknown;
  #refreshing: unknown;

  /** @param write asks for the entry to be written soon */
  constructor(clock: Clock, write: (entry: EventEntry) => void) {
    this.#clock = clock;
    this.#write = write;
  }

  /**
   * The entry of an event that was seen again now; undefined for one that has none. Either way its
   * group was not silent.
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

  /** What was not seen again begins. */
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

  /** Ends every series and sets no timer any more. */
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
   * A single one was written, is about to be, or was given up; nor is it news what the server has,
   * and may forget.
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
