/**
 * Writes the tree of members that are cut out of objects into the core's memory, in the layout that
 * assembly/trim.ts draws. It is never freed.
 */

import { FALLBACK, FATE_GOES, FATE_STAYS, NO_MEMORY, READ_BEHIND } from '../../generated/abi.ts';
import type { CacheCore } from '../../wasm/cache-core.ts';
import type { Trim, TrimAction } from '../decode/trim.ts';

const NODE_BYTES = 8;
const ENTRY_BYTES = 8;

export class TrimBlock {
  readonly #core: CacheCore;
  readonly #tree: number;

  /** Throws CapstanError OUT_OF_MEMORY. */
  constructor(core: CacheCore, trim: Trim) {
    const bytes = encode(trim);
    this.#core = core;
    this.#tree = core.exports.pathNew(bytes.length) >>> 0;
    if (this.#tree === 0) throw core.outOfMemory();
    core.bytes().set(bytes, this.#tree);
  }

  /**
   * Trims the object scanned last. Returns whether anything was cut; `undefined` if JavaScript has
   * to trim it.
   */
  apply(): boolean | undefined {
    const answer = this.#core.exports.trimScanned(this.#tree);
    if (answer === NO_MEMORY) throw this.#core.outOfMemory();
    return answer === FALLBACK ? undefined : answer === 1;
  }
}

interface Node {
  readonly at: number;
  readonly others: number;
  readonly entries: { readonly name: Uint8Array; readonly fate: number }[];
}

function encode(root: Trim): Uint8Array {
  const encoder = new TextEncoder();
  const nodes: Node[] = [];
  let end = 0;
  const place = (trim: Trim): number => {
    const named = [...trim.members].map(([name, fate]) => ({ name: encoder.encode(name), fate }));
    const at = end;
    end += named.reduce((bytes, { name }) => bytes + entryBytes(name), NODE_BYTES);
    const fateOf = (fate: TrimAction): number =>
      fate === 'remove' ? FATE_GOES : fate === 'keep' ? FATE_STAYS : place(fate);
    const entries = named.map(({ name, fate }) => ({ name, fate: fateOf(fate) }));
    nodes.push({ at, others: trim.others === 'remove' ? 1 : 0, entries });
    return at;
  };
  place(root);
  const bytes = new Uint8Array(end + READ_BEHIND);
  const view = new DataView(bytes.buffer);
  for (const { at, others, entries } of nodes) {
    view.setUint32(at, entries.length, true);
    view.setUint32(at + 4, others, true);
    let entry = at + NODE_BYTES;
    for (const { name, fate } of entries) {
      view.setUint32(entry, name.length, true);
      view.setUint32(entry + 4, fate, true);
      bytes.set(name, entry + ENTRY_BYTES);
      entry += entryBytes(name);
    }
  }
  return bytes;
}

function entryBytes(name: Uint8Array): number {
  return ENTRY_BYTES + ((name.length + 3) & ~3);
}
