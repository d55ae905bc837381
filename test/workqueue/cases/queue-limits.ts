/**
 * WorkQueue at its boundaries: a user's order, garbage collection, dispose and bad input, for any
 * implementation.
 */
import {
  FakeClock,
  PrometheusProvider,
  type QueueOrder,
  type Request,
  requestKey,
} from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { expectError, expectRejection, invalidArgument } from '../../helpers/expect-error.ts';
import { isCollected } from '../../helpers/garbage-collection.ts';
import { settle, track } from '../../helpers/promise-state.ts';
import type { Implementation } from '../../helpers/workqueue/implementations.ts';
import { drain } from '../../helpers/workqueue/queue-items.ts';

export function queueLimitCases(make: Implementation): void {
  describe(`WorkQueue: a user's order (${make.name})`, () => {
    class Stack implements QueueOrder<string> {
      readonly items: string[] = [];
      readonly touched: string[] = [];
      touch(item: string): void {
        this.touched.push(item);
      }
      push(item: string): void {
        this.items.push(item);
      }
      len(): number {
        return this.items.length;
      }
      pop(): string {
        return this.items.pop() as string;
      }
    }

    test('pop chooses, and touch is called only for a queued item', () => {
      const order = new Stack();
      const queue = make.queue({ order });
      for (const key of ['a', 'b', 'c', 'a']) queue.add(key);
      expect(order.touched).toEqual(['a']);
      expect(queue.len()).toBe(3);
      expect(queue.tryGet()).toBe('c');
      queue.add('c');
      queue.add('c');
      expect(order.touched).toEqual(['a']);
      expect(queue.tryGet()).toBe('b');
      queue.done('c');
      expect(drain(queue)).toEqual(['c', 'a']);
    });

    /**
     * Story: an order by a member of the items took the newer of two items with one key when it was
     * touched, and popped it; the queue handed out the older one, which the order had dropped. In
     * client-go `Get` returns what `Pop` returns.
     */
    test('the popped item is handed out, also if it replaced another of its key', () => {
      const order = {
        items: [] as { id: string; rank: number }[],
        touch(item: { id: string; rank: number }): void {
          order.items = order.items.map((other) => (other.id === item.id ? item : other));
        },
        push: (item: { id: string; rank: number }): void => void order.items.push(item),
        len: () => order.items.length,
        pop: () =>
          order.items.sort((a, b) => a.rank - b.rank).pop() as { id: string; rank: number },
      };
      const queue = make.queue<{ id: string; rank: number }>({ key: ({ id }) => id, order });
      for (const [id, rank] of [
        ['a', 1],
        ['b', 2],
        ['a', 3],
      ] as const)
        queue.add({ id, rank });
      expect(queue.tryGet()).toEqual({ id: 'a', rank: 3 });
      queue.add({ id: 'a', rank: 4 });
      queue.done({ id: 'a', rank: 3 });
      queue.add({ id: 'a', rank: 5 });
      expect(queue.getBatch(1)).toEqual([{ id: 'a', rank: 5 }]);
      const slots = new Int32Array(1);
      queue.add({ id: 'b', rank: 6 });
      expect(queue.getSlots(slots)).toBe(1);
      expect(queue.slotItem(slots[0] as number)).toEqual({ id: 'b', rank: 6 });
    });

    test('an order that throws or pops an unknown item does not damage the core', () => {
      const order = new Stack();
      const queue = make.queue({ order });
      queue.add('a');
      const problem = new Error('no order today');
      order.pop = () => {
        throw problem;
      };
      expect(() => queue.tryGet()).toThrow();
      order.pop = () => 'ghost';
      expectError(() => queue.tryGet(), 'INVALID_ARGUMENT', /pop/);
      order.pop = () => order.items.pop() as string;
      expect(drain(queue)).toEqual(['a']);
      const other = make.queue();
      other.add('b');
      expect(drain(other)).toEqual(['b']);
    });

    test('a waiting get is served through the order', async () => {
      const queue = make.queue({ queue: new Stack() });
      const get = track(queue.get());
      queue.add('a');
      await settle();
      expect(get.value?.item).toBe('a');
    });
  });

  describe(`WorkQueue: memory (${make.name})`, () => {
    test('an item that is done is not kept in memory', async () => {
      const queue = make.queue<{ id: string }>({ key: (item) => item.id });
      const ref = (() => {
        const item = { id: 'a' };
        queue.add(item);
        queue.done(queue.tryGet() as { id: string });
        return new WeakRef(item);
      })();
      expect(await isCollected(ref)).toBe(true);
      expect(queue.len()).toBe(0);
    });

    test('a queue that is dropped without dispose does not keep its items', async () => {
      const ref = (() => {
        const item = { id: 'a' };
        make.queue<{ id: string }>({ key: ({ id }) => id }).add(item);
        return new WeakRef(item);
      })();
      expect(await isCollected(ref)).toBe(true);
    });
  });

  describe(`WorkQueue: dispose (${make.name})`, () => {
    test('every later use is a typed error; a second dispose is not', async () => {
      const queue = make.queue();
      queue.add('a');
      queue.dispose();
      queue.dispose();
      for (const use of [
        () => queue.add('b'),
        () => queue.tryGet(),
        () => queue.done('a'),
        () => queue.len(),
      ]) {
        expectError(use, 'DISPOSED', /dispose/);
      }
      await expectRejection(queue.get(), 'DISPOSED');
    });

    test('a waiting get ends with the shutdown, and a waiting drain ends', async () => {
      const queue = make.queue();
      const get = queue.get();
      queue.dispose();
      expect(await get).toEqual({ item: undefined, shutdown: true });
      const other = make.queue();
      other.add('a');
      other.tryGet();
      const drained = other.shutDownWithDrain();
      other.dispose();
      await drained;
    });

    test('a using block disposes', () => {
      const queue = make.queue();
      {
        using inside = queue as unknown as Disposable & typeof queue;
        inside.add('a');
      }
      expectError(() => queue.len(), 'DISPOSED');
    });
  });

  describe(`WorkQueue: bad input (${make.name})`, () => {
    test.each([[undefined], [null], [5], [{ id: 1 }], [Symbol('s')]])(
      'an item %s that is not a string needs a key',
      (item) => {
        const queue = make.queue();
        queue.add('a');
        for (const use of [
          () => queue.add(invalidArgument(item)),
          () => queue.done(invalidArgument(item)),
        ]) {
          expectError(use, 'INVALID_ARGUMENT', /string/);
        }
        expect(drain(queue)).toEqual(['a']);
      },
    );

    test.each([[undefined], [7], [null], [{}]])(
      'a key function that returns %s is an error',
      (key) => {
        const queue = make.queue<object>({ key: () => invalidArgument(key) });
        expectError(() => queue.add({}), 'INVALID_ARGUMENT', /key/, /string/);
        expect(queue.len()).toBe(0);
      },
    );

    test('undefined is no item, because tryGet could not return it', () => {
      const queue = make.queue<unknown>({ key: String });
      expectError(() => queue.add(undefined), 'INVALID_ARGUMENT');
      queue.add(null);
      expect(queue.tryGet()).toBe(null);
    });

    test('a key function that throws is a typed error with that cause, and changes nothing', () => {
      const problem = new Error('no key today');
      const queue = make.queue<{ id?: string }>({
        key: ({ id }) => {
          if (id === undefined) throw problem;
          return id;
        },
      });
      queue.add({ id: 'a' });
      for (const use of [() => queue.add({}), () => queue.done({})]) {
        expect(expectError(use, 'INVALID_ARGUMENT', /key/).cause).toBe(problem);
      }
      expect(drain(queue)).toEqual([{ id: 'a' }]);
    });

    test.each([
      [{}],
      [{ namespace: 'a' }],
      [{ name: 'a' }],
      [{ namespace: 1, name: 'a' }],
      [null],
      ['a/b'],
    ])('a request %j that lacks a part is an error', (request) => {
      const queue = make.queue<Request>({ key: requestKey });
      expectError(
        () => queue.add(invalidArgument(request)),
        'INVALID_ARGUMENT',
        /namespace/,
        /name/,
      );
      expect(queue.len()).toBe(0);
    });

    test.each([
      ['key', 'id'],
      ['clock', {}],
      ['name', 5],
      ['metricsProvider', {}],
      ['order', {}],
      ['inner', {}],
    ])('an option "%s" of the wrong type is an error', (option, value) => {
      expectError(
        () => make.queue(invalidArgument({ name: 'q', [option]: value })),
        'INVALID_ARGUMENT',
        option,
      );
    });

    test('an order may have its former name "queue", but not both', () => {
      const items: string[] = [];
      const order = {
        touch: () => undefined,
        push: (item: string) => void items.unshift(item),
        len: () => items.length,
        pop: () => items.shift() ?? '',
      };
      const queue = make.queue({ queue: order });
      queue.addAll(['a', 'b']);
      expect([queue.tryGet(), queue.tryGet()]).toEqual(['b', 'a']);
      expectError(() => make.queue({ queue: order, order }), 'INVALID_ARGUMENT', /beside "order"/);
    });

    test('invalid options and signals are errors', async () => {
      expectError(() => make.queue(invalidArgument('fast')), 'INVALID_ARGUMENT');
      await expectRejection(
        make.queue().get({ signal: invalidArgument({}) }),
        'INVALID_ARGUMENT',
        /signal/,
      );
      const queue = make.queue();
      queue.add('a');
      queue.tryGet();
      await expectRejection(
        queue.shutDownWithDrain({ signal: invalidArgument(5) }),
        'INVALID_ARGUMENT',
        /signal/,
      );
      expect(queue.shuttingDown()).toBe(false);
    });

    test('a clock that throws leaves the queue as it was', () => {
      const problem = new Error('no time today');
      let broken = false;
      class Clock extends FakeClock {
        override now(): number {
          if (broken) throw problem;
          return super.now();
        }
      }
      const metricsProvider = new PrometheusProvider();
      const queue = make.queue({ name: 'timed', clock: new Clock(), metricsProvider });
      queue.add('a');
      broken = true;
      for (const use of [() => queue.add('b'), () => queue.tryGet()]) expect(use).toThrow();
      broken = false;
      expect(drain(queue)).toEqual(['a']);
    });

    test('a queue needs no timer', () => {
      const clock = new FakeClock();
      const queue = make.queue({ clock });
      queue.add('a');
      expect(clock.timers()).toBe(0);
    });
  });
}
