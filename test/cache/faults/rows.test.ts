/**
 * Checks the table of faults: every fault has a row, every row has tests, every test has a row, and
 * the page matches the table.
 */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { root } from '../../helpers/repository.ts';
import { answers } from './answers.ts';
import { connections } from './connections.ts';
import { content } from './content.ts';
import { FAULTS, MEMORY_FAULTS } from './rows.ts';
import { faultPage } from './table.ts';

const rows = [...FAULTS, ...MEMORY_FAULTS];
const cases = [...connections, ...answers, ...content].map(({ name }) => name);

/** Known faults of Kubernetes watches, each by a part of its title. */
const KNOWN = [
  ...[
    '410 as an answer',
    '410 as an event',
    'too large resource version',
    '429',
    '500, 502, 503, 504',
    '401',
    '403 and 404',
  ],
  ...[
    'connection refused',
    'middle of a frame',
    'malformed',
    'half-open',
    'quiet watch',
    'timeoutSeconds',
    'very short',
  ],
  ...[
    'come twice',
    'bookmarks',
    'empty resourceVersion',
    'end of the initial events',
    'stops matching',
    'very large',
  ],
  ...[
    'gzip',
    'GOAWAY',
    'slow consumer',
    'start and stop',
    'handler that throws',
    'clock that jumps',
    'event loop',
  ],
  ...[
    'browser',
    'TLS',
    'trap',
    'cannot grow',
    'never frees',
    'detached',
    'finalizers',
    'collide',
    'UTF-8',
    '__proto__',
  ],
  'carriage return',
];

test.for(KNOWN)('the table has a row for: %s', (known) => {
  expect(rows.filter(({ fault }) => fault.includes(known)).length, known).toBe(1);
});

test('every row names tests, or says why there are none', () => {
  const silent = rows.filter(
    ({ tests, elsewhere, without }) => !tests?.length && !elsewhere?.length && !without,
  );
  expect(silent.map(({ fault }) => fault)).toEqual([]);
});

test('every test that a row names exists', () => {
  const missing = rows.flatMap(({ tests = [], elsewhere = [] }) => [
    ...tests.filter((name) => !cases.includes(name)),
    ...elsewhere
      .filter(
        ({ file, name }) =>
          !existsSync(`${root}${file}`) ||
          !readFileSync(`${root}${file}`, 'utf8').includes(`'${name}'`),
      )
      .map(({ file, name }) => `${file}: ${name}`),
  ]);
  expect(missing).toEqual([]);
});

test('every test of a fault belongs to a row, and has a name of its own', () => {
  const named = new Set(rows.flatMap(({ tests = [] }) => tests));
  expect(cases.filter((name) => !named.has(name))).toEqual([]);
  expect(new Set(cases).size).toBe(cases.length);
});

// `npx vitest run test/cache/faults -u` writes it.
test('docs/evidence/watch-faults.md is the table', async () => {
  await expect(faultPage()).toMatchFileSnapshot(`${root}docs/evidence/watch-faults.md`);
});
