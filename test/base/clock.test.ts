/**
 * bindings/base/clock.ts: the order in which a FakeClock fires timers, and the cost of many timers.
 */
import { DelayingQueue } from 'capstan/workqueue';
import { describe, expect, test, vi } from 'vitest';
import {
  type Clock,
  FakeClock,
  requireClock,
  systemClock,
  wallNowOf,
} from '../../bindings/base/clock.ts';
import { growth, STEEP } from '../helpers/growth.ts';
import { Random, testSeed } from '../helpers/random.ts';

const seed = testSeed();
console.log(`test/base/clock.test.ts: CAPSTAN_SEED=${seed}`);

describe('FakeClock', () => {
  test('fires timers by time, equal times in the order of setting', () => {
    const random = new Random(seed);
    const clock = new FakeClock();
    const model = new Map<unknown, { at: number; id: number }>();
    const fired: number[] = [];
    const expected: number[] = [];
    let ids = 0;
    const set = (): void => {
      const id = ids++;
      const after = random.int(20);
      const timer = clock.setTimer(() => {
        // The timer with the earliest time; the list is in the order of setting.
        const all = [...model].filter(([, { at }]) => at <= clock.now());
        const [next, { id: due }] = all.reduce((least, one) =>
          one[1].at < least[1].at ? one : least,
        ) as [unknown, { id: number }];
        expected.push(due);
        fired.push(id);
        model.delete(next);
        if (random.chance(0.3)) set();
        if (random.chance(0.3)) clear();
      }, after);
      model.set(timer, { at: clock.now() + after, id });
    };
    const clear = (): void => {
      if (model.size === 0) return;
      const timer = random.pick([...model.keys()]);
      model.delete(timer);
      clock.clearTimer(timer);
      clock.clearTimer(timer);
    };
    for (let i = 0; i < 5_000; i++) {
      const choice = random.next();
      if (choice < 0.6) set();
      else if (choice < 0.85) clear();
      else clock.step(random.int(8));
      expect(clock.timers(), `seed ${seed}, change ${i}`).toBe(model.size);
      for (const { at } of model.values())
        if (at < clock.now()) expect.fail(`seed ${seed}, change ${i}: not fired`);
    }
    expect(fired, `seed ${seed}`).toEqual(expected);
    expect(fired.length).toBeGreaterThan(500);
  });

  test('has a time of day, which moves with it and starts where the test says', async () => {
    const times = (clock: FakeClock) => [clock.now(), clock.wallNow()];
    const start = Date.UTC(2026, 0, 5);
    expect(times(new FakeClock())).toEqual([0, Date.UTC(2000, 0, 1)]);
    expect(times(new FakeClock(0))).toEqual([0, 0]);
    expect(times(new FakeClock(start))).toEqual([start, start]);
    const clock = new FakeClock(5, start);
    expect(times(clock)).toEqual([5, start]);
    clock.step(10);
    await clock.run(0.5);
    expect(times(clock)).toEqual([15.5, start + 10.5]);
    expect(wallNowOf(clock)()).toBe(start + 10.5);
    expect(() => new FakeClock(0, Number.NaN)).toThrow('"wallStartMs" expected milliseconds');
    expect(() => new FakeClock(Number.NaN)).toThrow('"startMs" expected a finite number');
  });

  // A week with one delayed item settled at each of 60 480 heartbeats of the queue: four seconds.
  test('does not wait for heartbeats at which nothing is due', async () => {
    const clock = new FakeClock();
    const queue = new DelayingQueue({ clock });
    const settle = vi.spyOn(clock, 'settle');
    queue.addAfter('a', 3_600_000);
    await clock.run(3_599_999);
    expect([queue.len(), settle.mock.calls.length]).toEqual([0, 1]);
    await clock.run(1);
    expect([queue.len(), settle.mock.calls.length]).toEqual([1, 3]);
    queue.shutDown();
  });

  test('a wallNow that is no function is refused', () => {
    const clock = { ...systemClock, wallNow: 7 } as unknown as Clock;
    expect(() => requireClock('options.clock', clock)).toThrow('"options.clock.wallNow" expected');
    expect(() => requireClock('options.clock', { ...clock, wallNow: undefined })).not.toThrow();
  });

  // Each fired timer was searched among all timers: a million that were due at once never ended.
  test.each([
    ['that fire in their order', (clock: FakeClock, i: number) => clock.setTimer(() => {}, i)],
    [
      'that fire in the opposite order',
      (clock: FakeClock, i: number) => clock.setTimer(() => {}, 1e6 - i),
    ],
    [
      'of which most are cleared',
      (clock: FakeClock, i: number) => {
        const timer = clock.setTimer(() => {}, i);
        if (i % 4 > 0) clock.clearTimer(timer);
      },
    ],
    [
      'that set another',
      (clock: FakeClock, i: number) => clock.setTimer(() => clock.setTimer(() => {}, i), i),
    ],
  ])('takes about the same time for each timer with many as with few: %s', async (_, set) => {
    const ratio = await growth(1_000, (timers) => () => {
      const clock = new FakeClock();
      clock.setTimer(() => {}, 2e6);
      for (let i = 0; i < timers; i++) set(clock, i);
      clock.step(1e6);
      expect(clock.timers()).toBeLessThanOrEqual(1 + timers);
      clock.step(1e6);
      expect(clock.timers()).toBe(0);
    });
    expect(ratio).toBeLessThan(STEEP);
  });
});
