/** The controller on the embedded API server, in virtual time. */
import { installCRDs } from 'capstan/client';
import { newManager } from 'capstan/manager';
import { FakeClock, fakeTransport } from 'capstan/testing';
import { addScheduledJobController } from './controller.ts';
import { Job, scheduledTimeOf } from './job.ts';
import { addJobRunner } from './job-runner.ts';
import { ScheduledJob } from './scheduled-job.ts';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const WEEK = 7 * 24 * HOUR;
export const MONDAY = Date.parse('2026-01-05T00:00:00Z');

type Spec = ScheduledJob['spec'];

/** Starts it at midnight on a Monday. `await using` stops it at the end of the test. */
export async function startCluster(duration = MINUTE) {
  const clock = new FakeClock(MONDAY);
  // No bookmark and no new watch disturbs the long waits of a test.
  const transport = fakeTransport({ clock, bookmarkInterval: 2 * WEEK });
  const cache = { idleTimeout: 0, minWatchTimeout: 2 * WEEK };
  const manager = newManager({ transport, clock, cache });
  const { client } = manager;
  await installCRDs(client, [ScheduledJob.crd]);
  addScheduledJobController(manager);
  addJobRunner(manager, duration);
  /** The times that got a Job, in minutes since Monday. */
  const started: number[] = [];
  manager.cache.informerFor(Job).addEventHandler({
    onAdd: (job) => void started.push((scheduledTimeOf(job) - MONDAY) / MINUTE),
  });
  const stop = new AbortController();
  const ended = manager.start({ signal: stop.signal });
  const key = { namespace: 'default', name: 'report' };
  return {
    clock,
    client,
    started,
    /** Creates the ScheduledJob. */
    async create(spec: Partial<Spec> = {}) {
      const object = { metadata: key, spec: { schedule: '0 * * * *', image: 'busybox', ...spec } };
      await client.create(ScheduledJob.resource, await ScheduledJob.parse(object));
    },
    /** Changes its spec. */
    async change(spec: Partial<Spec>) {
      await client.patch(ScheduledJob.resource, key, { type: 'merge', body: { spec } });
    },
    async status() {
      return (await client.get(ScheduledJob.resource, key)).status;
    },
    async jobs() {
      return (await client.list(Job)).items;
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
      await transport.close();
    },
  };
}
