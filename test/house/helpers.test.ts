/** A helper that tests of two folders import lies in test/helpers, and its README names it. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../helpers/repository.ts';
import { importsOf } from './imports.ts';

/** Not helpers: suites that other folders run as a whole, and what tests of test/house judge. */
const SUITES = [/^test\/conformance\//, /^test\/client\/contract\.ts$/, /^test\/e2e\/parity\//];

const folderOf = (path: string): string => path.split('/').slice(0, 2).join('/');
const files = globSync('test/**/*.ts', { cwd: root, exclude: ['**/node_modules/**'] });

/** Each imported file of test/ with the folders that import it, test/helpers apart. */
function importingFolders(): Map<string, Set<string>> {
  const folders = new Map<string, Set<string>>();
  for (const path of files)
    for (const { specifier } of importsOf(readFileSync(join(root, path), 'utf8'))) {
      const target = join(dirname(path), specifier);
      if (!specifier.startsWith('.') || !target.startsWith('test/')) continue;
      folders.set(target, (folders.get(target) ?? new Set()).add(folderOf(path)));
    }
  return folders;
}

it('a file that two folders import lies in test/helpers', () => {
  const folders = importingFolders();
  expect(folders.get('test/helpers/random.ts')?.size).toBeGreaterThan(10);
  const elsewhere = [...folders]
    .filter(([path, by]) => new Set([...by, folderOf(path)]).size > 1)
    .map(([path]) => path)
    .filter((path) => !path.startsWith('test/helpers/') && !SUITES.some((one) => one.test(path)));
  expect(elsewhere).toEqual([]);
});

it('no file lies loose in test/', () => {
  expect(files.filter((path) => path.split('/').length === 2)).toEqual([]);
});

it('the README of the helpers names each file or its folder, and only what exists', () => {
  const page = readFileSync(join(root, 'test/helpers/README.md'), 'utf8');
  const names = [...page.matchAll(/`([\w/-]+(?:\.ts|\/))`/g)].map(([, name = '']) => name);
  const named = names.filter((name) => existsSync(join(root, 'test/helpers', name)));
  const helpers = files
    .filter((path) => path.startsWith('test/helpers/'))
    .map((path) => path.slice('test/helpers/'.length));
  const missing = helpers.filter(
    (path) => !named.some((name) => path === name || (name.endsWith('/') && path.startsWith(name))),
  );
  expect(missing).toEqual([]);
  const table = page.slice(0, page.indexOf('## How to add one'));
  const unknown = names.filter((name) => table.includes(`\`${name}\``) && !named.includes(name));
  expect(unknown).toEqual([]);
});
