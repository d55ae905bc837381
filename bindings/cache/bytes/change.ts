/**
 * Which parts of an object an update changed, compared when a handler asks. False proves that the
 * part is the same; true may also mean that it is not known. If a store kept both states as bytes,
 * their bytes were compared when one replaced the other; other objects are compared member by
 * member.
 */
import { ownMember, sameJson } from '../../base/json-value.ts';
import {
  CHANGED_ANNOTATIONS,
  CHANGED_DELETION,
  CHANGED_GENERATION,
  CHANGED_LABELS,
  CHANGED_METADATA,
  CHANGED_SPEC,
  CHANGED_STATUS,
  CHANGED_VERSION,
} from '../../generated/abi.ts';
import { changesBetween } from './lazy.ts';

/** `false` proves that the part is unchanged. */
export interface Change {
  readonly generation: boolean;
  /** By value, in any order. */
  readonly labels: boolean;
  /** By value, in any order. */
  readonly annotations: boolean;
  readonly spec: boolean;
  readonly status: boolean;
  /**
   * Any member of metadata but `resourceVersion` and `managedFields`, so also labels, annotations
   * and generation.
   */
  readonly metadata: boolean;
  /** `deletionTimestamp` appeared, changed or went away. */
  readonly deletion: boolean;
}

interface Parts {
  metadata?: Record<string, unknown>;
  spec?: unknown;
  status?: unknown;
}

/** All bits: any change, also one that has no bit of its own. */
export const ANY = -1;

/**
 * Compares two states of one object; each part once, at its first use. If nothing is read, it costs
 * one small object.
 */
export class LazyChange implements Change {
  readonly #old: Parts;
  readonly #now: Parts;
  /**
   * Whether bytes were compared when one state replaced the other in a store; then the answers are
   * exact.
   */
  readonly compared: boolean;
  #known = 0;
  #changed = 0;

  /**
   * @param changes the changed parts as bits, if the bytes were compared. Default: the bits that
   *   the store noted for these two objects
   */
  constructor(old: object, now: object, changes = changesBetween(old, now)) {
    this.#old = old as Parts;
    this.#now = now as Parts;
    this.compared = changes !== undefined;
    if (changes === undefined) return;
    this.#changed = changes;
    // Labels and annotations whose bytes differ may be equal in another order: they are compared
    // when they are read.
    this.#known = ~(changes & (CHANGED_LABELS | CHANGED_ANNOTATIONS));
  }

  get generation(): boolean {
    return this.#member(CHANGED_GENERATION, 'generation');
  }

  get labels(): boolean {
    return this.#member(CHANGED_LABELS, 'labels');
  }

  get annotations(): boolean {
    return this.#member(CHANGED_ANNOTATIONS, 'annotations');
  }

  get deletion(): boolean {
    return this.#member(CHANGED_DELETION, 'deletionTimestamp');
  }

  get spec(): boolean {
    return this.#once(CHANGED_SPEC, () => differs(this.#old.spec, this.#now.spec));
  }

  get status(): boolean {
    return this.#once(CHANGED_STATUS, () => differs(this.#old.status, this.#now.status));
  }

  get metadata(): boolean {
    return this.#once(CHANGED_METADATA, () => {
      const names = new Set([
        ...Object.keys(this.#old.metadata ?? {}),
        ...Object.keys(this.#now.metadata ?? {}),
      ]);
      names.delete('resourceVersion');
      names.delete('managedFields');
      for (const name of names) if (this.#memberDiffers(name)) return true;
      return false;
    });
  }

  /** Whether both have the same resource version: an update without a change. */
  get sameResourceVersion(): boolean {
    if ((this.#known & CHANGED_VERSION) !== 0) return (this.#changed & CHANGED_VERSION) === 0;
    return this.#old === this.#now || versionOf(this.#old) === versionOf(this.#now);
  }

  #member(part: number, name: string): boolean {
    return this.#once(part, () => this.#memberDiffers(name));
  }

  #memberDiffers(name: string): boolean {
    return differs(ownMember(this.#old.metadata, name), ownMember(this.#now.metadata, name));
  }

  #once(part: number, compare: () => boolean): boolean {
    if ((this.#known & part) === 0) {
      if (this.#old !== this.#now && compare()) this.#changed |= part;
      else this.#changed &= ~part;
      this.#known |= part;
    }
    return (this.#changed & part) !== 0;
  }
}

/** Whether two states of one object have the same resource version. */
export function sameResourceVersion(old: object, now: object): boolean {
  return new LazyChange(old, now).sameResourceVersion;
}

function versionOf(object: object): unknown {
  return (object as Parts).metadata?.resourceVersion;
}

/** Whether two JSON values may differ. True if they nest too deeply to be compared. */
function differs(a: unknown, b: unknown): boolean {
  try {
    return !sameJson(a, b);
  } catch (error) {
    if (error instanceof RangeError) return true; // stack overflow
    throw error;
  }
}
