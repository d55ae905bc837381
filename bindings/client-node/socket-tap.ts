/**
 * The body of an answer straight from its socket: node's parser reads the head, and is given the
 * end of the body, but what lies between is taken out of its chunks (RFC 9112, section 7.1) here,
 * where the kernel has put it. node's way makes a buffer for each read, copies each piece of the
 * body into another one and sends it through two streams: a loop that only reads takes 5.5 µs of
 * CPU for a watch event of 4.7 KB in that way, and 2.2 in this (medians of five in turn).
 *
 * What this file keeps true: node's parser has seen a well-formed answer when the body has ended,
 * so that all that HTTP says about the connection stays its business; whatever is not the plainest
 * form of a chunk (extensions, trailers, anything malformed) goes to it from the last boundary on;
 * bytes lie where they are as long as somebody reads them.
 */
import { type OnReadOpts, Socket } from 'node:net';
import { IS_NODE } from './socket.ts';

/**
 * As node reads. Memory that nothing has been read into is not the process's yet, so that a quiet
 * watch costs a page or two.
 */
const BUFFER_BYTES = 65_536;

/**
 * One with what is being read, one to read into, and what was read ahead for a reader that was
 * busy.
 */
const SPARES = 2;
/**
 * A shorter piece is copied: it would keep a buffer from being read into for a page of bytes, and
 * many may wait.
 */
const SHORT = 4096;

const CR = 0x0d;
const LF = 0x0a;
/** A longer size is node's to judge. */
const MAX_DIGITS = 8;

/** Who gets the bytes: node. */
const PASS = 0;
/** node, up to the end of a head; then it is decided anew. */
const HEAD = 1;
/** The reader, but for what frames them. */
const BODY = 2;

/** What of a body comes next. */
const SIZE = 0;
const SIZE_LF = 1;
const DATA = 2;
const DATA_CR = 3;
const DATA_LF = 4;

/**
 * Takes a piece of the body, which stays as it is until it is given back; false: no more for now
 * (`resume`).
 *
 * @param room the bytes of memory that the piece keeps
 */
export type TakePiece = (piece: Uint8Array, room: number) => boolean;

const taps = new WeakMap<object, SocketTap>();

export class SocketTap {
  readonly onread: OnReadOpts;
  #socket: Socket | undefined;
  #mode = PASS;
  /**
   * Bytes of the end of a head, CR LF CR LF, that have been seen in a row. 0 where no head is
   * expected.
   */
  #matched = 0;
  /** node is being given the last byte of a head. */
  #atHeadEnd = false;
  #take: TakePiece | undefined;
  #next = SIZE;
  #size = 0;
  #digits = 0;
  /** Of the chunk that is being read. */
  #left = 0;
  /** What it has made to be read into. */
  readonly #buffers = new WeakSet<ArrayBufferLike>();
  /** What the socket reads into; `undefined` as soon as a piece lies in it. */
  #buffer: Uint8Array | undefined;
  /** Which nobody reads from or into. */
  readonly #spares: Uint8Array[] = [];

  private constructor() {
    this.onread = {
      buffer: () => this.#toReadInto(),
      callback: (length, buffer) => this.#read(buffer as Uint8Array, length),
    };
  }

  /** Makes a socket with a tap, where the host's sockets take one. */
  static on<S>(connect: (options: { onread?: OnReadOpts }) => S): S {
    if (!IS_NODE) return connect({});
    const tap = new SocketTap();
    const socket = connect({ onread: tap.onread });
    if (socket instanceof Socket) {
      tap.#socket = socket;
      taps.set(socket, tap);
    }
    return socket;
  }

  /** Of a socket that was made with one. */
  static of(socket: object | null): SocketTap | undefined {
    return socket === null ? undefined : taps.get(socket);
  }

  /** A request begins: the head of its answer is the next that comes. */
  expect(): void {
    this.#mode = HEAD;
    this.#take = undefined; // of the last answer: it would keep its reader alive
  }

  /** The body of the answer that has just been told of is node's to read. */
  leave(): void {
    this.#mode = PASS;
  }

  /**
   * Takes the chunked body of the answer that has just been told of. False: some of it is with node
   * already, and node has to read all of it.
   */
  take(take: TakePiece): boolean {
    if (this.#mode !== HEAD || !this.#atHeadEnd) {
      this.leave();
      return false;
    }
    this.#mode = BODY;
    this.#take = take;
    this.#next = SIZE;
    this.#size = 0;
    this.#digits = 0;
    return true;
  }

  /** After a piece that was one too many. */
  resume(): void {
    if (this.#mode === BODY) this.#socket?.resume();
  }

  /** Nobody reads a piece any more; to be called once for each. False: it is no piece of this. */
  giveBack({ buffer }: Uint8Array): boolean {
    if (!this.#buffers.has(buffer)) return false;
    if (this.#mode === BODY && this.#spares.length < SPARES) this.#spares.push(Buffer.from(buffer));
    return true;
  }

  /**
   * Asked for after each read, and before the first one for each address of the server that is
   * tried.
   */
  #toReadInto(): Uint8Array {
    this.#buffer ??= this.#spares.pop() ?? this.#newBuffer();
    return this.#buffer;
  }

  #newBuffer(): Uint8Array {
    const made = Buffer.allocUnsafeSlow(BUFFER_BYTES);
    this.#buffers.add(made.buffer);
    return made;
  }

  #read(buffer: Uint8Array, length: number): boolean {
    let at = 0;
    let goOn = true;
    while (this.#mode === HEAD && at < length) {
      const end = this.#headEnd(buffer, at, length);
      this.#atHeadEnd = this.#matched === 4;
      if (this.#atHeadEnd) this.#matched = 0;
      goOn = this.#pass(buffer.subarray(at, end));
      this.#atHeadEnd = false;
      at = end;
    }
    if (at === length) return goOn;
    return this.#mode === BODY
      ? this.#body(buffer, at, length)
      : this.#pass(buffer.subarray(at, length));
  }

  /** Behind the last byte of the head, or of all bytes. */
  #headEnd(buffer: Uint8Array, from: number, to: number): number {
    let matched = this.#matched;
    let at = from;
    while (at < to && matched < 4) {
      const byte = buffer[at] as number;
      if (byte === LF && (matched & 1) === 0) {
        // Lines that end in LF alone, which node takes where it is told to
        // (--insecure-http-parser): it has to find the end then.
        this.#mode = PASS;
        this.#matched = 0;
        return to;
      }
      if (byte === ((matched & 1) === 0 ? CR : LF)) matched++;
      else matched = byte === CR ? 1 : 0;
      at++;
    }
    this.#matched = matched;
    return at;
  }

  /** To node's parser, which may keep it. */
  #pass(bytes: Uint8Array): boolean {
    const socket = this.#socket;
    if (socket === undefined || socket.destroyed) return false;
    return socket.push(Buffer.from(bytes));
  }

  /**
   * Moves the data of all chunks together, where there is more than one: to hand out each would
   * cost more.
   */
  #body(buffer: Uint8Array, from: number, to: number): boolean {
    let start = from;
    let end = from;
    let at = from;
    while (at < to) {
      if (this.#next === DATA) {
        const length = Math.min(this.#left, to - at);
        if (start === end) start = end = at;
        else buffer.copyWithin(end, at, at + length);
        end += length;
        at += length;
        this.#left -= length;
        if (this.#left === 0) this.#next = DATA_CR;
        continue;
      }
      const follows = this.#next;
      if (!this.#frame(buffer[at] as number)) {
        this.#lend(buffer, start, end);
        if (follows === SIZE || follows === SIZE_LF) return this.#handOver(buffer.subarray(at, to));
        // Where the parser is, this chunk has not begun.
        this.#socket?.destroy(
          new Error('the data of a chunk is longer than its size says (RFC 9112, section 7.1)'),
        );
        return false;
      }
      at++;
    }
    return this.#lend(buffer, start, end);
  }

  /**
   * A byte between the data of two chunks. False: it is none that belongs there, or it ends the
   * body.
   */
  #frame(byte: number): boolean {
    switch (this.#next) {
      case SIZE: {
        const digit = valueOfHex(byte);
        if (digit >= 0 && this.#digits < MAX_DIGITS) {
          this.#size = this.#size * 16 + digit;
          this.#digits++;
          return true;
        }
        if (byte !== CR) return false;
        this.#next = SIZE_LF;
        return true;
      }
      case SIZE_LF:
        if (byte !== LF || this.#size === 0) return false;
        this.#next = DATA;
        this.#left = this.#size;
        return true;
      case DATA_CR:
        this.#next = DATA_LF;
        return byte === CR;
      default:
        this.#next = SIZE;
        this.#size = 0;
        this.#digits = 0;
        return byte === LF;
    }
  }

  /**
   * node goes on, with the size that has come so far: of the last chunk, or of one that is not
   * plain.
   */
  #handOver(rest: Uint8Array): boolean {
    this.#mode = PASS;
    this.#take = undefined;
    this.#spares.length = 0;
    const size = this.#digits === 0 ? '' : this.#size.toString(16);
    return this.#pass(
      Buffer.concat([Buffer.from(this.#next === SIZE_LF ? `${size}\r` : size), rest]),
    );
  }

  #lend(buffer: Uint8Array, from: number, to: number): boolean {
    if (from === to) return true;
    if (to - from < SHORT)
      return this.#take?.(Buffer.from(buffer.subarray(from, to)), to - from) ?? false;
    this.#buffer = undefined;
    return this.#take?.(buffer.subarray(from, to), BUFFER_BYTES) ?? false;
  }
}

function valueOfHex(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
