/**
 * The verdict from the results. Nothing passes by omission: a requested runtime that is missing is
 * named, one that omits tests which others ran has failed, and so has one that ran none.
 */
import type { Result } from './shim/registry.ts';
import { CACHE_CASES, CONTROLLER_CASES } from './titles.ts';

/** The results of one runtime, or of one group of checks. */
export interface RuntimeOutcome {
  readonly name: string;
  /** Version, key table and so on, for the reader. */
  readonly about: string;
  readonly seconds: number;
  readonly results: readonly Result[];
  /** Faults that this runtime was asserted not to distinguish. */
  readonly blind?: readonly string[];
  /** Why there are no results: it could not run. */
  readonly failure?: string;
  /** Why it was skipped. */
  readonly skipped?: string;
}

const resultTitle = ({ path }: Result): string => path.join(' > ');

export function countsOf({ results, failure, skipped }: RuntimeOutcome): {
  passed: number;
  failed: number;
  skipped: number;
} {
  const count = (state: Result['state']): number =>
    results.filter((one) => one.state === state).length;
  return {
    passed: count('passed'),
    failed: count('failed') + (failure === undefined ? 0 : 1),
    skipped: count('skipped') + (skipped === undefined ? 0 : 1),
  };
}

export function hasFailed(outcome: RuntimeOutcome): boolean {
  const { passed, failed } = countsOf(outcome);
  return failed > 0 || (outcome.skipped === undefined && passed === 0);
}

/**
 * The files of cases and others that are the same everywhere; the rest is specific to a runtime.
 */
const isShared = ({ path: [group = ''] }: Result): boolean =>
  group.endsWith('.ts') || ['recorded traces', CACHE_CASES, CONTROLLER_CASES].includes(group);

/** The outcomes of runtimes; each that omits a test of another has failed. */
export function comparedWithEachOther(outcomes: readonly RuntimeOutcome[]): RuntimeOutcome[] {
  const shared = (outcome: RuntimeOutcome): Map<string, number> => {
    const counts = new Map<string, number>();
    for (const result of outcome.results.filter(isShared)) {
      counts.set(resultTitle(result), (counts.get(resultTitle(result)) ?? 0) + 1);
    }
    return counts;
  };
  const all = new Map<string, number>();
  for (const outcome of outcomes) {
    for (const [title, count] of shared(outcome))
      all.set(title, Math.max(count, all.get(title) ?? 0));
  }
  return outcomes.map((outcome) => {
    if (outcome.failure !== undefined || outcome.skipped !== undefined) return outcome;
    const own = shared(outcome);
    const missing = [...all]
      .filter(([title, count]) => (own.get(title) ?? 0) < count)
      .map(([title]) => title);
    if (all.size > 0 && missing.length === 0) return outcome;
    const failure =
      all.size === 0
        ? 'no case ran'
        : `${missing.length} tests that ran elsewhere did not run here, first: ${missing[0]}`;
    return { ...outcome, failure };
  });
}

/** One line each, then the failures and the skipped ones. */
export function describeOutcomes(outcomes: readonly RuntimeOutcome[]): string {
  const lines = outcomes.map((outcome) => {
    const { passed, failed, skipped } = countsOf(outcome);
    const counts =
      outcome.skipped === undefined
        ? `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
        : `SKIPPED: ${outcome.skipped}`;
    return (
      `${outcome.name.padEnd(10)} ${outcome.about.padEnd(40)} ` +
      `${outcome.seconds.toFixed(1).padStart(5)} s  ${counts}`
    );
  });
  for (const { name, failure, results, blind = [] } of outcomes) {
    for (const what of blind) lines.push(`not told on ${name}: ${what}`);
    if (failure !== undefined) lines.push('', `FAILED ${name}: ${failure}`);
    for (const result of results) {
      if (result.state === 'skipped') lines.push(`skipped on ${name}: ${resultTitle(result)}`);
      if (result.state === 'failed')
        lines.push('', `FAILED ${name} > ${resultTitle(result)}`, `  ${result.message}`);
    }
  }
  return lines.join('\n');
}

/** The format of vitest's JSON report, which scripts/test-counts.ts sums. */
export function runtimesJsonReport(outcomes: readonly RuntimeOutcome[]): object {
  return {
    success: !outcomes.some(hasFailed),
    testResults: outcomes.map((outcome) => ({
      name: outcome.name,
      status: hasFailed(outcome) ? 'failed' : 'passed',
      message: outcome.failure ?? '',
      assertionResults: [
        ...outcome.results.map((result) => ({
          fullName: resultTitle(result),
          status: result.state,
          failureMessages: result.message === undefined ? [] : [result.message],
        })),
        ...(outcome.failure === undefined
          ? []
          : [
              { fullName: 'runs to its end', status: 'failed', failureMessages: [outcome.failure] },
            ]),
        ...(outcome.skipped === undefined
          ? []
          : [{ fullName: outcome.skipped, status: 'skipped', failureMessages: [] }]),
      ],
    })),
  };
}
