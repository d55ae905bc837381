/** Channel, timer and function sources. */
import {
  channelSource,
  EventChannel,
  enqueueRequestForObject,
  funcSource,
  type GenericEvent,
  newPredicateFuncs,
  timerSource,
} from 'capstan/controller';
import { FakeClock, type Request } from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import {
  type EventObject,
  eventObject,
  RecordingQueue,
  started,
  telling,
} from '../helpers/controller/recording-queues.ts';
import { collectErrors } from '../helpers/reported-errors.ts';

const reported = collectErrors();
const clock = new FakeClock();
const invalid = expect.objectContaining({ code: 'INVALID_ARGUMENT' });

/** A handler that holds each event until `next` is called. */
function held() {
  const received: string[] = [];
  const waiting: (() => void)[] = [];
  const handler = {
    generic({ object }: GenericEvent<EventObject>) {
      received.push(object.metadata.name);
      return new Promise<void>((resolve) => void waiting.push(resolve));
    },
  };
  return { told: received, handler, next: () => waiting.shift()?.() };
}

describe('a channel source', () => {
  test('passes sent objects through the predicates to the handler, as generic events', async () => {
    const events = new EventChannel<EventObject>();
    const received: string[] = [];
    const notB = newPredicateFuncs((object: EventObject) => object.metadata.name !== 'b', {
      name: 'notB',
    });
    const source = channelSource({ events, handler: telling(received), predicates: [notB], clock });
    const { queue } = await started(source);
    for (const name of ['a', 'b', 'c']) expect(events.trySend(eventObject(name))).toBe(true);
    await clock.settle();
    expect(received).toEqual(['generic n/a', 'generic n/c']);
    expect(queue.added[0]).toEqual({
      request: 'n/a',
      cause: {
        kind: 'generic',
        source: 'channel',
        object: { kind: '', namespace: 'n', name: 'a', resourceVersion: '1' },
        predicate: 'notB',
        at: clock.now(),
      },
    });
    expect(source.status?.()).toEqual({
      synced: true,
      events: { handled: 2, filtered: 1, failed: 0 },
    });
    expect(source.waitForSync).toBeUndefined();
  });

  test('awaits an async handler before the next event, and reads only its buffer', async () => {
    const requested: number[] = [];
    async function* endless(): AsyncGenerator<GenericEvent<EventObject>> {
      for (let i = 1; ; i++) {
        requested.push(i);
        yield { object: eventObject(`e${i}`) };
      }
    }
    const { told, handler, next } = held();
    await started(channelSource({ events: endless(), handler, bufferSize: 2, clock }));
    await clock.settle();
    // One event is in the handler, two are in the buffer, one waits for room.
    expect([told, requested.length]).toEqual([['e1'], 4]);
    next();
    await clock.settle();
    expect([told, requested.length]).toEqual([['e1', 'e2'], 5]);
  });

  test('passes pending events in order once the handler continues', async () => {
    const events = new EventChannel<EventObject>({ capacity: 1 });
    const { told, handler, next } = held();
    await started(channelSource({ events, handler, bufferSize: 1, clock }));
    for (const name of ['a', 'b', 'c', 'd'])
      await Promise.race([events.send(eventObject(name)), clock.settle()]);
    expect(told).toEqual(['a']);
    for (let i = 0; i < 4; i++) {
      next();
      await clock.settle();
    }
    expect(told).toEqual(['a', 'b', 'c', 'd']);
  });

  test('gets objects that were sent before it started', async () => {
    const events = new EventChannel<EventObject>();
    events.trySend(eventObject('early'));
    const received: string[] = [];
    await started(channelSource({ events, handler: telling(received), clock }));
    await clock.settle();
    expect(received).toEqual(['generic n/early']);
  });

  test('ends when its channel is closed, after the events in it', async () => {
    const events = new EventChannel<EventObject>();
    events.trySend(eventObject('last'));
    events.close();
    const received: string[] = [];
    const source = channelSource({ events, handler: telling(received), clock });
    await started(source);
    await clock.settle();
    expect(received).toEqual(['generic n/last']);
    expect(source.status?.().problem).toBeUndefined();
    expect(events.trySend(eventObject('late'))).toBe(false);
    await expect(events.send(eventObject('late'))).rejects.toMatchObject({ code: 'STOPPED' });
  });

  test('reports an iterable that throws, and shows it as its problem', async () => {
    const error = new Error('the broker is gone');
    async function* failing(): AsyncGenerator<GenericEvent<EventObject>> {
      yield { object: eventObject('a') };
      throw error;
    }
    const received: string[] = [];
    const source = channelSource({
      events: failing(),
      handler: telling(received),
      name: 'broker',
      clock,
    });
    await started(source);
    await clock.settle();
    expect(received).toEqual(['generic n/a']);
    expect(reported).toEqual([{ error, what: 'source "broker": its events' }]);
    expect(source.status?.().problem).toContain('the broker is gone');
  });

  // The source released its channel some microtasks after its signal: it took an event that a
  // webhook had sent in between, and that was answered with 202.
  test('leaves objects that are sent in the turn of its end to the next source', async () => {
    const events = new EventChannel<EventObject>();
    const received: string[] = [];
    const { stop } = await started(channelSource({ events, handler: telling(received), clock }));
    events.trySend(eventObject('before'));
    await clock.settle();
    stop();
    expect(events.trySend(eventObject('meanwhile'))).toBe(true);
    await clock.settle();
    expect(events.length).toBe(1);
    await started(channelSource({ events, handler: telling(received), clock }));
    await clock.settle();
    expect(received).toEqual(['generic n/before', 'generic n/meanwhile']);
  });

  test('releases its iterable at the end, and reads nothing more', async () => {
    let returned = 0;
    const events: AsyncIterable<GenericEvent<EventObject>> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => undefined),
        return: () => {
          returned++;
          return Promise.resolve({ done: true, value: undefined });
        },
      }),
    };
    const { stop } = await started(
      channelSource({ events, handler: enqueueRequestForObject(), clock }),
    );
    await clock.settle();
    expect(returned).toBe(0);
    stop();
    await clock.settle();
    expect(returned).toBe(1);
  });

  test('reports a value that is not an event, and an iterable that fails to return', async () => {
    const values = [
      undefined,
      1,
      null,
      { object: eventObject('a') },
    ] as GenericEvent<EventObject>[];
    const events: AsyncIterable<GenericEvent<EventObject>> = {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          const [value] = values.splice(0, 1);
          return values.length > 0 || value
            ? Promise.resolve({ value: value as never })
            : new Promise(() => undefined);
        },
        return: () => {
          throw new Error('stuck');
        },
      }),
    };
    const received: string[] = [];
    const { stop } = await started(channelSource({ events, handler: telling(received), clock }));
    await clock.settle();
    stop();
    await clock.settle();
    expect(received).toEqual(['generic n/a']);
    expect(reported.map(({ error }) => String(error))).toEqual([
      ...['undefined', '1', 'null'].map((what) =>
        expect.stringMatching(`"event" expected an object .* got ${what}$`),
      ),
      'Error: stuck',
    ]);
  });

  // A generator returns only after its next event, and would have swallowed that one.
  test('that was removed leaves later events to the source that follows it', async () => {
    const events = new EventChannel<EventObject>();
    const { stop } = await started(channelSource({ events, handler: telling([]), clock }));
    await clock.settle();
    stop();
    const received: string[] = [];
    await started(channelSource({ events, handler: telling(received), clock }));
    for (const name of ['a', 'b']) events.trySend(eventObject(name));
    await clock.settle();
    expect(received).toEqual(['generic n/a', 'generic n/b']);
  });

  test('yields to the event loop while events come without a pause', async () => {
    let endless = true;
    async function* always(): AsyncGenerator<GenericEvent<EventObject>> {
      while (endless) yield { object: eventObject('a') };
    }
    // Its events never wait: if the source did not yield, settling would never return.
    const real = {
      now: () => performance.now(),
      setTimer: clock.setTimer,
      clearTimer: clock.clearTimer,
    };
    const source = channelSource({
      events: always(),
      handler: { generic: () => undefined },
      clock: real,
    });
    await started(source);
    await clock.settle();
    endless = false;
    expect(source.status?.().events.handled).toBeGreaterThan(0);
  });

  test('refuses options that make no sense', () => {
    const handler = enqueueRequestForObject();
    expect(() =>
      channelSource({ events: [] as unknown as EventChannel<EventObject>, handler }),
    ).toThrow(invalid);
    expect(() =>
      channelSource({ events: new EventChannel<EventObject>(), handler, bufferSize: 0 }),
    ).toThrow(invalid);
    expect(() => new EventChannel({ capacity: 0 })).toThrow(invalid);
  });
});

describe('a timer source', () => {
  const request = (name: string): Request => ({ namespace: 'n', name });

  test('adds its requests at each tick, the first after one pause', async () => {
    const clock = new FakeClock();
    const source = timerSource({ period: 1000, requests: [request('a'), request('b')], clock });
    const { queue, stop } = await started(source);
    await clock.run(999);
    expect(queue.added).toEqual([]);
    await clock.run(1);
    expect(queue.added).toMatchObject([
      { request: 'n/a', cause: { kind: 'generic', source: 'timer', at: 1000 } },
      { request: 'n/b', cause: { object: undefined } },
    ]);
    await clock.run(2000);
    expect(queue.added).toHaveLength(6);
    stop();
    await clock.settle();
    expect(clock.timers()).toBe(0);
    await clock.run(5000);
    expect(queue.added).toHaveLength(6);
    expect(source.status?.()).toEqual({
      synced: true,
      events: { handled: 3, filtered: 0, failed: 0 },
    });
  });

  test('calls a function at each tick, awaits it, and begins the next pause after it', async () => {
    const clock = new FakeClock();
    let find = (_: Request[]): void => undefined;
    const requests = () => new Promise<Request[]>((resolve) => (find = resolve));
    const { queue } = await started(
      timerSource({ period: 1000, requests, clock, name: 'external' }),
    );
    await clock.run(1500);
    find([request('a')]);
    await clock.run(999);
    expect(queue.added).toMatchObject([
      { request: 'n/a', cause: { source: 'external', at: 1500 } },
    ]);
    find([]);
    await clock.run(1);
    find([request('b')]);
    await clock.settle();
    expect(queue.requests()).toEqual(['n/a', 'n/b']);
  });

  test('that fails at a tick reports it and goes on', async () => {
    const clock = new FakeClock();
    let calls = 0;
    const requests = (): Request[] => {
      if (++calls === 1) throw new Error('no');
      return [request('a')];
    };
    const { queue } = await started(timerSource({ period: 10, requests, clock }));
    await clock.run(20);
    expect(queue.requests()).toEqual(['n/a']);
    expect(reported).toMatchObject([
      { what: expect.stringContaining('source "timer": the handler failed') },
    ]);
  });

  test('passes each tick to a handler, with jitter', async () => {
    const clock = new FakeClock();
    const ticks: string[] = [];
    const chances = [0, 0.5, 0.999];
    await started(
      timerSource({
        period: 1000,
        jitter: 0.1,
        random: () => chances.shift() ?? 0,
        clock,
        handler: {
          generic: ({ object: { tick } }) =>
            void ticks.push(`${tick} at ${Math.round(clock.now())}`),
        },
      }),
    );
    await clock.run(4200);
    expect(ticks).toEqual(['1 at 1000', '2 at 2050', '3 at 3150', '4 at 4150']);
  });

  // The ticks ended for good.
  test('whose random throws keeps ticking', async () => {
    const clock = new FakeClock();
    const random = (): number => {
      throw new Error('mine');
    };
    const requests = [request('a')];
    const { queue } = await started(
      timerSource({ period: 10, jitter: 1, random, clock, requests }),
    );
    await clock.run(30);
    expect(queue.requests()).toEqual(['n/a', 'n/a']);
    expect(reported[0]).toMatchObject({ what: 'option random' });
  });

  test('refuses options that make no sense', () => {
    expect(() => timerSource({ period: 0, requests: [] })).toThrow(invalid);
    expect(() => timerSource({ period: 1, jitter: -1, requests: [] })).toThrow(invalid);
    expect(() => timerSource({ period: 1, requests: 'a' as unknown as [] })).toThrow(invalid);
    expect(() => timerSource({ period: 1 } as Parameters<typeof timerSource>[0])).toThrow(invalid);
  });
});

describe('a function source', () => {
  test('calls its function at the start, with a queue that adds causes', async () => {
    const clock = new FakeClock(9);
    const source = funcSource(
      'broker',
      ({ queue, signal }) => {
        expect(signal.aborted).toBe(false);
        queue.add({ namespace: '', name: 'a' });
        queue.addAfter({ namespace: '', name: 'b' }, 5);
        queue.addRateLimited({ namespace: '', name: 'c' });
        queue.addWithOpts({ priority: 1 }, { namespace: '', name: 'd' });
        queue.addWithCause(
          {},
          { namespace: '', name: 'e' },
          { kind: 'delete', source: 'other', at: 1 },
        );
      },
      { clock },
    );
    const { queue } = await started(source);
    const cause = { kind: 'generic', source: 'broker', at: 9 };
    expect(queue.added).toEqual([
      { request: '/a', cause },
      { request: '/b', after: 5, cause },
      { request: '/c', rateLimited: true, cause },
      { request: '/d', priority: 1, cause },
      { request: '/e', cause: { kind: 'delete', source: 'other', at: 1 } },
    ]);
    expect(source.status?.().events.handled).toBe(5);
  });

  test('rejects with the error of its function, and adds nothing after the end', async () => {
    const error = new Error('expected');
    const failing = funcSource('broker', () => Promise.reject(error));
    await expect(
      failing.start({ queue: new RecordingQueue(), signal: new AbortController().signal }),
    ).rejects.toBe(error);
    let late = (): void => undefined;
    const source = funcSource('broker', ({ queue }) => {
      late = () => queue.add({ namespace: '', name: 'late' });
    });
    const { queue, stop } = await started(source);
    stop();
    late();
    expect(queue.added).toEqual([]);
    expect(() => funcSource('', () => undefined)).toThrow(invalid);
    expect(() => funcSource('x', 1 as unknown as () => void)).toThrow(invalid);
  });
});
