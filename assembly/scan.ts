// Scans one object of a resource, or one watch event with an object in it: checks it to the last
// byte and finds its parts.
//
// Results stand in static memory until the next scan: in the report (report.ts), and the members of
// the object at TOP and of its metadata at META (shapes.ts). Addresses are into the bytes that were
// scanned. Of members named twice the last counts, as in JSON.parse; such an object, and any other
// whose members are no plain list, is odd: then the host decodes it whole.
//
// Raw loads: bytes and words of the text.

import {
  BAD_GRAMMAR, EXPECTED_ROOM, NOTHING, NO_SHAPE, TOO_DEEP, TYPE_ADDED, TYPE_DELETED, TYPE_MODIFIED,
  TYPE_OTHER,
} from "./abi";
import { endOfMatching } from "./match-known";
import {
  CLOSE_BRACE, COLON, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE, fail, isTooDeep, skipSpace,
  skipString, skipValue,
} from "./json";
import { Table } from "./record";
import { report } from "./report";
import { keysFindObject } from "./keys";
import { objectAt } from "./unpack";
import { objectOf, sameBytes } from "./objects";
import {
  API_VERSION, KIND, MOST_MEMBERS, Member, NAME, NAMESPACE, RESOURCE_VERSION, indexIn, isOdd,
  memberAt, shapeOf,
} from "./shapes";
import { Objects, StoredObject, isStoredAscii, jsonOf, storedMember } from "./stored";

export const TOP: usize = memory.data(64 << 4, 16);
export const META: usize = memory.data(64 << 4, 16);
let keepManaged = false;

/** Whether objects keep their metadata.managedFields. */
export function scanKeepManaged(keep: bool): void {
  keepManaged = keep;
}

@inline
function isMetadata(name: usize, length: usize): bool {
  return length == 8 && load<u64>(name) == 0x617461646174656d;
}

@inline
function isManagedFields(name: usize, length: usize): bool {
  return (
    length == 13 && load<u64>(name) == 0x46646567616e616d &&
    load<u64>(name, 5) == 0x73646c6569466465
  );
}

/** From behind a name's closing quote to the value. */
@inline
function toValue(p: usize): usize {
  if (load<u8>(p) != COLON) {
    p = skipSpace(p);
    if (load<u8>(p) != COLON) return fail(BAD_GRAMMAR, p);
  }
  return skipSpace(p + 1);
}

@inline
function setMember(
  members: usize, index: u32, name: usize, nameEnd: usize, value: usize, valueEnd: usize,
): void {
  const member = memberAt(members, index);
  member.name = name;
  member.nameEnd = nameEnd;
  member.value = value;
  member.valueEnd = valueEnd;
}

const MANAGED_ROOM: usize = 8192;
const managed: usize = memory.data(8192 + 16, 16); // the managedFields that were checked last
let managedBytes: usize = 0;
let managedAround: u32 = 0;

/**
 * Skips managedFields. They are cut out, so that no stored version has them: they are compared with
 * those of the object before, which often differ only in times and names.
 */
function skipManaged(value: usize, around: u32): usize {
  if (managedAround == around) {
    const end = endOfMatching(managed, managed + managedBytes, value, limit);
    if (end != 0) return end;
  }
  const end = skipValue(value, around);
  const bytes = end - value;
  const c = <u32>load<u8>(value);
  if (end == 0 || bytes > MANAGED_ROOM || (c != OPEN_BRACE && c != OPEN_BRACKET)) return end;
  memory.copy(managed, value, bytes);
  managedBytes = bytes;
  managedAround = around;
  return end;
}

function scanMetadata(p: usize, around: u32): usize {
  let count: u32 = 0;
  let cutStart: usize = 0;
  let cutEnd: usize = 0;
  let overflow = false; // more members than have room, or more cuts than one
  let previousEnd: usize = 0; // of the member before
  let pendingCut = false; // the cut member was the first: its comma is the one behind it
  p = skipSpace(p + 1);
  if (load<u8>(p) != CLOSE_BRACE)
    while (true) {
      if (load<u8>(p) != QUOTE) return fail(BAD_GRAMMAR, p);
      if (pendingCut) {
        cutEnd = p;
        pendingCut = false;
      }
      const name = p + 1;
      p = skipString(name);
      if (p == 0) return 0;
      const nameEnd = p - 1;
      const value = toValue(p);
      if (value == 0) return 0;
      const isCut = !keepManaged && isManagedFields(name, nameEnd - name);
      p = isCut ? skipManaged(value, around) : skipValue(value, around);
      if (p == 0) return 0;
      if (isCut) {
        if (cutEnd != 0) overflow = true;
        cutStart = previousEnd != 0 ? previousEnd : name - 1;
        cutEnd = p;
        pendingCut = previousEnd == 0;
      } else if (count < MOST_MEMBERS) setMember(META, count++, name, nameEnd, value, p);
      else overflow = true;
      previousEnd = p;
      p = skipSpace(p);
      const c = <u32>load<u8>(p);
      if (c == CLOSE_BRACE) break;
      if (c != COMMA) return fail(BAD_GRAMMAR, p);
      p = skipSpace(p + 1);
    }
  report.cutStart = cutStart;
  report.cutEnd = cutEnd;
  report.metaCount = count;
  report.metaShape = <u16>(overflow ? NO_SHAPE : shapeOf(META, count, report.metaShape));
  return p + 1;
}

let hintObjects: usize = 0;
let hintKeys: usize = 0;
/** Bytes from here on have not come yet. */
let limit: usize = 0;

/** The store whose objects are scanned, and its key table. */
export function scanHint(objects: usize, keys: usize): void {
  hintObjects = objects;
  hintKeys = keys;
}

/** Sets where the bytes end that a scan may read. */
export function scanLimit(end: usize): void {
  limit = end;
}

/** The slot that the object scanned last has in a key table, as from keysFind. */
export function scannedSlot(keys: Table): i32 {
  const name = changetype<Member>(metaValue(NAME));
  const namespace = metaValue(NAMESPACE);
  const nameAt = name.value + 1;
  const nameBytes = <u32>(name.valueEnd - nameAt) - 1;
  if (namespace === null) return keysFindObject(keys, 0, 0, nameAt, nameBytes);
  const namespaceAt = namespace.value + 1;
  const namespaceBytes = <u32>(namespace.valueEnd - namespaceAt) - 1;
  return keysFindObject(keys, namespaceAt, namespaceBytes, nameAt, nameBytes);
}

/**
 * The stored version of the key that was scanned last, or null. Bytes that are equal to it need no
 * check.
 */
function storedLike(objects: Objects, keys: Table): StoredObject | null {
  if (report.metaShape == NO_SHAPE || metaValue(NAME) === null || !isNamed()) return null;
  const slot = scannedSlot(keys);
  const version = slot < 0 ? NOTHING : objectOf(objects, <u32>slot);
  report.known = version;
  return version < 0 ? null : objectAt(objects, <u32>version);
}

/**
 * Where the value of a member ends that matches the one that the stored version has at the same
 * place. An update changes little, so that most of spec or status is compared (a hundredth of a
 * nanosecond a byte) and not checked again (four times that). 0: it has to be checked.
 */
@inline
function endLikeStored(
  stored: StoredObject, place: i32, name: usize, length: u32, value: usize,
): usize {
  const c = <u32>load<u8>(value);
  // the end of a number is not in its own bytes
  if (c != OPEN_BRACE && c != OPEN_BRACKET) return 0;
  const span = storedMember(stored, place, name, length);
  if (span === null) return 0;
  const json = jsonOf(stored);
  return endOfMatching(json + span.start, json + span.end, value, limit);
}

/** The object at `p`, which lies in `around` containers; answers where it ends, or 0. */
export function scanObject(p: usize, around: u32): usize {
  report.objectStart = p;
  report.beyondAscii = false;
  report.cutStart = 0;
  report.cutEnd = 0;
  report.metaCount = 0;
  report.known = NOTHING;
  let count: u32 = 0;
  let overflow = false; // more members than have room
  let hasMetadata = false;
  let metadata: u32 = 0; // its place
  let stored: StoredObject | null = null;
  if (isTooDeep(around + 1)) return fail(TOO_DEEP, p);
  p = skipSpace(p + 1);
  if (load<u8>(p) != CLOSE_BRACE)
    while (true) {
      if (load<u8>(p) != QUOTE) return fail(BAD_GRAMMAR, p);
      const name = p + 1;
      p = skipString(name);
      if (p == 0) return 0;
      const nameEnd = p - 1;
      const value = toValue(p);
      if (value == 0) return 0;
      if (load<u8>(value) == OPEN_BRACE && isMetadata(name, nameEnd - name)) {
        p = scanMetadata(value, around + 2);
        if (p == 0) return 0;
        hasMetadata = true;
        metadata = count;
        stored = hintObjects == 0
          ? null
          : storedLike(changetype<Objects>(hintObjects), changetype<Table>(hintKeys));
      } else {
        const end: usize = stored === null
          ? 0
          : endLikeStored(stored, <i32>(count - metadata), name, <u32>(nameEnd - name), value);
        if (end != 0) {
          p = end;
          if (stored !== null && !isStoredAscii(stored)) report.beyondAscii = true;
        } else {
          p = skipValue(value, around + 1);
          if (p == 0) return 0;
        }
      }
      if (count < MOST_MEMBERS) setMember(TOP, count++, name, nameEnd, value, p);
      else overflow = true;
      p = skipSpace(p);
      const c = <u32>load<u8>(p);
      if (c == CLOSE_BRACE) break;
      if (c != COMMA) return fail(BAD_GRAMMAR, p);
      p = skipSpace(p + 1);
    }
  p++;
  report.objectEnd = p;
  report.isAscii = !report.beyondAscii;
  report.topCount = count;
  report.topShape = <u16>(overflow ? NO_SHAPE : shapeOf(TOP, count, report.topShape));
  if (!hasMetadata) report.metaShape = <u16>NO_SHAPE;
  return p;
}

/** A member by name, or null. */
@inline
export function metaValue(known: usize): Member | null {
  const index = indexIn(report.metaShape, known);
  return index < 0 ? null : memberAt(META, <u32>index);
}

@inline
export function topValue(known: usize): Member | null {
  const index = indexIn(report.topShape, known);
  return index < 0 ? null : memberAt(TOP, <u32>index);
}

@inline
function isText(member: Member): bool {
  return load<u8>(member.value) == QUOTE;
}

/** Whether metadata has a name and perhaps a namespace, both strings. */
export function isNamed(): bool {
  const name = metaValue(NAME);
  if (name === null || !isText(name)) return false;
  const namespace = metaValue(NAMESPACE);
  return namespace === null || isText(namespace);
}

/**
 * Whether the object can be kept as it is: a plain list of members, with metadata that has a name
 * and perhaps a namespace, both strings. Otherwise the host decodes it whole and reports errors.
 */
export function isRegular(): bool {
  const top = report.topShape, meta = report.metaShape;
  return top != NO_SHAPE && meta != NO_SHAPE && !isOdd(top) && !isOdd(meta) && isNamed();
}

const expected: usize = memory.data(2048, 16); // apiVersion, then kind, as JSON strings
let apiVersionBytes: u32 = 0;
let kindBytes: u32 = 0;

/**
 * Room for the apiVersion and, behind EXPECTED_ROOM, the kind of the objects that are kept; then
 * scanExpect.
 */
export function scanExpected(): usize {
  return expected;
}

export function scanExpect(apiVersion: u32, kind: u32): void {
  apiVersionBytes = apiVersion;
  kindBytes = kind;
}

function isOrAbsent(member: Member | null, at: usize, bytes: u32): bool {
  if (member === null) return true;
  const start = member.value;
  return member.valueEnd - start == bytes && sameBytes(<usize>start, at, bytes);
}

/**
 * Whether a regular object is of the expected kind: apiVersion and kind are absent or, byte by
 * byte, those of scanExpect.
 */
export function isExpected(): bool {
  return (
    isOrAbsent(topValue(API_VERSION), expected, apiVersionBytes) &&
    isOrAbsent(topValue(KIND), expected + EXPECTED_ROOM, kindBytes)
  );
}

// A watch event

function typeOf(start: usize, end: usize): u32 {
  const length = end - start;
  const word = load<u64>(start);
  if (length == 7 && (word & 0xffffffffffffff) == 0x22444544444122) return TYPE_ADDED;
  if (length == 10 && word == 0x45494649444f4d22 && load<u8>(start, 8) == 0x44) {
    return TYPE_MODIFIED;
  }
  if (length == 9 && word == 0x444554454c454422) return TYPE_DELETED;
  return TYPE_OTHER;
}

/** The event at `p`; answers where it ends, or 0. */
export function scanEvent(p: usize): usize {
  report.eventType = TYPE_OTHER;
  report.hasObject = 0;
  report.escapedNames = 0;
  let type = TYPE_OTHER; // of the last `type`
  p = skipSpace(p + 1);
  if (load<u8>(p) == CLOSE_BRACE) return p + 1;
  while (true) {
    if (load<u8>(p) != QUOTE) return fail(BAD_GRAMMAR, p);
    const name = p + 1;
    report.escaped = false;
    p = skipString(name);
    if (p == 0) return 0;
    if (report.escaped) report.escapedNames = 1;
    const length = p - 1 - name;
    const value = toValue(p);
    if (value == 0) return 0;
    if (length == 6 && load<u32>(name) == 0x656a626f && load<u16>(name, 4) == 0x7463) {
      const hasObject = load<u8>(value) == OPEN_BRACE;
      report.hasObject = <u32>hasObject;
      p = hasObject ? scanObject(value, 1) : skipValue(value, 1);
    } else {
      p = skipValue(value, 1);
      if (length == 4 && load<u32>(name) == 0x65707974) type = typeOf(value, p);
    }
    if (p == 0) return 0;
    p = skipSpace(p);
    const c = <u32>load<u8>(p);
    if (c == CLOSE_BRACE) {
      report.eventType = type;
      return p + 1;
    }
    if (c != COMMA) return fail(BAD_GRAMMAR, p);
    p = skipSpace(p + 1);
  }
}

/** Completes the report of the last scan for the host. Answers where it is (report.ts). */
export function scanReport(): usize {
  const plain = isRegular() && isExpected();
  report.plain = <u32>plain;
  if (plain) reportVersion();
  return changetype<usize>(report);
}

/** Reports where the object's resourceVersion is. */
export function reportVersion(): void {
  const version = metaValue(RESOURCE_VERSION);
  report.versionStart = version === null ? 0 : version.value;
  report.versionEnd = version === null ? 0 : version.valueEnd;
}
