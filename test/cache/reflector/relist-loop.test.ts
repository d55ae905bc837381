/**
 * A change that the cache could not take over. It used to be reported and dropped: the cache then
 * lacked it until the server sent the object again, or a relist came by chance.
 */
import {
  ListWatch,
  SharedIndexInformer,
  type SharedIndexInformerOptions,
  type WatchFailure,
} from 'capstan/cache';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { FakeClock } from '../../../bindings/base/clock.ts';
import { CapstanError } from '../../../bindings/base/errors.ts';
import { setErrorHandler } from '../../../bindings/base/handle-error.ts';
import { Indexer } from '../../../bindings/cache/store/store.ts';
import { LiveServer } from '../../helpers/cache/live-server.ts';
import { type ConfigMap, ConfigMaps } from '../../helpers/resources.ts';

let reported: unknown[] = [];
let previous: ReturnType<typeof setErrorHandler>;
beforeEach(() => {
  reported = [];
  previous = setErrorHandler((error) => reported.push(error));
});
afterEach(() => {
  setErrorHandler(previous);
  vi.restoreAllMocks();
});

async function follow(options: SharedIndexInformerOptions<ConfigMap> = {}) {
  const clock = new FakeClock();
  const server = new LiveServer();
  const informer = new SharedIndexInformer(new ListWatch(server, ConfigMaps), {
    clock,
    random: () => 0,
    ...options,
  });
  const told: string[] = [];
  informer.addEventHandler({
    onAdd: (object) => told.push(`add ${object.metadata.name}`),
    onUpdate: (_old, object) => told.push(`update ${object.metadata.name}`),
  });
  const running = informer.run();
  await clock.settle();
  const stop = async (): Promise<void> => {
    await informer.stop();
    await running;
    expect(clock.timers()).toBe(0);
  };
  return { clock, server, informer, told, stop };
}

describe('a change that the cache could not take over', () => {
  test('is reported, and comes with a new list after the back-off: no event is lost', async () => {
    const { clock, server, informer, told, stop } = await follow();
    const full = new CapstanError('OUT_OF_MEMORY', 'no room');
    vi.spyOn(Indexer.prototype, 'exchange').mockImplementationOnce(() => {
      throw full;
    });
    server.put('a');
    await clock.settle();
    expect(reported).toEqual([full]);
    expect(informer.getIndexer().listKeys()).toEqual([]);
    await clock.run(800);
    expect(informer.getIndexer().listKeys()).toEqual(['default/a']);
    server.put('b');
    await clock.settle();
    expect(told).toEqual(['add a', 'add b']);
    await stop();
  });

  // It said `stopped`, counted nothing and told nobody.
  test('is a failure like any other to who asks and to who is told', async () => {
    const failures: [unknown, WatchFailure][] = [];
    const { clock, server, informer, stop } = await follow({
      watchErrorHandler: (...told) => failures.push(told),
    });
    const full = new CapstanError('OUT_OF_MEMORY', 'no room');
    vi.spyOn(Indexer.prototype, 'exchange').mockImplementationOnce(() => {
      throw full;
    });
    server.put('a');
    await clock.settle();
    const { state, isStopped, failures: counted, lastFailure } = informer.status();
    expect({ state, isStopped }).toEqual({ state: 'waiting', isStopped: false });
    expect([counted.full, lastFailure?.error]).toEqual([1, full]);
    expect(failures).toEqual([[full, { class: 'full', next: 'relist', afterMs: 800 }]]);
    await clock.run(800);
    expect(informer.status().state).toBe('watching');
    await stop();
  });

  // What it threw rejected the run.
  test('is asked for again also by a random that throws', async () => {
    const random = (): never => {
      throw new Error('broken random');
    };
    const { clock, server, informer, stop } = await follow({ random });
    vi.spyOn(Indexer.prototype, 'exchange').mockImplementationOnce(() => {
      throw new CapstanError('OUT_OF_MEMORY', 'no room');
    });
    server.put('a');
    await clock.run(1200);
    expect(informer.getIndexer().listKeys()).toEqual(['default/a']);
    await stop();
  });

  test('ends no informer, however often it happens, and asks no faster than the back-off', async () => {
    const { clock, server, informer, stop } = await follow();
    const spy = vi.spyOn(Indexer.prototype, 'replace').mockImplementation(() => {
      throw new CapstanError('OUT_OF_MEMORY', 'no room');
    });
    const exchange = vi.spyOn(Indexer.prototype, 'exchange').mockImplementation(() => {
      throw new CapstanError('OUT_OF_MEMORY', 'no room');
    });
    server.put('a');
    await clock.run(60_000);
    const lists = server.requests.filter((request) => request.query?.watch === undefined).length;
    expect(lists).toBeGreaterThan(3);
    expect(lists).toBeLessThan(10);
    spy.mockRestore();
    exchange.mockRestore();
    await clock.run(60_000);
    expect(informer.getIndexer().listKeys()).toEqual(['default/a']);
    await stop();
  });
});
