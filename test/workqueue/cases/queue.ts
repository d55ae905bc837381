/**
 * The contract of WorkQueue: order, keys, waiting, signals, shutdown and iteration, for any
 * implementation.
 */
import { type Request, requestKey } from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { countListeners } from '../../helpers/abort-listeners.ts';
import { expectRejection } from '../../helpers/expect-error.ts';
import { settle, track } from '../../helpers/promise-state.ts';
import { collidingWholes } from '../../helpers/workqueue/colliding-keys.ts';
import { distinctKeys, distinctRequests } from '../../helpers/workqueue/hostile-keys.ts';
import type { Implementation } from '../../helpers/workqueue/implementations.ts';
import { drain, itemOf } from '../../helpers/workqueue/queue-items.ts';

export function queueCases(make: Implementation): void {
  describe(`WorkQueue: order and deduplication (${make.name})`, () => {
    test('items come out in the order in which they were added', () => {
      const queue = make.queue();
      for (const key of ['c', 'a', 'b']) queue.add(key);
      expect(drain(queue)).toEqual(['c', 'a', 'b']);
      expect(queue.tryGet()).toBeUndefined();
    });

    test('an item that is queued is not queued again', () => {
      const queue = make.queue();
      queue.add('a');
      queue.add('b');
      queue.add('a');
      expect(queue.len()).toBe(2);
      expect(drain(queue)).toEqual(['a', 'b']);
    });

    test('an item that is added while it is processed comes back once, after done', () => {
      const queue = make.queue();
      queue.add('a');
      expect(queue.tryGet()).toBe('a');
      queue.add('a');
      queue.add('a');
      queue.add('b');
      expect(queue.len()).toBe(1);
      queue.done('a');
      expect(queue.len()).toBe(2);
      expect(drain(queue)).toEqual(['b', 'a']);
    });

    test('done of an item that was never added has no effect', () => {
      const queue = make.queue();
      queue.done('ghost');
      queue.add('a');
      queue.done('ghost');
      expect(drain(queue)).toEqual(['a']);
    });

    test('done of a queued item that was not handed out leaves it queued once', () => {
      const queue = make.queue();
      queue.add('a');
      queue.done('a');
      expect(queue.len()).toBe(1);
      expect(drain(queue)).toEqual(['a']);
    });

    test('a second done has no effect', () => {
      const queue = make.queue();
      queue.add('a');
      queue.tryGet();
      queue.add('a');
      queue.done('a');
      queue.done('a');
      expect(queue.len()).toBe(1);
      expect(drain(queue)).toEqual(['a']);
    });

    test('two queues of one process are independent', () => {
      const [one, two] = [make.queue(), make.queue()];
      one.add('a');
      two.add('b');
      two.done('a');
      expect([drain(one), drain(two)]).toEqual([['a'], ['b']]);
    });

    test('a hundred thousand keys keep their order across growth', () => {
      const queue = make.queue();
      const keys = Array.from({ length: 100_000 }, (_, i) => `team-${i % 200}/web-${i}`);
      for (const key of keys) queue.add(key);
      expect(queue.len()).toBe(keys.length);
      expect(drain(queue)).toEqual(keys);
      queue.dispose();
    });
  });

  describe(`WorkQueue: keys (${make.name})`, () => {
    test('no two strings are merged and none is changed, however hostile', () => {
      const queue = make.queue();
      for (const key of distinctKeys) queue.add(key);
      expect(queue.len()).toBe(distinctKeys.length);
      for (const key of distinctKeys) queue.add(`${key}`);
      expect(queue.len()).toBe(distinctKeys.length);
      expect(drain(queue)).toEqual(distinctKeys);
    });

    // A table in JS looks at six characters of a key, then at all, then it takes a Map.
    test.each([
      ['the last characters', Array.from({ length: 2_000 }, (_, i) => `team-${i}/default`)],
      ['all that a hash tells', collidingWholes(5)],
    ])('keys that are one in %s come and go as others do', (_name, alike) => {
      const queue = make.queue();
      const others = Array.from({ length: 300 }, (_, i) => `web-${i}`);
      queue.addAll(others.slice(0, 100));
      queue.addAll(alike);
      queue.addAll(others.slice(100, 200));
      queue.addAll(alike.map((key) => `${key}`));
      const want = [...others.slice(0, 100), ...alike, ...others.slice(100, 200)];
      expect(queue.len()).toBe(want.length);
      expect(drain(queue)).toEqual(want);
      for (const key of [...alike, ...others]) {
        queue.add(key);
        queue.add(`${key}`);
        expect(queue.tryGet()).toBe(key);
        queue.done(`${key}`);
        expect(queue.len()).toBe(0);
      }
      queue.dispose();
    });

    test('an equal new string is the same key', () => {
      const queue = make.queue();
      for (const key of distinctKeys) {
        queue.add(key);
        const got = queue.tryGet();
        queue.add([...Array(key.length).keys()].map((i) => key[i]).join(''));
        expect(queue.len()).toBe(0);
        queue.done(got as string);
        expect(drain(queue)).toEqual([key]);
      }
    });

    test('no two requests are merged, and an equal new one is the same', () => {
      const queue = make.queue<Request>({ key: requestKey });
      for (const request of distinctRequests) queue.add(request);
      for (const { namespace, name } of distinctRequests) queue.add({ namespace, name });
      expect(queue.len()).toBe(distinctRequests.length);
      for (const request of distinctRequests) {
        expect(queue.tryGet()).toEqual(request);
        queue.done({ ...request });
      }
      expect(queue.len()).toBe(0);
    });

    test("('a', 'b/c') and ('a/b', 'c') are different requests", () => {
      const queue = make.queue<Request>({ key: requestKey });
      queue.add({ namespace: 'a', name: 'b/c' });
      queue.add({ namespace: 'a/b', name: 'c' });
      queue.add({ namespace: 'a', name: 'b/c' });
      expect(queue.len()).toBe(2);
      queue.done(queue.tryGet() as Request);
      expect(drain(queue)).toEqual([{ namespace: 'a/b', name: 'c' }]);
    });

    test('a key function with the text of requestKey is an ordinary one', () => {
      const queue = make.queue<Request>({
        key: (request) => `${request.namespace}/${request.name}`,
      });
      queue.add({ namespace: 'a', name: 'b/c' });
      queue.add({ namespace: 'a/b', name: 'c' });
      expect(queue.len()).toBe(1);
    });

    test('any item works with a key function, and an added item is handed out', () => {
      const queue = make.queue<{ id: number }>({ key: (item) => String(item.id) });
      const [one, two] = [{ id: 1 }, { id: 2 }];
      queue.add(one);
      queue.add(two);
      queue.add({ id: 1 });
      expect(queue.tryGet()?.id).toBe(1);
      expect(queue.tryGet()).toBe(two);
      queue.add({ id: 2 });
      queue.done({ id: 2 });
      queue.done({ id: 1 });
      expect(queue.len()).toBe(1);
      expect(queue.tryGet()).toEqual({ id: 2 });
    });
  });

  describe(`WorkQueue: waiting (${make.name})`, () => {
    test('get returns a queued item at once, and otherwise waits', async () => {
      const queue = make.queue();
      queue.add('a');
      expect(await queue.get()).toEqual({ item: 'a', shutdown: false });
      const waiting = track(queue.get());
      await settle();
      expect(waiting.state).toBe('pending');
      queue.add('b');
      await settle();
      expect(waiting.value).toEqual({ item: 'b', shutdown: false });
    });

    test('waiting gets are served in order, one per item', async () => {
      const queue = make.queue();
      const gets = [track(queue.get()), track(queue.get()), track(queue.get())];
      queue.add('a');
      queue.add('b');
      await settle();
      expect(gets.map((get) => get.value?.item)).toEqual(['a', 'b', undefined]);
      expect(gets[2]?.state).toBe('pending');
      queue.shutDown();
    });

    test('a duplicate add wakes no get', async () => {
      const queue = make.queue();
      const [first, second] = [track(queue.get()), track(queue.get())];
      queue.add('a');
      queue.add('a');
      await settle();
      expect([first.state, second.state]).toEqual(['fulfilled', 'pending']);
      queue.done('a');
      await settle();
      expect(second.value?.item).toBe('a');
    });

    test('the item of a waiting get is not lost if tryGet runs in between', async () => {
      const queue = make.queue();
      const waiting = track(queue.get());
      queue.add('a');
      const taken = queue.tryGet();
      await settle();
      const delivered = [taken, waiting.value?.item].filter((item) => item !== undefined);
      expect(delivered).toEqual(['a']);
      queue.add('b');
      const other = taken === undefined ? track(queue.get()) : waiting;
      await settle();
      expect(other.value?.item).toBe('b');
    });

    test('a hundred waiting gets and a hundred adds in one turn: each is served once', async () => {
      const queue = make.queue();
      const gets = Array.from({ length: 100 }, () => queue.get());
      const keys = Array.from({ length: 100 }, (_, i) => `key-${i}`);
      for (const key of keys) queue.add(key);
      expect((await Promise.all(gets)).map(itemOf)).toEqual(keys);
      expect(queue.len()).toBe(0);
    });
  });

  describe(`WorkQueue: signals (${make.name})`, () => {
    test('a get whose signal has fired rejects and takes nothing', async () => {
      const queue = make.queue();
      queue.add('a');
      await expectRejection(queue.get({ signal: AbortSignal.abort() }), 'ABORTED');
      expect(drain(queue)).toEqual(['a']);
    });

    test('a waiting get rejects when its signal fires, and the next one is served', async () => {
      const queue = make.queue();
      const controller = new AbortController();
      const aborted = queue.get({ signal: controller.signal });
      const next = track(queue.get());
      const reason = new Error('enough');
      controller.abort(reason);
      expect((await expectRejection(aborted, 'ABORTED')).cause).toBe(reason);
      queue.add('a');
      await settle();
      expect(next.value?.item).toBe('a');
    });

    test('an abort in the turn of the add loses nothing', async () => {
      const queue = make.queue();
      const controller = new AbortController();
      const get = track(queue.get({ signal: controller.signal }));
      queue.add('a');
      controller.abort();
      await settle();
      const left = drain(queue);
      expect(get.state === 'fulfilled' ? [get.value?.item, ...left] : left).toEqual(['a']);
    });

    test('an answered get keeps no listener on its signal', async () => {
      const queue = make.queue();
      const { signal } = new AbortController();
      const listeners = countListeners(signal);
      const gets = [queue.get({ signal }), queue.get({ signal })];
      expect(listeners()).toBe(2);
      queue.add('a');
      queue.add('b');
      await Promise.all(gets);
      queue.add('c');
      await queue.get({ signal });
      const last = queue.get({ signal });
      queue.shutDown();
      await last;
      expect(listeners()).toBe(0);
    });

    test('a drain rejects when its signal fires; the queue stays shut down', async () => {
      const queue = make.queue();
      queue.add('a');
      queue.tryGet();
      const controller = new AbortController();
      const listeners = countListeners(controller.signal);
      const drained = queue.shutDownWithDrain({ signal: controller.signal });
      expect(listeners()).toBe(1);
      controller.abort();
      await expectRejection(drained, 'ABORTED');
      expect(queue.shuttingDown()).toBe(true);
      expect(listeners()).toBe(0);
    });

    test('an aborted drain does not take the wake-up of another', async () => {
      const queue = make.queue();
      queue.add('a');
      queue.tryGet();
      const controller = new AbortController();
      const patient = track(queue.shutDownWithDrain());
      const hasty = queue.shutDownWithDrain({ signal: controller.signal });
      controller.abort();
      await expectRejection(hasty, 'ABORTED');
      queue.done('a');
      await settle();
      expect(patient.state).toBe('fulfilled');
    });
  });

  describe(`WorkQueue: shutdown (${make.name})`, () => {
    test('adds are dropped, queued items are handed out, then gets end', async () => {
      const queue = make.queue();
      queue.add('a');
      expect(queue.shuttingDown()).toBe(false);
      queue.shutDown();
      queue.shutDown();
      expect(queue.shuttingDown()).toBe(true);
      queue.add('b');
      expect(await queue.get()).toEqual({ item: 'a', shutdown: false });
      expect(await queue.get()).toEqual({ item: undefined, shutdown: true });
      expect(queue.tryGet()).toBeUndefined();
    });

    test('every waiting get ends', async () => {
      const queue = make.queue();
      const gets = [queue.get(), queue.get()];
      queue.shutDown();
      expect(await Promise.all(gets)).toEqual(Array(2).fill({ item: undefined, shutdown: true }));
    });

    test('a dirty item comes back on done, also after a worker saw the shutdown', async () => {
      const queue = make.queue();
      queue.add('a');
      queue.tryGet();
      queue.add('a');
      queue.shutDown();
      expect((await queue.get()).shutdown).toBe(true);
      queue.done('a');
      expect(await queue.get()).toEqual({ item: 'a', shutdown: false });
    });

    test('a drain waits for processing items and not for queued ones', async () => {
      const queue = make.queue();
      for (const key of ['a', 'b']) queue.add(key);
      queue.tryGet();
      const drained = track(queue.shutDownWithDrain());
      queue.add('c');
      await settle();
      expect(drained.state).toBe('pending');
      queue.done('a');
      await settle();
      expect(drained.state).toBe('fulfilled');
      expect(drain(queue)).toEqual(['b']);
    });

    test('a drain of an idle queue returns, and shutDown ends a waiting one', async () => {
      const idle = make.queue();
      await idle.shutDownWithDrain();
      const busy = make.queue();
      busy.add('a');
      busy.tryGet();
      const drained = busy.shutDownWithDrain();
      busy.shutDown();
      await drained;
    });
  });

  describe(`WorkQueue: async iteration (${make.name})`, () => {
    test('hands out items until shutdown and never calls done', async () => {
      const queue = make.queue();
      for (const key of ['a', 'b', 'c']) queue.add(key);
      const seen: string[] = [];
      for await (const item of queue) {
        seen.push(item);
        queue.add(item);
        if (seen.length === 3) queue.shutDown();
      }
      expect(seen).toEqual(['a', 'b', 'c']);
      expect(queue.len()).toBe(0);
      for (const item of seen) queue.done(item);
      expect(drain(queue)).toEqual(['a', 'b', 'c']);
    });

    test('several loops share one queue', async () => {
      const queue = make.queue();
      const seen: string[] = [];
      const loop = async () => {
        for await (const item of queue) {
          seen.push(item);
          queue.done(item);
        }
      };
      const loops = [loop(), loop(), loop()];
      for (let i = 0; i < 30; i++) queue.add(`key-${i}`);
      await settle();
      queue.shutDown();
      await Promise.all(loops);
      expect(seen).toHaveLength(30);
      expect(new Set(seen).size).toBe(30);
    });

    // Its item went to an abandoned next(), and stayed in processing.
    test('a loop that is left while it waits ends at once, and takes nothing', async () => {
      const queue = make.queue();
      const items = queue[Symbol.asyncIterator]();
      const waiting = items.next();
      const end = { done: true, value: undefined };
      expect(await Promise.all([items.return?.(), waiting])).toEqual([end, end]);
      queue.add('a');
      expect(drain(queue)).toEqual(['a']);
      expect(await items.next()).toEqual(end);
    });

    test('leaving the loop leaves the queue usable', async () => {
      const queue = make.queue();
      queue.add('a');
      queue.add('b');
      for await (const item of queue) {
        expect(item).toBe('a');
        break;
      }
      expect(queue.shuttingDown()).toBe(false);
      expect(queue.tryGet()).toBe('b');
    });
  });
}
