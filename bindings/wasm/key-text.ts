/**
 * The text of a key that the core holds. Tables whose keys came out of bytes have it nowhere else.
 */
import type { CacheCore } from './cache-core.ts';

const PART = 8_192; // units in one call: all of a long key at once would not fit the stack

/**
 * The key of a live slot, unit for unit: lone surrogates too, which is why no TextDecoder reads it.
 */
export function keyText(core: CacheCore, table: number, slot: number): string {
  const { exports } = core;
  const at = exports.keysText(table, slot) >>> 0;
  const units = exports.keysTextUnits(table, slot);
  const { buffer } = exports.memory;
  const text = exports.keysTextWide(table, slot)
    ? new Uint16Array(buffer, at, units)
    : new Uint8Array(buffer, at, units);
  if (units <= PART) return unitsText(text);
  let joined = '';
  for (let from = 0; from < units; from += PART)
    joined += unitsText(text.subarray(from, from + PART));
  return joined;
}

function unitsText(units: ArrayLike<number>): string {
  return String.fromCharCode.apply(undefined, units as number[]);
}
