// An object's values under an index, from the bytes of its document: no string is made of them.

import { indexBegin, indexCommit, indexPush, indexValues } from "./indices";
import { internRead } from "./keys";
import { VALUE_BYTES, pathList, pathValues } from "./path";
import { NO_MEMORY } from "./record";
import { readBytes, readJoined } from "./text-bytes";

/**
 * Lists an object under the values that its document has at a path, and no others. `from` to `end`: where the first `skipped` names of the path have led.
 * Answers as indexCommit; NO_MEMORY: then indexAbort; FALLBACK: nothing was changed, decode that part and list its values.
 */
export function indexByPath(index: usize, slot: u32, path: usize, skipped: u32, from: usize, end: usize): i32 {
  const found = pathValues(path, skipped, from, end);
  if (found < 0) return found;
  if (!indexBegin(found)) return NO_MEMORY;
  const table = indexValues(index);
  let value = pathList();
  for (let i = 0; i < found; i++, value += VALUE_BYTES) {
    const name = <usize>load<u32>(value);
    const content = <usize>load<u32>(value, 8);
    const bytes = load<u32>(value, 12);
    if (!(name == 0 ? readBytes(table, content, bytes) : readJoined(table, name, load<u32>(value, 4), 0x3d, content, bytes))) return NO_MEMORY;
    const known = internRead(table);
    if (known < 0) return NO_MEMORY;
    indexPush(index, known);
  }
  return indexCommit(index, slot);
}
