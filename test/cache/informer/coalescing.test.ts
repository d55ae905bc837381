/** Handlers that are behind: their backlog, its high-water mark, and merging above a limit. */
import {
  type DeletedFinalStateUnknown,
  ListWatch,
  type Registration,
  SharedIndexInformer,
} from 'capstan/cache';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../bindings/base/clock.ts';
import { answer, LiveServer, statusBody } from '../../helpers/cache/live-server.ts';
import { heldHandler, setUp } from '../../helpers/cache/recording-handlers.ts';
import { Random, testSeed } from '../../helpers/random.ts';
import { collectErrors, notExpired } from '../../helpers/reported-errors.ts';
import { type ConfigMap, ConfigMaps } from '../../helpers/resources.ts';

const reported = collectErrors();
const v = (value: number | string) => ({ data: { v: String(value) } });

/** Releases a blocked handler, and returns the notifications since. */
async function drain(
  clock: FakeClock,
  held: ReturnType<typeof heldHandler>,
  registration: Registration,
): Promise<string[]> {
  const from = held.told.length;
  while (registration.pending() > 0) {
    held.next();
    await clock.settle();
  }
  held.next();
  await clock.settle();
  return held.told.slice(from);
}

/** An informer whose handler is blocked in its first notification, for `first`. */
async function stuck(coalesceAbove: number | undefined) {
  const { clock, server, informer } = setUp({ shutdownTimeout: 0 });
  const held = heldHandler();
  const registration = informer.addEventHandler(held.handler, { coalesceAbove });
  server.put('first');
  void informer.run();
  await clock.settle();
  expect(held.told).toEqual(['+first']);
  return { clock, server, informer, held, registration };
}

describe('a backlog', () => {
  test('counts waiting notifications, not the one being delivered', async () => {
    const { clock, server, informer, held, registration } = await stuck(undefined);
    expect(registration.pending()).toBe(0);
    server.put('a');
    server.put('b');
    await clock.settle();
    expect(registration.pending()).toBe(2);
    held.next();
    await clock.settle();
    expect(registration.pending()).toBe(1);
    await informer.stop();
    expect(registration.pending()).toBe(0);
  });

  test('merges nothing by default', async () => {
    const { clock, server, informer, held, registration } = await stuck(undefined);
    for (let i = 0; i < 20; i++) server.put('a', v(i));
    await clock.settle();
    expect(registration.pending()).toBe(20);
    expect(await drain(clock, held, registration)).toHaveLength(20);
    expect(registration.coalesced()).toBe(0);
    await informer.stop();
  });

  test('calls onHighWater at its mark, and again only after half of it', async () => {
    const { clock, server, informer } = setUp({ shutdownTimeout: 0 });
    const held = heldHandler();
    const depths: number[] = [];
    const registration = informer.addEventHandler(held.handler, {
      highWater: {
        at: 4,
        onHighWater(depth) {
          depths.push(depth);
          throw new Error('high water');
        },
      },
    });
    void informer.run();
    await clock.settle();
    const put = async (n: number): Promise<void> => {
      for (let i = 0; i < n; i++) server.put('a', v(i));
      await clock.settle();
    };
    await put(4); // one of them is being delivered
    expect(depths).toEqual([]);
    await put(1);
    expect(depths).toEqual([4]);
    for (const left of [3, 2]) {
      held.next();
      await clock.settle();
      expect(registration.pending()).toBe(left);
    }
    await put(3);
    expect([registration.pending(), depths]).toEqual([5, [4]]);
    await drain(clock, held, registration);
    await put(9);
    expect(depths).toEqual([4, 4]);
    expect(reported.map(({ what }) => what)).toEqual(['informer handler', 'informer handler']);
    await informer.stop();
  });

  test('calls onHighWater also if the initial list reaches the mark', async () => {
    const { clock, server, informer } = setUp();
    const depths: number[] = [];
    for (const name of ['a', 'b', 'c']) server.put(name);
    informer.addEventHandler(
      {},
      { highWater: { at: 2, onHighWater: (depth) => depths.push(depth) } },
    );
    void informer.run();
    await clock.settle();
    expect(depths).toEqual([2]);
    await informer.stop();
  });

  test.each([
    { highWater: { at: 0, onHighWater: () => undefined } },
    { highWater: { at: 1 } as never },
    { coalesceAbove: -1 },
    { coalesceAbove: 1.5 },
    { name: 7 as never },
  ])('is refused with %j', (options) => {
    const { informer } = setUp();
    expect(() => informer.addEventHandler({}, options)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  });
});

describe('above the limit', () => {
  test('updates become one, from the first old state to the last new one', async () => {
    const { clock, server, informer } = setUp();
    const told: [string | undefined, string | undefined, boolean][] = [];
    let release = (): void => undefined;
    informer.addEventHandler(
      {
        onAdd: () => new Promise<void>((resolve) => (release = resolve)) as unknown as undefined,
        onUpdate: (old, now, change) => void told.push([old.data?.v, now.data?.v, change.labels]),
      },
      { coalesceAbove: 0 },
    );
    server.put('a', v(0));
    void informer.run();
    await clock.settle();
    server.put('a', { ...v(1), labels: { l: '1' } });
    server.put('a', { ...v(2), labels: { l: '1' } });
    server.put('a', { ...v(3) });
    await clock.settle();
    release();
    await clock.settle();
    expect(told).toEqual([['0', '3', false]]);
    await informer.stop();
  });

  test('an addition takes the newest state, and a deletion replaces an update', async () => {
    const { clock, server, informer, held, registration } = await stuck(0);
    server.put('a', v(1));
    server.put('a', v(2));
    server.put('first', v(1));
    server.put('first', v(2));
    server.remove('first');
    await clock.settle();
    expect(registration.pending()).toBe(2);
    expect(await drain(clock, held, registration)).toEqual(['a2', '-first2']);
    expect(registration.coalesced()).toBe(3);
    await informer.stop();
  });

  test('an addition and a deletion that both wait cancel out', async () => {
    const { clock, server, informer, held, registration } = await stuck(0);
    for (const name of ['a', 'b', 'a', 'c']) {
      server.put(name, v(1));
      if (name !== 'c') server.remove(name);
    }
    await clock.settle();
    expect(registration.pending()).toBe(1);
    expect(await drain(clock, held, registration)).toEqual(['c1']);
    expect(registration.coalesced()).toBe(6);
    await informer.stop();
  });

  test('a deletion and a later addition stay two notifications', async () => {
    const { clock, server, informer, held, registration } = await stuck(0);
    server.remove('first');
    server.put('first', v(1));
    server.put('first', v(2));
    await clock.settle();
    expect(await drain(clock, held, registration)).toEqual(['-first', 'first2']);
    server.put('other'); // is being delivered
    await clock.settle();
    server.remove('first');
    server.put('first', v(3));
    server.remove('first');
    await clock.settle();
    expect(await drain(clock, held, registration)).toEqual(['-first2']);
    await informer.stop();
  });

  test('only new notifications are merged, into the last waiting one of their key', async () => {
    const { clock, server, informer, held, registration } = await stuck(3);
    for (let i = 1; i <= 10; i++) for (const name of ['a', 'b']) server.put(name, v(i));
    await clock.settle();
    expect(registration.pending()).toBe(3);
    expect(await drain(clock, held, registration)).toEqual(['a1', 'b10', 'a1~a10']);
    expect(registration.coalesced()).toBe(17);
    // Below the limit again: nothing is merged.
    server.put('first');
    server.put('a', v(11));
    server.put('a', v(12));
    await clock.settle();
    expect(await drain(clock, held, registration)).toEqual(['a10~a11', 'a11~a12']);
    expect(registration.coalesced()).toBe(17);
    await informer.stop();
  });

  test('a notification is merged also after an earlier one of its key was delivered', async () => {
    const { clock, server, informer, held, registration } = await stuck(2);
    for (const i of [1, 2, 3]) server.put('a', v(i));
    await clock.settle();
    held.next();
    await clock.settle();
    expect(held.told.slice(1)).toEqual(['a1']);
    server.put('b', v(1));
    server.put('a', v(4));
    await clock.settle();
    expect(await drain(clock, held, registration)).toEqual(['a1~a4', 'b1']);
    await informer.stop();
  });

  test('a merged addition of the initial list stays initial', async () => {
    const { clock, server, informer } = setUp();
    const held = heldHandler();
    for (const name of ['a', 'b', 'c']) server.put(name, v(1));
    const registration = informer.addEventHandler(held.handler, { coalesceAbove: 1 });
    void informer.run();
    await clock.settle();
    server.put('b', v(2));
    server.remove('c');
    await clock.settle();
    expect(registration.hasSynced()).toBe(false);
    held.next();
    await clock.settle();
    expect(held.told).toEqual(['+a1', '+b2']);
    expect(registration.hasSynced()).toBe(false);
    held.next();
    await clock.settle();
    expect(registration.hasSynced()).toBe(true);
    expect(held.told).toHaveLength(2);
    await informer.stop();
  });

  // A list with a repeated key gives two additions. After the first was delivered, the second and a
  // deletion must not cancel out, or the handler would keep the object for ever.
  test('a deletion is delivered after the first addition of a repeated key', async () => {
    const clock = new FakeClock();
    const server = new LiveServer();
    const object = server.put('a', v(1));
    const list = JSON.parse(server.listBody());
    server.intercept = (request) =>
      request.query?.watch
        ? undefined
        : answer(200, JSON.stringify({ ...list, items: [object, object] }));
    const options = { clock, random: () => 0, watchList: false };
    const informer = new SharedIndexInformer(new ListWatch(server, ConfigMaps), options);
    const held = heldHandler();
    const registration = informer.addEventHandler(held.handler, { coalesceAbove: 0 });
    void informer.run();
    await clock.settle();
    expect([held.told, registration.pending()]).toEqual([['+a1'], 1]);
    server.remove('a');
    await clock.settle();
    expect(await drain(clock, held, registration)).toEqual(['+a1', '-a1']);
    await informer.stop();
  });

  test('a handler that merges notifications ends with the state of the server', async () => {
    const seed = testSeed();
    console.log(`coalescing: CAPSTAN_SEED=${seed}`);
    const random = new Random(seed);
    const { clock, server, informer } = setUp();
    const copies = [0, 1, 5, undefined].map((coalesceAbove) => {
      const objects = new Map<string, string | undefined>();
      const waiting: (() => void)[] = [];
      let calls = 0;
      const hold = (): undefined => {
        calls++;
        return new Promise<void>((resolve) => waiting.push(resolve)) as unknown as undefined;
      };
      const registration = informer.addEventHandler(
        {
          onAdd(object) {
            expect(objects.has(object.metadata.name)).toBe(false);
            objects.set(object.metadata.name, object.metadata.resourceVersion);
            return hold();
          },
          onUpdate(old, now) {
            expect(objects.get(now.metadata.name)).toBe(old.metadata.resourceVersion);
            objects.set(now.metadata.name, now.metadata.resourceVersion);
            return hold();
          },
          onDelete(object: ConfigMap | DeletedFinalStateUnknown<ConfigMap>) {
            const name =
              'key' in object ? object.key.slice('default/'.length) : object.metadata.name;
            expect(objects.delete(name)).toBe(true);
            return hold();
          },
        },
        { coalesceAbove },
      );
      const told = (): number => calls;
      return { objects, waiting, registration, coalesceAbove, told };
    });
    void informer.run();
    await clock.settle();
    for (let round = 0; round < 600; round++) {
      const names = server.names();
      if (names.length > 0 && random.chance(0.35)) server.remove(random.pick(names));
      else server.put(`o${random.int(8)}`);
      for (const { waiting } of copies) if (random.chance(0.2)) waiting.shift()?.();
      if (random.chance(0.3)) await clock.settle();
      if (random.chance(0.01)) {
        server.closeWatches(); // what happens until the next watch is only in the next list
        server.intercept = () => {
          server.intercept = undefined;
          return answer(410, statusBody(410, 'Expired'));
        };
        await clock.run(70_000);
      }
      for (const { registration, coalesceAbove } of copies)
        if (coalesceAbove !== undefined)
          expect(registration.pending()).toBeLessThanOrEqual(coalesceAbove + 2 * 8);
    }
    await clock.run(70_000);
    for (const { waiting, registration } of copies) {
      while (registration.pending() > 0 || waiting.length > 0) {
        waiting.shift()?.();
        await clock.settle();
      }
    }
    expect(notExpired(reported)).toEqual([]);
    const content = new Map(
      informer
        .getIndexer()
        .list()
        .map(({ metadata }) => [metadata.name, metadata.resourceVersion]),
    );
    expect([...content.keys()].sort()).toEqual(server.names().sort());
    for (const { objects } of copies) expect(objects).toEqual(content);
    const merged = copies.map(({ registration }) => registration.coalesced());
    // Each notification was delivered or is counted as merged.
    const all = copies.map(({ told, registration }) => told() + registration.coalesced());
    expect(new Set(all).size).toBe(1);
    expect(merged[0]).toBeGreaterThan(50);
    expect(merged[3]).toBe(0);
    await informer.stop();
  });
});
