/**
 * One state of one object, as bytes. They lie in the core as long as a store, a waiting delta or a list needs them there, and
 * afterwards, if the version has been handed out, in a slab of JS memory: so an object that someone holds stays what it was.
 *
 * Invariant: `id` is the core's number while the bytes lie in the core, else -1, and then `slab` has them at `at`. Either way they are laid out as
 * assembly/objects.ts says.
 */
import type { Shape } from './shapes.ts';
import type { Versions } from './versions.ts';

/** Bytes outside of the core: several versions share one, which goes when the last of them does. */
export interface Slab {
  readonly bytes: Uint8Array;
  readonly words: Uint32Array;
}

export class Version {
  readonly owner: Versions;
  readonly shape: Shape;
  id: number;
  /** Place in the list of those that no store has taken yet, or -1. */
  staged = -1;
  slab: Slab | undefined;
  at = 0;
  /** Some object of this version may be in a user's hands. Once true it stays so: nobody gives an object back. */
  handed = false;
  /** The object, where it may be asked for again. */
  object: WeakRef<object> | undefined;
  /** Unlike `id` never used again. */
  readonly serial: number;
  /** Of the version that this one replaced in a store, and what changed then; 0: it replaced none. */
  replaced = 0;
  changes = 0;

  constructor(owner: Versions, shape: Shape, id: number, serial: number) {
    this.owner = owner;
    this.shape = shape;
    this.id = id;
    this.serial = serial;
  }
}

/** Where a version's bytes are, until the next call into the core. */
export interface Located {
  words: Uint32Array;
  bytes: Uint8Array;
  at: number;
}

/** One for all: whoever locates reads it at once. */
const located: Located = { words: new Uint32Array(0), bytes: new Uint8Array(0), at: 0 };

export function locate(version: Version): Located {
  const { slab } = version;
  if (slab === undefined) {
    version.owner.locate(version.id, located);
  } else {
    located.words = slab.words;
    located.bytes = slab.bytes;
    located.at = version.at;
  }
  return located;
}
