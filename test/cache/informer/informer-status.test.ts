/** The status of an informer, and its stream of events. */
import { describe, expect, test } from 'vitest';
import { answer, statusBody } from '../../helpers/cache/live-server.ts';
import { heldHandler, setUp } from '../../helpers/cache/recording-handlers.ts';
import { collectErrors } from '../../helpers/reported-errors.ts';

collectErrors();

describe('the status of an informer', () => {
  test('describes the server, the cache and each handler', async () => {
    const { clock, server, informer } = setUp({
      watchErrorHandler: () => undefined,
      shutdownTimeout: 0,
    });
    expect(informer.status()).toMatchObject({
      state: 'stopped',
      hasSynced: false,
      isStopped: false,
      objects: 0,
      handlers: [],
    });
    const held = heldHandler();
    informer.addEventHandler(held.handler, { coalesceAbove: 1 });
    informer.addEventHandler({}, { name: 'mine' });
    for (const name of ['a', 'b']) server.put(name);
    void informer.run();
    await clock.settle();
    server.put('b');
    await clock.run(3_000);
    expect(informer.status()).toMatchObject({
      state: 'watching',
      hasSynced: true,
      lastSyncResourceVersion: '3',
      lastSignOfLife: 3_000,
      objects: 2,
      queued: 0,
      handlers: [
        { name: 'handler-1', hasSynced: false, pending: 1, coalesced: 1 },
        { name: 'mine', hasSynced: true, pending: 0, coalesced: 0 },
      ],
    });
    server.intercept = () => answer(403, statusBody(403, 'Forbidden'));
    server.closeWatches();
    await clock.settle();
    expect(informer.status()).toMatchObject({
      failures: { auth: 1 },
      lastFailure: { class: 'auth' },
    });
    const stopping = informer.stop();
    held.next(); // its call is waited for
    await stopping;
    expect(informer.status()).toMatchObject({
      state: 'stopped',
      isStopped: true,
      objects: 2,
      handlers: [],
    });
  });
});

describe('a stream of events', () => {
  test('that starts late begins with the cached objects; two streams are independent', async () => {
    const { clock, server, informer } = setUp();
    for (const name of ['a', 'b']) server.put(name);
    void informer.run();
    await clock.settle();
    const events = informer.events();
    const first = events[Symbol.asyncIterator]();
    server.put('c');
    await clock.settle();
    const second = events[Symbol.asyncIterator]();
    const names = async (iterator: typeof first, n: number): Promise<string[]> => {
      const told: string[] = [];
      for (let i = 0; i < n; i++) told.push((await iterator.next()).value.object.metadata.name);
      return told;
    };
    expect(await names(first, 3)).toEqual(['a', 'b', 'c']);
    expect((await names(second, 3)).sort()).toEqual(['a', 'b', 'c']);
    await informer.stop();
    expect(await first.next()).toEqual({ done: true, value: undefined });
  });

  test('gives buffered events before it ends with the informer', async () => {
    const { clock, server, informer } = setUp();
    const ahead = informer.events()[Symbol.asyncIterator]();
    const waiting = informer.events()[Symbol.asyncIterator]();
    server.put('a');
    void informer.run();
    await clock.settle();
    await waiting.next();
    const last = waiting.next();
    await informer.stop();
    expect(await last).toEqual({ done: true, value: undefined });
    expect(await ahead.next()).toMatchObject({ done: false, value: { type: 'add' } });
    expect(await ahead.next()).toEqual({ done: true, value: undefined });
  });

  test('is an ordinary handler while it runs, and is removed after it', async () => {
    const { clock, informer } = setUp();
    const stop = new AbortController();
    const iterator = informer.events({ signal: stop.signal })[Symbol.asyncIterator]();
    void informer.run();
    await clock.settle();
    expect(informer.status().handlers).toMatchObject([{ name: 'events' }]);
    stop.abort();
    expect(informer.status().handlers).toEqual([]);
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
    await informer.stop();
  });
});
