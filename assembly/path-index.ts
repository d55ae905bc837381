// Indexes an object by the bytes of its document, without strings.
//
// Raw loads: the lengths of a path's names (path.ts).

import { NOTHING, NO_MEMORY, SLOT_FLAG } from "./abi";
import { Index, indexBegin, indexCommit, indexPush, indexPutSlot, indexValues } from "./indices";
import { intern } from "./keys";
import { objectAt } from "./unpack";
import { PathValue, VALUE_BYTES, nextName, pathList, pathValues } from "./path";
import { Table } from "./record";
import { METADATA, indexIn, namedIn, shapeCount } from "./shapes";
import { Objects, StoredObject, jsonOf, spanAt, spansOf } from "./stored";
import { readBytes, readJoined } from "./text-bytes";

/** The slot of a value that pathValues has found, in the table of an index's values. */
@inline
function internValue(table: Table, value: PathValue): i32 {
  const name = value.name;
  const content = value.content;
  const bytes = value.contentBytes;
  const key = name == 0
    ? readBytes(table, content, bytes)
    : readJoined(table, name, value.nameBytes, 0x3d, content, bytes);
  return intern(table, key);
}

/**
 * Lists an object under the values that its document has at a path, and no others. `from` to `end`:
 * where the first `skipped` names of the path have led. Answers as indexCommit; NO_MEMORY: then
 * indexAbort; FALLBACK: nothing was changed, decode that part and list its values.
 */
export function indexByPath(
  index: Index, slot: u32, path: usize, skipped: u32, from: usize, end: usize,
): i32 {
  const found = pathValues(path, skipped, from, end);
  return found < 0 ? found : listFound(index, slot, found);
}

/** Lists an object under the values that stand in the list of path.ts. */
function listFound(index: Index, slot: u32, found: i32): i32 {
  if (!indexBegin(found)) return NO_MEMORY;
  const table = indexValues(index);
  let value = pathList();
  if (found == 1) {
    // Nearly all objects have one value, and it is mostly the one they had.
    const only = internValue(table, changetype<PathValue>(value));
    if (only < 0) return only;
    const answer = indexPutSlot(index, slot, only);
    if (answer != NOTHING) return answer < 0 ? answer : <i32>((answer & SLOT_FLAG) != 0);
  }
  for (let i = 0; i < found; i++, value += VALUE_BYTES) {
    const known = internValue(table, changetype<PathValue>(value));
    if (known < 0) return known;
    indexPush(index, known);
  }
  return indexCommit(index, slot);
}

/**
 * The index, among the members of a version and then those of its metadata, of the one that the
 * first name of a path leads to, or the first two where the first is metadata; -1: there is none.
 */
function memberIndex(stored: StoredObject, path: usize): i32 {
  const top = <u32>stored.topShape;
  const name = path + 4;
  const member = namedIn(top, name + 4, load<u32>(name));
  if (member < 0 || load<u32>(path) == 1 || member != indexIn(top, METADATA)) return member;
  const second = nextName(name);
  const inner = namedIn(<u32>stored.metaShape, second + 4, load<u32>(second));
  return inner < 0 ? inner : inner + shapeCount(top);
}

/**
 * The same for a version of an object (objects.ts), whose members' places are known. `orEmpty`: an
 * object without a value is listed under the empty one, as objects without a namespace are.
 */
export function objectIndex(
  objects: Objects, version: u32, index: Index, slot: u32, path: usize, orEmpty: bool,
): i32 {
  const stored = objectAt(objects, version);
  const member = memberIndex(stored, path);
  let found = 0;
  if (member >= 0) {
    const span = spanAt(spansOf(stored), member);
    const json = jsonOf(stored);
    const names: u32 = <u32>member < shapeCount(<u32>stored.topShape) ? 1 : 2;
    found = pathValues(path, names, json + span.start, json + span.end);
    if (found < 0) return found;
  }
  if (found == 0 && orEmpty) {
    memory.fill(pathList(), 0, VALUE_BYTES);
    found = 1;
  }
  return listFound(index, slot, found);
}
