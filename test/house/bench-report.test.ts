/**
 * The report of a benchmark run: ratios are against the best peer, and losses are reported as
 * losses.
 */
import { describe, expect, it } from 'vitest';
import {
  type Figure,
  MEAN_SET,
  median,
  ratioOf,
  summarize,
  table,
  verdict,
} from '../../bench/measure/figures.ts';
import { readOptions } from '../../bench/options.ts';

const figure = (peer: string, work: string, n: number, ns: number, cpu?: number): Figure => ({
  peer,
  work,
  n,
  ns,
  cpu,
});
const wall = (each: Figure): number => each.ns;

describe('figures', () => {
  it('are the median of the samples, with their range', () => {
    expect(summarize('capstan', 'limiter', 1000, [5, 1, 9])).toEqual({
      peer: 'capstan',
      work: 'limiter',
      n: 1000,
      ns: 5,
      min: 1,
      max: 9,
    });
    expect(median([4, 1, 3, 2])).toBe(3);
    expect(() => median([])).toThrow('at least one');
  });
});

describe('a ratio', () => {
  it('is against the best peer', () => {
    const row = [
      figure('capstan', 'w', 1, 90),
      figure('naive', 'w', 1, 100),
      figure('client-go', 'w', 1, 60),
    ];
    expect(ratioOf(row, wall)).toEqual({ ratio: 1.5, against: 'client-go' });
  });

  it("needs our figure and a peer's; a floor is no peer", () => {
    expect(ratioOf([figure('naive', 'w', 1, 1)], wall)).toBeUndefined();
    expect(
      ratioOf([figure('capstan', 'w', 1, 1), figure('null-reader', 'w', 1, 1)], wall),
    ).toBeUndefined();
  });
});

describe('the report', () => {
  const figures = MEAN_SET.flatMap(([work, n], i) => [
    figure('capstan', work, n, i === 0 ? 160 : 50),
    figure('naive', work, n, 100),
    figure('client-go', work, n, 400),
  ]);

  it('reports losses and wins', () => {
    const lines = table(figures).split('\n');
    expect(lines).toHaveLength(1 + MEAN_SET.length);
    expect(lines.filter((line) => line.includes('LOSS'))).toEqual([
      expect.stringMatching(/^cycle-fresh 100k .*1\.60 LOSS/),
    ]);
    expect(lines.filter((line) => line.includes('0.50 win  vs naive'))).toHaveLength(
      MEAN_SET.length - 1,
    );
  });

  it('has the geometric mean over the set and the worst of it', () => {
    expect(MEAN_SET).toHaveLength(12);
    const text = verdict(figures);
    expect(text).toContain('geometric mean of 12 ratios: 0.551');
    expect(text).toContain('worst of them: cycle-fresh 100k 1.60');
    expect(text).not.toContain('not measured');
  });

  it('names the missing measurements of the set', () => {
    expect(verdict(figures.slice(0, 3))).toMatch(
      /mean of 1 ratios: 1\.600[\s\S]*not measured: cycle-fresh 1M, /,
    );
    expect(verdict([])).toContain('nothing of its set');
  });

  it('compares informers by their CPU time', () => {
    const text = table([
      figure('capstan', 'informer', 20_000, 9e4, 1e4),
      figure('client-node', 'informer', 20_000, 5e4, 4e4),
    ]);
    expect(text).toContain('0.25 win');
  });
});

describe('the command line', () => {
  it('accepts a work, a size and --json', () => {
    expect(readOptions([], ['limiter'])).toEqual({ work: undefined, n: undefined, json: false });
    expect(readOptions(['--work', 'limiter', '--n', '1000', '--json'], ['limiter'])).toEqual({
      work: 'limiter',
      n: 1000,
      json: true,
    });
  });

  it.each([
    [['--work', 'limitr'], /one of limiter; got "limitr"/],
    [['--n', '0'], /above 0, got "0"/],
    [['--n', '1e'], /above 0, got "1e"/],
    [['--jsn'], /jsn/],
    [['limiter'], /limiter/],
  ])('rejects %j', (args, message) => {
    expect(() => readOptions(args, ['limiter'])).toThrow(message);
  });
});
