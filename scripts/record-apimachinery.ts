/**
 * Records what apimachinery answers to questions about quantities, equality and patches, in
 * test/apimachinery/vectors/: `node scripts/record-apimachinery.ts`, by hand, after a change of the
 * questions or of the version in tools/client-go/go.mod. Needs Go.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { QUESTIONS } from '../test/apimachinery/questions.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

for (const [name, questions] of Object.entries(QUESTIONS)) {
  const asked = questions();
  const { status, stdout, stderr } = spawnSync('go', ['run', './apimachinery'], {
    cwd: `${root}/tools/client-go`,
    input: asked.map((question) => `${JSON.stringify(question)}\n`).join(''),
    maxBuffer: 2 ** 28,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`go run: ${status} ${stderr}`);
  const answers = stdout.trimEnd().split('\n');
  if (answers.length !== asked.length) throw new Error(`${name}: an answer is missing`);
  const lines = answers.map((answer, at) => `[${JSON.stringify(asked[at])},${answer}]\n`);
  writeFileSync(`${root}/test/apimachinery/vectors/${name}.jsonl`, lines.join(''));
  console.log(`${name}: ${lines.length} answers`);
}
