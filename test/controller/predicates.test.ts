/**
 * Predicates on plain objects and on objects that a cache keeps as bytes: which events pass, and
 * what is decoded to decide.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  and,
  annotationChangedPredicate,
  enqueueRequestForOwner,
  generationChangedPredicate,
  labelChangedPredicate,
  labelSelectorPredicate,
  newPredicateFuncs,
  not,
  or,
  type Predicate,
  passes as passesAlone,
  predicateFuncs,
  resourceVersionChangedPredicate,
  type UpdateEvent,
  updateEvent,
} from 'capstan/controller';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { LazyChange } from '../../bindings/cache/bytes/change.ts';
import { StoredObjects } from '../../bindings/cache/bytes/stored-objects.ts';
import { EventPipe } from '../../bindings/controller/sources/event-pipe.ts';
import { vectorFiles } from '../conformance/files.ts';
import { type PredicateSpec, passes, predicateOf } from '../conformance/subjects/predicates.ts';
import { ByteStore, type Thing as ByteThing } from '../helpers/cache/byte-store.ts';
import {
  type EventObject,
  eventObject,
  RecordingHandlerQueue,
  RecordingQueue,
} from '../helpers/controller/recording-queues.ts';
import { collectErrors } from '../helpers/reported-errors.ts';

const reported = collectErrors();
afterEach(() => vi.restoreAllMocks());
const invalid = expect.objectContaining({ code: 'INVALID_ARGUMENT' });

/** An update of two plain objects. */
function update(
  old: Partial<EventObject['metadata']>,
  now: Partial<EventObject['metadata']>,
): UpdateEvent<EventObject> {
  const [objectOld, objectNew] = [eventObject('a', old), eventObject('a', now)];
  return { objectOld, objectNew, change: new LazyChange(objectOld, objectNew) };
}

/** The same update of two objects whose bytes are in a store. */
function byteUpdate(old: object, now: object): UpdateEvent<object> {
  const world = new ByteStore();
  const form = (metadata: object): ByteThing =>
    ({ apiVersion: 'v1', kind: 'Thing', metadata }) as ByteThing;
  world.store.exchange(world.object(form(old)), false);
  const objectNew = world.object(form(now));
  const objectOld = world.store.exchange(objectNew, false) as ByteThing;
  return { objectOld, objectNew, change: new LazyChange(objectOld, objectNew) };
}

const all = {
  create: { object: eventObject('a'), isInInitialList: false },
  delete: { object: eventObject('a'), deleteStateUnknown: false },
  generic: { object: eventObject('a') },
};

type Metadata = Partial<EventObject['metadata']>;
type Case = [
  what: string,
  predicate: () => Predicate<object>,
  old: Metadata,
  now: Metadata,
  passes: boolean,
];

const generation = () => generationChangedPredicate();
const version = () => resourceVersionChangedPredicate();
const labels = () => labelChangedPredicate();
const annotations = () => annotationChangedPredicate();
const own = (json: string): Record<string, string> => JSON.parse(json);

describe.each<Case>([
  ['the same version', version, { resourceVersion: '1' }, { resourceVersion: '1' }, false],
  ['another version', version, { resourceVersion: '1' }, { resourceVersion: '2' }, true],
  [
    'a version that is no longer there',
    version,
    { resourceVersion: '1' },
    { resourceVersion: undefined },
    true,
  ],
  [
    'the same generation',
    generation,
    { generation: 1 },
    { generation: 1, resourceVersion: '2' },
    false,
  ],
  [
    'another generation',
    generation,
    { generation: 1 },
    { generation: 2, resourceVersion: '2' },
    true,
  ],
  [
    'the same annotations',
    annotations,
    { annotations: { a: '1', b: '2' } },
    { annotations: { b: '2', a: '1' } },
    false,
  ],
  [
    'another annotation',
    annotations,
    { annotations: { a: '1' } },
    { annotations: { a: '2' } },
    true,
  ],
  [
    'an annotation more',
    annotations,
    { annotations: { a: '1' } },
    { annotations: { a: '1', b: '2' } },
    true,
  ],
  [
    'an annotation less',
    annotations,
    { annotations: { a: '1', b: '2' } },
    { annotations: { a: '1' } },
    true,
  ],
  [
    'no annotations, and an empty map of them',
    annotations,
    { annotations: {} },
    { annotations: undefined },
    false,
  ],
  [
    'the same labels',
    labels,
    { labels: { a: '1', b: '2' } },
    { labels: { b: '2', a: '1' } },
    false,
  ],
  ['another label', labels, { labels: { a: '1' } }, { labels: { a: '2' } }, true],
  ['a label more', labels, { labels: { a: '1' } }, { labels: { a: '1', b: '2' } }, true],
  ['a label less', labels, { labels: { a: '1', b: '2' } }, { labels: { a: '1' } }, true],
  ['no labels, null and an empty map', labels, { labels: null }, { labels: {} }, false],
  ['as many labels of other names', labels, { labels: { a: '1' } }, { labels: { b: '1' } }, true],
  [
    'a label __proto__',
    labels,
    { labels: own('{"__proto__":"1"}') },
    { labels: own('{"__proto__":"2"}') },
    true,
  ],
  [
    'a label __proto__ less',
    labels,
    { labels: own('{"__proto__":"1"}') },
    { labels: own('{"x":"1"}') },
    true,
  ],
])('an update with %s', (_, predicate, old, now, want) => {
  test(`${want ? 'passes' : 'does not pass'} on plain objects`, () => {
    expect(predicate().update?.(update(old, now))).toBe(want);
  });

  test(`${want ? 'passes' : 'does not pass'} on bytes`, () => {
    const form = (metadata: Metadata) => eventObject('a', metadata).metadata;
    expect(predicate().update?.(byteUpdate(form(old), form(now)))).toBe(want);
  });
});

test.each([
  ['generationChanged', generation],
  ['resourceVersionChanged', version],
  ['labelChanged', labels],
  ['annotationChanged', annotations],
])('%s rejects only an update that lacks an object', (name, make) => {
  const predicate = make();
  expect([predicate.name, predicate.create, predicate.delete, predicate.generic]).toEqual([
    name,
    undefined,
    undefined,
    undefined,
  ]);
  const event = update({ generation: 1 }, { generation: 2 });
  const missing = undefined as unknown as EventObject;
  expect(predicate.update?.({ ...event, objectOld: missing })).toBe(false);
  expect(predicate.update?.({ ...event, objectNew: missing })).toBe(false);
  expect(reported).toMatchObject([
    { error: { message: expect.stringContaining('event.objectOld') }, what: `predicate ${name}` },
    { error: { message: expect.stringContaining('event.objectNew') } },
  ]);
});

test('no generation and 0 are the same, as in Go', () => {
  expect(generation().update?.(update({}, { generation: 0 }))).toBe(false);
  expect(version().update?.(update({ resourceVersion: '' }, { resourceVersion: undefined }))).toBe(
    false,
  );
});

describe('an object that was deleted and created again', () => {
  const events = [
    update({ uid: 'u1', generation: 1 }, { uid: 'u2', generation: 1, resourceVersion: '2' }),
    byteUpdate(
      eventObject('a', { uid: 'u1' }).metadata,
      eventObject('a', { uid: 'u2', resourceVersion: '2' }).metadata,
    ),
  ];

  test('passes only if the part differs, as in controller-runtime', () => {
    for (const event of events)
      expect([generation(), labels(), annotations()].map((one) => one.update?.(event))).toEqual([
        false,
        false,
        false,
      ]);
  });

  test('passes with the option recreated, as in kube-rs', () => {
    const options = { recreated: true };
    const predicates = [
      generationChangedPredicate,
      labelChangedPredicate,
      annotationChangedPredicate,
    ];
    for (const make of predicates) {
      for (const event of events) expect(make(options).update?.(event)).toBe(true);
      expect(
        make(options).update?.(update({ uid: 'u1' }, { uid: 'u1', resourceVersion: '2' })),
      ).toBe(false);
      expect(() => make({ recreated: 1 as unknown as boolean })).toThrow(invalid);
    }
  });
});

describe('what is decoded', () => {
  /**
   * The number of members that were decoded from the core's memory, of values that were parsed
   * (also of replaced versions), and of objects that were made for decoded values: the metadata is
   * one, before any of its members is read.
   */
  function decodes(run: () => unknown): number[] {
    const spies = [
      vi.spyOn(StoredObjects.prototype, 'decode'),
      vi.spyOn(JSON, 'parse'),
      vi.spyOn(Object, 'freeze'),
    ];
    run();
    return spies.map((spy) => spy.mock.calls.length);
  }
  const before = {
    namespace: 'n',
    name: 'a',
    resourceVersion: '1',
    generation: 1,
    labels: { a: '1' },
    annotations: {},
  };
  const recreated = generationChangedPredicate({ recreated: true });
  const standard = and(or(generation(), labels(), annotations(), recreated), version());

  test('the counter sees reads of the metadata, of new and replaced objects', () => {
    const { objectOld, objectNew } = byteUpdate(before, {
      ...before,
      resourceVersion: '2',
    }) as UpdateEvent<ByteThing>;
    expect(decodes(() => objectNew.metadata.labels)).toEqual([1, 1, 2]);
    vi.restoreAllMocks();
    expect(decodes(() => objectOld.metadata.labels)).toEqual([0, 1, 2]);
  });

  test.each<[string, object, boolean]>([
    ['nothing but the version', { resourceVersion: '2' }, false],
    ['the generation', { resourceVersion: '2', generation: 2 }, true],
  ])('standard predicates decode nothing where %s has changed', (_, now, passes) => {
    const event = byteUpdate(before, { ...before, ...now });
    expect(decodes(() => expect(standard.update?.(event)).toBe(passes))).toEqual([0, 0, 0]);
  });

  test('only labels that differ in bytes are decoded, to compare them by value', () => {
    const event = byteUpdate(before, { ...before, resourceVersion: '2', labels: { a: '2' } });
    expect(decodes(() => expect(standard.update?.(event)).toBe(true))).toEqual([1, 2, 4]);
  });

  test('a rejected event has decoded nothing', () => {
    const handler = { update: vi.fn() };
    const pipe = new EventPipe<object>({
      name: 'x',
      handler,
      predicates: [standard, generation()],
    });
    pipe.open({ queue: new RecordingQueue(), signal: new AbortController().signal });
    const { objectOld, objectNew, change } = byteUpdate(before, {
      ...before,
      resourceVersion: '2',
    });
    expect(decodes(() => pipe.informerHandler().onUpdate?.(objectOld, objectNew, change))).toEqual([
      0, 0, 0,
    ]);
    expect(pipe.events()).toEqual({ handled: 0, filtered: 1, failed: 0 });
    expect(handler.update).not.toHaveBeenCalled();
  });

  test('the owner handler decodes only the new state of an update that kept its owners', () => {
    const owners = (...names: string[]) => ({
      ownerReferences: names.map((name) => ({ apiVersion: 'apps/v1', kind: 'ReplicaSet', name })),
    });
    const handler = enqueueRequestForOwner({ group: 'apps', kind: 'ReplicaSet', namespaced: true });
    const queue = new RecordingHandlerQueue();
    const kept = byteUpdate(
      { ...before, ...owners('a') },
      { ...before, ...owners('a'), resourceVersion: '2' },
    );
    const [, parsed] = decodes(() => handler.update?.(kept, queue));
    expect([parsed, queue.added]).toEqual([1, [{ request: 'n/a' }]]);
    const moved = byteUpdate(
      { ...before, ...owners('a') },
      { ...before, ...owners('b'), resourceVersion: '2' },
    );
    handler.update?.(moved, queue);
    expect(queue.added.slice(1)).toEqual([{ request: 'n/a' }, { request: 'n/b' }]);
  });
});

test('every recorded update agrees on objects that are kept as bytes', () => {
  const vectors = fileURLToPath(new URL('../conformance/vectors', import.meta.url));
  let steps = 0;
  for (const path of vectorFiles(vectors).filter((path) => path.endsWith('/predicates.jsonl'))) {
    for (const [i, line] of readFileSync(path, 'utf8').trim().split('\n').entries()) {
      const step = JSON.parse(line) as { event?: string; old: object; new: object; want: boolean };
      if (step.event !== 'update') continue;
      const { predicate } = step as unknown as { predicate: PredicateSpec };
      const told = { kind: 'update', event: byteUpdate(step.old, step.new) } as Parameters<
        typeof passes
      >[1];
      expect(passes(predicateOf(predicate), told), `${path}:${i + 1}`).toBe(step.want);
      steps++;
    }
  }
  expect(steps).toBeGreaterThan(250);
});

describe('functions as predicates', () => {
  test.each(['create', 'update', 'delete', 'generic'] as const)(
    'one for %s is asked of those events alone',
    (kind) => {
      for (const answer of [true, false]) {
        const predicate = predicateFuncs<EventObject>({ [kind]: () => answer });
        const events = { ...all, update: update({}, {}) };
        expect(predicate[kind]?.(events[kind] as never)).toBe(answer);
        const others = (['create', 'update', 'delete', 'generic'] as const).filter(
          (other) => other !== kind,
        );
        expect(others.map((other) => predicate[other])).toEqual([undefined, undefined, undefined]);
      }
    },
  );

  test('a filter gets the object of every event, and the new one of an update', () => {
    const ours = newPredicateFuncs((object: EventObject) => object.metadata.namespace === 'ours', {
      name: 'ours',
    });
    const [mine, theirs] = [
      eventObject('a', { namespace: 'ours' }),
      eventObject('a', { namespace: 'theirs' }),
    ];
    for (const [object, other, want] of [
      [mine, theirs, true],
      [theirs, mine, false],
    ] as const) {
      expect(ours.create?.({ object, isInInitialList: false })).toBe(want);
      expect(ours.delete?.({ object, deleteStateUnknown: false })).toBe(want);
      expect(ours.generic?.({ object })).toBe(want);
      expect(ours.update?.({ ...update({}, {}), objectOld: other, objectNew: object })).toBe(want);
    }
    expect(ours.name).toBe('ours');
    const named = (): boolean => true;
    expect(newPredicateFuncs(named).name).toBe('named');
  });

  test('a value that is not a function is refused', () => {
    expect(() => predicateFuncs({ update: true } as unknown as Predicate)).toThrow(invalid);
    expect(() => predicateFuncs({ name: 1 } as unknown as Predicate)).toThrow(invalid);
    expect(() => newPredicateFuncs('x' as unknown as () => boolean)).toThrow(invalid);
    expect(() => and({ update: 1 } as unknown as Predicate)).toThrow(invalid);
    expect(() => not(undefined as unknown as Predicate)).toThrow(invalid);
  });
});

describe('and, or, not', () => {
  const yes = newPredicateFuncs(() => true, { name: 'yes' });
  const no = newPredicateFuncs(() => false, { name: 'no' });
  const answers = (predicate: Predicate<object>): boolean[] => [
    passes(predicate, { kind: 'create', event: all.create } as Parameters<typeof passes>[1]),
    passes(predicate, { kind: 'update', event: update({}, {}) } as Parameters<typeof passes>[1]),
    passes(predicate, { kind: 'delete', event: all.delete } as Parameters<typeof passes>[1]),
    passes(predicate, { kind: 'generic', event: all.generic } as Parameters<typeof passes>[1]),
  ];
  const every = (answer: boolean): boolean[] => Array(4).fill(answer);

  test.each<[string, Predicate<object>, boolean]>([
    ['and of one that says no', and(yes, no), false],
    ['and of all that say yes', and(yes, yes), true],
    ['and of none', and(), true],
    ['or of one that says yes', or(no, yes), true],
    ['or of all that say no', or(no, no), false],
    ['or of none', or(), false],
    ['not of yes', not(yes), false],
    ['not of no', not(no), true],
  ])('%s', (_, predicate, answer) => expect(answers(predicate)).toEqual(every(answer)));

  test('let a kind of event pass for which a predicate has no method', () => {
    expect(answers(and(generation(), yes))).toEqual([true, false, true, true]);
    expect(answers(or(generation(), no))).toEqual([true, false, true, true]);
    expect(answers(not(generation()))).toEqual([false, true, false, false]);
    expect(or(generation(), no).create).toBeUndefined();
    expect(and(generation(), labels()).create).toBeUndefined();
  });

  test('are named by their parts', () => {
    expect(or(generation(), and(labels(), not({})), no).name).toBe(
      'or(generationChanged, and(labelChanged, not(unnamed)), no)',
    );
  });

  test('call no more predicates than needed', () => {
    const never = newPredicateFuncs(() => expect.unreachable());
    expect(answers(and(no, never))).toEqual(every(false));
    expect(answers(or(yes, never))).toEqual(every(true));
  });
});

describe('a label selector', () => {
  const create = (labels: Record<string, string> | undefined) => ({
    object: eventObject('a', { labels }),
    isInInitialList: false,
  });

  test.each([
    ['as text', 'foo=bar,!baz'],
    [
      'as an object',
      { matchLabels: { foo: 'bar' }, matchExpressions: [{ key: 'baz', operator: 'DoesNotExist' }] },
    ],
  ])('%s lets matching objects pass', (_, selector) => {
    const predicate = labelSelectorPredicate(selector);
    for (const [labels, want] of [
      [{ foo: 'bar' }, true],
      [{ foo: 'bar', baz: '' }, false],
      [{ bar: 'foo' }, false],
      [undefined, false],
    ] as const) {
      const { object } = create(labels);
      expect([
        predicate.create?.({ object, isInInitialList: false }),
        predicate.update?.({ ...update({}, {}), objectNew: object }),
        predicate.delete?.({ object, deleteStateUnknown: false }),
        predicate.generic?.({ object }),
      ]).toEqual(Array(4).fill(want));
    }
  });

  test('checks the new state of an update, and refuses an invalid selector', () => {
    const predicate = labelSelectorPredicate('foo');
    expect(predicate.update?.(update({ labels: { foo: '1' } }, {}))).toBe(false);
    expect(predicate.update?.(update({}, { labels: { foo: '1' } }))).toBe(true);
    expect(() => labelSelectorPredicate('foo in')).toThrow(invalid);
    expect(() => labelSelectorPredicate({ matchLabels: { '': 'x' } })).toThrow(invalid);
  });
});

describe('in a unit test, with objects alone', () => {
  const [before, after] = [
    eventObject('a', { generation: 1 }),
    eventObject('a', { generation: 2, labels: { app: 'web' } }),
  ];
  const changed = { objectOld: before, objectNew: after };
  const same = { objectOld: after, objectNew: structuredClone(after) };

  test('the standard ones find out what differs', () => {
    for (const predicate of [
      generationChangedPredicate(),
      generationChangedPredicate({ recreated: true }),
      labelChangedPredicate(),
    ]) {
      expect(predicate.update(changed)).toBe(true);
      expect(predicate.update(same)).toBe(false);
    }
    expect(annotationChangedPredicate().update(changed)).toBe(false);
    expect(resourceVersionChangedPredicate().update(same)).toBe(false);
  });

  test('passes() fills in what is left out, and says yes where there is no method', () => {
    const web = labelSelectorPredicate('app=web');
    const predicate = and(generationChangedPredicate(), web);
    expect(passesAlone(predicate, 'update', changed)).toBe(true);
    expect(passesAlone(predicate, 'update', same)).toBe(false);
    expect(passesAlone(predicate, 'create', { object: after })).toBe(true);
    expect(passesAlone(predicate, 'create', { object: before })).toBe(false);
    expect(passesAlone(generationChangedPredicate(), 'delete', { object: after })).toBe(true);
    expect(passesAlone(not(web), 'generic', { object: after })).toBe(false);
    const first: Predicate<object> = {
      create: ({ isInInitialList }) => isInInitialList,
      update: ({ change }) => change.labels,
      delete: ({ deleteStateUnknown }) => deleteStateUnknown,
    };
    expect(passesAlone(first, 'create', { object: after })).toBe(false);
    expect(passesAlone(first, 'create', { object: after, isInInitialList: true })).toBe(true);
    expect(passesAlone(first, 'update', changed)).toBe(true);
    expect(passesAlone(first, 'update', same)).toBe(false);
    expect(passesAlone(first, 'delete', { object: after })).toBe(false);
  });

  test('updateEvent() has the change of two states', () => {
    const { change, ...states } = updateEvent(before, after);
    expect(states).toEqual(changed);
    const { generation, labels, annotations, spec, status, metadata, deletion } = change;
    expect({ generation, labels, annotations, spec, status, metadata, deletion }).toEqual({
      ...{ generation: true, labels: true, annotations: false, metadata: true },
      ...{ spec: false, status: false, deletion: false },
    });
  });

  test('passes() throws what a controller would report', () => {
    const fails: Predicate<object> = {
      update: () => {
        throw new RangeError('no');
      },
      create: () => Promise.resolve(true) as never,
    };
    expect(() => passesAlone(fails, 'update', changed)).toThrow('no');
    expect(() => passesAlone(fails, 'create', { object: after })).toThrow(invalid);
    expect(() => passesAlone(fails, 'update', { object: after } as never)).toThrow(invalid);
    expect(() => passesAlone(fails, 'delete', changed as never)).toThrow(invalid);
    expect(() => passesAlone(fails, 'other' as never, changed)).toThrow(invalid);
    expect(() => updateEvent(before, undefined as never)).toThrow(invalid);
  });
});
