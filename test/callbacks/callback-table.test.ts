/**
 * Checks the table of user functions: every function in the types has one row, every row names
 * existing functions and tests, the two matrix tests have rows, and docs/reference/callbacks.md is
 * generated from the table.
 */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { root } from '../helpers/repository.ts';
import { callbackPage } from './callback-page.ts';
import { OURS, SECTIONS } from './callback-table.ts';
import { handedIn } from './user-functions.ts';

const rows = SECTIONS.flatMap(([, all]) => all);
/** The name without the function that the named one returns. */
const found = handedIn().filter((name) => !name.endsWith('()'));

const stands = (pattern: string, name: string): boolean =>
  pattern.endsWith('.*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;

test('every function that a program can pass has one row', () => {
  const patterns = [...rows.flatMap(({ functions }) => functions), ...OURS];
  const times = (name: string): number =>
    patterns.filter((pattern) => stands(pattern, name)).length;
  expect(found.length).toBeGreaterThan(250);
  expect(found.filter((name) => times(name) === 0)).toEqual([]);
  expect(found.filter((name) => times(name) > 1)).toEqual([]);
});

test('every function of a row exists in the types', () => {
  const patterns = [...rows.flatMap(({ functions }) => functions), ...OURS];
  const isThere = (pattern: string): boolean => found.some((name) => stands(pattern, name));
  expect(patterns.filter((pattern) => !isThere(pattern))).toEqual([]);
});

test('every test that a row names exists', () => {
  const files = rows.flatMap(({ tests }) => tests);
  expect(rows.filter(({ tests }) => tests.length === 0)).toEqual([]);
  expect(files.filter((file) => !existsSync(`${root}/test/${file}`))).toEqual([]);
});

test.each(['callbacks/controller-callbacks.test.ts', 'callbacks/informer-callbacks.test.ts'])(
  'the rows that name %s are those of the functions it calls',
  (file) => {
    const text = readFileSync(`${root}/test/${file}`, 'utf8');
    const called = [...text.matchAll(/name: '([A-Za-z]+[.(][^']+|IndexSpec)'/g)].map(
      ([, name = '']) => name,
    );
    const patterned = [...text.matchAll(/name: `([A-Za-z]+)\.\$\{/g)].map(([, type]) => `${type}.`);
    const functions = rows.filter(({ tests }) => tests.includes(file)).map((row) => row.functions);
    expect(called.length).toBeGreaterThan(4);
    const named = (name: string): boolean =>
      functions.some((all) =>
        all.some((pattern) => stands(pattern, name) || pattern.startsWith(name)),
      );
    expect([...called, ...patterned].filter((name) => !named(name))).toEqual([]);
    const calls = (pattern: string): boolean =>
      called.some((name) => stands(pattern, name)) ||
      patterned.some((type) => pattern.startsWith(type));
    expect(functions.filter((all) => !all.some(calls))).toEqual([]);
  },
);

// `npx vitest run test/callbacks -u` writes it.
test('docs/reference/callbacks.md is generated from the table', async () => {
  await expect(callbackPage()).toMatchFileSnapshot(`${root}/docs/reference/callbacks.md`);
});
