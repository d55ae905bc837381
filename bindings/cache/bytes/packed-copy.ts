/**
 * The copy of a packed object (assembly/pack.ts) outside of the core: its difference as a string,
 * and the text of its base, which all copies of the base's objects share. So what is copied for an
 * event is mostly a tenth of the object. That matters where the replaced object is old, as its copy
 * then stays in the heap until a major collection.
 *
 * Invariants: a copy needs nothing of the core, which may have trapped; a base's text is complete,
 * so that one step restores an object, and goes with the last copy that needs it; a restored object
 * has the checksum that the core made of the packed one, or its members throw.
 *
 * The format is that of assembly/difference.ts: `takeWords`, `restore` and `checkOf` do what those
 * of the same names do there.
 */
import { CapstanError } from '../../base/errors.ts';
import {
  HAS_TEXT,
  IS_ASCII,
  PACKED_BASE,
  PACKED_CHECK,
  PACKED_DIFFERENCE,
  SIZE_HEAD,
  STORED_FLAGS,
  STORED_LENGTH,
} from '../../generated/abi.ts';
import type { CacheCore } from '../../wasm/cache-core.ts';
import { SPANS_OFFSET } from './shapes.ts';
import { binaryAt } from './text.ts';

/** What a base has in the core, from its spans on. */
export class Base {
  readonly bytes: Uint8Array;
  readonly spans: Uint32Array;

  constructor(bytes: Uint8Array, spans: number) {
    this.bytes = bytes;
    this.spans = new Uint32Array(bytes.buffer, 0, spans);
  }
}

export class PackedCopy {
  readonly base: Base;
  /** The packed bytes, one to a character, with the unused end of their block in the core. */
  readonly packed: string;

  constructor(base: Base, packed: string) {
    this.base = base;
    this.packed = packed;
  }
}

/** Takes the copies of one cache. */
export class PackedCopies {
  readonly #core: CacheCore;
  readonly #handle: number;
  /**
   * By number in the core. The flag HAS_TEXT of the core's base says that it is of that base, not
   * of one that had its number before.
   */
  readonly #bases = new Map<number, WeakRef<Base>>();
  /** How many there may be until those without a text are removed. */
  #most = 64;

  constructor(core: CacheCore, handle: number) {
    this.#core = core;
    this.#handle = handle;
  }

  /**
   * Copies a packed object; `undefined` where the host cannot make a string of any bytes.
   *
   * @param head its address as from `objectHead`
   */
  take(id: number, head: number, jsonOffset: number): PackedCopy | undefined {
    if (binaryAt === undefined) return undefined;
    const number = this.#core.words()[(head >>> 2) + PACKED_BASE] as number;
    const size = this.#core.exports.objectSize(this.#handle, id) - SIZE_HEAD;
    const packed = binaryAt(this.#core.bytes(), head, head + size);
    return new PackedCopy(this.#base(number, jsonOffset), packed);
  }

  #base(number: number, jsonOffset: number): Base {
    const { exports } = this.#core;
    const flags = (exports.objectHead(this.#handle, number) >>> 2) + STORED_FLAGS;
    const words = this.#core.words();
    if (((words[flags] as number) & HAS_TEXT) !== 0) {
      const known = this.#bases.get(number)?.deref();
      if (known !== undefined) return known;
    }
    const at = exports.objectAt(this.#handle, number) >>> 0;
    const end = at + jsonOffset + (words[(at >>> 2) + STORED_LENGTH] as number);
    const bytes = this.#core.bytes().slice(at + SPANS_OFFSET, end);
    const base = new Base(bytes, (jsonOffset - SPANS_OFFSET) >>> 2);
    if (this.#bases.size >= this.#most) this.#sweep();
    this.#bases.set(number, new WeakRef(base));
    words[flags] = (words[flags] as number) | HAS_TEXT;
    return base;
  }

  #sweep(): void {
    for (const [number, base] of this.#bases)
      if (base.deref() === undefined) this.#bases.delete(number);
    this.#most = Math.max(64, 2 * this.#bases.size);
  }
}

/** An object that was restored: in `bytes`, as the core has an object that is not packed. */
export class RestoredObject {
  bytes: Uint8Array = new Uint8Array(8 << 10);
  words: Uint32Array = new Uint32Array(this.bytes.buffer);
  length = 0;
  isAscii = false;

  fit(bytes: number): void {
    if (bytes <= this.bytes.length) return;
    this.bytes = new Uint8Array((bytes + 4095) & ~4095);
    this.words = new Uint32Array(this.bytes.buffer);
  }
}

/** The object that was restored last. */
const image = new RestoredObject();
/** Longer texts have no difference. */
const MOST_TEXT = 32 << 10;

/** The difference that is read, and where. */
let text = '';
let at = 0;

/** Restores the object of a copy. What is returned is good until the next call. */
export function restored({ base, packed }: PackedCopy, jsonOffset: number): RestoredObject {
  const length = wordIn(packed, STORED_LENGTH);
  if (base.spans.byteLength !== jsonOffset - SPANS_OFFSET || length > MOST_TEXT) throw damaged();
  const isAscii = wordIn(packed, STORED_FLAGS) & IS_ASCII;
  image.length = length;
  image.isAscii = isAscii !== 0;
  image.fit(jsonOffset + length);
  text = packed;
  at = PACKED_DIFFERENCE;
  takeWords(base.spans, image.words, SPANS_OFFSET >>> 2);
  restore(base.bytes, base.spans.byteLength, image.bytes, jsonOffset, jsonOffset + length);
  const { bytes, words } = image;
  const check = checkOf(bytes, words, SPANS_OFFSET, jsonOffset + length - SPANS_OFFSET);
  if (check !== (wordIn(packed, PACKED_CHECK) ^ isAscii) >>> 0) throw damaged();
  return image;
}

function damaged(): CapstanError {
  return new CapstanError(
    'POISONED',
    'the copy of a replaced object is not what the core packed, which is a bug of capstan',
  );
}

function wordIn(packed: string, word: number): number {
  const i = word << 2;
  return (
    (packed.charCodeAt(i) |
      (packed.charCodeAt(i + 1) << 8) |
      (packed.charCodeAt(i + 2) << 16) |
      (packed.charCodeAt(i + 3) << 24)) >>>
    0
  );
}

/** The next number of the difference: seven bits to a byte. */
function next(): number {
  let number = 0;
  for (let shift = 0; shift < 32; shift += 7) {
    if (at >= text.length) throw damaged();
    const byte = text.charCodeAt(at++);
    number |= (byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return number >>> 0;
}

/** A number with its sign in the lowest bit. */
function signed(number: number): number {
  return (number >>> 1) ^ -(number & 1);
}

function takeWords(base: Uint32Array, words: Uint32Array, from: number): void {
  const count = base.length;
  let word = 0;
  let baseBefore = 0;
  let i = 0;
  for (;;) {
    for (let same = next(); same !== 0 && i < count; same--, i++) {
      const baseWord = base[i] as number;
      word += baseWord - baseBefore;
      baseBefore = baseWord;
      words[from + i] = word;
    }
    if (i >= count) return;
    const baseWord = base[i] as number;
    word += baseWord - baseBefore + signed(next());
    baseBefore = baseWord;
    words[from + i] = word;
    i++;
  }
}

/** Fewer bytes are copied one by one. */
const FEW = 48;

/** Writes of a difference, which may be repeated: where each lies in the object, and its bytes. */
const MOST_WRITTEN = 256;
const writtenAt = new Uint32Array(MOST_WRITTEN);
const writtenBytes = new Uint32Array(MOST_WRITTEN);

/**
 * A damaged difference may end too early or copy what lies behind a text: typed arrays stop at
 * their ends, and the checksum is another one.
 *
 * @param start where the text of the base begins
 */
function restore(base: Uint8Array, start: number, bytes: Uint8Array, from: number, end: number) {
  let to = from;
  let a = start;
  let count = 0;
  for (;;) {
    const copied = next();
    if (copied > end - to || a < start) throw damaged();
    if (copied < FEW) for (let i = 0; i < copied; i++) bytes[to + i] = base[a + i] as number;
    else bytes.set(base.subarray(a, a + copied), to);
    a += copied;
    to += copied;
    if (to === end) return;
    const number = next();
    const skip = (number & 1) === 0 ? 0 : signed(next());
    let wrote = number >>> 2;
    if ((number & 2) === 0) {
      if (wrote > end - to) throw damaged();
      for (let i = 0; i < wrote; i++) bytes[to + i] = text.charCodeAt(at + i);
      at += wrote;
      if (count < MOST_WRITTEN) {
        writtenAt[count] = to;
        writtenBytes[count++] = wrote;
      }
    } else {
      if (wrote >= count) throw damaged();
      const written = count - 1 - wrote;
      wrote = writtenBytes[written] as number;
      bytes.copyWithin(to, writtenAt[written] as number, (writtenAt[written] as number) + wrote);
    }
    a += wrote + skip;
    to += wrote;
    if (to === end) return;
  }
}

/**
 * The checksum of a range that begins at a word: sums, and sums of sums, of the words in 16
 * columns. A column of the core's four registers after the other, as it needs two variables.
 */
function checkOf(bytes: Uint8Array, words: Uint32Array, from: number, length: number): number {
  const blocks = length >>> 6;
  const last = from + length - 16;
  let check = 0;
  for (let lane = 0; lane < 4; lane++) {
    let mixed = 0;
    for (let register = 0; register < 4; register++) {
      let sum = length | 0;
      let sums = sum;
      let i = (from >>> 2) + 4 * register + lane;
      for (const end = i + 16 * blocks; i < end; i += 16) {
        sum = (sum + (words[i] as number)) | 0;
        sums = (sums + sum) | 0;
      }
      if (register === 0) {
        for (let p = from + 64 * blocks; p < last; p += 16) {
          sum = (sum + (words[(p >>> 2) + lane] as number)) | 0;
          sums = (sums + sum) | 0;
        }
        sums = (sums + sum + bytesAt(bytes, last + 4 * lane)) | 0;
      }
      mixed = Math.imul(mixed ^ sum, 0x9e3779b1);
      mixed ^= mixed >>> 15;
      mixed = Math.imul(mixed ^ sums, 0x85ebca77);
      mixed ^= mixed >>> 13;
    }
    check ^= (mixed << (8 * lane)) | (mixed >>> (32 - 8 * lane));
  }
  return check >>> 0;
}

function bytesAt(bytes: Uint8Array, i: number): number {
  const byte = (offset: number): number => bytes[i + offset] as number;
  return byte(0) | (byte(1) << 8) | (byte(2) << 16) | (byte(3) << 24);
}
