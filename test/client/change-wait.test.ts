/** Waiting for a cache to change, and its cost while the cache changes often. */
import type { InformerStatus, SharedInformerFactory } from 'capstan/cache';
import { FakeClock } from 'capstan/workqueue';
import { expect, test } from 'vitest';
import { waitForChange } from '../../bindings/client/change-wait.ts';
import { ResourceCache } from '../../bindings/client/resource-cache.ts';
import { ConfigMaps, configMap } from '../helpers/resources.ts';

/** A cache that counts the reactions on the promise of its next change. */
function cache() {
  const change = Promise.withResolvers<void>();
  let reactions = 0;
  const { promise } = change;
  const plain = promise.then.bind(promise) as typeof promise.then;
  Object.defineProperty(promise, 'then', {
    value: (...given: Parameters<typeof plain>) => {
      reactions++;
      return plain(...given);
    },
  });
  const informer = {
    changed: () => promise,
    hasSynced: () => false,
    hasSyncedChecker: () => ({ name: 'informer of v1 ConfigMap', done: promise }),
    status: () => ({}) as InformerStatus,
  };
  return { informer, change: change.resolve, reactions: () => reactions };
}

// A cache that never syncs has one promise for its next change, which kept the reactions of readers
// that had given up.
test('a waiter that gives up, by time or by a signal, leaves nothing behind', async () => {
  const clock = new FakeClock();
  const { informer, reactions } = cache();
  for (let i = 0; i < 50; i++) {
    const abort = new AbortController();
    const aborted = waitForChange(informer, () => true, clock, 100, abort.signal);
    const late = waitForChange(informer, () => true, clock, 100, undefined);
    abort.abort();
    await expect(aborted).rejects.toMatchObject({ code: 'ABORTED' });
    await clock.run(100);
    await late;
  }
  expect(reactions()).toBe(1);
  expect(clock.timers()).toBe(0);
});

test('a change wakes its waiters, and none of the change before', async () => {
  const clock = new FakeClock();
  const [first, second] = [cache(), cache()];
  const received: string[] = [];
  const wait = (name: string, { informer }: ReturnType<typeof cache>) =>
    waitForChange(informer, () => true, clock, 1e6, undefined).then(() => received.push(name));
  const all = [wait('a', first), wait('b', first), wait('c', second)];
  first.change();
  await clock.settle();
  expect(received).toEqual(['a', 'b']);
  second.change();
  await Promise.all(all);
  expect(clock.timers()).toBe(0);
});

test('the error of a failing cache goes to its caller', async () => {
  const clock = new FakeClock();
  const { informer, change } = cache();
  const failing = (): boolean => {
    throw new Error('no cache');
  };
  const all = [failing, () => true].map((come) =>
    waitForChange(informer, come, clock, 1e6, undefined),
  );
  change();
  await Promise.all(all);
  expect(clock.timers()).toBe(0);
});

/**
 * A cache with many unseen own writes, which it receives one after the other; it counts its calls
 * and the timers.
 */
async function behind(writes: number) {
  const asked = { objects: 0, progress: 0, status: 0, timers: 0 };
  const clock = new FakeClock();
  const setTimer = clock.setTimer.bind(clock);
  clock.setTimer = (...given) => {
    asked.timers++;
    return setTimer(...given);
  };
  const objects = new Map<string, object>();
  let [progress, change] = ['1', Promise.withResolvers<void>()];
  const indexer = {
    getByKey: (key: string) => {
      asked.objects++;
      return objects.get(key);
    },
    lastStoreSyncResourceVersion: () => {
      asked.progress++;
      return progress;
    },
  };
  const informer = {
    hasStarted: () => true,
    hasSynced: () => true,
    isStopped: () => false,
    getIndexer: () => indexer,
    selection: () => ({ namespace: '', labelSelector: '', fieldSelector: '' }),
    changed: () => change.promise,
    status: () => {
      asked.status++;
      return { state: 'watching' };
    },
  };
  const factory = {
    nameOf: () => 'configmaps',
    has: () => true,
    informerFor: () => informer,
  } as unknown as SharedInformerFactory;
  const own = new ResourceCache(
    ConfigMaps,
    {},
    { factory, clock, syncTimeout: 1e6, failOnMissingInformer: false, readYourWritesTimeout: 1e6 },
  );
  await own.open(ConfigMaps, undefined);
  const made = Array.from({ length: writes }, (_, i) =>
    configMap(`c${i}`, {}, { uid: `u${i}`, resourceVersion: String(i + 2) }),
  );
  for (const each of made) own.wrote(each);
  const show = (i: number): void => {
    objects.set(`default/c${i}`, made[i] ?? {});
    progress = String(i + 2);
    change.resolve();
    change = Promise.withResolvers<void>();
  };
  return { own, clock, asked, show };
}

const never = async () => expect.unreachable('every version is known');

// Every reader checked all missing writes at every event, each time with a new timer: 40 lists
// after 4000 writes held the event loop for seconds.
test('a list that waits for many writes checks one at a time', async () => {
  const [writes, readers] = [400, 10];
  const { own, clock, asked, show } = await behind(writes);
  let done = 0;
  const lists = Array.from({ length: readers }, () =>
    own.catchUp({ namespace: 'default', patient: false }, never, undefined).then((missing) => {
      expect(missing).toEqual([]);
      done++;
    }),
  );
  for (let i = 0; i < writes; i++) {
    expect(done).toBe(0);
    show(i);
    await new Promise(setImmediate);
  }
  await Promise.all(lists);
  expect(own.writes.isEmpty()).toBe(true);
  expect(clock.timers()).toBe(0);
  // Once at the start, once at the end, and one of them at each event.
  expect(asked.objects).toBeLessThan(4 * writes * readers);
  expect(asked.progress).toBeLessThan(4 * writes * readers);
  expect(asked.timers).toBeLessThan(4 * readers);
  expect(asked.status).toBeLessThan(4 * readers);
});

test('a list ends when another reader has waited in vain for one of its writes', async () => {
  const { own, clock } = await behind(3);
  const list = own.catchUp({ namespace: 'default', patient: false }, never, undefined);
  const get = own.writes.missing({ object: () => undefined, progress: () => '1' }, 'default/c0');
  for (const write of get.now) write.late = true;
  await clock.run(200);
  expect(await list).toHaveLength(3);
});
