/**
 * The event pipe: from an informer's notifications through predicates to a handler, as in every
 * source with a handler.
 */
import { DeletedFinalStateUnknown } from 'capstan/cache';
import {
  and,
  type EventHandler,
  enqueueRequestForObject,
  generationChangedPredicate,
  type Logger,
  LowPriority,
  newPredicateFuncs,
  or,
  type Predicate,
} from 'capstan/controller';
import { FakeClock } from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { macrotask } from '../../bindings/base/clock.ts';
import { EventPipe } from '../../bindings/controller/sources/event-pipe.ts';
import { RecordingLogger } from '../helpers/controller/fake-manager.ts';
import {
  type EventObject,
  eventObject,
  RecordingQueue,
  telling,
  unknownChange,
} from '../helpers/controller/recording-queues.ts';
import { collectErrors } from '../helpers/reported-errors.ts';

const reported = collectErrors();

function setUp(
  handler: EventHandler<EventObject>,
  predicates: Predicate<EventObject>[] = [],
  logger?: Logger,
) {
  const clock = new FakeClock(50);
  const pipe = new EventPipe<EventObject>({
    name: 'kind Thing',
    kind: 'Thing',
    handler,
    predicates,
    clock,
  });
  const queue = new RecordingQueue();
  const end = new AbortController();
  pipe.open({ queue, signal: end.signal, logger });
  const informer = pipe.informerHandler();
  return { clock, pipe, queue, informer, stop: () => end.abort() };
}

const all = (passes: boolean): Predicate<EventObject> =>
  newPredicateFuncs<EventObject>(() => passes, { name: String(passes) });

describe('an informer’s notifications', () => {
  test('become create, update and delete events with their objects', () => {
    const events: unknown[] = [];
    const { informer } = setUp({
      create: (event) => void events.push(event),
      update: (event) => void events.push(event),
      delete: (event) => void events.push(event),
    });
    const [old, now] = [eventObject('a'), eventObject('a', { resourceVersion: '2' })];
    informer.onAdd?.(old, false);
    informer.onAdd?.(old, true);
    informer.onUpdate?.(old, now, unknownChange);
    informer.onDelete?.(now);
    expect(events).toEqual([
      { object: old, isInInitialList: false },
      { object: old, isInInitialList: true },
      { objectOld: old, objectNew: now, change: unknownChange },
      { object: now, deleteStateUnknown: false },
    ]);
  });

  test('of a missed deletion are unwrapped: the last state, or an object with only its key', () => {
    const received: string[] = [];
    const { informer, queue } = setUp(telling(received));
    informer.onDelete?.(new DeletedFinalStateUnknown('n/a', eventObject('a')));
    informer.onDelete?.(new DeletedFinalStateUnknown<EventObject>('n/b', undefined));
    informer.onDelete?.(new DeletedFinalStateUnknown<EventObject>('cluster', undefined));
    expect(received).toEqual(['lost n/a', 'lost n/b', 'lost /cluster']);
    expect(queue.added.map(({ cause }) => cause.object)).toEqual([
      { kind: 'Thing', namespace: 'n', name: 'a', resourceVersion: '1' },
      { kind: 'Thing', namespace: 'n', name: 'b', resourceVersion: undefined },
      { kind: 'Thing', namespace: '', name: 'cluster', resourceVersion: undefined },
    ]);
  });

  test('about objects without metadata are reported and dropped', () => {
    const received: string[] = [];
    const { informer, pipe } = setUp(telling(received));
    const broken = [
      {},
      { metadata: null },
      { metadata: 'x' },
      null,
      undefined,
      1,
    ] as unknown as EventObject[];
    for (const one of broken) informer.onAdd?.(one, false);
    for (const one of broken) informer.onUpdate?.(one, eventObject('a'), unknownChange);
    for (const one of broken) informer.onUpdate?.(eventObject('a'), one, unknownChange);
    for (const one of broken) informer.onDelete?.(one);
    informer.onDelete?.(new DeletedFinalStateUnknown('n/a', {} as EventObject));
    expect(received).toEqual([]);
    expect(reported).toHaveLength(25);
    expect(reported[0]).toMatchObject({
      error: { code: 'INVALID_ARGUMENT' },
      what: 'source "kind Thing": create event',
    });
    expect(pipe.events()).toEqual({ handled: 0, filtered: 0, failed: 25 });
  });
});

describe('predicates', () => {
  test.each<[string, boolean[], boolean]>([
    ['one that turns it away', [false], false],
    ['one that lets it pass', [true], true],
    ['the second of two', [true, false], false],
    ['the first of two', [false, true], false],
    ['none of two', [true, true], true],
  ])('filter every kind of event: %s', (_, answers, passes) => {
    const received: string[] = [];
    const { informer, pipe } = setUp(telling(received), answers.map(all));
    informer.onAdd?.(eventObject('a'), false);
    informer.onUpdate?.(eventObject('a'), eventObject('a'), unknownChange);
    informer.onDelete?.(eventObject('a'));
    pipe.generic({ object: eventObject('a') });
    expect(received).toHaveLength(passes ? 4 : 0);
    expect(pipe.events()).toEqual({ handled: passes ? 4 : 0, filtered: passes ? 0 : 4, failed: 0 });
  });

  test('without a method for a kind of event let it pass, and are not named in its cause', () => {
    const received: string[] = [];
    const onlyCreations: Predicate<EventObject> = { name: 'onlyCreations', create: () => true };
    const { informer, queue } = setUp(telling(received), [
      onlyCreations,
      or(
        generationChangedPredicate(),
        and(generationChangedPredicate(), generationChangedPredicate()),
      ),
      { update: () => true },
    ]);
    informer.onAdd?.(eventObject('a'), false);
    informer.onUpdate?.(eventObject('a'), eventObject('a', { generation: 2 }), unknownChange);
    informer.onDelete?.(eventObject('a'));
    expect(queue.added.map(({ cause }) => cause.predicate)).toEqual([
      'onlyCreations',
      'or(generationChanged, and(generationChanged, generationChanged)), unnamed',
      undefined,
    ]);
  });

  // The event was dropped: an update that was not followed by another was never reconciled.
  test('that throw or return no boolean let the event pass, and are reported once a minute', () => {
    const received: string[] = [];
    const error = new Error('no');
    const { clock, informer, pipe } = setUp(telling(received), [
      {
        name: 'mine',
        create({ object: { metadata } }) {
          if (metadata.name === 'bad') throw error;
          if (metadata.name === 'good') return false;
          return Promise.reject(error) as unknown as boolean;
        },
      },
    ]);
    for (const name of ['bad', 'bad', 'good']) informer.onAdd?.(eventObject(name), false);
    clock.step(60_000);
    for (const name of ['async', 'async']) informer.onAdd?.(eventObject(name), false);
    expect(received).toEqual(['create n/bad', 'create n/bad', 'create n/async', 'create n/async']);
    const what = 'source "kind Thing": a predicate failed, create event of';
    expect(reported).toMatchObject([
      { error, what: `${what} n/bad: the event passes` },
      {
        error: {
          code: 'INVALID_ARGUMENT',
          message: '"mine.create" expected true or false, got a promise',
        },
        what: `${what} n/async: the event passes, and 1 times since it was reported last`,
      },
    ]);
    expect(pipe.events()).toEqual({ handled: 4, filtered: 1, failed: 0 });
  });

  test('keep their this', () => {
    class Counting implements Predicate<EventObject> {
      seen = 0;
      create(): boolean {
        this.seen++;
        return true;
      }
    }
    class Handling implements EventHandler<EventObject> {
      seen = 0;
      create(): void {
        this.seen++;
      }
    }
    const [predicate, handler] = [new Counting(), new Handling()];
    const { informer } = setUp(handler, [predicate]);
    informer.onAdd?.(eventObject('a'), false);
    expect([predicate.seen, handler.seen]).toEqual([1, 1]);
  });
});

describe('a handler', () => {
  // The event was lost: a map function that asked a server which was down for a moment never
  // returned its requests, because no other event came for that object.
  test('that throws or rejects is retried with back-off until it succeeds', async () => {
    const received: string[] = [];
    let fails = true;
    const { clock, informer, pipe, queue } = setUp({
      create({ object: { metadata } }, queue) {
        received.push(`${metadata.name} at ${clock.now()}`);
        queue.add({ namespace: 'n', name: metadata.name });
        if (!fails || metadata.name === 'good') return undefined;
        if (metadata.name === 'throws') throw new Error('thrown');
        return Promise.reject(new Error('rejected'));
      },
    });
    for (const name of ['throws', 'rejects', 'good'])
      await informer.onAdd?.(eventObject(name), false);
    expect(queue.requests()).toEqual(['n/throws', 'n/rejects', 'n/good']);
    const what = 'source "kind Thing": the handler failed, create event of';
    expect(reported.splice(0).map(({ what }) => what)).toEqual([
      `${what} n/throws: it is retried in 100 ms`,
      `${what} n/rejects: it is retried in 100 ms`,
    ]);
    expect(pipe.events()).toEqual({ handled: 1, filtered: 0, failed: 2 });
    received.length = 0;
    for (let i = 0; i < 40; i++) {
      clock.step(100);
      await macrotask();
    }
    const times = [150, 350, 750, 1550, 3150];
    expect(received).toEqual(times.flatMap((at) => [`throws at ${at}`, `rejects at ${at}`]));
    expect(reported.at(-1)?.what).toBe(`${what} n/rejects: it is retried in 3200 ms`);
    fails = false;
    clock.step(2_300);
    await macrotask();
    clock.step(1_000_000);
    expect(received.slice(10)).toEqual(['throws at 6350', 'rejects at 6350']);
    expect(pipe.events()).toEqual({ handled: 3, filtered: 0, failed: 12 });
  });

  test('that always fails is retried every 30 s, and not after the end', () => {
    const { clock, informer, pipe, stop } = setUp({
      create() {
        throw new Error('always');
      },
    });
    informer.onAdd?.(eventObject('a'), false);
    for (let i = 0; i < 600; i++) clock.step(1_000);
    expect(pipe.events().failed).toBe(28);
    const before = pipe.events();
    stop();
    expect(clock.timers()).toBe(0);
    informer.onAdd?.(eventObject('b'), false);
    clock.step(10 * 60_000);
    expect(pipe.events()).toEqual({ ...before, failed: before.failed + 1 });
    expect(clock.timers()).toBe(0);
  });

  test('gets one merged update if several of an object wait, and at most 10 000 events', () => {
    let fails = true;
    const received: string[] = [];
    const version = ({ metadata }: EventObject): string => `${metadata.resourceVersion}`;
    const { clock, informer, pipe } = setUp({
      create({ object }) {
        if (fails) throw new Error('no');
        received.push(`create ${version(object)}`);
      },
      update({ objectOld, objectNew, change }) {
        if (fails) throw new Error('no');
        received.push(`${version(objectOld)} to ${version(objectNew)}, labels ${change.labels}`);
      },
      delete({ object }) {
        if (fails) throw new Error('no');
        received.push(`delete ${version(object)}`);
      },
    });
    const at = (resourceVersion: string): EventObject => eventObject('a', { resourceVersion });
    informer.onUpdate?.(at('1'), at('2'), unknownChange);
    informer.onUpdate?.(at('2'), at('3'), unknownChange);
    informer.onDelete?.(at('3'));
    informer.onUpdate?.(at('4'), at('5'), unknownChange);
    for (let i = 0; i < 10_000; i++) informer.onAdd?.(eventObject(`n${i}`), false);
    expect(reported.at(-4)?.what).toContain('it is retried in 100 ms');
    expect(reported.at(-1)?.what).toContain(
      'create event of n/n9999: it is dropped, because too many events wait for a retry',
    );
    fails = false;
    clock.step(100);
    expect(received.slice(0, 3)).toEqual([
      '1 to 3, labels false',
      'delete 3',
      '4 to 5, labels true',
    ]);
    expect(received).toHaveLength(10_000);
    expect(pipe.events()).toMatchObject({ handled: 10_000, failed: 10_004 });
  });

  // The error handler is for programs without a logger: with a logger, failures of map functions
  // were still reported elsewhere than those of reconciles.
  test('or a predicate that fails is logged if there is a logger', async () => {
    const logger = new RecordingLogger();
    const error = new Error('thrown');
    const fail = (): never => {
      throw error;
    };
    const { informer } = setUp(
      { create: fail, delete: () => undefined },
      [{ delete: fail }],
      logger,
    );
    await informer.onAdd?.(eventObject('a'), false);
    informer.onDelete?.(eventObject('a'));
    informer.onAdd?.({} as EventObject, false);
    expect(logger.lines).toMatchObject([
      {
        level: 'error',
        message:
          'source "kind Thing": the handler failed, create event of n/a: it is retried in 100 ms',
        fields: { error },
      },
      {
        level: 'error',
        message: 'source "kind Thing": a predicate failed, delete event of n/a: the event passes',
        fields: { error },
      },
      {
        level: 'error',
        message: 'source "kind Thing": create event',
        fields: { error: { code: 'INVALID_ARGUMENT' } },
      },
    ]);
    expect(reported).toEqual([]);
  });

  test('that is async is awaited, and its requests keep the cause of their event', async () => {
    const waiting: (() => void)[] = [];
    const { clock, informer, queue } = setUp({
      async create({ object }, queue) {
        await new Promise<void>((resolve) => void waiting.push(resolve));
        queue.add({ namespace: 'x', name: object.metadata.name });
      },
    });
    const first: unknown = informer.onAdd?.(eventObject('a'), false);
    const second: unknown = informer.onAdd?.(eventObject('b'), true);
    clock.step(7);
    waiting[1]?.();
    await second;
    waiting[0]?.();
    await first;
    expect(queue.added).toMatchObject([
      {
        request: 'x/b',
        priority: LowPriority,
        cause: { kind: 'create', object: { name: 'b' }, at: 57 },
      },
      { request: 'x/a', cause: { kind: 'create', object: { name: 'a' }, at: 57 } },
    ]);
  });

  test('may add in every way, and all requests of an event share one cause', () => {
    const { informer, queue } = setUp({
      create(_, queue) {
        queue.add({ namespace: '', name: 'a' });
        queue.addAfter({ namespace: '', name: 'b' }, 5);
        queue.addRateLimited({ namespace: '', name: 'c' });
        queue.addWithOpts(
          { priority: 3, after: 1 },
          { namespace: '', name: 'd' },
          { namespace: '', name: 'e' },
        );
      },
    });
    informer.onAdd?.(eventObject('x'), false);
    informer.onAdd?.(eventObject('x'), true);
    const cause = {
      kind: 'create',
      source: 'kind Thing',
      object: expect.objectContaining({ name: 'x' }),
      at: 50,
    };
    const ways = (priority?: number) => [
      { request: '/a', priority, cause },
      { request: '/b', priority, after: 5, cause },
      { request: '/c', priority, rateLimited: true, cause },
      { request: '/d', priority: 3, after: 1, cause },
      { request: '/e', priority: 3, after: 1, cause },
    ];
    expect(queue.added).toEqual([...ways(), ...ways(LowPriority)]);
    expect(new Set(queue.added.map(({ cause }) => cause)).size).toBe(2);
  });

  test('without a method for a kind of event ignores it, and no predicate is called', () => {
    const { informer, pipe } = setUp({ create: () => undefined }, [
      {
        update() {
          throw new Error('asked');
        },
      },
    ]);
    informer.onUpdate?.(eventObject('a'), eventObject('a'), unknownChange);
    expect(pipe.events()).toEqual({ handled: 0, filtered: 1, failed: 0 });
  });

  test('gets nothing after the end, and a source that is started at its end never begins', () => {
    const { informer, queue, stop } = setUp(enqueueRequestForObject());
    stop();
    informer.onAdd?.(eventObject('a'), false);
    expect(queue.added).toEqual([]);
    const pipe = new EventPipe<EventObject>({ name: 'late', handler: enqueueRequestForObject() });
    pipe.open({ queue, signal: AbortSignal.abort() });
    pipe.create({ object: eventObject('a'), isInInitialList: false });
    expect(queue.added).toEqual([]);
  });
});
