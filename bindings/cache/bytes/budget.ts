/**
 * The limit `maxBytes` of a cache. Whether an object fits is decided when it is staged:
 *
 * - an object of a complete list, by the bytes of the list so far, because the list will replace
 *   the content of the cache;
 * - an object of a watch, by the bytes in the cache and those staged for it, less those that they
 *   will replace.
 *
 * So a full cache accepts a smaller list, and a list of the same content always fits.
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
  /** The bytes of the list that is being collected. */
  #listed = 0;
  /** An object did not fit, which ended the list or the watch. */
  refused = false;
  /**
   * `onBytes` is called from this many bytes on. Above the mark: it was called, and the cache has
   * not been below the mark since.
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
   * Stages the object scanned last. If it does not fit, its metadata alone (`whenFull:
   * 'metadata'`), or throws CapstanError CACHE_FULL and stages nothing. `undefined`: the caller has
   * to decode the object.
   */
  stage(): StoredObject | undefined {
    const storedObjects = this.#storedObjects;
    const isListed = storedObjects.gathering;
    if (!isListed && this.#wasCalled() && storedObjects.bytes().live < this.#mark)
      this.#next = this.#mark;
    const stored = storedObjects.stage();
    const bytes = isListed ? this.#listed + storedObjects.countedSizeOf(stored) : this.#live();
    if (bytes <= this.#max) {
      if (isListed) this.#listed = bytes;
      if (bytes >= this.#next) this.#callOnBytes(bytes);
      return stored;
    }
    storedObjects.discard(stored);
    if (!this.#wasCalled()) this.#callOnBytes(bytes);
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
    if (kept >= this.#next) this.#callOnBytes(kept);
    return rest;
  }

  /** A later event of the list has replaced or deleted an object of it. */
  forget(stored: StoredObject): void {
    this.#listed -= this.#storedObjects.sizeOf(stored);
  }

  /**
   * The live bytes, less those that will be replaced. These are searched for only from the mark on;
   * below it the result is too large.
   */
  #live(): number {
    const { live } = this.#storedObjects.bytes();
    return live < this.#mark || (this.#wasCalled() && live <= this.#max)
      ? live
      : live - this.#storedObjects.replacing();
  }

  #wasCalled(): boolean {
    return this.#next > this.#mark;
  }

  /**
   * The next call is at the limit, which only metadata can pass, and then each time the bytes have
   * doubled.
   */
  #callOnBytes(bytes: number): void {
    const { onBytes, whenFull } = this.#options;
    if (whenFull !== 'metadata') this.#next = Number.POSITIVE_INFINITY;
    else this.#next = this.#next < this.#max ? this.#max : 2 * bytes;
    if (onBytes === undefined) return;
    tell(() => onBytes.call(bytes, this.#max), `onBytes of the cache of ${this.#what}`);
  }
}
