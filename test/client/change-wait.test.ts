/** Waiting for a cache to change. */
import { FakeClock } from 'capstan/workqueue';
import { expect, test } from 'vitest';
import { waitForChange } from '../../bindings/client/change-wait.ts';

/** A cache that counts what is hung on the promise of its next change. */
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
  return { changed: () => promise, change: change.resolve, reactions: () => reactions };
}

// A cache that never syncs has one promise for its next change, which kept what each reader hung on it, though the reader had long gone.
test('whoever gave up has left nothing behind, be it by time or by a signal', async () => {
  const clock = new FakeClock();
  const { changed, reactions } = cache();
  for (let i = 0; i < 50; i++) {
    const abort = new AbortController();
    const aborted = waitForChange({ changed }, clock, 100, abort.signal);
    const late = waitForChange({ changed }, clock, 100, undefined);
    abort.abort();
    await expect(aborted).rejects.toMatchObject({ code: 'ABORTED' });
    await clock.run(100);
    await late;
  }
  expect(reactions()).toBe(1);
  expect(clock.timers()).toBe(0);
});

test('a change is told to all who wait, and to nobody of the change before', async () => {
  const clock = new FakeClock();
  const [first, second] = [cache(), cache()];
  const told: string[] = [];
  const wait = (name: string, { changed }: ReturnType<typeof cache>) =>
    waitForChange({ changed }, clock, 1e6, undefined).then(() => told.push(name));
  const all = [wait('a', first), wait('b', first), wait('c', second)];
  first.change();
  await clock.settle();
  expect(told).toEqual(['a', 'b']);
  second.change();
  await Promise.all(all);
  expect(clock.timers()).toBe(0);
});
