/**
 * docs/project/upstream-tests.md maps client-go's tests to ours. Each test that it names must
 * exist, so that a rename does not break it.
 */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { root } from '../helpers/repository.ts';
import { hasTest, rowsOf } from './upstream-tests.ts';

/** The number of tests in the files of controller-runtime v0.25.2. */
const TESTS = {
  'pkg/manager/manager_test.go': 73,
  'pkg/manager/runnable_group_test.go': 17,
  'pkg/manager/signals/signal_test.go': 1,
  'pkg/healthz/healthz_test.go': 14,
  'pkg/metrics/filters/filters_test.go': 2,
  'pkg/source/source_test.go': 15,
  'pkg/source/source_integration_test.go': 5,
  'pkg/internal/source/internal_test.go': 18,
  'pkg/handler/eventhandler_test.go': 42,
  'pkg/predicate/predicate_test.go': 38,
  'pkg/finalizer/finalizer_test.go': 9,
  'pkg/controller/controllerutil/controllerutil_test.go': 60,
  'pkg/internal/controller/controller_test.go': 75,
  'pkg/controller/controller_test.go': 30,
  'pkg/builder/controller_test.go': 24,
  'pkg/cache/cache_test.go': 104,
  'pkg/cache/defaulting_test.go': 29,
  'pkg/cache/informer_cache_test.go': 1,
  'pkg/cache/informer_cache_unit_test.go': 4,
  'pkg/cache/internal/informers_test.go': 1,
  'pkg/client/client_test.go': 171,
  'pkg/client/namespaced_client_test.go': 34,
  'pkg/client/dryrun_test.go': 19,
  'pkg/client/interceptor/intercept_test.go': 30,
  'pkg/client/fieldowner_test.go': 2,
  'pkg/client/fieldvalidation_test.go': 3,
  'pkg/client/patch_test.go': 1,
  'pkg/client/options_test.go': 67,
  'pkg/client/watch_test.go': 4,
  'pkg/client/consistency_envtest_test.go': 7,
  'pkg/client/consistency_fake_test.go': 35,
  'pkg/client/internal/consistencyhandler/consistencyhandler_test.go': 10,
  'pkg/client/internal/writebarrier/writebarrier_test.go': 8,
  'pkg/client/config/config_test.go': 10,
  'pkg/client/apiutil/apimachinery_test.go': 4,
  'pkg/client/apiutil/restmapper_test.go': 12,
  'pkg/client/apiutil/restmapper_wb_test.go': 4,
  'pkg/client/fake/client_test.go': 169,
  'pkg/client/fake/typeconverter_test.go': 8,
};

const page = readFileSync(`${root}/docs/project/upstream-tests.md`, 'utf8');
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

  // All tests that run, without pending ones. Whole files had no rows.
  it('has all tests of the files of controller-runtime', () => {
    const counted: Record<string, number> = {};
    for (const { file, tests } of rows) {
      const path = file.replace(/: .*/, '');
      counted[path] = (counted[path] ?? 0) + tests;
    }
    const files = Object.keys(TESTS);
    expect(Object.fromEntries(files.map((file) => [file, counted[file] ?? 0]))).toEqual(TESTS);
    const unknown = Object.keys(counted).filter((file) => /^pkg\/c(ache|lient)\//.test(file));
    expect(unknown.filter((file) => !(file in TESTS))).toEqual([]);
  });

  it('has one row per test, with a counterpart or a reason', () => {
    const names = rows.map(({ file, name }) => `${file} ${name}`);
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
    expect(
      rows.filter(({ counterparts, reason }) => counterparts.length === 0 && reason.length < 10),
    ).toEqual([]);
  });

  // tools/watch was promised, and had no row.
  it('has rows of every package whose tests it promises', () => {
    const promise = page.slice(0, page.indexOf('and those of'));
    const packages = [...promise.matchAll(/`(tools\/\w+)`/g)].map(([, name]) => `${name}/`);
    expect(packages).toHaveLength(3);
    expect(packages.filter((name) => !rows.some(({ file }) => file.startsWith(name)))).toEqual([]);
  });

  it('states the number of tests', () => {
    const sum = (some: typeof rows) => some.reduce((total, { tests }) => total + tests, 0);
    const [all, left] = [sum(rows), sum(rows.filter(({ reason }) => reason !== ''))];
    expect(page).toContain(
      `${all} tests upstream in ${rows.length} rows: ` +
        `${all - left} with a counterpart, ${left} left out.`,
    );
    expect(rows.length).toBeGreaterThan(1400);
  });
});

describe('the reader of the table', () => {
  it('parses counterparts and reasons, and rejects other rows', () => {
    const text =
      '### a_test.go\n| `TestA` | `test/a.test.ts`: one \\| ' +
      'two<br>`test/b.test.ts`: three |\n| `TestB (3 tests)` | left out: why |';
    expect(rowsOf(text)).toEqual([
      {
        file: 'a_test.go',
        name: 'TestA',
        tests: 1,
        counterparts: [
          { path: 'test/a.test.ts', title: 'one | two' },
          { path: 'test/b.test.ts', title: 'three' },
        ],
        reason: '',
      },
      { file: 'a_test.go', name: 'TestB (3 tests)', tests: 3, counterparts: [], reason: 'why' },
    ]);
    expect(() => rowsOf('| `TestA` | somewhere |')).toThrow('line 1 names no test');
    expect(() => rowsOf('| `TestA` |')).toThrow('line 1 is no row');
  });

  it('finds a test only by its whole title, in any quotes', () => {
    const source =
      "test('one', f);\nit.each([1])('it's %s', " +
      'f);\ndescribe(`three`, f);\ntest(\n    "four",\n f);';
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
