/**
 * One state of one object, as bytes. They lie in the core while a store, a waiting delta or a list
 * needs them. Afterwards, if the object was handed out, a copy lies in JavaScript memory, so that a
 * caller who holds the object can still read it.
 *
 * Invariant: `id` is the core's number while the bytes lie in the core, else -1. Then `copy` has
 * them, unless the object was never handed out.
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
 * There is one for each object of an event, so each field costs 8 bytes an object of the cache. On
 * its way into a store it takes the place of the object, which is made only if a handler gets it
 * (`toObject` in lazy.ts); that saves 560 ns.
 */
export class StoredObject {
  readonly shape: Shape;
  id: number;
  /** The place in the list of objects that no store has taken yet, or -1. */
  staged = -1;
  /** copy.ts */
  copy: Copy | undefined;
  /**
   * HANDED_OUT: a caller may hold the object. REQUESTED: a caller asked the store for it, and the
   * store gives the same object as long as a caller holds it. The value is never lowered, because
   * the store does not learn when a caller drops an object.
   */
  seen = NOT_HANDED_OUT;
  /**
   * The object, while it is among those that were handed out last (stored-objects.ts). Afterwards,
   * if it was requested, a weak reference to it.
   */
  kept: object | WeakRef<object> | undefined;
  /** The place among the objects that were handed out last, or -1. */
  place = -1;
  /**
   * The metadata without resourceVersion, if the object changes so often that a copy is cheaper
   * than accessors (lazy.ts). Dropped together with `kept`.
   */
  model: Record<string, unknown> | undefined;
  /** A number that, unlike `id`, is never used again. */
  readonly serial: number;
  /**
   * The serial of the stored object that this one replaced in a store (0: none), and what changed
   * then.
   */
  replaced = 0;
  changes = 0;
  /**
   * The resourceVersion, if an event brought it, because most handlers read it next. Dropped
   * together with `kept` (stored-objects.ts), because it costs 32 bytes.
   */
  resourceVersion: string | undefined;
  /**
   * Namespace and name, once a caller has read them (lazy.ts). The stored object that replaces this
   * one takes them over.
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

  /** A caller gets the object. */
  markHandedOut(): void {
    if (this.seen === NOT_HANDED_OUT) this.seen = HANDED_OUT;
  }

  /** A caller who asked a store for the object gets it. */
  markRequested(): void {
    this.seen = REQUESTED;
  }

  /** A member, by its place among the spans, decoded anew. */
  member(span: number): unknown {
    const { copy } = this;
    return copy === undefined
      ? this.owner.decode(this, span)
      : copiedMember(copy, this.shape, span);
  }

  /** A member of the metadata, decoded alone. */
  metadataMember(name: string): unknown {
    const { spans, metadataNames } = this.shape;
    const index = metadataNames.indexOf(name);
    return index < 0 ? undefined : (this.known(index) ?? this.member(spans + index));
  }

  /** A member of the metadata that is known without decoding, by its place among them. */
  known(index: number): string | undefined {
    const { versionIndex, nameIndex, namespaceIndex } = this.shape;
    if (index === versionIndex) return this.resourceVersion;
    if (index === nameIndex) return this.name?.name;
    // if the namespace is null, the object is decoded whole
    return index === namespaceIndex ? this.name?.namespace : undefined;
  }

  /** The members from which keys and versions are read, named as those of the object. */
  get metadata(): { namespace: unknown; name: unknown; resourceVersion: unknown } {
    return {
      namespace: this.metadataMember('namespace'),
      name: this.metadataMember('name'),
      resourceVersion: this.metadataMember('resourceVersion'),
    };
  }

  /**
   * Whether more was cut out of this object than out of all. True also if its bytes have left the
   * core, because the flag has gone with them.
   */
  get isMarked(): boolean {
    const { core, handle } = this.owner;
    if (this.id < 0) return true;
    const head = (core.exports.objectHead(handle, this.id) >>> 0) >>> 2;
    return ((core.words()[head + STORED_FLAGS] as number) & IS_MARKED) !== 0;
  }

  /** The object, if it was made and still exists. */
  get object(): object | undefined {
    const { kept } = this;
    return kept instanceof WeakRef ? kept.deref() : kept;
  }
}
