/**
 * What an elector is given, checked at once: durations that cannot work are refused before anybody
 * leads. client-go: LeaderElectionConfig and NewLeaderElector; stricter only where the Lease's
 * whole seconds would let others in early.
 */
import { guardRandom } from '../base/backoff.ts';
import { type Clock, systemClock, systemWallNow } from '../base/clock.ts';
import { CapstanError, invalid, requireFunction, requireObject } from '../base/errors.ts';
import { guardedLogger, type Logger, requireLogger, silentLogger } from '../base/logger.ts';
import { namesOf, requireMembers, requireNames } from '../base/names.ts';
import type { HealthzAdaptor } from './healthz-adaptor.ts';
import type { LockReference, ResourceLock } from './lock.ts';
import type { LeaderMetric } from './metrics.ts';

/**
 * Called one after the other, never at once. What they throw or reject with is reported through
 * `handleError` and changes nothing.
 */
export interface LeaderCallbacks {
  /**
   * This process leads, until `signal` fires. Where it returns a promise, that is the guarded work:
   * a lease is only released when it has settled.
   */
  readonly onStartedLeading: (signal: AbortSignal) => void | Promise<void>;
  /** `run` ends. Always called, also when this process never led. */
  readonly onStoppedLeading: () => void;
  /** Another holder than the last one was seen; this process may be it. */
  readonly onNewLeader?: ((identity: string) => void) | undefined;
}

/** The part of an event recorder (events.k8s.io/v1) that is used; `note` is a format with %s. */
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
 * Of one candidate. Those that cannot work together are refused before anybody leads. client-go:
 * LeaderElectionConfig.
 */
export interface LeaderElectorOptions {
  readonly lock: ResourceLock;
  readonly callbacks: LeaderCallbacks;
  /**
   * Milliseconds for which the others wait, after they last saw the lease change, before they take
   * it. Default 15 000. A Lease keeps whole seconds: a fraction is cut off, and what is left must
   * be longer than `renewDeadline`.
   */
  readonly leaseDuration?: number | undefined;
  /**
   * Milliseconds for which a leader tries to renew before it gives up. Default 10 000. Must be
   * longer than 1.2 times `retryPeriod`.
   */
  readonly renewDeadline?: number | undefined;
  /**
   * Milliseconds between two tries; while another leads, 1 to 2.2 times as long, at random. Default
   * 2000. Candidates of client-go see renewals that are less than a second apart as one: beside
   * them it should not be shorter.
   */
  readonly retryPeriod?: number | undefined;
  /**
   * Gives the lease back when `run` ends, so that the next one need not wait for it to run out. The
   * guarded work has to have ended: if `onStartedLeading` returned a promise, that is waited for
   * (for `renewDeadline` at most, else the lease is left to run out); if not, end the work before
   * firing the signal of `run`. Default false.
   */
  readonly releaseOnCancel?: boolean | undefined;
  /**
   * When a leader stops. `deadline`, the default, is client-go's behaviour: when it could not renew
   * for `renewDeadline`, even if it has seen another hold the lease meanwhile. `lapse`: also as
   * soon as `holdsLease()` has become false. A process that was stopped for longer than a lease
   * then ends its work when it wakes, and not a renew deadline later.
   */
  readonly stepDown?: 'deadline' | 'lapse' | undefined;
  /**
   * The most by which the fastest clock of a candidate may outrun the slowest: 1.5 is half as fast
   * again. `holdsLease()` ends early enough for that: after `leaseDuration / maxClockSkewRatio`.
   * Default: leaseDuration / renewDeadline, which client-go's documentation gives as what is
   * tolerated. Real clocks differ by less than 1.001; a greater ratio costs a leader time to renew
   * in.
   */
  readonly maxClockSkewRatio?: number | undefined;
  /** In metrics, health and logs. Default: what the lock calls itself. */
  readonly name?: string | undefined;
  readonly watchDog?: HealthzAdaptor | undefined;
  readonly metrics?: LeaderMetric | undefined;
  /** Gets an event about the lease when this process begins to lead and when it stops. */
  readonly recorder?: ElectionRecorder | undefined;
  /** Default: says nothing. */
  readonly logger?: Logger | undefined;
  /** Monotonic; all that is measured is measured by it. */
  readonly clock?: Clock | undefined;
  /** In [0, 1), for jitter. */
  readonly random?: (() => number) | undefined;
  /** Milliseconds since 1970, for the times that the lease shows. Nothing is measured by it. */
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

/** All options, with their defaults. */
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
  const { random = Math.random, wallNow = systemWallNow, watchDog, metrics, recorder } = options;
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

/** What the lease will say, in milliseconds. */
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
        : `; a Lease keeps whole seconds, so that it would say ${recorded} ms`;
    throw wrong(
      `leaseDuration (${leaseDuration} ms) must be greater than renewDeadline (${renewDeadline} ms)${whole}`,
    );
  }
  if (renewDeadline <= JITTER_FACTOR * retryPeriod) {
    throw wrong(
      `renewDeadline (${renewDeadline} ms) must be greater than ${JITTER_FACTOR} times retryPeriod (${retryPeriod} ms)`,
    );
  }
  return recorded;
}

function requireRatio(ratio: number, recorded: number, retryPeriod: number): void {
  if (typeof ratio !== 'number' || !(ratio >= 1) || ratio === Number.POSITIVE_INFINITY)
    throw invalid('maxClockSkewRatio', 'a number >= 1, such as 1.5', ratio);
  if (recorded / ratio <= JITTER_FACTOR * retryPeriod) {
    throw wrong(
      `with maxClockSkewRatio ${ratio} a lease of ${recorded} ms can be relied upon for ${Math.floor(recorded / ratio)} ms; ` +
        `that must be greater than ${JITTER_FACTOR} times retryPeriod (${retryPeriod} ms)`,
    );
  }
}

function wrong(message: string): CapstanError {
  return new CapstanError('INVALID_ARGUMENT', message);
}
