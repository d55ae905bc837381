// An object's values under an index, from the bytes of its document: no string is made of them.

import { NOTHING, NO_MEMORY, SLOT_FLAG } from "./abi";
import { Index, indexBegin, indexCommit, indexPush, indexPutSlot, indexValues } from "./indices";
import { internRead } from "./keys";
import { Objects, Span, StoredObject, jsonOf, objectAt, spanAt, spansOf } from "./objects";
import { PathValue, VALUE_BYTES, nextName, pathList, pathValues } from "./path";
import { Table } from "./record";
import { METADATA, indexIn, namedIn, shapeCount } from "./shapes";
import { readBytes, readJoined } from "./text-bytes";

/** The slot of a value that pathValues has found, in the table of an index's values. */
@inline
function internValue(table: Table, value: PathValue): i32 {
  const name = value.name;
  const content = value.content;
  const bytes = value.contentBytes;
  const read = name == 0 ? readBytes(table, content, bytes) : readJoined(table, name, value.nameBytes, 0x3d, content, bytes);
  return read ? internRead(table) : NO_MEMORY;
}

/**
 * Lists an object under the values that its document has at a path, and no others. `from` to `end`:
 * where the first `skipped` names of the path have led. Answers as indexCommit; NO_MEMORY: then
 * indexAbort; FALLBACK: nothing was changed, decode that part and list its values.
 */
export function indexByPath(index: Index, slot: u32, path: usize, skipped: u32, from: usize, end: usize): i32 {
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
 * The span of the member of a version that the first names of a path lead to, and how many names
 * that are; 0: there is none.
 */
function memberSpan(stored: StoredObject, path: usize): Span | null {
  const top = <u32>stored.topShape;
  const name = path + 4;
  skippedNames = 1;
  let member = namedIn(top, name + 4, load<u32>(name));
  if (member >= 0 && load<u32>(path) > 1 && member == indexIn(top, METADATA)) {
    const second = nextName(name);
    skippedNames = 2;
    member = namedIn(<u32>stored.metaShape, second + 4, load<u32>(second));
    if (member >= 0) member += shapeCount(top);
  }
  return member < 0 ? null : spanAt(spansOf(stored), member);
}

let skippedNames: u32 = 0;

/**
 * The same for a version of an object (objects.ts), whose members' places are known. `orEmpty`: an
 * object without a value is listed under the empty one, as objects without a namespace are.
 */
export function objectIndex(objects: Objects, version: u32, index: Index, slot: u32, path: usize, orEmpty: bool): i32 {
  const stored = objectAt(objects, version);
  const span = memberSpan(stored, path);
  let found = 0;
  if (span !== null) {
    const json = jsonOf(stored);
    found = pathValues(path, skippedNames, json + span.start, json + span.end);
    if (found < 0) return found;
  }
  if (found == 0 && orEmpty) {
    memory.fill(pathList(), 0, VALUE_BYTES);
    found = 1;
  }
  return listFound(index, slot, found);
}
