/**
 * Measures for how long each slot has had no owner that may run it, as one replica sees it: the map
 * names no owner, the owner's Lease has expired, or the owner has let the slot go in a move.
 */
import type { ClusterView } from './cluster-view.ts';
import { moveOf } from './shard-map.ts';
import { SLOTS } from './slots.ts';

export class UnownedSlots {
  readonly #id: string;
  readonly #since = new Array<number | undefined>(SLOTS).fill(undefined);

  constructor(id: string) {
    this.#id = id;
  }

  /** Compares with what was seen before. A time begins when this process sees the change. */
  observe(view: ClusterView, now: number): void {
    const { map } = view;
    for (let slot = 0; slot < SLOTS; slot++) {
      const owner = map?.slots[slot] ?? '';
      const lease = view.lease(this.#nameOf(owner));
      let since: number | undefined;
      if (owner === '' || lease === undefined || lease.holder === '') since = now;
      else {
        const age = view.age(lease.name, now);
        const move = map === undefined ? undefined : moveOf(map, slot);
        const { state } = lease;
        const isLetGo =
          move !== undefined &&
          state !== undefined &&
          state.epoch >= move.since &&
          !state.holding.includes(slot);
        // The owner may have stopped right after its last renewal.
        if (age >= lease.duration) since = now - age;
        else if (isLetGo) since = now;
      }
      this.#since[slot] = since === undefined ? undefined : (this.#since[slot] ?? since);
    }
  }

  /** The longest time without an owner, in milliseconds; 0 if all slots have owners. */
  longest(now: number): number {
    let longest = 0;
    for (const since of this.#since)
      if (since !== undefined) longest = Math.max(longest, now - since);
    return longest;
  }

  #nameOf(owner: string): string {
    return `${this.#id}-${owner}`;
  }
}
