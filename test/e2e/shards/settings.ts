/** The settings that all replicas share, and how a replica may differ from the others. */
export const GROUP = { namespace: 'default', id: 'hand-overs' } as const;

/** A Lease has whole seconds; the ratios are close to those of the defaults. */
export const SHARD_DURATIONS = {
  leaseDuration: 6000,
  renewDeadline: 4000,
  retryPeriod: 1000,
} as const;

/** The label of the ConfigMaps that are worked on. */
export const LOAD = 'capstan-load';

/** Work that is not a write takes up to so long, in milliseconds. */
export const WORK_MS = 20;

export interface Behaviour {
  /** When it stops itself, by SIGSTOP, after a SIGUSR2. Default: never. */
  readonly stops?: 'closed' | 'before it acknowledges' | 'before a write';
  /**
   * How it writes: an update has the resourceVersion, a patch has not, and a strict patch gets it
   * by `strictWrites`. Default `update`.
   */
  readonly writes?: 'update' | 'patch' | 'strict patch';
}
