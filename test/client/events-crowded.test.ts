/** The event recorder when there is more to write than waits in its queue: who needs room there, who needs none, and who waits for whom. */
import { type EventRecorder, type EventRecorderOptions, newEventRecorder } from 'capstan/client';
import { FakeClock } from 'capstan/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { hearReports } from '../workqueue/reported.ts';
import { ScriptedSink } from './event-sink.ts';

const MINUTE = 60_000;
const OBJECTS = 30;
const failed = { type: 'Warning', reason: 'Failed', action: 'Syncing' } as const;
const pod = (namespace: string, name: string) => ({ apiVersion: 'v1', kind: 'Pod', metadata: { namespace, name } });

const reported = hearReports();
let clock: FakeClock;
let sink: ScriptedSink;

beforeEach(() => {
  clock = new FakeClock();
  sink = new ScriptedSink();
});

function start(options: Partial<EventRecorderOptions> = {}): EventRecorder {
  const wallNow = () => clock.now();
  return newEventRecorder({
    client: sink.client,
    reportingController: 'c1',
    clock,
    wallNow,
    maxQueued: 10,
    ...options,
  });
}

/** Every object fails once, a few at a time, so that what is new has room. */
async function sweep(recorder: EventRecorder): Promise<void> {
  for (let i = 0; i < OBJECTS; i++) {
    recorder.event(pod('shop', `p${i}`), failed);
    if (i % 10 === 9) await clock.settle();
  }
}

/** How many Events the server has of each count. */
function onServer(): Record<number, number> {
  const counts = new Map(sink.sent.map(({ name, series }) => [name, series?.count ?? 1]));
  const tally: Record<number, number> = {};
  for (const count of counts.values()) tally[count] = (tally[count] ?? 0) + 1;
  return tally;
}

// They asked for room among the new ones: of 1500 series, 500 stayed as they were when they began, on a server that had nothing else to do.
describe('more series than new Events may wait', () => {
  it('are all told when the recorder is shut down', async () => {
    const recorder = start();
    for (let round = 0; round < 5; round++) await sweep(recorder);
    await recorder.shutdown();
    expect(onServer()).toEqual({ 5: OBJECTS });
    expect(recorder.counts()).toMatchObject({ recorded: 5 * OBJECTS, written: 3 * OBJECTS, lost: 0 });
  });

  it('are all told when they end together', async () => {
    const recorder = start();
    for (let round = 0; round < 5; round++) await sweep(recorder);
    await clock.run(6 * MINUTE);
    expect(onServer()).toEqual({ 5: OBJECTS });
    expect(recorder.counts().lost).toBe(0);
    await recorder.shutdown();
  });

  it('are all written every half an hour', async () => {
    const recorder = start();
    for (let minute = 0; minute < 30; minute += 5) {
      await sweep(recorder);
      await clock.run(5 * MINUTE);
    }
    expect(onServer()).toEqual({ 6: OBJECTS });
    expect(recorder.counts().lost).toBe(0);
    await recorder.shutdown();
    expect(clock.timers()).toBe(0);
  });

  it('take no room from new Events', async () => {
    const recorder = start();
    for (let round = 0; round < 5; round++) await sweep(recorder);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    sink.answer = () => promise;
    await clock.run(6 * MINUTE);
    for (let i = 0; i < 11; i++) recorder.event(pod('shop', `new${i}`), failed);
    expect(recorder.counts().lost, 'ten have room').toBe(1);
    resolve(undefined);
    await clock.settle();
    expect(onServer()).toEqual({ 1: 10, 5: OBJECTS });
    expect(reported).toEqual([expect.objectContaining({ code: 'EVENT' })]);
    await recorder.shutdown();
  });
});
