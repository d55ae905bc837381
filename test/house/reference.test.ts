/** The reference has a page for each error code, and its tables are those of the docstrings. */
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, expect, test } from 'vitest';
import { allOptions, OPTIONS_PAGE, optionRows, optionsPage } from '../../scripts/options-page.ts';
import {
  FIRST_ORDER,
  firstSentence,
  pageOf,
  TASKS,
  taskPage,
} from '../../scripts/reference-pages.ts';
import { root } from '../helpers/repository.ts';

const read = (path: string): string => readFileSync(`${root}/${path}`, 'utf8');
const pagesIn = (folder: string): string[] =>
  globSync(`docs/reference/${folder}/*.md`, { cwd: root }).map((path) => basename(path, '.md'));

describe('error codes', () => {
  const codes = [...read('bindings/base/errors.ts').matchAll(/^ {2}\| '([A-Z_]+)'/gm)].map(
    ([, code = '']) => code,
  );
  const nameOf = (code: string): string => code.toLowerCase().replaceAll('_', '-');

  test('are found', () => {
    expect(codes).toEqual(expect.arrayContaining(['INVALID_ARGUMENT', 'TERMINAL']));
  });

  test('have a page each, and each page has a code', () => {
    expect(pagesIn('errors').sort()).toEqual(codes.map(nameOf).sort());
  });

  test('are in the table of docs/reference/errors.md', () => {
    const table = read('docs/reference/errors.md');
    expect(codes.filter((code) => !table.includes(`[${code}](errors/${nameOf(code)}.md)`))).toEqual(
      [],
    );
  });

  test('have pages that say when the error comes and what to do', () => {
    const wrong = codes.filter((code) => {
      const page = read(`docs/reference/errors/${nameOf(code)}.md`);
      return !page.includes('## When it comes\n\n- ') || !page.includes('## What to do\n\n- ');
    });
    expect(wrong).toEqual([]);
  });

  test('are what the programs on their pages print', () => {
    const wrong = codes.filter((code) => {
      const output = /```text\n([\s\S]*?)```/.exec(
        read(`docs/reference/errors/${nameOf(code)}.md`),
      );
      return output !== null && !output[1]?.startsWith(code);
    });
    expect(wrong).toEqual([]);
  });
});

describe('the pages by task', () => {
  test.each(TASKS.map((task, i) => ({ ...task, order: FIRST_ORDER + i })))(
    '$page.md is what scripts/reference-pages.ts writes',
    ({ order, ...task }) => {
      expect(readFileSync(pageOf(task), 'utf8')).toBe(taskPage(task, order));
    },
  );

  test('have the first sentence of a docstring, without its source', () => {
    expect(firstSentence('A queue. client-go: `workqueue`. More.')).toBe('A queue.');
    expect(firstSentence('A list of\n{@link Pod} objects: all\nof them. Next.')).toBe(
      'A list of `Pod` objects: all of them.',
    );
    expect(firstSentence('client-go: tools/cache Store.')).toBe('client-go: tools/cache Store.');
  });
});

describe('the page of options', () => {
  test('is what scripts/options-page.ts writes', () => {
    expect(readFileSync(OPTIONS_PAGE, 'utf8')).toBe(optionsPage());
  });

  test('says of each option what it is', () => {
    const silent = [...allOptions()].flatMap(([heading, options]) =>
      options.filter(({ what }) => what === '').map(({ name }) => `${heading}: ${name}`),
    );
    expect(silent).toEqual([]);
  });

  test('has defaults as docstrings write them', () => {
    const source = `export interface Some {
  /** How long it waits. Default 5000. After that it ends. */
  readonly wait?: number | undefined;
  /** The period. 0, the default: never. */
  period?: number;
  /** Defaults for all. */
  all?: object;
  /** @deprecated The former name of \`all\`. */
  old?: object;
}
`;
    expect(optionRows('Some', source)).toEqual([
      { name: 'wait', what: 'How long it waits.', standard: '5000' },
      { name: 'period', what: 'The period.', standard: '0' },
      { name: 'all', what: 'Defaults for all.', standard: '' },
    ]);
    expect(() => optionRows('Other', source)).toThrow('expected an exported interface Other');
  });
});
