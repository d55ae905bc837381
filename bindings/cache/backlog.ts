/** A first-in, first-out list that costs O(1) an item and holds no item that was taken. Grows without bound, as client-go's. */

/** Below this many taken places a copy is not worth it. */
const COMPACT_FROM = 1024;

export class Backlog<T extends object> {
  #items: (T | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  /** The item that the index-th shift from now will give. */
  at(index: number): T | undefined {
    return this.#items[this.#head + index];
  }

  shift(): T | undefined {
    const item = this.#items[this.#head];
    if (item === undefined) return undefined;
    this.#items[this.#head++] = undefined;
    // At least half of the list is taken places, so each item is moved once on average.
    if (this.#head === this.#items.length || (this.#head >= COMPACT_FROM && this.#head * 2 >= this.#items.length)) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  clear(): void {
    this.#items = [];
    this.#head = 0;
  }
}
