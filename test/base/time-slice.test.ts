/** A time slice ends a loop's turn after 4 ms, and reads the clock rarely while steps are short. */
import { describe, expect, test } from 'vitest';
import type { Clock } from '../../bindings/base/clock.ts';
import { TimeSlice } from '../../bindings/base/wait.ts';

const SLICE_MS = 4;

/** A clock that counts its reads, and steps that take the given milliseconds. */
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
  test('is over after 4 ms, at the exact step if steps are long', () => {
    for (const ms of [0.3, 1, 3.9, 4, 100]) {
      const { step } = loop();
      let steps = 1;
      while (!step(ms)) steps++;
      expect(steps).toBe(Math.ceil(SLICE_MS / ms));
    }
  });

  test('reads the clock at each eighth step if steps take microseconds', () => {
    const { step, looks } = loop();
    for (let i = 0; i < 800; i++) step(0.001);
    expect(looks()).toBeLessThan(110);
  });

  test('ends at most 8 steps late when steps suddenly become long', () => {
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

  test('restarts with start', () => {
    const { slice, step } = loop();
    expect([step(2), step(2)]).toEqual([false, true]);
    slice.start();
    expect([step(2), step(1.9), step(0.1)]).toEqual([false, false, true]);
  });
});
