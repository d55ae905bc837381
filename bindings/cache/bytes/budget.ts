/**
 * How many bytes a cache may keep. Each object is judged as it is staged:
 *
 * - of a list of everything, by what the list has brought so far, as that is what the cache will
 *   be;
 * - of a watch, by what the cache has and what waits for it, less what that will replace.
 *
 * So a cache that is full takes a list that is smaller, and one that has room takes its own content
 * again.
 */
import { CapstanError } from '../../base/errors.ts';
import { tell } from '../../base/handle-error.ts';
import type { Budget } from '../decode/limits.ts';
import type { StoredObject } from './stored-object.ts';
import type { StoredObjects } from './stored-objects.ts';

const MARK = 0.8;

export class ByteBudget {
  readonly #storedObjects: StoredObjects;
  readonly #max: number;
  readonly #options: Budget;
  readonly #mark: number;
  readonly #trim: () => boolean | undefined;
  readonly #what: string;
  /** What the list that is being collected has brought. */
  #listed = 0;
  /** An object had no room, and the list or watch ended with it. */
  refused = false;
  /**
   * From how many bytes on `onBytes` is called; above the mark: it has been, and the cache has not
   * been below the mark since.
   */
  #next: number;

  /**
   * @param trim cuts all but the metadata out of the object scanned last, as {@link
   *   TrimBlock.apply}
   * @param what for messages: `v1 Pod`
   */
  constructor(
    storedObjects: StoredObjects,
    max: number,
    options: Budget,
    trim: () => boolean | undefined,
    what: string,
  ) {
    this.#storedObjects = storedObjects;
    this.#max = max;
    this.#options = options;
    this.#mark = max * (options.onBytes?.at ?? MARK);
    this.#next = this.#mark;
    this.#trim = trim;
    this.#what = what;
  }

  /** A list begins. @param kept bytes of the cache that it does not replace */
  begin(kept: number): void {
    this.#listed = kept;
    this.#storedObjects.uncount();
    this.refused = false;
  }

  /**
   * Stages the object scanned last, whole or, where it has no room and that is the policy, its
   * metadata alone. `undefined`: the host has to decode it. Throws CapstanError CACHE_FULL; then
   * the object is not staged.
   */
  stage(): StoredObject | undefined {
    const storedObjects = this.#storedObjects;
    const isListed = storedObjects.gathering;
    if (!isListed && this.#wasTold() && storedObjects.bytes().live < this.#mark)
      this.#next = this.#mark;
    const stored = storedObjects.stage();
    const bytes = isListed ? this.#listed + storedObjects.countedSizeOf(stored) : this.#live();
    if (bytes <= this.#max) {
      if (isListed) this.#listed = bytes;
      if (bytes >= this.#next) this.#tell(bytes);
      return stored;
    }
    storedObjects.discard(stored);
    if (!this.#wasTold()) this.#tell(bytes);
    if (this.#options.whenFull !== 'metadata') {
      this.refused = true;
      const full = `the cache of ${this.#what} has no room for an object: with it, ${bytes} bytes`;
      throw new CapstanError('CACHE_FULL', `${full} where maxBytes is ${this.#max}`);
    }
    const isCut = this.#trim();
    if (isCut === undefined) return undefined;
    const rest = storedObjects.stage();
    if (isCut) storedObjects.mark(rest);
    if (isListed) this.#listed += storedObjects.countedSizeOf(rest);
    const kept = isListed ? this.#listed : this.#live();
    if (kept >= this.#next) this.#tell(kept);
    return rest;
  }

  /** What the list has brought is replaced, or gone, before its end. */
  forget(stored: StoredObject): void {
    this.#listed -= this.#storedObjects.sizeOf(stored);
  }

  /** Exact only from the mark on, as what will be replaced has to be looked for. */
  #live(): number {
    const { live } = this.#storedObjects.bytes();
    return live < this.#mark || (this.#wasTold() && live <= this.#max)
      ? live
      : live - this.#storedObjects.replacing();
  }

  #wasTold(): boolean {
    return this.#next > this.#mark;
  }

  /**
   * The next time is at the limit, which metadata alone can pass, and then whenever they have
   * doubled.
   */
  #tell(bytes: number): void {
    const { onBytes, whenFull } = this.#options;
    if (whenFull !== 'metadata') this.#next = Number.POSITIVE_INFINITY;
    else this.#next = this.#next < this.#max ? this.#max : 2 * bytes;
    if (onBytes === undefined) return;
    tell(() => onBytes.call(bytes, this.#max), `onBytes of the cache of ${this.#what}`);
  }
}
