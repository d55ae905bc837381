/**
 * Chapter 4: the controller reads the schedule and comes back when it is due. Run it with
 * `node examples/tutorial/04-schedule/main.ts` after a build.
 */
import { installCRDs } from 'capstan/client';
import { newManager } from 'capstan/manager';
import { FakeClock, fakeTransport } from 'capstan/testing';
import { addScheduledJobController } from './controller.ts';
import { ScheduledJob } from './scheduled-job.ts';

const MINUTE = 60_000;
const clock = new FakeClock(Date.parse('2026-01-05T08:02:00Z'));
await using transport = fakeTransport({ clock });
const manager = newManager({ transport, clock });
const { client } = manager;
await installCRDs(client, [ScheduledJob.crd]);
addScheduledJobController(manager);
const stop = new AbortController();
const ended = manager.start({ signal: stop.signal });

const metadata = { namespace: 'default', name: 'report' };
await client.create(
  ScheduledJob.resource,
  await ScheduledJob.parse({ metadata, spec: { schedule: '*/5 * * * *', image: 'busybox' } }),
);
await clock.run(15 * MINUTE);

stop.abort();
await ended;
