/**
 * Waiting until a cache has come to something, for a time, or until a signal fires; nothing is left
 * behind by any of the three. Who waits is not woken by changes that do not bring it, as they may
 * be many, and those who wait as well.
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
  /** All who wait for the same change. */
  among: Set<Waiter>;
}

/**
 * Who waits for a change: one reaction to its promise for all of them, as a promise keeps each that
 * it was given until it settles.
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
 * A cache that fails when it is asked is left to the reader, who asks again: the others here must
 * not pay for it.
 */
function hasCome({ come }: Waiter): boolean {
  try {
    return come();
  } catch {
    return true;
  }
}

/** @param come asked after every change; true at the latest when the informer has ended */
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

/** With why it has not synced, as far as that is known. */
function nameOf(informer: Changing): string {
  const { name } = informer.hasSyncedChecker();
  const failure = informer.hasSynced() ? undefined : informer.status().lastFailure;
  return failure === undefined
    ? name
    : `${name}, which last failed with "${textOfError(failure.error)}",`;
}
