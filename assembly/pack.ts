// Packs versions: one that is like another is kept as its difference (difference.ts) from a base. A
// Pod of a Deployment differs from the next one in a tenth of its bytes.
//
// A version is packed when it is made, or never. Its base is that of its family (families.ts): of
// the versions with the same owner or, if it is the first of these, of all with the same names of
// members. Only packed versions have references to a base; it is freed with the last of them. The
// base of an owner may be packed itself, against one of names, which is not packed. So a version is
// restored in two steps at most, and a base is never handed out, replaced or counted.
//
// The first version of an owner does not become the base of the version that replaces it: it would
// be kept for that one alone.
//
// A version that is not like the base of its family is a miss. After 4, 8, 16 … misses the last one
// becomes the base; from 16 on, one version of 16 is tried. So objects that share nothing cost
// little.
//
// Raw loads: bytes of the owners.

import { IS_ASCII, IS_PACKED, NO_MEMORY } from "./abi";
import { arenaAlloc, arenaAt, arenaSetOwner } from "./arena";
import { BEHIND, MOST_TEXT, checkOf, differ, putNumber, putWords } from "./difference";
import {
  Family, familiesReady, familyOf, join, memberOf, missesOf, setMisses, tagOf,
} from "./families";
import { headAt, imageOf, imagesReady, objectAt } from "./unpack";
import { giveNumber, placedVersion, takeNumber } from "./objects";
import { report } from "./report";
import { metaValue } from "./scan";
import { OWNER_REFERENCES } from "./shapes";
import {
  IS_BASE, IS_COUNTED, Image, KEPT_FLAGS, Objects, Packed, StoredObject, TAG_SHIFT,
  jsonOf, shapesOf, spanCount, spansOf,
} from "./stored";

/** Of packImage: the version is not like the base. */
export const UNLIKE: i32 = -100;

const LEAST_BYTES: u32 = 192; // of a version: shorter ones gain nothing
const MOST_VERSIONS: u32 = 0xfffff0; // families know no more
const TRIED_AFTER: u32 = 16; // misses: from there on, one of as many is tried
const TAG: u32 = 0xffffff00; // mask

const PACKED_HEAD: u32 = <u32>offsetof<Packed>();
const packed: usize = memory.data(24 + (32 << 10) + 64, 16); // the version that is being packed
let tries: u32 = 0;

/**
 * How the object that was scanned last is to be kept.
 *
 *   |base u32|family u32|owners u32|isFirst u32|joins u32|
 */
@unmanaged
class Plan {
  base: u32; // it may be like this one
  family: u32; // hash of the base's family
  owners: u32; // hash of the family of its owners
  isFirst: bool; // the family of its owners has no other version
  joins: u32; // hash of the family that it joins where it is kept whole; 0: none
}

const plan: Plan = changetype<Plan>(memory.data(20, 16));

/**
 * From now on versions are packed once `from` of them were made, as few have little to share; 0:
 * none is packed.
 */
export function objectsPack(objects: Objects, from: u32): void {
  objects.packsFrom = from;
}

/** The family of all versions with the names of members of the object scanned last. */
function scannedShapes(): u32 {
  const shapes = (<u32>report.metaShape << 16) | <u32>report.topShape;
  return <u32>((<u64>(shapes + 1) * 0x9e3779b97f4a7c15) >> 32);
}

/** The family of those that have the same owners too; that of scannedShapes if there is none. */
function scannedOwners(): u32 {
  const shapes = scannedShapes();
  const owners = metaValue(OWNER_REFERENCES);
  if (owners === null) return shapes;
  let p = owners.value;
  const end = owners.valueEnd;
  let hash: u64 = shapes;
  for (; p + 8 <= end; p += 8) {
    hash = (hash ^ load<u64>(p)) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  }
  for (; p < end; p++) hash = (hash ^ load<u8>(p)) * 0x100000001b3;
  return <u32>((hash * 0xc2b2ae3d27d4eb4f) >> 32);
}

/** Whether the object that was scanned last may be packed, as a version of `bytes` bytes. */
export function mayPack(objects: Objects, bytes: u32): bool {
  plan.joins = 0;
  const from = objects.packsFrom, versions = objects.versions;
  if (from == 0 || versions + 1 < from || versions >= MOST_VERSIONS) return false;
  if (bytes < LEAST_BYTES || bytes > MOST_TEXT - BEHIND) return false;
  if (!familiesReady(objects) || !imagesReady(objects, bytes)) return false;
  const owners = scannedOwners(), shapes = scannedShapes();
  let family = familyOf(objects, owners);
  let base = baseOf(objects, family);
  plan.owners = owners;
  plan.isFirst = base < 0;
  if (base < 0 && owners != shapes) {
    family = familyOf(objects, shapes);
    base = baseOf(objects, family);
  }
  if (base < 0) {
    plan.joins = shapes;
    return false;
  }
  plan.base = base;
  plan.family = family.hash;
  if (missesOf(family) < TRIED_AFTER || (++tries & (TRIED_AFTER - 1)) == 0) return true;
  if (plan.isFirst) plan.joins = owners;
  return false;
}

/**
 * Packs what was written to an image, after mayPack. Answers the number of the version, with one
 * reference; UNLIKE or NO_MEMORY.
 */
export function packImage(objects: Objects, image: Image): i32 {
  const end = differenceOf(objects, imageOf(objects, image));
  const family = familyOf(objects, plan.family);
  const misses = missesOf(family);
  if (end == 0) {
    setMisses(family, misses + 1);
    if (misses >= 3 && misses < 255 && (misses & (misses + 1)) == 0) plan.joins = plan.family;
    else if (plan.isFirst) plan.joins = plan.owners;
    return UNLIKE;
  }
  const bytes = <u32>(end - packed);
  const number = placedVersion(objects, bytes);
  if (number < 0) return NO_MEMORY;
  if (misses != 0) setMisses(family, misses >> 1);
  memory.copy(changetype<usize>(headAt(objects, number)), packed, bytes);
  headAt(objects, plan.base).references++;
  image.version = number + 1;
  if (plan.isFirst) join(objects, plan.owners, number);
  return number;
}

/** After mayPack: the object that was scanned last is kept whole as this version. */
export function packKept(objects: Objects, version: u32): void {
  const hash = plan.joins;
  if (hash == 0) return;
  headAt(objects, version).flags |= tagOf(hash) << TAG_SHIFT;
  join(objects, hash, version);
}

/** Writes the head and the difference of the spans; answers where they end. */
function putHead(stored: StoredObject, base: u32, baseStored: StoredObject, flags: u32): usize {
  const to = changetype<Packed>(packed);
  const words = spanCount(stored) << 1;
  to.length = stored.length;
  to.topShape = stored.topShape;
  to.metaShape = stored.metaShape;
  to.references = 1;
  to.flags = flags | IS_PACKED;
  to.base = base;
  to.check = checkOf(spansOf(stored), (words << 2) + stored.length) ^ (flags & IS_ASCII);
  return putWords(spansOf(baseStored), spansOf(stored), words, packed + PACKED_HEAD);
}

/** Packs a version against the base of the plan; answers where it ends. 0: they are not alike. */
function differenceOf(objects: Objects, stored: StoredObject): usize {
  const base = plan.base;
  const baseStored = objectAt(objects, base);
  if (shapesOf(baseStored) != shapesOf(stored)) return 0;
  const bytes = <u32>offsetof<StoredObject>() + (spanCount(stored) << 3) + stored.length;
  const flags = (stored.flags & KEPT_FLAGS) | (tagOf(plan.owners) << TAG_SHIFT);
  const start = putHead(stored, base, baseStored, flags);
  const before = <u32>(start - packed), most = bytes - (bytes >> 2);
  if (before >= most) return 0;
  return differ(
    jsonOf(baseStored), baseStored.length, base + 1, jsonOf(stored), stored.length, start,
    most - before,
  );
}

/** The base of a family; a first version becomes the base here. -1: it has none. */
function baseOf(objects: Objects, family: Family): i32 {
  const member = memberOf(objects, family);
  if (member < 0 || (headAt(objects, member).flags & IS_BASE) != 0) return member;
  if (member == report.known) return -1;
  const hash = family.hash;
  const base = promote(objects, member, hash);
  if (base >= 0) join(objects, hash, base);
  return base;
}

/**
 * Makes a base of the content of a version, which is packed against that base from then on. Answers
 * the number of the base, or -1: no memory, and nothing has changed.
 */
function promote(objects: Objects, version: u32, hash: u32): i32 {
  const number = takeNumber(objects);
  if (number < 0) return -1;
  const stored = objectAt(objects, version), head = headAt(objects, version);
  const flags = head.flags, references = head.references;
  const kept = flags & (KEPT_FLAGS | IS_COUNTED | TAG);
  const end = putNumber(putHead(stored, number, stored, kept), stored.length);
  changetype<Packed>(packed).references = references;
  if (!arenaSetOwner(objects.arena, changetype<usize>(head), number)) {
    giveNumber(objects, number);
    return -1;
  }
  const bytes = <u32>(end - packed);
  const to = arenaAlloc(objects.arena, bytes, version);
  if (to == 0) {
    arenaSetOwner(objects.arena, arenaAt(objects.arena, number), version); // it has an entry
    giveNumber(objects, number);
    return -1;
  }
  memory.copy(to, packed, bytes);
  const base = headAt(objects, number);
  base.references = 1;
  base.flags =
    (flags & (IS_ASCII | IS_PACKED | IS_COUNTED)) | IS_BASE | (tagOf(hash) << TAG_SHIFT);
  return number;
}
