/**
 * `npm run test:clients -- [--all-required] [--record] [options of vitest]`: other clients on the
 * embedded API server. Clients that cannot be built on this machine are skipped by name; with
 * --all-required they fail. With --record (and KUBEBUILDER_ASSETS) the answers of the real
 * kube-apiserver are written to answers/ and their counts to the page, and nothing is tested.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { document } from './documented.ts';

const FLAGS: Record<string, string> = {
  '--all-required': 'CAPSTAN_CLIENTS_REQUIRED',
  '--record': 'CAPSTAN_CLIENTS_RECORD',
};
const env = { ...process.env };
const rest: string[] = [];
for (const argument of process.argv.slice(2)) {
  const variable = FLAGS[argument];
  if (variable === undefined) rest.push(argument);
  else env[variable] = '1';
}
const vitest = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url));
const config = fileURLToPath(new URL('./vitest.config.ts', import.meta.url));
const { status } = spawnSync(process.execPath, [vitest, 'run', '--config', config, ...rest], {
  env,
  stdio: 'inherit',
});
if (status === 0 && env.CAPSTAN_CLIENTS_RECORD !== undefined) document();
process.exitCode = status ?? 1;
