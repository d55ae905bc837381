/**
 * What a run found, held against what is known to differ: the counts that are printed, and the
 * report that scripts/test-counts.ts adds up.
 */
import { createHash } from 'node:crypto';
import { lineOf, type ParityCase } from './case.ts';
import type { Finding } from './compare.ts';
import type { KnownDifference } from './known.ts';

export interface CaseOutcome {
  parityCase: ParityCase;
  findings: readonly Finding[];
}

/** A name of the case that stays as long as the case does. */
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
  /** Cases that differ and are not known to. */
  failed: CaseOutcome[];
  /** Cases that are known to differ, and do. */
  known: CaseOutcome[];
  /** Ids of cases that are known to differ, and agree: they have to leave the list. */
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

/** @param problems what else is wrong with the run, each a failure of its own */
export const isGood = ({ failed, mended }: Verdict, problems: readonly string[]): boolean =>
  failed.length === 0 && mended.length === 0 && problems.length === 0;

/** The shape of the test runner's JSON report; a case that is known to differ counts as skipped. */
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
