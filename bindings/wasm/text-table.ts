/**
 * Strings → slots of a table in the core of a cache: keys of objects, values of an index. Any
 * string is a key, no two merge, a slot is its key's until it is released. In Wasm the core hashes
 * and keeps the strings; in JS a Map interns them and the core sees slots only.
 *
 * Whatever a method throws that is no CapstanError is a trap: callers pass it to `trapped`.
 */

import { invalid } from '../base/errors.ts';
import { NOTHING } from '../generated/abi.ts';
import type { CacheCore } from './cache-core.ts';

export interface TextTable {
  /** The slot of a text, or NOTHING, or NO_MEMORY. */
  find(text: string): number;
  /** The slot of a text, which gets one if it has none; or NO_MEMORY. */
  intern(text: string): number;
  /** The core has given this slot back. */
  released(slot: number): void;
}

/** @param inWasm see key-mode.ts; always so where keys come out of bytes */
export function textTable(core: CacheCore, handle: number, inWasm: boolean): TextTable {
  return inWasm ? new WasmTexts(core, handle) : new JsTexts(core, handle);
}

/** What is no string would trap in the core. */
function checked(text: string): string {
  if (typeof text === 'string') return text;
  throw invalid('key', 'a string', text);
}

class WasmTexts implements TextTable {
  readonly #core: CacheCore;
  readonly #handle: number;

  constructor(core: CacheCore, handle: number) {
    this.#core = core;
    this.#handle = handle;
  }

  find(text: string): number {
    return this.#core.exports.keysFind(this.#handle, checked(text));
  }

  intern(text: string): number {
    return this.#core.exports.keysIntern(this.#handle, checked(text));
  }

  released(): void {}
}

class JsTexts implements TextTable {
  readonly #core: CacheCore;
  readonly #handle: number;
  readonly #slots = new Map<string, number>();
  readonly #texts: string[] = []; // by slot, as long as it is in use

  constructor(core: CacheCore, handle: number) {
    this.#core = core;
    this.#handle = handle;
  }

  /**
   * An unknown key needs no call of the core. One is made all the same, so that a poisoned instance
   * throws.
   */
  find(text: string): number {
    const slot = this.#slots.get(checked(text));
    if (slot !== undefined) return slot;
    this.#core.exports.memoryPages();
    return NOTHING;
  }

  intern(text: string): number {
    const known = this.#slots.get(checked(text));
    if (known !== undefined) return known;
    const slot = this.#core.exports.keysSlotNew(this.#handle);
    if (slot < 0) return slot;
    this.#slots.set(text, slot);
    this.#texts[slot] = text;
    return slot;
  }

  released(slot: number): void {
    this.#slots.delete(this.#texts[slot] as string);
    this.#texts[slot] = '';
  }
}
