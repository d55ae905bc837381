/**
 * Splits the bytes of a watch into frames. A frame ends where its JSON value ends, wherever the
 * network cut the bytes, also inside a UTF-8 character; line feeds between values are only a fast
 * path. At the end of the stream an incomplete value is dropped, because the server will send it
 * again. Anything that is not a frame is a DECODE error and never skipped: a skipped frame would be
 * a lost event.
 */
import { CapstanError, show } from '../../base/errors.ts';
import { isJsonObject } from '../../base/json-value.ts';
import { excerpt, fromJson } from '../../base/not-json.ts';
import { type DecoderOptions, MAX_DEPTH, MAX_OBJECT_BYTES } from './limits.ts';

/**
 * One watch event. `object` is an object of the resource, the object of a bookmark, or a Status for
 * type ERROR.
 */
export interface RawFrame {
  type: string;
  object: object;
}

/** client-go: apimachinery runtime/serializer/streaming, initial buffer. */
const INITIAL_BYTES = 1024;

const LF = 0x0a;
const CR = 0x0d;
const TAB = 0x09;
const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * @example
 * const frames = new FrameDecoder();
 * for await (const chunk of body) {
 *   frames.push(chunk);
 *   for (let frame = frames.next(); frame !== undefined; frame = frames.next()) use(frame);
 * }
 */
export class FrameDecoder {
  readonly #text = new TextDecoder('utf-8', { ignoreBOM: true });
  readonly #maxBytes: number;
  readonly #maxNesting: number;
  #bytes = new Uint8Array(INITIAL_BYTES);
  /**
   * The bytes that are not consumed are in [start, end); the value scanner has read [start,
   * scanned).
   */
  #start = 0;
  #end = 0;
  #scanned = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;
  /**
   * There is no line feed in [start, noLineFeedBefore), so that the search reads each byte once.
   */
  #noLineFeedBefore = 0;
  /**
   * The fast path is off up to this offset, where a line ends that is not one value; so it is tried
   * once a line.
   */
  #slowUntil = 0;

  constructor(limits: Pick<DecoderOptions, 'maxObjectBytes' | 'maxNesting'> = {}) {
    this.#maxBytes = limits.maxObjectBytes ?? MAX_OBJECT_BYTES;
    this.#maxNesting = limits.maxNesting ?? MAX_DEPTH;
  }

  /** Copies the bytes of a chunk. `next` gives the frames that they complete. */
  push(chunk: Uint8Array): void {
    this.#reserve(chunk.length);
    this.#bytes.set(chunk, this.#end);
    this.#end += chunk.length;
  }

  /**
   * The next complete frame, or `undefined` until more bytes come. Throws CapstanError DECODE; the
   * stream is then unusable.
   */
  next(): RawFrame | undefined {
    if (this.#scanned === this.#start) {
      if (!this.#skipSpace()) return undefined;
      const frame = this.#start < this.#slowUntil ? undefined : this.#nextLine();
      if (frame !== undefined) return frame;
    }
    const end = this.#scanValue();
    this.#refuseOversize(end < 0 ? this.#end : end);
    if (end < 0) return undefined;
    const value = this.#decode(this.#start, end);
    this.#consume(end);
    return rawFrame('a watch frame', value);
  }

  /**
   * The fast path: a line with one value, as every API server sends it. `undefined` if there is no
   * complete line, or it is not one value.
   */
  #nextLine(): RawFrame | undefined {
    const from = Math.max(this.#start, this.#noLineFeedBefore);
    const lineFeed = this.#bytes.subarray(0, this.#end).indexOf(LF, from);
    if (lineFeed < 0) {
      this.#noLineFeedBefore = this.#end;
      return undefined;
    }
    this.#refuseOversize(lineFeed);
    // A level takes two bytes, so a shorter line cannot nest too deep; a longer one is scanned
    // first (1 ns a byte).
    if (lineFeed - this.#start > 2 * this.#maxNesting) {
      this.#slowUntil = lineFeed + 1;
      return undefined;
    }
    let value: unknown;
    try {
      value = JSON.parse(this.#text.decode(this.#bytes.subarray(this.#start, lineFeed)));
    } catch {
      // several values in this line, or several lines in this value, or not JSON
      this.#slowUntil = lineFeed + 1;
      return undefined;
    }
    this.#consume(lineFeed + 1);
    return rawFrame('a watch frame', value);
  }

  /** The end of the value that begins at start, or -1. Continues where the last call stopped. */
  #scanValue(): number {
    const bytes = this.#bytes;
    let depth = this.#depth;
    let inString = this.#inString;
    let escaped = this.#escaped;
    let at = this.#scanned;
    let end = -1;
    for (; at < this.#end && end < 0; at++) {
      const byte = bytes[at];
      if (inString) {
        if (escaped) escaped = false;
        else if (byte === BACKSLASH) escaped = true;
        else if (byte === QUOTE) inString = false;
      } else if (byte === QUOTE) {
        inString = true;
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        depth++;
        if (depth > this.#maxNesting)
          throw new CapstanError(
            'DECODE',
            `a watch frame nests deeper than ${this.#maxNesting} levels`,
          );
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        depth--;
        if (depth === 0) end = at + 1;
      }
    }
    this.#depth = depth;
    this.#inString = inString;
    this.#escaped = escaped;
    this.#scanned = at;
    return end;
  }

  /** Moves to the next value, which must begin with "{"; false if only white space is left. */
  #skipSpace(): boolean {
    let at = this.#start;
    while (at < this.#end && isSpace(this.#bytes[at])) at++;
    this.#consume(at);
    if (at === this.#end) return false;
    if (this.#bytes[at] !== OPEN_BRACE) {
      const text = this.#text.decode(this.#bytes.subarray(at, Math.min(this.#end, at + 40)));
      throw new CapstanError(
        'DECODE',
        `a watch frame expected a JSON object, got ${excerpt(text)}`,
      );
    }
    return true;
  }

  #decode(from: number, to: number): unknown {
    const text = this.#text.decode(this.#bytes.subarray(from, to));
    return fromJson('a watch frame', text);
  }

  #consume(to: number): void {
    this.#start = to;
    this.#scanned = to;
    this.#depth = 0;
    this.#inString = false;
    this.#escaped = false;
  }

  #refuseOversize(end: number): void {
    if (end - this.#start > this.#maxBytes) {
      const advice = 'see the option maxObjectBytes';
      throw new CapstanError(
        'DECODE',
        `a watch frame is longer than ${this.#maxBytes} bytes: ${advice}`,
      );
    }
  }

  /** Makes room for `more` bytes: first by moving the rest to the front, then by doubling. */
  #reserve(more: number): void {
    if (this.#end + more <= this.#bytes.length) return;
    const left = this.#end - this.#start;
    let target = this.#bytes;
    if (left + more > target.length) {
      let size = target.length;
      while (size < left + more) size *= 2;
      target = new Uint8Array(size);
    }
    target.set(this.#bytes.subarray(this.#start, this.#end));
    const moved = this.#start;
    this.#bytes = target;
    this.#start = 0;
    this.#end = left;
    this.#scanned -= moved;
    this.#noLineFeedBefore -= moved;
    this.#slowUntil -= moved;
  }
}

function isSpace(byte: number | undefined): boolean {
  return byte === LF || byte === CR || byte === SPACE || byte === TAB;
}

export function rawFrame(what: string, value: unknown): RawFrame {
  if (isJsonObject(value)) {
    const { type, object } = value;
    if (typeof type === 'string' && isJsonObject(object)) return { type, object };
  }
  throw new CapstanError(
    'DECODE',
    `${what} expected { type: string, object: object }, got ${shape(value)}`,
  );
}

function shape(value: unknown): string {
  if (!isJsonObject(value)) return excerpt(value);
  const { type, object } = value;
  return `type ${show(type)} and object ${excerpt(object)}`;
}
