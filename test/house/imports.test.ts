/**
 * The layout: which folder imports which, which may use node: modules, and how a file begins. The
 * rules are data here; the checker is imports.ts.
 */
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { root } from '../helpers/repository.ts';
import { cycleIn, importsOf, type Rules, type Sources, violations } from './imports.ts';

const RULES: Rules = {
  folders: {
    base: [],
    wasm: ['base'],
    workqueue: ['base', 'wasm'],
    'cache/rest': ['base'],
    'cache/decode': ['base', 'cache/rest'],
    'cache/bytes': ['base', 'wasm', 'cache/rest', 'cache/decode'],
    'cache/reflector': ['base', 'cache/rest', 'cache/decode'],
    'cache/queue': ['base', 'cache/rest', 'cache/bytes', 'cache/reflector'],
    'cache/store': [
      'base',
      'wasm',
      'cache/rest',
      'cache/decode',
      'cache/bytes',
      'cache/reflector',
      'cache/queue',
    ],
    'cache/informer': [
      'base',
      'cache/rest',
      'cache/decode',
      'cache/bytes',
      'cache/reflector',
      'cache/queue',
      'cache/store',
    ],
    'cache/parity': [
      'base',
      'cache/rest',
      'cache/bytes',
      'cache/reflector',
      'cache/queue',
      'cache/store',
      'cache/informer',
    ],
    cache: ['base', 'wasm', 'cache'],
    client: ['base', 'cache'],
    apimachinery: ['base', 'client'],
    kinds: ['base'],
    leaderelection: ['base', 'cache'],
    shards: ['base', 'cache', 'leaderelection'],
    controller: ['base', 'workqueue', 'cache', 'client'],
    'client-node': ['base', 'cache'],
    manager: ['base', 'workqueue', 'cache', 'client', 'leaderelection', 'shards', 'controller'],
    webhook: ['base', 'client', 'controller', 'manager'],
    testing: ['base', 'workqueue', 'cache', 'client', 'apimachinery', 'client-node', 'webhook'],
  },
  gatherer: { file: 'bindings/index.ts', folders: ['workqueue', 'cache', 'controller'] },
  node: ['client-node', 'manager', 'testing'],
  packages: {
    '@kubernetes/client-node': 'kinds',
    '@marcbachmann/cel-js': 'testing',
    '@peculiar/x509': 'webhook',
    'fast-check': 'testing',
    rfc6902: 'webhook',
    selfsigned: 'testing',
    yaml: 'testing',
  },
  loadedLater: [
    '@marcbachmann/cel-js',
    '@peculiar/x509',
    'fast-check',
    'rfc6902',
    'selfsigned',
    'yaml',
  ],
  modules: 'wasm',
};

/** Optional peers, which a command loads when it needs one. */
const PEERS_OF_COMMANDS = [
  'bin/cluster.ts: @kubernetes/client-node',
  'bin/cluster.ts: @kubernetes/client-node',
  'bin/definition-files.ts: yaml',
  'bin/definition-files.ts: yaml',
];

/** In lines of code, without comments and empty lines. */
const LONGEST_FILE = 600;
const isCode = (line: string): boolean => !/^\s*(\/\/.*|\/?\*.*)?$/.test(line);

function read(...patterns: string[]): Sources {
  const exclude = ['bindings/generated/**', 'bench/peers/**', '**/node_modules/**'];
  const files = globSync(patterns, { cwd: root, exclude }).sort();
  return Object.fromEntries(files.map((file) => [file, readFileSync(`${root}/${file}`, 'utf8')]));
}

describe('the sources of the package', () => {
  const bindings = read('bindings/**/*.ts');

  it('are found by this test', () => {
    expect(Object.keys(bindings)).toEqual(
      expect.arrayContaining(['bindings/base/clock.ts', 'bindings/cache/index.ts']),
    );
  });

  it('import in the directions of the design', () => {
    expect(violations(bindings, RULES)).toEqual([]);
  });

  it('have at most 600 lines of code, apart from tables that a script writes', () => {
    const long = Object.entries(read('bindings/**/*.ts', 'bin/**/*.ts', 'assembly/**/*.ts'))
      .filter(([, text]) => !/not to be\s+(\*\s+)?edited\.\s+\*\//.test(text))
      .map(([path, text]) => `${path}: ${text.split('\n').filter(isCode).length}`)
      .filter((entry) => Number(entry.split(': ')[1]) > LONGEST_FILE);
    expect(long).toEqual([]);
  });

  it('open with a comment that says what the file is for, and so do scripts', () => {
    const all = read('{bindings,bin,assembly,bench,scripts,examples}/**/*.ts');
    expect(Object.keys(all).filter((path) => !opensWithComment(all[path] ?? ''))).toEqual([]);
  });
});

describe('the command line', () => {
  // It is compiled by itself: a module that it imported by path would exist twice, with its own
  // state.
  it('imports its own files, node:, the public names of the package, and peers', () => {
    const sources = Object.entries(read('bin/*.ts'));
    const all = sources.flatMap(([path, source]) =>
      importsOf(source).map(({ specifier }) => `${path}: ${specifier}`),
    );
    expect(all.length).toBeGreaterThan(10);
    expect(
      all.filter((entry) => !/: (?:\.\/[\w-]+\.ts|node:.*|capstan(?:\/[\w-]+)?)$/.test(entry)),
    ).toEqual(PEERS_OF_COMMANDS);
  });
});

function opensWithComment(source: string): boolean {
  return /^(?:#![^\n]*\n)?\s*\/[/*]/.test(source);
}

describe('the checker of imports', () => {
  const broken = (path: string, source: string, more: Sources = {}): string[] =>
    violations({ [path]: source, ...more }, RULES);

  it.each([
    [
      'bindings/base/clock.ts',
      "import { WorkQueue } from '../workqueue/index.ts';",
      'base may import nothing',
    ],
    [
      'bindings/workqueue/queue.ts',
      "import type { Store } from '../cache/store/store.ts';",
      'workqueue may import',
    ],
    [
      'bindings/cache/store/store.ts',
      "export * from '../../workqueue/queue.ts';",
      'cache/store may import',
    ],
    [
      'bindings/cache/queue/fifo.ts',
      "import type { Handler } from '../informer/handler.ts';",
      'cache/queue may import',
    ],
    ['bindings/cache/store/store.ts', "import { readFileSync } from 'node:fs';", 'node: modules'],
    [
      'bindings/cache/store/store.ts',
      "const later = await import('../../controller/controller.ts');",
      'cache/store may import',
    ],
    [
      'bindings/cache/store/store.ts',
      "import '../../controller/controller.ts';",
      'cache/store may import',
    ],
    ['bindings/cache/index.ts', "import { all } from '../index.ts';", 'nothing imports it'],
    ['bindings/clock.ts', 'export const now = 0;', 'alone in bindings/'],
    ['bindings/cache/keys.ts', "import { a } from './rest/a.ts';", 'alone in bindings/cache/'],
    [
      'bindings/cache/store/store.ts',
      "import module from '#core-module';",
      'only wasm uses # imports',
    ],
    [
      'bindings/controller/a.ts',
      "import type { KubeConfig } from '@kubernetes/client-node';",
      'only kinds',
    ],
    ['bindings/kinds/a.ts', "import { KubeConfig } from '@kubernetes/client-node';", 'only types'],
    [
      'bindings/kinds/a.ts',
      "import { type KubeConfig } from '@kubernetes/client-node';",
      'only types',
    ],
    ['bindings/testing/a.ts', "import express from 'express';", 'no package'],
    [
      'bindings/testing/a.ts',
      "import { naive } from '../../bench/peers/naive.mjs';",
      'leaves bindings/',
    ],
    ['bindings/index.ts', "export * from './testing/index.ts';", 'alone'],
    ['bindings/extras/a.ts', "import { a } from '../base/a.ts';", 'no rule for the folder extras'],
  ])('rejects in %s: %s', (path, source, why) => {
    expect(broken(path, source)).toEqual([expect.stringContaining(why)]);
  });

  it.each([
    ['bindings/workqueue/queue.ts', "import { invalid } from '../base/errors.ts';"],
    ['bindings/cache/store/store.ts', "import { Version } from '../bytes/version.ts';"],
    ['bindings/client/client.ts', "import type { Transport } from '../cache/rest/transport.ts';"],
    [
      'bindings/controller/create-controller.ts',
      "import { WorkQueue } from '../workqueue/index.ts';",
    ],
    ['bindings/kinds/a.ts', "import type * as k8s from '@kubernetes/client-node';"],
    ['bindings/client-node/a.ts', "import { Agent } from 'node:https';"],
    ['bindings/wasm/core.ts', "import module from '#core-module';"],
    ['bindings/wasm/core.ts', "import { bytes } from '../generated/core-wasm.ts';"],
    ['bindings/index.ts', "export * from './cache/index.ts';"],
  ])('accepts in %s: %s', (path, source) => {
    expect(broken(path, source)).toEqual([]);
  });

  it('finds the imports of a whole file, with their lines', () => {
    const source = [
      "import type { A } from './a.ts';",
      'import {',
      '  b, // not this: from "x"',
      "} from './b.ts';",
      'export type * from "./c.ts";',
      "export { type D, e } from './d.ts';",
      "import type from './e.ts';",
      "const f = import('./f.ts');",
    ].join('\n');
    expect(importsOf(source)).toEqual([
      { specifier: './a.ts', typeOnly: true, line: 1 },
      { specifier: './b.ts', typeOnly: false, line: 4 },
      { specifier: './c.ts', typeOnly: true, line: 5 },
      { specifier: './d.ts', typeOnly: false, line: 6 },
      { specifier: './e.ts', typeOnly: false, line: 7 },
      { specifier: './f.ts', typeOnly: false, line: 8 },
    ]);
  });

  it('ignores comments, strings, templates and regular expressions', () => {
    const source = [
      "/* import a from 'comment'; */ // import b from 'line';",
      'const text = "import c from \'string\'";',
      `const template = \`import d from 'template' \${f({ g: ` +
        `\`\${h} from 'deep'\` })} from 'tail'\`;`,
      "const pattern = /['\"`]/; const ratio = total / count; import { i } from './real.ts';",
      "const slash = x ? /a'/ : y / 2; import './side.ts';",
    ].join('\n');
    expect(importsOf(source).map((each) => each.specifier)).toEqual(['./real.ts', './side.ts']);
  });

  it('finds folders that import each other', () => {
    expect(cycleIn(new Map([['a', new Set(['b'])]]))).toBeUndefined();
    const cycle = new Map([
      ['a', new Set(['b'])],
      ['b', new Set(['c'])],
      ['c', new Set(['b'])],
    ]);
    expect(cycleIn(cycle)).toEqual(['b', 'c', 'b']);
    const lax: Rules = { ...RULES, folders: { ...RULES.folders, client: ['controller'] } };
    const sources = {
      'bindings/client/a.ts': "import type { B } from '../controller/b.ts';",
      'bindings/controller/b.ts': "import { a } from '../client/a.ts';",
    };
    expect(violations(sources, lax)).toEqual([
      'folders import each other: client -> controller -> client',
    ]);
  });

  it('recognises a file that opens with a comment', () => {
    expect(opensWithComment('/** A clock. */\n')).toBe(true);
    expect(opensWithComment('#!/usr/bin/env node\n// A tool.\n')).toBe(true);
    expect(opensWithComment("import a from './a.ts';\n")).toBe(false);
  });
});
