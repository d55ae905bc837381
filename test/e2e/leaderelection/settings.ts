/** The settings that all candidates share. */
export const LEASE = { namespace: 'default', name: 'hand-overs' } as const;

/** A Lease has whole seconds; the ratios are close to those of the defaults. */
export const LEASE_DURATIONS = {
  leaseDuration: 3000,
  renewDeadline: 2000,
  retryPeriod: 500,
} as const;

/**
 * Work is done in steps, so that a stop in the middle does not use up its time. Most pieces are
 * short; each fourth is long.
 */
export const STEP_MS = 20;

export const isLong = (run: number): boolean => run % 4 === 0;

/** The number of steps of a piece of work. */
export const stepsOf = (run: number): number =>
  isLong(run) ? 20 + Math.random() * 80 : 1 + Math.random() * 2;

/** Between two pieces of work, in milliseconds. */
export const WORK_PAUSE_MS = 5;

/** The ConfigMap that managers reconcile, in the namespace of the lease. */
export const OBJECT = 'work';

/** The exit code of a manager that lost the lease. */
export const LOST_EXIT = 3;
