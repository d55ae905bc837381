// Failure counts per key. A limiter owns its table, as limiters are shared between queues, nested and used alone; what a
// count means in milliseconds is the host's arithmetic. A key has a record from its first failure until it is forgotten.

import { findRead, internRead, readKey, readPair, release } from "./keys";
import { K_FAILURES, NO_MEMORY, NOTHING, keyOf } from "./record";

@inline
function fail(table: usize, slot: u32): i32 {
  const key = keyOf(table, slot);
  const failures = load<u32>(key, K_FAILURES);
  if (failures < 0x7fffffff) store<u32>(key, failures + 1, K_FAILURES);
  return failures;
}

/** Counts a failure: how many there were before, or NO_MEMORY. */
export function limiterFail(table: usize, key: externref): i32 {
  if (!readKey(table, key)) return NO_MEMORY;
  const slot = internRead(table);
  return slot < 0 ? slot : fail(table, slot);
}

export function limiterFailPair(table: usize, first: externref, second: externref): i32 {
  if (!readPair(table, first, second)) return NO_MEMORY;
  const slot = internRead(table);
  return slot < 0 ? slot : fail(table, slot);
}

export function limiterFailSlot(table: usize, slot: u32): i32 {
  return fail(table, slot);
}

@inline
function forgetRead(table: usize): i32 {
  const slot = findRead(table);
  if (slot < 0) return slot;
  release(table, slot);
  return slot;
}

/** Drops the count: the slot that was given back, NOTHING when there was none, or NO_MEMORY. */
export function limiterForget(table: usize, key: externref): i32 {
  return readKey(table, key) ? forgetRead(table) : NO_MEMORY;
}

export function limiterForgetPair(table: usize, first: externref, second: externref): i32 {
  return readPair(table, first, second) ? forgetRead(table) : NO_MEMORY;
}

@inline
function countRead(table: usize): i32 {
  const slot = findRead(table);
  return slot == NOTHING ? 0 : load<u32>(keyOf(table, slot), K_FAILURES);
}

export function limiterCount(table: usize, key: externref): i32 {
  return readKey(table, key) ? countRead(table) : NO_MEMORY;
}

export function limiterCountPair(table: usize, first: externref, second: externref): i32 {
  return readPair(table, first, second) ? countRead(table) : NO_MEMORY;
}

export function limiterCountSlot(table: usize, slot: u32): i32 {
  return load<u32>(keyOf(table, slot), K_FAILURES);
}
