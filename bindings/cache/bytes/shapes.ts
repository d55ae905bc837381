/**
 * Shapes: the names of an object's members and of its metadata's members, in order. Objects that a
 * server writes in the same way share a shape, which is read out of the core once
 * (assembly/shapes.ts).
 */
import { SHAPE_COUNT, SHAPE_NAMES, STORED_SPANS } from '../../generated/abi.ts';
import type { CacheCore } from '../../wasm/cache-core.ts';
import { textAt } from './text.ts';

/** An object whose bytes are in the core, by its number there. */
export interface Located {
  readonly id: number;
  readonly shape: Shape;
}

/** Reads objects out of the core; implemented in stored-objects.ts. */
export interface ObjectReader {
  readonly core: CacheCore;
  readonly handle: number;
  /** The object for a caller of the store: the same one as long as a caller holds it. */
  objectOf(stored: Located): object;
  /** A member, by its place among the spans. */
  decode(stored: Located, span: number): unknown;
  /**
   * The members of an object that is a member, by its place among the spans. `undefined`: it is no
   * object, or too small, or it has to be decoded whole.
   */
  members(stored: Located, span: number): { names: readonly string[]; spans: string } | undefined;
  /** A value, by its range in the JSON. */
  valueAt(stored: Located, from: number, to: number): unknown;
}

export interface Shape {
  readonly owner: ObjectReader;
  /** All names; the first {@link implied} of them are not in the bytes. */
  readonly names: readonly string[];
  readonly metadataNames: readonly string[];
  /**
   * How many of kind and apiVersion the server left out, as it does in lists of built-in kinds.
   * These come first, as in the server's events.
   */
  readonly implied: number;
  /** The number of members that have a span; the spans of the metadata's members follow. */
  readonly spans: number;
  readonly metadataIndex: number;
  /** The places of these members among those of the metadata. */
  readonly versionIndex: number;
  readonly nameIndex: number;
  readonly namespaceIndex: number;
  /**
   * Whether the bits of changes prove that metadata differ only in their resourceVersion. Not with
   * managedFields, which the bits leave out (assembly/changes.ts).
   */
  readonly isModel: boolean;
  /**
   * Whether a member is decoded member by member: spec and status. Members with names of a user's
   * choice, such as `data`, would have too many shapes.
   */
  readonly large: readonly boolean[];
  /** By member: the value, if it is the same in every object of the kind (kind and apiVersion). */
  readonly constants: readonly (string | undefined)[];
  /** The bytes between the address of a stored object and its JSON. */
  readonly jsonOffset: number;
}

/** Bytes in front of a stored object's spans. */
export const SPANS_OFFSET: number = STORED_SPANS << 2;

export class Shapes {
  readonly #owner: ObjectReader;
  readonly #core: CacheCore;
  readonly #constants: ReadonlyMap<string, string>;
  readonly #names: (readonly string[] | undefined)[] = [];
  /** By the numbers of both shapes, as one number. */
  readonly #shapes = new Map<number, Shape>();
  #lastNumber = -1;
  #last: Shape | undefined;

  /** @param constants the members that every object has with the same value */
  constructor(owner: ObjectReader, core: CacheCore, constants: ReadonlyMap<string, string>) {
    this.#owner = owner;
    this.#core = core;
    this.#constants = constants;
  }

  /** The shape of a number that the core gives a stored object: two u16. */
  get(number: number): Shape {
    if (number === this.#lastNumber && this.#last !== undefined) return this.#last;
    let shape = this.#shapes.get(number);
    if (shape === undefined) {
      const own = this.namesOf(number & 0xffff);
      const implied = [...this.#constants.keys()].filter((name) => !own.includes(name));
      const names = [...implied, ...own];
      const metadataNames = this.namesOf(number >>> 16);
      const versionIndex = metadataNames.indexOf('resourceVersion');
      shape = {
        owner: this.#owner,
        names,
        metadataNames,
        implied: implied.length,
        spans: own.length,
        metadataIndex: names.indexOf('metadata'),
        versionIndex,
        nameIndex: metadataNames.indexOf('name'),
        namespaceIndex: metadataNames.indexOf('namespace'),
        isModel: versionIndex >= 0 && !metadataNames.includes('managedFields'),
        large: names.map((name) => name === 'spec' || name === 'status'),
        constants: names.map((name) => this.#constants.get(name)),
        jsonOffset: SPANS_OFFSET + 8 * (own.length + metadataNames.length),
      };
      this.#shapes.set(number, shape);
    }
    this.#lastNumber = number;
    this.#last = shape;
    return shape;
  }

  /** The names of one shape. */
  namesOf(shape: number): readonly string[] {
    const known = this.#names[shape];
    if (known !== undefined) return known;
    const at = this.#core.exports.shapeAt(shape) >>> 0;
    const words = this.#core.words();
    const bytes = this.#core.bytes();
    const count = (words[(at >>> 2) + SHAPE_COUNT] as number) & 0xffff;
    const names: string[] = [];
    for (let i = 0; i < count; i++) {
      const entry = (at >>> 2) + SHAPE_NAMES + 2 * i;
      const start = at + (words[entry] as number);
      names.push(textAt(bytes, start, start + (words[entry + 1] as number)));
    }
    this.#names[shape] = names;
    return names;
  }
}
