/**
 * A health check of an election that may be set up before there is one: it fails when this process
 * believes to lead and has not renewed for too long, so that whoever restarts unhealthy processes
 * ends it. client-go: tools/leaderelection/healthzadaptor.go.
 */
import { invalid } from '../base/errors.ts';

/** The part of an elector that the check asks. */
export interface CheckedElection {
  check(maxTolerableExpiredLease: number): void;
}

/**
 * The `watchDog` of an elector, as a health check.
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

  /** The name that the check has in client-go. */
  name(): string {
    return 'leaderElection';
  }

  /** An elector that has this as its `watchDog` calls it itself. */
  setLeaderElection(election: CheckedElection): void {
    this.#election = election;
  }

  /** Throws CapstanError LEASE_EXPIRED; passes as long as there is no election. */
  check(): void {
    this.#election?.check(this.#timeout);
  }
}
