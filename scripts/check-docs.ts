/**
 * Type checks every ```ts block of the Markdown pages and every @example in the docstrings of
 * bindings/, each as a module of its own, with the project's own settings.
 *
 * A block on a page is a whole program and writes its imports; one in a guide (docs/) may be a
 * fragment. A fragment and an example in a docstring may leave out imports, and may use the names
 * in GIVEN without declaring them; any other name that they do not define is an error. Blocks of
 * the tutorial are text of its programs in examples/, which are type checked there
 * (test/examples/tutorial.test.ts).
 */
import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  type DocBlock,
  docstringExamples,
  exportedNames,
  markdownBlocks,
  packageNames,
  withImports,
} from './doc-blocks.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = `${root}/build/check-docs`;
const PAGES = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md'];
const GUIDES = ['docs/**/*.md'];
const GIVEN = `
import type * as k8s from '@kubernetes/client-node';
import type {
  Resource,
  SharedIndexInformer,
  SharedInformerFactory,
  Transport,
} from 'capstan/cache';
import type { Controller } from 'capstan/controller';
import type { Client, Condition, ObjectKey } from 'capstan/client';
import type { ControllerManager } from 'capstan/manager';
import type { RateLimitingQueue } from 'capstan/workqueue';
declare global {
  type V1ConfigMap = k8s.V1ConfigMap;
  type V1Deployment = k8s.V1Deployment;
  type V1Node = k8s.V1Node;
  type V1Pod = k8s.V1Pod;
  type V1Service = k8s.V1Service;
  const KubeConfig: typeof k8s.KubeConfig;
  const transport: Transport;
  const client: Client;
  const key: ObjectKey;
  const pod: V1Pod;
  const pods: SharedIndexInformer<V1Pod, 'byNode'>;
  const Website: Resource<{
    metadata: k8s.V1ObjectMeta;
    spec: { image: string; replicas: number };
    status?: { ready?: boolean; conditions?: Condition[] };
  }>;
  const deployments: SharedIndexInformer<V1Deployment>;
  const informer: SharedIndexInformer<V1Pod>;
  const cache: SharedInformerFactory;
  const controller: Controller;
  const manager: ControllerManager;
  const queue: RateLimitingQueue<string>;
  const keys: readonly string[];
  const nodes: readonly V1Node[];
  const error: unknown;
  const signal: AbortSignal;
  const body: AsyncIterable<Uint8Array>;
  const logger: Record<'info' | 'error', (details: object, message: string) => void>;
  function use(value: unknown): void;
  function apply(object: V1Deployment, signal: AbortSignal): Promise<void>;
  function check(node: V1Node | undefined): Promise<void>;
  function deploymentOf(website: object): V1Deployment;
  function work(item: string, signal?: AbortSignal): Promise<void>;
}
`;

function collect(): DocBlock[] {
  const read = (file: string): string => readFileSync(`${root}/${file}`, 'utf8');
  const pages = globSync(PAGES, { cwd: root }).sort();
  const guides = globSync(GUIDES, { cwd: root, exclude: ['docs/tutorial/*.md'] }).sort();
  const sources = globSync('bindings/**/*.ts', {
    cwd: root,
    exclude: ['bindings/generated/**'],
  }).sort();
  const known = packageNames(`${root}/bindings`);
  return [
    ...pages.flatMap((file) => markdownBlocks(file, read(file))),
    ...guides.flatMap((file) =>
      markdownBlocks(file, read(file)).map((block) => ({
        ...block,
        code: withImports(block.code, known),
      })),
    ),
    ...sources.flatMap((file) => {
      // Internal parts have examples too: they may use what their own file exports.
      const names = new Map(known);
      for (const [name, type] of exportedNames(`${root}/${file}`)) {
        if (!names.has(name)) names.set(name, { from: `../../${file}`, type });
      }
      return docstringExamples(file, read(file)).map((block) => ({
        ...block,
        code: withImports(block.code, names),
      }));
    }),
  ];
}

/** Writes file `12.ts` for block 12. */
function write(blocks: readonly DocBlock[]): void {
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
}

/** What one run of tsc prints about the folder. */
function compile(): string[] {
  const tsc = `${root}/node_modules/typescript/bin/tsc`;
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [tsc, '-p', folder, '--pretty', 'false'],
    {
      encoding: 'utf8',
      cwd: folder,
    },
  );
  if (status !== 0 && stdout === '') throw new Error(`tsc failed: ${stderr}`);
  return stdout.split('\n').filter((line) => line !== '');
}

const fileOf = (problem: string): string | undefined => /^(\d+)\.ts\(/.exec(problem)?.[1];

/**
 * Returns all errors. One error of syntax hides all others from tsc, so tsc runs again without the
 * files that have errors.
 */
function problemsOf(blocks: readonly DocBlock[]): string[] {
  write(blocks);
  const all: string[] = [];
  for (;;) {
    const problems = compile();
    all.push(...problems);
    const files = new Set(problems.map(fileOf).filter((file) => file !== undefined));
    if (files.size === 0) return all;
    for (const file of files) rmSync(`${folder}/${file}.ts`);
  }
}

const blocks = collect();
const problems = problemsOf(blocks);
const failed = new Set<DocBlock>();
for (const problem of problems) {
  const place = /^(\d+)\.ts\((\d+),\d+\): (.*)$/.exec(problem);
  const block = blocks[Number(place?.[1])];
  if (block) failed.add(block);
  console.error(
    place && block ? `${block.file}:${block.line + Number(place[2]) - 1}: ${place[3]}` : problem,
  );
}
console.log(`${blocks.length} examples checked, ${failed.size} do not compile`);
if (problems.length > 0) process.exitCode = 1;
