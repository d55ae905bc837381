/** Reads what scripts/record-apimachinery.ts has recorded: questions and apimachinery's answers. */
import { readFileSync } from 'node:fs';
import { root } from './repository.ts';

export function vectors<Question, Answer>(name: string): [Question, Answer][] {
  const text = readFileSync(`${root}/test/apimachinery/vectors/${name}.jsonl`, 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as [Question, Answer]);
}
