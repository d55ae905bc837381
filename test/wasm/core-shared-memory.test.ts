/**
 * Queues share an instance of the core, and its memory. One of them that fills it took every queue
 * and limiter that was made after it with it, as those were made in the same instance.
 */
import {
  DelayingQueue,
  FakeClock,
  ItemExponentialFailureRateLimiter,
  WorkQueue,
} from 'capstan/workqueue';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Core, sharedCore } from '../../bindings/wasm/core.ts';
import { HASHINGS, setHashing } from '../../bindings/wasm/hashes.ts';
import { expectError } from '../helpers/expect-error.ts';
import { drain } from '../helpers/workqueue/queue-items.ts';

const coreOf = (queue: unknown): Core => (queue as { core: Core }).core;

/**
 * Adds keys until there is no memory; returns those that were added. Most of the memory is one
 * block that is never written, so that the host need not provide it.
 */
function fill(queue: WorkQueue): string[] {
  const { exports: x } = coreOf(queue);
  x.slotsBlock(2 ** 26);
  x.memoryLimit(x.memoryPages());
  const keys: string[] = [];
  for (;;) {
    const key = `key-${keys.length}-${'x'.repeat(50)}`;
    try {
      queue.add(key);
    } catch (error) {
      expect(error).toMatchObject({ code: 'OUT_OF_MEMORY' });
      return keys;
    }
    keys.push(key);
  }
}

describe.each(HASHINGS)('keys by %s: where one queue fills the memory', (hashing) => {
  beforeEach(() => setHashing(hashing));
  afterEach(() => setHashing(undefined));

  test('queues and limiters that are made later have room', () => {
    const full = new WorkQueue();
    const keys = fill(full);
    const later = new WorkQueue();
    const limiter = new ItemExponentialFailureRateLimiter(5, 1_000);
    expect(coreOf(later)).not.toBe(coreOf(full));
    for (let i = 0; i < 5_000; i++) {
      later.add(`later-${i}-${'y'.repeat(50)}`);
      limiter.when(`later-${i}-${'y'.repeat(50)}`);
    }
    expect(later.len()).toBe(5_000);
    expect(drain(full)).toEqual(keys);
  });

  test('the queues beside it keep their keys and refuse new ones until there is room', () => {
    const clock = new FakeClock();
    const other = new DelayingQueue({ clock });
    const full = new WorkQueue();
    expect(coreOf(other)).toBe(coreOf(full));
    other.addAll(['a', 'b']);
    other.addAfter('late', 100);
    expect(other.tryGet()).toBe('a');
    fill(full);
    other.add('a');
    other.done('a');
    clock.step(100);
    let refused = '';
    expectError(() => {
      for (let i = 0; i < 5_000; i++) {
        refused = `new-${i}-${'z'.repeat(50)}`;
        other.add(refused);
      }
    }, 'OUT_OF_MEMORY');
    expect(drain(other).filter((key) => !key.startsWith('new-'))).toEqual(['b', 'a', 'late']);
    full.dispose();
    other.add(refused);
    expect(drain(other)).toEqual([refused]);
    other.shutDown();
  });
});

test('an instance with 256 MiB takes no more queues, one with less does', () => {
  const large = new WorkQueue();
  coreOf(large).exports.slotsBlock(2 ** 24);
  expect(coreOf(new WorkQueue())).toBe(coreOf(large));
  coreOf(large).exports.slotsBlock(2 ** 26);
  expect(coreOf(new WorkQueue())).not.toBe(coreOf(large));
  expect(sharedCore()).not.toBe(coreOf(large));
  large.add('a');
  expect(drain(large)).toEqual(['a']);
});
