/**
 * One state of one object, as bytes. They lie in the core while a store, a waiting delta or a list
 * needs them there. Afterwards, if the object has been handed out, a copy lies in JS memory, so
 * that the object never changes for a caller that holds it.
 *
 * Invariant: `id` is the core's number while the bytes lie in the core, else -1. Then `copy` has
 * them, unless nobody can hold the object.
 */
import type { Request } from '../../base/request.ts';
import { IS_MARKED, STORED_FLAGS } from '../../generated/abi.ts';
import { type Copy, copiedMember } from './copy.ts';
import type { ObjectReader, Shape } from './shapes.ts';

/** Values of {@link StoredObject.seen}. */
export const NOT_HANDED_OUT = 0;
const HANDED_OUT = 1;
export const REQUESTED = 2;

/**
 * There is one for each object that an event brought, so each field costs 8 bytes an object of the
 * cache. On the way into a store it stands for the object, which is made only when a handler gets
 * it (`toObject` in lazy.ts): 560 ns saved.
 */
export class StoredObject {
  readonly shape: Shape;
  id: number;
  /** Place in the list of those that no store has taken yet, or -1. */
  staged = -1;
  /** copy.ts */
  copy: Copy | undefined;
  /**
   * HANDED_OUT: a caller may hold the object. REQUESTED: a caller asked the store for it, and the
   * store gives the same object while somebody holds it. It never goes back, as nobody tells when
   * they drop an object.
   */
  seen = NOT_HANDED_OUT;
  /**
   * The object, while it is among those that were handed out last (stored-objects.ts). Afterwards,
   * if it was requested, a weak reference to it.
   */
  kept: object | WeakRef<object> | undefined;
  /** Place among those that were handed out last, or -1. */
  place = -1;
  /**
   * Its metadata without resourceVersion, where the object changes so often that a copy is cheaper
   * than accessors (lazy.ts). Given up with `kept`.
   */
  model: Record<string, unknown> | undefined;
  /** Unlike `id` never used again. */
  readonly serial: number;
  /**
   * The serial of the stored object that this one replaced in a store (0: none), and what changed
   * then.
   */
  replaced = 0;
  changes = 0;
  /**
   * Its resourceVersion, where the event brought it, as most handlers read it next. Given up with
   * `kept` (stored-objects.ts), as it costs 32 bytes.
   */
  resourceVersion: string | undefined;
  /**
   * Namespace and name, once a caller has read them (lazy.ts). What replaces this in a store takes
   * them over.
   */
  name: Request | undefined;

  constructor(shape: Shape, id: number, serial: number) {
    this.shape = shape;
    this.id = id;
    this.serial = serial;
  }

  get owner(): ObjectReader {
    return this.shape.owner;
  }

  /** Its object goes to somebody. */
  markHandedOut(): void {
    if (this.seen === NOT_HANDED_OUT) this.seen = HANDED_OUT;
  }

  /** It goes to somebody who asked a store for it. */
  markRequested(): void {
    this.seen = REQUESTED;
  }

  /** The member with a place among the spans, decoded anew. */
  member(span: number): unknown {
    const { copy } = this;
    return copy === undefined
      ? this.owner.decode(this, span)
      : copiedMember(copy, this.shape, span);
  }

  /** A member of the object's metadata, which are not made for it. */
  metadataMember(name: string): unknown {
    const { spans, metadataNames } = this.shape;
    const index = metadataNames.indexOf(name);
    return index < 0 ? undefined : (this.known(index) ?? this.member(spans + index));
  }

  /** What is known of the metadata and need not be decoded, by its place among them. */
  known(index: number): string | undefined {
    const { versionIndex, nameIndex, namespaceIndex } = this.shape;
    if (index === versionIndex) return this.resourceVersion;
    if (index === nameIndex) return this.name?.name;
    // where that is null, the object is decoded whole
    return index === namespaceIndex ? this.name?.namespace : undefined;
  }

  /** What keys and versions are read from, as on the object. */
  get metadata(): { namespace: unknown; name: unknown; resourceVersion: unknown } {
    return {
      namespace: this.metadataMember('namespace'),
      name: this.metadataMember('name'),
      resourceVersion: this.metadataMember('resourceVersion'),
    };
  }

  /**
   * Whether more was cut out of it than of every object; true also where its bytes have left the
   * core, as nobody can tell then.
   */
  get isMarked(): boolean {
    const { core, handle } = this.owner;
    if (this.id < 0) return true;
    const head = (core.exports.objectHead(handle, this.id) >>> 0) >>> 2;
    return ((core.words()[head + STORED_FLAGS] as number) & IS_MARKED) !== 0;
  }

  /** The object, if there is one still. */
  get object(): object | undefined {
    const { kept } = this;
    return kept instanceof WeakRef ? kept.deref() : kept;
  }
}
