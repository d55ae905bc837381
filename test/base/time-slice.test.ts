/** A time slice ends a loop's turn after 2.5 ms, and seldom reads the clock in short steps. */
import { describe, expect, test } from 'vitest';
import { type Clock, macrotask, systemClock } from '../../bindings/base/clock.ts';
import { type IsOver, inTurns, type Steps, TimeSlice } from '../../bindings/base/wait.ts';
import { expectRejection } from '../helpers/expect-error.ts';

const SLICE_MS = 2.5;

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
  test('is over after 2.5 ms, at the exact step if steps are long', () => {
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
    expect([step(1.3), step(1.3)]).toEqual([false, true]);
    slice.start();
    expect([step(1.3), step(1.1), step(0.1)]).toEqual([false, false, true]);
  });
});

describe('work in turns', () => {
  /** Steps of 5 ms, and how many were made. */
  function work(count: number) {
    let now = 0;
    let made = 0;
    let isEnded = false;
    const clock: Clock = { now: () => now, setTimer: () => undefined, clearTimer: () => undefined };
    function* steps(isOver: IsOver): Steps<string> {
      try {
        for (; made < count; made++) {
          if (made === 7) throw new Error('boom');
          now += 5;
          if (isOver()) yield;
        }
        return 'done';
      } finally {
        isEnded = true;
      }
    }
    const run = (signal?: AbortSignal) => inTurns(steps, 'the work', signal, clock);
    return { run, made: () => made, isEnded: () => isEnded };
  }

  test('ends in its own turn if it is short', async () => {
    const { run } = work(0);
    let turned = false;
    void macrotask().then(() => {
      turned = true;
    });
    expect(await run()).toBe('done');
    expect(turned).toBe(false);
  });

  test('yields after each slice, and gives its result', async () => {
    const { run, made } = work(5);
    const running = run();
    expect(made()).toBe(0);
    await macrotask();
    expect(made()).toBeLessThan(5);
    expect(await running).toBe('done');
    expect(made()).toBe(5);
  });

  test('rejects with what a step throws, and with ABORTED between two steps', async () => {
    await expect(work(9).run()).rejects.toThrow('boom');
    const { run, isEnded, made } = work(5);
    const controller = new AbortController();
    const running = run(controller.signal);
    await macrotask();
    controller.abort();
    await expectRejection(running, 'ABORTED');
    expect([isEnded(), made() < 5]).toEqual([true, true]);
    await expectRejection(work(5).run(AbortSignal.abort()), 'ABORTED');
  });

  test('shares no turn with other work', async () => {
    let turn = 0;
    let isOver = false;
    const turns = (async () => {
      for (; !isOver; turn++) await macrotask();
    })();
    const spin = (ms: number): void => {
      for (const end = performance.now() + ms; performance.now() < end; );
    };
    const seen = await Promise.all(
      [0, 1, 2].map(async () => {
        const slice = new TimeSlice(systemClock);
        const ended: number[] = [];
        for (let i = 0; i < 12; i++) {
          spin(1);
          if (!slice.over()) continue;
          ended.push(turn);
          await slice.yield();
        }
        return ended.slice(1); // all begin in the same one
      }),
    );
    isOver = true;
    await turns;
    const all = seen.flat();
    expect(all.length).toBeGreaterThan(2);
    expect(new Set(all).size).toBe(all.length);
  });
});
