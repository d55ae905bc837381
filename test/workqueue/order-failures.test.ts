/**
 * A user's order that throws, loses its items or returns invalid results: no key is lost, and no
 * get waits while a key is ready.
 */
import {
  DelayingQueue,
  FakeClock,
  ItemExponentialFailureRateLimiter,
  type QueueOrder,
  RateLimitingQueue,
  WorkQueue,
} from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { collectErrorValues } from '../helpers/reported-errors.ts';
import { drain } from '../helpers/workqueue/queue-items.ts';
import { RecordingProvider } from '../helpers/workqueue/recording-metrics.ts';

const reported = collectErrorValues();

/** First in, first out; each method can throw a given number of times. */
class Failing implements QueueOrder<string> {
  readonly items: string[] = [];
  readonly fails = { touch: 0, push: 0, len: 0, pop: 0 };
  /** Whether pop removes the item before it throws. */
  popsFirst = false;

  touch(_item: string): void {
    this.#fail('touch');
  }
  push(item: string): void {
    this.#fail('push');
    this.items.push(item);
  }
  len(): number {
    this.#fail('len');
    return this.items.length;
  }
  pop(): string {
    if (this.popsFirst && this.fails.pop > 0) this.items.shift();
    this.#fail('pop');
    return this.items.shift() as string;
  }

  #fail(method: keyof Failing['fails']): void {
    if (this.fails[method] > 0) {
      this.fails[method]--;
      throw new Error(method);
    }
  }
}

const gotten = (get: Promise<{ item: string | undefined }>): Promise<string | undefined> =>
  get.then(
    ({ item }) => item,
    (error) => `rejected: ${error.message}`,
  );

describe('push', () => {
  // The core had the key as ready and the order did not: every later add of it was ignored.
  test.each([
    ['add', (queue: WorkQueue) => queue.add('x')],
    ['addAll', (queue: WorkQueue) => queue.addAll(['x'])],
    ['addSlots', (queue: WorkQueue) => queue.addSlots(Int32Array.of(queue.pin('x')), 1)],
  ])('that throws leaves nothing of an %s behind, and the next add works', async (_, add) => {
    const order = new Failing();
    const provider = new RecordingProvider();
    const queue = new WorkQueue({ order, name: 'q', metricsProvider: provider });
    const waiting = gotten(queue.get());
    order.fails.push = 2;
    expect(() => add(queue)).toThrow('push');
    expect(() => add(queue)).toThrow('push');
    expect([queue.len(), queue.snapshot().keys]).toEqual([0, []]);
    add(queue);
    expect(await waiting).toBe('x');
    queue.done('x');
    expect([queue.len(), queue.tryGet(), drain(queue)]).toEqual([0, undefined, []]);
    expect(reported).toEqual([]);
    queue.shutDown();
  });

  test('that throws when a key is done or due loses no key', async () => {
    const clock = new FakeClock();
    const order = new Failing();
    const queue = new RateLimitingQueue(new ItemExponentialFailureRateLimiter(100, 1_000), {
      clock,
      order,
    });
    queue.add('x');
    expect(queue.tryGet()).toBe('x');
    queue.addAll(['x', 'y']);
    order.fails.push = 1;
    queue.done('x');
    expect(reported.splice(0)).toMatchObject([{ message: 'push' }]);
    expect(queue.len()).toBe(2);
    expect(drain(queue)).toEqual(['x', 'y']);

    order.fails.push = 2;
    queue.addRateLimited('limited');
    queue.addAfter('late', 100);
    queue.addAfter('later', 200);
    clock.step(100);
    expect(reported.splice(0)).toMatchObject([{ message: 'push' }, { message: 'push' }]);
    expect(queue.waiting()).toBe(3);
    clock.step(200);
    expect(drain(queue)).toEqual(['later']);
    clock.step(1_000);
    expect(drain(queue).sort()).toEqual(['late', 'limited']);
    queue.shutDown();
    expect(clock.timers()).toBe(0);
  });

  test('that always throws when keys are done loses the order, not the keys', () => {
    const order = new Failing();
    const queue = new WorkQueue({ order });
    const keys = ['a', 'b', 'c'];
    queue.addAll(keys);
    order.fails.push = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 5; round++) {
      expect(queue.getBatch(9)).toEqual(keys);
      queue.addAll(keys);
      queue.doneAll(keys);
    }
    expect(reported).toHaveLength(15);
  });

  test('that is async and fails is reported; its lost item is handed out', async () => {
    const items: string[] = [];
    const queue = new WorkQueue({
      queue: {
        touch: () => undefined,
        push: (item) =>
          item === 'lost'
            ? (Promise.reject(new Error('late')) as unknown as undefined)
            : void items.push(item),
        len: () => items.length,
        pop: () => items.shift() as string,
      },
    });
    queue.addAll(['lost', 'a']);
    await new Promise(setImmediate);
    expect(reported.splice(0)).toEqual([new Error('late')]);
    expect(drain(queue)).toEqual(['a', 'lost']);
    expect(reported).toMatchObject([
      { message: '"order.len()" expected 1 keys that were pushed and not popped, got 0' },
    ]);
  });

  test('that ends its queue and throws rejects the add', () => {
    const queue: WorkQueue = new WorkQueue({
      queue: {
        ...{ touch: () => undefined, len: () => 0, pop: () => 'x' },
        push() {
          queue.dispose();
          throw new Error('ended');
        },
      },
    });
    expect(() => queue.add('x')).toThrow('ended');
    expect(() => queue.add('x')).toThrow('dispose');
  });
});

// add() threw the error of pop, and the get waited with the key ready, until the next add.
describe.each([false, true])('pop that throws, with the item removed: %s', (popsFirst) => {
  test('rejects the get, also a waiting one, and the key comes out after it', async () => {
    for (const waits of [false, true]) {
      const order = new Failing();
      order.popsFirst = popsFirst;
      const queue = new WorkQueue({ order });
      order.fails.pop = 1;
      const waiting = waits ? [gotten(queue.get()), gotten(queue.get())] : [];
      queue.add('x');
      if (!waits) waiting.push(gotten(queue.get()), gotten(queue.get()));
      expect(await Promise.all(waiting)).toEqual(['rejected: pop', 'x']);
      queue.done('x');
      queue.add('x');
      expect(drain(queue)).toEqual(['x']);
      expect(reported.splice(0)).toHaveLength(popsFirst ? 1 : 0);
    }
  });

  test('always loses no key: recover() has them', () => {
    const order = new Failing();
    order.popsFirst = popsFirst;
    order.fails.pop = Number.POSITIVE_INFINITY;
    const queue = new WorkQueue({ order });
    queue.addAll(['a', 'b']);
    const got: string[] = [];
    for (let i = 0; i < 10; i++) {
      try {
        const item = queue.tryGet();
        if (item !== undefined) got.push(item);
      } catch (error) {
        expect(error).toMatchObject({ message: 'pop' });
      }
    }
    expect(got).toEqual(popsFirst ? ['a', 'b'] : []);
    expect(queue.recover()).toEqual(['a', 'b']);
  });
});

test.each([undefined, Number.NaN, '1', -1, Promise.resolve(1)])(
  'len that returns %s is an error of the get and of len(), and the key stays',
  async (answer) => {
    const order = new Failing();
    const queue = new WorkQueue({ order });
    const { len } = order;
    queue.add('x');
    order.len = () => answer as number;
    expect(await gotten(queue.get())).toContain('"order.len()" expected a number >= 0');
    expect(() => queue.len()).toThrow('"order.len()"');
    order.len = len;
    expect(drain(queue)).toEqual(['x']);
  },
);

test.each<[string, () => unknown]>([
  ['undefined', () => undefined],
  ['an item that was never pushed', () => 'never pushed'],
  ['a promise', () => Promise.reject(new Error('late'))],
])(
  'pop that returns %s is an error of the get, and the key comes out after it',
  async (_, answer) => {
    const order = new Failing();
    const { pop } = order;
    const queue = new WorkQueue({ order });
    queue.add('x');
    order.pop = () => {
      order.items.shift();
      return answer() as string;
    };
    expect(() => queue.tryGet()).toThrow();
    order.pop = pop;
    expect(drain(queue)).toEqual(['x']);
  },
);

test('touch that throws rejects the add, and the key stays', () => {
  const order = new Failing();
  const queue = new WorkQueue({ order });
  queue.add('x');
  order.fails.touch = 1;
  expect(() => queue.add('x')).toThrow('touch');
  expect(drain(queue)).toEqual(['x']);
});

// With a user's order or metrics a delayed add ends by the key function: its error was reported,
// and the item was lost.
test('a key function that throws when a delay ends is called again each second', () => {
  const clock = new FakeClock();
  let fails = false;
  const key = (item: string): string => {
    if (fails) throw new Error('key');
    return item;
  };
  const queue = new DelayingQueue({ clock, key, queue: new Failing() });
  queue.addAfter('x', 100);
  queue.addAfter('y', 100);
  fails = true;
  clock.step(100);
  clock.step(1_000);
  expect(reported.splice(0)).toHaveLength(4);
  fails = false;
  clock.step(1_000);
  expect(drain(queue)).toEqual(['x', 'y']);
  queue.addAfter('x', 100);
  fails = true;
  clock.step(100);
  queue.shutDown();
  expect(clock.timers()).toBe(0);
});

test('a limiter without numRequeues hides no key of a snapshot', () => {
  const limiter = { when: () => 5, forget: () => undefined, numRequeues: () => Number.NaN };
  const queue = new RateLimitingQueue(limiter, { clock: new FakeClock() });
  queue.add('x');
  expect(queue.snapshot().keys).toMatchObject([{ item: 'x', state: 'ready' }]);
  expect(reported).toMatchObject([{ code: 'INVALID_ARGUMENT' }]);
  queue.shutDown();
});
