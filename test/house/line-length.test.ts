/**
 * Lines of code, comments and tests end at 100 columns. biome wraps code; this test covers
 * comments, strings, test titles and the other languages too.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

const COLUMNS = 100;
/** A longer word (a URL, a hash, a regular expression) has no place to break. */
const LONGEST_WORD = 60;
/** Others are data, recordings, pictures and Markdown, whose tables cannot be broken. */
const SOURCE = /\.(ts|mjs|go|css|html|sh|yaml)$/;
const GENERATED = /^\/\*\*(?:(?!\*\/)[\s\S])*Written[\s*]+by scripts\//;
/** Each line is a command for kubectl whose output is recorded, by the line. */
const COMMANDS = /^test\/clients\/kubectl\/.*\.sh$/;

const FOLDERS = ['assembly', 'bench', 'bin', 'bindings', 'examples', 'scripts', 'test', 'tools'];

function sources(): string[] {
  const listed = execFileSync('git', ['ls-files', ...FOLDERS], { cwd: root, encoding: 'utf8' });
  return listed.split('\n').filter((path) => SOURCE.test(path) && !COMMANDS.test(path));
}

const isBreakable = (line: string): boolean =>
  line.split(/\s+/).every((word) => word.length <= LONGEST_WORD);

/** The numbers of the lines that are too long and can be broken; none in a generated file. */
function longLines(text: string): number[] {
  if (GENERATED.test(text)) return [];
  return text
    .split('\n')
    .flatMap((line, i) => (line.length > COLUMNS && isBreakable(line) ? [i + 1] : []));
}

describe('a line', () => {
  const words = (length: number): string => 'word '.repeat(length / 5);

  it.each([
    ['of 100 columns', words(100), []],
    ['of more columns', `\n${words(105)}\n${words(50)}`, [2]],
    ['with a word that cannot be broken', `${words(50)}${'x'.repeat(61)}`, []],
    ['of a generated file', `/**\n * Data. Written\n * by scripts/x.ts.\n */\n${words(105)}`, []],
    ['of another file', `/**\n * Data.\n */\n${words(105)}`, [4]],
  ])('%s', (_, text, lines) => {
    expect(longLines(text)).toEqual(lines);
  });
});

describe('the sources', () => {
  const paths = sources();

  it('are found by this test', () => {
    for (const folder of FOLDERS)
      expect(paths.some((path) => path.startsWith(`${folder}/`))).toBe(true);
  });

  it('have lines of at most 100 columns', () => {
    const long = paths.flatMap((path) =>
      longLines(readFileSync(`${root}/${path}`, 'utf8')).map((line) => `${path}:${line}`),
    );
    expect(long).toEqual([]);
  });
});
