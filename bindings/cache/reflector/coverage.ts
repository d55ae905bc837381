/**
 * Coverage: the ranges of hashes that a reflector should have (wanted) and has (held).
 *
 * Invariants: the store has every object of the held ranges, as of one version, and no other; the
 * held ranges are part of the wanted ones. They grow only when a list of missing ranges has ended,
 * and shrink at once. A list asks for the ranges that were wanted when it began; those that are not
 * wanted any more at its end are dropped. A range that stops being wanted during a list, and is
 * wanted again, comes by that list or by the next one.
 */
import type { Clock } from '../../base/clock.ts';
import { abortable, deferred } from '../../base/wait.ts';
import { MOST_RANGES } from '../../generated/abi.ts';
import type { HashRanges } from '../rest/hash-ranges.ts';
import { metaNamespaceKeyFunc } from '../rest/keys.ts';
import { compareResourceVersion, isComparableResourceVersion } from '../rest/resource-version.ts';

/** Ranges whose objects were listed at a version that the watch has not reached yet. */
interface Ahead {
  readonly ranges: HashRanges;
  readonly version: string;
}

export class Coverage {
  readonly #select: (ranges: HashRanges) => void;
  readonly #nothing: HashRanges;
  #wanted: HashRanges;
  #held: HashRanges;
  /** The ranges of the list that is under way. */
  #listed: HashRanges | undefined;
  #wantedBefore: HashRanges;
  #ahead: Ahead[] = [];
  #growsAt = 0;
  /** The server has said in a list that it leaves out other ranges. */
  isFiltered = false;
  /** The ranges have changed so that the watch, or the wait for ranges, must end. */
  isWoken = false;
  /** Ends the watch, or the wait for ranges. */
  wake = (): void => undefined;

  /** @param select makes the decoder leave out all other ranges */
  constructor(wanted: HashRanges, select: (ranges: HashRanges) => void) {
    this.#select = select;
    this.#nothing = wanted.minus(wanted);
    this.#wanted = this.#wantedBefore = wanted;
    this.#held = this.#nothing;
  }

  get wanted(): HashRanges {
    return this.#wanted;
  }

  get held(): HashRanges {
    return this.#held;
  }

  /** The ranges that a request asks for: those of the list, else the held ones. */
  get asked(): HashRanges {
    return this.#listed ?? this.#held;
  }

  /** Whether the store has all wanted ranges. */
  get isComplete(): boolean {
    return this.#wanted.equals(this.#held);
  }

  /** @returns whether a part of the held ranges is no longer wanted */
  want(next: HashRanges): boolean {
    const held = this.#held.intersection(next);
    // The core has no room for so many ranges: all are dropped and listed again.
    const kept = held.ranges.length > MOST_RANGES ? this.#nothing : held;
    const shrinks = !kept.equals(this.#held);
    this.#wanted = next;
    this.#held = kept;
    this.#growsAt = 0;
    if (this.#listed === undefined) this.#select(kept);
    // Unless the server leaves objects out, the same watch goes on, and events of other ranges are
    // dropped here.
    if (!this.isComplete || kept.isEmpty || (shrinks && this.isFiltered)) this.#wakeUp();
    return shrinks;
  }

  /** Whether the watch must end because all ranges, or the missing ones, have to be listed. */
  lacks(now: number): 'all' | 'missing' | undefined {
    if (this.#held.isEmpty) return 'all';
    return this.isComplete || now < this.#growsAt ? undefined : 'missing';
  }

  /** A list of the missing ranges has failed: it is not repeated before `until`. */
  postpone(until: number): void {
    this.#growsAt = until;
  }

  /** A watch begins, which may be woken. */
  beginWatch(): void {
    this.isWoken = false;
    this.wake = () => undefined;
  }

  /** Calls `wake` when the next list is due. @returns a timer, if there is one */
  wakeWhenDue(clock: Clock): unknown {
    if (this.isComplete) return undefined;
    return clock.setTimer(() => this.#wakeUp(), Math.max(0, this.#growsAt - clock.now()));
  }

  /** Resolves when the ranges have changed. */
  async changed(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = deferred();
    this.wake = resolve;
    await abortable(promise, signal).catch(() => undefined);
    this.isWoken = false;
  }

  /**
   * A list begins.
   *
   * @param what all wanted ranges, or those that are not held
   * @returns false if a list of all is needed
   */
  beginList(what: 'all' | 'missing'): boolean {
    const listed = what === 'all' ? this.#wanted : this.#wanted.minus(this.#held);
    if (listed.ranges.length > MOST_RANGES) return false;
    this.#wantedBefore = this.#wanted;
    this.#listed = listed;
    this.#select(listed);
    return true;
  }

  /** A list of all has ended. @returns the objects that are still wanted */
  listedAll<T extends object>(objects: T[]): T[] {
    this.#held = this.#nothing;
    this.#ahead = [];
    this.#gain();
    return this.#stillWanted(objects);
  }

  /** The same for a list of missing ranges. @param version of that list */
  listedMissing<T extends object>(objects: T[], version: string): T[] {
    const ranges = this.#gain();
    this.#ahead.push({ ranges, version });
    return this.#stillWanted(objects);
  }

  /** A list has ended or failed. */
  endList(): void {
    if (this.#listed === undefined) return;
    this.#listed = undefined;
    this.#select(this.#held);
  }

  /**
   * Which side leaves out other ranges, if that is known: lists of metadata and streamed lists do
   * not say it.
   *
   * @param outside how many objects of other ranges came
   */
  leftOutBy(outside = 0): 'server' | 'client' | undefined {
    if (this.isFiltered) return 'server';
    return outside > 0 || this.#wanted.byName ? 'client' : undefined;
  }

  /** The newest version of the store's objects. @param version of the watch */
  newest(version: string): string {
    return this.#ahead.reduce(
      (newest, ahead) =>
        compareResourceVersion(newest, ahead.version) < 0 ? ahead.version : newest,
      version,
    );
  }

  /**
   * Whether the store already has the state after this event, because its range was listed at that
   * version or a newer one. Events come in the order of their versions.
   */
  isKnown(frame: { type: string; object?: object; resourceVersion: string }): boolean {
    if (this.#ahead.length === 0) return false;
    const { object, resourceVersion: version } = frame;
    if (!isComparableResourceVersion(version)) return false;
    this.#ahead = this.#ahead.filter(
      (ahead) => compareResourceVersion(version, ahead.version) <= 0,
    );
    if (object === undefined || this.#ahead.length === 0) return false;
    const key = metaNamespaceKeyFunc(object);
    return this.#ahead.some(({ ranges }) => ranges.hasKey(key));
  }

  #wakeUp(): void {
    this.isWoken = true;
    this.wake();
  }

  #gain(): HashRanges {
    const gained = (this.#listed ?? this.#nothing).intersection(this.#wanted);
    this.#held = this.#held.union(gained);
    return gained;
  }

  #stillWanted<T extends object>(objects: T[]): T[] {
    if (this.#wanted === this.#wantedBefore) return objects;
    return objects.filter((object) => this.#wanted.hasKey(metaNamespaceKeyFunc(object)));
  }
}
