// Keeps the object that was scanned last as a version of a store.

import {
  INSIDE, IS_ASCII, NOTHING, NOT_STAGED, NO_MEMORY, OUTSIDE, STAGED, TYPE_OTHER, VALUE,
} from "./abi";
import { headAt, imageOf, objectAt, takeImage } from "./unpack";
import { newVersion, objectOf, objectRetain, sameBytes } from "./objects";
import { UNLIKE, mayPack, packImage, packKept } from "./pack";
import { scannedPlace } from "./ranges";
import { report } from "./report";
import { META, TOP, isExpected, isRegular, reportVersion } from "./scan";
import { API_VERSION, KIND, METADATA, indexIn, memberAt } from "./shapes";
import { Objects, StoredObject, jsonOf, shapesOf, spanAt, spansOf } from "./stored";
import { Stream, eventNext, streamTake } from "./stream";

/** An address in the scanned bytes as an offset in what is kept of them. */
@inline
function kept(address: u32): u32 {
  const offset = address - <u32>report.objectStart;
  return address >= <u32>report.cutEnd ? offset - <u32>(report.cutEnd - report.cutStart) : offset;
}

@inline
function storeSpans(to: usize, members: usize, count: u32): void {
  for (let i: u32 = 0; i < count; i++) {
    const member = memberAt(members, i);
    const span = spanAt(to, i);
    span.start = kept(<u32>member.value);
    span.end = kept(<u32>member.valueEnd);
  }
}

/** Writes the object scanned last as a version with `length` bytes of JSON. */
function write(stored: StoredObject, length: u32): void {
  const cutStart = report.cutStart, cutEnd = report.cutEnd;
  const start = report.objectStart, end = report.objectEnd;
  const topCount = report.topCount, metaCount = report.metaCount;
  stored.length = length;
  stored.topShape = report.topShape;
  stored.metaShape = report.metaShape;
  stored.references = 1;
  stored.flags = report.isAscii ? IS_ASCII : 0;
  const to = spansOf(stored);
  storeSpans(to, TOP, topCount);
  storeSpans(to + (topCount << 3), META, metaCount);
  const json = to + ((topCount + metaCount) << 3);
  if (cutStart == cutEnd) memory.copy(json, start, length);
  else {
    const head = cutStart - start;
    memory.copy(json, start, head);
    memory.copy(json + head, cutEnd, end - cutEnd);
  }
}

/**
 * Keeps the object scanned last as a version with one reference. It was regular. Answers its number
 * or NO_MEMORY.
 */
export function objectStage(objects: Objects): i32 {
  const length =
    <u32>(report.objectEnd - report.objectStart) - <u32>(report.cutEnd - report.cutStart);
  const spans = (report.topCount + report.metaCount) << 3;
  const bytes = <u32>offsetof<StoredObject>() + spans + length;
  let written: usize = 0;
  if (mayPack(objects, bytes)) {
    const image = takeImage(objects);
    const stored = imageOf(objects, image);
    write(stored, length);
    const packed = packImage(objects, image);
    if (packed != UNLIKE) return packed;
    written = changetype<usize>(stored);
  }
  const number = newVersion(objects, bytes);
  if (number < 0) return NO_MEMORY;
  const stored = headAt(objects, number);
  if (written == 0) write(stored, length);
  else memory.copy(changetype<usize>(stored), written, bytes);
  packKept(objects, number);
  return number;
}

/**
 * Whether only kind and apiVersion come before the metadata. Then objects of the expected kind that
 * have the same bytes from the metadata on are the same.
 */
function isHeaded(shape: u32): bool {
  // the index of an absent member is -1: as u32, larger than any
  const metadata = <u32>indexIn(shape, METADATA);
  const kind = <u32>indexIn(shape, KIND), apiVersion = <u32>indexIn(shape, API_VERSION);
  return metadata == <u32>(kind < metadata) + <u32>(apiVersion < metadata);
}

/** Whether a stored version is the same as the object scanned last. */
function isScanned(stored: StoredObject): bool {
  const shape = <u32>stored.topShape;
  let json = jsonOf(stored), start = report.objectStart;
  let left = stored.length;
  if (shape != report.topShape) {
    if (!isHeaded(shape) || !isHeaded(report.topShape)) return false;
    const skipped = spanAt(spansOf(stored), <u32>indexIn(shape, METADATA)).start;
    json += skipped;
    left -= skipped;
    start = memberAt(TOP, <u32>indexIn(report.topShape, METADATA)).value;
  }
  const cut = <u32>(report.cutEnd - report.cutStart);
  if (left != <u32>(report.objectEnd - start) - cut) return false;
  let length: u32 = cut == 0 ? left : <u32>(report.cutStart - start);
  while (sameBytes(json, start, length)) {
    left -= length;
    if (left == 0) return true;
    json += length;
    start = report.cutEnd;
    length = left;
  }
  return false;
}

/**
 * Retains the version of a slot if the object scanned last is the same; else stages the object. So
 * a list without changes adds no versions. Events have the kind and apiVersion that lists of
 * built-in kinds leave out, so that what is in front of the metadata is not compared.
 */
export function objectStageLike(objects: Objects, slot: i32): i32 {
  const current = slot < 0 ? NOTHING : objectOf(objects, <u32>slot);
  if (current >= 0 && isScanned(objectAt(objects, <u32>current))) {
    objectRetain(objects, <u32>current);
    return current;
  }
  return objectStage(objects);
}

/**
 * As eventNext. An addition, update or deletion with a plain object in it is staged and taken at
 * once: one call an event instead of five. One outside of the ranges is taken, not staged. Of the
 * report, only its type, its resourceVersion and what was staged are valid then.
 */
export function eventStage(stream: Stream, objects: Objects): i32 {
  const code = eventNext(stream);
  if (
    code != VALUE || report.hasObject == 0 || report.eventType == TYPE_OTHER ||
    report.escapedNames != 0 || !isRegular() || !isExpected()
  ) return code;
  const place = scannedPlace();
  if (place == INSIDE) {
    const version = objectStage(objects);
    if (version == NO_MEMORY) return NOT_STAGED;
    report.stagedObject = <u32>version;
    report.stagedShapes = shapesOf(headAt(objects, <u32>version));
  } else if (place != OUTSIDE) return code;
  reportVersion();
  streamTake(stream);
  return place == INSIDE ? STAGED : OUTSIDE;
}
