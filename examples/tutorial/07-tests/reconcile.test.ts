/** One reconcile at a time, on a fake client. The time is a number. */
import { TerminalError } from 'capstan/controller';
import { type FakeClient, fakeClient } from 'capstan/testing';
import { beforeEach, expect, test } from 'vitest';
import { reconcile } from './controller.ts';
import { Job } from './job.ts';
import { ScheduledJob } from './scheduled-job.ts';

const EIGHT = Date.parse('2026-01-05T08:00:00Z');
const key = { namespace: 'default', name: 'report' };
let client: FakeClient;

beforeEach(() => {
  client = fakeClient({ resources: [ScheduledJob.resource], server: { startTime: EIGHT } });
});

/** Reconciles the object as at a time of that Monday. */
async function reconcileAt(time: string) {
  const now = () => Date.parse(`2026-01-05T${time}Z`);
  const object = await client.get(ScheduledJob.resource, key);
  return reconcile(client, object, { now, signal: new AbortController().signal });
}

async function create(spec: { schedule: string }): Promise<void> {
  const object = { metadata: key, spec: { image: 'busybox', ...spec } };
  await client.create(ScheduledJob.resource, await ScheduledJob.parse(object));
}
const names = async () => (await client.list(Job)).items.map(({ metadata }) => metadata?.name);

test('nothing is due before the first time', async () => {
  await create({ schedule: '*/5 * * * *' });
  expect(await reconcileAt('08:03:00')).toEqual({ requeueAfter: 2 * 60_000 });
  expect(await names()).toEqual([]);
});

test('a Job of one time is created once', async () => {
  await create({ schedule: '*/5 * * * *' });
  await reconcileAt('08:05:01');
  await reconcileAt('08:05:02');
  expect(await names()).toEqual(['report-1767600300']);
});

test('a schedule that cannot be read is reported, and is not tried again', async () => {
  await create({ schedule: 'at noon' });
  await expect(reconcileAt('08:05:00')).rejects.toThrow(TerminalError);
  const { status } = await client.get(ScheduledJob.resource, key);
  expect(status?.conditions).toMatchObject([{ status: 'False', reason: 'InvalidSchedule' }]);
});
