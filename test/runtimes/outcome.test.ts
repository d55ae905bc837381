/** The verdict on a run over many runtimes: nothing passes by omission. */
import { describe, expect, test } from 'vitest';
import { countTests } from '../../scripts/test-counts.ts';
import { identify } from './identity.ts';
import {
  comparedWithEachOther,
  countsOf,
  describeOutcomes,
  hasFailed,
  type RuntimeOutcome,
  runtimesJsonReport,
} from './outcome.ts';
import { MARK, messageIn } from './report.ts';
import type { Result } from './shim/registry.ts';

const result = (title: string, state: Result['state'] = 'passed'): Result => ({
  path: ['queue.ts', title],
  state,
  ms: 1,
  ...(state === 'failed' ? { message: 'Unmet: expected 1 to be 2' } : {}),
});
const outcome = (
  name: string,
  results: readonly Result[],
  more: Partial<RuntimeOutcome> = {},
): RuntimeOutcome => ({
  name,
  about: '1.0',
  seconds: 1,
  results,
  ...more,
});

describe('a runtime', () => {
  test('that ran no test has failed, one that was skipped has not', () => {
    expect(hasFailed(outcome('deno', []))).toBe(true);
    expect(hasFailed(outcome('deno', [result('a', 'skipped')]))).toBe(true);
    expect(hasFailed(outcome('deno', [], { skipped: 'not found' }))).toBe(false);
    expect(hasFailed(outcome('deno', [result('a')]))).toBe(false);
    expect(hasFailed(outcome('deno', [result('a'), result('b', 'failed')]))).toBe(true);
    expect(hasFailed(outcome('deno', [result('a')], { failure: 'died' }))).toBe(true);
  });

  test('that omits a test of another runtime has failed', () => {
    const full = outcome('node-26', [result('a'), result('b'), result('b')]);
    const [first, second, third, fourth] = comparedWithEachOther([
      full,
      outcome('deno', [result('a'), result('b')]),
      outcome('bun', [], { skipped: 'not found' }),
      outcome('workerd', [
        result('b'),
        result('b'),
        result('a'),
        { ...result('x'), path: ['a queue at the top', 'x'] },
      ]),
    ]);
    expect(first).toBe(full);
    expect(second?.failure).toBe(
      '1 tests that ran elsewhere did not run here, first: queue.ts > b',
    );
    expect(third?.failure).toBeUndefined();
    expect(fourth?.failure).toBeUndefined();
  });

  test('has failed if no runtime ran a case', () => {
    const own = { ...result('a'), path: ['the runtime', 'a'] };
    expect(comparedWithEachOther([outcome('deno', [own])])[0]?.failure).toBe('no case ran');
  });
});

test('the text names every failure and everything that was skipped', () => {
  const text = describeOutcomes([
    outcome('node-26', [result('a'), result('b', 'failed')], { blind: ['this from that'] }),
    outcome('bun', [], { skipped: 'not found: install it' }),
    outcome('csp', [result('c', 'skipped'), result('d')]),
    outcome('deno', [], { failure: 'ended with 1' }),
  ]);
  expect(text).toMatch(/^node-26 .* 1 passed, 1 failed$/m);
  expect(text).toMatch(/^bun .* SKIPPED: not found: install it$/m);
  expect(text).toMatch(/^csp .* 1 passed, 0 failed, 1 skipped$/m);
  expect(text).toContain('FAILED node-26 > queue.ts > b\n  Unmet: expected 1 to be 2');
  expect(text).toContain('skipped on csp: queue.ts > c');
  expect(text).toContain('FAILED deno: ended with 1');
  expect(text).toContain('not told on node-26: this from that');
});

test('the JSON report adds up like the reports of vitest', () => {
  const outcomes = [
    outcome('node-26', [result('a'), result('b', 'failed')]),
    outcome('bun', [], { skipped: 'not found' }),
    outcome('deno', [result('a')], { failure: 'ended with 1' }),
    outcome('csp', [result('c', 'skipped'), result('d')]),
  ];
  expect(countTests(JSON.stringify(runtimesJsonReport(outcomes)))).toEqual({
    passed: 3,
    failed: 2,
    skipped: 2,
  });
  expect(outcomes.map(countsOf).reduce((sum, { failed }) => sum + failed, 0)).toBe(2);
  expect(countTests(JSON.stringify(runtimesJsonReport([outcome('deno', [])]))).failed).toBe(1);
  expect(countTests(JSON.stringify(runtimesJsonReport([outcome('deno', [result('a')])])))).toEqual({
    passed: 1,
    failed: 0,
    skipped: 0,
  });
});

test.each([
  [
    { process: { versions: { node: '24.1.0' } }, navigator: { userAgent: 'Node.js/24' } },
    'node-24',
    '24.1.0',
  ],
  [
    { Deno: { version: { deno: '2.9.6' } }, process: { versions: { node: '26.0.0' } } },
    'deno',
    '2.9.6',
  ],
  [{ Bun: { version: '1.4.5' }, process: { versions: { node: '26.0.0' } } }, 'bun', '1.4.5'],
  [
    {
      navigator: {
        userAgent: 'Mozilla/5.0 (X11; Linux x86_64) HeadlessChrome/156.0.0.0 Safari/537.36',
      },
    },
    'chromium',
    '156.0.0.0',
  ],
  [
    { navigator: { userAgent: 'Cloudflare-Workers' }, process: { versions: { node: '22.0.0' } } },
    'workerd',
    '',
  ],
  [
    { navigator: { userAgent: 'Mozilla/5.0 Firefox/150.0' } },
    'unknown runtime',
    'Mozilla/5.0 Firefox/150.0',
  ],
])('a host is recognised by its own report: %#', (host, name, version) => {
  expect(identify(host)).toEqual({ name, version });
});

test('messages are distinguished from other output', () => {
  const message = { kind: 'failure', message: 'a\nb' };
  expect(messageIn(`log: ${MARK}${JSON.stringify(message)}`)).toEqual(message);
  expect(messageIn('CAPSTAN_SEED=5')).toBeUndefined();
  expect(messageIn(`${MARK}{"kind":`)).toBeUndefined();
});
