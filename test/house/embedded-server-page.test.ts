/**
 * docs/evidence/embedded-server.md has the list of differences from a real kube-apiserver that the
 * parity test uses: an edit by hand would describe something that is not tested.
 */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { intendedDifferences } from '../e2e/parity/differences.ts';
import { PAGE, withCounts, withDifferences } from '../e2e/parity/page.ts';

const page = readFileSync(PAGE, 'utf8');

test('the list of differences is that of the comparison', () => {
  expect(withDifferences(page)).toBe(page);
  expect(intendedDifferences.length).toBeGreaterThan(5);
});

test('the counts are a table of groups, summed over seeds', () => {
  const counts = { cases: 2, requests: 5, same: 1 };
  const made = withCounts(page, [
    { seed: 1, groups: [{ group: 'create', ...counts }] },
    {
      seed: 2,
      groups: [
        { group: 'create', ...counts },
        { group: 'watch', ...counts },
      ],
    },
  ]);
  expect(made).toContain(
    '| create | 4 | 10 | 2 |\n| watch | 2 | 5 | 1 |\n| **all** | 6 | 15 | 3 |',
  );
  expect(page).toMatch(/\| \*\*all\*\* \| \d{4,} \| \d{4,} \| \d{4,} \|/);
});

test.for([
  [[1], 'Seed 1,'],
  [[1, 2, 3], 'Seeds 1 to 3,'],
  [[7, 1, 2, 101], 'Seeds 1, 2, 7 and 101,'],
] as const)('the seeds %j are written as %s', ([seeds, text]) => {
  const made = withCounts(
    page,
    seeds.map((seed) => ({ seed, groups: [] })),
  );
  expect(made).toContain(`${text} against kube-apiserver`);
});

test('a page without the comments is an error', () => {
  expect(() => withDifferences('# A page')).toThrow(/no part "differences"/);
});
