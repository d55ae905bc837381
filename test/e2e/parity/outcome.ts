/**
 * Compares the results of a run with the known differences: the printed counts, and the report for
 * scripts/test-counts.ts.
 */
import { createHash } from 'node:crypto';
import { lineOf, type ParityCase } from './case.ts';
import type { Finding } from './compare.ts';
import type { KnownDifference } from './known.ts';

export interface CaseOutcome {
  parityCase: ParityCase;
  findings: readonly Finding[];
}

/** A stable id of the case. */
export const idOf = (parityCase: ParityCase): string =>
  createHash('sha256').update(lineOf(parityCase)).digest('hex').slice(0, 12);

export interface GroupCounts {
  group: string;
  cases: number;
  requests: number;
  same: number;
}

export interface Verdict {
  groups: GroupCounts[];
  /** Cases that differ and are not listed. */
  failed: CaseOutcome[];
  /** Listed cases that differ. */
  known: CaseOutcome[];
  /** The ids of listed cases that agree: they must leave the list. */
  mended: string[];
}

export function judgeCases(
  outcomes: readonly CaseOutcome[],
  list: readonly KnownDifference[],
  order: readonly string[],
): Verdict {
  const ids = new Set(list.flatMap(({ cases }) => cases));
  const differ = outcomes.filter(({ findings }) => findings.length > 0);
  const isKnown = ({ parityCase }: CaseOutcome): boolean => ids.has(idOf(parityCase));
  return {
    groups: order.flatMap((group) => {
      const of = outcomes.filter(({ parityCase }) => parityCase.group === group);
      if (of.length === 0) return [];
      const requests = of.reduce((sum, { parityCase }) => sum + parityCase.steps.length, 0);
      const same = of.filter(({ findings }) => findings.length === 0).length;
      return [{ group, cases: of.length, requests, same }];
    }),
    failed: differ.filter((each) => !isKnown(each)),
    known: differ.filter(isKnown),
    mended: outcomes
      .filter((each) => each.findings.length === 0 && isKnown(each))
      .map(({ parityCase }) => idOf(parityCase)),
  };
}

/** @param problems other failures of the run */
export const isGood = ({ failed, mended }: Verdict, problems: readonly string[]): boolean =>
  failed.length === 0 && mended.length === 0 && problems.length === 0;

/** In the format of the test runner's JSON report; a known difference counts as skipped. */
export function parityReport(
  outcomes: readonly CaseOutcome[],
  verdict: Verdict,
  problems: readonly string[],
): object {
  const failed = new Set([
    ...verdict.failed.map(({ parityCase }) => idOf(parityCase)),
    ...verdict.mended,
  ]);
  const statusOf = ({ parityCase, findings }: CaseOutcome): string => {
    if (failed.has(idOf(parityCase))) return 'failed';
    return findings.length > 0 ? 'skipped' : 'passed';
  };
  const results = verdict.groups.map(({ group }) => ({
    name: group,
    assertionResults: outcomes
      .filter(({ parityCase }) => parityCase.group === group)
      .map((outcome) => ({
        title: `${group} ${idOf(outcome.parityCase)}`,
        status: statusOf(outcome),
      })),
  }));
  const others = {
    name: 'coverage',
    assertionResults: problems.map((title) => ({ title, status: 'failed' })),
  };
  return {
    success: isGood(verdict, problems),
    testResults: [...results, ...(problems.length > 0 ? [others] : [])].map((result) => ({
      ...result,
      status: result.assertionResults.some(({ status }) => status === 'failed')
        ? 'failed'
        : 'passed',
    })),
  };
}
