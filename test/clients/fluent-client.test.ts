/** kubernetes-fluent-client, by the program in tools/fluent-client. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { inject } from 'vitest';
import { stepsIn } from './answers.ts';
import { kubeConfigFile } from './servers.ts';
import { clientTests } from './suite.ts';

const { path, missing } = inject('fluent-client');
const LIMIT_MS = 120_000;

clientTests({
  name: 'kubernetes-fluent-client',
  missing,
  async run(server) {
    const env = { ...process.env, KUBECONFIG: kubeConfigFile(server, 'fluent') };
    const run = promisify(execFile)(process.execPath, [path], { env, timeout: LIMIT_MS });
    return stepsIn((await run).stdout);
  },
});
