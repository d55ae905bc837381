/**
 * Waiting until caches have synced, and reporting those that have not. client-go:
 * tools/cache/shared_informer.go WaitForCacheSync, WaitFor.
 */
import { type Clock, systemClock } from '../../base/clock.ts';
import { textOfError } from '../../base/error-text.ts';
import { CapstanError, hasCode, invalid, requireFunction } from '../../base/errors.ts';
import { handleError } from '../../base/handle-error.ts';
import { namesOf, requireNames, requireSignalOptions } from '../../base/names.ts';
import type { DoneChecker } from '../../base/wait.ts';
import { abortable, sleep } from '../../base/wait.ts';

/**
 * Something that syncs, such as an informer or a registration. With a checker it is not polled.
 * client-go: InformerSynced.
 */
export interface Syncing {
  hasSynced(): boolean;
  hasSyncedChecker?(): DoneChecker;
  /** The last failure, for the report. */
  status?(): { lastFailure?: { error: unknown } | undefined };
}

const NAMES = namesOf<{ signal: AbortSignal; clock: Clock }>()({ signal: 1, clock: 1 });

/** client-go: shared_informer.go syncedPollPeriod. */
const POLL_MS = 100;

/**
 * Resolves with true when all have synced, with false when the signal fires first. Objects without
 * `hasSyncedChecker` are polled every 100 ms. client-go: WaitForCacheSync.
 *
 * @throws CapstanError INVALID_ARGUMENT for an argument without `hasSynced`
 * @example
 * const signal = AbortSignal.timeout(30_000);
 * const synced = await waitForCacheSync({ signal }, pods, deployments);
 * if (!synced) throw new Error('no cache');
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
    const checker = isSynced(one) ? undefined : one.hasSyncedChecker?.();
    if (checker !== undefined) await abortable(checker.done, signal).catch(() => undefined);
    while (!signal.aborted && !isSynced(one)) await sleep(clock, POLL_MS, signal);
    if (signal.aborted) return synced.every(isSynced);
  }
  return true;
}

/** Throws CapstanError INVALID_ARGUMENT for a promise, which would be taken for true. */
function isSynced(one: Syncing): boolean {
  const is: unknown = one.hasSynced();
  if (typeof is !== 'boolean') throw invalid('hasSynced()', 'true or false', is);
  return is;
}

/**
 * As {@link waitForCacheSync}, but if the signal fires, reports through handleError what has not
 * synced, under `name` (code CACHE_SYNC_TIMEOUT). client-go: WaitForNamedCacheSync.
 *
 * @example
 * const synced = await waitForNamedCacheSync('website-controller', { signal }, pods, deployments);
 * if (!synced) throw new Error('no cache');
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
 * Waits for checkers: of informers, of registrations, or any promise with a name. Resolves with
 * true when all are done, with false when the signal fires first; then, unless `what` is "", it
 * reports through handleError those that are not done (code CACHE_SYNC_TIMEOUT). client-go:
 * WaitFor.
 *
 * @param what what is waited for, for the report
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
  // Even if the signal has fired, checkers that are done already count.
  await abortable(Promise.all(each), signal).catch(rethrowUnlessAborted);
  if (unfinished.size === 0) return true;
  if (what !== '') report(what, [...unfinished].map(({ name }) => name).sort(), signal.reason);
  return false;
}

/** The result of {@link SharedInformerFactory.waitForCacheSync}. client-go: SyncResult. */
export class SyncResult {
  /**
   * Whether each informer has synced, by its name: the resource, such as `pods/v1` or
   * `deployments.apps/v1`, and its selection.
   */
  readonly synced: ReadonlyMap<string, boolean>;
  /** The reason of the signal, if an informer has not synced. */
  readonly cause: unknown;
  /** The last failure of each informer that has not synced, by its name. */
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
   * `undefined` if all have synced; otherwise an error with code CACHE_SYNC_TIMEOUT that names the
   * others, each with its last failure.
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

/** A rejected checker is an error of the caller, so it is thrown. */
function rethrowUnlessAborted(error: unknown): void {
  if (!hasCode(error, 'ABORTED')) throw error;
}
