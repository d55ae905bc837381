/**
 * The table that says which test here stands for which one of client-go's: what it names has to
 * exist, or a renamed test would leave a promise that nothing keeps.
 */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { hasTest, rowsOf } from './upstream-tests.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = readFileSync(`${root}/docs/upstream-tests.md`, 'utf8');
const rows = rowsOf(page);

describe('the table of upstream tests', () => {
  it('names tests that exist', () => {
    const missing = rows.flatMap(({ name, counterparts }) =>
      counterparts
        .filter(({ path, title }) => {
          const at = `${root}/${path}`;
          return !existsSync(at) || !hasTest(readFileSync(at, 'utf8'), title);
        })
        .map(({ path, title }) => `${name}: ${path}: ${title}`),
    );
    expect(missing).toEqual([]);
  });

  it('has one row for each test, with a counterpart or a reason', () => {
    const names = rows.map(({ file, name }) => `${file} ${name}`);
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
    expect(
      rows.filter(({ counterparts, reason }) => counterparts.length === 0 && reason.length < 10),
    ).toEqual([]);
  });

  // tools/watch was promised, and had no row.
  it('has rows of every package of which it promises each test', () => {
    const promise = page.slice(0, page.indexOf('and those of'));
    const packages = [...promise.matchAll(/`(tools\/\w+)`/g)].map(([, name]) => `${name}/`);
    expect(packages).toHaveLength(3);
    expect(packages.filter((name) => !rows.some(({ file }) => file.startsWith(name)))).toEqual([]);
  });

  it('says how many there are', () => {
    const left = rows.filter(({ reason }) => reason !== '').length;
    const sum = `${rows.length} tests upstream, ${rows.length - left} with a counterpart, ${left} left out.`;
    expect(page).toContain(sum);
    expect(rows.length).toBeGreaterThan(200);
  });
});

describe('the reader of the table', () => {
  it('knows counterparts and reasons, and refuses what is neither', () => {
    const text =
      '### a_test.go\n| `TestA` | `test/a.test.ts`: one \\| two<br>`test/b.test.ts`: three |\n| `TestB` | left out: why |';
    expect(rowsOf(text)).toEqual([
      {
        file: 'a_test.go',
        name: 'TestA',
        counterparts: [
          { path: 'test/a.test.ts', title: 'one | two' },
          { path: 'test/b.test.ts', title: 'three' },
        ],
        reason: '',
      },
      { file: 'a_test.go', name: 'TestB', counterparts: [], reason: 'why' },
    ]);
    expect(() => rowsOf('| `TestA` | somewhere |')).toThrow('line 1 names no test');
    expect(() => rowsOf('| `TestA` |')).toThrow('line 1 is no row');
  });

  it('finds a test by its whole title alone, however it is quoted', () => {
    const source =
      "test('one', f);\nit.each([1])('it\\'s %s', f);\ndescribe(`three`, f);\ntest(\n    \"four\",\n f);";
    expect(['one', "it's %s", 'three', 'four'].map((title) => hasTest(source, title))).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(['on', 'ne', 'three, f'].map((title) => hasTest(source, title))).toEqual([
      false,
      false,
      false,
    ]);
  });
});
