// Which parts of an object differ from those of the version that it will replace, by their bytes.
//
// Invariant: a bit that is off proves that the part has the same bytes. A bit that is on proves
// nothing.

import {
  CHANGED_ANNOTATIONS, CHANGED_DELETION, CHANGED_GENERATION, CHANGED_LABELS, CHANGED_METADATA,
  CHANGED_SPEC, CHANGED_STATUS, CHANGED_VERSION, MET_CHANGES, MET_OBJECT, MET_REFERENCES, NOTHING,
} from "./abi";
import { headAt, objectAt } from "./unpack";
import { objectOf, objectSlot, sameBytes } from "./objects";
import { Table } from "./record";
import {
  ANNOTATIONS, DELETION_TIMESTAMP, LABELS, MANAGED_FIELDS, METADATA_GENERATION, RESOURCE_VERSION,
  SPEC, STATUS, indexIn, shapeCount,
} from "./shapes";
import {
  ByteSpan, Objects, StoredObject, jsonOf, metaSpanOf, spanAt, spanOf, spansOf,
} from "./stored";

function spansDiffer(aJson: usize, a: ByteSpan | null, bJson: usize, b: ByteSpan | null): bool {
  if (a === null || b === null) return a != b;
  const length = a.end - a.start;
  return b.end - b.start != length || !sameBytes(aJson + a.start, bJson + b.start, length);
}

/** Whether a member of metadata differs, by its place in Shape.known. */
function memberDiffers(a: StoredObject, b: StoredObject, known: usize): bool {
  return spansDiffer(jsonOf(a), metaSpanOf(a, known), jsonOf(b), metaSpanOf(b, known));
}

/**
 * Whether any member of metadata differs but resourceVersion and managedFields. Members in another
 * order count as different.
 */
function metadataDiffers(a: StoredObject, aJson: usize, b: StoredObject, bJson: usize): bool {
  const shape = <u32>a.metaShape;
  if (<u32>b.metaShape != shape) return true;
  const version = indexIn(shape, RESOURCE_VERSION), managed = indexIn(shape, MANAGED_FIELDS);
  const aSpans = spansOf(a) + (<usize>shapeCount(<u32>a.topShape) << 3);
  const bSpans = spansOf(b) + (<usize>shapeCount(<u32>b.topShape) << 3);
  const count = <i32>shapeCount(shape);
  // Mostly no member changes its length: then everything but the version is compared in two pieces.
  if (version >= 0 && managed < 0 && sameBytes(aSpans, bSpans, <u32>count << 3)) {
    const from = spanAt(aSpans, 0).start, to = spanAt(aSpans, count - 1).end;
    const start = spanAt(aSpans, version).start, end = spanAt(aSpans, version).end;
    if (
      sameBytes(aJson + from, bJson + from, start - from) &&
      sameBytes(aJson + end, bJson + end, to - end)
    ) return false;
  }
  for (let i = 0; i < count; i++) {
    if (i == version || i == managed) continue;
    if (spansDiffer(aJson, spanAt(aSpans, i), bJson, spanAt(bSpans, i))) return true;
  }
  return false;
}

/**
 * What changed from one version to another; a bit that is off proves that the part has the same
 * bytes.
 */
function objectChanges(objects: Objects, from: u32, to: u32): u32 {
  if (from == to) return 0;
  const a = objectAt(objects, from), b = objectAt(objects, to);
  const aJson = jsonOf(a), bJson = jsonOf(b);
  let bits: u32 = 0;
  if (spansDiffer(aJson, spanOf(a, SPEC), bJson, spanOf(b, SPEC))) bits |= CHANGED_SPEC;
  if (spansDiffer(aJson, spanOf(a, STATUS), bJson, spanOf(b, STATUS))) bits |= CHANGED_STATUS;
  if (memberDiffers(a, b, RESOURCE_VERSION)) bits |= CHANGED_VERSION;
  if (!metadataDiffers(a, aJson, b, bJson)) return bits;
  bits |= CHANGED_METADATA;
  if (memberDiffers(a, b, METADATA_GENERATION)) bits |= CHANGED_GENERATION;
  if (memberDiffers(a, b, LABELS)) bits |= CHANGED_LABELS;
  if (memberDiffers(a, b, ANNOTATIONS)) bits |= CHANGED_ANNOTATIONS;
  if (memberDiffers(a, b, DELETION_TIMESTAMP)) bits |= CHANGED_DELETION;
  return bits;
}

/**
 * What objectMeet finds: the words MET_OBJECT, MET_CHANGES and MET_REFERENCES of abi.ts.
 *
 *   |object i32|changes u32|references u32|
 */
@unmanaged
class Met {
  object: i32;
  changes: u32;
  references: u32;
}

if (
  offsetof<Met>("object") != MET_OBJECT << 2 ||
  offsetof<Met>("changes") != MET_CHANGES << 2 ||
  offsetof<Met>("references") != MET_REFERENCES << 2
) ERROR("the words of Met in abi.ts are others");

const met: Met = changetype<Met>(memory.data(12, 16));

/** Where objectMeet writes the words MET_OBJECT, MET_CHANGES and MET_REFERENCES. */
export function objectMet(): usize {
  return changetype<usize>(met);
}

/** What a version will replace: its slot, as from objectSlot, and the words at objectMet. */
export function objectMeet(objects: Objects, version: u32, keys: Table): i32 {
  const slot = objectSlot(objects, version, keys, false);
  const old = slot < 0 ? NOTHING : objectOf(objects, <u32>slot);
  met.object = old;
  met.changes = old < 0 ? 0xffffffff : objectChanges(objects, <u32>old, version);
  met.references = old < 0 ? 0 : headAt(objects, <u32>old).references;
  return slot;
}
