/**
 * The results of the page: medians and ratios in both directions, percentiles, and the texts to
 * copy.
 */
import { describe, expect, it } from 'vitest';
import {
  showMs,
  showNs,
  showRate,
  showRatio,
  showSeconds,
  showTime,
} from '../../bench/page/format.ts';
import {
  DEFAULT_PLAN,
  plannedItems,
  planOf,
  roughSeconds,
  steadyShape,
  WORKS,
} from '../../bench/page/plan.ts';
import type { SteadySlice } from '../../bench/page/protocol.ts';
import { jsonOf, markdownOf, verdictLine } from '../../bench/page/report.ts';
import {
  bucketMsOf,
  MOST_BUCKETS,
  outcomeOfMean,
  overlaps,
  pageVerdict,
  percentiles,
  rowOf,
  SteadyTally,
} from '../../bench/page/result.ts';
import { workloads } from '../../bench/peers/naive-ts/workloads.mjs';
import { resultOf, rowOf as sampleRow } from './samples.ts';

describe('the plan', () => {
  it('names all works of the peers, in their order', () => {
    expect(WORKS.map((work) => work.name)).toEqual(Object.keys(workloads));
  });

  it('includes a million keys only on request', () => {
    expect(planOf('')).toEqual({ plan: DEFAULT_PLAN, problems: [] });
    expect(DEFAULT_PLAN.sizes).toEqual([1_000, 10_000, 100_000]);
    expect(plannedItems(DEFAULT_PLAN)).toHaveLength(24);
    expect(roughSeconds(DEFAULT_PLAN)).toBeLessThan(120);
  });

  it('is read from the address, in the order of the page, without repetitions', () => {
    const { plan, problems } = planOf(
      '?works=limiter,cycle-same&n=100000,1000,1000&rounds=3&steady=5000&seconds=2',
    );
    expect(problems).toEqual([]);
    expect(plan).toEqual({
      works: ['cycle-same', 'limiter'],
      sizes: [1000, 100_000],
      rounds: 3,
      live: 5000,
      seconds: 2,
    });
    expect(steadyShape(plan)).toEqual({ live: 5000, rate: 200_000, ms: 1000, warmUpMs: 200 });
  });

  it.each([
    [
      '?works=cycle-some',
      /“works” in the address expected names from cycle-same, .*got “cycle-some”/,
    ],
    ['?works=', /“works”/],
    ['?works=__proto__', /“works”/],
    ['?n=0', /“n” .*from 1 to 2000000, got “0”/],
    ['?n=1e3', /“n”/],
    ['?n=1,2,3,4,5,6,7,8,9', /at most 8/],
    ['?rounds=100', /“rounds” .*from 1 to 99, got “100”/],
    ['?seconds=-1', /“seconds”/],
    [`?steady=${'9'.repeat(100)}`, /“steady” .*got “9{60}”/],
  ])('reports %s as unknown and keeps the default', (query, message) => {
    const { plan, problems } = planOf(query);
    expect(plan).toEqual(DEFAULT_PLAN);
    expect(problems).toEqual([expect.stringMatching(message)]);
  });
});

describe('a row', () => {
  it('is the median of the rounds that both peers have completed', () => {
    const item = { work: 'limiter', n: 1000 };
    expect(rowOf(item, { capstan: [], naive: [] })).toBeUndefined();
    expect(rowOf(item, { capstan: [3, 1, 2], naive: [8, 4] })).toEqual({
      ...item,
      rounds: 2,
      capstan: { ns: 2, min: 1, max: 3 },
      naive: { ns: 8, min: 4, max: 8 },
    });
  });

  it('is called near if a round of the slower peer beat one of the faster', () => {
    expect(overlaps(sampleRow('limiter', 1, 100, 115))).toBe(true);
    expect(overlaps(sampleRow('limiter', 1, 115, 100))).toBe(true);
    expect(overlaps(sampleRow('limiter', 1, 100, 200))).toBe(false);
    expect(overlaps(sampleRow('limiter', 1, 200, 100))).toBe(false);
  });
});

describe('the verdict', () => {
  it('counts losses like wins, and names the worst beside the best', () => {
    const rows = [
      sampleRow('cycle-same', 1, 25, 100),
      sampleRow('limiter', 1, 400, 100),
      sampleRow('add-after', 1, 50, 100),
    ];
    expect(pageVerdict(rows)).toMatchObject({
      wins: 2,
      losses: 1,
      near: 0,
      best: rows[0],
      worst: rows[1],
    });
    expect(pageVerdict(rows)?.mean.ratio).toBeCloseTo(0.5 ** (1 / 3));
    expect(pageVerdict([])).toBeUndefined();
  });
});

// A reader saw "1.26× faster" where the rounds of both sides overlapped.
describe('the winner', () => {
  it.each([
    [
      25,
      'win',
      /^Capstan wins: 4\.00× faster \(.*× faster to .*× faster over the rounds\)\. Faster/,
    ],
    [400, 'loss', /^The naive port wins: Capstan is 4\.00× slower \(/],
    [105, 'noise', /^No winner: .* within the noise .* slower in 0, within the noise in 2\.$/],
  ] as const)('of %i ns beside 100 is a %s', (ns, outcome, line) => {
    const rows = [sampleRow('limiter', 1, ns, 100), sampleRow('limiter', 9, ns, 100)];
    const verdict = pageVerdict(rows);
    expect(verdict && outcomeOfMean(verdict.mean)).toBe(outcome);
    expect(verdict?.works).toEqual([{ work: 'limiter', mean: verdict?.mean }]);
    expect(verdictLine(rows)).toMatch(line);
  });
});

describe('the steady load', () => {
  const slice = (changes: Partial<SteadySlice>): SteadySlice => ({
    spanMs: 100,
    waits: new Float64Array(),
    latencies: new Float64Array(),
    pauses: new Float64Array(),
    longest: 0,
    stalls: 0,
    stalledMs: 0,
    busyMs: 0,
    cycles: 0,
    ...changes,
  });

  it('sums its slices, including the rate', () => {
    const tally = new SteadyTally(10);
    tally.add(
      slice({
        cycles: 20_000,
        busyMs: 4,
        longest: 2,
        stalls: 1,
        stalledMs: 3,
        pauses: Float64Array.of(1, 2),
      }),
    );
    tally.add(
      slice({
        cycles: 10_000,
        busyMs: 2,
        stalls: 2,
        stalledMs: 5,
        pauses: Float64Array.of(9),
        latencies: Float64Array.of(7),
      }),
    );
    expect(tally.ms).toBe(200);
    expect(tally.side()).toMatchObject({
      rate: 150_000,
      cycleNs: 200,
      longest: 2,
      stalls: 3,
      stalledMs: 8,
      pauses: [1, 2, 9],
    });
    expect(tally.side().latencies).toEqual([7, 7, 7, 7, 7]);
    expect(tally.side().delays).toEqual([0, 0, 0, 0, 0]);
  });

  it('keeps the longest pause of a long run in a strip of limited width', () => {
    const tally = new SteadyTally(600);
    expect(bucketMsOf(600)).toBe(600);
    for (let i = 0; i < 120; i++)
      tally.add(
        slice({
          pauses: Float64Array.from({ length: 100 }, (_, k) => (i === 77 && k === 5 ? 99 : 1)),
        }),
      );
    const { pauses } = tally.side();
    expect(pauses).toHaveLength(1000);
    expect(pauses.length).toBeLessThanOrEqual(MOST_BUCKETS);
    expect(pauses.filter((ms) => ms === 99)).toHaveLength(1);
  });

  it('has percentiles that were measured, not interpolated', () => {
    expect(percentiles(Array.from({ length: 1000 }, (_, i) => 1000 - i))).toEqual([
      500, 900, 990, 999, 1000,
    ]);
    expect(percentiles([])).toEqual([0, 0, 0, 0, 0]);
  });
});

describe('figures', () => {
  it('have three digits and a unit, and ratios in both directions', () => {
    expect([0.123, 1.234, 12.34, 123.4, 1234, 12_345, 1.2e7].map(showNs)).toEqual([
      '0.123 ns',
      '1.23 ns',
      '12.3 ns',
      '123 ns',
      '1234 ns',
      '12.3 µs',
      '12.0 ms',
    ]);
    expect([0, 0.0051, 0.5, 16.7, 1500].map(showMs)).toEqual([
      '0 µs',
      '5.10 µs',
      '500 µs',
      '16.7 ms',
      '1.50 s',
    ]);
    expect([12, 4_560, 7_890_000].map(showRate)).toEqual(['12.0 /s', '4.56 k/s', '7.89 M/s']);
    expect([0.5, 2, 1.004, 0.03].map(showRatio)).toEqual([
      '2.00× faster',
      '2.00× slower',
      'even',
      '33.3× faster',
    ]);
    expect([4.4, 59.6, 61].map(showSeconds)).toEqual(['4 s', '1 min 00 s', '1 min 01 s']);
  });

  it('below the step of the clock are shown as unknown', () => {
    expect(showTime(0.02, 0.1)).toBe('< 100 µs');
    expect(showTime(0.2, 0.1)).toBe('200 µs');
  });
});

describe('the texts to copy', () => {
  it('have a line for every row, wins and losses, and the steady load', () => {
    const text = markdownOf(resultOf());
    expect(text).toContain(
      '| cycle-fresh | 100k | 100 (90.0–110) | 300 (270–330) | 0.33 | 3.00× faster |',
    );
    expect(text).toContain(
      '| limiter | 1k | 120 (108–132) | 60.0 (54.0–66.0) | 2.00 | 2.00× slower |',
    );
    expect(text).toContain('| longest pause | 8.00 ms | 80.0 ms | 0.10 |');
    expect(text).toContain('2026-05-06');
    expect(markdownOf(resultOf({ stopped: true, steady: undefined }))).toContain('stopped early');
  });

  it("escape the browser's name for the page that they are pasted into", () => {
    const { environment } = resultOf();
    const text = markdownOf(
      resultOf({ environment: { ...environment, browser: '](x) <b>|`*\n# Hello' } }),
    );
    expect(text).not.toMatch(/<b>|\]\(x|\n# Hello|`\*/);
    expect(text).toContain('Hello');
  });

  it('are for programs as well, with the units', () => {
    const json = JSON.parse(jsonOf(resultOf())) as Record<string, unknown>;
    expect(json).toMatchObject({
      format: 'capstan-bench-page',
      formatVersion: 1,
      at: '2026-05-06T07:08:09.000Z',
    });
    expect(json.rows).toHaveLength(2);
    expect(json.units).toMatchObject({ rows: 'ns per operation' });
  });
});
