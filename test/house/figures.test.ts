/** The chart of the README shows what the tables of the benchmarks page say. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { chart, readPage } from '../../scripts/draw-figures.ts';
import { root } from '../helpers/repository.ts';

test('figures.svg is what draw-figures.ts draws', () => {
  expect(readFileSync(`${root}/docs/pictures/figures.svg`, 'utf8')).toBe(chart(readPage()));
});

test('a row that the page has no more is an error', () => {
  expect(() => chart(readPage().replace('| limiter | 100k', '| limiter | 200k'))).toThrow(
    'expected one row "limiter | 100k", got 0',
  );
});
