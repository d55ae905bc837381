/**
 * Slots: the ranges of the hash of a namespace (of the name, for cluster-scoped kinds) that
 * replicas own. The edges between slots are chosen from the names that exist. FNV-1a gives short,
 * similar names similar hashes, so equal ranges would leave most slots empty.
 */

/** The number of slots. */
export const SLOTS = 64;

const END = 2n ** 64n;

/** The hashes from `from` (inclusive) to `to` (exclusive). */
export interface SlotRange {
  readonly from: bigint;
  readonly to: bigint;
}

/** The hash of a name, and its weight, such as its number of objects. */
export type WeighedHash = readonly [hash: bigint, weight: number];

/**
 * Chooses the `count - 1` edges between `count` ranges of about equal weight, ascending. If there
 * are fewer names than ranges, it halves the widest ranges.
 */
export function chooseEdges(names: Iterable<WeighedHash>, count: number = SLOTS): bigint[] {
  const sorted = [...names].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  const edges: bigint[] = [];
  let left = sorted.reduce((sum, [, weight]) => sum + weight, 0);
  let filled = 0;
  sorted.forEach(([hash, weight], i) => {
    const [before] = sorted[i - 1] ?? [hash];
    const target = left / (count - edges.length);
    if (edges.length < count - 1 && before < hash && filled + weight / 2 > target && filled > 0) {
      edges.push(before + (hash - before + 1n) / 2n);
      left -= filled;
      filled = 0;
    }
    filled += weight;
  });
  while (edges.length < count - 1) halveWidest(edges);
  return edges;
}

function halveWidest(edges: bigint[]): void {
  let at = 0;
  let widest = 0n;
  for (let i = 0; i <= edges.length; i++) {
    const { from, to } = rangeOfSlot(edges, i);
    if (to - from > widest) {
      widest = to - from;
      at = i;
    }
  }
  edges.splice(at, 0, rangeOfSlot(edges, at).from + widest / 2n);
}

export function rangeOfSlot(edges: readonly bigint[], slot: number): SlotRange {
  return { from: slot === 0 ? 0n : (edges[slot - 1] ?? END), to: edges[slot] ?? END };
}

/** The slot of a hash: the number of edges at or below it. */
export function slotOfHash(edges: readonly bigint[], hash: bigint): number {
  let low = 0;
  let high = edges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((edges[middle] as bigint) <= hash) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The weight of each slot: the sum of the weights of its names. */
export function weighSlots(edges: readonly bigint[], names: Iterable<WeighedHash>): number[] {
  const weights = new Array<number>(SLOTS).fill(0);
  for (const [hash, weight] of names) {
    const slot = slotOfHash(edges, hash);
    weights[slot] = (weights[slot] as number) + weight;
  }
  return weights;
}

/** Sorted slots as text, such as `0-5,9`; empty for no slots. */
export function slotsText(slots: readonly number[]): string {
  const parts: string[] = [];
  for (let i = 0; i < slots.length; ) {
    let last = i;
    while (slots[last + 1] === (slots[last] as number) + 1) last++;
    parts.push(last === i ? `${slots[i]}` : `${slots[i]}-${slots[last]}`);
    i = last + 1;
  }
  return parts.join(',');
}

/** The inverse of {@link slotsText}; `undefined` for any other text. */
export function slotsOfText(text: string): number[] | undefined {
  if (text === '') return [];
  const slots: number[] = [];
  for (const part of text.split(',')) {
    const [, first = '', last = first] = /^(\d{1,2})(?:-(\d{1,2}))?$/.exec(part) ?? [];
    if (first === '' || Number(last) >= SLOTS || Number(last) < Number(first)) return undefined;
    for (let slot = Number(first); slot <= Number(last); slot++) slots.push(slot);
  }
  return slots;
}
