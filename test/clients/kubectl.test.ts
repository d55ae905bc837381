/**
 * kubectl, built from source, runs the lines of kubectl/*.sh, each group in a namespace of its
 * name. A line that begins with `@` prepares what follows, and is not compared.
 */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import { type ClientStep, normaliseOutput } from './answers.ts';
import { kubeConfigFile, type Served } from './servers.ts';
import { clientTests } from './suite.ts';

const folder = fileURLToPath(new URL('./kubectl', import.meta.url));
const { path: kubectl, missing } = inject('kubectl');

/** Discovery runs first, before other groups create definitions. */
const groups = readdirSync(folder)
  .filter((name) => name.endsWith('.sh'))
  .map((name) => name.slice(0, -'.sh'.length))
  .sort((a, b) => Number(b === 'discovery') - Number(a === 'discovery'));

const LIMIT_MS = 20_000;

interface Where {
  cwd: string;
  env: NodeJS.ProcessEnv;
}

/** The output of a line: stdout, then stderr with marks, then the exit code. */
function answerTo(line: string, { cwd, env }: Where): Promise<string> {
  return new Promise((resolve) => {
    const options = { cwd, env, timeout: LIMIT_MS };
    execFile('/bin/sh', ['-c', line], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : (error.code ?? error.signal);
      const complaints = stderr.replace(/^(?=.)/gm, '! ');
      const lines = [stdout, complaints].map((text) => text.replace(/\n$/, ''));
      resolve(normaliseOutput([...lines.filter((text) => text !== ''), `= ${code}`].join('\n')));
    });
  });
}

async function runGroup(group: string, server: Served): Promise<ClientStep[]> {
  const cwd = join(server.folder, group);
  mkdirSync(cwd);
  cpSync(join(folder, 'files'), cwd, { recursive: true });
  const env = {
    PATH: [dirname(kubectl), process.env.PATH].join(delimiter),
    HOME: cwd,
    KUBECONFIG: kubeConfigFile(server, group),
    NAMESPACE: group,
    LC_ALL: 'C',
    TZ: 'UTC',
  };
  const lines = readFileSync(join(folder, `${group}.sh`), 'utf8').split('\n');
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: group } };
  await answerTo(`echo '${JSON.stringify(namespace)}' | kubectl create -f -`, { cwd, env });
  const steps: ClientStep[] = [];
  const times = new Map<string, number>();
  for (const line of lines.filter((each) => each !== '')) {
    const prepares = line.startsWith('@ ');
    const answer = await answerTo(prepares ? line.slice(2) : line, { cwd, env });
    if (prepares) continue;
    const time = (times.get(line) ?? 0) + 1;
    times.set(line, time);
    steps.push({ name: `${group}: ${line}${time === 1 ? '' : ` (${time})`}`, answer });
  }
  return steps;
}

clientTests({
  name: 'kubectl',
  missing,
  async run(server) {
    const steps: ClientStep[] = [];
    for (const group of groups) steps.push(...(await runGroup(group, server)));
    return steps;
  },
});
