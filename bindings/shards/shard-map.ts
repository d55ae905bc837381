/**
 * The map: the owner of each slot, and the moves under way. It is one ConfigMap, which the
 * coordinator writes by compare-and-swap on its resourceVersion. A checksum detects edits by hand:
 * no replica follows such a map.
 */
import { hashText, isJsonObject } from '../base/json-value.ts';
import { SLOTS } from './slots.ts';

/** A slot that is handed over by one live replica to another. */
export interface Move {
  readonly slot: number;
  readonly from: string;
  readonly to: string;
  /** The epoch of the map that began the move. Acknowledgements of older maps do not count. */
  readonly since: number;
}

export interface ShardMap {
  /**
   * Grows with each write. It is never above the resourceVersion of the ConfigMap. So a new map
   * whose epoch is the last resourceVersion has an epoch that no replica has seen.
   */
  readonly epoch: number;
  /**
   * The epoch in which the map was written without owners; 0 once all slots have owners again.
   * Until then a replica that has not seen that epoch may still run a slot without an owner.
   */
  readonly floor: number;
  /** The edges between the slots, ascending. */
  readonly edges: readonly bigint[];
  /** The owner of each slot; empty for none. */
  readonly slots: readonly string[];
  readonly moving: readonly Move[];
}

const VERSION = 1;

/** A map without owners. */
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
 * The inverse of {@link dataOfMap}. `newer` for a map of a later release, which this release cannot
 * read; `undefined` for data that somebody else has written or changed.
 */
export function mapOfData(data: unknown): ShardMap | 'newer' | undefined {
  if (!isJsonObject(data)) return undefined;
  const { map: text, checksum } = data;
  if (typeof text !== 'string' || checksum !== checksumOf(text)) return undefined;
  const map: unknown = parsed(text);
  if (!isJsonObject(map)) return undefined;
  if (typeof map.version === 'number' && map.version > VERSION) return 'newer';
  if (map.version !== VERSION || !isWritten(map)) return undefined;
  const { epoch, floor, edges, slots, moving } = map;
  return { epoch, floor, edges: edges.map((edge) => BigInt(`0x${edge}`)), slots, moving };
}

type WrittenMap = Omit<ShardMap, 'edges'> & { readonly edges: readonly string[] };

/** Fields that are unknown here are ignored, as a later release may add some. */
function isWritten(map: object): map is WrittenMap {
  const { epoch, floor, edges, slots, moving } = map as Record<string, unknown>;
  return (
    Number.isInteger(epoch) &&
    Number.isInteger(floor) &&
    isListOf(edges, (edge) => typeof edge === 'string' && /^[0-9a-f]{16}$/.test(edge)) &&
    edges.length === SLOTS - 1 &&
    edges.every((edge, i) => i === 0 || (edges[i - 1] as string) <= (edge as string)) &&
    isListOf(slots, (owner) => typeof owner === 'string') &&
    slots.length === SLOTS &&
    isListOf(moving, isMove)
  );
}

const isListOf = (list: unknown, is: (item: unknown) => boolean): list is unknown[] =>
  Array.isArray(list) && list.every(is);

function isMove(move: unknown): boolean {
  if (!isJsonObject(move)) return false;
  const { slot, from, to, since } = move;
  const isSlot = Number.isInteger(slot) && (slot as number) >= 0 && (slot as number) < SLOTS;
  return isSlot && typeof from === 'string' && typeof to === 'string' && Number.isInteger(since);
}

/** All releases must compute the same checksum. */
const checksumOf = (text: string): string => hashText(text, 1).toString(16);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
