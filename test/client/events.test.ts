/**
 * The event recorder: the form of an Event, series, retries, and that it never blocks its caller.
 */
import { defineResource, StatusError, TransportError } from 'capstan/cache';
import {
  EventRecorder,
  type EventRecorderOptions,
  newClient,
  objectReference,
} from 'capstan/client';
import { ApiServer, FakeClock } from 'capstan/testing';
import { setErrorHandler } from 'capstan/workqueue';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { ScriptedSink, type Sent } from './event-sink.ts';

const START = Date.parse('2026-11-21T12:00:00.789Z');
const MINUTE = 60_000;

const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'shop', uid: 'u-1', resourceVersion: '7' },
};
const regarding = {
  apiVersion: 'v1',
  kind: 'Pod',
  name: 'web',
  namespace: 'shop',
  uid: 'u-1',
  resourceVersion: '7',
};
const details = { reason: 'Started', action: 'Starting', note: 'it runs' };

let reported: string[];
let clock: FakeClock;
let sink: ScriptedSink;

beforeEach(() => {
  reported = [];
  const before = setErrorHandler((error) => reported.push((error as Error).message));
  onTestFinished(() => {
    setErrorHandler(before);
  });
  clock = new FakeClock();
  sink = new ScriptedSink();
});

const recorders: EventRecorder[] = [];
afterEach(async () => {
  sink.answer = () => undefined;
  for (const recorder of recorders.splice(0)) await recorder.close();
  expect(clock.timers(), 'no timer is left behind').toBe(0);
});

function start(options: Partial<EventRecorderOptions> = {}): EventRecorder {
  const recorder = new EventRecorder({
    client: sink.client,
    reportingController: 'c1.example/c1',
    reportingInstance: 'i1',
    clock,
    wallNow: () => START + clock.now(),
    random: () => 0,
    ...options,
  });
  recorders.push(recorder);
  return recorder;
}

const status = (code: number, reason: string) =>
  new StatusError(code, { reason, message: 'no' }, 'POST events');
const first = (): Sent => sink.sent[0] as Sent;

describe('an event', () => {
  it('has its object, reason, time and reporter', async () => {
    start().eventf(pod, undefined, 'Normal', 'Started', 'Starting', 'Pod started');
    await clock.settle();
    expect(sink.sent).toHaveLength(1);
    expect(first().event).toEqual({
      metadata: { name: `web.${(BigInt(START) * 1_000_000n).toString(16)}`, namespace: 'shop' },
      eventTime: '2026-11-21T12:00:00.789000Z',
      regarding,
      type: 'Normal',
      reason: 'Started',
      action: 'Starting',
      note: 'Pod started',
      reportingController: 'c1.example/c1',
      reportingInstance: 'i1',
    });
  });

  it('has a related object, and a formatted note', async () => {
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node1', uid: 'u-2' } };
    const recorder = start();
    recorder.eventf(
      pod,
      node,
      'Warning',
      'Failed',
      'Scheduling',
      'on %s: %q, %d of %v%%',
      'node1',
      'no',
      3,
      100,
    );
    await clock.settle();
    expect(first().event).toMatchObject({
      related: { apiVersion: 'v1', kind: 'Node', name: 'node1', uid: 'u-2' },
      type: 'Warning',
      note: 'on node1: "no", 3 of 100%',
    });
  });

  it('loses no argument of its note, and prints an error as its message', async () => {
    start().eventf(
      pod,
      undefined,
      'Normal',
      'Started',
      'Starting',
      'why: %s, %s',
      new Error('full'),
    );
    start().eventf(pod, undefined, 'Normal', 'Stopped', 'Stopping', 'left:', 'a', { b: 1 });
    await clock.settle();
    expect(sink.sent.map(({ event }) => event?.note)).toEqual(['why: full, %s', 'left: a {"b":1}']);
  });

  it('about a cluster-scoped object is in the namespace default', async () => {
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node1', uid: 'u-2' } };
    start().event(node, details);
    await clock.settle();
    expect(first()).toMatchObject({ namespace: 'default' });
    expect(first().event?.regarding).not.toHaveProperty('namespace');
  });

  it.each([
    ['an address', '2001:db8::123'],
    ['too long a name', 'x'.repeat(1000)],
    ['a name in capitals', 'test.POD'],
    ['a path', 'test.pod/invalid!chars?'],
    ['a name that begins with dashes', '--test.pod/invalid!chars?'],
  ])('about %s, an invalid name for an Event, has a generated name', async (_, name) => {
    start().event(
      { apiVersion: 'networking.k8s.io/v1', kind: 'IPAddress', metadata: { name, uid: 'u-3' } },
      details,
    );
    await clock.settle();
    expect(first().name).toMatch(/^event\.[0-9a-f]{16}\.[0-9a-f]{16}$/);
    expect(first().event?.regarding.name).toBe(name);
  });

  it('has a unique name, also among many in one moment', async () => {
    const recorder = start();
    for (let i = 0; i < 20; i++) recorder.event(pod, { ...details, reason: `Reason${i}` });
    await clock.settle();
    expect(new Set(sink.sent.map(({ name }) => name)).size).toBe(20);
  });

  it('refers to a part of an object, or to one without its kind, by a reference', async () => {
    const Pod = defineResource<typeof pod>()({
      group: '',
      version: 'v1',
      kind: 'Pod',
      plural: 'pods',
      namespaced: true,
    });
    const { apiVersion: _, kind: __, ...item } = pod;
    start().event(objectReference(Pod, item, { fieldPath: 'spec.containers{web}' }), details);
    await clock.settle();
    expect(first().event?.regarding).toEqual({ ...regarding, fieldPath: 'spec.containers{web}' });
  });

  it('has a note of at most 1024 bytes, cut between characters', async () => {
    const recorder = start();
    recorder.event(pod, { ...details, note: 'ä'.repeat(512) });
    recorder.event(pod, { ...details, reason: 'Longer', note: `x${'ä'.repeat(600)}` });
    recorder.event(pod, { ...details, reason: 'Wider', note: 'ä'.repeat(600) });
    await clock.settle();
    const notes = sink.sent.map(({ event }) => event?.note ?? '');
    expect(notes[0]).toBe('ä'.repeat(512));
    expect(notes[1]).toBe(`x${'ä'.repeat(510)}…`);
    expect(new TextEncoder().encode(notes[1]).length).toBe(1024);
    expect(notes[2]).toBe(`${'ä'.repeat(510)}…`);
  });

  it('has a reason and an action of at most 128 bytes', async () => {
    const word = 'ä'.repeat(64);
    start({ reportingInstance: word }).event(pod, { reason: word, action: word });
    await clock.settle();
    expect(first().event).toMatchObject({ reason: word, action: word, reportingInstance: word });
  });

  it('with an invalid related object is written without it, which is reported', async () => {
    start().event(pod, { ...details, related: { metadata: { name: 'x' } } });
    await clock.settle();
    expect(first().event).not.toHaveProperty('related');
    expect(reported).toEqual([
      expect.stringContaining('"related" expected an object with apiVersion and kind'),
    ]);
  });

  it('refers to an object by a reference with kind and name alone', async () => {
    start().event({ kind: 'Pod', name: 'foo' }, { ...details, related: {} });
    await clock.settle();
    expect(first().event?.regarding).toEqual({ kind: 'Pod', name: 'foo' });
    expect(first().event).not.toHaveProperty('related');
    expect(reported).toEqual([
      expect.stringContaining('"related" expected an object with metadata'),
    ]);
  });

  it('has the given annotations', async () => {
    start().event(pod, { ...details, annotations: { a: 'b' } });
    await clock.settle();
    expect(first().event?.metadata.annotations).toEqual({ a: 'b' });
  });

  it.each([
    ['no reason', pod, { ...details, reason: '' }, '"reason" expected a word of 1 to 128 bytes'],
    // The server counts bytes: such Events were rejected.
    [
      '65 characters of 130 bytes',
      pod,
      { ...details, reason: 'ä'.repeat(65) },
      '"reason" expected a word of 1',
    ],
    ['too long an action', pod, { ...details, action: 'x'.repeat(129) }, '"action" expected'],
    [
      'an unknown type',
      pod,
      { ...details, type: 'Bad' as 'Normal' },
      '"type" expected "Normal" or "Warning", got "Bad"',
    ],
    ['an object of no kind', { metadata: {} }, details, 'use objectReference(resource, object)'],
    ['no object', undefined as unknown as object, details, '"regarding" expected an object'],
    // An object without metadata was taken for a reference: Events about nothing were written.
    [
      'an empty object',
      {},
      details,
      '"regarding" expected an object with metadata, or a reference with kind and name',
    ],
    ['no Kubernetes object', new Date(0), details, 'got an object of class Date'],
    ['a list', [pod], details, 'got an array of 1'],
    [
      'a reference without a name',
      { kind: 'Pod', namespace: 'baz' },
      details,
      'a reference with kind and name',
    ],
    [
      'a reference of an empty name',
      { kind: 'Pod', name: '' },
      details,
      'a reference with kind and name',
    ],
    [
      'a reference without a kind',
      { apiVersion: 'v1', name: 'foo' },
      details,
      'a reference with kind and name',
    ],
  ])('with %s is reported and not sent, and throws nothing', async (_, object, what, message) => {
    const recorder = start();
    recorder.event(object, what);
    await clock.settle();
    expect(sink.sent).toEqual([]);
    expect(reported).toEqual([expect.stringContaining(message)]);
    expect(recorder.counts()).toMatchObject({ recorded: 1, lost: 1 });
  });

  it('that cannot be formatted throws nothing', () => {
    const bad = {
      toString: () => {
        throw new Error('no text');
      },
      toJSON: () => {
        throw new Error('no JSON');
      },
    };
    start().eventf(pod, undefined, 'Normal', 'Started', 'Starting', '%s', bad);
    expect(reported).toEqual(['the note could not be formatted']);
  });
});

describe('a recorder', () => {
  it.each([
    [{ reportingController: '' }, 'reportingController'],
    [{ reportingController: 'a b' }, 'reportingController'],
    // The server answered 422 to every event of a reporter whose prefix is no DNS subdomain.
    [{ reportingController: 'a..b/c' }, 'reportingController'],
    [{ reportingController: 'a.-b/c' }, 'reportingController'],
    [{ reportingController: `${'a'.repeat(254)}/c` }, 'reportingController'],
    [{ reportingInstance: 'x'.repeat(129) }, 'reportingInstance'],
    [{ reportingInstance: 'ä'.repeat(65) }, 'reportingInstance'],
    [{ burst: 0 }, 'burst'],
    [{ refillPeriod: 0 }, 'refillPeriod'],
    [{ maxQueued: 0 }, 'maxQueued'],
    [{ client: {} as never }, 'client.create'],
  ])('with %o is rejected', (options, name) => {
    expect(() => start(options)).toThrow(
      expect.objectContaining({ message: expect.stringContaining(`"${name}"`) }),
    );
  });

  it('has a generated instance if none is given', async () => {
    start({ reportingInstance: undefined, random: () => 0.5 }).event(pod, details);
    await clock.settle();
    expect(first().event?.reportingInstance).toBe('c1.example/c1-80000000');
  });
});

describe('isomorphic events', () => {
  it('are one Event, which becomes a series when it repeats', async () => {
    const recorder = start();
    recorder.event(pod, details);
    await clock.settle();
    clock.step(1000);
    recorder.event(pod, details);
    await clock.settle();
    expect(sink.verbs).toEqual(['create', 'patch 2']);
    expect(sink.sent[1]).toEqual({
      verb: 'patch',
      name: first().name,
      namespace: 'shop',
      series: { count: 2, lastObservedTime: '2026-11-21T12:00:01.789000Z' },
      event: undefined,
    });
  });

  it('are counted, and written only at the end of the series', async () => {
    const recorder = start();
    for (let i = 0; i < 10; i++) {
      recorder.event(pod, details);
      await clock.run(1000);
    }
    expect(sink.verbs).toEqual(['create', 'patch 2']);
    expect(recorder.counts()).toMatchObject({ recorded: 10, aggregated: 9, written: 2 });
    await clock.run(6 * MINUTE);
    expect(sink.verbs).toEqual(['create', 'patch 2', 'patch 10']);
    expect(sink.sent[2]?.series?.lastObservedTime).toBe('2026-11-21T12:00:09.789000Z');
    recorder.event(pod, details);
    await clock.settle();
    expect(sink.verbs.slice(3), 'what comes later is a new Event').toEqual(['create']);
    expect(sink.sent[3]?.name).not.toBe(first().name);
  });

  it.each([
    ['reason', { reason: 'Other' }],
    ['action', { action: 'Other' }],
    ['type', { type: 'Warning' as const }],
    ['related object', { related: regarding }],
    ['note', { note: 'another' }],
  ])('are not those with another %s', async (_, more) => {
    const recorder = start();
    recorder.event(pod, details);
    recorder.event(pod, { ...details, ...more });
    await clock.settle();
    expect(sink.verbs).toEqual(['create', 'create']);
  });

  it('are not those about another object, or another part of it', async () => {
    const recorder = start();
    recorder.event(regarding, details);
    recorder.event({ ...regarding, uid: 'u-9' }, details);
    recorder.event({ ...regarding, fieldPath: 'spec' }, details);
    await clock.settle();
    expect(sink.verbs).toEqual(['create', 'create', 'create']);
  });

  // client-go compares the whole reference: a controller that writes the object's status at each
  // failure has an Event for each.
  it('include those about another resourceVersion of the object', async () => {
    const recorder = start();
    recorder.event(regarding, details);
    recorder.event({ ...regarding, resourceVersion: '8' }, details);
    await clock.settle();
    expect(sink.verbs).toEqual(['create 2']);
  });

  // Six jobs were one Event that named the first of them, and a failure kept its first text.
  it('of more than ten notes are combined, until they are forgotten', async () => {
    const recorder = start();
    const tell = async (from: number, to: number) => {
      for (let i = from; i < to; i++) recorder.event(pod, { ...details, note: `job ${i}` });
      await clock.settle();
    };
    const notes = () =>
      sink.sent.splice(0).map(({ event, name, series }) => [event?.note ?? name, series?.count]);
    await tell(0, 10);
    expect(notes()).toEqual(Array.from({ length: 10 }, (_, i) => [`job ${i}`, undefined]));
    await tell(10, 11);
    const name = sink.sent[0]?.name;
    expect(notes()).toEqual([['(combined from similar events): job 10', undefined]]);
    await tell(11, 12);
    expect(notes(), 'a series, whose note the server lets nobody change').toEqual([[name, 2]]);
    await tell(9, 10);
    expect(notes(), 'one of the ten is a series of its own').toEqual([[expect.any(String), 2]]);
    await clock.run(6 * MINUTE - 1);
    expect(notes(), 'all of them go on').toEqual([]);
    await tell(20, 21);
    await clock.run(6 * MINUTE - 1);
    await tell(9, 10);
    expect(notes(), 'one that comes again after a while').toEqual([[expect.any(String), 3]]);
    await clock.run(6 * MINUTE);
    expect(notes(), 'of jobs 10, 11 and 20').toEqual([[name, 3]]);
    await tell(20, 21);
    expect(notes()).toEqual([['job 20', undefined]]);
    expect(recorder.counts()).toMatchObject({ recorded: 16, filtered: 0, lost: 0 });
  });

  // Each note was forgotten after six minutes: one a minute with a new text each needed a new Event
  // each, and of 120 the spam filter dropped 72 that no series counted. A note that repeated after
  // eight others had the same fate.
  it.each([
    ['a minute apart', MINUTE, 120],
    ['45 s apart', 45_000, 120],
    ['10 s apart', 10_000, 120],
    ['a minute apart, of eight notes', MINUTE, 8],
  ])('that continue slowly are all counted: %s', async (_, ms, notes) => {
    const recorder = start();
    for (let i = 0; i < 120; i++) {
      recorder.event(pod, { ...details, note: `attempt ${i % notes}` });
      await clock.run(ms);
    }
    await recorder.close();
    const counts = new Map(sink.sent.map(({ name, series }) => [name, series?.count ?? 1]));
    const single =
      notes > 10
        ? [...Array.from({ length: 10 }, () => 1), 110]
        : Array.from({ length: 8 }, () => 15);
    expect([...counts.values()]).toEqual(single);
    expect(recorder.counts()).toMatchObject({ recorded: 120, filtered: 0, lost: 0 });
  });

  // A dropped event did not extend the group's life: if three groups shared the tokens, none got a
  // combined series.
  it('whose Events are dropped keep their group alive', async () => {
    const recorder = start({ burst: 1, refillPeriod: 8 * MINUTE });
    for (let i = 0; i < 100; i++) {
      recorder.event(pod, { ...details, note: `attempt ${i}` });
      await clock.run(MINUTE);
    }
    const made = sink.sent.filter(({ verb }) => verb === 'create').map(({ event }) => event?.note);
    expect(made.slice(9)).toEqual(['attempt 72', '(combined from similar events): attempt 80']);
    expect(recorder.counts()).toMatchObject({ filtered: 70, aggregated: 19 });
  });

  it('are combined with a note that is cut, and separate from those without one', async () => {
    const recorder = start();
    for (let i = 0; i < 10; i++) recorder.event(pod, { ...details, note: `${i}` });
    recorder.event(pod, { ...details, note: 'ä'.repeat(512) });
    recorder.event(pod, { reason: 'Started', action: 'Starting' });
    recorder.event(pod, { reason: 'Stopped', action: 'Stopping' });
    await clock.settle();
    const made = sink.sent.slice(10).map(({ event, series }) => [event?.note, series?.count]);
    expect(made).toEqual([
      [`(combined from similar events): ${'ä'.repeat(494)}…`, 2],
      ['', undefined],
    ]);
  });

  it('that come at once are created as a series', async () => {
    const recorder = start();
    recorder.event(pod, details);
    recorder.event(pod, details);
    recorder.event(pod, details);
    await clock.settle();
    expect(sink.sent.map(({ verb }) => verb)).toEqual(['create']);
    expect(first().series?.count).toBe(3);
  });

  it('that happen during the first write are written after it', async () => {
    let answer: () => void = () => undefined;
    sink.answer = () => new Promise<undefined>((resolve) => (answer = () => resolve(undefined)));
    const recorder = start();
    recorder.event(pod, details);
    await clock.settle();
    recorder.event(pod, details);
    await clock.settle();
    expect(sink.verbs).toEqual(['create']);
    answer();
    await clock.settle();
    expect(sink.verbs).toEqual(['create', 'patch 2']);
    sink.answer = () => undefined;
    answer();
    await clock.settle();
  });

  it('are forgotten after six minutes without a write if there was one', async () => {
    const recorder = start();
    recorder.event(pod, details);
    await clock.run(6 * MINUTE);
    expect(clock.timers(), 'only the one that refreshes is left').toBe(1);
    recorder.event(pod, details);
    await clock.settle();
    expect(sink.verbs).toEqual(['create', 'create']);
  });

  it('end each in its own time', async () => {
    const recorder = start();
    const late = { ...details, reason: 'Late' };
    recorder.event(pod, details);
    await clock.run(3 * MINUTE);
    recorder.event(pod, late);
    await clock.run(4 * MINUTE);
    recorder.event(pod, late);
    recorder.event(pod, details);
    await clock.settle();
    expect(sink.verbs, 'the later one goes on, the earlier one is new').toEqual([
      'create',
      'create',
      'patch 2',
      'create',
    ]);
    await clock.run(6 * MINUTE - 1);
    expect(clock.timers()).toBe(2);
    await clock.run(1);
    expect(clock.timers(), 'only the one that refreshes is left').toBe(1);
  });

  it('without a repeat are not in the half-hourly writes', async () => {
    const recorder = start();
    for (let i = 0; i < 6; i++) {
      await clock.run(5 * MINUTE);
      recorder.event(pod, details);
    }
    await clock.run(4 * MINUTE);
    recorder.event(pod, { ...details, reason: 'Single' });
    await clock.run(2 * MINUTE);
    expect(sink.verbs.filter((verb) => verb !== 'create')).toEqual(['patch 2', 'patch 6']);
  });

  it('that continue are written every half an hour', async () => {
    const recorder = start();
    for (let minute = 0; minute < 62; minute++) {
      recorder.event(pod, details);
      await clock.run(MINUTE);
    }
    expect(sink.verbs).toEqual(['create', 'patch 2', 'patch 30', 'patch 60']);
  });

  it('continue after a lost half-hourly write, which the next one includes', async () => {
    const recorder = start();
    for (let minute = 0; minute < 62; minute++) {
      const lost = status(422, 'Invalid');
      sink.answer = ({ series }) => (series?.count === 30 ? lost : undefined);
      recorder.event(pod, details);
      await clock.run(MINUTE);
    }
    expect(sink.verbs).toEqual(['create', 'patch 2', 'patch 30', 'patch 60']);
    expect(new Set(sink.sent.map(({ name }) => name)).size).toBe(1);
    expect(recorder.counts()).toMatchObject({ recorded: 62, lost: 1 });
  });

  it('are recreated, with their series, if the server has deleted them', async () => {
    const recorder = start();
    recorder.event(pod, details);
    await clock.settle();
    sink.answer = ({ verb }) => (verb === 'patch' ? status(404, 'NotFound') : undefined);
    recorder.event(pod, details);
    await clock.settle();
    expect(sink.verbs).toEqual(['create', 'patch 2', 'create 2']);
    expect(sink.sent[2]?.event?.metadata).not.toHaveProperty('resourceVersion');
    expect(sink.sent[2]?.name).toBe(first().name);
  });

  it('are patched if they exist when they should be created', async () => {
    sink.answer = ({ verb }) => (verb === 'create' ? status(409, 'AlreadyExists') : undefined);
    const recorder = start();
    recorder.event(pod, details);
    await clock.settle();
    expect(sink.verbs, 'a lost answer: there is nothing to add').toEqual(['create']);
    recorder.event(pod, details);
    await clock.settle();
    expect(sink.verbs).toEqual(['create', 'patch 2']);
    expect(reported).toEqual([]);
  });

  // Other clients do not write Events; a proxy's cache or a stale second server can cause this.
  it('that are missing for the patch and exist for the create are retried later', async () => {
    const recorder = start();
    recorder.event(pod, details);
    await clock.settle();
    let seen = 0;
    sink.answer = ({ verb }) => {
      seen++;
      if (seen > 2) return undefined;
      return verb === 'patch' ? status(404, 'NotFound') : status(409, 'AlreadyExists');
    };
    recorder.event(pod, details);
    await clock.run(9_999);
    expect(sink.verbs).toEqual(['create', 'patch 2', 'create 2']);
    await clock.run(1);
    expect(sink.verbs.slice(3)).toEqual(['patch 2']);
    expect(reported).toEqual([]);
  });

  it('of more objects than are remembered end early, with their count', async () => {
    const recorder = start({ maxQueued: 10_000 });
    recorder.event(pod, details);
    for (let i = 0; i < 3; i++) recorder.event(pod, details);
    await clock.settle();
    recorder.event(pod, details);
    for (let i = 0; i < 4096; i++)
      recorder.event({ ...regarding, name: `n${i}`, uid: `u${i}` }, details);
    await clock.settle();
    expect(
      sink.sent.filter(({ verb }) => verb === 'patch').map(({ series }) => series?.count),
    ).toEqual([5]);
  });
});

describe('a source with too many events about an object', () => {
  const many = (recorder: EventRecorder, count: number, object: object = pod) => {
    for (let i = 0; i < count; i++)
      recorder.event(object, { ...details, reason: `Reason${recorder.counts().recorded}` });
  };

  it('writes 25 of them, and then one in five minutes', async () => {
    const recorder = start();
    many(recorder, 30);
    await clock.settle();
    expect(sink.sent).toHaveLength(25);
    expect(recorder.counts()).toMatchObject({ recorded: 30, filtered: 5, lost: 0 });
    await clock.run(5 * MINUTE - 1);
    many(recorder, 1);
    await clock.settle();
    expect(sink.sent).toHaveLength(25);
    await clock.run(1);
    many(recorder, 2);
    await clock.settle();
    expect(sink.sent).toHaveLength(26);
    expect(reported).toEqual([]);
  });

  it('writes events about other objects', async () => {
    const recorder = start({ burst: 1 });
    many(recorder, 2);
    many(recorder, 2, { ...regarding, name: 'other' });
    await clock.settle();
    expect(sink.sent).toHaveLength(2);
  });

  it('still counts its series, written at its end', async () => {
    const recorder = start({ burst: 1 });
    for (let i = 0; i < 3; i++) {
      recorder.event(pod, details);
      await clock.settle();
    }
    expect(sink.verbs).toEqual(['create']);
    await clock.run(6 * MINUTE);
    expect(sink.verbs).toEqual(['create', 'patch 3']);
  });

  it('regains at most its burst, however long it was quiet', async () => {
    const recorder = start({ burst: 2, refillPeriod: 1000 });
    many(recorder, 2);
    await clock.run(60 * MINUTE);
    many(recorder, 5);
    await clock.settle();
    expect(sink.sent).toHaveLength(4);
  });
});

describe('a failing write', () => {
  it.each([
    ['the connection was refused', new TransportError('refused', 'refused')],
    ['the server is overloaded', status(429, 'TooManyRequests')],
    ['the server has a failure', status(500, 'InternalError')],
    ['nobody knows why', new Error('weird')],
  ])('is tried twelve times in all, ten seconds apart, if %s', async (_, error) => {
    sink.answer = () => error;
    const recorder = start();
    recorder.event(pod, details);
    await clock.run(9999);
    expect(sink.sent).toHaveLength(1);
    await clock.run(1);
    expect(sink.sent).toHaveLength(2);
    await clock.run(5 * MINUTE);
    expect(sink.sent).toHaveLength(12);
    expect(recorder.counts()).toMatchObject({ written: 0, lost: 1 });
    expect(reported).toEqual([
      expect.stringMatching(/^the event Started of Pod shop\/web was not written after 12 tries: /),
    ]);
  });

  it.each([
    ['refuses it', status(422, 'Invalid')],
    ['forbids it', status(403, 'Forbidden')],
    ['has no such namespace', status(404, 'NotFound')],
  ])('is not retried if the server %s', async (_, error) => {
    sink.answer = () => error;
    start().event(pod, details);
    await clock.run(MINUTE);
    expect(sink.sent).toHaveLength(1);
    expect(reported).toHaveLength(1);
  });

  // Each Event that was given up was sent again six minutes later, or at the shutdown, and lost a
  // second time.
  it('is given up for good if it happened once', async () => {
    sink.answer = () => status(403, 'Forbidden');
    const recorder = start();
    recorder.event(pod, details);
    await clock.run(6 * MINUTE);
    recorder.event(pod, { ...details, reason: 'Other' });
    await clock.settle();
    await recorder.close();
    expect(sink.verbs).toEqual(['create', 'create']);
    expect(recorder.counts()).toMatchObject({ recorded: 2, written: 0, lost: 2 });
  });

  it('succeeds later, with its count by then', async () => {
    sink.answer = () => (sink.sent.length < 3 ? new Error('weird') : undefined);
    const recorder = start();
    recorder.event(pod, details);
    await clock.run(5000);
    recorder.event(pod, details);
    await clock.run(MINUTE);
    expect(sink.verbs).toEqual(['create', 'create 2', 'create 2']);
    expect(reported).toEqual([]);
  });

  it('waits up to a quarter longer, at random', async () => {
    sink.answer = () => new Error('weird');
    start({ random: () => 0.999 }).event(pod, details);
    await clock.run(12_400);
    expect(sink.sent).toHaveLength(1);
    await clock.run(100);
    expect(sink.sent).toHaveLength(2);
  });

  it('among a thousand is not lost if each fails four times', async () => {
    const tries = new Map<string, number>();
    sink.answer = ({ name }) => {
      tries.set(name, (tries.get(name) ?? 0) + 1);
      return (tries.get(name) ?? 0) < 5 ? new Error('weird') : undefined;
    };
    const recorder = start();
    for (let i = 0; i < 1000; i++)
      recorder.event({ ...regarding, name: `foo-${i}`, uid: `u-${i}` }, details);
    while (recorder.counts().written < 1000) await clock.run(10_000);
    expect([...tries.values()].every((count) => count === 5)).toBe(true);
    expect(recorder.counts()).toMatchObject({ recorded: 1000, written: 1000, lost: 0 });
  });
});

describe('an overloaded recorder', () => {
  it('has eight requests pending, drops what has no room, and reports it once', async () => {
    let stuck = true;
    const waiting: (() => void)[] = [];
    sink.answer = () =>
      stuck
        ? new Promise<undefined>((resolve) => waiting.push(() => resolve(undefined)))
        : undefined;
    const recorder = start({ maxQueued: 10 });
    for (let i = 0; i < 30; i++)
      recorder.event({ ...regarding, name: `n${i}`, uid: `u${i}` }, details);
    await clock.settle();
    expect(sink.sent).toHaveLength(8);
    expect(recorder.counts()).toMatchObject({ lost: 20 });
    expect(reported).toEqual(['10 events wait to be written: more are dropped']);
    stuck = false;
    for (const answer of waiting) answer();
    await clock.settle();
    expect(recorder.counts()).toMatchObject({ written: 10 });
    recorder.event({ ...regarding, name: 'n29', uid: 'u29' }, details);
    await clock.settle();
    expect(recorder.counts(), 'there is room again').toMatchObject({
      written: 11,
      lost: 20,
      aggregated: 0,
    });
  });
});

describe('a closed recorder', () => {
  it('writes waiting Events and counts of series before it is done', async () => {
    const recorder = start();
    for (let i = 0; i < 5; i++) {
      recorder.event(pod, details);
      await clock.settle();
    }
    recorder.event(pod, { ...details, reason: 'Stopped' });
    await recorder.close();
    expect(sink.verbs.toSorted()).toEqual(['create', 'create', 'patch 2', 'patch 5']);
    expect(clock.timers()).toBe(0);
    await recorder.close();
  });

  it('accepts no more events', async () => {
    const recorder = start();
    await recorder.close();
    recorder.event(pod, details);
    await clock.settle();
    expect(sink.sent).toEqual([]);
    expect(recorder.counts().lost).toBe(1);
  });

  it('does not wait for the next try of a failing write, but retries once', async () => {
    sink.answer = () => new Error('weird');
    const recorder = start();
    recorder.event(pod, details);
    await clock.settle();
    await recorder.close();
    expect(sink.sent).toHaveLength(2);
    expect(recorder.counts().lost).toBe(1);
  });

  // An Event in its second try when its recorder was closed, which then failed, was given up at
  // once, because a try that had begun before counted.
  it('retries a pending write once more, however often it failed before', async () => {
    const onItsWay = Promise.withResolvers<unknown>();
    sink.answer = () => (sink.sent.length === 1 ? new Error('weird') : onItsWay.promise);
    const recorder = start();
    recorder.event(pod, details);
    await clock.run(20_000);
    expect(sink.sent).toHaveLength(2);
    const done = recorder.close();
    sink.answer = () => undefined;
    onItsWay.resolve(new Error('weird'));
    await done;
    expect(sink.sent).toHaveLength(3);
    expect(recorder.counts()).toMatchObject({ written: 1, lost: 0 });
  });

  it('aborts when the signal fires', async () => {
    sink.answer = () => new Promise(() => undefined);
    const recorder = new EventRecorder({ client: sink.client, reportingController: 'c', clock });
    for (let i = 0; i < 10; i++) recorder.event({ ...regarding, uid: `u${i}` }, details);
    await clock.settle();
    const stop = new AbortController();
    const done = recorder.close({ signal: stop.signal });
    stop.abort();
    await expect(done).rejects.toMatchObject({ code: 'ABORTED' });
    await clock.settle();
    expect(recorder.counts().lost, 'whether or not the client heeds its signal').toBe(10);
    expect(clock.timers()).toBe(0);
  });
});

describe('on a server', () => {
  it('repeated events are one Event with a series', async () => {
    const server = await ApiServer.start();
    const transport = server.transport();
    onTestFinished(async () => {
      await transport.close?.();
      await server.stop();
    });
    const recorder = new EventRecorder({
      client: newClient({ transport }),
      reportingController: 'c1',
      clock,
    });
    recorder.event(pod, details);
    recorder.event(pod, details);
    recorder.event(pod, { ...details, reason: 'Stopped' });
    await recorder.close();
    const { body } = await transport.request({
      method: 'GET',
      path: '/apis/events.k8s.io/v1/namespaces/shop/events',
    });
    const chunks = await Array.fromAsync(body);
    const { items } = JSON.parse(Buffer.concat(chunks).toString()) as { items: Sent['event'][] };
    expect(items.map((item) => [item?.reason, item?.series?.count])).toEqual([
      ['Started', 2],
      ['Stopped', undefined],
    ]);
  });
});
