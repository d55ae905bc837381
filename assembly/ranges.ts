// The ranges of hashes whose objects a cache has. The hash is FNV-1a, 64 bits, of the bytes of the
// namespace or of the name, as kube-apiserver computes it for shardSelector (KEP-5866).
//
//   RANGES: count × |from u64|to u64|, sorted, disjoint, half open; to 0: up to the end

import { INSIDE, MOST_RANGES, OUTSIDE, UNHASHED } from "./abi";
import { metaValue } from "./scan";
import { NAME, NAMESPACE } from "./shapes";

const BACKSLASH: u8 = 0x5c;
const FNV_OFFSET: u64 = 0xcbf29ce484222325;
const FNV_PRIME: u64 = 0x100000001b3;

const RANGES: usize = memory.data(MOST_RANGES << 4, 16);
let count: i32 = -1; // no ranges: the cache has all objects
let field: usize = NAMESPACE;

/** Room for the ranges; then rangesSet. */
export function rangesRoom(): usize {
  return RANGES;
}

/** @param count -1: every object is inside @param byName else by the namespace */
export function rangesSet(ranges: i32, byName: bool): void {
  count = ranges;
  field = byName ? NAME : NAMESPACE;
}

/**
 * Where the regular object scanned last lies: INSIDE or OUTSIDE; UNHASHED: its text has an escape,
 * and the host hashes it.
 */
export function scannedPlace(): i32 {
  if (count < 0) return INSIDE;
  let hash = FNV_OFFSET;
  const member = metaValue(field);
  if (member !== null) {
    const end = member.valueEnd - 1;
    for (let p = member.value + 1; p < end; p++) {
      const c = load<u8>(p);
      if (c == BACKSLASH) return UNHASHED;
      hash = (hash ^ c) * FNV_PRIME;
    }
  }
  for (let at = RANGES, end = RANGES + (<usize>count << 4); at < end; at += 16) {
    const to = load<u64>(at, 8);
    if (hash >= load<u64>(at) && (hash < to || to == 0)) return INSIDE;
  }
  return OUTSIDE;
}
