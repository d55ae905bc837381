/** Waiting for the next change of a cache, for a time, or until a signal fires; nothing is left behind by any of the three. */
import { abortable, deferred } from '../cache/wait.ts';
import type { Clock } from '../clock.ts';

/** Who waits for a change: one reaction to its promise for all of them, as a promise keeps each that it was given until it settles. */
const waiting = new WeakMap<Promise<void>, Set<() => void>>();

function waitersOf(changed: Promise<void>): Set<() => void> {
  const known = waiting.get(changed);
  if (known !== undefined) return known;
  const waiters = new Set<() => void>();
  waiting.set(changed, waiters);
  void changed.then(() => {
    for (const resolve of waiters) resolve();
  });
  return waiters;
}

export async function waitForChange(
  informer: { changed(): Promise<void> },
  clock: Clock,
  ms: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const waiters = waitersOf(informer.changed());
  const { promise, resolve } = deferred();
  const timer = clock.setTimer(resolve, ms);
  waiters.add(resolve);
  try {
    await (signal === undefined ? promise : abortable(promise, signal));
  } finally {
    waiters.delete(resolve);
    clock.clearTimer(timer);
  }
}
