/** Informers over each of the two queues. */
import { DeletedFinalStateUnknown, ListWatch, SharedIndexInformer } from 'capstan/cache';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../bindings/base/clock.ts';
import { LiveServer, statusBody } from '../../helpers/cache/live-server.ts';
import { bookmark, configMapAt, event } from '../../helpers/cache/scripted-server.ts';
import { collectErrors } from '../../helpers/reported-errors.ts';
import { type ConfigMap, ConfigMaps } from '../../helpers/resources.ts';

const reported = collectErrors();

describe.each(['real', 'delta'] as const)('an informer with the FIFO "%s"', (fifo) => {
  function setUp() {
    const clock = new FakeClock();
    const server = new LiveServer();
    const listWatch = new ListWatch(server, ConfigMaps);
    const informer = new SharedIndexInformer(listWatch, {
      clock,
      random: () => 0,
      fifo,
      resyncPeriod: 30_000,
    });
    const told: string[] = [];
    const nameOf = (object: ConfigMap | DeletedFinalStateUnknown<ConfigMap>): string =>
      object instanceof DeletedFinalStateUnknown
        ? `(${object.obj?.metadata.name})`
        : object.metadata.name;
    const registration = informer.addEventHandler({
      onAdd: (object, isInInitialList) =>
        told.push(`${isInInitialList ? '+' : ''}${nameOf(object)}`),
      onUpdate: (_, now) => told.push(`~${nameOf(now)}`),
      onDelete: (object) => told.push(`-${nameOf(object)}`),
    });
    return { clock, server, informer, registration, told };
  }

  // A DeltaFIFO has nothing to pop after an empty list, so nothing woke the informer.
  test('has synced, handlers included, after a list without objects', async () => {
    const { clock, informer, registration } = setUp();
    const running = informer.run();
    await clock.settle();
    expect([informer.hasSynced(), registration.hasSynced()]).toEqual([true, true]);
    await informer.hasSyncedChecker().done;
    await informer.stop();
    await running;
  });

  test('notifies of the list, later changes, a resync, and deletions by a relist', async () => {
    const { clock, server, informer, registration, told } = setUp();
    server.put('a');
    server.put('b');
    void informer.run();
    await clock.settle();
    expect(told.splice(0)).toEqual(['+a', '+b']);
    expect(registration.hasSynced()).toBe(true);
    server.put('a', { data: { v: '2' } });
    await clock.settle();
    server.put('c');
    await clock.settle();
    server.remove('b');
    server.send(bookmark('9'));
    await clock.settle();
    expect(told.splice(0)).toEqual(['~a', 'c', '-b']);
    await clock.run(30_000);
    expect(told.splice(0).sort()).toEqual(['~a', '~c']);
    server.send(
      `${JSON.stringify({ type: 'ERROR', object: JSON.parse(statusBody(410, 'Expired')) })}\n`,
    );
    server.closeWatches();
    server.remove('c');
    await clock.run(2_000);
    expect(told.splice(0).filter((one) => !one.startsWith('~'))).toEqual(['-(c)']);
    expect(informer.getIndexer().listKeys()).toEqual(['default/a']);
    expect(reported).toEqual([]);
    await informer.stop();
  });

  test('takes handlers without some of the three methods', async () => {
    const { clock, server, informer } = setUp();
    informer.addEventHandler({});
    server.put('a');
    void informer.run();
    await clock.settle();
    server.put('a');
    server.remove('a');
    await clock.settle();
    expect(reported).toEqual([]);
    await informer.stop();
  });

  // After the option was renamed, informers read its former name, so "delta" was ignored.
  test('takes the deltas of one chunk in the order of its FIFO', async () => {
    const { clock, server, informer, told } = setUp();
    server.put('a');
    server.put('b');
    void informer.run();
    await clock.settle();
    told.length = 0;
    const changed = [configMapAt('a', '11'), configMapAt('b', '12'), configMapAt('a', '13')];
    server.send(changed.map((object) => event('MODIFIED', object)).join(''));
    await clock.settle();
    expect(told).toEqual(fifo === 'real' ? ['~a', '~b', '~a'] : ['~a', '~a', '~b']);
    await informer.stop();
  });
});
