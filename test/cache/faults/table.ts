/** Writes docs/evidence/watch-faults.md from the rows. */
import { FAULTS, MEMORY_FAULTS, type Row } from './rows.ts';

const HEAD = `---
title: What a watch meets
order: 20
description: What an informer does about each fault of a watch, and the test of each.
---

# What a watch meets

No error ends an informer; only its signal does. Each fault below is injected into the embedded API
server (\`capstan/testing\`) under a running informer, while writes go on. Tests without a file are
in \`test/cache/faults/faults.test.ts\`; they run after a list, after a watch list, over
\`fetch\`, with decoded objects and with a \`DeltaFIFO\`.

At the end of each test the cache equals the list of the server, handlers got the states of each
object in order, none was skipped, there was one deletion for each missed delete, and the informer
is running. Tests in other files show the part that they are named for.

This page is generated from \`test/cache/faults/rows.ts\`.
`;

const cell = (text: string): string => text.replaceAll('|', '\\|');

function testsOf({ tests = [], elsewhere = [], without }: Row): string {
  const named = [
    ...tests.map((name) => cell(name)),
    ...elsewhere.map(({ file, name }) => `${cell(name)} (\`${file}\`)`),
    ...(without === undefined ? [] : [`none beyond that: ${cell(without)}`]),
  ];
  return named.join('<br>');
}

const table = (rows: readonly Row[]): string =>
  [
    '| fault | what happens | tests |',
    '| --- | --- | --- |',
    ...rows.map((row) => `| ${cell(row.fault)} | ${cell(row.happens)} | ${testsOf(row)} |`),
  ].join('\n');

export const faultPage = (): string =>
  `${HEAD}
${table(FAULTS)}

## WebAssembly and memory

${table(MEMORY_FAULTS)}
`;
