/**
 * The map: who owns each slot, and which slots are being handed over. It is one object, written
 * only by compare-and-swap on its resourceVersion. Its text carries a checksum, so that an edit by
 * hand is noticed and not followed.
 */
import { hashText, isJsonObject } from '../base/json-value.ts';
import { SLOTS } from './slots.ts';

/** A slot on its way from a live replica to another one. */
export interface Move {
  readonly slot: number;
  readonly from: string;
  readonly to: string;
  /** The epoch of the map that began it. Acknowledgements of older maps do not count for it. */
  readonly since: number;
}

export interface ShardMap {
  /**
   * Grows with each write. It is never above the resourceVersion of any version of the map, so that
   * a map that is written anew finds one that no replica has seen.
   */
  readonly epoch: number;
  /**
   * The epoch in which the map was written anew. While it is not 0, an unowned slot may still be
   * run by a replica that has not seen that epoch.
   */
  readonly floor: number;
  /** The edges between the slots, ascending. */
  readonly edges: readonly bigint[];
  /** The owner of each slot; empty for none. */
  readonly slots: readonly string[];
  readonly moving: readonly Move[];
}

const VERSION = 1;

/** A map in which nobody owns anything. */
export function emptyMap(epoch: number, edges: readonly bigint[]): ShardMap {
  return { epoch, floor: epoch, edges, slots: new Array<string>(SLOTS).fill(''), moving: [] };
}

export function moveOf(map: ShardMap, slot: number): Move | undefined {
  return map.moving.find((move) => move.slot === slot);
}

/** The `data` of the map object. */
export function dataOfMap(map: ShardMap): Record<string, string> {
  const { epoch, floor, edges, slots, moving } = map;
  const text = JSON.stringify({
    version: VERSION,
    epoch,
    floor,
    edges: edges.map((edge) => edge.toString(16).padStart(16, '0')),
    slots,
    moving,
  });
  return { map: text, checksum: checksumOf(text) };
}

/**
 * `newer` for a map of a later release, in a form that this one does not know; `undefined` for data
 * that no release wrote, or that somebody has changed.
 */
export function mapOfData(data: unknown): ShardMap | 'newer' | undefined {
  if (!isJsonObject(data)) return undefined;
  const { map: text, checksum } = data;
  if (typeof text !== 'string' || checksum !== checksumOf(text)) return undefined;
  const map: unknown = parsed(text);
  if (!isJsonObject(map)) return undefined;
  if (typeof map.version === 'number' && map.version > VERSION) return 'newer';
  if (map.version !== VERSION) return undefined;
  const { epoch, floor, edges, slots, moving } = map as {
    epoch: number;
    floor: number;
    edges: string[];
    slots: string[];
    moving: Move[];
  };
  return { epoch, floor, edges: edges.map((edge) => BigInt(`0x${edge}`)), slots, moving };
}

/** The same in all releases. */
const checksumOf = (text: string): string => hashText(text, 1).toString(16);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
