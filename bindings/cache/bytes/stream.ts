/** Bytes into the core, and what it finds in them (assembly/stream.ts, assembly/report.ts). */

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
 * Whose texts are not quoted; metadata may be a Secret's, with all of it in an annotation of
 * kubectl's.
 */
const IS_SECRET = / (Secret|PartialObjectMetadata)$/;

/** Of each value of a stream. */
export interface ValueLimits {
  readonly maxObjectBytes: number;
  /** For messages; the core has been told. */
  readonly maxNesting: number;
}

const LF = 0x0a;

export class ByteStream {
  readonly #core: CacheCore;
  readonly #what: string;
  readonly #limits: ValueLimits;
  #handle: number;
  /** Where the bytes end that were pushed. */
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
   * What comes after `close`, as from a read that was under way, is dropped: where the stream was,
   * something else may be by then.
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
   * VALUE, RAW or MORE; throws DECODE for the rest.
   *
   * @param objects where a plain object of an event is staged at once (STAGED, and the event is
   *   taken); 0: nowhere
   */
  nextEvent(objects: number): number {
    if (this.#handle === 0) return MORE;
    const { exports } = this.#core;
    const code =
      objects === 0 ? exports.eventNext(this.#handle) : exports.eventStage(this.#handle, objects);
    if (code < 0) throw code === NOT_STAGED ? this.#core.outOfMemory() : this.#error(code);
    return code;
  }

  /** MEMBER, ITEMS, VALUE or RAW (an item), END or MORE; throws DECODE for the rest. */
  /** @param items how many there were; undefined: they have not begun */
  nextOfList(items: number | undefined): number {
    if (this.#handle === 0) return MORE;
    const code = this.#core.exports.listNext(this.#handle);
    if (code < 0) throw this.#error(code, items === undefined ? '' : `items[${items}] `);
    return code;
  }

  /** Whether nothing but a line feed has come behind an event that ends there. */
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
   * What lies behind the bytes that were pushed is of values long gone, and no frame goes on behind
   * the end of its line.
   */
  #around(start: number, failedAt: number): string {
    const before = this.text(Math.max(start, failedAt - 30), failedAt);
    const after = this.text(failedAt, Math.min(failedAt + 30, this.#end));
    return before.slice(before.lastIndexOf('\n') + 1) + after.replace(/\n.*/s, '');
  }
}
