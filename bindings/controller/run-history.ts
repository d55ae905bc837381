/**
 * The history of a controller's runs for its report: the last runs, the number of runs by outcome,
 * and the last error of each failing request. Memory is bounded by the two constants below.
 */
import type { Request } from '../base/request.ts';
import type { RunReport } from './report.ts';
import { RequestMap } from './request-map.ts';
import type { FailureRecord, Run } from './run.ts';

/** The number of runs that are kept. */
export const RECENT_RUNS = 100;
/**
 * The number of failing requests whose error is kept. When the API server is down, all requests
 * fail for the same reason.
 */
const MOST_ERRORS = 1000;

/** The last failure of a request that has not succeeded since. */
export interface Failure {
  readonly request: Request;
  readonly error: FailureRecord;
  /** It is not retried. */
  readonly isTerminal: boolean;
}

export class RunHistory {
  readonly totals: Record<RunReport['outcome'], number> = {
    success: 0,
    requeue: 0,
    requeueAfter: 0,
    error: 0,
    terminal: 0,
    aborted: 0,
  };
  readonly #ring: Run[] = [];
  #next = 0;
  readonly #failures = new RequestMap<Failure>();
  /** Oldest first. */
  readonly #inOrder = new Set<Failure>();

  /** Adds a run that has ended. */
  add(run: Run): void {
    this.totals[run.outcome]++;
    if (this.#ring.length < RECENT_RUNS) this.#ring.push(run);
    else this.#ring[this.#next] = run;
    this.#next = (this.#next + 1) % RECENT_RUNS;
    if (run.error !== undefined) this.#failed(run, run.error);
    else if (this.#inOrder.size > 0 && run.outcome !== 'requeue' && run.outcome !== 'aborted')
      this.#succeeded(run.request);
  }

  failureOf(request: Request): Failure | undefined {
    return this.#failures.get(request);
  }

  /** Requests that ended with a terminal error and have not succeeded since. */
  *terminal(): Generator<Failure> {
    for (const failure of this.#inOrder) if (failure.isTerminal) yield failure;
  }

  /** Newest first. */
  *recent(): Generator<Run> {
    for (let i = 1; i <= this.#ring.length; i++)
      yield this.#ring[(this.#next - i + this.#ring.length) % this.#ring.length] as Run;
  }

  #failed({ request, outcome }: Run, error: FailureRecord): void {
    this.#succeeded(request);
    const failure: Failure = { request, error, isTerminal: outcome === 'terminal' };
    this.#failures.set(request, failure);
    this.#inOrder.add(failure);
    if (this.#inOrder.size <= MOST_ERRORS) return;
    for (const oldest of this.#inOrder) {
      this.#succeeded(oldest.request);
      return;
    }
  }

  #succeeded(request: Request): void {
    const failure = this.#failures.take(request);
    if (failure !== undefined) this.#inOrder.delete(failure);
  }
}
