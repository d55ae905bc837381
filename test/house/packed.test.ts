/**
 * The package as npm packs it, unpacked: links, pictures and source maps lead to files that are in
 * it. Needs the built package (`npm test` builds it).
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root } from '../helpers/repository.ts';
import { headings, linksIn } from './markdown.ts';

const place = mkdtempSync(join(tmpdir(), 'capstan-packed-'));
const unpacked = join(place, 'package');
afterAll(() => rmSync(place, { recursive: true, force: true }));

const read = (path: string): string => readFileSync(join(unpacked, path), 'utf8');
const filesLike = (pattern: string): string[] => globSync(pattern, { cwd: unpacked }).sort();

beforeAll(() => {
  const options = ['--ignore-scripts', '--loglevel=error', '--pack-destination', place];
  const packed = execFileSync('npm', ['pack', ...options], { cwd: root, encoding: 'utf8' });
  const archive = packed.trim().split('\n').at(-1) ?? '';
  execFileSync('tar', ['-xzf', archive], { cwd: place });
}, 60_000);

/** What is wrong with a link of a page: no file in the package, or no such heading in it. */
function problemOf(page: string, link: string): string[] {
  if (/^[a-z][a-z+.-]*:/i.test(link)) return [];
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : posix.join(posix.dirname(page), decodeURI(path));
  const at = join(unpacked, target);
  if (target.startsWith('..') || !existsSync(at)) return [`${page}: ${link} is not in the package`];
  if (statSync(at).isDirectory()) return [`${page}: ${link} is a folder, which no site serves`];
  if (anchor === undefined || !target.endsWith('.md') || headings(read(target)).has(anchor))
    return [];
  return [`${page}: ${target} has no heading #${anchor}`];
}

describe('the packed package', () => {
  // 12 of 18 links of the README led nowhere, and no picture was there.
  it('has everything that its pages link to and show', () => {
    const pages = filesLike('**/*.md');
    expect(pages).toEqual(expect.arrayContaining(['README.md', 'docs/runtimes/index.md']));
    const links = pages.flatMap((page) => linksIn(read(page)).map((link) => [page, link] as const));
    expect(links.length).toBeGreaterThan(100);
    expect(links.flatMap(([page, link]) => problemOf(page, link))).toEqual([]);
  });

  it('has links that are checked: a missing file, heading or picture is found', () => {
    const page = 'docs/runtimes/index.md';
    const text =
      '[a](../no.md) ![b](no.png) [c](../../README.md#no) <img src="no.svg">\n[d]: no.md\n' +
      '```md\n[e](in-a-block.md)\n```\n[f](https://nodejs.org) [g](../../README.md) [h](..)';
    expect(linksIn(text).flatMap((link) => problemOf(page, link))).toEqual([
      `${page}: ../no.md is not in the package`,
      `${page}: no.png is not in the package`,
      `${page}: README.md has no heading #no`,
      `${page}: .. is a folder, which no site serves`,
      `${page}: no.md is not in the package`,
      `${page}: no.svg is not in the package`,
    ]);
  });

  it('has no test, no tool and nothing that an earlier build has left', () => {
    const strange = filesLike('**/*.{js,ts,mjs}').filter(
      (path) => !/^(?:bin|bindings|dist|examples)\//.test(path),
    );
    expect(strange).toEqual([]);
    expect(filesLike('**/node_modules')).toEqual([]);
    const built = filesLike('dist/**/*.js').filter((path) => !path.includes('/template/'));
    expect(built.filter((path) => !existsSync(join(unpacked, sourceOf(path))))).toEqual([]);
  });

  it('has the source that each map names', () => {
    const maps = filesLike('dist/**/*.map');
    expect(maps.length).toBeGreaterThan(800);
    const missing = maps.flatMap((path) => {
      const { sources } = JSON.parse(read(path)) as { sources: string[] };
      expect(sources.length, path).toBe(1);
      return sources
        .map((source) => posix.join(posix.dirname(path), source))
        .filter((source) => !existsSync(join(unpacked, source)));
    });
    expect(missing).toEqual([]);
  });

  it('names lines of its TypeScript in a stack trace', () => {
    const program = `import { WorkQueue } from './dist/workqueue/index.js';
      try { new WorkQueue({ nmae: 'a' }); } catch (error) { console.log(error.stack); }`;
    const { stdout } = spawnSync(
      process.execPath,
      ['--enable-source-maps', '--input-type=module', '--eval', program],
      { cwd: unpacked, encoding: 'utf8' },
    );
    const [, file = '', line] = /\(?(?:file:\/\/)?(\S+\.ts):(\d+):\d+/.exec(stdout) ?? [];
    expect(file, stdout).toContain('/bindings/');
    const text = readFileSync(file, 'utf8').split('\n')[Number(line) - 1];
    expect(text).toMatch(/throw |new CapstanError/);
  });
});

/** The source of a compiled file. */
function sourceOf(path: string): string {
  const name = path.replace(/^dist\//, '').replace(/\.js$/, '.ts');
  return name.startsWith('bin/') ? name : `bindings/${name}`;
}
