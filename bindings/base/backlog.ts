/**
 * A first-in, first-out list that costs O(1) an item and holds no item that was taken. Grows
 * without bound, as client-go's. What waits in it can be exchanged or taken out by its place, which
 * is a number that no later item ever has.
 */

/** Below this many taken places a copy is not worth it. */
const COMPACT_FROM = 1024;

export class Backlog<T extends object> {
  #items: (T | undefined)[] = [];
  #head = 0;
  /** The place of `#items[0]`. */
  #base = 0;
  /**
   * How many items wait. A field, as it is asked for several times an event; not to be set from
   * outside.
   */
  length = 0;

  /** The item's place. */
  push(item: T): number {
    this.length++;
    return this.#base + this.#items.push(item) - 1;
  }

  /** The item that the index-th shift from now will give, where none was taken out by its place. */
  at(index: number): T | undefined {
    return this.#items[this.#head + index];
  }

  shift(): T | undefined {
    this.#skipGaps();
    const item = this.#items[this.#head];
    if (item === undefined) return undefined;
    this.length--;
    this.#items[this.#head++] = undefined;
    // At least half of the list is taken places, so each item is moved once on average.
    if (
      this.#head === this.#items.length ||
      (this.#head >= COMPACT_FROM && this.#head * 2 >= this.#items.length)
    ) {
      this.#items = this.#items.slice(this.#head);
      this.#base += this.#head;
      this.#head = 0;
    }
    return item;
  }

  /**
   * The place of what `shift` gives next; where there is nothing, that of the next item to come.
   */
  first(): number {
    this.#skipGaps();
    return this.#base + this.#head;
  }

  /** What waits in a place; `undefined` when that has been taken. */
  inPlace(place: number): T | undefined {
    return this.#items[place - this.#base];
  }

  /** Puts another item in the place of one that waits, or, with `undefined`, none. */
  set(place: number, item: T | undefined): void {
    if (this.inPlace(place) === undefined) return;
    this.#items[place - this.#base] = item;
    if (item === undefined) this.length--;
  }

  /** What waits, with its places, the oldest first. */
  *entries(): Generator<[place: number, item: T]> {
    for (let i = this.#head; i < this.#items.length; i++) {
      const item = this.#items[i];
      if (item !== undefined) yield [this.#base + i, item];
    }
  }

  clear(): void {
    this.#base += this.#items.length;
    this.#items = [];
    this.#head = 0;
    this.length = 0;
  }

  #skipGaps(): void {
    while (this.#head < this.#items.length && this.#items[this.#head] === undefined) this.#head++;
  }
}
