/**
 * The blocks marked `ts run` on the pages of docs/ are programs: each runs on the built package,
 * ends by itself, and prints what the `text` block behind it says.
 */
import { execFile } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { packageNames, runBlocks, withImports } from '../../scripts/doc-blocks.ts';
import { root } from '../helpers/repository.ts';

const names = packageNames(`${root}/bindings`);
const folder = `${root}/build/run-blocks`; // in the package, so that its own name is found
mkdirSync(folder, { recursive: true });

const pages = ['README.md', ...globSync('docs/**/*.md', { cwd: root }).sort()]
  .map((page) => ({ page, blocks: runBlocks(page, readFileSync(`${root}/${page}`, 'utf8')) }))
  .filter(({ blocks }) => blocks.length > 0);

/** What the program prints. It fails if the program throws, hangs or leaves a promise pending. */
async function run(code: string, name: string): Promise<string> {
  const file = `${folder}/${name}.ts`;
  writeFileSync(file, withImports(code, names));
  const { stdout } = await promisify(execFile)(process.execPath, [file], {
    timeout: 50_000,
    env: { ...process.env, NODE_ENV: 'production' },
  });
  return stdout.trimEnd();
}

test('there are programs', () => {
  expect(pages.length).toBeGreaterThan(0);
});

describe.each(pages)('$page', ({ page, blocks }) => {
  test.concurrent.each(blocks)('runs the program in line $line', async ({ code, line, output }) => {
    const printed = await run(code, `${page.replaceAll(/\W+/g, '-')}-${line}`);
    if (output !== undefined) expect(printed).toBe(output.trimEnd());
  });
});

test('a program that throws fails', async () => {
  await expect(run('throw new Error("no");', 'throws')).rejects.toThrow('no');
});

test('a program uses exported names without an import', async () => {
  expect(await run('const queue = new WorkQueue();\nconsole.log(queue.len());', 'names')).toBe('0');
});
