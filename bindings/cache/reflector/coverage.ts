/**
 * Coverage: which ranges of hashes a reflector is asked for, and which its store has.
 *
 * Invariants: the store has every object of the held ranges, as of one version, and no other; the
 * held ranges are part of the wanted ones. They grow only when a list of what is missing has
 * ended, and shrink at once. What a list began with is what it gives, whatever is wanted meanwhile;
 * a range that was let go and wanted again during a list of all is listed by it or once more.
 */
import type { Clock } from '../../base/clock.ts';
import { abortable, deferred } from '../../base/wait.ts';
import { MOST_RANGES } from '../../generated/abi.ts';
import type { HashRanges } from '../rest/hash-ranges.ts';
import { metaNamespaceKeyFunc } from '../rest/keys.ts';
import { compareResourceVersion, isComparableResourceVersion } from '../rest/resource-version.ts';

/** These ranges are in the store as of a version that the watch has not reached yet. */
interface Ahead {
  readonly ranges: HashRanges;
  readonly version: string;
}

export class Coverage {
  readonly #select: (ranges: HashRanges) => void;
  readonly #nothing: HashRanges;
  #wanted: HashRanges;
  #held: HashRanges;
  /** What the list that is under way brings. */
  #listed: HashRanges | undefined;
  #wantedBefore: HashRanges;
  #ahead: Ahead[] = [];
  #growsAt = 0;
  /** A list said that the server leaves out what was not asked for. */
  isFiltered = false;
  /** Set by a change of the ranges that the watch or the wait has to end for. */
  isWoken = false;
  /** Ends the watch, or the wait for ranges. */
  wake = (): void => undefined;

  /** @param select makes the decoder leave out everything else */
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

  /** What a request is for: what is listed, else what is held. */
  get asked(): HashRanges {
    return this.#listed ?? this.#held;
  }

  /** Whether everything that is wanted is in the store. */
  get isComplete(): boolean {
    return this.#wanted.equals(this.#held);
  }

  /** @returns whether something that was held is wanted no longer */
  want(next: HashRanges): boolean {
    const held = this.#held.intersection(next);
    // So many pieces have no room in the core: everything is let go, and listed again.
    const kept = held.ranges.length > MOST_RANGES ? this.#nothing : held;
    const shrinks = !kept.equals(this.#held);
    this.#wanted = next;
    this.#held = kept;
    this.#growsAt = 0;
    if (this.#listed === undefined) this.#select(kept);
    // Of a server that is not known to leave anything out, the same watch goes on with less.
    if (!this.isComplete || kept.isEmpty || (shrinks && this.isFiltered)) this.#wakeUp();
    return shrinks;
  }

  /** Whether the watch has to make way for a list of all, or of what is missing. */
  lacks(now: number): 'all' | 'missing' | undefined {
    if (this.#held.isEmpty) return 'all';
    return this.isComplete || now < this.#growsAt ? undefined : 'missing';
  }

  /** A list of what is missing has failed: not before then again. */
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
   * @param what all that is wanted, or what is not held yet
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

  /** The same for a list of what was missing. @param version of that list */
  listedMissing<T extends object>(objects: T[], version: string): T[] {
    const ranges = this.#gain();
    this.#ahead.push({ ranges, version });
    return this.#stillWanted(objects);
  }

  /** The list has failed, or is over. */
  endList(): void {
    if (this.#listed === undefined) return;
    this.#listed = undefined;
    this.#select(this.#held);
  }

  /**
   * Who leaves out what is outside, as far as is known: lists of metadata, and streamed ones, do
   * not tell.
   *
   * @param outside how many objects came that are
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
   * Whether the store has the state after this event already, as its range was listed at a newer
   * version. Events come in the order of their versions.
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
