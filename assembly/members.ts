// The members of an object inside of a version, found when one of them is first read: which names
// in which order (shapes.ts), and where their values lie. So an object that is read at one place is
// not decoded whole.
//
//   spans   of each member |start u32|end u32|, offsets from the first byte of the version's JSON,
//           seven bits to a byte, so that the host can read them as text
//
// Raw loads: bytes of the text.

import { NO_SHAPE } from "./abi";
import { objectAt } from "./unpack";
import { Objects, jsonOf, spanAt } from "./stored";
import { MOST_MEMBERS, isOdd, memberAt, nestedShapeOf } from "./shapes";
import { skipAny, skipSpaces, skipText } from "./skip";

const CLOSE_BRACE: u32 = 0x7d;
const TOO_FAR: u32 = 1 << 28;

const names: usize = memory.data(64 << 4, 16);
const spans: usize = memory.data(64 << 3, 16);

/** Where objectMembers writes the spans of the members that it found last. */
export function membersSpans(): usize {
  return spans;
}

@inline
function spread(offset: u32): u32 {
  return (
    (offset & 0x7f) | ((offset & 0x3f80) << 1) | ((offset & 0x1fc000) << 2) |
    ((offset & 0xfe00000) << 3)
  );
}

/** The shape of the object at an offset of a version's JSON, or NO_SHAPE: decode it whole. */
export function objectMembers(objects: Objects, version: u32, from: u32): u32 {
  const json = jsonOf(objectAt(objects, version));
  let count: u32 = 0;
  let p = skipSpaces(json + from + 1);
  if (<u32>load<u8>(p) == CLOSE_BRACE) return NO_SHAPE;
  while (true) {
    if (count == MOST_MEMBERS) return NO_SHAPE;
    const name = memberAt(names, count);
    name.name = p + 1;
    p = skipText(p + 1);
    name.nameEnd = p;
    p = skipSpaces(skipSpaces(p + 1) + 1); // over the colon
    const start = <u32>(p - json);
    p = skipAny(p);
    const end = <u32>(p - json);
    if (end >= TOO_FAR) return NO_SHAPE;
    const span = spanAt(spans, count++);
    span.start = spread(start);
    span.end = spread(end);
    p = skipSpaces(p);
    if (<u32>load<u8>(p) == CLOSE_BRACE) break;
    p = skipSpaces(p + 1);
  }
  const shape = nestedShapeOf(names, count);
  return shape == NO_SHAPE || isOdd(shape) ? NO_SHAPE : shape;
}
