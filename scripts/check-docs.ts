/**
 * Documentation that compiles: every ```ts block of the Markdown pages and every @example in the docstrings of bindings/
 * is type checked with the project's own settings, each as a module of its own.
 *
 * A block on a page is a whole program and writes its imports. An example in a docstring may leave out imports, and may
 * speak of the things in GIVEN without declaring them, as a reader would expect; any other name that it does not define
 * is an error.
 */
import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  type Block,
  docstringExamples,
  exportedNames,
  markdownBlocks,
  publicNames,
  withImports,
} from './doc-blocks.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = `${root}/build/check-docs`;
const PAGES = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md'];
const SUBPATHS = ['workqueue', 'cache', 'controller', 'client-node', 'testing'];

const GIVEN = `
import type { V1Pod } from '@kubernetes/client-node';
import type { Resource, Transport } from 'capstan/cache';
declare global {
  const transport: Transport;
  const Pod: Resource<V1Pod, 'byNode'>;
  const signal: AbortSignal;
  const body: AsyncIterable<Uint8Array>;
  const logger: Record<'info' | 'error', (details: object, message: string) => void>;
  function use(value: unknown): void;
}
`;

function collect(): Block[] {
  const read = (file: string): string => readFileSync(`${root}/${file}`, 'utf8');
  const pages = globSync(PAGES, { cwd: root }).sort();
  const sources = globSync('bindings/**/*.ts', { cwd: root, exclude: ['bindings/generated/**'] }).sort();
  const known = publicNames(SUBPATHS, `${root}/bindings`);
  return [
    ...pages.flatMap((file) => markdownBlocks(file, read(file))),
    ...sources.flatMap((file) => {
      // Internal parts have examples too: they may use what their own file exports.
      const names = new Map(known);
      for (const [name, type] of exportedNames(`${root}/${file}`)) {
        if (!names.has(name)) names.set(name, { from: `../../${file}`, type });
      }
      return docstringExamples(file, read(file)).map((block) => ({ ...block, code: withImports(block.code, names) }));
    }),
  ];
}

/** One run of tsc over all blocks; file `12.ts` is block 12. Returns what it printed. */
function compile(blocks: readonly Block[]): string[] {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  blocks.forEach((block, i) => {
    writeFileSync(`${folder}/${i}.ts`, block.code);
  });
  writeFileSync(`${folder}/given.d.ts`, GIVEN);
  const config = {
    extends: '../../tsconfig.json',
    // An example declares things to show them; it need not use them.
    compilerOptions: { noUnusedLocals: false, noUnusedParameters: false },
    include: ['./*.ts'],
    exclude: [],
  };
  writeFileSync(`${folder}/tsconfig.json`, JSON.stringify(config));
  try {
    execFileSync(process.execPath, [`${root}/node_modules/typescript/bin/tsc`, '-p', folder, '--pretty', 'false'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
      cwd: folder,
    });
    return [];
  } catch (error) {
    if (!(error instanceof Error && 'stdout' in error)) throw error;
    return String(error.stdout).trim().split('\n');
  }
}

const blocks = collect();
const problems = compile(blocks);
const failed = new Set<Block>();
for (const problem of problems) {
  const place = /^(\d+)\.ts\((\d+),\d+\): (.*)$/.exec(problem);
  const block = blocks[Number(place?.[1])];
  if (block) failed.add(block);
  console.error(place && block ? `${block.file}:${block.line + Number(place[2]) - 1}: ${place[3]}` : problem);
}
console.log(`${blocks.length} examples checked, ${failed.size} do not compile`);
if (problems.length > 0) process.exitCode = 1;
