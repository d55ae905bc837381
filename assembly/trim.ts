// Cuts members out of the object that was scanned last, by a tree of names that the host has
// written (bindings/cache/bytes/trim-block.ts). What is left is scanned again, so that the report
// is that of an object that never had those members. An array stands for each of its
// elements.
//
//   tree   |node of the object|node|…, and 16 bytes behind the last one may be read
//   node   |entries u32|othersGo u32: 1: members without an entry go|, then the entries
//   entry  |bytes u32|fate u32|name in UTF-8|, padded to a multiple of 4
//   fate   FATE_GOES, FATE_STAYS, or the offset in the tree of the node for the member's value
//
// Of members named twice all go, or all are entered: the last one counts in any case. An object
// that has a node and a name with an escape is left to the host.
//
// Raw loads: bytes of the text.

import { FALLBACK, FATE_GOES, FATE_STAYS, NO_MEMORY } from "./abi";
import { blockAlloc, blockFree, blockSize } from "./memory";
import { sameName } from "./path";
import { report } from "./report";
import { isRegular, scanLimit, scanObject } from "./scan";
import { skipAny, skipPlainText, skipSpaces } from "./skip";

/** Drawn at the top of the file, as its entries. */
@unmanaged
class TrimNode {
  entries: u32;
  othersGo: u32;
}

/** Drawn at the top of the file. */
@unmanaged
class TrimEntry {
  bytes: u32; // of the name, which follows
  fate: u32;
}

const DEEPEST: u32 = 64;
const SLACK: u32 = 64; // a scan reads behind the end
const LARGE: u32 = 1 << 20; // a copy of that size is not kept for smaller ones

let copy: usize = 0;
let room: u32 = 0;
/**
 * A trim under way: what is before `read` has been copied to what is before `write`, or was cut.
 *
 *   |read u32|write u32|
 */
@unmanaged
class TrimProgress {
  read: usize;
  write: usize;
}

const progress: TrimProgress = changetype<TrimProgress>(memory.data(8, 8));

function roomFor(bytes: u32): bool {
  if (bytes <= room && (room < LARGE || bytes >= LARGE)) return true;
  if (room != 0) blockFree(copy, room);
  room = 0;
  copy = blockAlloc(bytes);
  if (copy == 0) return false;
  room = blockSize(bytes);
  return true;
}

function cut(from: usize, to: usize): void {
  const bytes = from - progress.read;
  memory.copy(progress.write, progress.read, bytes);
  progress.write += bytes;
  progress.read = to;
}

function fateOf(node: usize, name: usize, bytes: u32): u32 {
  let entry = node + offsetof<TrimNode>();
  for (let left = changetype<TrimNode>(node).entries; left != 0; left--) {
    const length = changetype<TrimEntry>(entry).bytes;
    if (length == bytes && sameName(name, entry + offsetof<TrimEntry>(), bytes)) {
      return changetype<TrimEntry>(entry).fate;
    }
    entry += offsetof<TrimEntry>() + ((length + 3) & ~3);
  }
  return changetype<TrimNode>(node).othersGo == 0 ? FATE_STAYS : FATE_GOES;
}

/** Trims the value at `p` by a node; answers where it ends, or 0: the host has to do it. */
function trimValue(tree: usize, node: usize, p: usize, depth: u32): usize {
  const c = <u32>load<u8>(p);
  if ((c | 0x20) != 0x7b) return skipAny(p);
  if (depth == DEEPEST) return 0;
  const inside = p + 1;
  p = skipSpaces(inside);
  if (c == 0x5b) {
    while (load<u8>(p) != 0x5d) {
      p = trimValue(tree, node, p, depth + 1);
      if (p == 0) return 0;
      p = skipSpaces(p);
      if (load<u8>(p) == 0x2c) p = skipSpaces(p + 1);
    }
    return p + 1;
  }
  let kept = false;
  let pending = false; // all members so far go: the comma behind them goes too
  let previousEnd = inside;
  while (load<u8>(p) != 0x7d) {
    const start = p;
    const end = skipPlainText(p + 1);
    if (end == 0) return 0;
    const fate = fateOf(node, p + 1, <u32>(end - start) - 1);
    p = skipSpaces(skipSpaces(end + 1) + 1);
    if (fate == FATE_GOES) {
      p = skipAny(p);
      if (kept) cut(previousEnd, p);
      else pending = true;
    } else {
      if (pending) cut(inside, start);
      pending = false;
      kept = true;
      p = fate == FATE_STAYS ? skipAny(p) : trimValue(tree, tree + fate, p, depth + 1);
      if (p == 0) return 0;
    }
    previousEnd = p;
    p = skipSpaces(p);
    if (load<u8>(p) == 0x2c) p = skipSpaces(p + 1);
  }
  if (pending) cut(inside, p);
  return p + 1;
}

/**
 * Trims the object scanned last, which was regular. 0: there was nothing to cut. 1: the results of
 * the scan are now those of a trimmed copy, which lies where it is until the next call. FALLBACK:
 * the host decodes and trims the object; those results are no longer good. NO_MEMORY.
 */
export function trimScanned(tree: usize): i32 {
  // A copy that is trimmed further stays where it is: what is written never overtakes what is read.
  const start = report.objectStart;
  if (start != copy && !roomFor(<u32>(report.objectEnd - start) + SLACK)) return NO_MEMORY;
  progress.read = start;
  progress.write = copy;
  const end = trimValue(tree, tree, start, 0);
  if (end == 0) return FALLBACK;
  if (progress.read == start) return 0;
  cut(end, end);
  scanLimit(progress.write);
  scanObject(copy, 0);
  return isRegular() ? 1 : FALLBACK;
}
