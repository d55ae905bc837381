/**
 * An index on the core's maps (assembly/indices.ts): index value → dense set of object slots.
 * Object slots are the caller's (a KeyTable of the same core); values are any strings.
 *
 * A change is one call into the core where an object has one value, which nearly all have: the core
 * hashes the value and sees whether the object has it already. Three calls and one more per value
 * otherwise. Where the values come out of an object's bytes it is one call, and no string is made.
 */

import { CapstanError } from '../base/errors.ts';
import { FALLBACK, NO_MEMORY, NOTHING, SLOT_FLAG } from '../generated/abi.ts';
import type { CacheCore } from './cache-core.ts';
import { hashesInWasm } from './key-mode.ts';
import { keyText } from './key-text.ts';
import { type TextTable, textTable } from './text-table.ts';

const NO_SLOTS = new Uint32Array(0);

export class IndexMap {
  readonly #core: CacheCore;
  readonly #handle: number;
  readonly #keys: TextTable;
  readonly #inWasm: boolean; // values are hashed in the core, not in JS
  readonly #texts: (string | undefined)[] = []; // value by value slot; in Wasm the core has them

  /** @param inWasm the core hashes the values; always so where some come out of bytes */
  constructor(core: CacheCore, inWasm = hashesInWasm(core)) {
    this.#core = core;
    this.#handle = core.exports.indexNew();
    if (this.#handle === 0) throw core.outOfMemory();
    this.#inWasm = inWasm;
    this.#keys = textTable(core, core.exports.indexValues(this.#handle), inWasm);
  }

  /**
   * Lists an object under these values and no others; a value named twice counts once. On an error
   * nothing has changed.
   */
  set(slot: number, values: readonly string[]): void {
    const { exports } = this.#core;
    try {
      const list = Array.from(values); // counted and read as one: the core reserves by the count
      if (!exports.indexBegin(list.length)) throw this.#core.outOfMemory();
      for (const value of list) {
        const valueSlot = this.#keys.intern(value);
        if (valueSlot < 0) throw this.#core.outOfMemory();
        if (!this.#inWasm) this.#texts[valueSlot] = value;
        exports.indexPush(this.#handle, valueSlot);
      }
      const given = exports.indexCommit(this.#handle, slot);
      if (given < 0) throw this.#core.outOfMemory();
      if (given > 0) this.#forget(given);
    } catch (cause) {
      if (cause instanceof CapstanError) this.#forget(exports.indexAbort(this.#handle));
      throw this.#core.trapped(cause);
    }
  }

  /** The same for one value. */
  setOne(slot: number, value: string): void {
    let code: number;
    try {
      if (!this.#inWasm) code = this.#putSlot(slot, value);
      else code = this.#core.exports.indexPut(this.#handle, slot, value);
    } catch (cause) {
      throw this.#core.trapped(cause);
    }
    if (code >= 0) {
      const valueSlot = code & ~SLOT_FLAG;
      if (!this.#inWasm && this.#texts[valueSlot] === undefined) this.#texts[valueSlot] = value;
      if (code !== valueSlot) this.#forget(1);
    } else if (code === NOTHING) this.set(slot, [value]);
    else throw this.#core.outOfMemory();
  }

  /**
   * Lists an object under the values that a version of it (assembly/objects.ts) has at a path, and
   * no others. False: that part of it has to be decoded; then nothing has changed, as on an error.
   * Only where the core hashes.
   *
   * @param orEmpty an object without a value is listed under the empty one
   */
  setFromBytes(
    slot: number,
    objects: number,
    version: number,
    path: number,
    orEmpty: boolean,
  ): boolean {
    const { exports } = this.#core;
    try {
      const answer = exports.objectIndex(objects, version, this.#handle, slot, path, orEmpty);
      if (answer >= 0) return true;
      if (answer === FALLBACK) return false;
      exports.indexAbort(this.#handle);
    } catch (cause) {
      throw this.#core.trapped(cause);
    }
    throw this.#core.outOfMemory();
  }

  /** Lists an object under no value. */
  clear(slot: number): void {
    this.set(slot, []);
  }

  /**
   * The slots listed under a value, in no order; a view that is valid until the next call into the
   * core.
   */
  slots(value: string): Uint32Array {
    try {
      const slot = this.#keys.find(value);
      if (slot < 0) return NO_SLOTS;
      const start = this.#core.exports.indexSet(this.#handle, slot) >>> 2;
      return this.#core
        .words()
        .subarray(start, start + this.#core.exports.indexSetCount(this.#handle, slot));
    } catch (cause) {
      throw this.#core.trapped(cause);
    }
  }

  /** The values that have objects, in no order. */
  values(): string[] {
    const values: string[] = [];
    if (!this.#inWasm) {
      for (const text of this.#texts) if (text !== undefined) values.push(text);
      return values;
    }
    const { exports } = this.#core;
    const table = exports.indexValues(this.#handle);
    for (
      let slot = exports.indexNextValue(this.#handle, 0);
      slot >= 0;
      slot = exports.indexNextValue(this.#handle, slot + 1)
    ) {
      values.push(keyText(this.#core, table, slot));
    }
    return values;
  }

  dispose(): void {
    this.#core.exports.indexFree(this.#handle);
  }

  #putSlot(slot: number, value: string): number {
    const valueSlot = this.#keys.intern(value);
    if (valueSlot < 0) return NO_MEMORY;
    const code = this.#core.exports.indexPutSlot(this.#handle, slot, valueSlot);
    if (code < 0 && this.#texts[valueSlot] === undefined) this.#keys.released(valueSlot);
    return code;
  }

  #forget(count: number): void {
    if (this.#inWasm) return;
    const start = this.#core.exports.indexList() >>> 2;
    for (const slot of this.#core.words().subarray(start, start + count)) {
      this.#texts[slot] = undefined;
      this.#keys.released(slot);
    }
  }
}
