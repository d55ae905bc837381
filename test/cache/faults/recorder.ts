/**
 * Records the notifications of a handler, and compares the states of each object with those that
 * were written.
 */
import { DeletedFinalStateUnknown, type KubeObject } from 'capstan/cache';
import { expect } from 'vitest';

export interface RoundWidget extends KubeObject {
  metadata: {
    namespace: string;
    name: string;
    resourceVersion: string;
    labels?: Record<string, string>;
  };
  spec: { round: number; text: string };
}

/** Every write has its own number, to tell states apart even without resourceVersions. */
export const stateOf = ({ spec }: RoundWidget): string => String(spec.round);

/** The state of an object that was deleted. */
export const GONE = 'gone';

/** The notifications of one handler: the states of each key in order. */
export class Recorder {
  readonly told = new Map<string, string[]>();
  /** The names of deletions without a last state. */
  readonly tombstones: string[] = [];
  /** The number of additions since the initial list. */
  later = 0;
  /** The current state of each object. */
  readonly #present = new Map<string, string>();
  readonly #wrong: string[] = [];

  readonly handler = {
    onAdd: (object: RoundWidget, isInInitialList: boolean): void => {
      if (!isInInitialList) this.later++;
      if (this.#present.has(object.metadata.name))
        this.#wrong.push(`added twice: ${object.metadata.name}`);
      this.#tell(object);
    },
    onUpdate: (old: RoundWidget, now: RoundWidget): void => {
      if (this.#present.get(now.metadata.name) !== stateOf(old))
        this.#wrong.push(`updated from another: ${now.metadata.name}`);
      this.#tell(now);
    },
    onDelete: (object: RoundWidget | DeletedFinalStateUnknown<RoundWidget>): void => {
      const unknown = object instanceof DeletedFinalStateUnknown;
      const name = unknown ? object.key.replace('default/', '') : object.metadata.name;
      if (unknown) this.tombstones.push(name);
      if (!this.#present.delete(name)) this.#wrong.push(`deleted, and not there: ${name}`);
      this.#statesOf(name).push(GONE);
    },
  };

  /**
   * @param states `all`: no relist, so no state may be missing; `some`: states in order; `last`:
   *   only the last state counts
   */
  judge(written: ReadonlyMap<string, readonly string[]>, states: 'all' | 'some' | 'last'): void {
    if (states !== 'last') expect(this.#wrong).toEqual([]);
    for (const [name, all] of written) {
      const told = this.#statesOf(name).filter((state, at, others) => state !== others[at - 1]);
      expect(told.at(-1) ?? GONE, `the last state of ${name}`).toBe(all.at(-1));
      if (states === 'last') continue;
      // Writes before the first list give no notification.
      const expected =
        states === 'all' && told.length > 0 ? all.slice(-told.length) : common(told, all);
      expect(told, `what was told of ${name}`).toEqual(expected);
    }
  }

  #tell(object: RoundWidget): void {
    this.#present.set(object.metadata.name, stateOf(object));
    this.#statesOf(object.metadata.name).push(stateOf(object));
  }

  #statesOf(name: string): string[] {
    const states = this.told.get(name) ?? [];
    this.told.set(name, states);
    return states;
  }
}

/** The notified states of `all`, as far as they are in order. */
function common(told: readonly string[], all: readonly string[]): string[] {
  const found: string[] = [];
  for (const state of all) if (told[found.length] === state) found.push(state);
  return found;
}
