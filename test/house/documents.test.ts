/**
 * The documents for maintainers: a short ARCHITECTURE.md, a README in each folder, and no name of a
 * file that does not exist.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../helpers/repository.ts';
import { headings } from './markdown.ts';

const read = (path: string): string => readFileSync(`${root}/${path}`, 'utf8');
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '' && existsSync(`${root}/${path}`));

/** The folders directly below `parent` with a file in the repository, as `parent/name`. */
function foldersBelow(parent: string): string[] {
  const names = files.flatMap((path) =>
    path.startsWith(parent) ? (/^([^/]+)\//.exec(path.slice(parent.length))?.[1] ?? []) : [],
  );
  return [...new Set(names)].map((name) => `${parent}${name}`).sort();
}

const FIRST = foldersBelow('').filter((folder) => !folder.startsWith('.'));
const WITH_README = [...FIRST, ...foldersBelow('bindings/')];
const MAP = [
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'docs/project/glossary.md',
  ...['experiments', 'differences-from-client-go'].map((page) => `docs/evidence/${page}.md`),
];
const PAGES = [
  ...MAP,
  ...files.filter((path) => {
    const folder = dirname(path);
    return path.endsWith('/README.md') && (FIRST.includes(folder) || /^bindings\//.test(folder));
  }),
];

/**
 * The paths that a page names: in backticks, with their line and the folders that the paragraph
 * names before.
 */
function pathsIn(page: string): { path: string; line: number; before: string[] }[] {
  let inBlock = false;
  let before: string[] = [];
  return read(page)
    .split('\n')
    .flatMap((text, index) => {
      if (text.startsWith('```')) inBlock = !inBlock;
      if (inBlock) return [];
      if (/^\s*(?:$|[-|#]|\d+\.)/.test(text)) before = [];
      return [...text.matchAll(/`([^`]+)`/g)].flatMap(([, token = '']) => {
        if (!isPath(token)) return [];
        const found = { path: token, line: index + 1, before: [...before] };
        if (token.includes('/')) before.push(token.endsWith('/') ? token : `${dirname(token)}/`);
        return [found];
      });
    });
}

/** Matches names of files and folders; not of modules, packages, addresses or build outputs. */
function isPath(token: string): boolean {
  if (!/^[\w.][\w./-]*$/.test(token) || /^(?:build|dist|capstan)\//.test(token)) return false;
  return token.endsWith('/') || /[\w-]\.(?:ts|mjs|md|json|sh|svg|png|html|yaml)$/.test(token);
}

/**
 * A path is relative to the root, to a folder above the page, or to a folder that is named before
 * it in the paragraph.
 */
function exists({ path, before }: { path: string; before: string[] }, page: string): boolean {
  const bases = [''];
  for (let base = `${dirname(page)}/`; base !== './'; base = `${dirname(base)}/`) bases.push(base);
  return bases
    .flatMap((base) => ['', ...before].map((folder) => `${base}${folder}${path}`))
    .some((each) => existsSync(`${root}/${each}`));
}

describe('ARCHITECTURE.md', () => {
  it('has at most 10 000 bytes', () => {
    expect(Buffer.byteLength(read('ARCHITECTURE.md'))).toBeLessThanOrEqual(10_000);
  });

  it('links to the glossary, and so does CONTRIBUTING.md', () => {
    const pages = ['ARCHITECTURE.md', 'CONTRIBUTING.md'];
    expect(pages.filter((page) => !read(page).includes('(docs/project/glossary.md)'))).toEqual([]);
  });
});

describe('the folders', () => {
  it('are found', () => {
    expect(WITH_README).toEqual(
      expect.arrayContaining(['assembly', 'bench', 'bindings', 'bindings/base', 'test', 'tools']),
    );
  });

  it.each(WITH_README)('%s has a README.md of 20 to 60 lines', (folder) => {
    const lines = read(`${folder}/README.md`).trimEnd().split('\n').length;
    expect(lines).toBeGreaterThanOrEqual(20);
    expect(lines).toBeLessThanOrEqual(60);
  });

  it.each([...FIRST, 'bindings/cache'])('those in %s are named in its README.md', (folder) => {
    const readme = read(`${folder}/README.md`);
    const missing = foldersBelow(`${folder}/`).filter(
      (each) => !readme.includes(`\`${each.slice(folder.length + 1)}/`),
    );
    expect(missing).toEqual([]);
  });
});

describe('the pages for maintainers', () => {
  it('name files and folders that exist', () => {
    const wrong = PAGES.flatMap((page) =>
      pathsIn(page)
        .filter((found) => !exists(found, page))
        .map(({ path, line }) => `${page}:${line}: ${path}`),
    );
    expect(wrong).toEqual([]);
  });

  it('link to files that exist, and so do the guides and the README of the project', () => {
    const pages = [...PAGES, 'README.md', ...files.filter((path) => /^docs\/.+\.md$/.test(path))];
    const wrong = pages.flatMap((page) =>
      [...read(page).matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g)]
        .map(([, target = '']) => posix.join(dirname(page), target))
        .filter((target) => !existsSync(`${root}/${target}`))
        .map((target) => `${page}: ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it('link to headings that exist', () => {
    const pages = files.filter((path) => /^docs\/.+\.md$/.test(path));
    const wrong = [...new Set([...PAGES, ...pages, 'README.md'])].flatMap((page) =>
      [...read(page).matchAll(/\]\(([^)#:\s]*\.md)?#([^)]+)\)/g)].flatMap(
        ([, target = '', heading = '']) => {
          const of = target === '' ? page : posix.join(dirname(page), target);
          return headings(read(of)).has(heading) ? [] : [`${page}: ${target}#${heading}`];
        },
      ),
    );
    expect(wrong).toEqual([]);
  });

  // Words that readers did not understand. docs/project/glossary.md has the words to use.
  it('are in plain English, and so are the README of the project and the guides', () => {
    const pages = [...PAGES, 'README.md', ...files.filter((path) => /^docs\/.+\.md$/.test(path))];
    const riddles = pages
      .filter((page) => page !== 'docs/project/upstream-tests.md')
      .flatMap((page) =>
        [...read(page).matchAll(/\bwhoever\b|keeps? true|\bone['’]s own\b/gi)].map(
          ([words]) => `${page}: ${words}`,
        ),
      );
    expect(riddles).toEqual([]);
  });

  // A test that failed before server.stop() did not end: the server kept the process alive.
  it('start the embedded server by "await using", and so do the docstrings', () => {
    // It runs until the reader has used kubectl.
    const lasting = 'await ApiServer.start({ port: 8001 })';
    const sources = files.filter((path) => /^(README|docs\/.+)\.md$|^bindings\/.+\.ts$/.test(path));
    const starts = sources.flatMap((path) =>
      [...read(path).matchAll(/^.*= await ApiServer\.start\(.*$/gm)].map(([line]) => ({
        path,
        line,
      })),
    );
    expect(starts.length).toBeGreaterThan(4);
    expect(
      starts.filter(({ line }) => !line.includes('await using') && !line.includes(lasting)),
    ).toEqual([]);
  });

  it('have short paragraphs', () => {
    const long = PAGES.flatMap((page) =>
      paragraphs(read(page))
        .filter((text) => text.length > 700)
        .map((text) => `${page}: ${text.length} characters: ${text.slice(0, 60)}`),
    );
    expect(long).toEqual([]);
  });

  it('are read correctly: paths, and text that only looks like one', () => {
    for (const path of ['assembly/', 'bindings/base/clock.ts', '../README.md', 'package.json'])
      expect(isPath(path), path).toBe(true);
    for (const other of ['/debug/', 'capstan/cache', 'build/docs/', 'npm run docs', '-load.ts'])
      expect(isPath(other), other).toBe(false);
    expect(exists({ path: 'no-such-file.ts', before: [] }, 'ARCHITECTURE.md')).toBe(false);
    expect(exists({ path: 'wait.ts', before: ['bindings/base/'] }, 'ARCHITECTURE.md')).toBe(true);
    expect(exists({ path: 'base/', before: [] }, 'bindings/cache/README.md')).toBe(true);
    expect(paragraphs('a\nb\n\n- c\n  d\n- e\n| f |\n')).toEqual(['a b', '- c d', '- e']);
    expect(headings(read('docs/evidence/experiments.md'))).toContain('which-side-hashes');
  });
});

/** Paragraphs and list items, each as one line, without tables and code. */
function paragraphs(text: string): string[] {
  return text
    .replace(/^```[\s\S]*?^```/gm, '')
    .split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )/)
    .map((part) =>
      part
        .split('\n')
        .filter((line) => !line.startsWith('|'))
        .map((line) => line.trim())
        .join(' ')
        .trim(),
    )
    .filter((part) => part !== '');
}
