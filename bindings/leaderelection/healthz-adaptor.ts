/**
 * A health check of an election that can be registered before the elector exists. It fails if this
 * process is the leader and has not renewed for too long, so that the kubelet restarts it.
 * client-go: tools/leaderelection/healthzadaptor.go.
 */
import { invalid } from '../base/errors.ts';

/** The part of an elector that the check uses. */
export interface CheckedElection {
  check(maxTolerableExpiredLease: number): void;
}

/**
 * The option `watchDog` of an elector, as a health check. client-go: HealthzAdaptor.
 *
 * @param timeout milliseconds for which an expired lease of this process is tolerated;
 *   controller-runtime and Kubernetes take 20 000
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const watchDog = new HealthzAdaptor(20_000);
 * watchDog.check(); // throws CapstanError LEASE_EXPIRED when the process is unhealthy
 */
export class HealthzAdaptor {
  readonly #timeout: number;
  #election: CheckedElection | undefined;

  constructor(timeout: number) {
    if (typeof timeout !== 'number' || !(timeout >= 0))
      throw invalid('timeout', 'milliseconds >= 0', timeout);
    this.#timeout = timeout;
  }

  /** The name of the check in client-go. */
  name(): string {
    return 'leaderElection';
  }

  /** Called by the elector whose option `watchDog` this is. */
  setLeaderElection(election: CheckedElection): void {
    this.#election = election;
  }

  /** Throws CapstanError LEASE_EXPIRED. Passes while there is no election. */
  check(): void {
    this.#election?.check(this.#timeout);
  }
}
