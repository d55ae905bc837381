/**
 * Loops that hold the event loop for a slice at most, and look at the clock no more often than
 * their steps are worth.
 */
import { describe, expect, test } from 'vitest';
import type { Clock } from '../../bindings/base/clock.ts';
import { TimeSlice } from '../../bindings/base/wait.ts';

const SLICE_MS = 4;

/** A clock that counts who looks at it, and steps of so many milliseconds each. */
function loop() {
  let now = 0;
  let looks = 0;
  const clock: Clock = {
    now() {
      looks++;
      return now;
    },
    setTimer: () => undefined,
    clearTimer: () => undefined,
  };
  const slice = new TimeSlice(clock);
  const step = (ms: number): boolean => {
    now += ms;
    return slice.over();
  };
  return { slice, step, looks: () => looks };
}

describe('a time slice', () => {
  test('is over after 4 ms, seen at the very step where steps take long', () => {
    for (const ms of [0.3, 1, 3.9, 4, 100]) {
      const { step } = loop();
      let steps = 1;
      while (!step(ms)) steps++;
      expect(steps).toBe(Math.ceil(SLICE_MS / ms));
    }
  });

  test('looks at the clock at each eighth step where steps take microseconds', () => {
    const { step, looks } = loop();
    for (let i = 0; i < 800; i++) step(0.001);
    expect(looks()).toBeLessThan(110);
  });

  test('is over at most 8 steps late when steps become long without a warning, and at once from then on', () => {
    const { slice, step } = loop();
    for (let i = 0; i < 1000; i++) step(0.0001);
    slice.start();
    let late = 1;
    while (!step(5)) late++;
    expect(late).toBeLessThanOrEqual(8);
    for (let i = 0; i < 20; i++) {
      slice.start();
      expect(step(5)).toBe(true);
    }
  });

  test('begins anew with start', () => {
    const { slice, step } = loop();
    expect([step(2), step(2)]).toEqual([false, true]);
    slice.start();
    expect([step(2), step(1.9), step(0.1)]).toEqual([false, false, true]);
  });
});
