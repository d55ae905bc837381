/**
 * The names of an object's members and of its metadata's, in their order: what is equal in all
 * objects that a server writes alike, read out of the core once (assembly/shapes.ts).
 */
import { SHAPE_COUNT, SHAPE_NAMES, STORED_SPANS } from '../../generated/abi.ts';
import type { CacheCore } from '../../wasm/cache-core.ts';
import { textAt } from './text.ts';

/** An object whose bytes are in the core, by its number there. */
export interface Located {
  readonly id: number;
  readonly shape: Shape;
}

/** What reads objects out of the core: stored-objects.ts. */
export interface ObjectReader {
  readonly core: CacheCore;
  readonly handle: number;
  /** The object for a caller of the store: the same one as long as somebody holds it. */
  objectOf(stored: Located): object;
  /** A member, by its place among the spans. */
  decode(stored: Located, span: number): unknown;
  /**
   * The members of an object that is a member, by its place among the spans. `undefined`: it is no
   * object, or too small, or it has to be decoded whole.
   */
  members(stored: Located, span: number): { names: readonly string[]; spans: string } | undefined;
  /** A value, by where it lies in the JSON. */
  valueAt(stored: Located, from: number, to: number): unknown;
}

export interface Shape {
  readonly owner: ObjectReader;
  /** With the first {@link implied}, which no bytes say. */
  readonly names: readonly string[];
  readonly metadataNames: readonly string[];
  /**
   * How many of kind and apiVersion the server left out, as it does in lists of built-in kinds:
   * they come first, as in its events.
   */
  readonly implied: number;
  /** Members that have a span; those of the metadata come behind. */
  readonly spans: number;
  readonly metadataIndex: number;
  /** Of these among the metadata's. */
  readonly versionIndex: number;
  readonly nameIndex: number;
  readonly namespaceIndex: number;
  /**
   * Whether metadata are the same but for their resourceVersion where the bits of change say so
   * (assembly/changes.ts, which leaves out managedFields).
   */
  readonly isModel: boolean;
  /**
   * Whether a member is read in parts: spec and status. Data of a user's choice would have too many
   * shapes.
   */
  readonly large: readonly boolean[];
  /** Values that are the same in every object of the kind, by member: kind and apiVersion. */
  readonly constants: readonly (string | undefined)[];
  /** From where a stored object lies to the first byte of its JSON. */
  readonly jsonOffset: number;
}

/** Bytes in front of a stored object's spans. */
export const SPANS_OFFSET: number = STORED_SPANS << 2;

export class Shapes {
  readonly #owner: ObjectReader;
  readonly #core: CacheCore;
  readonly #constants: ReadonlyMap<string, string>;
  readonly #names: (readonly string[] | undefined)[] = [];
  /** By both shapes in one number. */
  readonly #shapes = new Map<number, Shape>();
  #lastNumber = -1;
  #last: Shape | undefined;

  /** @param constants the value of a member that is the same in all objects, which all have */
  constructor(owner: ObjectReader, core: CacheCore, constants: ReadonlyMap<string, string>) {
    this.#owner = owner;
    this.#core = core;
    this.#constants = constants;
  }

  /** Of the number that a stored object has in the core: two u16. */
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

  /** Of one shape. */
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
