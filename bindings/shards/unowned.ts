/**
 * For how long each slot has had no owner that may run it, as one replica sees it: nobody owns it,
 * the owner's Lease has expired, or the owner has let it go for another replica.
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

  /** Takes note of what has changed. The times begin when this process sees a change. */
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
        // The owner has been silent since its last renewal, but was trusted until the Lease ended.
        if (age >= lease.duration) since = now - age;
        else if (isLetGo) since = now;
      }
      this.#since[slot] = since === undefined ? undefined : (this.#since[slot] ?? since);
    }
  }

  /** Of the slot that has had no owner for the longest time, in milliseconds; 0 if all have one. */
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
