// What the last scan found, for the host: u32 words in static memory, addresses into the bytes of the stream. 0: not there.
//
//   0 type of event       4 value start   8 failure        12 resourceVersion start
//   1 event has an object 5 value end     9 failure at     13 resourceVersion end
//   2 regular             6 name start   10 object start   14 apiVersion start   16 kind start
//   3 escaped names       7 name end     11 object end     15 apiVersion end     17 kind end
//                                                          18 namespace start    20 name start
//                                                          19 namespace end      21 name end

import { failure, failureAt } from "./json";
import { eventType, hasEscapedNames, hasObject, isRegular, metaValue, objectEnd, objectStart, topValue } from "./scan";
import { API_VERSION, KIND, M_VALUE, M_VALUE_END, NAME, NAMESPACE, RESOURCE_VERSION } from "./shapes";
import { nameEnd, nameStart, valueEnd, valueStart } from "./stream";

const words: usize = memory.data(4 * 32, 16);

@inline
function span(at: usize, member: usize): void {
  store<u32>(words + at, member == 0 ? 0 : load<u32>(member, M_VALUE));
  store<u32>(words + at, member == 0 ? 0 : load<u32>(member, M_VALUE_END), 4);
}

/** Writes it down; answers where. */
export function scanReport(): usize {
  store<u32>(words, eventType);
  store<u32>(words, <u32>hasObject, 4);
  const regular = isRegular();
  store<u32>(words, <u32>regular, 8);
  store<u32>(words, <u32>hasEscapedNames(), 12);
  store<u32>(words, <u32>valueStart, 16);
  store<u32>(words, <u32>valueEnd, 20);
  store<u32>(words, <u32>nameStart, 24);
  store<u32>(words, <u32>nameEnd, 28);
  store<u32>(words, failure, 32);
  store<u32>(words, <u32>failureAt, 36);
  store<u32>(words, <u32>objectStart, 40);
  store<u32>(words, <u32>objectEnd, 44);
  if (regular) {
    span(48, metaValue(RESOURCE_VERSION));
    span(56, topValue(API_VERSION));
    span(64, topValue(KIND));
    span(72, metaValue(NAMESPACE));
    span(80, metaValue(NAME));
  }
  return words;
}
