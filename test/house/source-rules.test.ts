/**
 * Rules that a linter does not have: tests do not wait for real time, nothing is silenced, and
 * nothing is left to do.
 */
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { root } from '../helpers/repository.ts';

/** All matching lines of the files, as path:line: text. */
function find(patterns: string[], wanted: RegExp): string[] {
  const exclude = [
    '**/node_modules/**',
    'bench/peers/**',
    'bindings/generated/**',
    'test/house/**',
  ];
  return globSync(patterns, { cwd: root, exclude })
    .sort()
    .flatMap((path) =>
      readFileSync(`${root}/${path}`, 'utf8')
        .split('\n')
        .map((line, i) => ({ line, place: `${path}:${i + 1}: ${line.trim()}` })),
    )
    .filter(({ line }) => wanted.test(line))
    .map(({ place }) => place);
}

describe('the sources', () => {
  // A test report with the paths of a developer's machine was once committed although .gitignore
  // named its folder.
  it('commit no file that git ignores', () => {
    expect(
      execFileSync('git', ['ls-files', '--cached', '--ignored', '--exclude-standard'], {
        cwd: root,
        encoding: 'utf8',
      }),
    ).toBe('');
  });

  it('are found by this test', () => {
    expect(find(['bindings/base/clock.ts'], /\bsetTimeout\(/).length).toBeGreaterThan(0);
  });

  // Not test/e2e, test/runtimes and test/helpers/control-plane: a real API server and other
  // runtimes are other processes, which are awaited with deadlines.
  it('set no host timers in tests: they use a fake clock', () => {
    expect(
      find(
        ['test/!(e2e|runtimes|helpers)/**/*.ts', 'test/helpers/{*,!(control-plane)/**/*}.ts'],
        /\bset(Timeout|Interval)\(|\bfrom 'node:timers/,
      ),
    ).toEqual([]);
  });

  // testing/ also needs the time of day, for creation timestamps.
  it('read the host clock and set host timers in one file of the package', () => {
    const monotonic = find(['bindings/**/*.ts'], /\bset(Timeout|Interval)\(|\bperformance\.now\(/);
    const timeOfDay = find(['bindings/**/*.ts'], /\bDate\.now\(|\bnew Date\(\)/);
    expect(
      [...monotonic, ...timeOfDay].filter((place) => !place.startsWith('bindings/base/clock.ts:')),
    ).toEqual([]);
  });

  // A stopped controller in Jest reported an AbortError of Node's core: there it is not an instance
  // of the test's Error. The live page is a realm of its own.
  it('use isError to recognise an error', () => {
    const asked = find(['bindings/**/*.ts'], /\binstanceof (Aggregate)?Error\b/);
    expect(
      asked.filter(
        (place) => !/^bindings\/(base\/errors\.ts|manager\/page\/browser\/)/.test(place),
      ),
    ).toEqual([]);
  });

  it('silence no compiler and no linter, and leave no TODO', () => {
    const everything = ['{bindings,bin,assembly,bench,scripts,examples,test}/**/*.ts', '*.md'];
    expect(
      find(everything, /@ts-(ignore|nocheck|expect-error)|biome-ignore|\b(TODO|FIXME|XXX)\b/),
    ).toEqual([]);
  });

  // Phrases that readers did not understand; documents.test.ts has the list for pages.
  it('have comments in plain English', () => {
    const sources = ['{bindings,bin,assembly,bench,scripts,examples,test}/**/*.ts'];
    const riddles = find(sources, /\bwhoever\b|keeps true|(?<!\w)one's own\b/i);
    expect(riddles.filter((place) => !/^test\/house\/(habits|documents)/.test(place))).toEqual([]);
  });
});
