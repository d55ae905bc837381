/** Waiting until caches are filled. client-go: tools/cache/shared_informer.go WaitForCacheSync. */
import { type Clock, systemClock } from '../clock.ts';
import { requireFunction } from '../errors.ts';
import type { DoneChecker } from './processor.ts';
import { abortable, sleep } from './wait.ts';

/** Anything that can say whether it has synced. With a checker it is not polled. */
export interface Syncing {
  hasSynced(): boolean;
  hasSyncedChecker?(): DoneChecker;
}

/** client-go: shared_informer.go syncedPollPeriod. */
const POLL_MS = 100;

/**
 * Resolves with true when all have synced, with false when the signal fires first. Informers and registrations are
 * waited for; anything else is asked every 100 ms.
 *
 * @throws CapstanError INVALID_ARGUMENT for an argument without `hasSynced`
 * @example
 * if (!(await waitForCacheSync({ signal: AbortSignal.timeout(30_000) }, pods, deployments))) throw new Error('no cache');
 */
export async function waitForCacheSync(
  options: { signal?: AbortSignal; clock?: Clock },
  ...synced: Syncing[]
): Promise<boolean> {
  for (const [i, one] of synced.entries())
    requireFunction(`synced[${i}].hasSynced`, (one as Partial<Syncing>)?.hasSynced);
  const { clock = systemClock, signal = new AbortController().signal } = options ?? {};
  for (const one of synced) {
    const checker = one.hasSynced() ? undefined : one.hasSyncedChecker?.();
    if (checker !== undefined) await abortable(checker.done, signal).catch(() => undefined);
    while (!signal.aborted && !one.hasSynced()) await sleep(clock, POLL_MS, signal);
    if (signal.aborted) return synced.every((other) => other.hasSynced());
  }
  return true;
}
