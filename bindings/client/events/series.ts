/**
 * Which Events are the same one again. Isomorphic events (same kind, reason, action, reporter, objects and note) within six
 * minutes of each other are one Event with a series: it is written when it happens first and when it happens again; from then on it
 * is only counted here, and written at its end and every half an hour, as the server forgets an Event after an hour. Of events that
 * differ in nothing but their notes, those whose note is not among ten are one series with the note of its first: the server lets no note change.
 * client-go: tools/events/event_broadcaster.go; tools/record/events_cache.go EventAggregator. Unlike in the former, the resource version of the
 * object is no part of what is compared: an object whose status changes at each failure would never have a series.
 */
import type { Clock } from '../../clock.ts';
import { combined, type KubeEvent, microTime, type ObjectReference } from './event.ts';

/** client-go: finishTime, refreshTime. */
export const FINISH_MS = 6 * 60_000;
export const REFRESH_MS = 30 * 60_000;
/** As many as tools/record remembers; tools/events has no bound. The one that was seen longest ago ends early. Bounds the writes of series, too. */
export const MAX_ENTRIES = 4096;
/** Notes that have an Event of their own at once. client-go: tools/record defaultAggregateMaxEvents. */
const MAX_NOTES = 10;

/** An Event, how often it has happened, and what of that the server knows. */
export interface Entry {
  readonly key: string;
  /** The key of the series for all notes beyond {@link MAX_NOTES}. */
  readonly group: string;
  readonly event: KubeEvent;
  count: number;
  /** By the clock. */
  lastSeen: number;
  /** By the time of day. */
  lastObserved: number;
  /** The count that the server has; 0: it has no such Event. */
  written: number;
  /** What its writer does with it; `new`: it waits to be written for the first time. */
  state: 'idle' | 'new' | 'queued' | 'writing' | 'again';
}

function groupOf(event: KubeEvent): string {
  const { type, action, reason, reportingController, reportingInstance, regarding, related } = event;
  const parts = [type, action, reason, reportingController, reportingInstance, ...refParts(regarding)];
  return JSON.stringify(related === undefined ? parts : [...parts, ...refParts(related)]);
}

function refParts(reference: ObjectReference): (string | undefined)[] {
  const { apiVersion, kind, namespace, name, uid, fieldPath } = reference;
  return [apiVersion, kind, namespace, name, uid, fieldPath];
}

/** The Event as it is to be on the server. */
export function eventOf(entry: Entry): KubeEvent {
  return entry.count > 1 ? { ...entry.event, series: seriesOf(entry) } : entry.event;
}

export function seriesOf({ count, lastObserved }: Entry): { count: number; lastObservedTime: string } {
  return { count, lastObservedTime: microTime(lastObserved) };
}

export class SeriesCache {
  readonly #clock: Clock;
  readonly #write: (entry: Entry) => void;
  /** From the one that was seen longest ago on. */
  readonly #entries = new Map<string, Entry>();
  /** How many entries a group has for single notes. */
  readonly #notes = new Map<string, number>();
  #finishing: unknown;
  #refreshing: unknown;

  /** @param write asks for the entry to be written soon */
  constructor(clock: Clock, write: (entry: Entry) => void) {
    this.#clock = clock;
    this.#write = write;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The entry of an event that was seen again now; undefined for one that is not in a series. */
  seenAgain(event: KubeEvent, wallMs: number): Entry | undefined {
    const entry = this.#entries.get(this.#keyOf(event, groupOf(event)));
    if (entry === undefined) return undefined;
    entry.count++;
    entry.lastSeen = this.#clock.now();
    entry.lastObserved = wallMs;
    this.#entries.delete(entry.key);
    this.#entries.set(entry.key, entry);
    return entry;
  }

  /** What was not seen again begins. */
  add(event: KubeEvent, wallMs: number): Entry {
    const group = groupOf(event);
    const key = this.#keyOf(event, group);
    if (key !== group) this.#notes.set(group, this.#notesOf(group) + 1);
    const lastSeen = this.#clock.now();
    const fresh = { count: 1, lastSeen, lastObserved: wallMs, written: 0 };
    const entry: Entry = { key, group, event: key === group ? combined(event) : event, ...fresh, state: 'idle' };
    this.#entries.set(key, entry);
    if (this.#entries.size > MAX_ENTRIES) for (const oldest of this.#entries.values()) if (this.#finish(oldest)) break;
    this.#finishing ??= this.#clock.setTimer(() => this.#finishDue(), FINISH_MS);
    this.#refreshing ??= this.#clock.setTimer(() => this.#refreshAll(), REFRESH_MS);
    return entry;
  }

  #notesOf(group: string): number {
    return this.#notes.get(group) ?? 0;
  }

  #keyOf({ note = '' }: KubeEvent, group: string): string {
    const key = `${group} ${note}`;
    return this.#entries.has(key) || this.#notesOf(group) < MAX_NOTES ? key : group;
  }

  /** Ends every series and sets no timer any more. */
  finishAll(): void {
    for (const entry of this.#entries.values()) this.#finish(entry);
    this.#clock.clearTimer(this.#finishing);
    this.#clock.clearTimer(this.#refreshing);
  }

  #finish(entry: Entry): boolean {
    const { key, group } = entry;
    this.#entries.delete(key);
    const notes = this.#notesOf(group) - (key === group ? 0 : 1);
    if (notes > 0) this.#notes.set(group, notes);
    else this.#notes.delete(group);
    // A single one was written, is about to be, or was given up: its end is not news.
    if (entry.count > Math.max(entry.written, 1)) this.#write(entry);
    return true;
  }

  #finishDue(): void {
    this.#finishing = undefined;
    const now = this.#clock.now();
    for (const entry of this.#entries.values()) {
      const left = entry.lastSeen + FINISH_MS - now;
      if (left > 0) {
        this.#finishing = this.#clock.setTimer(() => this.#finishDue(), left);
        return;
      }
      this.#finish(entry);
    }
  }

  #refreshAll(): void {
    this.#refreshing = undefined;
    for (const entry of this.#entries.values()) {
      if (entry.count > 1) this.#write(entry);
    }
    if (this.#entries.size > 0) this.#refreshing = this.#clock.setTimer(() => this.#refreshAll(), REFRESH_MS);
  }
}
