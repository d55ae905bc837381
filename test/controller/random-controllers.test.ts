/**
 * Random lives of controllers: sources that add in every way, reconciles that end in every way,
 * leases that come and go, and an end at any moment. No request may be lost or reconciled twice at
 * once, each cause arrives once, and nothing is left at the end.
 */
import {
  type Cause,
  createController,
  newControllerManagedBy,
  type Result,
  TerminalError,
} from 'capstan/controller';
import { type AddOptions, FakeClock } from 'capstan/workqueue';
import { expect, test } from 'vitest';
import { TestSource } from '../helpers/controller/controller-rig.ts';
import { FakeCluster, type TestObject } from '../helpers/controller/fake-cluster.ts';
import { FakeManager } from '../helpers/controller/fake-manager.ts';
import { Part, TestWidget, testWidget } from '../helpers/controller/resources.ts';
import { Random, testSeed } from '../helpers/random.ts';
import { ignoreErrors } from '../helpers/reported-errors.ts';

ignoreErrors();

const NAMES = ['a', 'b', 'c', 'd', 'e'];

/** The observations of one life. */
interface Life {
  /** The number of adds for each name, and of causes that its runs got. */
  readonly added: Map<string, number>;
  readonly told: Map<string, number>;
  /** Causes that runs only counted (`moreCauses`), of adds or of earlier outcomes. */
  readonly untold: Map<string, number>;
  readonly overlaps: number;
  /** Runs that began without a lease. */
  readonly unheld: number;
  /** Names that were added after their last run began. */
  readonly lost: string[];
  readonly settings: string;
}

const count = (map: Map<string, number>, name: string, by = 1): void =>
  void map.set(name, (map.get(name) ?? 0) + by);

async function live(random: Random): Promise<Life> {
  const manager = new FakeManager();
  const { clock } = manager;
  const source = new TestSource();
  const added = new Map<string, number>();
  const received = new Map<string, number>();
  const untold = new Map<string, number>();
  const due = new Set<string>();
  const running = new Set<string>();
  let overlaps = 0;
  let unheld = 0;
  let isCalm = false;
  const settings = {
    skipNameValidation: true,
    usePriorityQueue: random.chance(0.7),
    maxConcurrentReconciles: 1 + random.int(3),
    debounceMs: random.pick([0, 0, 7, 40]),
    reconciliationTimeout: random.pick([0, 15]),
  };
  const answer = (): Result | undefined => {
    if (isCalm) return undefined;
    const what = random.int(8);
    if (what === 0) throw new Error('not yet');
    if (what === 1) throw new TerminalError('never');
    if (what === 2) throw new TypeError('a mistake');
    if (what === 3) return { requeue: true };
    if (what === 4) return { requeueAfter: random.int(50), priority: random.int(5) - 2 };
    return undefined;
  };
  newControllerManagedBy(manager)
    .watchesRawSource(source)
    .withOptions(settings)
    .named('random')
    .complete(async ({ name }, { causes, moreCauses }) => {
      if (running.has(name)) overlaps++;
      if (!manager.holds) unheld++;
      running.add(name);
      due.delete(name);
      count(received, name, causes.filter(({ kind }) => kind === 'generic').length);
      count(untold, name, moreCauses);
      try {
        if (random.chance(0.5))
          await new Promise<void>((resolve) => clock.setTimer(resolve, random.int(30)));
        return answer();
      } finally {
        running.delete(name);
      }
    });
  await manager.start();
  const cause: Cause = { kind: 'generic', source: 'test', at: 0 };
  for (let step = 0; step < 60; step++) {
    const name = random.pick(NAMES);
    const options: AddOptions = {
      ...(random.chance(0.3) ? { after: random.int(60) } : {}),
      ...(random.chance(0.2) ? { rateLimited: true } : {}),
      ...(random.chance(0.5) ? { priority: random.int(5) - 2 } : {}),
    };
    if (random.chance(0.7)) {
      count(added, name);
      due.add(name);
      source.add(name, options, cause);
    }
    if (random.chance(0.1)) manager.holds = !manager.holds;
    if (random.chance(0.6)) clock.step(random.int(20));
    // A random number of turns of the event loop, so that lives interleave differently.
    for (let turns = random.int(6); turns > 0; turns--) await Promise.resolve();
    if (random.chance(0.1)) await clock.settle();
  }
  isCalm = true;
  manager.holds = true;
  await clock.run(5000);
  manager.stop();
  await Promise.all(manager.ended);
  expect(manager.errors).toEqual([]);
  expect(clock.timers()).toBe(0);
  return {
    added,
    told: received,
    untold,
    overlaps,
    unheld,
    lost: [...due],
    settings: JSON.stringify(settings),
  };
}

test('no request is lost or reconciled twice at once or without a lease', async () => {
  const seed = testSeed();
  for (let i = 0; i < 200; i++) {
    const at = `CAPSTAN_SEED=${seed}, life ${i}`;
    const life = await live(new Random(seed + i));
    const what = `${at} ${life.settings}`;
    expect([life.overlaps, life.unheld, life.lost], what).toEqual([0, 0, []]);
    for (const [name, added] of life.added) {
      const [told = 0, untold = 0] = [life.told.get(name), life.untold.get(name)];
      expect(told, what).toBeLessThanOrEqual(added);
      expect(told + untold, what).toBeGreaterThanOrEqual(added);
    }
  }
});

test('a thousand controllers that end at any moment leave nothing behind', async () => {
  const seed = testSeed();
  const random = new Random(seed);
  const rejections: unknown[] = [];
  const onRejection = (error: unknown): void => void rejections.push(error);
  process.on('unhandledRejection', onRejection);
  try {
    for (let i = 0; i < 1000; i++) {
      const cluster = new FakeCluster();
      const clock = new FakeClock();
      for (const name of NAMES) cluster.put('widgets', testWidget(name));
      if (random.chance(0.1)) cluster.holdLists.set('parts', new Promise(() => undefined));
      const controller = createController<TestObject>({
        transport: cluster,
        clock,
        for: TestWidget,
        owns: [Part],
        maxConcurrentReconciles: 2,
        debounceMs: random.pick([0, 5]),
        enableWarmup: true,
        reconcile: async ({ name }, { signal }) => {
          if (name === 'a') throw new Error('not yet');
          if (name === 'b')
            await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        },
      });
      const end = new AbortController();
      const errors: unknown[] = [];
      const ends: Promise<unknown>[] = [];
      if (random.chance(0.3)) ends.push(controller.warmup({ signal: end.signal }));
      if (random.chance(0.9))
        ends.push(controller.run({ signal: end.signal }).catch((error) => errors.push(error)));
      for (let turns = random.int(120); turns > 0; turns--) await Promise.resolve();
      if (random.chance(0.5)) {
        for (let turns = random.int(8); turns > 0; turns--)
          await new Promise((resolve) => setImmediate(resolve));
        clock.step(random.int(30));
      }
      if (random.chance(0.5)) end.abort();
      await controller.stop();
      await Promise.all(ends);
      expect(
        [cluster.watches(), clock.timers(), errors],
        `CAPSTAN_SEED=${seed}, controller ${i}`,
      ).toEqual([0, 0, []]);
    }
    await new Promise((resolve) => setImmediate(resolve));
    expect(rejections, `CAPSTAN_SEED=${seed}`).toEqual([]);
  } finally {
    process.off('unhandledRejection', onRejection);
  }
}, 120_000);
