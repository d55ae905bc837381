// Finds the bytes of a version, and unpacks it where it is packed (pack.ts): it is restored into an
// image, a buffer of the store. The last IMAGES that were read stay. A new version that may be
// packed is written to an image first.
//
// Invariants:
// - an address that objectAt answers is good until the next call that may need memory, or until
//   IMAGES - 2 other packed versions have been read;
// - to restore a version needs no memory: imagesReady comes before a version is packed;
// - a restored version has the checksum of the packed one, or the call traps: it never has the
//   bytes of another version.
//
// Raw stores: both shapes in one word.

import { IS_ASCII, IS_PACKED } from "./abi";
import { arenaAt } from "./arena";
import { BEHIND, checkOf, restore, takeWords } from "./difference";
import { blockAlloc, blockFree, blockSize } from "./memory";
import {
  IMAGES, IS_BASE, Image, KEPT_FLAGS, Objects, Packed, StoredObject, imageAt, jsonOf,
  shapesOf, spanCount, spansOf,
} from "./stored";

const SMALLEST_ROOM: u32 = 4 << 10;

/** Makes room for images of `bytes` bytes. False: no memory, and nothing has changed. */
export function imagesReady(objects: Objects, bytes: u32): bool {
  const room = objects.imageRoom;
  if (bytes + BEHIND <= room) return true;
  const larger = blockSize(max(bytes + BEHIND, SMALLEST_ROOM));
  const block = blockAlloc(larger * IMAGES);
  if (block == 0) return false;
  imagesFree(objects);
  objects.images = block;
  objects.imageRoom = larger;
  for (let i: u32 = 0; i < IMAGES; i++) imageAt(objects, i).version = 0;
  return true;
}

export function imagesFree(objects: Objects): void {
  if (objects.images != 0) blockFree(objects.images, objects.imageRoom * IMAGES);
}

/** Called when a version is freed. */
export function imageForget(objects: Objects, version: u32): void {
  for (let i: u32 = 0; i < IMAGES; i++) {
    const image = imageAt(objects, i);
    if (image.version == version + 1) image.version = 0;
  }
}

/** The least recently read image, to be written; it has no version yet. */
export function takeImage(objects: Objects): Image {
  let oldest = imageAt(objects, 0);
  for (let i: u32 = 1; i < IMAGES; i++) {
    const image = imageAt(objects, i);
    if (image.used < oldest.used) oldest = image;
  }
  oldest.version = 0;
  oldest.used = ++objects.imageUses;
  return oldest;
}

/** Where an image lies. */
export function imageOf(objects: Objects, image: Image): StoredObject {
  const index = (changetype<usize>(image) - changetype<usize>(imageAt(objects, 0))) >> 4;
  return changetype<StoredObject>(objects.images + <usize>objects.imageRoom * index);
}

/** Length, shapes, references and flags of a version; not its bytes, as it may be packed. */
@inline
export function headAt(objects: Objects, version: u32): StoredObject {
  return changetype<StoredObject>(arenaAt(objects.arena, version));
}

/** headAt for the host. */
export function objectHead(objects: Objects, version: u32): usize {
  return changetype<usize>(headAt(objects, version));
}

/**
 * Where a version lies until the next call that may need memory. Its references and its mark are
 * those of headAt.
 */
export function objectAt(objects: Objects, version: u32): StoredObject {
  const head = headAt(objects, version);
  return (head.flags & IS_PACKED) == 0 ? head : restored(objects, version, head);
}

function restored(objects: Objects, version: u32, head: StoredObject): StoredObject {
  for (let i: u32 = 0; i < IMAGES; i++) {
    const image = imageAt(objects, i);
    if (image.version != version + 1) continue;
    image.used = ++objects.imageUses;
    return imageOf(objects, image);
  }
  const packed = changetype<Packed>(head);
  const baseHead = headAt(objects, packed.base);
  if (changetype<usize>(baseHead) == 0 || (baseHead.flags & IS_BASE) == 0) unreachable();
  // The base of a base is plain.
  if ((head.flags & IS_BASE) != 0 && (baseHead.flags & IS_PACKED) != 0) unreachable();
  const base = objectAt(objects, packed.base); // read last: takeImage gives another image
  const image = takeImage(objects);
  const at = imageOf(objects, image);
  const bytes = head.length;
  at.length = bytes;
  store<u32>(changetype<usize>(at), shapesOf(head), offsetof<StoredObject>("topShape"));
  at.flags = head.flags & KEPT_FLAGS;
  const words = spanCount(at) << 1;
  const room = objects.imageRoom - <u32>offsetof<StoredObject>() - (words << 2) - BEHIND;
  if (bytes > room || spanCount(base) << 1 != words) unreachable();
  const difference = takeWords(
    spansOf(base), spansOf(at), words, changetype<usize>(packed) + offsetof<Packed>(),
  );
  restore(difference, jsonOf(base), jsonOf(at), bytes);
  const check = checkOf(spansOf(at), (words << 2) + bytes) ^ (at.flags & IS_ASCII);
  if (check != packed.check) unreachable();
  image.version = version + 1;
  return at;
}
