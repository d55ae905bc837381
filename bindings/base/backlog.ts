/**
 * A first-in, first-out list: `push` and `shift` take O(1), and items that were taken are not kept
 * alive. It grows without bound, as client-go's buffer of notifications does. A waiting item can be
 * replaced or removed by its place, a number that no later item gets.
 */

/** With fewer taken places the array is not copied: the copy would cost more than it frees. */
const COMPACT_FROM = 1024;

export class Backlog<T extends object> {
  #items: (T | undefined)[] = [];
  #head = 0;
  /** The place of `#items[0]`. */
  #base = 0;
  /**
   * The number of waiting items. A field and not a getter, because it is read several times an
   * event. Read-only for others.
   */
  length = 0;

  /** Appends an item and returns its place. */
  push(item: T): number {
    this.length++;
    return this.#base + this.#items.push(item) - 1;
  }

  /** The item that the index-th `shift` from now returns, if none is removed by its place. */
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
   * The place of the item that `shift` returns next; if there is none, of the next item to come.
   */
  first(): number {
    this.#skipGaps();
    return this.#base + this.#head;
  }

  /** The waiting item in a place; `undefined` if it was taken. */
  inPlace(place: number): T | undefined {
    return this.#items[place - this.#base];
  }

  /** Replaces a waiting item; `undefined` removes it. */
  set(place: number, item: T | undefined): void {
    if (this.inPlace(place) === undefined) return;
    this.#items[place - this.#base] = item;
    if (item === undefined) this.length--;
  }

  /** The waiting items with their places, the oldest first. */
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
