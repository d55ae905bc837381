// What the scan found last of a stream's value and of the object in it: a record in static memory,
// which stands until the next scan. The scanner's files write it; the host reads its first 14 words
// by their names in abi.ts (scanReport).
//
//   0          4          8          12          |16         20         24         28
//   |eventType |hasObject |plain     |escaped    |valueStart |valueEnd  |nameStart |nameEnd
//   |          |          |          |      Names|
//   32         36         40         44          |48         52
//   |failure   |failureAt |version   |version    |staged     |staged    |            for the host
//   |          |          |     Start|        End|     Object|    Shapes|
//   56         60         64         68          |72         76         80  82  84  85  86    88
//   |objectStart|objectEnd|cutStart |cutEnd      |topCount   |metaCount |shapes |flags |    |known
//                                                                                          internal

import {
  ESCAPED_NAMES, EVENT_TYPE, FAILURE, FAILURE_AT, HAS_OBJECT, NAME_END, NAME_START, NO_SHAPE, PLAIN,
  STAGED_OBJECT, STAGED_SHAPES, VALUE_END, VALUE_START, VERSION_END, VERSION_START,
} from "./abi";

/**
 * The report, drawn at the top of the file. Fields that begin or end something are addresses in the
 * bytes of the stream; 0: not there.
 */
@unmanaged
class Report {
  eventType: u32;
  hasObject: u32;
  plain: u32;
  escapedNames: u32; // a member's name has an escape in it: the host decodes the event
  valueStart: usize; // of the event, of the object, or of the member of a list
  valueEnd: usize;
  nameStart: usize; // of the member of a list
  nameEnd: usize;
  failure: u32;
  failureAt: usize;
  versionStart: usize;
  versionEnd: usize;
  stagedObject: u32;
  stagedShapes: u32;

  objectStart: usize;
  objectEnd: usize;
  // What is left out of the object: its managedFields with the comma beside them. Empty: nothing.
  cutStart: usize;
  cutEnd: usize;
  topCount: u32; // members at TOP
  metaCount: u32; // members at META
  topShape: u16;
  metaShape: u16;
  isAscii: bool; // all of the object
  beyondAscii: bool; // set by a character beyond ASCII in a string
  escaped: bool; // set by a backslash in a string
  known: i32; // the version that the store has of its key; -1: none
}

if (
  offsetof<Report>("eventType") != EVENT_TYPE << 2 ||
  offsetof<Report>("hasObject") != HAS_OBJECT << 2 ||
  offsetof<Report>("plain") != PLAIN << 2 ||
  offsetof<Report>("escapedNames") != ESCAPED_NAMES << 2 ||
  offsetof<Report>("valueStart") != VALUE_START << 2 ||
  offsetof<Report>("valueEnd") != VALUE_END << 2 ||
  offsetof<Report>("nameStart") != NAME_START << 2 ||
  offsetof<Report>("nameEnd") != NAME_END << 2 ||
  offsetof<Report>("failure") != FAILURE << 2 ||
  offsetof<Report>("failureAt") != FAILURE_AT << 2 ||
  offsetof<Report>("versionStart") != VERSION_START << 2 ||
  offsetof<Report>("versionEnd") != VERSION_END << 2 ||
  offsetof<Report>("stagedObject") != STAGED_OBJECT << 2 ||
  offsetof<Report>("stagedShapes") != STAGED_SHAPES << 2
) ERROR("the words of Report in abi.ts are others");

export const report: Report = changetype<Report>(memory.data(92, 16));
