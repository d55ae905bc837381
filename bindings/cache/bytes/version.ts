/**
 * One state of one object, as bytes. They lie in the core as long as a store, a waiting delta or a
 * list needs them there; afterwards, if the version has been handed out, in JS memory: so an object
 * that someone holds stays what it was.
 *
 * Invariant: `id` is the core's number while the bytes lie in the core, else -1; then `copy` has
 * them, unless nobody can hold an object of this version.
 */
import type { Request } from '../../base/request.ts';
import { IS_MARKED, STORED_FLAGS } from '../../generated/abi.ts';
import { type Copy, copiedMember } from './copy.ts';
import type { Shape } from './shapes.ts';
import type { Versions } from './versions.ts';

/** Values of {@link Version.seen}. */
export const NOBODY = 0;
const HANDED = 1;
export const ASKED = 2;

/**
 * There is one for each object that was told of, so that each field is 8 bytes an object of the
 * cache. On the way into a store it stands for its object (lazy.ts `shown`), which is made only if
 * somebody is told of it: 560 ns.
 */
export class Version {
  readonly shape: Shape;
  id: number;
  /** Place in the list of those that no store has taken yet, or -1. */
  staged = -1;
  /** copy.ts */
  copy: Copy | undefined;
  /**
   * HANDED: some object of this version may be in a user's hands. ASKED: a store was asked for it,
   * and gives the same one as long as somebody holds it. It never falls: nobody gives an object
   * back.
   */
  seen = NOBODY;
  /**
   * The object, while it is one of those that were handed out last (versions.ts); then, where it
   * was asked for, what is left of it.
   */
  kept: object | WeakRef<object> | undefined;
  /** Place among those that were handed out last, or -1. */
  place = -1;
  /**
   * What its metadata are but for resourceVersion, where versions of one object follow each other
   * so fast that it pays (lazy.ts). Given up with the object.
   */
  model: Record<string, unknown> | undefined;
  /** Unlike `id` never used again. */
  readonly serial: number;
  /**
   * Of the version that this one replaced in a store, and what changed then; 0: it replaced none.
   */
  replaced = 0;
  changes = 0;
  /**
   * The object's own, where an event brought it along, so that it need not be decoded twice more:
   * whoever is told of an object mostly asks for it, and so do causes. Given up with the object
   * (versions.ts), as it costs 32 bytes.
   */
  resourceVersion: string | undefined;
  /**
   * Namespace and name, once somebody has asked (lazy.ts); what takes the place of this version in
   * a store has them from it.
   */
  name: Request | undefined;

  constructor(shape: Shape, id: number, serial: number) {
    this.shape = shape;
    this.id = id;
    this.serial = serial;
  }

  get owner(): Versions {
    return this.shape.owner;
  }

  /** Its object goes to somebody. */
  hand(): void {
    if (this.seen === NOBODY) this.seen = HANDED;
  }

  /** It goes to somebody who asked a store for it. */
  ask(): void {
    this.seen = ASKED;
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
    const head = (core.exports.objectAt(handle, this.id) >>> 0) >>> 2;
    return ((core.words()[head + STORED_FLAGS] as number) & IS_MARKED) !== 0;
  }

  /** The object, if there is one still. */
  get object(): object | undefined {
    const { kept } = this;
    return kept instanceof WeakRef ? kept.deref() : kept;
  }
}
