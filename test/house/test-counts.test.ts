/** The last line of a CI run: it must not look green if something failed. */
import { describe, expect, it } from 'vitest';
import { countTests, line, total } from '../../scripts/test-counts.ts';

const report = (success: boolean, ...files: [status: string, tests: string[]][]): string =>
  JSON.stringify({
    success,
    testResults: files.map(([status, tests]) => ({
      status,
      assertionResults: tests.map((test) => ({ status: test })),
    })),
  });

describe('the counts of a test report', () => {
  it('are summed over files and reports', () => {
    const unit = countTests(
      report(true, ['passed', ['passed', 'passed']], ['passed', ['passed', 'skipped', 'todo']]),
    );
    const e2e = countTests(report(false, ['failed', ['passed', 'failed']]));
    expect(line(total([unit, e2e]))).toBe('4 passed, 1 failed, 2 skipped');
    expect(line(total([unit]))).toBe('3 passed, 0 failed, 2 skipped');
  });

  it('omit skipped tests if there are none', () => {
    expect(line(countTests(report(true, ['passed', ['passed']])))).toBe('1 passed, 0 failed');
  });

  it('count a file that fails before its first test as a failure', () => {
    expect(countTests(report(false, ['passed', ['passed']], ['failed', []]))).toEqual({
      passed: 1,
      failed: 1,
      skipped: 0,
    });
  });

  it('count an error outside of all files as a failure', () => {
    expect(countTests(report(false, ['passed', ['passed']]))).toEqual({
      passed: 1,
      failed: 1,
      skipped: 0,
    });
  });

  it('reject a truncated report', () => {
    expect(() => countTests(report(true, ['passed', ['passed']]).slice(0, -3))).toThrow();
  });
});
