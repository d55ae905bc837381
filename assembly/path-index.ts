// An object's values under an index, from the bytes of its document: no string is made of them.

import { GIVEN_BACK, indexBegin, indexCommit, indexPush, indexPutSlot, indexValues } from "./indices";
import { internRead } from "./keys";
import { V_META, V_SPANS, V_TOP, jsonOf, objectAt } from "./objects";
import { V_CONTENT, V_CONTENT_BYTES, V_NAME, V_NAME_BYTES, VALUE_BYTES, nextName, pathList, pathValues } from "./path";
import { NOTHING, NO_MEMORY } from "./record";
import { METADATA, indexIn, namedIn, shapeCount } from "./shapes";
import { readBytes, readJoined } from "./text-bytes";

/** The slot of a value that pathValues has found, in the table of an index's values. */
@inline
function internValue(table: usize, value: usize): i32 {
  const name = <usize>load<u32>(value, V_NAME);
  const content = <usize>load<u32>(value, V_CONTENT);
  const bytes = load<u32>(value, V_CONTENT_BYTES);
  const read = name == 0 ? readBytes(table, content, bytes) : readJoined(table, name, load<u32>(value, V_NAME_BYTES), 0x3d, content, bytes);
  return read ? internRead(table) : NO_MEMORY;
}

/**
 * Lists an object under the values that its document has at a path, and no others. `from` to `end`:
 * where the first `skipped` names of the path have led. Answers as indexCommit; NO_MEMORY: then
 * indexAbort; FALLBACK: nothing was changed, decode that part and list its values.
 */
export function indexByPath(index: usize, slot: u32, path: usize, skipped: u32, from: usize, end: usize): i32 {
  const found = pathValues(path, skipped, from, end);
  return found < 0 ? found : listFound(index, slot, found);
}

/** Lists an object under the values that stand in the list of path.ts. */
function listFound(index: usize, slot: u32, found: i32): i32 {
  if (!indexBegin(found)) return NO_MEMORY;
  const table = indexValues(index);
  let value = pathList();
  if (found == 1) {
    // Nearly all objects have one value, and it is mostly the one they had.
    const only = internValue(table, value);
    if (only < 0) return only;
    const answer = indexPutSlot(index, slot, only);
    if (answer != NOTHING) return answer < 0 ? answer : <i32>((answer & GIVEN_BACK) != 0);
  }
  for (let i = 0; i < found; i++, value += VALUE_BYTES) {
    const known = internValue(table, value);
    if (known < 0) return known;
    indexPush(index, known);
  }
  return indexCommit(index, slot);
}

/**
 * The span of the member of a version that the first names of a path lead to, and how many names
 * that are; 0: there is none.
 */
function memberSpan(at: usize, path: usize): usize {
  const top = <u32>load<u16>(at, V_TOP);
  const name = path + 4;
  skippedNames = 1;
  let member = namedIn(top, name + 4, load<u32>(name));
  if (member >= 0 && load<u32>(path) > 1 && member == indexIn(top, METADATA)) {
    const second = nextName(name);
    skippedNames = 2;
    member = namedIn(<u32>load<u16>(at, V_META), second + 4, load<u32>(second));
    if (member >= 0) member += shapeCount(top);
  }
  return member < 0 ? 0 : at + V_SPANS + (<usize>member << 3);
}

let skippedNames: u32 = 0;

/**
 * The same for a version of an object (objects.ts), whose members' places are known. `orEmpty`: an
 * object without a value is listed under the empty one, as objects without a namespace are.
 */
export function objectIndex(objects: usize, version: u32, index: usize, slot: u32, path: usize, orEmpty: bool): i32 {
  const at = objectAt(objects, version);
  const span = memberSpan(at, path);
  let found = 0;
  if (span != 0) {
    const json = jsonOf(at);
    found = pathValues(path, skippedNames, json + load<u32>(span), json + load<u32>(span, 4));
    if (found < 0) return found;
  }
  if (found == 0 && orEmpty) {
    memory.fill(pathList(), 0, VALUE_BYTES);
    found = 1;
  }
  return listFound(index, slot, found);
}
