// What the last scan found, for the host: u32 words in static memory, addresses into the bytes of
// the stream. 0: not there.
//
//   0 type of event       4 value start   8 failure        12 resourceVersion start
//   1 event has an object 5 value end     9 failure at     13 resourceVersion end
//   2 plain               6 name start   10 object start   14 version that was staged
//   3 escaped names       7 name end     11 object end     15 its shapes
//                                                          18 namespace start    20 name start
//                                                          19 namespace end      21 name end
//
// An object is plain when it can be kept as it is: regular, and of the expected kind.

import { NO_MEMORY } from "./record";
import { Objects, objectAt, shapesOf } from "./objects";
import { objectStage } from "./stage";
import { failure, failureAt } from "./json";
import { TYPE_OTHER, eventType, hasEscapedNames, hasObject, isExpected, isRegular, metaValue, objectEnd, objectStart } from "./scan";
import { Member, NAME, NAMESPACE, RESOURCE_VERSION } from "./shapes";
import { Stream, eventNext, nameEnd, nameStart, streamTake, VALUE, valueEnd, valueStart } from "./stream";

const words: usize = memory.data(4 * 32, 16);

@inline
function span(at: usize, member: Member | null): void {
  store<usize>(words + at, member === null ? 0 : member.value);
  store<usize>(words + at, member === null ? 0 : member.valueEnd, 4);
}

/** Writes it down; answers where. */
export function scanReport(): usize {
  store<u32>(words, eventType);
  store<u32>(words, <u32>hasObject, 4);
  const plain = isRegular() && isExpected();
  store<u32>(words, <u32>plain, 8);
  store<u32>(words, <u32>hasEscapedNames(), 12);
  store<u32>(words, <u32>valueStart, 16);
  store<u32>(words, <u32>valueEnd, 20);
  store<u32>(words, <u32>nameStart, 24);
  store<u32>(words, <u32>nameEnd, 28);
  store<u32>(words, failure, 32);
  store<u32>(words, <u32>failureAt, 36);
  store<u32>(words, <u32>objectStart, 40);
  store<u32>(words, <u32>objectEnd, 44);
  if (plain) {
    span(48, metaValue(RESOURCE_VERSION));
    span(72, metaValue(NAMESPACE));
    span(80, metaValue(NAME));
  }
  return words;
}

/** Of eventStage, beside what eventNext answers. */
const STAGED: i32 = 6;
const NOT_STAGED: i32 = -4; // there is no memory for it; the event is still there

/**
 * As eventNext. An addition, update or deletion with a plain object in it is staged and taken at
 * once: one call an event instead of five. Of the report, only its type, its resourceVersion and
 * what was staged stand then.
 */
export function eventStage(stream: Stream, objects: Objects): i32 {
  const code = eventNext(stream);
  if (code != VALUE || !hasObject || eventType == TYPE_OTHER || hasEscapedNames() || !isRegular() || !isExpected()) return code;
  const version = objectStage(objects);
  if (version == NO_MEMORY) return NOT_STAGED;
  store<u32>(words, eventType);
  span(48, metaValue(RESOURCE_VERSION));
  store<u32>(words, <u32>version, 56);
  store<u32>(words, shapesOf(objectAt(objects, <u32>version)), 60);
  streamTake(stream);
  return STAGED;
}
