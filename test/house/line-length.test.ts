/**
 * Lines of code, comments, tests and documents end at 100 columns. biome wraps code; this test
 * covers comments, strings, test titles, Markdown and the other languages too.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

const COLUMNS = 100;
/** A longer word (a URL, a hash, a regular expression) has no place to break. */
const LONGEST_WORD = 60;
/** Others are data, recordings and pictures. */
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

/** Markdown without what cannot be broken: front matter, tables, pictures, comments, code. */
function proseOf(markdown: string): string {
  let isCode = false;
  return markdown
    .replace(/^---\n[\s\S]*?\n---$/m, (front) => front.replace(/.+/g, ''))
    .split('\n')
    .map((line) => {
      const isFence = /^\s*(```|~~~)/.test(line);
      if (isFence) isCode = !isCode;
      return isFence || isCode || /^(\s*\||!\[|<!--|`[^`]*`$)/.test(line) ? '' : line;
    })
    .join('\n');
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

describe('a line of Markdown', () => {
  const long = 'word '.repeat(21);

  it.each([
    ['of prose', long, [1]],
    ['of an item behind a block of code', `\`\`\`\n${long}\n\`\`\`\n- ${long}`, [4]],
    ['of a table', `| ${long} |`, []],
    ['of front matter', `---\ndescription: ${long}\n---\n\n${long}`, [5]],
  ])('%s', (_, markdown, lines) => {
    expect(longLines(proseOf(markdown))).toEqual(lines);
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

describe('the documents', () => {
  it('have lines of at most 100 columns', () => {
    const listed = execFileSync('git', ['ls-files', '*.md'], { cwd: root, encoding: 'utf8' });
    const long = listed
      .trimEnd()
      .split('\n')
      .flatMap((path) =>
        longLines(proseOf(readFileSync(`${root}/${path}`, 'utf8'))).map((n) => `${path}:${n}`),
      );
    expect(long).toEqual([]);
  });
});
