/**
 * Waits until a cache meets a condition, for a time, or until a signal fires, and leaves nothing
 * behind. A waiter is not woken by changes that do not meet its condition: there may be many
 * changes and many waiters.
 */

import type { Clock } from '../base/clock.ts';
import { textOfError } from '../base/error-text.ts';
import { aborted } from '../base/errors.ts';
import { abortable, deferred } from '../base/wait.ts';
import type { SharedIndexInformer } from '../cache/informer/informer.ts';

type Changing = Pick<
  SharedIndexInformer<never, string>,
  'changed' | 'hasSynced' | 'hasSyncedChecker' | 'status'
>;

interface Waiter {
  readonly informer: Changing;
  readonly come: () => boolean;
  readonly resolve: () => void;
  /** All waiters of the same change. */
  among: Set<Waiter>;
}

/**
 * The waiters of a change. They share one reaction to its promise, because a promise keeps each
 * reaction until it settles.
 */
const waiting = new WeakMap<Promise<void>, Set<Waiter>>();

function hang(waiter: Waiter): void {
  const changed = waiter.informer.changed();
  waiter.among = waiting.get(changed) ?? waitersOf(changed);
  waiter.among.add(waiter);
}

function waitersOf(changed: Promise<void>): Set<Waiter> {
  const waiters = new Set<Waiter>();
  waiting.set(changed, waiters);
  void changed.then(() => {
    for (const waiter of waiters) {
      if (hasCome(waiter)) waiter.resolve();
      else hang(waiter);
    }
  });
  return waiters;
}

/**
 * An error of the condition counts as met: that reader gets it when it reads; the other waiters
 * must not.
 */
function hasCome({ come }: Waiter): boolean {
  try {
    return come();
  } catch {
    return true;
  }
}

/**
 * @param come called after every change; it must be true at the latest when the informer has ended
 */
export async function waitForChange(
  informer: Changing,
  come: () => boolean,
  clock: Clock,
  ms: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { promise, resolve } = deferred();
  const waiter: Waiter = { informer, come, resolve, among: new Set() };
  const timer = clock.setTimer(resolve, ms);
  hang(waiter);
  try {
    await (signal === undefined ? promise : abortable(promise, signal));
  } catch {
    throw aborted(`waiting for the ${nameOf(informer)}`, signal?.reason);
  } finally {
    waiter.among.delete(waiter);
    clock.clearTimer(timer);
  }
}

/** The name, with the reason why it has not synced if that is known. */
function nameOf(informer: Changing): string {
  const { name } = informer.hasSyncedChecker();
  const failure = informer.hasSynced() ? undefined : informer.status().lastFailure;
  return failure === undefined
    ? name
    : `${name}, which last failed with "${textOfError(failure.error)}",`;
}
