/** Generates docs/reference/callbacks.md from the rows. */
import { type CallbackRow, SECTIONS } from './callback-table.ts';

const HEAD = `---
title: Functions that you pass in
order: 40
description: What happens when a function of yours throws, answers nonsense or calls back.
---

# Functions that you pass in

What happens when a function of yours throws, returns something unexpected, or calls back into the
package. No key and no event is lost, unless the table says so.

*Reported* means: to the logger if there is one, else to the hook of \`setErrorHandler\` (by
default \`console.error\`). Where no promise is expected, a promise is refused or reported, and its
rejection never ends the process.

This page is generated from \`test/callbacks/callback-table.ts\`. A test checks that each function
which the types of the package let you pass has a row, and that the tests exist.
\`test/callbacks/controller-callbacks.test.ts\` and \`informer-callbacks.test.ts\` call each of
theirs in each of these ways.
`;

const cell = (text: string): string => text.replaceAll('|', '\\|');

const line = ({ functions, what, throws, rubbish, within, tests }: CallbackRow): string => {
  const names = functions.map((name) => `\`${cell(name)}\``).join(', ');
  const files = tests.map((file) => `\`${file}\``).join(', ');
  return (
    `| ${cell(what)}: ${names} | ${cell(throws)} | ` +
    `${cell(rubbish)} | ${cell(within)} | ${files} |`
  );
};

export const callbackPage = (): string =>
  [
    HEAD,
    ...SECTIONS.map(([title, rows]) =>
      [
        `## ${title}\n`,
        '| function | throws or rejects | another answer | calls ' +
          'back, or ends what it runs in | tests |',
        '| --- | --- | --- | --- | --- |',
        ...rows.map(line),
        '',
      ].join('\n'),
    ),
  ].join('\n');
