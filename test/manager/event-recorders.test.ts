/**
 * The event recorders of a manager. The counterpart of "should provide a function to get the
 * EventRecorder" of controller-runtime's manager.
 */
import { defineResource, type Transport, TransportError } from 'capstan/cache';
import { EventRecorder, eventResource } from 'capstan/client';
import { silentLogger } from 'capstan/controller';
import { newManager } from 'capstan/manager';
import { fakeClient, fakeTransport } from 'capstan/testing';
import { FakeClock } from 'capstan/workqueue';
import { expect, test } from 'vitest';
import { collectErrorValues } from '../helpers/reported-errors.ts';

const reported = collectErrorValues();

const ConfigMap = defineResource<{ metadata: { name: string; namespace?: string } }>()({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
});

const Lease = defineResource<{ metadata: { name: string }; spec?: { acquireTime?: string } }>()({
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
});

test('a controller may record events until it has ended', async () => {
  const transport = fakeTransport();
  const manager = newManager({ transport });
  const recorder = manager.eventRecorder('example.com/tests');
  expect(manager.eventRecorder('example.com/tests')).toBe(recorder);
  expect(manager.eventRecorder('example.com/others')).not.toBe(recorder);
  const map = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'default', name: 'a', uid: '1' },
  };
  manager.add({
    name: 'speaker',
    async start({ signal }) {
      recorder.event(map, { reason: 'Started', action: 'Starting' });
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      // it takes a while
      await manager.client.create(ConfigMap, { metadata: { namespace: 'default', name: 'a' } });
      recorder.event(map, { reason: 'Ended', action: 'Ending', note: 'the last word' });
    },
  });
  const stopper = new AbortController();
  const done = manager.start({ signal: stopper.signal });
  await manager.elected();
  stopper.abort();
  await done;
  const { items } = await fakeClient({ server: transport }).list(eventResource, {
    namespace: 'default',
  });
  expect(items.map(({ reason }) => reason).sort()).toEqual(['Ended', 'Started']);
  expect(items[0]).toMatchObject({
    reportingController: 'example.com/tests',
    regarding: { name: 'a' },
  });
  expect(reported).toEqual([]);
});

// A test with a fake clock had events and a lease of the real date, next to objects of its own
// time.
test("the time of day in events and in the lease is the manager's wallNow", async () => {
  const clock = new FakeClock();
  const startTime = Date.UTC(2030, 0, 31, 12);
  const wallNow = (): number => startTime + clock.now();
  const transport = fakeTransport({ clock, startTime });
  const client = fakeClient({ server: transport });
  const manager = newManager({
    transport,
    clock,
    wallNow,
    leaderElection: { id: 'tests', namespace: 'default' },
  });
  const stopper = new AbortController();
  const done = manager.start({ signal: stopper.signal });
  await manager.elected();
  await clock.run(60_000);
  const map = await client.create(ConfigMap, { metadata: { namespace: 'default', name: 'a' } });
  expect(map.metadata).toHaveProperty('creationTimestamp', '2030-01-31T12:01:00Z');
  manager.eventRecorder('example.com/tests').event(map, { reason: 'Made', action: 'Making' });
  await clock.settle();
  const [event] = (await client.list(eventResource)).items;
  expect(event?.eventTime).toBe('2030-01-31T12:01:00.000000Z');
  expect((await client.get(Lease, { namespace: 'default', name: 'tests' })).spec?.acquireTime).toBe(
    '2030-01-31T12:00:00.000000Z',
  );
  stopper.abort();
  await done;
  expect(() => fakeTransport({ startTime: Number.NaN })).toThrow(
    '"startTime" expected milliseconds since 1970',
  );
});

test('a recorder that is closed leaves no timer behind', async () => {
  const clock = new FakeClock();
  const manager = newManager({ transport: fakeTransport(), clock });
  const recorder = manager.eventRecorder('example.com/tests');
  const map = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'default', name: 'a', uid: '1' },
  };
  const stopper = new AbortController();
  const done = manager.start({ signal: stopper.signal });
  await manager.elected();
  // a series has a timer
  for (let i = 0; i < 5; i++) recorder.event(map, { reason: 'Again', action: 'Repeating' });
  expect(clock.timers()).toBeGreaterThan(0);
  stopper.abort();
  await done;
  expect(clock.timers()).toBe(0);
  expect(recorder.counts()).toMatchObject({ recorded: 5, lost: 0 });
});

test('an invalid name is refused, and a manager that has ended returns no recorder', async () => {
  const manager = newManager({ transport: fakeTransport() });
  expect(() => manager.eventRecorder('no name/at/all')).toThrow('reportingController');
  await manager.start({ signal: AbortSignal.abort() });
  expect(() => manager.eventRecorder('example.com/late')).toThrow('the manager is being stopped');
});

// The recorder was not told that the manager had ended: it went on, its requests stayed open, and
// lost events were not counted.
test('events that a hanging API server has not taken in time are lost', async () => {
  const server = fakeTransport();
  const clock = new FakeClock();
  const open = new Set<string>();
  const transport: Transport = {
    request(request) {
      if (request.method !== 'POST') return server.request(request);
      open.add(request.path);
      return new Promise((_, reject) =>
        request.signal?.addEventListener('abort', () => {
          open.delete(request.path);
          reject(new TransportError('aborted', 'hangs'));
        }),
      );
    },
  };
  const manager = newManager({ transport, clock, gracefulShutdownTimeout: 1000 });
  const recorder = manager.eventRecorder('example.com/tests');
  const stopper = new AbortController();
  const done = manager.start({ signal: stopper.signal });
  await manager.elected();
  for (let i = 0; i < 10; i++) {
    const map = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace: `n${i}`, name: 'a' },
    };
    recorder.event(map, { reason: 'Ended', action: 'Ending' });
  }
  await clock.settle();
  expect(open.size).toBe(8); // that many are sent at a time
  stopper.abort();
  const end = expect(done).rejects.toThrow('events of example.com/tests (caches)');
  await clock.run(1000);
  await end;
  await clock.settle();
  expect(open.size).toBe(0);
  expect(recorder.counts()).toMatchObject({ recorded: 10, written: 0, lost: 10 });
  expect(clock.timers()).toBe(0);
  expect(reported).toHaveLength(8);
});

// Lost events did not go to the manager's logger but to the error handler.
test("logs lost events to the manager's logger only", async () => {
  const logged: unknown[] = [];
  const logger = { ...silentLogger, error: (...line: unknown[]) => void logged.push(line) };
  const manager = newManager({ transport: fakeTransport(), logger });
  const map = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'default', name: 'a' },
  };
  const details = { reason: 'Started', action: 'Starting' };
  const recorder = manager.eventRecorder('example.com/tests');
  recorder.event({ metadata: {} }, details);
  recorder.event(map, { ...details, related: { metadata: {} } });
  const about = (message: string) => [
    'event recorder',
    { reportingController: 'example.com/tests', error: expect.objectContaining({ message }) },
  ];
  expect(logged).toEqual([
    about(expect.stringContaining('"regarding" expected')),
    about(expect.stringContaining('"related" expected')),
  ]);
  expect(reported).toEqual([]);
  await manager.start({ signal: AbortSignal.abort() });
});

// A logger is any object with its methods, so it may throw; the caller that records an event must
// not get that error.
test('a recorder with a logger that throws reports to the error handler', () => {
  const client = fakeClient();
  const broken = () => {
    throw new Error('disk full');
  };
  const options = { client, reportingController: 'example.com/tests' };
  const recorder = new EventRecorder({ ...options, logger: { ...silentLogger, error: broken } });
  recorder.event({ metadata: {} }, { reason: 'Started', action: 'Starting' });
  expect(reported).toEqual([
    expect.objectContaining({ message: expect.stringContaining('"regarding" expected') }),
    expect.objectContaining({ message: 'disk full' }),
  ]);
  expect(() => new EventRecorder({ ...options, logger: {} as never })).toThrow(
    '"logger.debug" expected a function',
  );
});

// A program that read or recorded something and then failed to start (its port was taken) kept an
// informer that watched the server and a recorder with timers: the process never ended.
test('informers and recorders that were used before a failed start end', async () => {
  const clock = new FakeClock();
  const manager = newManager({
    transport: fakeTransport(),
    clock,
    metrics: { bindAddress: '203.0.113.1:1' },
  });
  await manager.client.list(ConfigMap);
  const recorder = manager.eventRecorder('example.com/tests');
  const map = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'default', name: 'a', uid: '1' },
  };
  recorder.event(map, { reason: 'Started', action: 'Starting' });
  const informer = manager.cache.informerFor(ConfigMap);
  expect(informer.hasSynced()).toBe(true);
  await expect(manager.start()).rejects.toMatchObject({ code: 'LISTEN' });
  expect(informer.isStopped()).toBe(true);
  recorder.event(map, { reason: 'Late', action: 'Ending' });
  expect(recorder.counts()).toMatchObject({ recorded: 2, written: 1, lost: 1 });
  expect(clock.timers()).toBe(0);
});
