/**
 * Verdicts: why an object is not reconciled, one sentence for each possible reason; the first that
 * applies is given.
 */
import type { ControllerReport } from 'capstan/controller';
import type { ManagerReport, ObjectReport } from 'capstan/manager';
import { describe, expect, it } from 'vitest';
import { verdictsFor } from '../../bindings/manager/page/verdict.ts';
import {
  controllerOf,
  informerOf,
  reportOf,
  runOf,
  sampleCause,
  sampleKey,
} from './page-samples.ts';

const WEBSITES = 'websites.demo.capstan.dev/v1';
const request = { namespace: 'demo', name: 'shop' };
const cached: ObjectReport[] = [{ ...request, informer: WEBSITES }];

/**
 * The verdict of one controller, by default without the key and without runs, in a report whose
 * informers are healthy.
 */
function verdict(
  controller: Partial<ControllerReport> = {},
  report: Partial<ManagerReport> = {},
  found: readonly ObjectReport[] | undefined = cached,
) {
  const all = reportOf({
    controllers: [controllerOf({ keys: [], recent: [], totals: NONE, ...controller })],
    informers: [informerOf(WEBSITES), informerOf('deployments.apps/v1')],
    ...report,
  });
  const [first] = verdictsFor(request, all, found);
  if (first === undefined) throw new Error('expected a verdict');
  return first;
}
const NONE = { success: 0, requeue: 0, requeueAfter: 0, error: 0, terminal: 0, aborted: 0 };
const source = (
  more: Partial<ControllerReport['sources'][number]>,
): ControllerReport['sources'][number] => ({
  name: 'for Website',
  synced: true,
  events: { handled: 0, filtered: 0, failed: 0 },
  informer: WEBSITES,
  ...more,
});
const error = { name: 'Error', message: 'no luck', agoMs: 3000 };
const other = {
  lease: 'demo/lease',
  identity: 'me',
  holder: 'pod-b',
  holdsLease: false,
  validMs: 9000,
};

describe('an object', () => {
  it('is being reconciled, and since when', () => {
    expect(
      verdict({ keys: [sampleKey('shop', { state: 'processing', sinceMs: 3120 })] }),
    ).toMatchObject({
      state: 'active',
      text: 'It is being reconciled for 3.1 s.',
    });
  });

  it('is being reconciled after failures, with the last of them', () => {
    const key = sampleKey('shop', {
      state: 'processing',
      sinceMs: 12,
      failures: 1,
      lastError: error,
    });
    expect(verdict({ keys: [key] })).toMatchObject({
      text: 'It is being reconciled for 12 ms, after 1 failure.',
      error,
    });
  });

  it('waits as its last run asked, which is no failure although the limiter counts it', () => {
    const asked = { state: 'waiting', failures: 7, causes: [sampleCause('requeue', 10)] } as const;
    expect(verdict({ keys: [sampleKey('shop', { ...asked, waitingMs: 300 })] })).toMatchObject({
      state: 'queued',
      text: 'It waits 0.3 s more, as its last run asked.',
    });
    expect(
      verdict({ keys: [sampleKey('shop', { ...asked, waitingMs: Number.POSITIVE_INFINITY })] }),
    ).toMatchObject({
      text: 'It waits an endless time more, as its last run asked.',
    });
    expect(
      verdict({ keys: [sampleKey('shop', { state: 'processing', sinceMs: 12, failures: 7 })] }),
    ).toMatchObject({
      text: 'It is being reconciled for 12 ms.',
    });
  });

  it('waits for its delay after failures', () => {
    const key = sampleKey('shop', {
      state: 'waiting',
      waitingMs: 42_300,
      failures: 7,
      lastError: error,
    });
    expect(verdict({ keys: [key] })).toMatchObject({
      state: 'failing',
      text: 'It waits 42 s more, after 7 failures.',
      error,
      causes: key.causes,
    });
  });

  it('waits for a retry, and which event began it', () => {
    const retry = sampleCause('retry', 10);
    const event = sampleCause('create', 900);
    const key = sampleKey('shop', {
      state: 'waiting',
      waitingMs: 10,
      failures: 3,
      causes: [retry],
    });
    const recent = [
      runOf('other', { agoMs: 1, causes: [sampleCause('delete', 1)] }),
      runOf('shop', { agoMs: 10, causes: [sampleCause('retry', 30)] }),
      runOf('shop', { agoMs: 30, causes: [event] }),
      runOf('shop', { agoMs: 99, causes: [sampleCause('update', 5000)] }),
    ];
    expect(verdict({ keys: [key], recent }).causes).toEqual([event, retry]);
    expect(verdict({ keys: [{ ...key, causes: [event, retry] }], recent }).causes).toEqual([
      event,
      retry,
    ]);
  });

  it('waits as its last run asked', () => {
    const key = sampleKey('shop', {
      state: 'waiting',
      waitingMs: 288_000,
      causes: [sampleCause('requeueAfter', 12_000)],
    });
    expect(verdict({ keys: [key] })).toMatchObject({
      state: 'queued',
      text: 'It waits 4 min 48 s more, as its last run asked.',
    });
  });

  it('is ready, and waits for a worker', () => {
    const queue = { ready: 312, waiting: 0, processing: 4, hasPriorities: true };
    const keys = [sampleKey('shop', { sinceMs: 61_000, priority: -100 })];
    expect(verdict({ keys, queue })).toMatchObject({
      state: 'queued',
      text:
        'It has been ready for 1 min 1 s, and waits for a worker: all 4 workers ' +
        'are busy, 312 requests are ready. Its priority is -100.',
    });
  });

  it.each([
    [1, 1, 1, 'the only worker is busy, 1 request is ready.'],
    [3, 1, 2, '1 of 3 workers are busy, 2 requests are ready.'],
  ])('is ready beside %i workers, of which %i is busy', (workers, processing, ready, text) => {
    const queue = { ready, waiting: 0, processing, hasPriorities: false };
    expect(verdict({ keys: [sampleKey('shop')], queue, workers }).text).toContain(text);
  });

  it('was reconciled, when and why', () => {
    expect(verdict({ recent: [runOf('shop')] })).toMatchObject({
      state: 'done',
      text:
        'It was reconciled successfully 12 s ago, in 38 ms because of: update ' +
        'of Deployment shop. Nothing has asked for it since.',
    });
  });

  it('was reconciled, according to its last kept run', () => {
    const recent = [
      runOf('shop', { agoMs: 100 }),
      runOf('shop', { agoMs: 9000, outcome: 'error', error }),
    ];
    expect(verdict({ recent }).state).toBe('done');
  });

  it('has changed since without requesting a run', () => {
    const object = { kind: 'Website', ...request, resourceVersion: '41' };
    const recent = [
      runOf('shop', { causes: [sampleCause('retry', 5), sampleCause('update', 9, { object })] }),
    ];
    const seen = (resourceVersion: string, filtered = 3) =>
      verdict({ recent, sources: [source({ events: { handled: 1, filtered, failed: 0 } })] }, {}, [
        { ...request, informer: WEBSITES, resourceVersion },
      ]).notes;
    expect(seen('44')).toEqual([
      'It has changed since, from version 41 to 44: the predicates of “for Website” filtered that.',
    ]);
    expect(seen('41')).toEqual([]);
    expect(seen('44', 0)).toEqual([]); // it is on its way to the handler
  });

  it('failed with a terminal error', () => {
    expect(
      verdict({
        recent: [runOf('shop', { outcome: 'terminal', error: { ...error, agoMs: 12_000 } })],
      }),
    ).toMatchObject({
      state: 'failing',
      text:
        'It failed 12 s ago with a terminal error, and is not ' +
        'tried again until an event asks for it.',
      error: { message: 'no luck' },
    });
  });

  it('failed with a terminal error, even if its run is no longer kept and another leads', () => {
    const key = sampleKey('shop', { state: 'failed', lastError: error, causes: [] });
    expect(
      verdict({ keys: [key], state: 'waiting for leadership' }, { leader: other }),
    ).toMatchObject({
      state: 'failing',
      text:
        'It failed 3.0 s ago with a terminal error, and is not ' +
        'tried again until an event asks for it.',
      error,
    });
  });

  it('failed and is no longer in the queue', () => {
    expect(
      verdict({ recent: [runOf('shop', { outcome: 'error', attempt: 3, error })] }),
    ).toMatchObject({
      state: 'failing',
      text: 'Its last run ended 12 s ago: it failed at attempt 3. It is no longer in the queue.',
    });
  });

  it('may have changed since, if the cache is behind', () => {
    const informers = reportOf().informers.map((each) => ({
      ...each,
      state: 'waiting' as const,
      lastSignOfLife: 61_000,
    }));
    expect(verdict({ recent: [runOf('shop')] }, { informers }).notes).toEqual([
      'The cache of “owns Deployment” may be behind: last heard ' +
        'from the server 1 min 1 s ago (network).',
    ]);
  });
});

describe('an object that nothing requested', () => {
  it('is not in the cache', () => {
    expect(verdict({}, {}, [])).toMatchObject({
      state: 'idle',
      text:
        'It is not in the cache of “for Website”: it does not ' +
        'exist, or is outside of what is watched.',
    });
  });

  it('is another kind of object of that name', () => {
    expect(verdict({}, {}, [{ ...request, informer: 'deployments.apps/v1' }]).text).toContain(
      'An object of this name is cached among deployments.apps/v1.',
    );
  });

  it('is in the cache, but its events may have been filtered', () => {
    const sources = [source({ events: { handled: 0, filtered: 12, failed: 1 } })];
    expect(verdict({ sources }).text).toBe(
      'It is in the cache of “for Website”, but no event has asked for it. ' +
        'Predicates have filtered 12 events of “for Website” so far. The ' +
        'handler of “for Website” has failed for 1 event.',
    );
  });

  // It said of objects that were reconciled long ago that no event had requested them.
  it('may have been reconciled before the kept runs', () => {
    const totals = { ...NONE, success: 3999, error: 1 };
    const forgotten =
      'neither in the queue nor among the last 100 runs. It may ' +
      'have been reconciled before, among 4000 runs.';
    const sources = [source({})];
    expect(verdict({ totals, sources }).text).toBe(
      `It is in the cache of “for Website”, but ${forgotten}`,
    );
    const all = reportOf({
      controllers: [controllerOf({ keys: [], recent: [], totals, sources })],
    });
    expect(verdictsFor(request, all, undefined)[0]?.text).toBe(`It is ${forgotten}`);
    expect(verdict({ totals, sources: [source({ synced: false })] }).text).toBe(
      'It is neither in the queue nor among the last 100 runs: “for Website” has not synced.',
    );
    // No run was dropped: a report with a filter leaves out the runs of other objects.
    expect(verdict({ totals: { ...NONE, success: 100 } }).text).toContain(
      'but no event has asked for it.',
    );
  });

  it('waits for a cache that has not synced, with the reason', () => {
    const failed = informerOf(WEBSITES, {
      lastFailure: {
        class: 'auth',
        next: 'relist',
        afterMs: 800,
        agoMs: 500,
        error: new Error('403'),
      },
    });
    const sources = [source({ synced: false })];
    expect(verdict({ sources }, { informers: [failed] })).toMatchObject({
      state: 'blocked',
      text:
        'No event has asked for it: “for Website” has not ' +
        'synced (last failure 0.5 s ago: auth).',
    });
    const problem = 'Website is not served yet';
    expect(verdict({ sources: [source({ synced: false, problem })] }).text).toContain(
      '“for Website” has not synced (Website is not served yet)',
    );
  });

  it('is judged without the caches if there is no find', () => {
    const all = reportOf({ controllers: [controllerOf({ keys: [], recent: [], totals: NONE })] });
    expect(verdictsFor(request, all, undefined)[0]?.text).toBe(
      'No event has asked for it. Predicates have filtered 9204 events of “for Website” so far.',
    );
  });
});

describe('a controller that starts no reconcile says so first', () => {
  it.each([
    [
      'another leads',
      other,
      'This process does not lead: pod-b does, for 9.0 s more unless it renews.',
    ],
    [
      'the lease of another ran out',
      { ...other, validMs: -2000 },
      'This process does not lead: pod-b does, whose lease was to end 2.0 s ago.',
    ],
    [
      'nobody leads',
      { ...other, holder: undefined },
      'This process does not lead: nobody is known to hold demo/lease.',
    ],
    [
      'it was too late',
      { ...other, holder: 'me', validMs: -2000 },
      'The lease demo/lease names this process, but was not renewed in time.',
    ],
  ])('%s', (_, leader, text) => {
    const keys = [sampleKey('shop')];
    expect(verdict({ state: 'waiting for leadership', keys }, { leader })).toMatchObject({
      state: 'blocked',
      text,
      notes: ['It is in the queue, and comes when that ends.'],
    });
  });

  it('but a running reconcile is shown', () => {
    const keys = [sampleKey('shop', { state: 'processing', sinceMs: 400 })];
    expect(verdict({ state: 'waiting for leadership', keys }, { leader: other }).state).toBe(
      'active',
    );
  });

  it.each([
    [{ state: 'ended' as const }, {}, 'This controller has ended.'],
    [{ state: 'not started' as const }, { leader: undefined }, 'This controller has not started.'],
    [{}, { stopping: true }, 'This process is ending, and begins nothing new.'],
    [
      { state: 'waiting for caches' as const, sources: [source({ synced: false })] },
      {},
      'This controller waits for its caches: “for Website” has not synced.',
    ],
  ])('%j', (controller, report, text) => {
    expect(verdict(controller, report)).toMatchObject({ state: 'blocked', text });
  });
});

it('lists controllers that know the object first', () => {
  const controllers = [
    controllerOf({ name: 'a', keys: [], recent: [] }),
    controllerOf({ name: 'b' }),
    controllerOf({ name: 'c', keys: [], recent: [] }),
  ];
  expect(
    verdictsFor(request, reportOf({ controllers }), []).map((each) => each.controller),
  ).toEqual(['b', 'a', 'c']);
});
