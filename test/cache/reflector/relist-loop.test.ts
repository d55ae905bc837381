/**
 * A change that the cache could not store. It used to be reported and dropped, so the cache missed
 * it until the next event of the object or the next relist.
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

describe('a change that the cache could not store', () => {
  test('is reported, and comes again by a relist after the back-off', async () => {
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

  // The state was `stopped`, and nothing was counted or reported.
  test('is a failure in the status and for the watchErrorHandler', async () => {
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

  // Its error rejected `run`.
  test('leads to a relist also if the option random throws', async () => {
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

  test('does not end the informer, and relists no faster than the back-off', async () => {
    const { clock, server, informer, stop } = await follow();
    const spy = vi.spyOn(Indexer.prototype, 'replaceInSteps').mockImplementation(() => {
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
