/**
 * A path of index values (bindings/base/json-path.ts) in the core's memory, for indices on bytes.
 * Drawn in assembly/path.ts.
 */
import { READ_BEHIND } from '../generated/abi.ts';
import type { CacheCore } from './cache-core.ts';

export class PathBlock {
  /**
   * For pathValues and indexByPath; 0 when a name has a lone surrogate, which no document in UTF-8
   * has.
   */
  readonly handle: number;
  readonly #bytes: number;

  /** Throws CapstanError OUT_OF_MEMORY. */
  constructor(core: CacheCore, names: readonly string[]) {
    const encoder = new TextEncoder();
    const encoded = names.map((name) => encoder.encode(name));
    this.#bytes = encoded.reduce((bytes, name) => bytes + roomOf(name), 4) + READ_BEHIND;
    if (names.some((name) => /\p{Surrogate}/u.test(name))) {
      this.handle = 0;
      return;
    }
    this.handle = core.exports.pathNew(this.#bytes) >>> 0;
    if (this.handle === 0) throw core.outOfMemory();
    const block = new DataView(core.exports.memory.buffer, this.handle, this.#bytes);
    block.setUint32(0, names.length, true);
    let at = 4;
    for (const name of encoded) {
      block.setUint32(at, name.length, true);
      new Uint8Array(core.exports.memory.buffer, this.handle + at + 4, name.length).set(name);
      at += roomOf(name);
    }
  }

  dispose(core: CacheCore): void {
    if (this.handle !== 0) core.exports.pathFree(this.handle, this.#bytes);
  }
}

function roomOf(name: Uint8Array): number {
  return (4 + name.length + 3) & ~3;
}
