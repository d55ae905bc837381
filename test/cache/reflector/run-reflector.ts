/**
 * Runs a reflector in virtual time against a scripted server: the store, the requests, the failures
 * and the status.
 */
import {
  Indexer,
  ListWatch,
  type ListWatchOptions,
  Reflector,
  type ReflectorOptions,
  type Resource,
  type Transport,
  type WatchFailure,
} from 'capstan/cache';
import { expect } from 'vitest';
import { FakeClock } from '../../../bindings/base/clock.ts';
import { type ConfigMap, ConfigMaps } from '../../helpers/resources.ts';

export interface Reflecting {
  clock: FakeClock;
  store: Indexer<ConfigMap>;
  reflector: Reflector<ConfigMap, 'byValue'>;
  failures: (WatchFailure & { error: unknown })[];
  /** `class → next`, in order. */
  told(): string[];
  names(): string[];
  /** Stops it, and checks that no timer or listener is left. */
  stop(): Promise<void>;
}

/** Starts it, and lets it run until it waits for time. */
export async function reflect(
  server: Transport,
  options: ReflectorOptions<ConfigMap> & {
    lists?: ListWatchOptions;
    resource?: Resource<ConfigMap, 'byValue'>;
    clock?: FakeClock;
    store?: Indexer<ConfigMap>;
  } = {},
): Promise<Reflecting> {
  const {
    lists,
    resource = ConfigMaps,
    clock = new FakeClock(5000),
    store = new Indexer<ConfigMap>(),
    ...rest
  } = options;
  const failures: Reflecting['failures'] = [];
  const reflector = new Reflector(new ListWatch(server, resource, lists), store, {
    clock,
    random: () => 0,
    watchErrorHandler: (error, failure) => failures.push({ ...failure, error }),
    ...rest,
  });
  const abort = new AbortController();
  const running = reflector.run({ signal: abort.signal });
  await clock.settle();
  return {
    clock,
    store,
    reflector,
    failures,
    told: () => failures.map((failure) => `${failure.class} → ${failure.next}`),
    names: () =>
      store
        .list()
        .map(({ metadata }) => metadata.name)
        .sort(),
    async stop() {
      abort.abort();
      await running;
      expect(clock.timers(), 'timers left behind').toBe(0);
      expect(reflector.status().state).toBe('stopped');
    },
  };
}
