/**
 * Shows that the Roles of `capstan rbac` suffice for the e2e tests: runs them as a ServiceAccount
 * that may do everything, makes the least Roles from the audit log of the API server, and runs them
 * again with these Roles alone. Then `--check` has to find a rule that is taken away, and one that
 * is too wide. Exits 1 where one of these fails. Needs KUBEBUILDER_ASSETS.
 *
 *     npm run test:least-role [-- FILE…] [--keep]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseAllDocuments, stringify } from 'yaml';
import { ACCOUNT, FOLDER, LEFT_OUT, ROLES } from './settings.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { keep: { type: 'boolean', default: false } },
});

const place = mkdtempSync(join(tmpdir(), 'capstan-least-role-'));
const roles = join(place, 'roles.yaml');
const account = `${ACCOUNT.namespace}/${ACCOUNT.name}`;
const user = `system:serviceaccount:${ACCOUNT.namespace}:${ACCOUNT.name}`;
const files =
  positionals.length > 0
    ? positionals
    : readdirSync('test/e2e')
        .filter((name) => name.endsWith('.test.ts'))
        .filter((name) => LEFT_OUT[basename(name, '.test.ts')] === undefined)
        .map((name) => join('test/e2e', name));

interface Ended {
  code: number;
  stdout: string;
}

async function run(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  let stdout = '';
  child.stdout.on('data', (text) => (stdout += text));
  const [code] = await once(child, 'close');
  return { code: code ?? 1, stdout };
}

/** Runs the tests; returns the audit logs. */
async function test(name: string, env: NodeJS.ProcessEnv): Promise<string[]> {
  const folder = join(place, name);
  mkdirSync(folder);
  const vitest = 'node_modules/vitest/vitest.mjs';
  const config = 'test/e2e/least-role/vitest.config.ts';
  const args = [vitest, 'run', '--config', config, ...files];
  const { code, stdout } = await run(args, { [FOLDER]: folder, ...env });
  console.log(stdout);
  if (code !== 0) fail(`the tests failed: ${name}`);
  const logs = readdirSync(folder).filter((each) => each.endsWith('.log'));
  return logs.map((log) => join(folder, log));
}

function rbac(logs: readonly string[], ...args: string[]): Promise<Ended> {
  const options = ['--user', user, '--all-namespaces', '--name', 'e2e', ...args];
  return run(['dist/bin/capstan.js', 'rbac', ...logs, ...options]);
}

async function check(logs: readonly string[], wanted: number, what: string, ...args: string[]) {
  const { code, stdout } = await rbac(logs, '--check', ...args);
  console.log(`${what}: exit code ${code}\n${stdout}`);
  if (code !== wanted) fail(`${what}: expected the exit code ${wanted}`);
}

function fail(why: string): never {
  console.error(`${why}; the files are in ${place}`);
  process.exit(1);
}

const first = await test('as an administrator', {});
const printed = await rbac(first, '--service-account', account);
if (printed.code !== 0) fail('capstan rbac failed');
writeFileSync(roles, printed.stdout);
console.log(printed.stdout);
await check(first, 0, 'the Roles for their own record', roles);

const second = await test('with the least Roles', { [ROLES]: roles });
// What depends on time may not have happened again.
await check(second, 0, 'the Roles for the second record', roles, '--allow-wider');

const [role, ...rest] = parseAllDocuments(readFileSync(roles, 'utf8')).map((each) => each.toJS());
const other = (rules: object[]): string => {
  const path = join(place, 'other.yaml');
  writeFileSync(path, [{ ...role, rules }, ...rest].map((each) => stringify(each)).join('---\n'));
  return path;
};
await check(first, 2, 'Roles without their first rule', other(role.rules.slice(1)));
const wider = { apiGroups: ['example.com'], resources: ['unused'], verbs: ['get'] };
await check(first, 2, 'Roles with a rule more', other([...role.rules, wider]));
if (values.keep) console.log(`the files are in ${place}`);
else rmSync(place, { recursive: true });
