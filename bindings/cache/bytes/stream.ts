/**
 * A stream of bytes that the core scans: writes chunks into its memory, and reads its report of
 * what it found (assembly/stream.ts, assembly/report.ts).
 */

import { CapstanError, show } from '../../base/errors.ts';
import {
  FAILURE,
  FAILURE_AT,
  MORE,
  NOT_AN_OBJECT,
  NOT_STAGED,
  TOO_DEEP,
  TOO_LONG,
  VALUE_START,
} from '../../generated/abi.ts';
import type { CacheCore } from '../../wasm/cache-core.ts';
import { textAt } from './text.ts';

/**
 * Kinds whose texts no message quotes. Metadata may be those of a Secret, and kubectl writes the
 * whole Secret into an annotation.
 */
const IS_SECRET = / (Secret|PartialObjectMetadata)$/;

/** The limits of each value in a stream. */
export interface ValueLimits {
  readonly maxObjectBytes: number;
  /** Used in messages; the core has the limit already. */
  readonly maxNesting: number;
}

const LF = 0x0a;

export class ByteStream {
  readonly #core: CacheCore;
  readonly #what: string;
  readonly #limits: ValueLimits;
  #handle: number;
  /** The end of the pushed bytes. */
  #end = 0;

  /** @param what for messages: `a watch of v1 Pod` */
  constructor(core: CacheCore, what: string, limits: ValueLimits) {
    this.#core = core;
    this.#what = what;
    this.#limits = limits;
    this.#handle = core.exports.streamNew(limits.maxObjectBytes);
    if (this.#handle === 0) throw core.outOfMemory();
  }

  /**
   * Copies a chunk into the core. Bytes that come after `close`, as from a pending read, are
   * dropped: the memory may belong to another stream by then.
   */
  push(chunk: Uint8Array): void {
    if (this.#handle === 0) return;
    const { exports } = this.#core;
    const at = exports.streamRoom(this.#handle, chunk.length);
    if (at === 0) throw this.#core.outOfMemory();
    this.#core.bytes().set(chunk, at >>> 0);
    this.#end = (at >>> 0) + chunk.length;
    exports.streamPushed(this.#handle, chunk.length);
  }

  /**
   * Scans the next event: VALUE, RAW or MORE. Throws CapstanError DECODE for any other code.
   *
   * @param objects the handle of the objects to which the core adds a plain object at once (then
   *   the result is STAGED, and the event is taken); 0: none
   */
  nextEvent(objects: number): number {
    if (this.#handle === 0) return MORE;
    const { exports } = this.#core;
    const code =
      objects === 0 ? exports.eventNext(this.#handle) : exports.eventStage(this.#handle, objects);
    if (code < 0) throw code === NOT_STAGED ? this.#core.outOfMemory() : this.#error(code);
    return code;
  }

  /**
   * Scans the next part of a list: MEMBER, ITEMS, VALUE or RAW (an item), END or MORE. Throws
   * CapstanError DECODE for any other code.
   */
  /** @param items how many there were; undefined: they have not begun */
  nextOfList(items: number | undefined): number {
    if (this.#handle === 0) return MORE;
    const code = this.#core.exports.listNext(this.#handle);
    if (code < 0) throw this.#error(code, items === undefined ? '' : `items[${items}] `);
    return code;
  }

  /** Whether at most a line feed has come after an event that ends there. */
  isEmptyFrom(end: number): boolean {
    const left = this.#end - end;
    return left === 0 || (left === 1 && this.#core.bytes()[end] === LF);
  }

  take(): void {
    if (this.#handle !== 0) this.#core.exports.streamTake(this.#handle);
  }

  listEnded(): boolean {
    return this.#handle !== 0 && this.#core.exports.listEnded(this.#handle) !== 0;
  }

  /** The index of the report's first word in `core.words()`. */
  report(): number {
    return this.#core.exports.scanReport() >>> 2;
  }

  /** Text of a range that the report names. */
  text(from: number, to: number): string {
    return textAt(this.#core.bytes(), from, to);
  }

  close(): void {
    const handle = this.#handle;
    this.#handle = 0;
    if (handle !== 0) this.#core.exports.streamFree(handle);
  }

  #error(code: number, place = ''): CapstanError {
    const what = this.#what;
    const { maxObjectBytes, maxNesting } = this.#limits;
    if (code === TOO_LONG) {
      const advice = 'see the option maxObjectBytes';
      return new CapstanError(
        'DECODE',
        `${what}: a value is longer than ${maxObjectBytes} bytes: ${advice}`,
      );
    }
    const at = this.report();
    const words = this.#core.words();
    const failedAt = words[at + FAILURE_AT] as number;
    if (code === NOT_AN_OBJECT)
      return new CapstanError('DECODE', `${what}: ${place}expected a JSON object`);
    if (words[at + FAILURE] === TOO_DEEP) {
      return new CapstanError('DECODE', `${what}: a value nests deeper than ${maxNesting} levels`);
    }
    const start = words[at + VALUE_START] as number;
    const near = IS_SECRET.test(what)
      ? 'what is not said here'
      : show(this.#around(start, failedAt));
    return new CapstanError('DECODE', `${what}: not JSON, near ${near}`);
  }

  /**
   * The text around a failure. Memory after the pushed bytes has old values, and a frame ends with
   * its line.
   */
  #around(start: number, failedAt: number): string {
    const before = this.text(Math.max(start, failedAt - 30), failedAt);
    const after = this.text(failedAt, Math.min(failedAt + 30, this.#end));
    return before.slice(before.lastIndexOf('\n') + 1) + after.replace(/\n.*/s, '');
  }
}
