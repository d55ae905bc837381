/**
 * Chapter 1: a controller that only says what it was asked to reconcile. Run it with
 * `node examples/tutorial/01-empty-controller/main.ts` after a build.
 */
import { defineResource } from 'capstan/cache';
import type { ObjectMeta } from 'capstan/client';
import { newControllerManagedBy } from 'capstan/controller';
import { newManager } from 'capstan/manager';
import { FakeClock, fakeTransport } from 'capstan/testing';

interface ScheduledJobObject {
  metadata: ObjectMeta;
  spec: { schedule: string; image: string };
}

const ScheduledJob = defineResource<ScheduledJobObject>()({
  group: 'tutorial.example.com',
  version: 'v1',
  kind: 'ScheduledJob',
  plural: 'scheduledjobs',
  namespaced: true,
});

const clock = new FakeClock();
await using transport = fakeTransport({ clock });
const manager = newManager({ transport, clock });

newControllerManagedBy(manager)
  .for(ScheduledJob)
  .complete((request, { get }) => {
    const scheduledJob = get(request);
    if (scheduledJob === undefined) console.log(`${request.name} is gone`);
    else console.log(`${request.name} has the schedule ${scheduledJob.spec.schedule}`);
  });

const stop = new AbortController();
const ended = manager.start({ signal: stop.signal });

// What a user does with kubectl.
const { client } = manager;
const key = { namespace: 'default', name: 'report' };
await client.create(ScheduledJob, {
  metadata: key,
  spec: { schedule: '*/5 * * * *', image: 'busybox' },
});
await clock.settle();
const body = { spec: { schedule: '0 * * * *' } };
await client.patch(ScheduledJob, key, { type: 'merge', body });
await clock.settle();
await client.delete(ScheduledJob, key);
await clock.settle();

stop.abort();
await ended;
