/**
 * Waiting until caches are filled, and saying which were not. client-go:
 * tools/cache/shared_informer.go WaitForCacheSync, WaitFor.
 */
import { type Clock, systemClock } from '../../base/clock.ts';
import { textOfError } from '../../base/error-text.ts';
import { CapstanError, hasCode, requireFunction } from '../../base/errors.ts';
import { handleError } from '../../base/handle-error.ts';
import { namesOf, requireNames, requireSignalOptions } from '../../base/names.ts';
import type { DoneChecker } from '../../base/wait.ts';
import { abortable, sleep } from '../../base/wait.ts';

/** Anything that can say whether it has synced. With a checker it is not polled. */
export interface Syncing {
  hasSynced(): boolean;
  hasSyncedChecker?(): DoneChecker;
  /** Says what failed last, for reports. */
  status?(): { lastFailure?: { error: unknown } | undefined };
}

const NAMES = namesOf<{ signal: AbortSignal; clock: Clock }>()({ signal: 1, clock: 1 });

/** client-go: shared_informer.go syncedPollPeriod. */
const POLL_MS = 100;

/**
 * Resolves with true when all have synced, with false when the signal fires first. Informers and
 * registrations are waited for; anything else is asked every 100 ms.
 *
 * @throws CapstanError INVALID_ARGUMENT for an argument without `hasSynced`
 * @example
 * if (!(await waitForCacheSync({ signal: AbortSignal.timeout(30_000) }, pods, deployments))) throw new Error('no cache');
 */
export async function waitForCacheSync(
  options: { signal?: AbortSignal | undefined; clock?: Clock | undefined },
  ...synced: Syncing[]
): Promise<boolean> {
  requireNames('options', options ?? {}, 'option of waitForCacheSync()', NAMES);
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

/**
 * As {@link waitForCacheSync}, and reports through handleError, under the name of who waits, what
 * had not synced when the signal fired (code CACHE_SYNC_TIMEOUT).
 *
 * @example
 * if (!(await waitForNamedCacheSync('website-controller', { signal }, pods, deployments))) throw new Error('no cache');
 */
export async function waitForNamedCacheSync(
  name: string,
  options: { signal?: AbortSignal | undefined; clock?: Clock | undefined },
  ...synced: Syncing[]
): Promise<boolean> {
  if (await waitForCacheSync(options, ...synced)) return true;
  const missing = synced.flatMap((one, i) =>
    one.hasSynced()
      ? []
      : [
          withFailure(
            one.hasSyncedChecker?.().name ?? `cache ${i}`,
            one.status?.().lastFailure?.error,
          ),
        ],
  );
  report(name, missing, options.signal?.reason);
  return false;
}

/**
 * Waits for anything that has a checker: informers, registrations, or a promise with a name.
 * Resolves with true when all are done, with false when the signal fires first; then, where `what`
 * is not empty, it reports through handleError what was not done (code CACHE_SYNC_TIMEOUT). Nothing
 * is polled.
 *
 * @param what is waited for, for the report
 * @example
 * const registration = pods.addEventHandler({ onAdd: (pod) => use(pod) });
 * await waitFor({ signal }, 'the handler of pods', registration.hasSyncedChecker());
 */
export async function waitFor(
  options: { signal?: AbortSignal | undefined },
  what: string,
  ...checkers: DoneChecker[]
): Promise<boolean> {
  requireSignalOptions(options ?? {}, 'waitFor()');
  for (const [i, checker] of checkers.entries())
    requireFunction(
      `checkers[${i}].done.then`,
      (checker as Partial<DoneChecker> | undefined)?.done?.then,
    );
  const { signal = new AbortController().signal } = options ?? {};
  const unfinished = new Set(checkers);
  const each = checkers.map(async (checker) => {
    await checker.done;
    unfinished.delete(checker);
  });
  // Also where the signal has fired already this takes long enough for those that are done to
  // count.
  await abortable(Promise.all(each), signal).catch(rethrowUnlessAborted);
  if (unfinished.size === 0) return true;
  if (what !== '') report(what, [...unfinished].map(({ name }) => name).sort(), signal.reason);
  return false;
}

/** What a factory found when it waited for its informers. client-go: SyncResult. */
export class SyncResult {
  /**
   * Whether it has synced, by informer: its resource, such as `pods/v1` or `deployments.apps/v1`,
   * and what it is restricted to.
   */
  readonly synced: ReadonlyMap<string, boolean>;
  /** Why the waiting ended, where something had not synced: the reason of the signal. */
  readonly cause: unknown;
  /** What failed last, by informer, of those that have not synced. */
  readonly failures: ReadonlyMap<string, unknown>;

  constructor(
    synced: ReadonlyMap<string, boolean>,
    cause?: unknown,
    failures: ReadonlyMap<string, unknown> = new Map(),
  ) {
    this.synced = synced;
    this.cause = cause;
    this.failures = failures;
  }

  /**
   * `undefined` when all have synced; otherwise an error with code CACHE_SYNC_TIMEOUT that names
   * those that have not, with what failed last.
   */
  asError(): CapstanError | undefined {
    const missing = [...this.synced].flatMap(([name, synced]) =>
      synced ? [] : [withFailure(name, this.failures.get(name))],
    );
    return missing.length === 0
      ? undefined
      : notSynced('failed to sync all caches', missing, this.cause);
  }
}

function withFailure(name: string, error: unknown): string {
  return error === undefined ? name : `${name}, which last failed with "${textOfError(error)}"`;
}

function report(what: string, missing: readonly string[], cause: unknown): void {
  handleError(notSynced(`gave up waiting for ${what}`, missing, cause), what);
}

function notSynced(what: string, missing: readonly string[], cause: unknown): CapstanError {
  const names = [...missing].sort().join(', ');
  return new CapstanError(
    'CACHE_SYNC_TIMEOUT',
    `${what}, these have not synced: ${names} (${textOfError(cause)})`,
    {
      cause,
    },
  );
}

/** A checker whose promise fails is its maker's mistake, and the caller is told. */
function rethrowUnlessAborted(error: unknown): void {
  if (!hasCode(error, 'ABORTED')) throw error;
}
