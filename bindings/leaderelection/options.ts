/**
 * The options of an elector, their checks and their defaults. client-go: LeaderElectionConfig and
 * NewLeaderElector. The checks are stricter than client-go's only where a Lease's whole seconds
 * would let another candidate lead too early.
 */
import { guardRandom } from '../base/backoff.ts';
import { type Clock, systemClock, wallNowOf } from '../base/clock.ts';
import { CapstanError, invalid, requireFunction, requireObject } from '../base/errors.ts';
import { guardedLogger, type Logger, requireLogger, silentLogger } from '../base/logger.ts';
import { namesOf, requireMembers, requireNames } from '../base/names.ts';
import type { HealthzAdaptor } from './healthz-adaptor.ts';
import type { LockReference, ResourceLock } from './lock.ts';
import type { LeaderMetric } from './metrics.ts';

/**
 * The callbacks of an elector, called one at a time. What they throw or reject with is reported by
 * `handleError` and has no other effect. client-go: LeaderCallbacks.
 */
export interface LeaderCallbacks {
  /**
   * Called when this process becomes the leader; it leads until `signal` fires. A returned promise
   * is the guarded work: the lease is released only after it has settled.
   */
  readonly onStartedLeading: (signal: AbortSignal) => void | Promise<void>;
  /** Called when `run` ends, even if this process never led. */
  readonly onStoppedLeading: () => void;
  /** Called when a new holder was seen, which may be this process. */
  readonly onNewLeader?: ((identity: string) => void) | undefined;
}

/** The part of an event recorder (events.k8s.io/v1) that is used. `note` is a format with %s. */
export interface ElectionRecorder {
  eventf(
    regarding: LockReference,
    related: undefined,
    type: 'Normal',
    reason: string,
    action: string,
    note: string,
    ...args: readonly unknown[]
  ): void;
}

/**
 * Options of {@link LeaderElector}. Combinations that cannot work are refused with CapstanError
 * INVALID_ARGUMENT. client-go: LeaderElectionConfig.
 */
export interface LeaderElectorOptions {
  /** Stores the record of the election, for example a {@link LeaseLock}. */
  readonly lock: ResourceLock;
  /** Called when leading begins and ends, and when the leader changes. */
  readonly callbacks: LeaderCallbacks;
  /**
   * How long other candidates wait after they last saw the lease change, in milliseconds. A Lease
   * has whole seconds: a fraction is cut off, and the rest must be greater than `renewDeadline`.
   * Default 15 000.
   */
  readonly leaseDuration?: number | undefined;
  /**
   * How long the leader tries to renew before it stops leading, in milliseconds. Must be greater
   * than 1.2 times `retryPeriod`. Default 10 000.
   */
  readonly renewDeadline?: number | undefined;
  /**
   * The time between two attempts, in milliseconds; for candidates that do not lead, a random 1 to
   * 2.2 times of it. client-go's candidates do not notice renewals less than a second apart, so use
   * at least 1000 together with them. Default 2000.
   */
  readonly retryPeriod?: number | undefined;
  /**
   * Releases the lease when `run` ends, so that the next leader does not wait until it expires. If
   * `onStartedLeading` returned a promise, it is awaited first, for at most `renewDeadline`; then
   * the lease is left to expire. If it returned none, end the work before you fire the signal of
   * `run`. Default false.
   */
  readonly releaseOnCancel?: boolean | undefined;
  /**
   * When leading ends. `deadline`, the default, as in client-go: when the lease was not renewed for
   * `renewDeadline`, even if another holder was seen meanwhile. `lapse`: also as soon as
   * `holdsLease()` becomes false. A process that was stalled for longer than a lease then stops
   * when it resumes, and not a renew deadline later.
   */
  readonly stepDown?: 'deadline' | 'lapse' | undefined;
  /**
   * The largest assumed ratio between the speeds of two candidates' clocks: 1.5 is one that runs
   * half as fast again as the other. `holdsLease()` becomes false after `leaseDuration /
   * maxClockSkewRatio`. Real clocks differ by less than 1.001; a greater ratio leaves a leader less
   * time to renew. Default: leaseDuration / renewDeadline, which client-go documents as its
   * tolerance.
   */
  readonly maxClockSkewRatio?: number | undefined;
  /** Shown in metrics, health checks and logs. Default: `lock.describe()`. */
  readonly name?: string | undefined;
  /** A health check of this election. */
  readonly watchDog?: HealthzAdaptor | undefined;
  /** Receives the metrics of this elector. */
  readonly metrics?: LeaderMetric | undefined;
  /** Gets an event about the lease when this process begins to lead and when it stops. */
  readonly recorder?: ElectionRecorder | undefined;
  /** Default: nothing is logged. */
  readonly logger?: Logger | undefined;
  /** All durations are measured with its monotonic time. Default: the system's clock. */
  readonly clock?: Clock | undefined;
  /** Returns a number in [0, 1) for the jitter. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
  /**
   * Returns milliseconds since 1970 for the times in the lease. Nothing is measured with it.
   * Default: the clock's time of day.
   */
  readonly wallNow?: (() => number) | undefined;
}

const CALLBACK_NAMES = namesOf<LeaderCallbacks>()({
  onStartedLeading: 1,
  onStoppedLeading: 1,
  onNewLeader: 1,
});
const ELECTOR_NAMES = namesOf<LeaderElectorOptions>()({
  lock: 1,
  callbacks: 1,
  leaseDuration: 1,
  renewDeadline: 1,
  retryPeriod: 1,
  releaseOnCancel: 1,
  stepDown: 1,
  maxClockSkewRatio: 1,
  name: 1,
  watchDog: 1,
  metrics: 1,
  recorder: 1,
  logger: 1,
  clock: 1,
  random: 1,
  wallNow: 1,
});

/** client-go: JitterFactor. */
export const JITTER_FACTOR = 1.2;

/** All options with their defaults. */
export type ElectionConfig = Required<
  Omit<LeaderElectorOptions, 'watchDog' | 'metrics' | 'recorder'>
> &
  Pick<LeaderElectorOptions, 'watchDog' | 'metrics' | 'recorder'>;

/** Throws CapstanError INVALID_ARGUMENT. */
export function electionConfig(options: LeaderElectorOptions): ElectionConfig {
  requireNames('options', options, 'option of a LeaderElector', ELECTOR_NAMES);
  const {
    lock,
    callbacks,
    leaseDuration = 15_000,
    renewDeadline = 10_000,
    retryPeriod = 2000,
  } = options;
  requireLock(lock);
  requireMembers('callbacks', callbacks, 'callback of a LeaderElector', CALLBACK_NAMES);
  requireFunction('callbacks.onStartedLeading', callbacks.onStartedLeading);
  requireFunction('callbacks.onStoppedLeading', callbacks.onStoppedLeading);
  if (callbacks.onNewLeader !== undefined)
    requireFunction('callbacks.onNewLeader', callbacks.onNewLeader);
  const recorded = requireDurations(leaseDuration, renewDeadline, retryPeriod);
  const {
    maxClockSkewRatio = recorded / renewDeadline,
    stepDown = 'deadline',
    name = lock.describe(),
  } = options;
  requireRatio(maxClockSkewRatio, recorded, retryPeriod);
  if (stepDown !== 'deadline' && stepDown !== 'lapse')
    throw invalid('stepDown', '"deadline" or "lapse"', stepDown);
  if (typeof name !== 'string') throw invalid('name', 'a string', name);
  const { releaseOnCancel = false, logger = silentLogger, clock = systemClock } = options;
  if (typeof releaseOnCancel !== 'boolean')
    throw invalid('releaseOnCancel', 'true or false', releaseOnCancel);
  requireLogger('logger', logger);
  const { random = Math.random, wallNow = wallNowOf(clock), watchDog, metrics, recorder } = options;
  requireFunction('random', random);
  requireFunction('wallNow', wallNow);
  if (recorder !== undefined) requireFunction('recorder.eventf', recorder?.eventf);
  return {
    lock,
    callbacks,
    leaseDuration,
    renewDeadline,
    retryPeriod,
    releaseOnCancel,
    stepDown,
    maxClockSkewRatio,
    name,
    logger: guardedLogger(logger),
    clock,
    random: guardRandom(random),
    wallNow,
    ...(watchDog === undefined ? {} : { watchDog }),
    ...(metrics === undefined ? {} : { metrics }),
    ...(recorder === undefined ? {} : { recorder }),
  };
}

function requireLock(lock: ResourceLock | undefined): void {
  requireObject('lock', lock);
  for (const method of ['get', 'create', 'update', 'describe', 'reference'] as const)
    requireFunction(`lock.${method}`, lock?.[method]);
  if (typeof lock?.identity !== 'string' || lock.identity === '')
    throw invalid('lock.identity', 'a string that is not empty', lock?.identity);
}

/** Returns the duration that the Lease will have, in milliseconds. */
function requireDurations(
  leaseDuration: number,
  renewDeadline: number,
  retryPeriod: number,
): number {
  for (const [name, value] of Object.entries({ leaseDuration, renewDeadline, retryPeriod })) {
    if (typeof value !== 'number' || !(value > 0) || value === Number.POSITIVE_INFINITY)
      throw invalid(name, 'milliseconds > 0', value);
  }
  const recorded = Math.floor(leaseDuration / 1000) * 1000;
  if (recorded <= renewDeadline) {
    const whole =
      recorded === leaseDuration
        ? ''
        : `; a Lease has whole seconds, so that it would have ${recorded} ms`;
    throw wrong(
      `leaseDuration (${leaseDuration} ms) must be greater than ` +
        `renewDeadline (${renewDeadline} ms)${whole}`,
    );
  }
  if (renewDeadline <= JITTER_FACTOR * retryPeriod) {
    throw wrong(
      `renewDeadline (${renewDeadline} ms) must be greater than ` +
        `${JITTER_FACTOR} times retryPeriod (${retryPeriod} ms)`,
    );
  }
  return recorded;
}

function requireRatio(ratio: number, recorded: number, retryPeriod: number): void {
  if (typeof ratio !== 'number' || !(ratio >= 1) || ratio === Number.POSITIVE_INFINITY)
    throw invalid('maxClockSkewRatio', 'a number >= 1, such as 1.5', ratio);
  if (recorded / ratio <= JITTER_FACTOR * retryPeriod) {
    throw wrong(
      `with maxClockSkewRatio ${ratio} a lease of ${recorded} ms is valid for ` +
        `${Math.floor(recorded / ratio)} ms; that must be greater than ` +
        `${JITTER_FACTOR} times retryPeriod (${retryPeriod} ms)`,
    );
  }
}

function wrong(message: string): CapstanError {
  return new CapstanError('INVALID_ARGUMENT', message);
}
