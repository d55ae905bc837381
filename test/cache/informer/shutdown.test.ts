/**
 * The end of an informer waits for running calls of handlers, as client-go waits for its processor,
 * so that resources of handlers can be closed after `run`, `stop` or `shutdown`. They used to
 * resolve before.
 */
import { newSharedInformerFactory, type SharedInformerFactory } from 'capstan/cache';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../bindings/base/clock.ts';
import { LiveServer } from '../../helpers/cache/live-server.ts';
import { nameOrTombstone, setUp } from '../../helpers/cache/recording-handlers.ts';
import { collectErrors } from '../../helpers/reported-errors.ts';
import { type ConfigMap, ConfigMaps } from '../../helpers/resources.ts';

const reported = collectErrors();

/** A handler whose calls end when `release` is called; `events` records the ends. */
function slow(events: string[], name = 'handler') {
  const gate = Promise.withResolvers<void>();
  return {
    release: gate.resolve,
    handler: {
      async onAdd(object: ConfigMap) {
        events.push(`${name} begins ${nameOrTombstone(object)}`);
        await gate.promise;
        events.push(`${name} ends ${nameOrTombstone(object)}`);
      },
    },
  };
}

const noting = (events: string[], what: string, promise: Promise<unknown>): Promise<unknown> =>
  promise.then(() => events.push(what));

describe('the end of an informer waits for its handlers', () => {
  for (const how of ['stop', 'the signal of run', 'asyncDispose']) {
    test(`by ${how}`, async () => {
      const { clock, server, informer } = setUp();
      const events: string[] = [];
      const { handler, release } = slow(events);
      informer.addEventHandler(handler);
      const signal = new AbortController();
      const ran = noting(events, 'run', informer.run({ signal: signal.signal }));
      server.put('a');
      server.put('b');
      await clock.settle();
      if (how === 'the signal of run') signal.abort();
      else
        void noting(
          events,
          'stop',
          how === 'stop' ? informer.stop() : informer[Symbol.asyncDispose](),
        );
      await clock.settle();
      expect(events).toEqual(['handler begins a']);
      expect(informer.isStopped()).toBe(true);
      release();
      await ran;
      // waiting notifications are not delivered
      expect(events.slice(0, 2)).toEqual(['handler begins a', 'handler ends a']);
      await informer.stop();
      expect([events.includes('handler begins b'), clock.timers()]).toEqual([false, 0]);
    });
  }

  test('also for one that was removed, and one that was added late', async () => {
    const { clock, server, informer } = setUp();
    const events: string[] = [];
    const removed = slow(events, 'removed');
    const late = slow(events, 'late');
    const registration = informer.addEventHandler(removed.handler);
    const ran = noting(events, 'run', informer.run());
    server.put('a');
    await clock.settle();
    informer.removeEventHandler(registration);
    informer.addEventHandler(late.handler);
    await clock.settle();
    void informer.stop();
    await clock.settle();
    late.release();
    await clock.settle();
    expect(events).toEqual(['removed begins a', 'late begins a', 'late ends a']);
    removed.release();
    await ran;
    expect(events.slice(3)).toEqual(['removed ends a', 'run']);
  });

  test('and for none if it never ran', async () => {
    const { clock, informer } = setUp();
    informer.addEventHandler(slow([]).handler);
    await informer.stop();
    await informer.run();
    expect(clock.timers()).toBe(0);
  });
});

describe('the end of a factory waits for the handlers of all of its informers', () => {
  function start(factory: SharedInformerFactory, events: string[]) {
    const handlers = ['default', 'other'].map((namespace) => {
      const one = slow(events, namespace);
      factory.informerFor(ConfigMaps, { namespace }).addEventHandler(one.handler);
      return one;
    });
    factory.start();
    return handlers as [ReturnType<typeof slow>, ReturnType<typeof slow>];
  }

  test('those that were removed included', async () => {
    const clock = new FakeClock();
    const server = new LiveServer();
    const factory = newSharedInformerFactory(server, { clock, watchList: false });
    const events: string[] = [];
    server.put('a');
    const [first, second] = start(factory, events);
    await clock.settle();
    expect(events).toEqual(['default begins a', 'other begins a']);
    void noting(events, 'removed', factory.remove(ConfigMaps, { namespace: 'other' }));
    void noting(events, 'shutdown', factory.shutdown());
    await clock.settle();
    first.release();
    await clock.settle();
    expect(events.slice(2)).toEqual(['default ends a']);
    second.release();
    await factory.shutdown();
    await clock.settle();
    expect(events.slice(3).sort()).toEqual(['other ends a', 'removed', 'shutdown']);
    expect(clock.timers()).toBe(0);
  });

  test('but not for the handler that calls it', async () => {
    const clock = new FakeClock();
    const server = new LiveServer();
    const factory = newSharedInformerFactory(server, { clock, watchList: false });
    const events: string[] = [];
    server.put('a');
    const other = slow(events, 'other');
    factory.informerFor(ConfigMaps, { namespace: 'other' }).addEventHandler(other.handler);
    factory.informerFor(ConfigMaps, { namespace: 'default' }).addEventHandler({
      async onAdd() {
        await factory.shutdown();
        events.push('shut down');
      },
    });
    factory.start();
    await clock.settle();
    expect(events).toEqual(['other begins a']); // it waits for the others
    other.release();
    await factory.shutdown();
    expect(events).toEqual(['other begins a', 'other ends a', 'shut down']);
    expect([clock.timers(), reported]).toEqual([0, []]);
  });

  test('and for an informer that a handler has removed', async () => {
    const clock = new FakeClock();
    const server = new LiveServer();
    const factory = newSharedInformerFactory(server, { clock, watchList: false });
    const events: string[] = [];
    const gate = Promise.withResolvers<void>();
    server.put('a');
    factory.informerFor(ConfigMaps).addEventHandler({
      async onAdd() {
        await factory.remove(ConfigMaps);
        events.push('removed');
        await gate.promise;
        events.push('ended');
      },
    });
    factory.start();
    await clock.settle();
    const down = noting(events, 'shutdown', factory.shutdown());
    await clock.settle();
    expect(events).toEqual(['removed']);
    gate.resolve();
    await down;
    expect(events).toEqual(['removed', 'ended', 'shutdown']);
  });
});

describe('a handler that ends what it is called by', () => {
  test('is not awaited by stop and shutDownEventHandler, but by run', async () => {
    for (const how of ['stop', 'shutDownEventHandler'] as const) {
      const { clock, server, informer } = setUp();
      const events: string[] = [];
      const registration = informer.addEventHandler({
        async onAdd() {
          await (how === 'stop' ? informer.stop() : informer.shutDownEventHandler(registration));
          events.push('stopped');
          await Promise.resolve();
          events.push('handler ends');
        },
      });
      const ran = noting(events, 'run', informer.run());
      server.put('a');
      await clock.settle();
      await informer.stop();
      await ran;
      expect(events).toEqual(['stopped', 'handler ends', 'run']);
      expect([clock.timers(), reported]).toEqual([0, []]);
    }
  });

  // After its first await the caller cannot be recognised, so it waits for itself.
  test('after another await is awaited until shutdownTimeout, which is reported', async () => {
    const { clock, server, informer } = setUp();
    const events: string[] = [];
    informer.addEventHandler(
      {
        async onAdd() {
          await Promise.resolve();
          await informer.stop();
          events.push(`stopped@${clock.now()}`);
        },
      },
      { name: 'own' },
    );
    const ran = noting(events, 'run', informer.run());
    server.put('a');
    await clock.run(9999);
    expect(events).toEqual([]);
    await clock.run(1);
    await ran;
    expect(events.sort()).toEqual(['run', 'stopped@10000']);
    expect(reported).toHaveLength(1);
    expect(reported[0]?.error).toMatchObject({
      code: 'TIMEOUT',
      message:
        'the informer of v1 ConfigMap was stopped 10000 ms ago, and calls of these handlers ' +
        'have not ended: own. They go on: give them the signal, or raise "shutdownTimeout"',
    });
    expect(clock.timers()).toBe(0);
  });
});

describe('shutdownTimeout', () => {
  const never = { onAdd: (): Promise<void> => new Promise(() => undefined) };

  test('limits the wait for handlers that never return, once for all callers', async () => {
    const { clock, server, informer } = setUp({ shutdownTimeout: 250 });
    for (const name of ['a', 'b']) informer.addEventHandler(never, { name });
    const ran = informer.run();
    server.put('x');
    await clock.settle();
    const all = Promise.all([informer.stop(), informer.stop(), ran]);
    await clock.run(249);
    expect(reported).toEqual([]);
    await clock.run(1);
    await all;
    expect(String(reported[0]?.error)).toMatch(/stopped 250 ms ago.*: a, b\. They go on/);
    expect([reported.length, clock.timers()]).toEqual([1, 0]);
  });

  test('of 0 does not wait, and Infinity sets no timer', async () => {
    const none = setUp({ shutdownTimeout: 0 });
    none.informer.addEventHandler(never);
    void none.informer.run();
    none.server.put('a');
    await none.clock.settle();
    await none.informer.stop();
    expect(reported).toEqual([]);

    const events: string[] = [];
    const { clock, server, informer } = setUp({ shutdownTimeout: Number.POSITIVE_INFINITY });
    const { handler, release } = slow(events);
    informer.addEventHandler(handler);
    const ran = noting(events, 'run', informer.run());
    server.put('a');
    await clock.settle();
    void informer.stop();
    await clock.run(1e9);
    expect([events, clock.timers()]).toEqual([['handler begins a'], 0]);
    release();
    await ran;
  });

  test('must be a number of milliseconds, also for a factory', () => {
    for (const bad of [-1, Number.NaN, '5' as never]) {
      expect(() => setUp({ shutdownTimeout: bad })).toThrow(/"options\.shutdownTimeout" expected/);
      expect(() => newSharedInformerFactory(new LiveServer(), { shutdownTimeout: bad })).toThrow(
        /"options\.shutdownTimeout" expected/,
      );
    }
  });
});
