/** The behaviour of PriorityQueue beyond the recorded traces, for any implementation. */
import {
  FakeClock,
  ItemExponentialFailureRateLimiter,
  type PriorityQueueOptions,
  type RateLimiter,
  type Request,
  requestKey,
  setErrorHandler,
} from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { expectError, expectRejection, invalidArgument } from '../../helpers/expect-error.ts';
import { settle, track } from '../../helpers/promise-state.ts';
import type { Implementation } from '../../helpers/workqueue/implementations.ts';
import { drain } from '../../helpers/workqueue/queue-items.ts';

export function priorityQueueCases(make: Implementation): void {
  function start(options: PriorityQueueOptions<string> = {}) {
    const clock = new FakeClock();
    return { clock, queue: make.priority(undefined, { clock, ...options }) };
  }

  describe(`PriorityQueue: order (${make.name})`, () => {
    test('the highest priority is first, in order within one, over the int32 range', () => {
      const { queue } = start();
      for (const priority of [0, -(2 ** 31), 5, 2 ** 31 - 1, -1])
        queue.addWithOpts({ priority }, `a${priority}`, `b${priority}`);
      queue.add('c0');
      expect(drain(queue)).toEqual(
        [2 ** 31 - 1, 5, 0, -1, -(2 ** 31)].flatMap((p) =>
          p === 0 ? ['a0', 'b0', 'c0'] : [`a${p}`, `b${p}`],
        ),
      );
    });

    test('an add without delay readies a waiting key at the place of its first add', () => {
      const { queue } = start();
      const line = Array.from({ length: 100 }, (_, i) => `key-${i}`);
      for (const [i, key] of line.entries())
        queue.addWithOpts(i % 10 === 5 ? { after: 1_000 } : {}, key);
      const waiting = line.filter((_, i) => i % 10 === 5);
      for (const key of [...waiting].reverse()) queue.add(key);
      expect(drain(queue)).toEqual(line);
    });

    test('a key added while it is processed comes back at the place of that add', () => {
      const { queue } = start();
      queue.add('a');
      queue.tryGet();
      for (let i = 0; i < 20; i++) queue.add(`before-${i}`);
      queue.add('a');
      for (let i = 0; i < 20; i++) queue.add(`after-${i}`);
      expect(queue.len()).toBe(41);
      queue.done('a');
      expect(queue.len()).toBe(41);
      expect(drain(queue).indexOf('a')).toBe(20);
    });

    test('a raised key goes to the end of the new priority, in any state', () => {
      const { queue, clock } = start();
      queue.add('hidden');
      queue.tryGet();
      queue.add('hidden');
      for (let i = 0; i < 30; i++) queue.add(`key-${i}`);
      queue.addWithOpts({ after: 100 }, 'waiting');
      queue.addWithOpts({ priority: 1 }, 'first', 'key-15', 'hidden', 'last');
      queue.addWithOpts({ priority: 1, after: 500 }, 'waiting');
      queue.done('hidden');
      expect([queue.tryGet(), queue.tryGet(), queue.tryGet(), queue.tryGet()]).toEqual([
        'first',
        'key-15',
        'hidden',
        'last',
      ]);
      clock.step(100);
      expect(queue.tryGet()).toBe('waiting');
    });

    test('the priority of each round is separate', async () => {
      const { queue } = start();
      queue.addWithOpts({ priority: 9 }, 'a');
      expect(await queue.getWithPriority()).toEqual({ item: 'a', shutdown: false, priority: 9 });
      queue.add('a');
      queue.done('a');
      expect(await queue.getWithPriority()).toEqual({ item: 'a', shutdown: false, priority: 0 });
    });

    test('waiting gets are served in turn, each with the priority of its key', async () => {
      const { queue } = start();
      const gets = [0, 1, 2].map(() => track(queue.getWithPriority()));
      const plain = track(queue.get());
      queue.addWithOpts({ priority: -3 }, 'a', 'b');
      queue.addWithOpts({ priority: 8 }, 'c', 'd');
      await settle();
      expect(gets.map(({ value }) => [value?.item, value?.priority])).toEqual([
        ['a', -3],
        ['b', -3],
        ['c', 8],
      ]);
      expect(plain.value).toEqual({ item: 'd', shutdown: false });
    });

    test('of several keys added at once a waiting get gets the first in order', async () => {
      const { queue } = start();
      queue.addWithOpts({ after: 1_000 }, 'old');
      const got = track(queue.get());
      queue.addWithOpts({}, 'new', 'old');
      await settle();
      expect(got.value?.item).toBe('old');
    });

    test('slots and batches work, with priority 0', () => {
      const { queue } = start();
      queue.addWithOpts({ priority: -1 }, 'low', 'raised');
      const pinned = Int32Array.of(queue.pin('pinned'), queue.pin('raised'));
      queue.addSlots(pinned, 2);
      queue.addAll(['x', 'y']);
      const slots = new Int32Array(3);
      expect(queue.getSlots(slots)).toBe(3);
      expect([...slots].map((slot) => queue.slotItem(slot))).toEqual(['pinned', 'raised', 'x']);
      queue.addSlots(slots, 1);
      queue.doneSlots(slots, 3);
      expect(queue.getBatch(9)).toEqual(['y', 'pinned', 'low']);
    });

    test('ten thousand priorities come out in order, and empty ones are dropped', () => {
      const { queue } = start();
      for (let round = 0; round < 3; round++) {
        const priorities = Array.from(
          { length: 10_000 },
          (_, i) => ((i * 7_919) % 10_000) - 5_000 + round * 50_000,
        );
        for (const priority of priorities) queue.addWithOpts({ priority }, String(priority));
        expect(drain(queue)).toEqual(priorities.sort((a, b) => b - a).map(String));
      }
    });
  });

  describe(`PriorityQueue: merging (${make.name})`, () => {
    test('a delay for a ready or hidden key is ignored, and counts as a failure', () => {
      const { queue, clock } = start();
      queue.add('a');
      queue.addWithOpts({ rateLimited: true, after: 10 }, 'a');
      queue.addAfter('a', 10, { mode: 'replace' });
      expect(queue.numRequeues('a')).toBe(1);
      expect(drain(queue)).toEqual(['a']);
      clock.step(1_000);
      expect(queue.len()).toBe(0);
    });

    test("the shorter of the limiter's and a given delay counts, and none is shorter", () => {
      const { queue, clock } = start();
      queue.addWithOpts({ rateLimited: true }, 'limited');
      queue.addWithOpts({ rateLimited: true, after: 2 }, 'after');
      queue.addWithOpts({ rateLimited: true, after: 200 }, 'longer');
      queue.addWithOpts({ rateLimited: true, after: -1 }, 'at once');
      expect(drain(queue)).toEqual(['at once']);
      clock.step(2);
      expect(drain(queue)).toEqual(['after']);
      clock.step(3);
      expect(drain(queue)).toEqual(['limited', 'longer']);
      expect(
        ['limited', 'after', 'longer', 'at once'].map((key) => queue.numRequeues(key)),
      ).toEqual([1, 1, 1, 1]);
    });

    test('the default limiter is 5 ms to 1000 s, without an overall limit', () => {
      const clock = new FakeClock();
      const queue = make.priority<Request>(undefined, { clock, key: requestKey });
      for (let i = 0; i < 500; i++) queue.addRateLimited({ namespace: 'a', name: `b-${i}` });
      clock.step(5);
      expect(queue.len()).toBe(500);
      const one = { namespace: 'x', name: 'y' };
      for (let i = 0; i < 30; i++) {
        queue.addRateLimited({ ...one });
        queue.cancel({ ...one });
      }
      expect(queue.numRequeues(one)).toBe(30);
      queue.addRateLimited(one);
      clock.step(999_999);
      expect(queue.len()).toBe(500);
      clock.step(1);
      expect(queue.len()).toBe(501);
    });

    test('addAfter keeps the earliest, the latest or the new time; cancel works', () => {
      const { queue, clock } = start();
      for (const mode of ['earliest', 'latest', 'replace'] as const) {
        queue.addAfter(`${mode}-up`, 20);
        queue.addAfter(`${mode}-up`, 40, { mode });
        queue.addAfter(`${mode}-down`, 40);
        queue.addAfter(`${mode}-down`, 20, { mode });
      }
      queue.addAfter('cancelled', 10);
      expect([queue.cancel('cancelled'), queue.cancel('cancelled'), queue.cancel('never')]).toEqual(
        [true, false, false],
      );
      clock.step(20);
      expect(drain(queue)).toEqual(['earliest-up', 'earliest-down', 'replace-down']);
      clock.step(20);
      expect(drain(queue)).toEqual(['latest-up', 'latest-down', 'replace-up']);
      queue.addAfter('a', 50);
      queue.addAfter('a', 0, { mode: 'latest' });
      expect(queue.len()).toBe(0);
      queue.addAfter('a', 0, { mode: 'replace' });
      expect(drain(queue)).toEqual(['a']);
    });

    test('with addKeepsBackoff an add leaves a failed key in its back-off', () => {
      const { queue, clock } = start({ addKeepsBackoff: true });
      queue.addRateLimited('failed');
      queue.addAfter('waits', 5);
      queue.addWithOpts({ priority: 7 }, 'failed', 'waits');
      expect(drain(queue)).toEqual(['waits']);
      queue.addSlots(Int32Array.of(queue.pin('failed')), 1);
      expect(queue.len()).toBe(0);
      clock.step(5);
      expect(drain(queue)).toEqual(['failed']);
    });

    // The add was dropped with its priority: a change of an object whose retry had a low one was
    // reconciled last.
    test('an add that does not end a wait still raises the priority', () => {
      const { queue, clock } = start({ addKeepsBackoff: true });
      queue.addWithOpts({ rateLimited: true, priority: -100 }, 'failed');
      queue.addWithOpts({ after: 5, priority: -100 }, 'latest');
      queue.add('failed');
      queue.addAfter('latest', 0, { mode: 'latest' });
      expect(queue.len()).toBe(0);
      clock.step(5);
      queue.addWithOpts({ priority: -1 }, 'between');
      expect(drain(queue)).toEqual(['failed', 'latest', 'between']);
    });

    // It stayed in its back-off, unlike in the other queues with delays.
    test('with addKeepsBackoff, addAfter(item, 0, replace) ends the back-off', () => {
      const { queue, clock } = start({ addKeepsBackoff: true });
      const limiter = make.within(() => new ItemExponentialFailureRateLimiter(5, 1_000));
      for (const each of [queue, make.rateLimiting(limiter, { clock, addKeepsBackoff: true })]) {
        each.addRateLimited('failed');
        each.addAfter('failed', 0);
        expect(each.len()).toBe(0);
        each.addAfter('failed', 0, { mode: 'replace' });
        expect(drain(each)).toEqual(['failed']);
      }
    });

    test('a later wait is reordered, an earlier one keeps the place of its key', () => {
      const { queue } = start();
      queue.addAfter('off', 10);
      queue.addAfter('forward', 10);
      queue.add('ready');
      queue.addAfter('off', 20, { mode: 'latest' });
      queue.addAfter('forward', 5, { mode: 'replace' });
      for (const key of ['off', 'forward']) queue.add(key);
      expect(drain(queue)).toEqual(['forward', 'ready', 'off']);
    });

    test('a full queue rejects a new key, and accepts known ones', () => {
      const { queue } = start({ maxDepth: 2 });
      queue.addWithOpts({ after: 10 }, 'a');
      expectError(() => queue.addWithOpts({ priority: 3 }, 'b', 'c', 'a'), 'QUEUE_FULL');
      expect(drain(queue)).toEqual(['b', 'a']);
      expect(queue.droppedAdds()).toBe(1);
    });

    test('the snapshot has priorities, and times only with the option', () => {
      const { queue, clock } = start();
      queue.addWithOpts({ priority: 4 }, 'a');
      queue.addWithOpts({ priority: -4, after: 70 }, 'b');
      clock.step(10);
      expect(queue.snapshot().keys).toMatchObject([
        { item: 'a', state: 'ready', priority: 4, queuedMs: undefined },
        { item: 'b', state: 'waiting', priority: -4, waitingMs: 60 },
      ]);
      const timed = start({ times: true });
      timed.queue.add('a');
      timed.clock.step(5);
      expect(timed.queue.snapshot().keys).toMatchObject([{ item: 'a', priority: 0, queuedMs: 5 }]);
    });
  });

  describe(`PriorityQueue: errors (${make.name})`, () => {
    test.each([
      [{ priority: 0.5 }, /"priority" expected an integer of 32 bits, got 0.5/],
      [{ priority: 2 ** 31 }, /"priority"/],
      [{ priority: Number.NaN }, /"priority"/],
      [{ priority: '1' }, /"priority"/],
      [{ after: Number.NaN }, /"after" expected a number/],
      [{ after: '5' }, /"after"/],
      [{ rateLimited: 1 }, /"rateLimited" expected a boolean/],
      [5, /"options" expected an object/],
      [null, /"options"/],
    ])('addWithOpts(%j) is a typed error and adds nothing', (options, message) => {
      const { queue } = start();
      expectError(
        () => queue.addWithOpts(invalidArgument(options), 'a'),
        'INVALID_ARGUMENT',
        message,
      );
      expect(queue.len()).toBe(0);
    });

    test('one invalid item among several: nothing is added', () => {
      const { queue } = start();
      expectError(
        () => queue.addWithOpts({}, 'a', invalidArgument(5), 'b'),
        'INVALID_ARGUMENT',
        /item/,
      );
      expectError(() => queue.addAfter('a', Number.NaN), 'INVALID_ARGUMENT');
      expect(queue.snapshot().keys).toEqual([]);
    });

    test('an item whose limiter throws does not affect others, and is reported', () => {
      const problem = new Error('no delay today');
      const limiter: RateLimiter = {
        when: (item) => {
          if (item === 'nan') return Number.NaN;
          if (item === 'throws') throw problem;
          return 5;
        },
        forget: () => {},
        numRequeues: () => 0,
      };
      const clock = new FakeClock();
      const queue = make.priority(limiter, { clock });
      const reported: unknown[] = [];
      const previous = setErrorHandler((error) => reported.push(error));
      try {
        expect(() =>
          queue.addWithOpts({ rateLimited: true }, 'a', 'throws', 'b', 'nan', 'c'),
        ).toThrow(problem);
      } finally {
        setErrorHandler(previous);
      }
      expect(reported).toMatchObject([{ code: 'INVALID_ARGUMENT' }]);
      clock.step(5);
      expect(drain(queue)).toEqual(['a', 'b', 'c']);
    });

    // Its DISPOSED was taken for the queue's own: the rest was not added, and a get kept waiting
    // beside a ready item.
    test('a disposed limiter of a live queue is an error like any other', async () => {
      const disposed = make.within(() => new ItemExponentialFailureRateLimiter(5, 1_000));
      disposed.dispose();
      const limiter: RateLimiter = {
        when: (item) => (item === 'b' ? disposed.when(item) : 0),
        forget: () => {},
        numRequeues: () => 0,
      };
      const queue = make.priority(limiter, { clock: new FakeClock() });
      const waits = track(queue.get());
      expectError(() => queue.addWithOpts({ rateLimited: true }, 'a', 'b', 'c'), 'DISPOSED');
      await settle();
      expect(waits.value).toEqual({ item: 'a', shutdown: false });
      expect(drain(queue)).toEqual(['c']);
    });

    // The heap could not find entries behind such a time: waits never ended, and a shutdown left
    // them.
    test('a clock that returns no number is an error, and other waits end in time', () => {
      const { queue, clock } = start();
      const now = clock.now.bind(clock);
      queue.addAfter('a', 5);
      for (const wrongTime of [Number.NaN, undefined]) {
        clock.now = () => invalidArgument(wrongTime);
        expectError(() => queue.addAfter('b', 1), 'INVALID_ARGUMENT', /clock\.now/);
      }
      clock.now = now;
      clock.step(5);
      expect(drain(queue)).toEqual(['a']);
    });

    test('a limiter or a clock that ends the queue: nothing is added later', () => {
      const { clock } = start();
      const limiter: RateLimiter = {
        when: () => {
          queue.shutDown();
          return 0;
        },
        forget: () => {},
        numRequeues: () => 0,
      };
      const queue = make.priority(limiter, { clock });
      queue.addWithOpts({ rateLimited: true }, 'a', 'b');
      expect(queue.len()).toBe(0);
      const disposing: RateLimiter = {
        ...limiter,
        when: () => {
          disposed.dispose();
          return 0;
        },
      };
      const disposed = make.priority(disposing, { clock });
      expectError(() => disposed.addWithOpts({ rateLimited: true }, 'a', 'b'), 'DISPOSED');
    });

    test.each([
      [
        { order: { touch: Math.abs, push: Math.abs, len: Math.abs, pop: Math.abs } },
        /"order" expected nothing/,
      ],
      [{ inner: {} }, /"inner" expected nothing/],
      [{ aging: 5 }, /"aging" expected an object/],
      [{ aging: {} }, /"aging.everyMs" expected a finite number of milliseconds > 0/],
      [{ aging: { everyMs: 0 } }, /everyMs/],
      [{ aging: { everyMs: Number.POSITIVE_INFINITY } }, /everyMs/],
      [{ addEndsWait: false }, /"addEndsWait" expected true or nothing/],
      [null, /"options"/],
    ])('the options %j are rejected', (options, message) => {
      expectError(
        () => make.priority(undefined, invalidArgument(options)),
        'INVALID_ARGUMENT',
        message,
      );
    });

    test('an invalid limiter is rejected, null too', () => {
      for (const limiter of [null, {}, 5])
        expectError(() => make.priority(invalidArgument(limiter)), 'INVALID_ARGUMENT', /limiter/);
    });

    test('after dispose every call is a typed error, and its limiter is disposed of', async () => {
      const { queue } = start();
      queue.add('a');
      queue.dispose();
      queue.dispose();
      for (const call of [
        () => queue.add('a'),
        () => queue.addWithOpts({}, 'a'),
        () => queue.addAfter('a', 5),
        () => queue.addRateLimited('a'),
        () => queue.forget('a'),
        () => queue.shutDown(),
      ])
        expectError(call, 'DISPOSED');
      await expectRejection(queue.getWithPriority(), 'DISPOSED');
      await expectRejection(queue.shutDownWithDrain(), 'DISPOSED');
    });
  });

  describe(`PriorityQueue: the end (${make.name})`, () => {
    test('shutDown drops ready and waiting keys; a second one has no effect', async () => {
      const { queue, clock } = start();
      queue.add('a');
      queue.tryGet();
      queue.addWithOpts({}, 'a', 'b');
      queue.addAfter('c', 10);
      queue.shutDown();
      expect(clock.timers()).toBe(0);
      expect([queue.tryGet(), queue.getBatch(5), queue.getSlots(new Int32Array(4))]).toEqual([
        undefined,
        [],
        0,
      ]);
      expect(await queue.get()).toEqual({ item: undefined, shutdown: true });
      queue.done('a');
      queue.shutDown();
      expect(await queue.getWithPriority()).toEqual({
        item: undefined,
        shutdown: true,
        priority: 0,
      });
      expect(queue.shuttingDown()).toBe(true);
      queue.addWithOpts({ rateLimited: true }, 'd');
      expect(queue.numRequeues('d')).toBe(0);
      expect(await watchEnd(queue.shutDownWithDrain())).toBe('fulfilled');
    });

    const watchEnd = async (promise: Promise<void>) => {
      const watched = track(promise);
      await settle();
      return watched.state;
    };

    test('a drain hands out ready keys, drops waiting ones, and then ends', async () => {
      const { queue, clock } = start();
      queue.add('again');
      queue.tryGet();
      queue.addWithOpts({ priority: -5 }, 'again', 'low');
      queue.addWithOpts({ priority: 5, after: 10 }, 'late');
      const drained = track(queue.shutDownWithDrain());
      queue.addWithOpts({ priority: 9 }, 'refused');
      clock.step(100);
      expect(queue.tryGet()).toBe('low');
      const [one, two] = [track(queue.get()), track(queue.get())]; // "again" is still to come
      await settle();
      expect([one.state, two.state]).toEqual(['pending', 'pending']);
      queue.done('again');
      await settle();
      expect([one.value, two.value]).toEqual([
        { item: 'again', shutdown: false },
        { item: undefined, shutdown: true },
      ]);
      queue.done('again');
      await settle();
      expect(drained.state).toBe('pending');
      queue.done('low');
      await settle();
      expect(drained.state).toBe('fulfilled');
      expect(await queue.get()).toEqual({ item: undefined, shutdown: true });
    });

    test('a drain without ready or processing keys ends at once', async () => {
      const { queue, clock } = start();
      queue.addAfter('a', 10);
      const got = track(queue.get());
      expect(await watchEnd(queue.shutDownWithDrain())).toBe('fulfilled');
      expect(got.value?.shutdown).toBe(true);
      expect(clock.timers()).toBe(0);
    });

    test('several drains end together, also by batches and slots', async () => {
      const { queue } = start();
      queue.addAll(['a', 'b', 'c']);
      const batch = queue.getBatch(2);
      const slots = new Int32Array(1);
      const drains = [track(queue.shutDownWithDrain()), track(queue.shutDownWithDrain())];
      expect(queue.getSlots(slots)).toBe(1);
      queue.doneAll(batch);
      await settle();
      expect(drains.map(({ state }) => state)).toEqual(['pending', 'pending']);
      queue.doneSlots(slots, 1);
      await settle();
      expect(drains.map(({ state }) => state)).toEqual(['fulfilled', 'fulfilled']);
    });

    test('a shutDown ends a drain, drops ready keys, and ends waiting gets', async () => {
      const { queue } = start();
      queue.addAll(['a', 'b']);
      queue.tryGet();
      queue.tryGet();
      queue.addAll(['a', 'b']);
      const drained = track(queue.shutDownWithDrain());
      const got = track(queue.get());
      await settle();
      expect([drained.state, got.state]).toEqual(['pending', 'pending']);
      queue.shutDown();
      await settle();
      expect([drained.state, got.value?.shutdown]).toEqual(['fulfilled', true]);
      queue.done('a');
      expect(queue.tryGet()).toBeUndefined();
    });

    test('a drain whose signal fires is rejected; the queue still drains', async () => {
      const { queue } = start();
      queue.addAll(['a', 'b']);
      queue.tryGet();
      const stop = new AbortController();
      const drained = track(queue.shutDownWithDrain({ signal: stop.signal }));
      stop.abort();
      await settle();
      expect(drained.error).toMatchObject({ code: 'ABORTED' });
      expect(queue.tryGet()).toBe('b');
      queue.done('b');
      const second = track(queue.shutDownWithDrain());
      queue.dispose();
      await settle();
      expect(second.state).toBe('fulfilled');
      await expectRejection(
        start().queue.shutDownWithDrain({ signal: invalidArgument(5) }),
        'INVALID_ARGUMENT',
        /signal/,
      );
    });
  });

  describe(`PriorityQueue: aging (${make.name})`, () => {
    test('waiting compensates for priority: each everyMs counts as one step', () => {
      const { queue, clock } = start({ aging: { everyMs: 100 } });
      queue.addWithOpts({ priority: 0 }, 'low');
      clock.step(299);
      queue.addWithOpts({ priority: 3 }, 'within the bound');
      clock.step(2);
      queue.addWithOpts({ priority: 3 }, 'beyond it');
      expect(drain(queue)).toEqual(['within the bound', 'low', 'beyond it']);
    });

    test('without aging a low priority starves, with it none does', () => {
      const rounds = (options: PriorityQueueOptions<string>): number => {
        const { queue, clock } = start(options);
        queue.addWithOpts({ priority: -100 }, 'low');
        for (let round = 0; round < 2_000; round++) {
          queue.addWithOpts({ priority: 0 }, 'high-a', 'high-b');
          clock.step(1);
          const item = queue.tryGet() as string;
          queue.done(item);
          if (item === 'low') return round;
        }
        return Number.POSITIVE_INFINITY;
      };
      expect(rounds({})).toBe(Number.POSITIVE_INFINITY);
      // High keys wait 2 ms each: at 1000 ms per 100 steps the low one comes when it is 1000 ms
      // older than they are.
      expect(rounds({ aging: { everyMs: 10 } })).toBeLessThan(1_005);
    });

    test('a raise never puts a key behind those that became ready after it', () => {
      const { queue, clock } = start({ aging: { everyMs: 1_000 } });
      queue.addWithOpts({ priority: 0 }, 'old');
      clock.step(500);
      queue.addWithOpts({ priority: 1 }, 'young');
      queue.addWithOpts({ priority: 1 }, 'old');
      expect(drain(queue)).toEqual(['old', 'young']);
    });

    test('a key whose wait an add ends is placed where it became ready', () => {
      const { queue, clock } = start({ aging: { everyMs: 1_000 } });
      queue.addAfter('waits', 60_000);
      clock.step(10);
      queue.add('ready');
      clock.step(10);
      queue.add('waits');
      expect(drain(queue)).toEqual(['ready', 'waits']);
    });

    test('of keys with one time and one rank the higher priority is first', () => {
      const { queue, clock } = start({ aging: { everyMs: 10 } });
      queue.addWithOpts({ priority: 0 }, 'low');
      clock.step(10);
      queue.addWithOpts({ priority: 1 }, 'high');
      expect(drain(queue)).toEqual(['high', 'low']);
    });
  });

  test(`PriorityQueue: a limiter of failures loses no keys (${make.name})`, () => {
    const clock = new FakeClock();
    const limiter = make.within(() => new ItemExponentialFailureRateLimiter(5, 1_000));
    const queue = make.priority(limiter, { clock });
    queue.add('a');
    queue.tryGet();
    queue.addRateLimited('a');
    queue.done('a');
    expect([queue.len(), queue.numRequeues('a')]).toEqual([0, 1]);
    clock.step(5);
    expect(drain(queue)).toEqual(['a']);
  });
}
