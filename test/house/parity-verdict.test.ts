/**
 * The verdict of a parity run. A case that is listed as a known difference and then agrees fails
 * the run: otherwise the list would only grow.
 */
import { expect, test } from 'vitest';
import { countTests } from '../../scripts/test-counts.ts';
import type { ParityCase } from '../e2e/parity/case.ts';
import { unasked } from '../e2e/parity/coverage.ts';
import { generate, groupNames, wholeCount } from '../e2e/parity/generate.ts';
import { type CaseOutcome, idOf, isGood, judgeCases, parityReport } from '../e2e/parity/outcome.ts';

const outcome = (path: string, differs: boolean): CaseOutcome => ({
  parityCase: { group: 'path', steps: [{ method: 'GET', path }] },
  findings: differs ? [{ request: 0, path: 'status', real: '200', embedded: '404' }] : [],
});
const [same, differs, old] = [outcome('/a', false), outcome('/b', true), outcome('/c', false)];
const idsOf = (...outcomes: CaseOutcome[]): string[] =>
  outcomes.map(({ parityCase }) => idOf(parityCase));

test('a case that differs fails the run unless it is a known difference', () => {
  const strict = judgeCases([same, differs], [], groupNames);
  expect(strict.failed).toEqual([differs]);
  expect(isGood(strict, [])).toBe(false);
  const lenient = judgeCases([same, differs], [{ why: 'x', cases: idsOf(differs) }], groupNames);
  expect(lenient.failed).toEqual([]);
  expect(isGood(lenient, [])).toBe(true);
  expect(isGood(lenient, ['no case asks about x'])).toBe(false);
});

test('a known difference that agrees fails the run', () => {
  const verdict = judgeCases([old], [{ why: 'x', cases: idsOf(old, differs) }], groupNames);
  expect(verdict.mended).toEqual(idsOf(old));
  expect(isGood(verdict, [])).toBe(false);
});

test('the report adds up', () => {
  const known = [{ why: 'x', cases: idsOf(old) }];
  const all = [same, differs, old];
  const report = JSON.stringify(
    parityReport(all, judgeCases(all, known, groupNames), ['no case asks']),
  );
  expect(countTests(report)).toEqual({ passed: 1, failed: 3, skipped: 0 });
  const skipped = [same, differs];
  const lenient = judgeCases(skipped, [{ why: 'x', cases: idsOf(differs) }], groupNames);
  expect(countTests(JSON.stringify(parityReport(skipped, lenient, [])))).toEqual({
    passed: 1,
    failed: 0,
    skipped: 1,
  });
});

test('a resource or a verb without a case is reported', () => {
  const cases: ParityCase[] = [
    {
      group: 'verb',
      steps: [
        { method: 'GET', path: '/api/v1/namespaces/NS/pods?limit=1' },
        { method: 'GET', path: '/api/v1/namespaces/NS/pods/a' },
        { method: 'GET', path: '/api/v1/namespaces/NS/pods/a/status' },
      ],
    },
  ];
  const served = {
    groupVersion: 'v1',
    resources: [
      { name: 'pods', namespaced: true, verbs: ['get', 'list', 'watch'] },
      { name: 'pods/status', namespaced: true, verbs: ['get', 'patch'] },
      { name: 'pods/exec', namespaced: true, verbs: ['get'] },
      { name: 'nodes', namespaced: false, verbs: ['list'] },
    ],
  };
  expect(unasked([served], cases)).toEqual([
    'v1 pods watch',
    'v1 pods/status patch',
    'v1 nodes list',
  ]);
});

test('a seed gives the same cases each time, in all groups', () => {
  const cases = generate(1, wholeCount);
  expect(generate(1, wholeCount)).toEqual(cases);
  expect([...new Set(cases.map(({ group }) => group))].sort()).toEqual([...groupNames].sort());
});
