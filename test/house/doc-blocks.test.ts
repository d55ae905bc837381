/** The search for code in documentation finds every block with its position. */
import { describe, expect, it } from 'vitest';
import {
  docstringExamples,
  markdownBlocks,
  runBlocks,
  withImports,
} from '../../scripts/doc-blocks.ts';

const lines = (...text: string[]): string => text.join('\n');

describe('a Markdown page', () => {
  it('has its TypeScript blocks found, with the line of their first line', () => {
    const page = lines(
      '# Title',
      '```sh',
      'npm ci',
      '```',
      '',
      '```ts',
      'const a = 1;',
      'a;',
      '```',
      '- item',
      '  ```typescript',
      '  b;',
      '  ```',
    );
    expect(markdownBlocks('README.md', page)).toEqual([
      { file: 'README.md', line: 7, code: 'const a = 1;\na;' },
      { file: 'README.md', line: 12, code: 'b;' },
    ]);
  });

  it('with an unclosed block is an error', () => {
    expect(() => markdownBlocks('README.md', '```ts\na;')).toThrow(
      'README.md:2: the block is never closed',
    );
  });

  it('with a block inside a longer fence has no such block', () => {
    expect(markdownBlocks('README.md', lines('````md', '```ts', 'a;', '```', '````'))).toEqual([]);
  });
});

describe('a program on a page', () => {
  it('is marked `ts run`, and prints the text block that follows at once', () => {
    const page = lines(
      '```ts',
      'no;',
      '```',
      '```ts run',
      'a;',
      '```',
      '',
      '```text',
      'A',
      '```',
      '```ts run',
      'b;',
      '```',
      'Words between.',
      '```text',
      'not of b',
      '```',
    );
    expect(runBlocks('x.md', page)).toEqual([
      { file: 'x.md', line: 5, code: 'a;', output: 'A' },
      { file: 'x.md', line: 12, code: 'b;', output: undefined },
    ]);
  });
});

describe('a docstring', () => {
  it('has each example found, up to the next tag or the end', () => {
    const source = lines(
      '/** Opens the file. */',
      '/**',
      ' * A queue.',
      ' *',
      ' * @example',
      ' * const queue = new WorkQueue();',
      ' * if (queue) {',
      ' *   queue.add("a");',
      ' * }',
      ' * @throws CapstanError',
      ' * @example queue.len();',
      ' */',
      'const notAnExample = 1; // @example x',
    );
    expect(docstringExamples('queue.ts', source)).toEqual([
      {
        file: 'queue.ts',
        line: 5,
        code: lines('', 'const queue = new WorkQueue();', 'if (queue) {', '  queue.add("a");', '}'),
      },
      { file: 'queue.ts', line: 11, code: 'queue.len();' },
    ]);
  });

  it('may have a fenced example', () => {
    const source = lines('/**', ' * @example', ' * ```ts', ' * a;', ' * ```', ' */');
    expect(docstringExamples('a.ts', source)[0]?.code.trim()).toBe('a;');
  });
});

describe('missing imports', () => {
  const names = new Map([
    ['WorkQueue', { from: 'capstan/workqueue', type: false }],
    ['Clock', { from: 'capstan/workqueue', type: true }],
  ]);

  it('are added before the first line, types as types', () => {
    expect(withImports('const q: Clock = new WorkQueue();', names).split('\n')[0]).toBe(
      "import { WorkQueue } from 'capstan/workqueue'; import { type Clock } from " +
        "'capstan/workqueue';const q: Clock = new WorkQueue();",
    );
  });

  it('are not added for names that the example imports or defines', () => {
    const own = "import { WorkQueue } from 'capstan/workqueue';\nclass Clock {}\nnew WorkQueue();";
    expect(withImports(own, names)).toBe(`${own}\nexport {};\n`);
  });
});
