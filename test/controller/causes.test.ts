/**
 * The causes of a reconcile: what is kept of them between the source and the reconcile function.
 */
import type { Cause } from 'capstan/controller';
import { expect, test } from 'vitest';
import { Causes, MOST_CAUSES } from '../../bindings/controller/causes.ts';
import { RequestMap } from '../../bindings/controller/request-map.ts';
import {
  causeOf,
  fail,
  reconcileResults,
  requestOf,
  rig,
} from '../helpers/controller/controller-rig.ts';
import { ignoreErrors } from '../helpers/reported-errors.ts';

ignoreErrors();

/** The causes of each reconcile with their times, and the number of further ones. */
function whys(
  reconcile: Parameters<typeof rig>[0] = () => undefined,
  options: Parameters<typeof rig>[1] = {},
) {
  const seen: string[] = [];
  const parts = rig((request, context) => {
    const causes = context.causes.map(({ kind, at, attempt }) => `${kind}${attempt ?? ''}@${at}`);
    seen.push(
      [...causes, ...(context.moreCauses > 0 ? [`${context.moreCauses} more`] : [])].join(' '),
    );
    return reconcile(request, context);
  }, options);
  return { ...parts, seen };
}

/** One worker waits in the reconcile of "gate" until it is released. */
async function busy(options: Parameters<typeof rig>[1] = {}) {
  const gate = Promise.withResolvers<void>();
  const parts = whys(({ name }) => (name === 'gate' ? gate.promise : undefined), options);
  await parts.start();
  parts.source.add('gate');
  await parts.clock.settle();
  parts.seen.length = 0;
  return {
    ...parts,
    async open() {
      gate.resolve();
      await parts.clock.settle();
    },
  };
}

test('a run has the causes of all adds that were merged into it, in order', async () => {
  const { source, seen, open } = await busy();
  source.add('a', {}, causeOf('create', 1));
  source.add('a', {}, causeOf('update', 2));
  source.add('a', {}, causeOf('delete', 3));
  await open();
  expect(seen).toEqual(['create@1 update@2 delete@3']);
});

// The worker gets a request later than the queue hands it out: it took the causes of both runs, and
// the second run had none.
test.each([true, false])(
  'a request that is added twice to a worker that waits has each cause once (priorities: %s)',
  async (usePriorityQueue) => {
    const { source, seen, start, clock } = whys(undefined, { usePriorityQueue });
    await start();
    source.add('a', {}, causeOf('create', 1));
    source.add('a', {}, causeOf('update', 2));
    await clock.settle();
    expect(seen).toEqual(['create@1', 'update@2']);
  },
);

test('the object, the source and the predicates of a cause arrive unchanged', async () => {
  const given: (readonly Cause[])[] = [];
  const { source, start, clock } = rig((_, { causes }) => void given.push(causes));
  const cause: Cause = {
    kind: 'update',
    source: 'owns Part',
    object: { kind: 'Part', namespace: 'default', name: 'p', resourceVersion: '7' },
    predicate: 'generationChanged',
    at: 5,
  };
  await start();
  source.add('a', {}, cause);
  await clock.settle();
  expect(given).toEqual([[cause]]);
  expect(given[0]?.[0]).toBe(cause);
});

test('an add while a request is reconciled is a cause of its next run', async () => {
  const gate = Promise.withResolvers<void>();
  const { source, seen, start, clock } = whys(() => gate.promise);
  await start();
  source.add('a', {}, causeOf('create', 1));
  await clock.settle();
  source.add('a', {}, causeOf('update', 2));
  gate.resolve();
  await clock.settle();
  expect(seen).toEqual(['create@1', 'update@2']);
});

test('a retry and a requeue are causes too, with the number of the next attempt', async () => {
  const { source, seen, start, clock } = whys(
    reconcileResults({ a: [fail, fail, () => ({ requeue: true }), () => ({ requeueAfter: 100 })] }),
  );
  await start();
  source.add('a', {}, causeOf('create', 0));
  await clock.run(34);
  source.add('a', { after: 5 }, causeOf('update', 34));
  await clock.run(1000);
  expect(seen).toEqual([
    'create@0',
    'retry2@0',
    'retry3@5',
    'requeue4@15 update@34',
    'requeueAfter@35',
  ]);
});

// `causes[0]` was the requeueAfter of the previous run, although it was due 59 s later and an
// update had led to the run.
test('a requeueAfter that is not due comes after the causes of the run', async () => {
  const again = () => ({ requeueAfter: 60_000 });
  const { source, seen, start, clock } = whys(reconcileResults({ a: [again, again, again] }));
  await start();
  source.add('a', {}, causeOf('create', 0));
  await clock.run(1000);
  source.add('a', {}, causeOf('update', 1000));
  await clock.run(1000);
  await clock.run(60_000);
  source.add('a', { after: 60_000 }, causeOf('generic', 62_000));
  await clock.run(60_000);
  expect(seen).toEqual([
    'create@0',
    'update@1000 requeueAfter@0',
    'requeueAfter@1000',
    'requeueAfter@61000 generic@62000',
  ]);
});

test.each([true, false])(
  'of very many the first ones and the newest are kept, and the others counted (priorities: %s)',
  async (usePriorityQueue) => {
    const { source, seen, open } = await busy({ usePriorityQueue });
    for (let i = 0; i < 20; i++) source.add('a', {}, causeOf('update', i));
    await open();
    expect(seen).toEqual([
      'update@0 update@1 update@2 update@3 update@4 update@5 update@6 update@19 12 more',
    ]);
    expect(MOST_CAUSES).toBe(8);
  },
);

test('requests of one name in two namespaces have their own causes', () => {
  const causes = new Causes();
  causes.add({ namespace: 'a', name: 'b/c' }, causeOf('create'));
  causes.add({ namespace: 'a/b', name: 'c' }, causeOf('update'));
  causes.add({ namespace: '__proto__', name: 'constructor' }, causeOf('delete'));
  expect(causes.size).toBe(3);
  expect(causes.of({ namespace: 'a/b', name: 'c' }).causes).toEqual([causeOf('update')]);
  expect(causes.take({ namespace: 'a', name: 'b/c' }).causes).toEqual([causeOf('create')]);
  expect(causes.take({ namespace: 'a', name: 'b/c' })).toEqual({ causes: [], moreCauses: 0 });
  expect(causes.take({ namespace: '__proto__', name: 'constructor' }).causes).toEqual([
    causeOf('delete'),
  ]);
  expect(causes.size).toBe(1);
});

test('causes that were taken can be put back, before later ones', () => {
  const causes = new Causes();
  const request = requestOf('a');
  for (let i = 0; i < 5; i++) causes.add(request, causeOf('create', i));
  const taken = causes.take(request);
  causes.add(request, causeOf('update', 5));
  causes.putBack(request, taken);
  causes.putBack(request, { causes: [], moreCauses: 0 });
  expect(causes.of(request).causes.map(({ at }) => at)).toEqual([0, 1, 2, 3, 4, 5]);
  for (let i = 6; i < 20; i++) causes.add(request, causeOf('update', i));
  const many = causes.take(request);
  expect(many.moreCauses).toBe(12);
  causes.add(request, causeOf('delete', 20));
  causes.putBack(request, many);
  expect(causes.of(request)).toMatchObject({ moreCauses: 13 });
  expect(causes.of(request).causes.map(({ at }) => at)).toEqual([0, 1, 2, 3, 4, 5, 6, 20]);
  const all = causes.take(request);
  for (let i = 21; i < 40; i++) causes.add(request, causeOf('update', i));
  causes.putBack(request, all);
  expect(causes.take(request)).toMatchObject({ moreCauses: 40 - MOST_CAUSES });
  causes.putBack(request, { causes: [causeOf('create')], moreCauses: 0 });
  // the very object of the source, unchanged
  expect(causes.take(request).causes).toEqual([causeOf('create')]);
});

test('a cause whose request the queue refused is removed', () => {
  const causes = new Causes();
  const request = requestOf('a');
  const [one, two] = [causeOf('create'), causeOf('update')];
  causes.add(request, one);
  causes.remove(request, one);
  expect(causes.size).toBe(0);
  causes.add(request, one);
  causes.add(request, two);
  causes.remove(request, two);
  expect(causes.of(request).causes).toEqual([one]);
  causes.remove(requestOf('other'), one);
  const three = [one, two, causeOf('delete')] as const;
  for (const cause of three.slice(1)) causes.add(request, cause);
  causes.remove(request, two); // another cause was added after it
  expect(causes.of(request).causes).toEqual(three);
  causes.remove(request, three[2]);
  expect(causes.of(request).causes).toEqual([one, two]);
});

test('a request that never came has no causes, and one that comes again is counted again', () => {
  const causes = new Causes();
  const none = { causes: [], moreCauses: 0 };
  expect([causes.of(requestOf('a')), causes.take(requestOf('a')), causes.size]).toEqual([
    none,
    none,
    0,
  ]);
  for (let round = 0; round < 3; round++) {
    causes.add(requestOf('a'), causeOf('create'));
    expect(causes.size).toBe(1);
    causes.putBack(requestOf('a'), none);
    expect(causes.size).toBe(1);
    causes.take(requestOf('a'));
  }
  expect([causes.size, causes.entries]).toEqual([0, 1]);
  causes.add(requestOf('b'), causeOf('update'));
  causes.clear();
  expect([causes.size, causes.entries, causes.of(requestOf('b'))]).toEqual([0, 0, none]);
});

test('nothing is kept after a reconcile, nor after the end', async () => {
  const { source, start, clock, controller } = rig();
  await start();
  for (let i = 0; i < 50; i++) source.add(`r${i}`);
  await clock.settle();
  expect(controller.report().keys).toEqual([]);
  source.add('later', { after: 1000 });
  expect(controller.report().keys).toMatchObject([
    { name: 'later', causes: [{ kind: 'generic' }] },
  ]);
  await controller.stop();
  expect(controller.report().keys).toEqual([]);
});

test('the number of entries follows the queued requests', () => {
  const causes = new Causes();
  const request = (i: number) => ({ namespace: `team-${i % 7}`, name: `web-${i}` });
  for (let i = 0; i < 50_000; i++) {
    causes.add(request(i), causeOf('create', i));
    if (i >= 100) expect(causes.take(request(i - 100)).causes[0]?.at).toBe(i - 100);
  }
  expect(causes.size).toBe(100);
  expect(causes.entries).toBeLessThanOrEqual(2 * 100 + 4096);
  for (let i = 49_900; i < 50_000; i++)
    expect(causes.take(request(i)).causes).toEqual([causeOf('create', i)]);
  expect(causes.size).toBe(0);
  for (let i = 0; i < 10_000; i++) causes.add(request(i), causeOf('update', i));
  expect([causes.size, causes.entries >= 10_000]).toEqual([10_000, true]);
  for (let i = 0; i < 10_000; i++) causes.take(request(i));
  expect([causes.size, causes.entries <= 4096]).toEqual([0, true]);
});

test('a request map drops namespaces that became empty', () => {
  const map = new RequestMap<number>();
  const request = (i: number) => ({ namespace: `team-${i}`, name: 'web' });
  for (let i = 0; i < 1000; i++) {
    map.set(request(i), i);
    map.set(request(i), -i);
    expect(map.take(request(i))).toBe(-i);
    expect(map.take(request(i))).toBeUndefined();
  }
  expect([map.size, [...map.entries()]]).toEqual([0, []]);
  for (let i = 0; i < 1000; i++) map.set(request(i), i);
  expect(map.size).toBe(1000);
  expect([...map.entries()].map(([, value]) => value).sort((a, b) => a - b)).toEqual(
    Array.from({ length: 1000 }, (_, i) => i),
  );
  for (let i = 1; i < 1000; i++) map.take(request(i));
  expect([...map.entries()]).toEqual([[request(0), 0]]);
  expect([
    map.has(request(0)),
    map.has(request(1)),
    map.get(request(0)),
    map.get(request(1)),
  ]).toEqual([true, false, 0, undefined]);
  map.clear();
  expect([map.size, map.get(request(0))]).toEqual([0, undefined]);
  expect(requestOf('a')).toEqual({ namespace: 'default', name: 'a' });
});
