// Finds the values in bytes as they come from the network: the events of a watch, or the members
// and items of a list.
//
//   |taken … |start: the value under way … |end: bytes that have come|room
//
// Each value is scanned at once, as if all of it had come (a zero byte behind the last stops the
// scan). Where the bytes end too early, its end is then found by counting brackets, each byte once,
// and the value is scanned again. So a byte is checked twice at most, however the network cuts, and
// one event costs one pass. Line feeds have no meaning.
//
// Raw loads: bytes, words and SIMD registers of the text.

import {
  BAD, BAD_GRAMMAR, BAD_UTF8, END, ITEMS, MEMBER, MORE, NOT_AN_OBJECT, RAW, TOO_LONG, VALUE,
} from "./abi";
import { blockAlloc, blockFree, blockSize } from "./memory";
import {
  BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, COLON, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE, SHORT,
  fail, isSpace, setLenient, skipString, skipValue,
} from "./json";
import { report } from "./report";
import { scanEvent, scanLimit, scanObject } from "./scan";

const STREAM_BYTES: u32 = 64;

/**
 * A stream.
 *
 *   |block|room|start|end|counting|seen|depth|inString|limit|place|, each u32
 */
@unmanaged
export class Stream {
  block: usize; // of the bytes
  room: u32; // bytes the block has, less SLACK
  start: u32; // offset of the value under way
  end: u32; // offset behind the last byte
  counting: u32; // 1: the value has been tried and was not all there
  seen: u32; // offset: brackets are counted up to here
  depth: u32;
  inString: u32; // 0, 1 in a string, 2 behind a backslash in it
  limit: u32; // bytes that a value may have
  place: u32; // where in a list the next byte is, see below
}

const SLACK: u32 = 64; // for the zero byte, and what a scan reads behind it

const FIRST_ROOM: u32 = 16384 - SLACK;
const MOST_KEPT: u32 = 4 << 20; // for etcd's largest object, and a chunk behind it

/**
 * The block that a stream gave back, for the next one; 0: none. When memory is full there may be no
 * other of its size, and a cache that cannot read never receives the deletions that free memory.
 */
let spare: usize = 0;
let spareBytes: u32 = 0;

/** A stream of values of at most `limit` bytes each, or null when there is no memory. */
export function streamNew(limit: u32): Stream | null {
  const block = blockAlloc(STREAM_BYTES);
  if (block == 0) return null;
  if (spare == 0) {
    spareBytes = FIRST_ROOM + SLACK;
    spare = blockAlloc(spareBytes);
    if (spare == 0) {
      blockFree(block, STREAM_BYTES);
      return null;
    }
  }
  memory.fill(block, 0, STREAM_BYTES);
  const stream = changetype<Stream>(block);
  stream.block = spare;
  stream.room = spareBytes - SLACK;
  spare = 0;
  stream.limit = limit;
  return stream;
}

export function streamFree(stream: Stream): void {
  const block = stream.block;
  const bytes = stream.room + SLACK;
  if (spare == 0 && bytes <= MOST_KEPT) {
    spare = block;
    spareBytes = bytes;
  } else blockFree(block, bytes);
  blockFree(changetype<usize>(stream), STREAM_BYTES);
}

/** Where `bytes` more bytes are to be put, or 0 when there is no memory; then streamPushed. */
export function streamRoom(stream: Stream, bytes: u32): usize {
  const block = stream.block;
  const room = stream.room;
  const start = stream.start;
  const end = stream.end;
  if (<u64>end + bytes <= room) return block + end;
  const left = end - start;
  let target = block;
  if (<u64>left + bytes > room) {
    if (<u64>left + bytes > 0x7fff0000) return 0;
    const size = blockSize(max(left + bytes + SLACK, (room + SLACK) << 1));
    target = blockAlloc(size);
    if (target == 0) return 0;
    memory.copy(target, block + start, left);
    blockFree(block, room + SLACK);
    stream.block = target;
    stream.room = size - SLACK;
  } else memory.copy(target, block + start, left);
  stream.seen -= start;
  stream.start = 0;
  stream.end = left;
  return target + left;
}

export function streamPushed(stream: Stream, bytes: u32): void {
  const end = stream.end + bytes;
  stream.end = end;
  store<u8>(stream.block + end, 0);
}

/** Bytes that have come and belong to no complete value. */
export function streamPending(stream: Stream): u32 {
  return stream.end - stream.start;
}

/** To the first byte of what comes next; false when there is none. */
function skipSpaces(stream: Stream): bool {
  const block = stream.block;
  const end = stream.end;
  let start = stream.start;
  while (start < end && isSpace(<u32>load<u8>(block + start))) start++;
  stream.start = start;
  return start < end;
}

function take(stream: Stream, to: u32): void {
  const all = to == stream.end;
  stream.start = all ? 0 : to;
  if (all) stream.end = 0;
  stream.counting = 0;
}

/**
 * Counts brackets on, from where it left off. Answers where the value, an object or an array, ends;
 * 0: not all of it has come. 16 bytes at a time: the running parity of quotes tells what is inside
 * of strings; a block with a backslash is read byte by byte.
 */
function findEnd(stream: Stream): usize {
  const block = stream.block;
  const end = block + stream.end;
  let p = block + stream.seen;
  let depth = stream.depth;
  let inString = stream.inString;
  while (p < end) {
    if (p + 16 <= end && inString != 2) {
      const v = v128.load(p);
      if (!v128.any_true(i8x16.eq(v, i8x16.splat(0x5c)))) {
        let quotes = i8x16.bitmask(i8x16.eq(v, i8x16.splat(0x22)));
        quotes ^= quotes << 1;
        quotes ^= quotes << 2;
        quotes ^= quotes << 4;
        quotes ^= quotes << 8;
        if (inString != 0) quotes = ~quotes;
        quotes &= 0xffff;
        const folded = v128.or(v, i8x16.splat(0x20)); // [ and ] become { and }
        const opening = i8x16.bitmask(i8x16.eq(folded, i8x16.splat(0x7b))) & ~quotes;
        const closing = i8x16.bitmask(i8x16.eq(folded, i8x16.splat(0x7d))) & ~quotes;
        const closed = <u32>popcnt(closing);
        if (depth > closed) depth += <u32>popcnt(opening) - closed;
        else {
          let both = opening | closing;
          while (both != 0) {
            const bit = ctz(both);
            if (closing & (1 << bit)) {
              if (--depth == 0) return p + bit + 1;
            } else depth++;
            both &= both - 1;
          }
        }
        inString = quotes >> 15;
        p += 16;
        continue;
      }
    }
    const stop = min(p + 16, end);
    while (p < stop) {
      const c = <u32>load<u8>(p++);
      if (inString == 2) inString = 1;
      else if (inString == 1) {
        if (c == BACKSLASH) inString = 2;
        else if (c == QUOTE) inString = 0;
      } else if (c == QUOTE) inString = 1;
      else if (c == OPEN_BRACE || c == OPEN_BRACKET) depth++;
      else if (c == CLOSE_BRACE || c == CLOSE_BRACKET) {
        if (--depth == 0) return p;
      }
    }
  }
  stream.seen = <u32>(p - block);
  stream.depth = depth;
  stream.inString = inString;
  return 0;
}

const AN_EVENT: u32 = 0;
const AN_ITEM: u32 = 1;

@inline
function scan(what: u32, p: usize): usize {
  return what == AN_EVENT ? scanEvent(p) : scanObject(p, 2);
}

/**
 * The value at Stream.start, which begins with a brace. VALUE: it is checked, and lies from
 * valueStart to valueEnd of the report.
 */
function next(stream: Stream, what: u32): i32 {
  const limit = stream.limit;
  const block = stream.block;
  const start = block + stream.start;
  report.valueStart = start;
  scanLimit(block + stream.end);
  if (stream.counting == 0) {
    const end = scan(what, start);
    report.valueEnd = end;
    if (end != 0) return end - start > limit ? TOO_LONG : VALUE;
    if (report.failure != BAD_UTF8 && report.failureAt + SHORT < block + stream.end) return BAD;
    stream.counting = 1;
    stream.seen = stream.start;
    stream.depth = 0;
    stream.inString = 0;
  }
  const end = findEnd(stream);
  if (end == 0) return streamPending(stream) > limit ? TOO_LONG : MORE;
  report.valueEnd = end;
  if (end - start > limit) return TOO_LONG;
  const scanned = scan(what, start);
  if (scanned == 0 && report.failure == BAD_UTF8) return RAW;
  // Where brackets do not close in the order in which they opened, counting finds an end that
  // scanning does not.
  if (scanned != 0 && scanned != end) fail(BAD_GRAMMAR, end);
  return scanned == end ? VALUE : BAD;
}

/**
 * The next event of a watch: VALUE, MORE or what is wrong. After VALUE its bytes stay where they
 * are until streamTake.
 */
export function eventNext(stream: Stream): i32 {
  if (stream.counting == 0) {
    if (!skipSpaces(stream)) return MORE;
    if (load<u8>(stream.block + stream.start) != OPEN_BRACE) return NOT_AN_OBJECT;
  }
  return next(stream, AN_EVENT);
}

/** Takes the value found last out of the stream. */
export function streamTake(stream: Stream): void {
  take(stream, <u32>(report.valueEnd - stream.block));
}

// A list: { members, "items": [ objects ], members }

const BEFORE: u32 = 0;
const FIRST_MEMBER: u32 = 1; // or the closing brace
const AFTER_MEMBER: u32 = 2;
const NEXT_MEMBER: u32 = 3;
const FIRST_ITEM: u32 = 4; // or the closing bracket
const AFTER_ITEM: u32 = 5;
const NEXT_ITEM: u32 = 6;
const AFTER: u32 = 7;

/** The list has been read to its closing brace. */
export function listEnded(stream: Stream): bool {
  return stream.place == AFTER;
}

@inline
function goTo(stream: Stream, place: u32, taking: u32): void {
  stream.place = place;
  take(stream, stream.start + taking);
}

/** Whether a scan that failed may succeed when more bytes have come. */
@inline
function moreOrBad(end: usize): i32 {
  return report.failureAt + SHORT < end ? BAD : MORE;
}

function bad(at: usize): i32 {
  fail(BAD_GRAMMAR, at);
  return BAD;
}

/**
 * A member: its name, the colon and its value, all at once; a list's members but `items` are small.
 * The host decodes them.
 */
function member(stream: Stream): i32 {
  setLenient(true);
  const answer = scanMember(stream);
  setLenient(false);
  return answer;
}

function scanMember(stream: Stream): i32 {
  const block = stream.block;
  const end = block + stream.end;
  const start = block + stream.start;
  if (load<u8>(start) != QUOTE) return bad(start);
  const name = start + 1;
  report.nameStart = name;
  let p = skipString(name);
  if (p == 0) return moreOrBad(end);
  const nameBytes = <u32>(p - name) - 1;
  report.nameEnd = p - 1;
  while (p < end && isSpace(<u32>load<u8>(p))) p++;
  if (p == end) return MORE;
  if (load<u8>(p) != COLON) return bad(p);
  p++;
  while (p < end && isSpace(<u32>load<u8>(p))) p++;
  if (p == end) return MORE;
  if (
    load<u8>(p) == OPEN_BRACKET && nameBytes == 5 &&
    load<u32>(name) == 0x6d657469 && load<u8>(name, 4) == 0x73
  ) {
    goTo(stream, FIRST_ITEM, <u32>(p + 1 - start));
    return ITEMS;
  }
  report.valueStart = p;
  p = skipValue(p, 1);
  report.valueEnd = p;
  if (p == 0) {
    const answer = moreOrBad(end);
    return answer == MORE && <u32>(end - start) > stream.limit ? TOO_LONG : answer;
  }
  if (p == end) return MORE; // a number may go on
  stream.place = AFTER_MEMBER;
  return MEMBER;
}

/**
 * What comes next in a list: VALUE (an item) and MEMBER, each until streamTake; ITEMS, END, MORE or
 * what is wrong.
 */
export function listNext(stream: Stream): i32 {
  while (true) {
    const place = stream.place;
    if (stream.counting == 0 && !skipSpaces(stream)) return place == AFTER ? END : MORE;
    const at = stream.block + stream.start;
    const c = <u32>load<u8>(at);
    switch (place) {
      case BEFORE:
        if (c != OPEN_BRACE) return NOT_AN_OBJECT;
        goTo(stream, FIRST_MEMBER, 1);
        break;
      case AFTER_MEMBER:
        if (c == COMMA) goTo(stream, NEXT_MEMBER, 1);
        else if (c == CLOSE_BRACE) goTo(stream, AFTER, 1);
        else return bad(at);
        break;
      case AFTER_ITEM:
        if (c == COMMA) goTo(stream, NEXT_ITEM, 1);
        else if (c == CLOSE_BRACKET) goTo(stream, AFTER_MEMBER, 1);
        else return bad(at);
        break;
      case FIRST_MEMBER:
      case NEXT_MEMBER:
        if (c == CLOSE_BRACE && place == FIRST_MEMBER) {
          goTo(stream, AFTER, 1);
          break;
        }
        return member(stream);
      case FIRST_ITEM:
      case NEXT_ITEM: {
        if (c == CLOSE_BRACKET && place == FIRST_ITEM) {
          goTo(stream, AFTER_MEMBER, 1);
          break;
        }
        if (c != OPEN_BRACE) return NOT_AN_OBJECT;
        const answer = next(stream, AN_ITEM);
        if (answer == VALUE || answer == RAW) stream.place = AFTER_ITEM;
        return answer;
      }
      default:
        return bad(at);
    }
  }
}
