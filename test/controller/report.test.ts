/** The report of a controller, which says why an object is not reconciled. */
import { newControllerManagedBy, type ReportOptions, TerminalError } from 'capstan/controller';
import { PriorityQueue, PrometheusProvider } from 'capstan/workqueue';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Causes } from '../../bindings/controller/causes.ts';
import { causeOf, fail, reconcileResults, rig } from '../helpers/controller/controller-rig.ts';
import { FakeManager } from '../helpers/controller/fake-manager.ts';
import { TestWidget, testWidget } from '../helpers/controller/resources.ts';
import { collectGarbage } from '../helpers/garbage-collection.ts';
import { ignoreErrors } from '../helpers/reported-errors.ts';

ignoreErrors();

const give = (): never => {
  throw new TerminalError('spec.image is no image');
};

test('lists running, ready, waiting and failed requests with their causes', async () => {
  const gate = Promise.withResolvers<undefined>();
  const { source, start, clock, controller } = rig(
    (request, context) =>
      reconcileResults({ gate: [() => gate.promise], failing: [fail], given: [give] })(
        request,
        context,
      ),
    { metricsProvider: new PrometheusProvider({ flavor: 'controller-runtime' }) },
  );
  await start();
  source.add('given');
  source.add('failing');
  await clock.settle();
  source.add('gate', {}, causeOf('update', 0, 'owns Part'));
  await clock.settle();
  source.add('ready', { priority: -100 }, causeOf('create'));
  source.add('later', { after: 500 }, causeOf('generic'));
  await clock.run(3);
  const { queue, keys, totals, more, name, groupKind, workers } = controller.report();
  expect({ name, groupKind, workers, more }).toEqual({
    name: 'test',
    groupKind: '',
    workers: 1,
    more: false,
  });
  expect(queue).toEqual({ ready: 1, waiting: 2, processing: 1, hasPriorities: true });
  expect(totals).toEqual({
    success: 0,
    requeue: 0,
    requeueAfter: 0,
    error: 1,
    terminal: 1,
    aborted: 0,
  });
  const key = (wanted: string) => keys.find((one) => one.name === wanted);
  expect(keys[0]).toEqual({
    namespace: 'default',
    name: 'gate',
    state: 'processing',
    priority: undefined,
    waitingMs: undefined,
    sinceMs: 3,
    failures: 0,
    lastError: undefined,
    causes: [causeOf('update', 0, 'owns Part')],
    moreCauses: 0,
  });
  expect(key('ready')).toMatchObject({
    state: 'ready',
    priority: -100,
    sinceMs: 3,
    causes: [{ kind: 'create' }],
  });
  expect(key('later')).toMatchObject({
    state: 'waiting',
    waitingMs: 497,
    failures: 0,
    causes: [{ kind: 'generic' }],
  });
  expect(key('failing')).toMatchObject({
    state: 'waiting',
    waitingMs: 2,
    failures: 1,
    lastError: { name: 'Error', message: 'not yet', agoMs: 3 },
    causes: [{ kind: 'retry', source: 'test', attempt: 2, at: 0 }],
  });
  expect(key('given')).toMatchObject({
    state: 'failed',
    lastError: { name: 'TerminalError TERMINAL', message: 'spec.image is no image', agoMs: 3 },
  });
  expect(keys.map(({ state }) => state)).toEqual([
    'processing',
    'waiting',
    'ready',
    'waiting',
    'failed',
  ]);
  gate.resolve(undefined);
});

test('drops a failure when its request succeeds, not when it is retried', async () => {
  const { source, start, clock, controller } = rig(
    reconcileResults({ a: [fail, () => ({ requeue: true })], given: [give, give] }),
  );
  await start();
  source.add('a');
  source.add('given');
  await clock.run(5);
  expect(controller.report({ filter: 'default/a' }).keys).toMatchObject([
    { failures: 2, lastError: { message: 'not yet' } },
  ]);
  await clock.run(100);
  source.add('given');
  await clock.settle();
  expect(controller.report().keys).toMatchObject([
    { name: 'given', state: 'failed', lastError: { agoMs: 0 } },
  ]);
  source.add('given');
  await clock.settle();
  expect(controller.report().keys).toEqual([]);
});

test('has the last hundred runs, newest first', async () => {
  const { source, start, clock, controller } = rig(({ name }) => {
    if (name === 'r249') return { requeueAfter: 60_000 };
    return name === 'r248' ? fail() : undefined;
  });
  await start();
  for (let i = 0; i < 250; i++) source.add(`r${i}`, {}, causeOf('create', i));
  await clock.settle();
  await clock.run(2);
  const { recent, totals } = controller.report();
  expect(recent.map(({ name }) => name)).toEqual(
    Array.from({ length: 100 }, (_, i) => `r${249 - i}`),
  );
  expect(recent[0]).toEqual({
    namespace: 'default',
    name: 'r249',
    reconcileId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    outcome: 'requeueAfter',
    requeueAfterMs: 60_000,
    attempt: 1,
    agoMs: 2,
    tookMs: 0,
    causes: [causeOf('create', 249)],
    moreCauses: 0,
  });
  expect(recent[1]).toMatchObject({ outcome: 'error', error: { message: 'not yet', agoMs: 2 } });
  expect(totals).toEqual({
    success: 248,
    requeue: 0,
    requeueAfter: 1,
    error: 1,
    terminal: 0,
    aborted: 0,
  });
});

test('is filtered by a part of the key and limited, while the counts are of all', async () => {
  const { source, start, clock, controller } = rig();
  await start();
  for (let i = 0; i < 30; i++) source.add(`web-${i}`);
  await clock.settle();
  for (let i = 0; i < 30; i++) source.add(`web-${i}`, { after: 1000 });
  for (let i = 0; i < 5; i++) source.add(`db-${i}`, { after: 1000 });
  const some = controller.report({ filter: 'default/web', limit: 10 });
  expect(new Set(some.keys.map(({ name }) => name)).size).toBe(10);
  expect(some.keys.every(({ name }) => name.startsWith('web-'))).toBe(true);
  expect([some.recent.length, some.more, some.queue.waiting]).toEqual([10, true, 35]);
  const one = controller.report({ filter: 'db-3' });
  expect([one.keys.length, one.recent, one.more, one.queue.waiting]).toEqual([1, [], false, 35]);
  expect(controller.report({ limit: 0 })).toMatchObject({ keys: [], recent: [], more: true });
  expect(() => controller.report({ limit: -1 })).toThrow(/"limit" expected an integer >= 0/);
});

// A page that polled a queue of a million keys every second took half a second each time.
test('reads no more of a long queue than the limit', async () => {
  const snapshots = vi.spyOn(PriorityQueue.prototype, 'snapshot');
  const { source, start, controller } = rig();
  await start();
  for (let i = 0; i < 5000; i++) source.add(`r${i}`, { after: 1000 });
  const report = controller.report({ limit: 20 });
  expect([report.keys.length, report.more, report.queue.waiting]).toEqual([20, true, 5000]);
  expect(snapshots).toHaveBeenCalledTimes(1);
  vi.restoreAllMocks();
});

// The live page sorted full reports of thousands of keys of each controller to show fifty: with 40
// controllers that blocked the event loop for most of a second.
test('ranks many keys, and makes reports of the chosen ones only', async () => {
  const { source, start, clock, controller } = rig(reconcileResults({ bad: [fail] }));
  await start();
  for (let i = 0; i < 3000; i++) source.add(`r${i}`, { after: 10_000 - i });
  source.add('bad');
  await clock.settle();
  const made = vi.spyOn(Causes.prototype, 'of');
  onTestFinished(() => void vi.restoreAllMocks());
  const names = (options: ReportOptions) => controller.report(options).keys.map(({ name }) => name);
  expect(names({ limit: 3, among: 5000 })).toEqual(['bad', 'r2999', 'r2998']);
  expect(names({ limit: 3, among: 5000, filter: 'default/r10' })).toEqual([
    'r10',
    'r1099',
    'r1098',
  ]);
  expect(names({ limit: 2, among: 10 })).toEqual(['r9', 'r8']);
  expect(names({ limit: 3, among: 2 })).toEqual(['r0', 'r1', 'r2']);
  expect(made.mock.calls.length).toBeLessThan(20);
  expect(controller.report({ limit: 3, among: 5000 }).more).toBe(true);
  expect(names({ limit: 3000, among: 5000 })).toHaveLength(3000);
  expect(() => controller.report({ among: -1 })).toThrow(/"among" expected an integer >= 0/);
});

test('reads a queue of many pages', async () => {
  const { source, start, controller } = rig();
  await start();
  for (let i = 0; i < 2500; i++) source.add(`r${i}`, { after: 1000 });
  const report = controller.report({ filter: 'default/r2499' });
  expect(report.queue.waiting).toBe(2500);
  expect(report.keys).toHaveLength(1);
});

test('keeps the errors of a thousand failing requests as text', async () => {
  const { source, start, clock, controller } = rig(({ name }) => {
    throw new Error(
      name === 'long' ? `${'word '.repeat(199)}password=secret ${'more '.repeat(800)}` : name,
    );
  });
  await start();
  for (let i = 0; i < 1500; i++) source.add(`r${i}`);
  source.add('long');
  await clock.settle();
  await controller.report();
  const { keys } = controller.report({ limit: 2000 });
  expect(keys).toHaveLength(1501);
  expect(keys.filter(({ lastError }) => lastError !== undefined)).toHaveLength(1000);
  const long = keys.find(({ name }) => name === 'long');
  // no part of the word at the cut, because it may be half a secret
  expect(long?.lastError?.message).toBe(`${'word '.repeat(199)}…`);
});

test('shows any thrown value', async () => {
  const odd = {
    toString() {
      throw new Error('no text');
    },
  };
  const hiding = (name: string) =>
    Object.defineProperty(new Error('x'), name, {
      get() {
        throw new Error('no');
      },
    });
  const proxy = new Proxy(new Error('x'), {
    get() {
      throw new Error('no');
    },
  });
  const noText = Object.assign(new Error('x'), { message: { code: 5 } });
  const thrown = [
    new RangeError('deep'),
    'a string',
    undefined,
    odd,
    hiding('message'),
    hiding('cause'),
    proxy,
    noText,
  ];
  const { source, start, clock, controller } = rig(() => {
    throw thrown.shift();
  });
  await start();
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) source.add(name);
  await clock.settle();
  expect(controller.report().totals.error).toBe(8);
  expect(controller.report().recent.map(({ error }) => [error?.name, error?.message])).toEqual([
    ['Error', 'an object'],
    ['Error', 'something that has no text'],
    ['Error', 'x'],
    ['Error', 'something that has no text'],
    ['object', 'something that has no text'],
    ['undefined', 'undefined'],
    ['string', 'a string'],
    ['RangeError', 'deep'],
  ]);
});

// It was listed twice, as ready and as failed, and readers believed the second.
test('does not list a request as failed that an event has added since', async () => {
  const gate = Promise.withResolvers<undefined>();
  const { source, start, clock, controller } = rig((request, context) =>
    reconcileResults({ gate: [() => gate.promise], given: [give] })(request, context),
  );
  await start();
  const states = () =>
    controller
      .report({ filter: 'given' })
      .keys.map(({ state, lastError }) => [state, lastError?.message]);
  source.add('given');
  await clock.settle();
  expect(states()).toEqual([['failed', 'spec.image is no image']]);
  source.add('gate');
  await clock.settle();
  source.add('given');
  await clock.settle();
  expect(states()).toEqual([['ready', 'spec.image is no image']]);
  gate.resolve(undefined);
  await clock.settle();
  expect(states()).toEqual([['failed', 'spec.image is no image']]);
});

test('has the sources with their state and problem', async () => {
  const manager = new FakeManager();
  const controller = newControllerManagedBy(manager)
    .for(TestWidget)
    .named('report-sources')
    .build(() => undefined);
  manager.holds = false;
  expect(controller.report()).toMatchObject({
    groupKind: 'Widget.example.com',
    state: 'waiting for leadership',
  });
  manager.holds = true;
  expect(controller.report().state).toBe('not started');
  manager.transport.put('widgets', testWidget('a'));
  await manager.start();
  expect(controller.report().sources).toMatchObject([
    { name: 'for Widget', synced: true, events: { handled: 1, filtered: 0, failed: 0 } },
  ]);
  const plain = rig();
  await plain.start();
  plain.source.add('a');
  expect(plain.controller.report().sources).toEqual([
    { name: 'test', synced: true, events: { handled: 1, filtered: 0, failed: 0 } },
  ]);
});

test('has no contents of objects, and does not change later', async () => {
  const gate = Promise.withResolvers<undefined>();
  const { source, start, clock, controller } = rig(() => gate.promise);
  await start();
  source.add('a');
  await clock.settle();
  source.add('b');
  const before = controller.report();
  const copy = structuredClone(before);
  source.add('b');
  gate.resolve(undefined);
  await clock.settle();
  expect(before).toEqual(copy);
});

// A slice of a string keeps the whole string alive in V8: a thousand failures with texts of 1 MB
// kept 1 GB.
test.each([
  ['long', 400_000, ''],
  ['a part of a long text', 100, ' and so on'],
])('keeps only the shown part of an error: its message is %s', async (_, shown, rest) => {
  const answer = (name: string): string => `${name}: `.padEnd(1_000_000, 'no room, ');
  const { source, start, clock, controller } = rig(({ name }) => {
    throw new Error(`${answer(name).slice(0, shown)}${rest}`);
  });
  await start();
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < 50; i++) source.add(`key-${i}`);
  await clock.settle();
  expect(controller.report().recent).toHaveLength(50);
  collectGarbage();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(5_000_000);
});
