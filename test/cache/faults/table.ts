/** docs/watch-faults.md, as the rows tell it. */
import { FAULTS, MEMORY_FAULTS, type Row } from './rows.ts';

const HEAD = `# What a watch meets

No error ends an informer; only \`stop\` does. In \`test/cache/faults.test.ts\`, where the tests without a file are, each fault is injected
into the embedded API server (\`capstan/testing\`) under a running informer, while writes go on: after a list, after a stream of initial objects, and over \`fetch\`. Every
one of them ends with the cache equal to the server's list, each object's states told in order, nothing skipped, one delete for each delete that was missed, and the informer
running. The tests of other files show that part of it which they are named for.

This page is written from \`test/cache/faults/rows.ts\`, and a test holds that it is.
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

export const page = (): string =>
  `${HEAD}
${table(FAULTS)}

## WebAssembly and memory

${table(MEMORY_FAULTS)}
`;
