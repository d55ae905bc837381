// Families: versions that are like each other, as they have the same names of members and the same
// owner, or the same names alone. A family has a base, which its versions are packed against, or
// its first version, which becomes the base when a second one comes (pack.ts).
//
//   family   |hash u32|number + 1: 24 bits, misses: 8 bits|   open addressing, PROBES places
//
// A family is forgotten when another one needs its place, so that no choice of owners makes the
// search long; its versions stay as they are. A release of a version does not touch the table: a
// family whose version is gone stays until it gets another one or the table grows. Whether its
// version lives is seen in the version, whose flags have the upper bits of the family's hash.

import { headAt } from "./unpack";
import { blockAlloc, blockFree } from "./memory";
import { Objects, TAG_SHIFT } from "./stored";

/** Drawn at the top of the file. */
@unmanaged
export class Family {
  hash: u32;
  member: u32;
}

const FAMILY_SHIFT: u32 = 3;
const FEWEST: u32 = 128;
const MOST: u32 = 32 << 10; // to look through them all takes about a millisecond
const PROBES: u32 = 8;
const NUMBER: u32 = 0xffffff; // mask
const MISSES_SHIFT: u32 = 24;

@inline
function familyAt(block: usize, index: u32): Family {
  return changetype<Family>(block + (<usize>index << FAMILY_SHIFT));
}

export function tagOf(hash: u32): u32 {
  return hash >> TAG_SHIFT;
}

/** The number of a family's version, base or first; -1: it has none that lives. */
export function memberOf(objects: Objects, family: Family): i32 {
  const number = <i32>(family.member & NUMBER) - 1;
  if (number < 0) return -1;
  const head = headAt(objects, number);
  if (changetype<usize>(head) == 0 || head.references == 0) return -1;
  return head.flags >> TAG_SHIFT == tagOf(family.hash) ? number : -1;
}

/** How many versions were not like the base, less those since that were. */
@inline
export function missesOf(family: Family): u32 {
  return family.member >> MISSES_SHIFT;
}

@inline
export function setMisses(family: Family, misses: u32): void {
  family.member = (family.member & NUMBER) | (min(misses, 255) << MISSES_SHIFT);
}

/** The family of a hash, or a place for it. */
function placeOf(block: usize, room: u32, hash: u32): Family {
  for (let i: u32 = 0; i < PROBES; i++) {
    const family = familyAt(block, (hash + i) & (room - 1));
    if (family.member == 0) family.hash = hash;
    if (family.hash == hash) return family;
  }
  const taken = familyAt(block, hash & (room - 1));
  taken.hash = hash;
  taken.member = 0;
  return taken;
}

/** Makes room for more families, and drops those without a living version. False: no memory. */
export function familiesReady(objects: Objects): bool {
  const room = objects.familiesRoom;
  if (objects.familiesUsed < room >> 1 || room == MOST) return true;
  let living: u32 = 0;
  for (let i: u32 = 0; i < room; i++) {
    if (memberOf(objects, familyAt(objects.families, i)) >= 0) living++;
  }
  let wanted = FEWEST;
  while (wanted < living << 2 && wanted < MOST) wanted <<= 1;
  const block = blockAlloc(wanted << FAMILY_SHIFT);
  if (block == 0) return false;
  memory.fill(block, 0, wanted << FAMILY_SHIFT);
  for (let i: u32 = 0; i < room; i++) {
    const family = familyAt(objects.families, i);
    if (memberOf(objects, family) >= 0) {
      placeOf(block, wanted, family.hash).member = family.member;
    }
  }
  familiesFree(objects);
  objects.families = block;
  objects.familiesRoom = wanted;
  objects.familiesUsed = living;
  return true;
}

export function familiesFree(objects: Objects): void {
  if (objects.families != 0) blockFree(objects.families, objects.familiesRoom << FAMILY_SHIFT);
}

/** The family of a hash. A new one takes a place when it gets its member. */
@inline
export function familyOf(objects: Objects, hash: u32): Family {
  return placeOf(objects.families, objects.familiesRoom, hash);
}

/** Makes a version the family's. It has to have the family's tag. */
export function join(objects: Objects, hash: u32, number: u32): void {
  const family = familyOf(objects, hash);
  if (family.member == 0) objects.familiesUsed++;
  family.member = (family.member & ~NUMBER) | (number + 1);
}
