/**
 * Counterparts of client-go's tools/cache/shared_informer_test.go and of the informer's part of
 * controller_test.go, in their order; the comment in front of each has the upstream name. If an
 * upstream test waits for goroutines, a turn of the event loop is chosen here. Left out:
 * TestListenerResyncPeriodsDelayed (no goroutine here whose start could come late),
 * BenchmarkListener and BenchmarkSharedIndexInformer.
 */
import {
  type Indexer,
  type Registration,
  type SharedIndexInformer,
  shutDownEventHandler,
  waitFor,
} from 'capstan/cache';
import { describe, expect, test } from 'vitest';
import { ResyncSchedule } from '../../../bindings/cache/informer/resync.ts';
import { answer, statusBody } from '../../helpers/cache/live-server.ts';
import {
  heldHandler,
  nameOrTombstone,
  setUp,
  teller,
} from '../../helpers/cache/recording-handlers.ts';
import { Random, testSeed } from '../../helpers/random.ts';
import { collectErrors } from '../../helpers/reported-errors.ts';
import type { ConfigMap } from '../../helpers/resources.ts';

const reported = collectErrors();

describe('indices', () => {
  // TestIndexer
  test('added before and after the start find existing and later objects', async () => {
    const labels = (object: ConfigMap): string[] => Object.keys(object.metadata.labels ?? {});
    const { clock, server, informer } = setUp({ resyncPeriod: 1_000 });
    server.put('pod1', { labels: { a: 'a-val', b: 'b-val1' } });
    server.put('pod2', { labels: { b: 'b-val2' } });
    informer.addIndexers({ labels });
    void informer.run();
    await clock.settle();
    const indexer = informer.getIndexer() as Indexer<ConfigMap, string>;
    const under = (index: string, value: string): string[] =>
      indexer.byIndex(index, value).map(nameOrTombstone).sort();
    expect(under('labels', 'a')).toEqual(['pod1']);
    server.put('pod3', { labels: { a: 'a-val2' } });
    await clock.settle();
    expect(under('labels', 'a')).toEqual(['pod1', 'pod3']);
    informer.addIndexers({ again: labels });
    expect(under('again', 'a')).toEqual(['pod1', 'pod3']);
    for (const index of ['labels', 'again'])
      expect(indexer.listIndexFuncValues(index).sort()).toEqual(['a', 'b']);
    await informer.stop();
  });
});

describe('resyncs', () => {
  // TestListenerResyncPeriods
  test('go to each handler at its own period, and never to one without a period', async () => {
    const { clock, server, informer } = setUp({ resyncPeriod: 1_000 });
    server.put('pod1');
    server.put('pod2');
    const told: string[][] = [0, 2_000, 3_000].map((resyncPeriod) => {
      const into: string[] = [];
      informer.addEventHandler(teller(into), { resyncPeriod });
      return into;
    });
    const taken = (): string[][] => told.map((into) => into.splice(0).sort());
    void informer.run();
    await clock.settle();
    const first = ['+pod1', '+pod2'];
    const again = ['~pod1', '~pod2'];
    expect(taken()).toEqual([first, first, first]);
    await clock.run(2_000);
    expect(taken()).toEqual([[], again, []]);
    await clock.run(1_000);
    expect(taken()).toEqual([[], [], again]);
    await informer.stop();
  });

  // TestResyncCheckPeriod
  test('are checked at the shortest period of the handlers added before the start', () => {
    const schedule = new ResyncSchedule(12 * 3_600_000);
    const add = (asked: number | undefined, started = false): number[] => {
      const period = schedule.periodFor(asked, started);
      return [schedule.checkPeriod(), period];
    };
    expect(add(0)).toEqual([12 * 3_600_000, 0]);
    expect(add(undefined)).toEqual([12 * 3_600_000, 12 * 3_600_000]);
    expect(add(60_000)).toEqual([60_000, 60_000]);
    expect(add(55_000)).toEqual([55_000, 55_000]);
    expect(add(5_000)).toEqual([5_000, 5_000]);
    expect(add(60_000)).toEqual([5_000, 60_000]);
    expect(add(2_000, true)).toEqual([5_000, 5_000]);
    expect(add(10)).toEqual([1_000, 1_000]); // the minimum
    expect(add(500, true)).toEqual([1_000, 1_000]);
  });

  test('are not checked if the informer has no period', () => {
    const never = new ResyncSchedule(0);
    for (const started of [false, true])
      expect([never.periodFor(5_000, started), never.checkPeriod()]).toEqual([0, 0]);
  });

  // TestSharedInformerWatchDisruption
  test('after a disruption go only to a handler with a resync period', async () => {
    const { clock, server, informer } = setUp({ resyncPeriod: 1_000 });
    server.put('pod1');
    server.put('pod2');
    const plain: string[] = [];
    const resynced: string[] = [];
    informer.addEventHandler(teller(plain), { resyncPeriod: 0 });
    informer.addEventHandler(teller(resynced), { resyncPeriod: 1_000 });
    void informer.run();
    await clock.settle();
    expect([plain.splice(0), resynced.splice(0)]).toEqual([
      ['+pod1', '+pod2'],
      ['+pod1', '+pod2'],
    ]);
    await clock.run(1_000); // from now on the first one takes no part in resyncs
    resynced.length = 0;
    const [watch] = server.watches;
    server.watches.clear(); // what comes now is lost
    server.put('pod3');
    server.put('pod2');
    await clock.settle();
    expect([plain, resynced]).toEqual([[], []]);
    watch?.send(
      `${JSON.stringify({ type: 'ERROR', object: JSON.parse(statusBody(410, 'Expired')) })}\n`,
    );
    await clock.run(900);
    expect(plain).toEqual(['~pod2', 'pod3']);
    expect(resynced).toEqual(['~pod1', '~pod2', 'pod3']);
    await informer.stop();
  });
});

describe('the start', () => {
  // TestSharedInformerInitializationRace
  test('may come at any moment around a handler, which misses nothing', async () => {
    for (let turns = 0; turns < 12; turns++) {
      const { clock, server, informer } = setUp({ resyncPeriod: 1_000 });
      server.put('a');
      const told: string[] = [];
      void informer.run();
      for (let i = 0; i < turns; i++) await Promise.resolve();
      informer.addEventHandler(teller(told), { resyncPeriod: 0 });
      await clock.settle();
      expect(told, `after ${turns} turns`).toEqual(['+a']);
      await informer.stop();
    }
  });

  // TestSharedInformerStartRace
  test('ends the time in which the transform and the error handler can be set', async () => {
    const { informer } = setUp();
    informer.setTransform((object) => object);
    informer.setWatchErrorHandler(() => undefined);
    const running = informer.run();
    const started = expect.objectContaining({ code: 'ALREADY_STARTED' });
    expect(() => informer.setTransform((object) => object)).toThrow(started);
    expect(() => informer.setWatchErrorHandler(() => undefined)).toThrow(started);
    await informer.stop();
    await running;
  });

  // TestSharedInformerErrorHandling
  test('that fails reaches the watch error handler', async () => {
    const { clock, server, informer } = setUp({ resyncPeriod: 1_000 });
    const errors: string[] = [];
    server.intercept = () => answer(403, statusBody(403, 'Forbidden', 'Access Denied'));
    informer.setWatchErrorHandler((error) => errors.push((error as Error).message));
    void informer.run();
    await clock.settle();
    expect(errors[0]).toContain('Access Denied');
    await informer.stop();
  });

  // TestSharedInformerTransformer
  test('with a transform passes its results to handlers', async () => {
    const { clock, server, informer } = setUp({ resyncPeriod: 1_000 });
    informer.setTransform((object) => ({
      ...object,
      metadata: { ...object.metadata, name: object.metadata.name.toUpperCase() },
    }));
    const told: string[] = [];
    informer.addEventHandler(teller(told), { resyncPeriod: 0 });
    server.put('pod1');
    server.put('pod2');
    void informer.run();
    await clock.settle();
    expect(told).toEqual(['+POD1', '+POD2']);
    await informer.stop();
  });
});

describe('registrations', () => {
  const count = (informer: SharedIndexInformer<ConfigMap, 'byValue'>): number =>
    informer.status().handlers.length;

  // TestSharedInformerRemoveHandler
  test('are removed one by one', () => {
    const { informer } = setUp();
    const [first, second] = [informer.addEventHandler({}), informer.addEventHandler({})];
    expect(count(informer)).toBe(2);
    informer.removeEventHandler(second);
    expect(count(informer)).toBe(1);
    informer.removeEventHandler(first);
    expect(count(informer)).toBe(0);
  });

  // TestSharedInformerRemoveForeignHandler
  test('of another informer are not removed', () => {
    const { informer } = setUp();
    const other = setUp().informer;
    const registrations = [informer.addEventHandler({}), informer.addEventHandler({})];
    for (const registration of registrations) other.removeEventHandler(registration);
    expect([count(informer), count(other)]).toEqual([2, 0]);
    for (const registration of registrations) informer.removeEventHandler(registration);
    expect(count(informer)).toBe(0);
  });

  // TestSharedInformerMultipleRegistration
  test('of one handler twice are two, and removing one leaves the other', () => {
    const { informer } = setUp();
    const handler = {};
    const [first, second] = [informer.addEventHandler(handler), informer.addEventHandler(handler)];
    expect(count(informer)).toBe(2);
    informer.removeEventHandler(first);
    expect(informer.status().handlers).toMatchObject([{ name: second.name }]);
    informer.removeEventHandler(second);
    expect(count(informer)).toBe(0);
  });

  // TestRemovingRemovedSharedInformer
  test('that were removed can be removed again', () => {
    const { informer } = setUp();
    const registration = informer.addEventHandler({});
    informer.removeEventHandler(registration);
    informer.removeEventHandler(registration);
    expect(count(informer)).toBe(0);
  });

  // TestSharedInformerHandlerAbuse, TestHammerController
  test('may be added and removed at any moment under load, until the end', async () => {
    const seed = testSeed();
    console.log(`handler abuse: CAPSTAN_SEED=${seed}`);
    const random = new Random(seed);
    const { clock, server, informer } = setUp();
    const registrations: Registration[] = [];
    const late = expect.objectContaining({ code: 'STOPPED' });
    let calls = 0;
    const abuse = (): void => {
      if (random.chance(0.5)) {
        registrations.push(
          informer.addEventHandler(
            { onAdd: () => void calls++, onUpdate: () => void calls++ },
            { resyncPeriod: 1_000 },
          ),
        );
      } else {
        const [registration] = registrations.splice(random.int(registrations.length + 1), 1);
        if (registration !== undefined) informer.removeEventHandler(registration);
      }
    };
    void informer.run();
    for (let i = 0; i < 2_000; i++) {
      const names = server.names();
      const action = random.int(3);
      if (names.length === 0 || action === 0) server.put(`pod${i}`);
      else if (action === 1) server.put(random.pick(names));
      else server.remove(random.pick(names));
      for (let n = random.int(4); n > 0; n--) abuse();
      if (random.chance(0.05)) await clock.settle();
      if (random.chance(0.2)) await Promise.resolve();
    }
    const ending = informer.stop();
    await ending;
    expect(() => informer.addEventHandler({})).toThrow(late);
    for (const registration of registrations) informer.removeEventHandler(registration);
    expect(calls).toBeGreaterThan(1_000);
    expect(reported).toEqual([]);
    expect(clock.timers()).toBe(0);
  });
});

describe('the life of an informer', () => {
  // TestStateSharedInformer
  test('has a start and an end, which hasStarted and isStopped report', async () => {
    const { clock, server, informer } = setUp({ resyncPeriod: 1_000 });
    server.put('pod1');
    const told: string[] = [];
    informer.addEventHandler(teller(told), { resyncPeriod: 0 });
    expect([informer.hasStarted(), informer.isStopped()]).toEqual([false, false]);
    const stop = new AbortController();
    const running = informer.run({ signal: stop.signal });
    await clock.settle();
    expect(told).toEqual(['+pod1']);
    expect([informer.hasStarted(), informer.isStopped()]).toEqual([true, false]);
    stop.abort();
    await running;
    expect([informer.hasStarted(), informer.isStopped()]).toEqual([true, true]);
  });

  // TestAddOnStoppedSharedInformer, TestRemoveOnStoppedSharedInformer
  test('after its end takes no handler, and its handlers can be removed', async () => {
    const { informer } = setUp();
    const registration = informer.addEventHandler({});
    const stop = new AbortController();
    const running = informer.run({ signal: stop.signal });
    stop.abort();
    await running;
    expect(() => informer.addEventHandler({})).toThrow(/has been stopped: add handlers before/);
    informer.removeEventHandler(registration);
  });

  // TestRemoveWhileActive
  test('goes on without a handler that is removed', async () => {
    const { clock, server, informer } = setUp();
    const told: string[] = [];
    const registration = informer.addEventHandler(teller(told));
    void informer.run();
    await clock.settle();
    server.put('pod1');
    await clock.settle();
    informer.removeEventHandler(registration);
    server.put('pod2');
    await clock.settle();
    expect(told).toEqual(['pod1']);
    await informer.stop();
  });

  // TestAddWhileActive
  test('gives a late handler the cached objects, then later events', async () => {
    const { clock, server, informer } = setUp();
    const early: string[] = [];
    const first = informer.addEventHandler(teller(early));
    expect(first.hasSynced()).toBe(false);
    void informer.run();
    await clock.settle();
    server.put('pod1');
    expect(await waitFor({}, 'the first', first.hasSyncedChecker())).toBe(true);
    expect(first.hasSynced()).toBe(true);
    await clock.settle();
    const held = heldHandler();
    const second = informer.addEventHandler(held.handler);
    expect(second.hasSynced()).toBe(false);
    server.put('pod2');
    await clock.settle();
    expect([held.told, second.hasSynced()]).toEqual([['+pod1'], false]);
    held.next();
    await clock.settle();
    expect([held.told, second.hasSynced()]).toEqual([['+pod1', 'pod2'], true]);
    expect(early).toEqual(['pod1', 'pod2']);
    held.next();
    await informer.stop();
  });

  // TestShutdown: no-context, no-context-later, no-run
  test.each(['before the start', 'after the start', 'never'])(
    'leaves no listener behind: run %s of the handler',
    async (when) => {
      const { clock, informer } = setUp({ resyncPeriod: 1_000 });
      const add = (): Registration => informer.addEventHandler({ onAdd: () => undefined });
      let registration = when === 'after the start' ? undefined : add();
      if (when === 'never') {
        expect(clock.timers()).toBe(0);
        return;
      }
      const running = informer.run();
      await clock.settle();
      expect(informer.hasSynced()).toBe(true);
      registration ??= add();
      await informer.stop();
      await running;
      informer.removeEventHandler(registration);
      expect(clock.timers()).toBe(0);
    },
  );
});

describe('handlers', () => {
  // TestEventPanics. Upstream pauses for a second after each panic, and a handler that panicked
  // never counts as synced.
  test('that fail on every object do not affect other handlers', async () => {
    const { clock, server, informer } = setUp({ resyncPeriod: 1_000 });
    for (let i = 1; i <= 5; i++) server.put(`pod${i}`);
    const fail = (): never => {
      throw new Error('fake panic');
    };
    const registrations = [
      informer.addEventHandler({ onAdd: fail }),
      informer.addEventHandler({ onAdd: fail }),
    ];
    const told: string[] = [];
    informer.addEventHandler(teller(told));
    void informer.run();
    await clock.settle();
    expect(reported).toHaveLength(10);
    expect(told).toHaveLength(5);
    for (const registration of registrations) expect(registration.hasSynced()).toBe(true);
    await informer.stop();
  });

  // TestRemoveEventHandler_AsynchronousPanic
  test('that are removed may still be running: removal does not wait', async () => {
    const { clock, server, informer } = setUp();
    let closed = false;
    let wrote: boolean | undefined;
    let unblock = (): void => undefined;
    const blocked = new Promise<void>((resolve) => {
      unblock = resolve;
    });
    const registration = informer.addEventHandler({
      onAdd: async () => {
        await blocked;
        wrote = !closed;
      },
    });
    void informer.run();
    server.put('pod1');
    await clock.settle();
    informer.removeEventHandler(registration);
    closed = true;
    unblock();
    await clock.settle();
    expect(wrote).toBe(false);
    await informer.stop();
  });

  // TestRemoveEventHandler_SynchronousShutdown
  test('that are shut down have finished when shutDownEventHandler resolves', async () => {
    const { clock, server, informer } = setUp();
    const held = heldHandler();
    let finished = false;
    const registration = informer.addEventHandler({
      onAdd: async (object, initial) => {
        await held.handler.onAdd?.(object, initial);
        finished = true;
      },
    });
    void informer.run();
    server.put('pod1');
    await clock.settle();
    held.next();
    await shutDownEventHandler(informer, registration);
    expect(finished).toBe(true);
    await informer.stop();
  });

  // TestShutDownEventHandler_Lifecycles: InformerNeverStarted, StartedThenAddedThenShutDown,
  // AddedThenStartedThenShutDown
  test.each([['add'], ['run', 'add'], ['add', 'run']])(
    'can be shut down after %s %s',
    async (...steps) => {
      const { informer } = setUp();
      let registration: Registration | undefined;
      for (const step of steps) {
        if (step === 'add') registration = informer.addEventHandler({ onAdd: () => undefined });
        if (step === 'run') {
          void informer.run();
          expect(await waitFor({}, 'the informer', informer.hasSyncedChecker())).toBe(true);
        }
      }
      if (registration === undefined) throw new Error('no handler was added');
      await shutDownEventHandler(informer, registration);
      expect(informer.status().handlers).toEqual([]);
      await informer.stop();
    },
  );
});

describe('the notifications and the store version of an informer', () => {
  // controller_test.go TestUpdate: only changes that happened are seen
  test('are updates from each state to the next', async () => {
    const { clock, server, informer } = setUp();
    const seen: string[] = [];
    informer.addEventHandler({
      onAdd: (now) => void seen.push(`=>${now.data?.v}`),
      onUpdate: (old, now) => void seen.push(`${old.data?.v}=>${now.data?.v}`),
      onDelete: (last) => void ('data' in last && seen.push(`${last.data?.v}=>`)),
    });
    void informer.run();
    for (const v of ['foo', 'bar', 'baz']) {
      server.put('a', { data: { v } });
      if (v === 'foo') await clock.settle();
    }
    server.remove('a');
    await clock.settle();
    expect(seen).toEqual(['=>foo', 'foo=>bar', 'bar=>baz', 'baz=>']);
    await informer.stop();
  });

  // controller_test.go TestResetWatch
  test('are not initial after the first list, also after a relist', async () => {
    const { clock, server, informer } = setUp({ watchList: false });
    const told: string[] = [];
    informer.addEventHandler(teller(told));
    server.put('first');
    void informer.run();
    await clock.settle();
    const [watch] = server.watches;
    server.watches.clear();
    server.put('second');
    watch?.send(
      `${JSON.stringify({ type: 'ERROR', object: JSON.parse(statusBody(410, 'Expired')) })}\n`,
    );
    await clock.run(2_000);
    expect(told).toEqual(['+first', '~first', 'second']);
    await informer.stop();
  });

  // controller_test.go TestStoreResourceVersion, NonMetaTransform
  test('follow each list, addition, update, deletion and bookmark', async () => {
    const { clock, server, informer } = setUp({ watchList: false });
    const versions: string[] = [];
    const look = async (): Promise<void> => {
      await clock.settle();
      versions.push(informer.getIndexer().lastStoreSyncResourceVersion());
    };
    server.put('a');
    void informer.run();
    await look();
    server.put('b');
    await look();
    server.put('b');
    await look();
    server.remove('b');
    await look();
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { resourceVersion: '77' } };
    server.send(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`);
    await look();
    expect(versions.slice(0, 4)).toEqual(['1', '2', '3', '4']);
    expect([versions[4], informer.lastSyncResourceVersion()]).toEqual(['77', '77']);
    await informer.stop();
  });
});
