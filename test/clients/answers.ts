/**
 * The output of a client, step by step, as text without what differs from run to run; and the files
 * of recorded answers.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface ClientStep {
  /** Parts that differ between runs, and their replacements. */
  name: string;
  answer: string;
}

/** The lines of an answer that are recorded; the rest of a longer one is recorded as a digest. */
const RECORDED_LINES = 25;

const RULES: readonly [RegExp, string][] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UID'],
  [/\d{4}-\d\d-\d\d[T ][\d:.]+(Z|\+00:00| \+0000( UTC)?)/g, 'TIME'],
  [/\b[A-Z][a-z]{2}, \d+ [A-Z][a-z]{2} \d{4} [\d:]+ [+A-Z\d]+/g, 'DATE'],
  [/\b[EWI]\d{4} [\d:.]+ +\d+ /g, 'LOG '],
  // A watch that ends at its deadline logs different lines depending on the moment.
  [/^! LOG reflector\.go.*\n/gm, ''],
  [/(resourceVersion\\*"?:) ?\\*"?\d+\\*"?/g, '$1 N'],
  [/(Resource Version:) +\d+/g, '$1 N'],
  [/https?:\/\/127\.0\.0\.1:\d+/g, 'SERVER'],
  [/127\.0\.0\.1:\d+/g, 'SERVER'],
  // Ages and durations.
  [/<invalid>/g, 'AGE'],
  [/(?<![\w-])\d+m?\d*s(?![\w-])/g, 'AGE'],
  [/\/tmp\/[\w./-]+/g, 'FILE'],
  [/10\.0\.\d+\.\d+/g, 'ADDRESS'],
  [/\b3[0-2]\d{3}\b/g, 'NODEPORT'],
  // Column widths depend on the replaced values.
  [/(?<=\S) {2,}/g, '  '],
  [/[ \t]+$/gm, ''],
];

export function normaliseOutput(text: string): string {
  let result = text;
  for (const [pattern, replacement] of RULES) result = result.replaceAll(pattern, replacement);
  return result;
}

/** Parses the output of a program: each step is a line of JSON. */
export const stepsIn = (output: string): ClientStep[] =>
  output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as ClientStep)
    .map(({ name, answer }) => ({ name, answer: normaliseOutput(answer) }));

/** The answer as it is recorded. */
export function short(answer: string): string {
  const lines = answer.split('\n');
  if (lines.length <= RECORDED_LINES) return answer;
  const rest = lines.slice(RECORDED_LINES);
  const digest = createHash('sha256').update(rest.join('\n')).digest('hex').slice(0, 16);
  return [...lines.slice(0, RECORDED_LINES), `(${rest.length} lines more, ${digest})`].join('\n');
}

const fileOf = (client: string): string =>
  fileURLToPath(new URL(`./answers/${client}.txt`, import.meta.url));

/** The recorded answers of a real kube-apiserver; empty before the first record. */
export function recordedOf(client: string): ClientStep[] {
  if (!existsSync(fileOf(client))) return [];
  const blocks = readFileSync(fileOf(client), 'utf8').split(/^\$ /m).slice(1);
  return blocks.map((block) => {
    const end = block.indexOf('\n');
    return { name: block.slice(0, end), answer: block.slice(end + 1).replace(/\n$/, '') };
  });
}

export function record(client: string, steps: readonly ClientStep[]): void {
  const blocks = steps.map(({ name, answer }) => `$ ${name}\n${short(answer)}\n`);
  writeFileSync(fileOf(client), blocks.join(''));
}
