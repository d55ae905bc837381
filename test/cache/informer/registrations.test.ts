/** Registrations of handlers: filters, removal, indices, and waiting. */
import {
  DeletedFinalStateUnknown,
  type DoneChecker,
  FilteringResourceEventHandler,
  ListWatch,
  SharedIndexInformer,
  SyncResult,
  shutDownEventHandler,
  waitFor,
  waitForNamedCacheSync,
} from 'capstan/cache';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../bindings/base/clock.ts';
import { answer, LiveServer, statusBody } from '../../helpers/cache/live-server.ts';
import { heldHandler, setUp, teller } from '../../helpers/cache/recording-handlers.ts';
import { collectErrors } from '../../helpers/reported-errors.ts';
import { type ConfigMap, ConfigMaps } from '../../helpers/resources.ts';

const reported = collectErrors();
const invalid = expect.objectContaining({ code: 'INVALID_ARGUMENT' });

describe('a filtering handler', () => {
  const passing = (told: string[]) =>
    new FilteringResourceEventHandler<ConfigMap>({
      filterFunc: (object) => object.data?.v === 'yes',
      handler: teller(told),
    });
  const yes = { data: { v: 'yes' } };
  const no = { data: { v: 'no' } };

  test('gets passing objects: an addition when they begin to pass, then a deletion', async () => {
    const { clock, server, informer } = setUp();
    const told: string[] = [];
    informer.addEventHandler(passing(told));
    server.put('in', yes);
    server.put('out', no);
    void informer.run();
    await clock.settle();
    server.put('in', { ...yes, labels: { l: '1' } });
    server.put('out', { ...no, labels: { l: '1' } });
    await clock.settle();
    expect(told.splice(0)).toEqual(['+in', '~in']);
    server.put('in', no);
    server.put('out', yes);
    await clock.settle();
    expect(told.splice(0)).toEqual(['-in', 'out']);
    server.remove('in');
    server.remove('out');
    await clock.settle();
    expect(told).toEqual(['-out']);
    await informer.stop();
  });

  test('filters a tombstone by its last state, and passes on one without a state', () => {
    const told: string[] = [];
    const handler = passing(told);
    const object = (v: string): ConfigMap => ({
      metadata: { namespace: 'default', name: 'x' },
      data: { v },
    });
    handler.onDelete(new DeletedFinalStateUnknown('default/in', object('yes')));
    handler.onDelete(new DeletedFinalStateUnknown('default/out', object('no')));
    handler.onDelete(new DeletedFinalStateUnknown<ConfigMap>('default/unknown', undefined));
    expect(told).toEqual(['-(default/in)', '-(default/unknown)']);
  });

  test('gives the last state that passed when an object no longer passes', async () => {
    const { clock, server, informer } = setUp();
    const held = heldHandler();
    informer.addEventHandler(
      new FilteringResourceEventHandler({
        filterFunc: ({ data }) => data?.v !== 'no',
        handler: held.handler,
      }),
    );
    server.put('a', yes);
    void informer.run();
    await clock.settle();
    server.put('a', no);
    await clock.settle();
    expect(held.told).toEqual(['+ayes']);
    held.next();
    await clock.settle();
    expect(held.told).toEqual(['+ayes', '-ayes']);
    held.next();
    await informer.stop();
  });

  test('may lack any of the three methods, and requires a filter and a handler', () => {
    const object: ConfigMap = { metadata: { namespace: 'default', name: 'x' } };
    const handler = new FilteringResourceEventHandler<ConfigMap>({
      filterFunc: () => true,
      handler: {},
    });
    handler.onAdd(object, true);
    handler.onUpdate(object, object, {} as never);
    handler.onDelete(object);
    for (const bad of [undefined, {}, { filterFunc: () => true }, { filterFunc: 7, handler: {} }])
      expect(() => new FilteringResourceEventHandler(bad as never)).toThrow(invalid);
  });
});

describe('a handler', () => {
  // client-go: TestTypedResourceEventHandlerFuncs, TestTypedResourceEventHandlerDetailedFuncs
  test('may have any of the three methods, and gets isInInitialList with an addition', async () => {
    const { clock, server, informer } = setUp();
    const told: string[][] = [[], [], [], []];
    const [all, added, updated, deleted] = told.map((into) => teller(into));
    for (const handler of [
      all ?? {},
      { onAdd: added?.onAdd },
      { onUpdate: updated?.onUpdate },
      { onDelete: deleted?.onDelete },
      {},
    ])
      informer.addEventHandler(handler);
    server.put('a');
    void informer.run();
    await clock.settle();
    server.put('b');
    server.put('a');
    server.remove('b');
    await clock.settle();
    expect(told).toEqual([['+a', 'b', '~a', '-b'], ['+a', 'b'], ['~a'], ['-b']]);
    expect(reported).toEqual([]);
    await informer.stop();
  });
});

describe('shutting a handler down', () => {
  test('waits for the running call, and delivers nothing after it', async () => {
    const { clock, server, informer } = setUp();
    const held = heldHandler();
    const registration = informer.addEventHandler(held.handler);
    for (const name of ['a', 'b']) server.put(name);
    void informer.run();
    await clock.settle();
    let ended = 0;
    const first = informer.shutDownEventHandler(registration).then(() => ended++);
    const second = shutDownEventHandler(informer, registration).then(() => ended++);
    await clock.settle();
    expect([ended, registration.pending()]).toEqual([0, 0]);
    held.next();
    await Promise.all([first, second]);
    await informer.shutDownEventHandler(registration);
    server.put('c');
    await clock.settle();
    expect(held.told).toEqual(['+a']);
    await informer.stop();
  });

  test('resolves at once if no call is running', async () => {
    const { clock, server, informer } = setUp();
    const told: string[] = [];
    await informer.shutDownEventHandler(informer.addEventHandler(teller(told)));
    const idle = informer.addEventHandler(teller(told));
    server.put('a');
    void informer.run();
    await clock.settle();
    await informer.shutDownEventHandler(idle);
    const last = informer.addEventHandler(teller(told));
    await clock.settle();
    await informer.stop();
    await informer.shutDownEventHandler(last);
    expect(told).toEqual(['+a', '+a']);
  });

  test('waits for a call that fails', async () => {
    const { clock, server, informer } = setUp();
    let fail = (): void => undefined;
    const registration = informer.addEventHandler({
      onAdd: () => new Promise((_, reject) => (fail = () => reject(new Error('late')))) as never,
    });
    server.put('a');
    void informer.run();
    await clock.settle();
    const ended = informer.shutDownEventHandler(registration);
    fail();
    await ended;
    expect(reported).toHaveLength(1);
    await informer.stop();
  });

  test('rejects when its signal fires; the handler is removed nevertheless', async () => {
    const { clock, server, informer } = setUp();
    const held = heldHandler();
    const registration = informer.addEventHandler(held.handler);
    server.put('a');
    void informer.run();
    await clock.settle();
    const stop = new AbortController();
    const ended = informer.shutDownEventHandler(registration, { signal: stop.signal });
    stop.abort();
    await expect(ended).rejects.toMatchObject({ code: 'ABORTED' });
    held.next();
    server.put('b');
    await clock.settle();
    expect(held.told).toEqual(['+a']);
    await expect(informer.shutDownEventHandler({} as never)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    await informer.stop();
  });
});

describe('adding indices', () => {
  test('is possible before and after the start, and not after the end', async () => {
    const { clock, server, informer } = setUp();
    informer.addIndexers({ early: 'metadata.name' });
    server.put('a');
    void informer.run();
    await clock.settle();
    informer.addIndexers({ late: (object) => [object.metadata.name] });
    const indexer = informer.getIndexer();
    expect([indexer.listIndexFuncValues('early'), indexer.listIndexFuncValues('late')]).toEqual([
      ['a'],
      ['a'],
    ]);
    expect(() => informer.addIndexers({ late: 'x' })).toThrow(
      expect.objectContaining({ code: 'INDEX_EXISTS' }),
    );
    await informer.stop();
    expect(() => informer.addIndexers({ x: 'x' })).toThrow(
      expect.objectContaining({ code: 'STOPPED' }),
    );
  });
});

describe('types', () => {
  test('of handlers, lister and indices follow from the resource', () => {
    const informer = new SharedIndexInformer(new ListWatch(new LiveServer(), ConfigMaps), {
      transform: (map) => ({ ...map, data: { v: map.metadata.name } }),
    });
    informer.addEventHandler({
      onAdd: (map, initial) => void [map.metadata.name satisfies string, initial satisfies boolean],
      onUpdate: (old, now, change) =>
        void [old.data?.v, now.data?.v, change.spec satisfies boolean],
      onDelete: (map) => void (map instanceof DeletedFinalStateUnknown ? map.obj?.data : map.data),
    });
    informer.lister().list()[0]?.data satisfies Record<string, string> | undefined;
    informer.getIndexer().byIndex('byValue', 'x') satisfies ConfigMap[];
    expect(informer.hasStarted()).toBe(false);
  });
});

describe('waiting', () => {
  const checker = (name: string, done: Promise<void>): DoneChecker => ({ name, done });
  const never = new Promise<void>(() => undefined);

  // client-go: TestWaitFor
  test.each<[what: string, names: string[], abort: boolean, done: boolean]>([
    ['nothing at all', [], false, true],
    ['nothing at all, aborted', [], true, true],
    ['what is done', ['first done', 'second done'], false, true],
    ['what is done, aborted', ['first done', 'second done'], true, true],
    ['some of it', ['second', 'first', 'last done'], true, false],
    ['none of it', ['second', 'first'], true, false],
  ])('for %s', async (_, names, abort, done) => {
    const checkers = names.map((name) =>
      checker(name, name.endsWith('done') ? Promise.resolve() : never),
    );
    const signal = abort ? AbortSignal.abort(new Error('go fish')) : undefined;
    expect(await waitFor({ signal }, 'my caches', ...checkers)).toBe(done);
    expect(reported.map(({ error }) => (error as Error).message)).toEqual(
      done ? [] : ['gave up waiting for my caches, these have not synced: first, second (go fish)'],
    );
  });

  test('ends with the last of them or the signal, without a report if it has no name', async () => {
    const resolvers: (() => void)[] = [];
    const checkers = ['a', 'b'].map((name) =>
      checker(name, new Promise((resolve) => resolvers.push(resolve))),
    );
    const stop = new AbortController();
    const all = waitFor({}, 'all', ...checkers);
    const aborted = waitFor({ signal: stop.signal }, '', ...checkers);
    resolvers[0]?.();
    stop.abort();
    expect(await aborted).toBe(false);
    resolvers[1]?.();
    expect(await all).toBe(true);
    expect(reported).toEqual([]);
    await expect(waitFor({}, 'x', {} as DoneChecker)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  test('with a name reports the caches that have not synced', async () => {
    const { clock, server, informer } = setUp();
    server.intercept = () => answer(500, statusBody(500, 'InternalError'));
    const registration = informer.addEventHandler({}, { name: 'my handler' });
    void informer.run();
    const stop = new AbortController();
    const polled = { hasSynced: () => false };
    const waiting = waitForNamedCacheSync(
      'websites',
      { signal: stop.signal, clock },
      informer,
      registration,
      polled,
    );
    stop.abort(new Error('late'));
    expect(await waiting).toBe(false);
    expect(reported[0]).toMatchObject({
      what: 'websites',
      error: {
        code: 'CACHE_SYNC_TIMEOUT',
        message:
          'gave up waiting for websites, these have not synced: cache 2, informer of v1 ' +
          'ConfigMap, my handler (late)',
      },
    });
    await informer.stop();
    expect(await waitForNamedCacheSync('none', { clock: new FakeClock() })).toBe(true);
  });

  // client-go: TestSyncResult
  test('gives a result that names the informers that have not synced, with its cause', () => {
    expect(new SyncResult(new Map([['a', true]])).asError()).toBeUndefined();
    const cause = new Error('my custom reason');
    const synced = new Map([
      ['c', false],
      ['a', true],
      ['b', false],
    ]);
    expect(new SyncResult(synced, cause).asError()).toMatchObject({
      message: 'failed to sync all caches, these have not synced: b, c (my custom reason)',
      cause,
    });
  });
});
