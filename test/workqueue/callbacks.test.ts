/**
 * User code (key functions, orders, clocks, metrics) that acts in the middle of a call: it ends the
 * queue, throws, or returns another result than before. Each test is of a past bug; where memory
 * was freed too early, another queue was damaged.
 */
import {
  DelayingQueue,
  FakeClock,
  ItemExponentialFailureRateLimiter,
  WorkQueue,
} from 'capstan/workqueue';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sharedCore } from '../../bindings/wasm/core.ts';
import { HASHINGS, setHashing } from '../../bindings/wasm/hashes.ts';
import { expectError, expectRejection } from '../helpers/expect-error.ts';
import { collectErrorValues } from '../helpers/reported-errors.ts';
import { drain } from '../helpers/workqueue/queue-items.ts';
import { RecordingProvider } from '../helpers/workqueue/recording-metrics.ts';
import { Stack } from '../helpers/workqueue/stack-order.ts';

const reported = collectErrorValues();

function keysIn(queue: WorkQueue): number {
  return sharedCore().exports.keysUsed((queue as unknown as { handle: number }).handle);
}

/** A FakeClock whose now() can throw. */
class FailingClock extends FakeClock {
  /** The coming results, true for an error; after the last one it returns normally. */
  plan: boolean[] = [];

  override now(): number {
    if (this.plan.shift()) throw new Error('clock');
    return super.now();
  }
}

describe.each(HASHINGS)('keys by %s', (hashing) => {
  beforeEach(() => setHashing(hashing));
  afterEach(() => setHashing(undefined));

  // pin() looked up the key before it checked that the table existed: the key went into the table
  // of the next queue.
  test('a pin of a disposed queue does not affect another queue', () => {
    const disposed = new WorkQueue();
    disposed.add('x');
    disposed.dispose();
    const next = new WorkQueue();
    next.add('y');
    expectError(() => disposed.pin('a'), 'DISPOSED');
    expectError(() => disposed.done('a'), 'DISPOSED');
    expect(keysIn(next)).toBe(1);
    expect(drain(next)).toEqual(['y']);
  });

  test.each<[string, (queue: DelayingQueue) => void]>([
    ['add', (queue) => queue.add('last')],
    ['addAfter', (queue) => queue.addAfter('last', 5)],
    ['pin', (queue) => queue.pin('last')],
    ['cancel', (queue) => queue.cancel('last')],
    ['done', (queue) => queue.done('last')],
  ])('a key function that disposes of its queue during %s affects no other queue', (_, call) => {
    const next: WorkQueue[] = [];
    const disposed: DelayingQueue = new DelayingQueue({
      clock: new FakeClock(),
      key: (item) => {
        if (item === 'last') {
          disposed.dispose();
          next.push(new WorkQueue());
          next[0]?.add('y');
        }
        return item;
      },
    });
    disposed.add('x');
    expectError(() => call(disposed), 'DISPOSED');
    expect(keysIn(next[0] as WorkQueue)).toBe(1);
    expect(drain(next[0] as WorkQueue)).toEqual(['y']);
  });

  test('an order that disposes of its queue affects no other queue', () => {
    const next: WorkQueue[] = [];
    const disposed: WorkQueue = new WorkQueue({
      order: {
        push: () => {},
        touch: () => {},
        len: () => 1,
        pop: () => {
          disposed.dispose();
          next.push(new WorkQueue());
          next[0]?.add('y');
          return 'x';
        },
      },
    });
    disposed.add('x');
    expectError(() => disposed.tryGet(), 'DISPOSED');
    expect(next[0]?.snapshot().keys[0]?.state).toBe('ready');
  });

  test('a key function that disposes of its limiter affects no other limiter', () => {
    const disposed: ItemExponentialFailureRateLimiter = new ItemExponentialFailureRateLimiter(
      1,
      10,
      {
        key: (item) => {
          if (item === 'last') disposed.dispose();
          return item;
        },
      },
    );
    disposed.when('x');
    expectError(() => disposed.when('last'), 'DISPOSED');
    expectError(() => disposed.when('x'), 'DISPOSED');
  });

  // The slot was looked up again by key: for a missing key it was -1, and the core wrote to a wrong
  // address.
  test('slots are handed out and done although the key of their item has changed', () => {
    const queue = new WorkQueue<{ id: string }>({
      name: 'q',
      metricsProvider: new RecordingProvider(),
      key: ({ id }) => id,
    });
    const item = { id: 'a' };
    queue.add(item);
    item.id = 'b';
    const slots = new Int32Array(2);
    expect(queue.getSlots(slots)).toBe(1);
    expect(queue.slotItem(slots[0] as number)).toBe(item);
    queue.doneSlots(slots, 1);
    expect(queue.recover()).toEqual([]);
    queue.shutDown();
  });

  // The longest waiting get was chosen before the order was called. The order's add served it with
  // another item, and the popped one was lost in processing for ever.
  test('an order that adds while it pops loses no item for waiting gets', async () => {
    class Adding extends Stack {
      override pop(): string {
        const item = super.pop();
        if (item === 'a') queue.add('more');
        return item;
      }
    }
    const queue = new WorkQueue({ order: new Adding() });
    const gets = [queue.get(), queue.get()];
    queue.add('a');
    expect((await Promise.all(gets)).map(({ item }) => item)).toEqual(['more', 'a']);
  });

  // As above: handed to a get that was already rejected.
  test.each<
    [
      by: 'order' | 'key function',
      does: string,
      end: (queue: WorkQueue, leave: AbortController) => void,
    ]
  >([
    ['order', 'ABORTED', (_, leave) => leave.abort()],
    ['order', 'shutdown', (queue) => queue.shutDown()],
    ['key function', 'ABORTED', (_, leave) => leave.abort()],
    ['key function', 'shutdown', (queue) => queue.shutDown()],
  ])('an %s that aborts all waiting gets (%s) puts the item back', async (by, outcome, end) => {
    const leave = new AbortController();
    let popped = false;
    class Ending extends Stack {
      override pop(): string {
        popped = true;
        if (by === 'order') end(queue, leave);
        return super.pop();
      }
    }
    const key = (item: string): string => {
      if (popped && by === 'key function') end(queue, leave);
      return item;
    };
    const queue: WorkQueue = new WorkQueue({ order: new Ending(), key });
    const got = queue.get({ signal: leave.signal }).then(
      ({ shutdown }) => shutdown && 'shutdown',
      (error) => error.code,
    );
    queue.add('a');
    expect(await got).toBe(outcome);
    expect(queue.snapshot().keys).toMatchObject([{ item: 'a', state: 'ready' }]);
    expect(drain(queue)).toEqual(['a']);
    expect(queue.recover()).toEqual([]);
  });

  // The item went to a rejected get, and stayed in processing.
  test('a clock that aborts the only waiting get leaves the item ready', async () => {
    const leave = new AbortController();
    const clock = new FailingClock();
    const queue = new WorkQueue({ clock, times: true });
    const got = queue.get({ signal: leave.signal });
    const now = clock.now.bind(clock);
    let reads = 0;
    clock.now = () => {
      if (++reads === 2) leave.abort(); // the add has the first
      return now();
    };
    queue.add('a');
    await expectRejection(got, 'ABORTED');
    expect(drain(queue)).toEqual(['a']);
  });

  // The signal had no listener yet, so the get missed its abort and waited for ever.
  test('a clock that aborts the signal of a new get ends it', async () => {
    const leave = new AbortController();
    const clock = new FakeClock();
    clock.now = () => {
      leave.abort();
      return 0;
    };
    const queue = new WorkQueue({ clock, times: true });
    await expectRejection(queue.get({ signal: leave.signal }), 'ABORTED');
  });

  // The items that were handed out before the error stayed in processing for ever.
  test('a batch that an order or a clock interrupts returns the items so far', () => {
    const items: string[] = [];
    let pops = 0;
    const ordered = new WorkQueue({
      order: {
        push: (item) => void items.push(item),
        touch: () => {},
        len: () => items.length,
        pop: () => {
          if (pops++ === 2) throw new Error('pop');
          return items.shift() as string;
        },
      },
    });
    ordered.addAll(['a', 'b', 'c']);
    expect(ordered.getBatch(3)).toEqual(['a', 'b']);
    expect(reported).toEqual([new Error('pop')]);
    expect(ordered.getBatch(3)).toEqual(['c']);

    const clock = new FailingClock();
    const told: WorkQueue = new WorkQueue({
      clock,
      name: 'q',
      metricsProvider: new RecordingProvider(),
    });
    told.addAll(['a', 'b']);
    clock.plan = [false, true];
    const slots = new Int32Array(2);
    expect(told.getSlots(slots)).toBe(1);
    expect(told.slotItem(slots[0] as number)).toBe('a');
    clock.plan = [true];
    expect(() => told.getBatch(2)).toThrow('clock');
    expect(told.getBatch(2)).toEqual(['b']);
    told.shutDown();
  });

  test('a queue around a disposed delaying queue rejects a delay', () => {
    const queue = new DelayingQueue<string>({ inner: new DelayingQueue() });
    queue.dispose();
    expectError(() => queue.addAfter('a', 5), 'DISPOSED');
  });

  // The error went to the host, which may end the process, and the timer was never set again.
  test('a clock that throws when a delay ends is reported, and the delay ends', () => {
    const clock = new FailingClock();
    const queue = new DelayingQueue({ clock });
    queue.addAfter('a', 5);
    clock.plan = [true];
    clock.step(5);
    expect(reported).toEqual([new Error('clock')]);
    clock.step(0);
    expect(drain(queue)).toEqual(['a']);
  });

  // The time NaN stayed in the heap for ever, and later items never became due.
  test('a clock that returns no number delays nothing for ever', () => {
    const clock = new FakeClock();
    const queue = new DelayingQueue({ clock });
    const now = clock.now.bind(clock);
    clock.now = () => Number.NaN;
    expectError(() => queue.addAfter('bad', 5), 'INVALID_ARGUMENT', /clock/);
    clock.now = now;
    queue.addAfter('a', 5);
    clock.step(5);
    expect(drain(queue)).toEqual(['a']);
    expect(clock.timers()).toBe(0);
  });

  // The timer of the metrics was cleared first.
  test('a clock that throws at the shutdown does not keep gets waiting', async () => {
    const clock = new FakeClock();
    const queue = new WorkQueue({ clock, name: 'q', metricsProvider: new RecordingProvider() });
    queue.add('a');
    queue.tryGet();
    const got = queue.get();
    clock.clearTimer = () => {
      throw new Error('clock');
    };
    queue.shutDown();
    expect(reported).toEqual([new Error('clock')]);
    expect(await got).toEqual({ item: undefined, shutdown: true });
    // The timer was cleared again at each further end, and the gauges were set from a freed table.
    queue.dispose();
    clock.step(500);
    expect(reported).toEqual([new Error('clock')]);
  });

  // The error went to the caller, and the call had done one half: the inner queue stayed open, and
  // what waited stayed in the heap.
  test('a clock whose clearTimer throws at the shutdown does not keep the inner queue open', () => {
    const clock = new FakeClock();
    const inner = new WorkQueue();
    const queue = new DelayingQueue({ clock, inner });
    queue.addAfter('a', 5);
    clock.clearTimer = () => {
      throw new Error('clock');
    };
    queue.shutDown();
    expect(inner.shuttingDown()).toBe(true);
    expect(queue.waiting()).toBe(0);
    clock.step(5);
    queue.dispose();
    expect(reported).toEqual([new Error('clock')]);
  });

  test('a clock whose clearTimer throws loses and doubles no delayed add', () => {
    const clock = new FakeClock();
    const queue = new DelayingQueue({ clock });
    const clear = clock.clearTimer;
    clock.clearTimer = () => {
      throw new Error('clock');
    };
    queue.addAfter('late', 10);
    queue.addAfter('early', 5);
    expect(reported).toEqual([new Error('clock')]);
    queue.addAfter('cancelled', 1);
    expect(queue.cancel('cancelled')).toBe(true);
    clock.clearTimer = clear;
    expect(clock.timers()).toBe(3);
    clock.step(5);
    expect(drain(queue)).toEqual(['early']);
    clock.step(5);
    expect(drain(queue)).toEqual(['late']);
    expect(clock.timers()).toBe(0);
    expect(reported).toEqual([new Error('clock'), new Error('clock')]);
  });

  test('a metric that shuts the queue down leaves no timer behind', () => {
    const clock = new FakeClock();
    const metricsProvider = Object.assign(new RecordingProvider(), {
      newRetriesMetric: () => ({ inc: () => queue.shutDown() }),
    });
    const queue: DelayingQueue = new DelayingQueue({ clock, name: 'q', metricsProvider });
    queue.addAfter('a', 5);
    expect(clock.timers()).toBe(0);
  });

  // The queue believed that the host's timer was set for a time in the past: due items came ten
  // seconds late.
  test('a clock that jumps ahead does not delay later items', () => {
    const base = new FakeClock();
    let ahead = 0;
    const clock = {
      now: () => base.now() + ahead,
      setTimer: (run: () => void, ms: number) => base.setTimer(run, ms),
      clearTimer: (timer: unknown) => base.clearTimer(timer),
    };
    const queue = new DelayingQueue({ clock });
    queue.addAfter('far', 9000);
    ahead = 3_600_000;
    queue.addAfter('near', 5);
    queue.addAfter('next', 6);
    base.step(0);
    expect(drain(queue)).toEqual(['far']);
    base.step(6);
    expect(drain(queue)).toEqual(['near', 'next']);
    expect(base.timers()).toBe(0);
  });

  test('a clock that ends the queue during a snapshot shows no keys of another', () => {
    const base = new FakeClock();
    const others: WorkQueue[] = [];
    const clock = {
      now: () => {
        queue.dispose();
        others.push(new WorkQueue());
        others[0]?.add('x');
        return base.now();
      },
      setTimer: base.setTimer.bind(base),
      clearTimer: base.clearTimer.bind(base),
    };
    const queue = new WorkQueue({ clock });
    queue.add('a');
    expectError(() => queue.snapshot(), 'DISPOSED');
  });

  // The outer queue had removed the item, and the inner one trapped: it was lost.
  test('an item that is due when the core traps is recovered', () => {
    const clock = new FakeClock();
    const inner = new WorkQueue();
    const queue = new DelayingQueue({ clock, inner });
    queue.addAfter('a', 5);
    queue.addAfter('b', 5);
    inner.add = () => {
      throw sharedCore().trapped(new WebAssembly.RuntimeError('unreachable'));
    };
    clock.step(5);
    expect(queue.recover().sort()).toEqual(['a', 'b']);
  });

  test('an item that is due when the wrapped queue is poisoned is recovered', () => {
    const clock = new FakeClock();
    const inner = new WorkQueue();
    sharedCore().trapped(new WebAssembly.RuntimeError('unreachable'));
    const queue = new DelayingQueue({ clock, inner });
    queue.addAfter('a', 5);
    clock.step(5);
    expect(reported).toEqual([expect.objectContaining({ code: 'POISONED' })]);
    expect(queue.recover()).toEqual(['a']);
    expect(clock.timers()).toBe(0);
  });

  // After the first clock that threw, the other queues did not reject their gets, which waited for
  // ever.
  test('a clock that throws in a poisoned core does not affect other queues', async () => {
    const clock = new FakeClock();
    const queue = new DelayingQueue({ clock });
    queue.addAfter('a', 5);
    const other = new WorkQueue().get();
    clock.clearTimer = () => {
      throw new Error('clock');
    };
    expect(sharedCore().trapped(new WebAssembly.RuntimeError('unreachable'))).toMatchObject({
      code: 'POISONED',
    });
    await expectRejection(other, 'POISONED');
    expect(reported).toEqual([new Error('clock')]);
    // The timer stayed set on the poisoned queue: it fired into the trapped core, and that was
    // reported as well.
    clock.step(5);
    expect(queue.recover()).toEqual(['a']);
    queue.dispose();
    expect(reported).toEqual([new Error('clock')]);
  });
});
