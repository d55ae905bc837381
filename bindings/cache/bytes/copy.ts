/**
 * The copy of a stored object outside of the core: the spans of its members, followed by its JSON.
 *
 * If the JSON is ASCII, the copy is a string, which lies on the engine's own heap and costs nothing
 * once it is dropped. An array of its own for each copy, or parts of a shared array, cost a major
 * collection for every 64 MB. To be ASCII too, the spans are written with seven bits a byte. No
 * other object is made, and no literal: V8 allocates the objects of a literal in the old generation
 * if many of them lived long. There each kept its text until the next major collection (10 of 24 MB
 * survived every minor one, and copying them cost 1.5 µs an event).
 */
import { freezeParsed } from '../../base/freeze.ts';
import { PackedCopy, restored } from './packed-copy.ts';
import { type Shape, SPANS_OFFSET } from './shapes.ts';
import { jsonAt, latin1At } from './text.ts';

/** Spans and JSON. */
type Whole = string | Uint8Array;
export type Copy = Whole | PackedCopy;

/** The first offset that four times seven bits cannot hold. */
const TOO_FAR = 2 ** 28;

/**
 * Copies a stored object whose memory will be freed next: its spans are overwritten in place.
 *
 * @param at where it lies
 * @param length of its JSON
 */
export function takeCopy(
  bytes: Uint8Array,
  words: Uint32Array,
  at: number,
  { jsonOffset }: Shape,
  length: number,
  isAscii: boolean,
): Whole {
  const from = at + SPANS_OFFSET;
  const to = at + jsonOffset + length;
  if (!isAscii || length >= TOO_FAR) return bytes.slice(from, to);
  const end = (at + jsonOffset) >>> 2;
  for (let i = from >>> 2; i < end; i++) {
    const offset = words[i] as number;
    words[i] =
      (offset & 0x7f) |
      ((offset & 0x3f80) << 1) |
      ((offset & 0x1fc000) << 2) |
      ((offset & 0xfe00000) << 3);
  }
  return latin1At(bytes, from, to);
}

/** The packed copy that was read last, and the whole of it: most read several members in a row. */
let lastRead: PackedCopy | undefined;
let lastWhole: Whole = '';

function wholeOf(copy: Copy, shape: Shape): Whole {
  if (!(copy instanceof PackedCopy)) return copy;
  if (copy === lastRead) return lastWhole;
  const { bytes, words, length, isAscii } = restored(copy, shape.jsonOffset);
  lastWhole = takeCopy(bytes, words, 0, shape, length, isAscii);
  lastRead = copy;
  return lastWhole;
}

/** A member, by its place among the spans. */
export function copiedMember(copy: Copy, shape: Shape, span: number): unknown {
  const whole = wholeOf(copy, shape);
  return valueIn(whole, shape, offsetIn(whole, 8 * span), offsetIn(whole, 8 * span + 4));
}

/** The value in a range of the JSON. */
export function copiedValue(copy: Copy, shape: Shape, from: number, to: number): unknown {
  return valueIn(wholeOf(copy, shape), shape, from, to);
}

function valueIn(whole: Whole, { jsonOffset }: Shape, from: number, to: number): unknown {
  const json = jsonOffset - SPANS_OFFSET;
  if (typeof whole !== 'string') return jsonAt(whole, json + from, json + to);
  // Not the slice itself, which would keep the whole text alive.
  return freezeParsed(JSON.parse(whole.slice(json + from, json + to)));
}

/** An offset that was written with seven bits a byte. */
export function offsetAt(spans: string, at: number): number {
  return (
    spans.charCodeAt(at) |
    (spans.charCodeAt(at + 1) << 7) |
    (spans.charCodeAt(at + 2) << 14) |
    (spans.charCodeAt(at + 3) << 21)
  );
}

function offsetIn(whole: Whole, at: number): number {
  if (typeof whole === 'string') return offsetAt(whole, at);
  const byte = (i: number): number => whole[at + i] as number;
  return (byte(0) | (byte(1) << 8) | (byte(2) << 16) | (byte(3) << 24)) >>> 0;
}
