/**
 * One line of counts from the JSON reports of the test runner:
 *
 *     node scripts/test-counts.ts REPORT...        prints `812 passed, 0 failed, 3 skipped`
 *
 * A report that is missing or cut short, and a file that fails outside its tests, count as one
 * failure each: a suite that never ran must not look green. Exits 1 if anything failed or nothing
 * passed.
 */
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

interface Report {
  success: boolean;
  testResults: { status: string; assertionResults: { status: string }[] }[];
}

/** @throws Error where the text is no report */
export function countTests(report: string): Counts {
  const { success, testResults } = JSON.parse(report) as Report;
  const counts: Counts = { passed: 0, failed: 0, skipped: 0 };
  for (const { status, assertionResults } of testResults) {
    let failedHere = 0;
    for (const test of assertionResults) {
      if (test.status === 'passed') counts.passed++;
      else if (test.status === 'failed') failedHere++;
      else counts.skipped++; // skipped, pending, todo, disabled
    }
    if (status === 'failed' && failedHere === 0) failedHere = 1;
    counts.failed += failedHere;
  }
  // A failure may belong to no file, such as a global setup that throws.
  if (!success && counts.failed === 0) counts.failed = 1;
  return counts;
}

export function total(all: readonly Counts[]): Counts {
  return all.reduce(
    (sum, each) => ({
      passed: sum.passed + each.passed,
      failed: sum.failed + each.failed,
      skipped: sum.skipped + each.skipped,
    }),
    { passed: 0, failed: 0, skipped: 0 },
  );
}

export function line({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

function countFile(path: string): Counts {
  try {
    return countTests(readFileSync(path, 'utf8'));
  } catch (error) {
    console.error(`no report in ${path}: ${error instanceof Error ? error.message : error}`);
    return { passed: 0, failed: 1, skipped: 0 };
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const sum = total(process.argv.slice(2).map(countFile));
  console.log(line(sum));
  if (sum.failed > 0 || sum.passed === 0) process.exitCode = 1;
}
