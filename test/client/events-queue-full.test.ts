/**
 * The event recorder with more to write than its queue holds: what needs room, and what waits for
 * what.
 */
import { StatusError } from 'capstan/cache';
import { EventRecorder, type EventRecorderOptions } from 'capstan/client';
import { FakeClock } from 'capstan/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { collectErrorValues } from '../helpers/reported-errors.ts';
import { ScriptedSink } from './event-sink.ts';

const MINUTE = 60_000;
const OBJECTS = 30;
const failed = { type: 'Warning', reason: 'Failed', action: 'Syncing' } as const;
const pod = (namespace: string, name: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace, name },
});

const reported = collectErrorValues();
let clock: FakeClock;
let sink: ScriptedSink;

beforeEach(() => {
  clock = new FakeClock();
  sink = new ScriptedSink();
});

function start(options: Partial<EventRecorderOptions> = {}): EventRecorder {
  const wallNow = () => clock.now();
  return new EventRecorder({
    client: sink.client,
    reportingController: 'c1',
    clock,
    wallNow,
    maxQueued: 10,
    ...options,
  });
}

/** Each object fails once, a few at a time, so that new Events have room. */
async function sweep(recorder: EventRecorder): Promise<void> {
  for (let i = 0; i < OBJECTS; i++) {
    recorder.event(pod('shop', `p${i}`), failed);
    if (i % 10 === 9) await clock.settle();
  }
}

/** The number of the server's Events by count. */
function onServer(): Record<number, number> {
  const counts = new Map(sink.sent.map(({ name, series }) => [name, series?.count ?? 1]));
  const tally: Record<number, number> = {};
  for (const count of counts.values()) tally[count] = (tally[count] ?? 0) + 1;
  return tally;
}

// Series took room among new Events: of 1500 series, 500 kept their first count, on a server
// without other load.
describe('more series than new Events may wait', () => {
  it('are all written when the recorder is closed', async () => {
    const recorder = start();
    for (let round = 0; round < 5; round++) await sweep(recorder);
    await recorder.close();
    expect(onServer()).toEqual({ 5: OBJECTS });
    expect(recorder.counts()).toMatchObject({
      recorded: 5 * OBJECTS,
      written: 3 * OBJECTS,
      lost: 0,
    });
  });

  it('are all written when they end together', async () => {
    const recorder = start();
    for (let round = 0; round < 5; round++) await sweep(recorder);
    await clock.run(6 * MINUTE);
    expect(onServer()).toEqual({ 5: OBJECTS });
    expect(recorder.counts().lost).toBe(0);
    await recorder.close();
  });

  it('are all written every half an hour', async () => {
    const recorder = start();
    for (let minute = 0; minute < 30; minute += 5) {
      await sweep(recorder);
      await clock.run(5 * MINUTE);
    }
    expect(onServer()).toEqual({ 6: OBJECTS });
    expect(recorder.counts().lost).toBe(0);
    await recorder.close();
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
    recorder.event(pod('shop', 'new11'), failed);
    clock.step(MINUTE);
    recorder.event(pod('shop', 'new11'), failed);
    expect(recorder.counts().lost).toBe(3);
    const message = '10 events wait to be written: more are dropped';
    expect(reported, 'once a minute').toEqual([
      expect.objectContaining({ message }),
      expect.objectContaining({ message }),
    ]);
    resolve(undefined);
    await clock.settle();
    expect(onServer()).toEqual({ 1: 10, 5: OBJECTS });
    await recorder.close();
  });
});

describe('failing writes', () => {
  const refusing = 'refusing';
  const written = () => sink.sent.filter(({ namespace }) => namespace !== refusing).length;

  /** As when the admission webhook of one namespace is down. */
  function refuse(): void {
    sink.answer = ({ namespace }) =>
      namespace === refusing
        ? new StatusError(500, { reason: 'InternalError' }, 'POST')
        : undefined;
  }

  async function fail(recorder: EventRecorder, count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      recorder.event(pod(refusing, `p${i}`), failed);
      if (i % 10 === 9) await clock.settle();
    }
  }

  // Each slept for two minutes in one of the eight workers: with eight of them all other Events
  // waited, and were dropped.
  it('do not block other Events, and take no room from them', async () => {
    refuse();
    const recorder = start();
    await fail(recorder, OBJECTS);
    for (let second = 0; second < 200; second++) {
      recorder.event(pod('shop', `p${second}`), failed);
      await clock.settle();
      expect(written()).toBe(second + 1);
      clock.step(1000);
    }
    expect(sink.sent.length - written(), 'each was tried twelve times').toBe(12 * OBJECTS);
    expect(recorder.counts()).toMatchObject({ written: 200, lost: OBJECTS });
    await recorder.close();
  });

  it('are retried at their time, each with its newest count', async () => {
    refuse();
    const recorder = start({ random: () => 0 });
    await fail(recorder, OBJECTS);
    for (let round = 0; round < 3; round++) await fail(recorder, OBJECTS);
    expect(sink.sent).toHaveLength(OBJECTS);
    sink.answer = () => undefined;
    await clock.run(9999);
    expect(sink.sent).toHaveLength(OBJECTS);
    await clock.run(1);
    expect(sink.sent).toHaveLength(2 * OBJECTS);
    expect(onServer()).toEqual({ 4: OBJECTS });
    expect(recorder.counts()).toMatchObject({ written: OBJECTS, lost: 0 });
    await recorder.close();
    expect(sink.sent, 'nothing is left to say').toHaveLength(2 * OBJECTS);
  });

  it('are counted from the last successful one', async () => {
    const recorder = start();
    for (const told of [1, 2]) {
      refuse();
      recorder.event(pod(refusing, 'p'), failed);
      await clock.run(MINUTE);
      sink.answer = () => undefined;
      await clock.run(MINUTE);
      expect(recorder.counts()).toMatchObject({ recorded: told, written: told, lost: 0 });
    }
    await recorder.close();
  });

  it('wait in a bounded number; others are dropped, reported once a minute', async () => {
    refuse();
    const recorder = start({ maxQueued: 5000 });
    for (let i = 0; i < 4100; i++) recorder.event(pod(refusing, `p${i}`), failed);
    while (sink.sent.length < 4100) await clock.settle();
    await clock.settle();
    expect(recorder.counts().lost).toBe(4);
    const message = '4096 events wait to be tried again: what else fails is given up';
    expect(reported).toEqual([
      expect.objectContaining({ message, cause: expect.any(StatusError) }),
    ]);
    expect(clock.timers(), 'and two of the series').toBe(4098);
    for (let i = 0; i < 5; i++) recorder.event(pod(refusing, `late${i}`), failed);
    await recorder.close();
    expect(sink.sent, 'at the end all are tried twice').toHaveLength(4100 + 4096 + 2 * 5);
    expect(recorder.counts()).toMatchObject({ written: 0, lost: 4105 });
  });

  it('are retried at once, and once, when the recorder is closed', async () => {
    refuse();
    const recorder = start();
    await fail(recorder, OBJECTS);
    await recorder.close();
    expect(sink.sent).toHaveLength(2 * OBJECTS);
    expect(recorder.counts()).toMatchObject({ written: 0, lost: OBJECTS });
    expect(clock.timers()).toBe(0);
  });

  it('are lost, each once, when the shutdown is aborted', async () => {
    refuse();
    const recorder = start();
    await fail(recorder, OBJECTS);
    const hanging = Promise.withResolvers<Error>();
    sink.answer = () => hanging.promise;
    const stop = new AbortController();
    const done = recorder.close({ signal: stop.signal });
    await clock.settle();
    stop.abort();
    await expect(done).rejects.toMatchObject({ code: 'ABORTED' });
    hanging.resolve(new Error('ended'));
    await clock.settle();
    expect(recorder.counts()).toMatchObject({ written: 0, lost: OBJECTS });
    expect(clock.timers()).toBe(0);
  });
});

// Only the pause between two tries freed the workers: a webhook that failed each write after ten
// seconds kept all eight busy, and other Events came 13 s late beside 30 failing objects, 233 s
// beside 200, and never beside 900.
describe('slowly failing writes', () => {
  const WEBHOOK_MS = 10_000;
  const later = <T>(ms: number, value: T) =>
    new Promise<T>((resolve) => clock.setTimer(() => resolve(value), ms));
  const timedOut = () => new StatusError(500, { reason: 'InternalError' }, 'POST');
  const blocked = (namespace: string) => namespace.startsWith('blocked');
  const triesIn = (namespace: string) =>
    sink.sent.filter((sent) => sent.namespace === namespace).length;

  beforeEach(() => {
    sink.answer = ({ namespace }) =>
      blocked(namespace) ? later(WEBHOOK_MS, timedOut()) : undefined;
  });

  function record(recorder: EventRecorder, namespace: string, count: number): void {
    for (let i = 0; i < count; i++) recorder.event(pod(namespace, `p${i}`), failed);
  }

  async function end(recorder: EventRecorder): Promise<void> {
    sink.answer = () => undefined;
    const done = recorder.close();
    await clock.run(2 * MINUTE);
    await done;
    expect(clock.timers()).toBe(0);
  }

  it.each([
    ['30 objects', 30, 1],
    ['200 objects', 200, 1],
    ['900 objects', 900, 1],
    ['900 objects of three namespaces', 300, 3],
  ])('block other Events for one try of each namespace: %s', async (_, objects, namespaces) => {
    const recorder = start({ maxQueued: 1000 });
    for (let i = 0; i < namespaces; i++) record(recorder, `blocked${i}`, objects);
    let most = 0;
    for (let second = 0; second < 600; second++) {
      recorder.event(pod('shop', `p${second}-a`), failed);
      recorder.event(pod('shop', `p${second}-b`), failed);
      await clock.settle();
      const missing = 2 * (second + 1) - triesIn('shop');
      if (second * 1000 > WEBHOOK_MS * namespaces) expect(missing, `after ${second} s`).toBe(0);
      most = Math.max(most, missing);
      await clock.run(1000);
    }
    expect(most).toBeLessThanOrEqual(20 * namespaces + 2);
    expect(recorder.counts().lost).toBe(0);
    const before = sink.sent.length;
    await end(recorder);
    expect(sink.sent.length - before, 'each is tried once more').toBeLessThanOrEqual(
      objects * namespaces,
    );
    expect(recorder.counts()).toMatchObject({ written: 1200 + objects * namespaces, lost: 0 });
  });

  it('block Events of their own namespace until each has failed once', async () => {
    sink.answer = ({ event }) =>
      event?.reason === 'Hangs' ? later(WEBHOOK_MS, timedOut()) : undefined;
    const recorder = start({ maxQueued: 1000 });
    for (let i = 0; i < 30; i++)
      recorder.event(pod('shop', `p${i}`), { ...failed, reason: 'Hangs' });
    const told = () => sink.sent.filter(({ event }) => event?.reason === 'Failed').length;
    for (let second = 0; second < 300; second++) {
      recorder.event(pod('shop', `ok${second}`), failed);
      await clock.settle();
      const missing = second + 1 - told();
      if (second >= 120) expect(missing, `after ${second} s`).toBeLessThanOrEqual(10);
      await clock.run(1000);
    }
    await end(recorder);
  });

  it('take no room from others', async () => {
    const recorder = start();
    record(recorder, 'blocked', 8);
    await clock.settle();
    record(recorder, 'blocked', 18);
    expect(recorder.counts().lost, 'ten have room').toBe(0);
    await clock.run(WEBHOOK_MS);
    for (let i = 0; i < 10; i++) recorder.event(pod('shop', `p${i}`), failed);
    expect(recorder.counts().lost).toBe(0);
    await clock.settle();
    expect(triesIn('shop')).toBe(10);
    await end(recorder);
  });

  it('do not come before quickly failing ones', async () => {
    const recorder = start({ maxQueued: 1000 });
    record(recorder, 'blocked', 200);
    await clock.run(WEBHOOK_MS);
    const slow = sink.answer;
    sink.answer = (sent) => (sent.namespace === 'shop' ? timedOut() : slow(sent));
    recorder.event(pod('shop', 'p'), failed);
    await clock.settle();
    sink.answer = slow;
    recorder.event(pod('shop', 'q'), failed);
    await clock.run(3 * WEBHOOK_MS);
    expect(recorder.counts().written).toBe(2);
    await end(recorder);
  });

  it('resume together as soon as one succeeds', async () => {
    const recorder = start({ maxQueued: 1000 });
    record(recorder, 'blocked', 200);
    await clock.run(MINUTE);
    let most = 0;
    let now = 0;
    sink.answer = async () => {
      most = Math.max(most, ++now);
      await later(1000, undefined);
      now--;
    };
    await clock.run(2 * MINUTE);
    expect(most).toBe(8);
    expect(recorder.counts()).toMatchObject({ written: 200, lost: 0 });
    await end(recorder);
  });

  it('are aborted after a minute without an answer, and retried', async () => {
    const never = Promise.withResolvers<undefined>().promise;
    sink.answer = ({ namespace }) => (blocked(namespace) ? never : undefined);
    const recorder = start({ random: () => 0 });
    record(recorder, 'blocked', 8);
    await clock.settle();
    recorder.event(pod('shop', 'p'), failed);
    await clock.run(MINUTE - 1);
    expect(triesIn('shop')).toBe(0);
    await clock.run(1);
    expect(recorder.counts()).toMatchObject({ written: 1, lost: 0 });
    await clock.run(10_000);
    expect(triesIn('blocked'), 'two workers have them').toBe(8 + 2);
    await clock.run(60 * MINUTE);
    expect(recorder.counts().lost).toBe(8);
    expect(reported[0]).toMatchObject({
      message: expect.stringMatching(/after 12 tries: .*no answer within 60000 ms/),
    });
    await end(recorder);
  });

  it('are retried once by all workers at the shutdown, others first', async () => {
    const recorder = start({ maxQueued: 1000 });
    record(recorder, 'blocked', 80);
    await clock.run(12 * MINUTE);
    const before = sink.sent.length;
    recorder.event(pod('shop', 'p'), failed);
    const waiting = 80 - recorder.counts().lost;
    const done = recorder.close();
    await clock.settle();
    expect(triesIn('shop')).toBe(1);
    await clock.run(Math.ceil((2 * waiting) / 8 + 2) * WEBHOOK_MS);
    await done;
    expect(sink.sent.length - before).toBeGreaterThan(waiting - 3);
    expect(recorder.counts()).toMatchObject({ written: 1, lost: 80 });
    expect(clock.timers()).toBe(0);
  });
});
