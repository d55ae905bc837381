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
import { type Shape, SPANS_OFFSET } from './shapes.ts';
import { jsonAt, latin1At } from './text.ts';

export type Copy = string | Uint8Array;

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
): Copy {
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

/** A member, by its place among the spans. */
export function copiedMember(copy: Copy, shape: Shape, span: number): unknown {
  return copiedValue(copy, shape, offsetIn(copy, 8 * span), offsetIn(copy, 8 * span + 4));
}

/** The value in a range of the JSON. */
export function copiedValue(copy: Copy, { jsonOffset }: Shape, from: number, to: number): unknown {
  const json = jsonOffset - SPANS_OFFSET;
  if (typeof copy !== 'string') return jsonAt(copy, json + from, json + to);
  // Not the slice itself, which would keep the whole text alive.
  return freezeParsed(JSON.parse(copy.slice(json + from, json + to)));
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

function offsetIn(copy: Copy, at: number): number {
  if (typeof copy === 'string') return offsetAt(copy, at);
  const byte = (i: number): number => copy[at + i] as number;
  return (byte(0) | (byte(1) << 8) | (byte(2) << 16) | (byte(3) << 24)) >>> 0;
}
