/** The behaviour of the limiters, for any implementation. */
import {
  BucketRateLimiter,
  defaultControllerRateLimiter,
  defaultItemBasedRateLimiter,
  FakeClock,
  ItemExponentialFailureRateLimiter,
  ItemFastSlowRateLimiter,
  MaxOfRateLimiter,
  type RateLimiter,
  type Request,
  requestKey,
  WithMaxWaitRateLimiter,
} from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { expectError, invalidArgument } from '../../helpers/expect-error.ts';
import { isCollected } from '../../helpers/garbage-collection.ts';
import { distinctKeys, distinctRequests } from '../../helpers/workqueue/hostile-keys.ts';
import type { Implementation } from '../../helpers/workqueue/implementations.ts';

const many = <T>(limiter: RateLimiter<T>, item: T, count: number): number[] =>
  Array.from({ length: count }, () => limiter.when(item));

export function limiterCases({ name, within }: Implementation): void {
  describe(`ItemExponentialFailureRateLimiter (${name})`, () => {
    test('doubles from base to max, separately for each item', () => {
      const limiter = within(() => new ItemExponentialFailureRateLimiter(5, 70));
      expect(many(limiter, 'a', 6)).toEqual([5, 10, 20, 40, 70, 70]);
      expect(many(limiter, 'b', 2)).toEqual([5, 10]);
      expect([
        limiter.numRequeues('a'),
        limiter.numRequeues('b'),
        limiter.numRequeues('c'),
      ]).toEqual([6, 2, 0]);
      limiter.forget('a');
      limiter.forget('c');
      expect(limiter.numRequeues('a')).toBe(0);
      expect(many(limiter, 'a', 1)).toEqual([5]);
    });

    test('a thousand failures and far more stay at max', () => {
      const limiter = within(() => new ItemExponentialFailureRateLimiter(1, 1_000_000));
      expect(many(limiter, 'a', 5_000).at(-1)).toBe(1_000_000);
      expect(limiter.numRequeues('a')).toBe(5_000);
      const endless = within(
        () => new ItemExponentialFailureRateLimiter(1, Number.POSITIVE_INFINITY),
      );
      expect(many(endless, 'a', 5_000).at(-1)).toBe(Number.POSITIVE_INFINITY);
    });

    test('accepts what client-go accepts: base ≤ 0, base above max, max 0', () => {
      const zero = within(() => new ItemExponentialFailureRateLimiter(0, 1_000));
      expect(many(zero, 'a', 3)).toEqual([0, 0, 0]);
      expect(many(zero, 'a', 2_000).at(-1)).toBe(0);
      const negative = within(() => new ItemExponentialFailureRateLimiter(-1, 1_000));
      expect(many(negative, 'a', 2_000).at(-1)).toBe(Number.NEGATIVE_INFINITY);
      const above = within(() => new ItemExponentialFailureRateLimiter(1.5, 1));
      expect(many(above, 'a', 3)).toEqual([1, 1, 1]);
    });

    test('counts by key, requests by both parts, and distinguishes hostile keys', () => {
      const requests = within(
        () => new ItemExponentialFailureRateLimiter<Request>(1, 1e6, { key: requestKey }),
      );
      for (const request of distinctRequests) expect(requests.when({ ...request })).toBe(1);
      for (const request of distinctRequests) expect(requests.numRequeues({ ...request })).toBe(1);
      const strings = within(() => new ItemExponentialFailureRateLimiter(1, 1e6));
      for (const key of distinctKeys) expect(strings.when(key)).toBe(1);
      for (const key of distinctKeys) strings.forget(key);
      for (const key of distinctKeys) expect(strings.numRequeues(key)).toBe(0);
    });

    // A controller with `rateLimiter: new ItemExponentialFailureRateLimiter(5, 60_000)` was ready
    // and never reconciled: the limiter rejected its requests.
    test.each<[string, () => RateLimiter<Request>]>([
      ['exponential', () => new ItemExponentialFailureRateLimiter(5, 5)],
      ['fast and slow', () => new ItemFastSlowRateLimiter(5, 5, 1)],
      ['the longest of several', () => new MaxOfRateLimiter(new ItemFastSlowRateLimiter(5, 5, 1))],
      [
        'at most so long',
        () => new WithMaxWaitRateLimiter(new ItemExponentialFailureRateLimiter(7, 7), 5),
      ],
      ["a controller's default", () => defaultControllerRateLimiter({ clock: new FakeClock() })],
      [
        'by item',
        () => new WithMaxWaitRateLimiter(new MaxOfRateLimiter(defaultItemBasedRateLimiter()), 5),
      ],
    ])('without a key function counts requests, by both parts: %s', (_, make) => {
      const limiter = within(make);
      const [first, second] = [
        limiter.when({ namespace: 'a', name: 'b/c' }),
        limiter.when({ namespace: 'a/b', name: 'c' }),
      ];
      expect(second).toBe(first);
      for (const request of distinctRequests) limiter.forget(request);
      for (const request of distinctRequests) limiter.when({ ...request });
      for (const request of distinctRequests) expect(limiter.numRequeues({ ...request })).toBe(1);
      for (const request of distinctRequests) limiter.forget({ ...request });
      for (const request of distinctRequests) expect(limiter.numRequeues(request)).toBe(0);
    });

    test('reads a request again at each call, as its owner may change it', () => {
      const limiter = within(
        () => new ItemExponentialFailureRateLimiter<Request>(1, 1e6, { key: requestKey }),
      );
      const request = { namespace: 'a', name: 'b' };
      limiter.when(request);
      request.name = 'c';
      expect(limiter.numRequeues(request)).toBe(0);
      expect(limiter.when(request)).toBe(1);
      request.namespace = 'b';
      expect(limiter.numRequeues(request)).toBe(0);
      limiter.forget(request);
      request.namespace = 'a';
      expect(limiter.numRequeues(request)).toBe(1);
    });

    test('a key function that throws is a typed error, and other counts stay', () => {
      const cause = new Error('no key');
      const key = ({ id }: { id: string }): string => {
        if (id === '') throw cause;
        return id;
      };
      const limiter = within(
        () => new ItemExponentialFailureRateLimiter<{ id: string }>(1, 1e6, { key }),
      );
      limiter.when({ id: 'a' });
      for (const call of [limiter.when, limiter.numRequeues, limiter.forget]) {
        expect(expectError(() => call.call(limiter, { id: '' }), 'INVALID_ARGUMENT').cause).toBe(
          cause,
        );
      }
      expect(limiter.numRequeues({ id: 'a' })).toBe(1);
      limiter.forget({ id: 'a' });
      // also while nothing is counted
      expectError(() => limiter.forget({ id: '' }), 'INVALID_ARGUMENT');
    });

    test('keeps no item in memory, counted or forgotten', async () => {
      const limiter = within(
        () => new ItemExponentialFailureRateLimiter<{ id: string }>(1, 10, { key: ({ id }) => id }),
      );
      const ref = (() => {
        const item = { id: 'a' };
        limiter.when(item);
        limiter.forget(item);
        return new WeakRef(item);
      })();
      expect(await isCollected(ref)).toBe(true);
      expect(limiter.numRequeues({ id: 'a' })).toBe(0);
    });

    test.each([
      [Number.NaN, 10, 'base'],
      [5, Number.NaN, 'max'],
      [undefined, 10, 'base'],
      ['5', 10, 'base'],
      [5, null, 'max'],
    ])('base %s, max %s: a typed error names %s', (base, max, named) => {
      const make = () =>
        within(
          () => new ItemExponentialFailureRateLimiter(invalidArgument(base), invalidArgument(max)),
        );
      expectError(make, 'INVALID_ARGUMENT', new RegExp(named, 'i'));
    });

    // The same object in two clusters shared one back-off, because only two of the three parts were
    // compared.
    test('items with more members than a request need a key function', () => {
      const limiter = within(() => new ItemExponentialFailureRateLimiter<Request>(5, 10));
      const inCluster = { cluster: 'a', namespace: 'b', name: 'c' };
      for (const call of ['when', 'numRequeues', 'forget'] as const) {
        expectError(
          () => limiter[call](inCluster),
          'INVALID_ARGUMENT',
          /a string or a request .* "key" function/,
        );
      }
      const hidden = Object.defineProperty(
        { namespace: 'b', name: 'c', [Symbol('of its owner')]: 1 },
        'more',
        {
          value: 1,
        },
      );
      class Inherits {
        namespace = 'b';
        name = 'c';
      }
      Object.assign(Inherits.prototype, { more: 1 });
      for (const item of [hidden, new Inherits()]) limiter.when(item);
      expect(limiter.numRequeues({ namespace: 'b', name: 'c' })).toBe(2);
      const byCluster = within(
        () =>
          new ItemExponentialFailureRateLimiter<typeof inCluster>(5, 10, {
            key: (item) => Object.values(item).join(' '),
          }),
      );
      byCluster.when(inCluster);
      expect(byCluster.numRequeues({ ...inCluster, cluster: 'b' })).toBe(0);
    });

    test('items of a wrong type and key functions without a key are typed errors', () => {
      const strings = within(() => new ItemExponentialFailureRateLimiter(5, 10));
      for (const item of [{ id: 1 }, { namespace: 'a' }, { name: 'a' }, 5, null, undefined]) {
        expectError(
          () => strings.when(invalidArgument(item)),
          'INVALID_ARGUMENT',
          /a string or a request .* "key" function/,
        );
      }
      const objects = within(
        () =>
          new ItemExponentialFailureRateLimiter<object>(5, 10, { key: () => invalidArgument(5) }),
      );
      expectError(() => objects.when({}), 'INVALID_ARGUMENT', /string/);
      const badKey = () =>
        within(() => new ItemExponentialFailureRateLimiter(5, 10, { key: invalidArgument('id') }));
      expectError(badKey, 'INVALID_ARGUMENT', /key/);
    });
  });

  describe(`forgetAfter (${name})`, () => {
    const make = (clock: FakeClock, forgetAfter?: number) =>
      within(() => new ItemExponentialFailureRateLimiter(5, 1_000, { clock, forgetAfter }));

    test('failures are kept until that long after the last delay', () => {
      const clock = new FakeClock(50);
      const limiter = make(clock, 100);
      expect(many(limiter, 'a', 3)).toEqual([5, 10, 20]);
      clock.step(119.5);
      expect(limiter.numRequeues('a')).toBe(3);
      clock.step(0.5);
      expect(limiter.numRequeues('a')).toBe(0);
      expect(limiter.when('a')).toBe(5);
      expect(limiter.numRequeues('a')).toBe(1);
    });

    test('each failure starts the time again', () => {
      const clock = new FakeClock();
      const limiter = make(clock, 100);
      const delays: number[] = [];
      for (let i = 0; i < 5; i++) {
        delays.push(limiter.when('a'));
        clock.step(100);
      }
      expect(delays).toEqual([5, 10, 20, 40, 80]);
    });

    test('is off by default, and Infinity is off', () => {
      for (const forgetAfter of [undefined, Number.POSITIVE_INFINITY]) {
        const clock = new FakeClock();
        const limiter = make(clock, forgetAfter);
        limiter.when('a');
        clock.step(1e12);
        expect(limiter.when('a')).toBe(10);
      }
    });

    test('an endless delay never ends, so its failures are kept', () => {
      const clock = new FakeClock();
      const limiter = within(
        () =>
          new ItemExponentialFailureRateLimiter(
            Number.POSITIVE_INFINITY,
            Number.POSITIVE_INFINITY,
            {
              clock,
              forgetAfter: 1,
            },
          ),
      );
      limiter.when('a');
      clock.step(1e12);
      expect(limiter.numRequeues('a')).toBe(1);
    });

    test('applies to fast-slow and default limiters, and sets no timer', () => {
      const clock = new FakeClock();
      const limiters = within(() => [
        new ItemFastSlowRateLimiter(5, 50, 1, { clock, forgetAfter: 100 }),
        defaultControllerRateLimiter({ clock, forgetAfter: 100 }),
        defaultItemBasedRateLimiter({ clock, forgetAfter: 100 }),
      ]);
      for (const limiter of limiters) many(limiter, 'a', 2);
      expect(clock.timers()).toBe(0);
      clock.step(99);
      expect(limiters.map((limiter) => limiter.numRequeues('a'))).toEqual([2, 2, 2]);
      clock.step(51);
      expect(limiters.map((limiter) => limiter.numRequeues('a'))).toEqual([0, 0, 0]);
    });

    test.each([Number.NaN, -1, '5', null])('%s is a typed error', (forgetAfter) => {
      expectError(
        () => make(new FakeClock(), invalidArgument(forgetAfter)),
        'INVALID_ARGUMENT',
        /forgetAfter/,
      );
    });

    test('a clock that returns no time is a typed error, and nothing is counted', () => {
      const clock = new FakeClock();
      const limiter = make(clock, 100);
      limiter.when('a');
      const { now } = clock;
      for (const time of [Number.NaN, undefined, 1n]) {
        clock.now = () => invalidArgument(time);
        expectError(() => limiter.when('a'), 'INVALID_ARGUMENT', /clock\.now/);
      }
      clock.now = now;
      expect(limiter.numRequeues('a')).toBe(1);
    });
  });

  describe(`ItemFastSlowRateLimiter (${name})`, () => {
    test('is fast for the first attempts, then slow', () => {
      const limiter = within(() => new ItemFastSlowRateLimiter(5, 10_000, 3));
      expect(many(limiter, 'a', 5)).toEqual([5, 5, 5, 10_000, 10_000]);
      expect(limiter.numRequeues('a')).toBe(5);
      limiter.forget('a');
      expect(many(limiter, 'a', 1)).toEqual([5]);
    });

    test('maxFastAttempts 0 and below is slow from the start', () => {
      expect(
        many(
          within(() => new ItemFastSlowRateLimiter(1, 2, 0)),
          'a',
          2,
        ),
      ).toEqual([2, 2]);
    });

    test.each([
      [Number.NaN, 1, 1],
      [1, Number.NaN, 1],
      [1, 1, Number.NaN],
      [1, 1, '3'],
    ])('fast %s, slow %s, maxFastAttempts %s is a typed error', (fast, slow, attempts) => {
      const make = () =>
        within(() => new ItemFastSlowRateLimiter(fast, slow, invalidArgument(attempts)));
      expectError(make, 'INVALID_ARGUMENT', /number|integer/);
    });
  });

  describe(`BucketRateLimiter (${name})`, () => {
    test('allows a burst at once, then one token at a time, refilled up to the burst', () => {
      const clock = new FakeClock(500);
      const limiter = within(() => new BucketRateLimiter(10, 3, { clock }));
      expect(many(limiter, 'a', 5)).toEqual([0, 0, 0, 100, 200]);
      clock.step(200);
      expect(limiter.when('b')).toBeCloseTo(100, 6);
      clock.step(3_600_000);
      expect(many(limiter, 'c', 4)).toEqual([0, 0, 0, 100]);
    });

    test('forget returns no token, and numRequeues is 0', () => {
      const clock = new FakeClock();
      const limiter = within(() => new BucketRateLimiter(1, 1, { clock }));
      limiter.when('a');
      limiter.forget('a');
      expect(limiter.numRequeues('a')).toBe(0);
      expect(limiter.when('a')).toBe(1_000);
    });

    test.each([
      [Number.NaN, 1],
      [1, Number.NaN],
      ['10', 1],
    ])('qps %s, burst %s is a typed error', (qps, burst) => {
      expectError(
        () => within(() => new BucketRateLimiter(invalidArgument(qps), burst)),
        'INVALID_ARGUMENT',
        /qps|burst/,
      );
    });

    test('an invalid clock is a typed error', () => {
      expectError(
        () => within(() => new BucketRateLimiter(1, 1, { clock: invalidArgument({}) })),
        'INVALID_ARGUMENT',
        /clock/,
      );
    });
  });

  describe(`combined limiters (${name})`, () => {
    test('MaxOf takes the longest delay, calls all, and forgets in all', () => {
      const clock = new FakeClock();
      const [exponential, fastSlow, bucket] = within(() => [
        new ItemExponentialFailureRateLimiter(5, 1_000),
        new ItemFastSlowRateLimiter(3, 300, 2),
        new BucketRateLimiter(10, 2, { clock }),
      ]);
      const limiter = new MaxOfRateLimiter(exponential, fastSlow, bucket);
      expect(many(limiter, 'a', 4)).toEqual([5, 10, 300, 300]);
      expect(limiter.numRequeues('a')).toBe(4);
      expect(bucket.when('b')).toBeCloseTo(300, 6);
      limiter.forget('a');
      expect([exponential.numRequeues('a'), fastSlow.numRequeues('a')]).toEqual([0, 0]);
    });

    test('MaxOf() of nothing never waits', () => {
      const limiter = new MaxOfRateLimiter();
      expect(many(limiter, 'a', 2)).toEqual([0, 0]);
      expect(limiter.numRequeues('a')).toBe(0);
      limiter.forget('a');
    });

    test('WithMaxWait caps the delay, not the count', () => {
      const limiter = new WithMaxWaitRateLimiter(
        within(() => new ItemExponentialFailureRateLimiter(5, 1_000_000)),
        12,
      );
      expect(many(limiter, 'a', 4)).toEqual([5, 10, 12, 12]);
      expect(limiter.numRequeues('a')).toBe(4);
      limiter.forget('a');
      expect(limiter.numRequeues('a')).toBe(0);
    });

    test('invalid limiters are typed errors', () => {
      expectError(() => new MaxOfRateLimiter(invalidArgument({})), 'INVALID_ARGUMENT', /limiter/);
      expectError(
        () => new WithMaxWaitRateLimiter(invalidArgument(undefined), 5),
        'INVALID_ARGUMENT',
        /limiter/,
      );
      expectError(
        () => new WithMaxWaitRateLimiter(new MaxOfRateLimiter(), Number.NaN),
        'INVALID_ARGUMENT',
        /maxDelay/,
      );
    });

    test('the default controller limiter: 5 ms to 1000 s, and a bucket of 10 a second', () => {
      const clock = new FakeClock();
      const limiter = within(() => defaultControllerRateLimiter({ clock }));
      expect(many(limiter, 'a', 5)).toEqual([5, 10, 20, 40, 80]);
      expect(many(limiter, 'a', 95).at(-1)).toBe(1_000_000);
      expect(limiter.when('b')).toBeCloseTo(100, 6);
      clock.step(3_600_000);
      expect(limiter.when('c')).toBe(5);
    });

    test('the default item based limiter: 1 ms to 1000 s', () => {
      const limiter = within(() => defaultItemBasedRateLimiter<Request>({ key: requestKey }));
      const request = { namespace: 'a', name: 'b' };
      expect(many(limiter, request, 4)).toEqual([1, 2, 4, 8]);
      expect(many(limiter, request, 50).at(-1)).toBe(1_000_000);
    });
  });
}
