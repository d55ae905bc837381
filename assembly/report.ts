// What the last scan found, for the host: u32 words in static memory, by the names in abi.ts.

import {
  ESCAPED_NAMES, EVENT_TYPE, FAILURE, FAILURE_AT, HAS_OBJECT, META_NAME, META_NAMESPACE, NAME_END,
  NAME_START, NOT_STAGED, NO_MEMORY, OBJECT_END, OBJECT_START, PLAIN, STAGED, STAGED_OBJECT,
  STAGED_SHAPES, TYPE_OTHER, VALUE, VALUE_END, VALUE_START, VERSION_START,
} from "./abi";
import { Objects, objectAt, shapesOf } from "./objects";
import { objectStage } from "./stage";
import { failure, failureAt } from "./json";
import {
  eventType, hasEscapedNames, hasObject, isExpected, isRegular, metaValue, objectEnd, objectStart,
} from "./scan";
import { Member, NAME, NAMESPACE, RESOURCE_VERSION } from "./shapes";
import { Stream, eventNext, nameEnd, nameStart, streamTake, valueEnd, valueStart } from "./stream";
import { setWord } from "./memory";

const words: usize = memory.data(4 * 32, 16);

@inline
function span(first: u32, member: Member | null): void {
  setWord(words, first, member === null ? 0 : <u32>member.value);
  setWord(words, first + 1, member === null ? 0 : <u32>member.valueEnd);
}

/** Writes it down; answers where. */
export function scanReport(): usize {
  setWord(words, EVENT_TYPE, eventType);
  setWord(words, HAS_OBJECT, <u32>hasObject);
  const plain = isRegular() && isExpected();
  setWord(words, PLAIN, <u32>plain);
  setWord(words, ESCAPED_NAMES, <u32>hasEscapedNames());
  setWord(words, VALUE_START, <u32>valueStart);
  setWord(words, VALUE_END, <u32>valueEnd);
  setWord(words, NAME_START, <u32>nameStart);
  setWord(words, NAME_END, <u32>nameEnd);
  setWord(words, FAILURE, failure);
  setWord(words, FAILURE_AT, <u32>failureAt);
  setWord(words, OBJECT_START, <u32>objectStart);
  setWord(words, OBJECT_END, <u32>objectEnd);
  if (plain) {
    span(VERSION_START, metaValue(RESOURCE_VERSION));
    span(META_NAMESPACE, metaValue(NAMESPACE));
    span(META_NAME, metaValue(NAME));
  }
  return words;
}

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
  setWord(words, EVENT_TYPE, eventType);
  span(VERSION_START, metaValue(RESOURCE_VERSION));
  setWord(words, STAGED_OBJECT, <u32>version);
  setWord(words, STAGED_SHAPES, shapesOf(objectAt(objects, <u32>version)));
  streamTake(stream);
  return STAGED;
}
