/** An exported name has one definition, so that a search for it finds one. */
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { root } from '../helpers/repository.ts';

const DEFINITION =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:const enum|class|interface|type|function\*?|const|let|enum)\s+([A-Za-z_][\w$]*)/gm;

const SOURCES = ['bindings/**/*.ts', 'assembly/*.ts', 'bin/**/*.ts', 'scripts/**/*.ts'];
/** One thing on both sides of the boundary: a record of the core, and its class on this side. */
const BOTH_SIDES: readonly string[] = ['Index', 'Shape', 'StoredObject'];
const TESTS = ['test/**/!(*.test).ts'];
const BENCHMARKS = ['bench/**/*.ts'];

/** The files that define each exported name. A workerd variant counts as its module. */
function definitions(patterns: string[]): Map<string, Set<string>> {
  const all = new Map<string, Set<string>>();
  const exclude = [
    'bindings/generated/**',
    'bindings/kinds/kinds.ts', // the names of Kubernetes' kinds
    '**/*.workerd.ts',
    '**/node_modules/**',
  ];
  for (const path of globSync(patterns, { cwd: root, exclude }))
    for (const [, name = ''] of readFileSync(`${root}/${path}`, 'utf8').matchAll(DEFINITION)) {
      const files = all.get(name) ?? new Set();
      all.set(name, files.add(path));
    }
  return all;
}

/** `name: files` of each name with two definitions. */
const duplicates = (all: Map<string, Set<string>>): string[] =>
  [...all]
    .filter(([name, files]) => files.size > (BOTH_SIDES.includes(name) ? 2 : 1))
    .map(([name, files]) => `${name}: ${[...files].sort().join(', ')}`);

describe('exported names', () => {
  it('are found by this test', () => {
    const all = definitions(SOURCES);
    expect(all.get('CapstanError')).toEqual(new Set(['bindings/base/errors.ts']));
    expect(all.size).toBeGreaterThan(1000);
    const tests = definitions(TESTS);
    expect(tests.get('Random')).toEqual(new Set(['test/helpers/random.ts']));
    expect(tests.size).toBeGreaterThan(500);
  });

  it.each([
    ['the package and its scripts', SOURCES],
    ['the tests', TESTS],
    ['the benchmarks', BENCHMARKS],
  ])('of %s are defined in one file each', (_, patterns) => {
    expect(duplicates(definitions(patterns))).toEqual([]);
  });
});
