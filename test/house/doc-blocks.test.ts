/**
 * The finder of code in documentation: it must find every block, and say where it stands.
 */
import { describe, expect, it } from 'vitest';
import { docstringExamples, markdownBlocks, withImports } from '../../scripts/doc-blocks.ts';

const lines = (...text: string[]): string => text.join('\n');

describe('a Markdown page', () => {
  it('gives its TypeScript blocks alone, with the line of their first line', () => {
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

  it('is refused when a block is never closed', () => {
    expect(() => markdownBlocks('README.md', '```ts\na;')).toThrow(
      'README.md:2: the block is never closed',
    );
  });

  it('does not take a block inside a longer fence for one of its own', () => {
    expect(markdownBlocks('README.md', lines('````md', '```ts', 'a;', '```', '````'))).toEqual([]);
  });
});

describe('a docstring', () => {
  it('gives each example up to the next tag or the end, line for line', () => {
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

  it('may fence its example', () => {
    const source = lines('/**', ' * @example', ' * ```ts', ' * a;', ' * ```', ' */');
    expect(docstringExamples('a.ts', source)[0]?.code.trim()).toBe('a;');
  });
});

describe('missing imports', () => {
  const names = new Map([
    ['WorkQueue', { from: 'capstan/workqueue', type: false }],
    ['Clock', { from: 'capstan/workqueue', type: true }],
  ]);

  it('are put in front of the first line, types as types', () => {
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
