/** A QueueOrder as a user writes one: last in, first out. */
import type { QueueOrder } from 'capstan/workqueue';

export class Stack implements QueueOrder<string> {
  readonly #items: string[] = [];
  touch(): void {}
  push(item: string): void {
    this.#items.push(item);
  }
  len(): number {
    return this.#items.length;
  }
  pop(): string {
    return this.#items.pop() as string;
  }
}
