/**
 * The metrics of leader election, with Kubernetes' names and labels. client-go:
 * tools/leaderelection/metrics.go, component-base/metrics/prometheus/clientgo/leaderelection.
 */
import {
  byName,
  expositionText,
  labelPairs,
  metricFamily,
  type Sample,
} from '../base/exposition.ts';

/**
 * Receives the metrics of electors by name. Its methods must not throw. client-go: LeaderMetric.
 */
export interface LeaderMetric {
  /** The elector has begun to lead. */
  on(name: string): void;
  /** The elector does not lead. Also called once at the beginning. */
  off(name: string): void;
  /** The elector has ended; called after the last `off`. client-go has no such method. */
  ended?(name: string): void;
  /** The elector had to read the lease to renew it. */
  slowpathExercised(name: string): void;
}

/**
 * Collects the metrics of any number of electors. The series of an elector that has ended stay
 * until another one ends.
 *
 * @example
 * const metrics = new LeaderElectionMetrics();
 * metrics.on('website-controller');
 * console.log(metrics.text()); // … leader_election_master_status{name="website-controller"} 1
 */
export class LeaderElectionMetrics implements LeaderMetric {
  readonly #status = new Map<string, 0 | 1>();
  readonly #slowpath = new Map<string, number>();
  #ended: string | undefined;

  on(name: string): void {
    this.#status.set(name, 1);
    if (this.#ended === name) this.#ended = undefined;
  }

  off(name: string): void {
    this.#status.set(name, 0);
    if (this.#ended === name) this.#ended = undefined;
  }

  ended(name: string): void {
    if (this.#ended !== undefined && this.#ended !== name) {
      this.#status.delete(this.#ended);
      this.#slowpath.delete(this.#ended);
    }
    this.#ended = name;
  }

  slowpathExercised(name: string): void {
    this.#slowpath.set(name, (this.#slowpath.get(name) ?? 0) + 1);
  }

  /** In Prometheus' text format 0.0.4. */
  text(): string {
    return expositionText([
      ...family(
        'leader_election_master_status',
        'gauge',
        'Whether this process leads: 1 if so, 0 if not.',
        this.#status,
      ),
      ...family(
        'leader_election_slowpath_total',
        'counter',
        'Number of renewals that had to read the lease first.',
        this.#slowpath,
      ),
    ]);
  }
}

function family(
  name: string,
  type: 'counter' | 'gauge',
  help: string,
  values: ReadonlyMap<string, number>,
): string[] {
  const samples = byName(values).map(
    ([label, value]): Sample => [labelPairs({ name: label }), value],
  );
  return metricFamily(type, name, help, samples);
}
