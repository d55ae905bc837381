/**
 * Decodes JSON values from bytes that the core has checked: strings, and all other values by
 * JSON.parse, deep-frozen.
 */

import { freezeParsed } from '../../base/freeze.ts';

/** A byte order mark inside of a string is a character of it. */
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The text of a range of bytes. */
export function textAt(bytes: Uint8Array, from: number, to: number): string {
  return utf8.decode(bytes.subarray(from, to));
}

type Slice = (this: Uint8Array, from: number, to: number) => string;

/** Node's own method, which needs no view: 255 ns for 3.3 KB; the decoder takes 314. */
const latin1Slice = (globalThis as { Buffer?: { prototype: { latin1Slice?: Slice } } }).Buffer
  ?.prototype.latin1Slice;

/** The text of a range of bytes that are ASCII. */
export const latin1At: (bytes: Uint8Array, from: number, to: number) => string =
  latin1Slice === undefined ? textAt : (bytes, from, to) => latin1Slice.call(bytes, from, to);

/** A string of a range of bytes, a character a byte; not every host can make one. */
export const binaryAt: ((bytes: Uint8Array, from: number, to: number) => string) | undefined =
  latin1Slice === undefined ? undefined : latin1At;

/**
 * Strings of at most this many bytes are concatenated from their characters (8 bytes: 21 ns).
 * Longer ones would be made of pieces that V8 joins when the string is first compared or hashed (23
 * bytes: 69 ns, and 107 more as a key of a Map; Node's slice: 63 and 73; the decoder: 139 and 91).
 */
const SHORT = latin1Slice === undefined ? 40 : 12;
/**
 * Strings of at most this many bytes are checked for escapes and bytes that are not ASCII, which
 * JSON.parse has to decode. Longer ones are always decoded by JSON.parse.
 */
const PLAIN = latin1Slice === undefined ? SHORT : 128;

/** The value of a JSON string in a range of bytes, which includes the quotes. */
function jsonStringAt(bytes: Uint8Array, from: number, to: number): string {
  const start = from + 1;
  const end = to - 1;
  if (end - start > PLAIN) return JSON.parse(textAt(bytes, from, to)) as string;
  for (let i = start; i < end; i++) {
    const byte = bytes[i] as number;
    if (byte >= 0x80 || byte === BACKSLASH) return JSON.parse(textAt(bytes, from, to)) as string;
  }
  return end - start > SHORT ? latin1At(bytes, start, end) : asciiOf(bytes, start, end);
}

const b = (bytes: Uint8Array, i: number): number => bytes[i] as number;

function asciiOf(bytes: Uint8Array, from: number, to: number): string {
  let text = '';
  let i = from;
  for (; i + 8 <= to; i += 8) {
    text += String.fromCharCode(
      b(bytes, i),
      b(bytes, i + 1),
      b(bytes, i + 2),
      b(bytes, i + 3),
      b(bytes, i + 4),
      b(bytes, i + 5),
      b(bytes, i + 6),
      b(bytes, i + 7),
    );
  }
  if (i + 4 <= to) {
    text += String.fromCharCode(b(bytes, i), b(bytes, i + 1), b(bytes, i + 2), b(bytes, i + 3));
    i += 4;
  }
  for (; i < to; i++) text += String.fromCharCode(b(bytes, i));
  return text;
}

/** The JSON value in a range of bytes. */
export function jsonAt(bytes: Uint8Array, from: number, to: number): unknown {
  if (bytes[from] === QUOTE) return jsonStringAt(bytes, from, to);
  return freezeParsed(JSON.parse(textAt(bytes, from, to)));
}
