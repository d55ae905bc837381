/**
 * client-go, by the program in tools/client-go: discovery, the dynamic client, informers, the typed
 * clients (which write protobuf), and those of CustomResourceDefinitions.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { inject } from 'vitest';
import { stepsIn } from './answers.ts';
import { kubeConfigFile } from './servers.ts';
import { clientTests } from './suite.ts';

const { path, missing } = inject('client-go');
const LIMIT_MS = 150_000;

clientTests({
  name: 'client-go',
  missing,
  async run(server) {
    const env = { ...process.env, KUBECONFIG: kubeConfigFile(server, 'client-go') };
    const { stdout } = await promisify(execFile)(path, [], { env, timeout: LIMIT_MS });
    return stepsIn(stdout);
  },
});
