/**
 * What a controller remembers of its reconciles, for its report: the last ones, how many ended how,
 * and the last error of each request that fails. All of it is bounded: a ring of runs, and the
 * errors of the requests that failed last.
 */
import type { Request } from '../base/request.ts';
import type { RunReport } from './report.ts';
import { RequestMap } from './request-map.ts';
import type { FailureRecord, Run } from './run.ts';

/** How many runs are remembered. */
export const RECENT_RUNS = 100;
/**
 * Of how many failing requests the last error is. Where a server is away everything fails, and for
 * the same reason.
 */
const MOST_ERRORS = 1000;

/** The last failure of a request that has not succeeded since. */
export interface Failure {
  readonly request: Request;
  readonly error: FailureRecord;
  /** It will not be tried again by itself. */
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
  /** The oldest first. */
  readonly #inOrder = new Set<Failure>();

  /** Notes a run that has ended. */
  note(run: Run): void {
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

  /** Requests that failed for good, until something changes. */
  *terminal(): Generator<Failure> {
    for (const failure of this.#inOrder) if (failure.isTerminal) yield failure;
  }

  /** The newest first. */
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
