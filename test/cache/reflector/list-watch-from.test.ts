/**
 * An informer over functions: it has what they list and watch, lists again where they cannot go on,
 * and reports what they throw.
 */
import {
  defineResource,
  type ListedObjects,
  type ListWatchEvent,
  type ListWatchFunctions,
  listWatchFrom,
  SharedIndexInformer,
  StatusError,
} from 'capstan/cache';
import { FakeClock } from 'capstan/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { expectError } from '../../helpers/expect-error.ts';
import { Random, testSeed } from '../../helpers/random.ts';

interface Repository {
  metadata: { name: string; resourceVersion?: string };
  stars: number;
}

const Repository = defineResource<Repository>()({
  ...{ group: 'git.example.com', version: 'v1', namespaced: false },
  kind: 'Repository',
  plural: 'repositories',
  indexers: { byStars: (one) => [String(one.stars)] },
});
const repository = (name: string, stars: number, resourceVersion?: string): Repository => ({
  metadata: { name, ...(resourceVersion !== undefined && { resourceVersion }) },
  stars,
});

/** An informer that writes down what its handler gets, and what it reports. */
function start(functions: Omit<ListWatchFunctions<Repository>, 'clock'>, clock: FakeClock) {
  const informer = new SharedIndexInformer(listWatchFrom(Repository, { ...functions, clock }), {
    clock,
    random: () => 0.5,
  });
  const told: string[] = [];
  const failures: unknown[] = [];
  informer.setWatchErrorHandler((error) => failures.push(error));
  informer.addEventHandler({
    onAdd: ({ metadata, stars }) => told.push(`+${metadata.name} ${stars}`),
    onUpdate: (_, { metadata, stars }) => told.push(`=${metadata.name} ${stars}`),
    onDelete: (object) => told.push(`-${'key' in object ? object.key : object.metadata.name}`),
  });
  const stop = new AbortController();
  const running = informer.run({ signal: stop.signal });
  const end = async () => {
    stop.abort();
    await running;
    expect(clock.timers()).toBe(0);
  };
  onTestFinished(end);
  return { informer, told, failures, end };
}

describe('with list alone', () => {
  test('lists every pollInterval, and what differs becomes events', async () => {
    const clock = new FakeClock();
    let items = [repository('a', 1), repository('b', 2)];
    const at: number[] = [];
    const list = () => {
      at.push(clock.now());
      return { items };
    };
    const { informer, told } = start({ list, pollInterval: 60_000 }, clock);
    await clock.settle();
    expect(informer.hasSynced()).toBe(true);
    expect(told.splice(0).sort()).toEqual(['+a 1', '+b 2']);
    await clock.run(60_000);
    expect(told).toEqual([]);
    items = [repository('b', 3), repository('c', 1)];
    await clock.run(59_999);
    expect(told).toEqual([]);
    await clock.run(1);
    expect(told.splice(0)).toEqual(['-a', '=b 3', '+c 1']);
    expect(informer.getIndexer().byIndex('byStars', '3')).toMatchObject([
      { apiVersion: 'git.example.com/v1', kind: 'Repository', metadata: { name: 'b', uid: 'b' } },
    ]);
    items = [];
    await clock.run(60_000);
    expect(told.splice(0).sort()).toEqual(['-b', '-c']);
    // also over the watches that end after some minutes
    await clock.run(3_600_000);
    expect(at.length).toBe(64);
    expect(at.slice(1).map((time, i) => time - (at[i] ?? 0))).toEqual(Array(63).fill(60_000));
    expect(informer.status().relists).toBe(0);
  });

  test('a pollInterval that is longer than a watch is kept', async () => {
    const clock = new FakeClock();
    const at: number[] = [];
    start({ list: () => ({ items: [], at: at.push(clock.now()) }), pollInterval: 1e6 }, clock);
    await clock.run(3_500_000);
    expect(at).toEqual([0, 1e6, 2e6, 3e6]);
  });

  test('a list that fails is reported, with its error, and tried again', async () => {
    const clock = new FakeClock();
    let error: Error | undefined;
    const list = async (): Promise<ListedObjects<Repository>> => {
      if (error !== undefined) throw error;
      return { items: [repository('a', 1)] };
    };
    const { informer, told, failures } = start({ list, pollInterval: 60_000 }, clock);
    await clock.settle();
    error = new RangeError('the host is away');
    await clock.run(70_000);
    expect(failures[0]).toMatchObject({ code: 'STATUS', status: 500 });
    expect(String(failures[0])).toContain('the function failed: the host is away');
    expect(failures[1]).toMatchObject({
      code: 'TRANSPORT',
      message: expect.stringContaining('the function failed: the host is away'),
      cause: error,
    });
    expect(informer.getIndexer().listKeys()).toEqual(['a']);
    error = new StatusError(401, { code: 401, reason: 'Unauthorized', message: 'no' }, 'list');
    await clock.run(120_000);
    expect(failures.at(-1)).toMatchObject({ code: 'STATUS', status: 401 });
    error = undefined;
    await clock.run(600_000);
    expect(new Set(told)).toEqual(new Set(['+a 1', '=a 1'])); // a list gives all objects again
    expect(informer.status().state).toBe('watching');
  });

  const seed = testSeed();
  test(`an informer has the last list, seed ${seed}`, async () => {
    const random = new Random(seed);
    const clock = new FakeClock();
    const state = new Map<string, number>();
    const items = () => [...state].map(([name, stars]) => repository(name, stars));
    const list = async () => {
      if (random.chance(0.1)) throw new Error('now and then');
      return { items: items() };
    };
    const { informer } = start({ list, pollInterval: 1000 }, clock);
    for (let i = 0; i < 200; i++) {
      for (let k = random.int(4); k > 0; k--) {
        const name = `r${random.int(6)}`;
        if (random.chance(0.3)) state.delete(name);
        else state.set(name, random.int(5));
      }
      await clock.run(random.int(3000));
    }
    await clock.run(600_000);
    const held = informer.getIndexer().list();
    const byName = (all: Repository[]) =>
      Object.fromEntries(all.map(({ metadata, stars }) => [metadata.name, stars]));
    expect(byName(held)).toEqual(byName(items()));
  });
});

describe('with list and watch', () => {
  test('begins at the version of the list, and goes on at the last event', async () => {
    const clock = new FakeClock();
    const versions: string[] = [];
    const feeds: ((event: ListWatchEvent<Repository> | undefined) => void)[] = [];
    async function* watch({ resourceVersion }: { resourceVersion: string }) {
      versions.push(resourceVersion);
      for (;;) {
        const event = await new Promise<ListWatchEvent<Repository> | undefined>((resolve) => {
          feeds.push(resolve);
        });
        if (event === undefined) return;
        yield event;
      }
    }
    const list = () => ({ items: [repository('a', 1)], resourceVersion: '10' });
    const { told, informer } = start({ list, watch }, clock);
    const feed = async (event: ListWatchEvent<Repository> | undefined) => {
      feeds.shift()?.(event);
      await clock.settle();
    };
    await clock.settle();
    expect(told.splice(0)).toEqual(['+a 1']);
    await feed({ type: 'ADDED', object: repository('b', 1, '11') });
    await feed({ type: 'MODIFIED', object: repository('b', 2, '12') });
    await feed({ type: 'DELETED', object: repository('a', 1, '13') });
    expect(told.splice(0)).toEqual(['+b 1', '=b 2', '-a']);
    expect(informer.lastSyncResourceVersion()).toBe('13');
    await feed(undefined);
    await clock.run(5000);
    await feed({ type: 'ADDED', object: repository('c', 1, '14') });
    expect(told.splice(0)).toEqual(['+c 1']);
    feeds.length = 0; // the calls of a watch that ends by its time stay pending
    await clock.run(700_000);
    await feed({ type: 'ADDED', object: repository('d', 1, '15') });
    expect(versions.slice(0, 3)).toEqual(['10', '13', '14']);
    expect(informer.status().relists).toBe(0);
  });

  test('lists again where the watch cannot go on', async () => {
    const clock = new FakeClock();
    let lists = 0;
    const list = () => ({ items: [repository('a', ++lists)], resourceVersion: String(lists) });
    const watch = async function* () {
      yield* [] as ListWatchEvent<Repository>[];
      throw new StatusError(410, { code: 410, reason: 'Expired', message: 'too old' }, 'watch');
    };
    const { told } = start({ list, watch }, clock);
    await clock.run(10_000);
    expect(lists).toBeGreaterThan(1);
    expect(told.slice(0, 2)).toEqual(['+a 1', '=a 2']);
  });

  test('fires the signal of a watch at its end, and does not wait for one that hangs', async () => {
    const clock = new FakeClock();
    let told: AbortSignal | undefined;
    const watch = ({ signal }: { signal: AbortSignal }) => {
      told = signal;
      return { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) };
    };
    const { end } = start({ list: () => ({ items: [], resourceVersion: '1' }), watch }, clock);
    await clock.settle();
    expect(told?.aborted).toBe(false);
    await end();
    expect(told?.aborted).toBe(true);
  });
});

test.each<[unknown, unknown, string]>([
  [{ items: 3 }, undefined, 'list().items'],
  [undefined, undefined, 'list().items'],
  [{ items: [{}] }, undefined, 'metadata.name'],
  [{ items: [repository('a', 1), repository('a', 2)] }, undefined, 'different names'],
  [{ items: [] }, async function* () {}, 'list().resourceVersion'],
  [{ items: [], resourceVersion: '1' }, () => [], 'asyncIterator'],
  [
    { items: [], resourceVersion: '1' },
    async function* () {
      yield { type: 'BOOKMARK', object: repository('a', 1, '2') };
    },
    'ADDED, MODIFIED or DELETED',
  ],
  [
    { items: [], resourceVersion: '1' },
    async function* () {
      yield { type: 'ADDED', object: repository('a', 1) };
    },
    'metadata.resourceVersion',
  ],
])('a wrong list or event is a failure that names it: %j', async (listed, watch, text) => {
  const clock = new FakeClock();
  const functions = { list: () => listed, ...(watch === undefined ? {} : { watch }) } as never;
  const { failures } = start(functions, clock);
  await clock.run(30_000);
  expect(failures.map(String).join('\n')).toContain(text);
});

test('listWatchFrom refuses wrong arguments', () => {
  const list = () => ({ items: [] });
  expectError(() => listWatchFrom({} as never, { list }), 'INVALID_ARGUMENT', 'resource');
  expectError(() => listWatchFrom(Repository, {} as never), 'INVALID_ARGUMENT', 'functions.list');
  for (const wrong of [{ watch: 1 }, { pollInterval: 0 }, { pollInterval: -1 }, { clock: {} }])
    expectError(
      () => listWatchFrom(Repository, { list, ...wrong } as never),
      'INVALID_ARGUMENT',
      `functions.${Object.keys(wrong)[0]}`,
    );
  expectError(
    () => listWatchFrom(Repository, { list, poll: 1 } as never),
    'INVALID_ARGUMENT',
    'did you mean',
  );
});
