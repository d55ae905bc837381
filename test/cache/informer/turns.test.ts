/**
 * Work of an informer that takes many turns of the event loop: a list, a relist, a resync, a late
 * handler, an index. The clock of most tests moves whenever it is read, so that each step ends its
 * turn.
 */
import {
  type ResourceEventHandler,
  type SharedIndexInformer,
  type SharedIndexInformerOptions,
  waitForCacheSync,
} from 'capstan/cache';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Clock, FakeClock, macrotask } from '../../../bindings/base/clock.ts';
import { CapstanError } from '../../../bindings/base/errors.ts';
import { Indexer } from '../../../bindings/cache/store/store.ts';
import { answer, statusBody } from '../../helpers/cache/live-server.ts';
import { nameOrTombstone, setUp, teller } from '../../helpers/cache/recording-handlers.ts';
import { Random, testSeed } from '../../helpers/random.ts';
import { collectErrors } from '../../helpers/reported-errors.ts';
import type { ConfigMap } from '../../helpers/resources.ts';

const errors = collectErrors();
const texts = (): string[] => errors.map(({ error }) => String(error));

/** More changes than are made in one step (store/replacement.ts). */
const MANY = 1200;
const name = (i: number): string => `n${String(i).padStart(4, '0')}`;

/** Each reading of the clock takes 5 ms, longer than a time slice. */
class TickingClock extends FakeClock implements Clock {
  #looks = 0;
  isTicking = true;

  override now(): number {
    if (this.isTicking) this.#looks++;
    return super.now() + 5 * this.#looks;
  }
}

async function follow(
  count: number,
  options: SharedIndexInformerOptions<ConfigMap> = {},
  handler?: ResourceEventHandler<ConfigMap>,
) {
  const clock = new TickingClock();
  const { server, informer } = setUp({ ...options, clock });
  for (let i = 0; i < count; i++) server.put(name(i), { data: { v: '0' } });
  // This server repeats no event: a watch from an older version has to list again.
  server.intercept = ({ query }) => {
    if (query?.watch !== 'true') return undefined;
    const list = JSON.parse(server.listBody()) as { metadata: { resourceVersion: string } };
    return query.resourceVersion === list.metadata.resourceVersion
      ? undefined
      : answer(410, statusBody(410, 'Expired'));
  };
  const told: string[] = [];
  informer.addEventHandler(handler ?? teller(told));
  const running = informer.run();
  onTestFinished(async () => {
    await informer.stop();
    await running;
  });
  /** Whether the cache has a part of the list at the end of some turn. */
  let sawPart = false;
  const until = async (ready: () => boolean): Promise<void> => {
    while (!ready()) {
      await macrotask();
      clock.step(5);
      const size = informer.getIndexer().size();
      if (size > 0 && size < count) sawPart = true;
    }
  };
  const expire = (): void => {
    const status = JSON.parse(statusBody(410, 'Expired')) as object;
    server.send(`${JSON.stringify({ type: 'ERROR', object: status })}\n`);
  };
  return { clock, server, informer, told, running, until, expire, sawPart: () => sawPart };
}

const turn = macrotask;
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await turn();
}

describe.each(['bytes', 'objects'] as const)('with %s', (keep) => {
  const options = keep === 'objects' ? { keep } : {};

  test('the first list is stored in steps, and handlers get it once it is complete', async () => {
    let least = Number.POSITIVE_INFINITY;
    const told: string[] = [];
    const { informer, until, sawPart } = await follow(MANY, options, {
      onAdd: ({ metadata }, isInInitialList) => {
        least = Math.min(least, informer.getIndexer().size());
        told.push(`${isInInitialList ? '+' : ''}${metadata.name}`);
      },
    });
    await until(() => informer.hasSynced());
    expect(sawPart()).toBe(true);
    await until(() => told.length === MANY);
    expect(least).toBe(MANY);
    expect(told).toEqual(Array.from({ length: MANY }, (_, i) => `+${name(i)}`));
  });

  test('hasSynced is false until all handlers have the list in their backlogs', async () => {
    const { informer, until, told } = await follow(300, options);
    await until(() => told.length >= 100);
    expect(informer.hasSynced()).toBe(false);
    await until(() => informer.hasSynced());
    const late = informer.status().handlers.reduce((sum, { pending }) => sum + pending, 0);
    expect(told.length + late).toBeGreaterThanOrEqual(300);
  });

  test('a list of few changes is one change for readers', async () => {
    const { informer, until, server, expire, told, clock } = await follow(40, options);
    await until(() => informer.hasSynced() && told.length === 40);
    await until(() => server.watches.size > 0);
    const [watch] = server.watches;
    server.watches.clear(); // no watch has these
    for (let i = 0; i < 20; i++) server.put(name(i), { data: { v: '1' } });
    for (let i = 20; i < 40; i++) server.remove(name(i));
    for (let i = 40; i < 60; i++) server.put(name(i), { data: { v: '1' } });
    server.watches.add(watch as NonNullable<typeof watch>);
    expire();
    const seen = new Set<string>();
    const look = (): string => {
      const all = informer.getIndexer().list();
      const content = `${all.length} ${all.filter(({ data }) => data?.v === '1').length}`;
      seen.add(content);
      return content;
    };
    await until(() => look() === '40 40');
    expect([...seen]).toEqual(['40 0', '40 40']);
    clock.isTicking = false;
    await until(() => told.length === 40 + 20 + 20 + 20);
    expect(told.slice(40, 60)).toEqual(
      Array.from({ length: 20 }, (_, i) => `-(default/${name(20 + i)})`),
    );
  });

  test('stopped between two steps it ends, and calls no handler again', async () => {
    const { informer, running, told, until } = await follow(MANY, options);
    await until(() => informer.getIndexer().size() > 100);
    const stopped = informer.stop();
    const size = informer.getIndexer().size();
    expect(size).toBeLessThan(MANY);
    await stopped;
    await running;
    await turns(20);
    expect(told).toEqual([]);
    // what came is there
    expect(informer.getIndexer().size()).toBe(size);
    expect(informer.getIndexer().byIndex('namespace', 'default')).toHaveLength(size);
    expect(informer.getIndexer().getByKey(`default/${name(0)}`)?.metadata.name).toBe(name(0));
    expect(texts()).toEqual([]);
  });

  test('stopped while handlers get a relist it keeps the list', async () => {
    const { informer, told, until, server, expire } = await follow(MANY, options);
    await until(() => told.length === MANY && server.watches.size > 0);
    const before = informer.getIndexer().getByKey(`default/${name(MANY - 1)}`);
    const [watch] = server.watches;
    server.watches.clear();
    for (let i = 0; i < MANY; i++) server.put(name(i), { data: { v: '1' } });
    server.watches.add(watch as NonNullable<typeof watch>);
    expire();
    await until(() => told.length > MANY + 100);
    await informer.stop();
    const { length } = told;
    await turns(20);
    expect(told).toHaveLength(length);
    expect(
      informer
        .getIndexer()
        .list()
        .every(({ data }) => data?.v === '1'),
    ).toBe(true);
    expect(before?.data?.v).toBe('0'); // who holds an object has it
  });

  test('a handler that throws misses no other call', async () => {
    let calls = 0;
    const { until } = await follow(300, options, {
      onAdd: ({ metadata }) => {
        calls++;
        if (metadata.name === name(150)) throw new Error('boom');
      },
    });
    await until(() => calls === 300);
    expect(texts()).toEqual([expect.stringContaining('boom')]);
  });

  test('an index that is added while a list runs is complete', async () => {
    const { informer, until, told } = await follow(MANY, options);
    await until(() => informer.getIndexer().size() > 100);
    const byV = (object: ConfigMap): string[] => [object.data?.v ?? ''];
    informer.addIndexers({ sync: byV, path: 'metadata.name' });
    const added = informer.addIndexersAsync({ later: byV, laterPath: 'metadata.namespace' });
    await until(() => told.length === MANY);
    await added;
    const indexer = informer.getIndexer() as unknown as Indexer<ConfigMap, string>;
    expect(indexer.indexKeys('sync', '0')).toHaveLength(MANY);
    expect(indexer.indexKeys('later', '0')).toHaveLength(MANY);
    expect(indexer.indexKeys('laterPath', 'default')).toHaveLength(MANY);
    for (const i of [0, 150, MANY - 1])
      expect(indexer.indexKeys('path', name(i))).toEqual([`default/${name(i)}`]);
  });

  test('a late handler gets each object once, and then later changes', async () => {
    const { informer, until, told, server } = await follow(300, options);
    await until(() => told.length === 300 && server.watches.size > 0);
    const late: string[] = [];
    const registration = informer.addEventHandler(teller(late));
    expect(registration.hasSynced()).toBe(false);
    await until(() => late.length > 20);
    server.put(name(299), { data: { v: '1' } });
    server.remove(name(298));
    server.put('new');
    await until(() => late.length === 303);
    expect(late.slice(0, 300).toSorted()).toEqual(
      Array.from({ length: 300 }, (_, i) => `+${name(i)}`),
    );
    expect(late.slice(300)).toEqual([`~${name(299)}`, `-${name(298)}`, 'new']);
    expect(registration.hasSynced()).toBe(true);
    await until(() => told.length === 303);
  });

  test('a late handler that is removed between two steps gets nothing more', async () => {
    const { informer, until, told, server } = await follow(300, options);
    await until(() => told.length === 300 && server.watches.size > 0);
    const late: string[] = [];
    const registration = informer.addEventHandler(teller(late));
    const other: string[] = [];
    informer.addEventHandler(teller(other)); // waits for the first
    await until(() => late.length > 20);
    informer.removeEventHandler(registration);
    const { length } = late;
    await until(() => other.length === 300);
    server.put('new');
    await until(() => other.length === 301);
    expect(late).toHaveLength(length);
  });
});

test('a store that fails between two steps leads to a relist', async () => {
  let failed = 0;
  const real = Indexer.prototype.replaceInSteps;
  vi.spyOn(Indexer.prototype, 'replaceInSteps').mockImplementationOnce(function* (
    this: Indexer<object>,
    ...given
  ) {
    const steps = real.apply(this, given);
    for (let i = 0; i < 50; i++) {
      steps.next();
      yield;
    }
    failed++;
    steps.return(undefined as never);
    throw new CapstanError('OUT_OF_MEMORY', 'no room');
  } as typeof real);
  onTestFinished(() => void vi.restoreAllMocks());
  const { informer, until, told, clock } = await follow(100);
  await until(() => failed === 1);
  expect(informer.hasSynced()).toBe(false);
  await turns(20);
  expect([texts().length, told]).toEqual([1, []]);
  await clock.run(2000);
  await until(() => informer.hasSynced() && told.length === 100);
});

test('after a trap between two steps nothing is repeated', async () => {
  const real = Indexer.prototype.replaceInSteps;
  vi.spyOn(Indexer.prototype, 'replaceInSteps').mockImplementationOnce(function* (
    this: Indexer<object>,
    ...given
  ) {
    const steps = real.apply(this, given);
    for (let i = 0; i < 50; i++) {
      steps.next();
      yield;
    }
    throw new CapstanError('POISONED', 'the core has trapped');
  } as typeof real);
  onTestFinished(() => void vi.restoreAllMocks());
  const { informer, told, clock, server } = await follow(100);
  while (texts().length === 0) await turn();
  await turns(20);
  await clock.run(60_000);
  expect(texts()).toEqual([expect.stringContaining('the core has trapped')]);
  expect([informer.hasSynced(), told]).toEqual([false, []]);
  expect(server.requests.filter(({ query }) => query?.watch !== 'true')).toHaveLength(1);
});

test('an informer with few objects takes no turn of its own', async () => {
  const { informer, server } = setUp();
  for (let i = 0; i < 50; i++) server.put(name(i));
  const told: string[] = [];
  informer.addEventHandler(teller(told));
  let hasTurned = false;
  server.intercept = (request) => {
    // from here on nothing but microtasks is needed
    if (request.query?.watch !== 'true')
      setImmediate(() =>
        setImmediate(() => {
          hasTurned = true;
        }),
      );
    return undefined;
  };
  const running = informer.run();
  await waitForCacheSync({}, informer);
  const inTime = !hasTurned;
  const late: string[] = [];
  const registration = informer.addEventHandler(teller(late));
  expect(registration.pending()).toBe(50); // all at once
  expect(inTime && !hasTurned).toBe(true);
  await informer.stop();
  await running;
});

/** What a handler knows from its calls. */
class Witness {
  readonly known = new Map<string, string>();
  readonly handler: ResourceEventHandler<ConfigMap>;

  constructor(id: string) {
    const versionOf = (object: ConfigMap): string => object.metadata.resourceVersion as string;
    this.handler = {
      onAdd: (object) => {
        const key = object.metadata.name;
        if (this.known.has(key)) throw new Error(`${id}: ${key} was added twice`);
        this.known.set(key, versionOf(object));
      },
      onUpdate: (old, object) => {
        const key = object.metadata.name;
        if (this.known.get(key) !== versionOf(old))
          throw new Error(
            `${id}: ${key} at ${this.known.get(key)} was updated from ${versionOf(old)}`,
          );
        this.known.set(key, versionOf(object));
      },
      onDelete: (object) => {
        const key = nameOrTombstone(object).replace(/^\(default\/(.*)\)$/, '$1');
        if (!this.known.delete(key)) throw new Error(`${id}: ${key} was deleted, but not known`);
      },
    };
  }
}

test('handlers, indices and lists that come at any time agree with the server', async () => {
  const seed = testSeed();
  console.log(`CAPSTAN_SEED=${seed}`);
  const random = new Random(seed);
  for (let round = 0; round < 12; round++) {
    const witnesses = new Map<
      Witness,
      ReturnType<SharedIndexInformer<ConfigMap>['addEventHandler']>
    >();
    const first = new Witness('first');
    const { clock, server, informer, until, expire } = await follow(
      20 + random.int(60),
      { keep: random.pick(['bytes', 'objects'] as const), resyncPeriod: random.pick([0, 400]) },
      first.handler,
    );
    let made = 0;
    let indices = 0;
    const change = (): void => {
      const names = server.names();
      if (names.length < 10 || random.chance(0.3))
        server.put(`made${made++}`, { data: { v: '0' } });
      else if (random.chance(0.4)) server.remove(random.pick(names));
      else server.put(random.pick(names), { data: { v: String(random.int(3)) } });
    };
    const adding: Promise<void>[] = [];
    const byV = (object: ConfigMap): string[] => [object.data?.v ?? ''];
    const works: (() => void | Promise<void>)[] = [
      change,
      change,
      () => {
        const watches = [...server.watches];
        server.watches.clear();
        for (let i = random.int(20); i >= 0; i--) change();
        for (const watch of watches) server.watches.add(watch);
        expire();
      },
      () => {
        const witness = new Witness(`late ${witnesses.size}`);
        witnesses.set(witness, informer.addEventHandler(witness.handler));
      },
      () => {
        const [witness] = witnesses.keys();
        if (witness === undefined) return;
        informer.removeEventHandler(witnesses.get(witness) as never);
        witnesses.delete(witness);
      },
      () => informer.addIndexers({ [`i${indices++}`]: random.pick([byV, 'data.v']) }),
      () => {
        adding.push(informer.addIndexersAsync({ [`i${indices++}`]: random.pick([byV, 'data.v']) }));
      },
      () => clock.run(random.int(500)),
      () => turns(random.int(40)),
      () => turns(random.int(200)),
    ];
    for (let i = 0; i < 80; i++) await random.pick(works)();
    clock.isTicking = false;
    await clock.run(5000);
    await Promise.all(adding);
    const last = server.put('last', { data: { v: '0' } });
    await until(
      () => informer.getIndexer().lastStoreSyncResourceVersion() === last.metadata.resourceVersion,
    );
    await clock.run(1000);
    const label = `seed ${seed}, round ${round}`;
    expect(texts(), label).toEqual([]);
    const indexer = informer.getIndexer() as unknown as Indexer<ConfigMap, string>;
    const all = await indexer.listAsync();
    const content = new Map(all.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
    expect([...content.keys()].sort(), label).toEqual(server.names().sort());
    for (const witness of [first, ...witnesses.keys()])
      expect(new Map([...witness.known].sort()), label).toEqual(new Map([...content].sort()));
    for (let i = 0; i < indices; i++)
      for (const v of ['0', '1', '2'])
        expect(indexer.indexKeys(`i${i}`, v), `${label}, index i${i}`).toEqual(
          all
            .filter(({ data }) => data?.v === v)
            .map(({ metadata }) => `default/${metadata.name}`)
            .sort(),
        );
    await informer.stop();
  }
});

test('work whose end throws is reported, and the informer ends', async () => {
  const fail = (): never => {
    throw new Error('boom');
  };
  const real = Indexer.prototype.replaceInSteps;
  vi.spyOn(Indexer.prototype, 'replaceInSteps').mockImplementationOnce(function* (
    this: Indexer<object>,
    ...given
  ) {
    try {
      return yield* real.apply(this, given);
    } finally {
      fail();
    }
  } as typeof real);
  onTestFinished(() => void vi.restoreAllMocks());
  const { informer, running } = await follow(100);
  await turns(50);
  await informer.stop();
  await running;
  expect(texts()).toEqual([expect.stringContaining('boom')]);
});
