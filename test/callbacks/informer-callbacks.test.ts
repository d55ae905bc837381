/**
 * Calls each user function of an informer with each misbehaviour: the cache follows the server,
 * another handler gets all notifications, the informer stops when told to, and no rejection is
 * unhandled.
 */
import {
  FilteringResourceEventHandler,
  type InformerMetricsProvider,
  ListWatch,
  type ResourceEventHandler,
  SharedIndexInformer,
  type SharedIndexInformerOptions,
} from 'capstan/cache';
import { FakeClock } from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { LiveServer } from '../helpers/cache/live-server.ts';
import { teller } from '../helpers/cache/recording-handlers.ts';
import { collectErrors } from '../helpers/reported-errors.ts';
import { type ConfigMap, ConfigMaps } from '../helpers/resources.ts';
import { type Caller, MISBEHAVIOURS, type Misbehaviour, misbehaving } from './misbehaviours.ts';

const reported = collectErrors();

type Bad = <F extends (...args: never[]) => unknown>(good: F) => F;

interface Plan {
  options?: SharedIndexInformerOptions<ConfigMap>;
  handler?: ResourceEventHandler<ConfigMap>;
  highWater?: (depth: number) => void;
  tweak?: (query: Record<string, string>) => void;
}

interface Row {
  /** The names of user-functions.ts. */
  readonly name: string;
  plan(bad: Bad): Plan;
  /** Misbehaviours during which the informer has no objects. */
  readonly never?: readonly Misbehaviour[];
}

const nothing = (): void => undefined;
const metrics = (more: object): Plan => ({
  options: {
    name: 'mine',
    metricsProvider: {
      newQueuedItemMetric: () => ({ set: nothing }),
      newProcessingLatencyMetric: () => ({ observe: nothing }),
      newStoreResourceVersionMetric: () => ({ set: nothing }),
      ...more,
    } as InformerMetricsProvider,
  },
});

const ROWS: readonly Row[] = [
  ...(['onAdd', 'onUpdate', 'onDelete'] as const).map((method) => ({
    name: `ResourceEventHandler.${method}`,
    plan: (bad: Bad): Plan => ({ handler: { [method]: bad(nothing) } }),
  })),
  {
    name: 'FilteringResourceEventHandler(options).filterFunc',
    plan: (bad) => ({
      handler: new FilteringResourceEventHandler<ConfigMap>({
        filterFunc: bad(() => true),
        handler: {},
      }),
    }),
  },
  { name: 'HighWater.onHighWater', plan: (bad) => ({ highWater: bad(nothing) }) },
  {
    name: 'SharedIndexInformerOptions.transform',
    plan: (bad) => ({ options: { transform: bad((object: ConfigMap) => object) } }),
  },
  {
    name: 'BytesMark.call',
    plan: (bad) => ({
      options: { maxBytes: 1_000_000, onBytes: { at: 0.0001, call: bad(nothing) } },
    }),
  },
  {
    name: 'ListWatchOptions.tweak',
    plan: (bad) => ({ tweak: bad(nothing) }),
    never: [
      'throws always',
      'answers with a promise that is rejected',
      'answers with a promise that never settles',
    ],
  },
  {
    name: 'ReflectorOptions.watchErrorHandler',
    plan: (bad) => ({ options: { watchErrorHandler: bad(nothing) } }),
  },
  { name: 'ReflectorOptions.random', plan: (bad) => ({ options: { random: bad(() => 0.5) } }) },
  {
    name: 'InformerMetricsProvider.newQueuedItemMetric().set',
    plan: (bad) => metrics({ newQueuedItemMetric: () => ({ set: bad(nothing) }) }),
  },
  {
    name: 'InformerMetricsProvider.newProcessingLatencyMetric().observe',
    plan: (bad) => metrics({ newProcessingLatencyMetric: () => ({ observe: bad(nothing) }) }),
  },
  {
    name: 'InformerMetricsProvider.newStoreResourceVersionMetric().set',
    plan: (bad) => metrics({ newStoreResourceVersionMetric: () => ({ set: bad(nothing) }) }),
  },
  {
    name: 'InformerMetricsProvider.addReadings',
    plan: (bad) => metrics({ addReadings: bad(() => nothing) }),
  },
];

describe.each(ROWS.map((row) => [row.name, row] as const))('%s', (_, row) => {
  test.each(MISBEHAVIOURS)('that %s affects nothing else', async (way) => {
    const clock = new FakeClock();
    const server = new LiveServer();
    const calls: { called: number }[] = [];
    const world: Caller = {
      callBack: () => {
        informer.status();
        informer.lister().list();
        informer.removeEventHandler(informer.addEventHandler({}));
      },
      end: () => void informer.stop(),
    };
    const bad: Bad = (good) => {
      const failing = misbehaving(good, way, world);
      calls.push(failing);
      return failing;
    };
    const { options, handler, highWater, tweak } = row.plan(bad);
    const listWatch = new ListWatch(server, ConfigMaps, tweak && { tweak });
    const informer = new SharedIndexInformer(listWatch, { clock, random: () => 0, ...options });
    informer.addEventHandler(handler ?? {}, {
      ...(highWater && { highWater: { at: 1, onHighWater: highWater } }),
    });
    const received: string[] = [];
    informer.addEventHandler(teller(received));
    server.put('a', { data: { v: 'x'.repeat(200) } });
    server.put('gone');
    const run = informer.run();
    await clock.settle();
    // causes a failure, for the functions that are called on failures
    server.closeWatches(new Error('cut'));
    await clock.run(40_000);
    server.put('b');
    server.put('a');
    server.remove('gone');
    await clock.run(40_000);
    if (way === 'ends what it runs in') {
      expect(informer.isStopped()).toBe(calls.some(({ called }) => called > 0));
    } else if (row.never?.includes(way)) {
      expect(received).toEqual([]);
      expect(reported.length).toBeGreaterThan(0);
    } else {
      expect(received.slice(0, 2)).toEqual(['+a', '+gone']);
      expect(received.slice(-3)).toEqual(['b', '~a', '-gone']);
      expect(informer.getIndexer().listKeys().sort()).toEqual(['default/a', 'default/b']);
      expect(informer.status().state).toBe('watching');
    }
    const stopped = informer.stop();
    for (let i = 0; i < 50; i++) await clock.run(1_000);
    await Promise.all([stopped, run]);
    expect(clock.timers()).toBe(0);
    reported.length = 0;
  });
});
