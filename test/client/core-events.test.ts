/** Events of core/v1: their form, their counts, and that the same events go to either API. */
import {
  type CoreEvent,
  coreEventResource,
  EventRecorder,
  type KubeEvent,
  newClient,
} from 'capstan/client';
import { newManager } from 'capstan/manager';
import { FakeClock, fakeTransport } from 'capstan/testing';
import { expect, onTestFinished, test } from 'vitest';
import { expectError } from '../helpers/expect-error.ts';

const START = '2026-11-21T12:00:00.789Z';
const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'shop', uid: 'u-1', resourceVersion: '7' },
};
const details = { reason: 'Failed', action: 'Starting', type: 'Warning', note: 'no' } as const;

async function start() {
  const clock = new FakeClock(Date.parse(START));
  const transport = fakeTransport({ clock });
  const client = newClient({ transport });
  const recorder = new EventRecorder({
    ...{ client, clock, api: 'v1', random: () => 0 },
    ...{ reportingController: 'c1.example/c1', reportingInstance: 'i1' },
  });
  onTestFinished(async () => {
    await recorder.close();
    await transport.close?.();
  });
  const stored = async () =>
    (await client.list(coreEventResource, { namespace: 'shop' })).items as unknown as CoreEvent[];
  return { clock, client, transport, recorder, stored };
}

test('an event has the members that tools of core/v1 read', async () => {
  const { clock, recorder, stored } = await start();
  recorder.event(pod, { ...details, related: { ...pod, kind: 'Node' } });
  await clock.settle();
  const [event] = await stored();
  expect(event).toMatchObject({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { namespace: 'shop', name: expect.stringMatching(/^web\./) },
    involvedObject: { kind: 'Pod', name: 'web', namespace: 'shop', uid: 'u-1' },
    related: { kind: 'Node', name: 'web' },
    ...{ type: 'Warning', reason: 'Failed', action: 'Starting', message: 'no', count: 1 },
    source: { component: 'c1.example/c1' },
    firstTimestamp: '2026-11-21T12:00:00Z',
    lastTimestamp: '2026-11-21T12:00:00Z',
    reportingComponent: 'c1.example/c1',
    reportingInstance: 'i1',
  });
  expect(event).not.toHaveProperty('series');
});

test('events that repeat are counted, with the last time', async () => {
  const { clock, recorder, stored } = await start();
  for (let i = 0; i < 5; i++) {
    recorder.event(pod, details);
    await clock.run(10_000);
  }
  await recorder.close();
  const events = await stored();
  expect(events).toHaveLength(1);
  expect(events[0]).toMatchObject({
    count: 5,
    firstTimestamp: '2026-11-21T12:00:00Z',
    lastTimestamp: '2026-11-21T12:00:40Z',
    message: 'no',
  });
});

test('an event that the server has forgotten is written again, with its count', async () => {
  const { clock, client, recorder, stored } = await start();
  recorder.event(pod, details);
  await clock.settle();
  for (const { metadata } of await stored()) {
    const { namespace, name = '' } = metadata;
    await client.delete(coreEventResource, { namespace, name });
  }
  recorder.event(pod, details);
  await clock.settle();
  expect((await stored()).map(({ count }) => count)).toEqual([2]);
});

test('a manager has a recorder for each API', async () => {
  const clock = new FakeClock(Date.parse(START));
  await using transport = fakeTransport({ clock });
  const manager = newManager({ transport, clock });
  const core = manager.eventRecorder('example.com/web', { api: 'v1' });
  expect(manager.eventRecorder('example.com/web', { api: 'v1' })).toBe(core);
  expect(manager.eventRecorder('example.com/web')).not.toBe(core);
  const stop = new AbortController();
  const running = manager.start({ signal: stop.signal });
  await clock.settle();
  core.event(pod, details);
  await clock.settle();
  const { items } = await newClient({ transport }).list(coreEventResource, { namespace: 'shop' });
  expect(items.map(({ reason }) => reason)).toEqual(['Failed']);
  stop.abort();
  await running;
  expectError(
    () => manager.eventRecorder('example.com/other', { apis: 'v1' } as never),
    'INVALID_ARGUMENT',
    'did you mean "api"',
  );
});

test('another API is refused', async () => {
  const { client } = await start();
  const reportingController = 'c1.example/c1';
  for (const api of ['events.k8s.io', 'toString', 3] as unknown as KubeEvent['type'][])
    expectError(
      () => new EventRecorder({ client, reportingController, api: api as never }),
      'INVALID_ARGUMENT',
      'options.api',
    );
});
