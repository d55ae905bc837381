/** A metric of this controller: how often each outcome was found. */
import type { Collector } from 'capstan/controller';
import type { Outcome } from './start-job.ts';

export class OutcomeMetrics implements Collector {
  readonly name = 'ScheduledJobs';
  readonly #counts = new Map<Outcome, number>();

  count(outcome: Outcome): void {
    this.#counts.set(outcome, (this.#counts.get(outcome) ?? 0) + 1);
  }

  /** The text that `/metrics` shows. */
  text(): string {
    const name = 'scheduledjob_outcomes_total';
    const lines = [...this.#counts].map(([outcome, n]) => `${name}{outcome="${outcome}"} ${n}`);
    return [
      `# HELP ${name} What reconciles of ScheduledJobs found.`,
      `# TYPE ${name} counter`,
      ...lines.sort(),
      '',
    ].join('\n');
  }
}
