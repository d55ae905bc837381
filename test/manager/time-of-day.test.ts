/**
 * One clock gives all times of a test: `context.now()`, the conditions, the Events, the lease, and
 * the timestamps of the embedded server.
 */
import { defineResource } from 'capstan/cache';
import { EventRecorder, eventResource, newClient, setStatusCondition } from 'capstan/client';
import { createController, newControllerManagedBy } from 'capstan/controller';
import { newManager } from 'capstan/manager';
import { ApiServer, FakeClock, fakeClient, fakeTransport } from 'capstan/testing';
import type { Clock } from 'capstan/workqueue';
import { expect, test, vi } from 'vitest';
import { collectErrors } from '../helpers/reported-errors.ts';
import { ConfigMaps as ConfigMap } from '../helpers/resources.ts';

const START = Date.parse('2026-01-05T08:00:00Z');
const HOUR = 3_600_000;
const map = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace: 'default', name: 'a', uid: 'u-1' },
};
const reported = collectErrors();

const Lease = defineResource<{ spec?: { acquireTime?: string } }>()({
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
});

/** The times that `context.now()` returns in a controller of ConfigMaps, with its own options. */
async function timesOf(clock: FakeClock, parts: { own?: Clock; wallNow?: () => number } = {}) {
  const transport = fakeTransport({ clock, objects: [map] });
  const { own, ...rest } = parts;
  const manager = newManager({ transport, clock, ...rest });
  const times: number[] = [];
  newControllerManagedBy(manager)
    .for(ConfigMap)
    .withOptions(own === undefined ? {} : { clock: own })
    .complete((_, { now }) => {
      times.push(now());
      return { requeueAfter: HOUR };
    });
  const stopper = new AbortController();
  const ended = manager.start({ signal: stopper.signal });
  await clock.settle();
  await clock.run(2 * HOUR);
  stopper.abort();
  await ended;
  return times;
}

// A reconcile that compared Date.now() with a schedule could be tested only with the host's time.
test('context.now() follows the clock of the manager', async () => {
  expect(await timesOf(new FakeClock(START))).toEqual([START, START + HOUR, START + 2 * HOUR]);
});

test("context.now() is the manager's wallNow, where that is set", async () => {
  const clock = new FakeClock(START);
  const wallNow = () => clock.now() - START;
  expect(await timesOf(clock, { wallNow })).toEqual([0, HOUR, 2 * HOUR]);
});

test("context.now() follows the controller's own clock, where that is set", async () => {
  const clock = new FakeClock(0, START);
  const own = {
    now: () => clock.now(),
    wallNow: () => 7,
    setTimer: (run: () => void, ms: number) => clock.setTimer(run, ms),
    clearTimer: (timer: unknown) => clock.clearTimer(timer),
  };
  expect(await timesOf(clock, { own, wallNow: () => 8 })).toEqual([7, 7, 7]);
});

test('context.now() of a clock without wallNow is Date.now()', async () => {
  const clock = new FakeClock();
  const own = {
    now: () => clock.now(),
    setTimer: (run: () => void, ms: number) => clock.setTimer(run, ms),
    clearTimer: (timer: unknown) => clock.clearTimer(timer),
  };
  const date = vi.spyOn(Date, 'now').mockReturnValue(1234);
  try {
    expect(await timesOf(clock, { own })).toEqual([1234, 1234, 1234]);
  } finally {
    date.mockRestore();
  }
});

test('a controller without a manager and conditions have the time of the clock', async () => {
  const clock = new FakeClock(0, START);
  const transport = fakeTransport({ clock, objects: [map] });
  const conditions: unknown[] = [];
  const controller = createController({
    transport,
    clock,
    for: ConfigMap,
    reconcile: (_, { now: wallNow }) => {
      const ready = { type: 'Ready', status: 'True', reason: 'Made', message: '' } as const;
      conditions.push(...setStatusCondition([], ready, { wallNow }));
      return { requeueAfter: HOUR };
    },
  });
  const stopper = new AbortController();
  const ended = controller.run({ signal: stopper.signal });
  await clock.settle();
  await clock.run(HOUR);
  stopper.abort();
  await ended;
  expect(conditions).toMatchObject([
    { lastTransitionTime: '2026-01-05T08:00:00Z' },
    { lastTransitionTime: '2026-01-05T09:00:00Z' },
  ]);
});

test('a lease, an Event and a new object have the time of the one clock', async () => {
  const clock = new FakeClock(START);
  const transport = fakeTransport({ clock });
  const client = fakeClient({ server: transport });
  const manager = newManager({
    transport,
    clock,
    leaderElection: { id: 'tests', namespace: 'default' },
  });
  const stopper = new AbortController();
  const ended = manager.start({ signal: stopper.signal });
  await manager.elected();
  await clock.run(HOUR);
  const stored = await client.create(ConfigMap, { metadata: { namespace: 'default', name: 'a' } });
  expect(stored.metadata).toHaveProperty('creationTimestamp', '2026-01-05T09:00:00Z');
  manager.eventRecorder('example.com/tests').event(stored, { reason: 'Made', action: 'Making' });
  await clock.settle();
  const [event] = (await client.list(eventResource)).items;
  expect(event?.eventTime).toBe('2026-01-05T09:00:00.000000Z');
  const { spec } = await client.get(Lease, { namespace: 'default', name: 'tests' });
  expect(spec?.acquireTime).toBe('2026-01-05T08:00:00.000000Z');
  stopper.abort();
  await ended;
});

test('an event recorder without a manager has the time of its clock', async () => {
  const clock = new FakeClock(0, START);
  const client = fakeClient({ server: { clock } });
  const recorder = new EventRecorder({ client, clock, reportingController: 'example.com/tests' });
  recorder.event(map, { reason: 'Made', action: 'Making' });
  await clock.settle();
  const [event] = (await client.list(eventResource)).items;
  expect(event?.eventTime).toBe('2026-01-05T08:00:00.000000Z');
  await recorder.close();
});

test('an ApiServer has the time of its clock', async () => {
  const clock = new FakeClock(START);
  await using server = await ApiServer.start({ clock });
  clock.step(HOUR);
  const stored = await fetch(`${server.url}/api/v1/namespaces/default/configmaps`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ metadata: { name: 'a' } }),
  });
  expect(await stored.json()).toMatchObject({
    metadata: { creationTimestamp: '2026-01-05T09:00:00Z' },
  });
});

test('a wait that the server asks for is reported with the time of the clock', async () => {
  const clock = new FakeClock(START);
  const transport = fakeTransport({ clock });
  transport.inject({ do: 'status', status: 429, retryAfter: HOUR, times: 1 });
  const listed = newClient({ transport, clock }).list(ConfigMap);
  await clock.settle();
  expect(reported.map(({ what }) => what)).toEqual([
    expect.stringContaining('at 2026-01-05T09:00:00Z'),
  ]);
  await clock.run(HOUR);
  expect((await listed).items).toEqual([]);
});
