/** `capstan/leaderelection`: client-go's tools/leaderelection on Leases. */
export { LeaderElector, runOrDie } from './elector.ts';
export { type CheckedElection, HealthzAdaptor } from './healthz-adaptor.ts';
export { LeaseLock, type LeaseLockOptions } from './lease-lock.ts';
export type { LeaderElectionRecord, LockCall, LockReference, ResourceLock } from './lock.ts';
export { LeaderElectionMetrics, type LeaderMetric } from './metrics.ts';
export type { ElectionRecorder, LeaderCallbacks, LeaderElectorOptions } from './options.ts';
