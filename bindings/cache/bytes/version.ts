/**
 * One state of one object, as bytes. They lie in the core as long as a store, a waiting delta or a list needs them there; afterwards, if
 * the version has been handed out, in JS memory: so an object that someone holds stays what it was.
 *
 * Invariant: `id` is the core's number while the bytes lie in the core, else -1; then `copy` has them, unless nobody can hold an object of this version.
 */
import type { Copy } from './copy.ts';
import type { Shape } from './shapes.ts';
import type { Versions } from './versions.ts';

export class Version {
  readonly owner: Versions;
  readonly shape: Shape;
  id: number;
  /** Place in the list of those that no store has taken yet, or -1. */
  staged = -1;
  /** copy.ts */
  copy: Copy | undefined;
  /** Some object of this version may be in a user's hands. Once true it stays so: nobody gives an object back. */
  handed = false;
  /** The object, while it is one of those that were handed out last (versions.ts). */
  recent: object | undefined;
  /** A store was asked for the object: it gives the same one as long as somebody holds it. */
  asked = false;
  /** What is left of `recent` then, where the object was asked for. */
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
