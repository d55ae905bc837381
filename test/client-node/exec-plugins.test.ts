/**
 * Failures of exec plugins: the error names the command, has its stderr and the install hint of the
 * kubeconfig, and nothing of its stdout, which may be a token. Of a plugin that exited with a code
 * only its stderr was reported, of others "spawn … ENOENT" or nothing.
 */
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { KubeConfig, type User } from '@kubernetes/client-node';
import { defineResource, type KubeObject } from 'capstan/cache';
import { instrumentTransport, newClient, RestClientMetrics } from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import { FakeClock } from 'capstan/testing';
import { setErrorHandler } from 'capstan/workqueue';
import { expect, test } from 'vitest';
import { bodyText, serve } from '../helpers/http-servers.ts';
import { cleanups } from './http2-transports.ts';

const API = 'client.authentication.k8s.io/v1';
const HINT = 'see https://example.com/install';

async function script(name: string, lines: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'plugin-'));
  cleanups.push(() => rm(folder, { recursive: true }));
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${lines}\n`);
  return path;
}

async function plugin(lines: string, name = 'cluster-login'): Promise<string> {
  const path = await script(name, lines);
  chmodSync(path, 0o755);
  return path;
}

const say = (answer: unknown) => `echo '${JSON.stringify(answer)}'`;
const credential = (more: object = {}, status: object = {}) =>
  say({ apiVersion: API, kind: 'ExecCredential', status: { token: 't', ...status }, ...more });

async function transportFor(user: Partial<User>, clock?: FakeClock) {
  const server = await serve(({ headers }, response) =>
    response.writeHead(headers.authorization === 'Bearer ok' ? 200 : 401).end('{}'),
  );
  cleanups.push(() => server.stop());
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: [{ name: 'c', server: server.url, skipTLSVerify: true }],
    users: [{ name: 'u', ...user }],
    contexts: [{ name: 'c', cluster: 'c', user: 'u' }],
    currentContext: 'c',
  });
  const transport = kubeConfigTransport(config, { clock });
  cleanups.push(() => transport.close?.());
  return transport;
}

const execOf = (command: string) => ({
  exec: { apiVersion: API, command, installHint: HINT, interactiveMode: 'Never' } as never,
});

async function failureOf(user: Partial<User>): Promise<Error> {
  const transport = await transportFor(user);
  const error = await transport.request({ method: 'GET', path: '/' }).then(
    ({ status }) => new Error(`answered ${status}`),
    (thrown: Error) => thrown,
  );
  expect(error).toMatchObject({ code: 'TRANSPORT', kind: 'unknown' });
  return error;
}

const ENDS: [string, string, string][] = [
  ['ends with a code', 'echo "session is over" >&2; exit 3', 'ended with code 3: session is over'],
  ['is killed', 'echo "oh" >&2; kill -9 $$', 'was ended by SIGKILL: oh'],
  ['says no JSON', 'echo "warn" >&2; echo my-secret-token', 'no JSON (it is not shown): warn'],
  ['says nothing', 'echo "warn" >&2', 'no JSON (it is not shown): warn'],
  ['says null', 'echo "warn" >&2; echo null', 'without "status": warn'],
  ['says a number', 'echo "warn" >&2; echo 7', 'without "status": warn'],
  [
    'says another version',
    `echo "warn" >&2; ${credential({ apiVersion: 'client.authentication.k8s.io/v1beta1' })}`,
    `apiVersion "client.authentication.k8s.io/v1beta1", the kubeconfig asks for "${API}": warn`,
  ],
  [
    'says another kind',
    `echo "warn" >&2; ${credential({ kind: 'Status' })}`,
    'kind "Status" instead of "ExecCredential": warn',
  ],
  [
    'says what expired, which the server refuses',
    `echo "warn" >&2; ${credential({}, { expirationTimestamp: '2001-01-01T00:00:00Z' })}`,
    'gave a credential that expired at 2001-01-01T00:00:00Z: warn',
  ],
  [
    'says a certificate without a key',
    `echo "warn" >&2; ${credential({}, { clientCertificateData: 'x' })}`,
    'without "status.clientKeyData": warn',
  ],
  [
    'says a token of two lines',
    'echo "warn" >&2; ' +
      `${credential({}, { token: 'my-secret\ntoken' }).replace('echo', "printf '%s'")}`,
    'gave what no header may hold: Invalid character in header content ["Authorization"]: warn',
  ],
];

test.each(ENDS)('a plugin that %s', async (_what, lines, why) => {
  const command = await plugin(lines);
  const { message, ...rest } = await failureOf(execOf(command));
  expect(message).toContain(`the exec plugin ${JSON.stringify(command)}`);
  expect(message).toContain(why);
  expect(message).toContain(HINT);
  expect(`${message}${inspect(rest)}`).not.toContain('secret');
});

test('a plugin that is missing, and one without execute permission', async () => {
  const { message } = await failureOf(execOf('/nowhere/cluster-login'));
  expect(message).toMatch(
    /the exec plugin "\/nowhere\/cluster-login" was not found; its install hint: see https:/,
  );
  const forbidden = await failureOf(execOf(await script('cluster-login', 'exit 0')));
  expect(forbidden.message).toMatch(/cluster-login" could not be run: .*EACCES.*install hint/);
});

test('a plugin of an authProvider is named too', async () => {
  const command = await plugin('echo no >&2; exit 1');
  const authProvider = { name: 'exec', config: { exec: { command, installHint: HINT } } };
  const { message } = await failureOf({ authProvider });
  expect(message).toMatch(/cluster-login" ended with code 1: no; its install hint: see/);
});

test('the end of a long stderr is quoted', async () => {
  const command = await plugin('seq 1 100000 >&2; echo last >&2; exit 1');
  const { message } = await failureOf(execOf(command));
  expect(message).toContain('100000\nlast');
  expect(message.length).toBeLessThan(3000);
});

test('an expired credential that the server accepts is used', async () => {
  const more = { token: 'ok', expirationTimestamp: '2001-01-01T00:00:00Z' };
  const transport = await transportFor(execOf(await plugin(credential({}, more))));
  const { status, body } = await transport.request({ method: 'GET', path: '/' });
  expect([status, await bodyText(body)]).toEqual([200, '{}']);
});

const ConfigMap = defineResource<KubeObject>()({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
});

// Its stdin was a pipe that nobody closed: a plugin that reads it hung, and each request with it.
test('a plugin that reads its stdin finds the end of it', async () => {
  const answer = credential({}, { token: 'ok' });
  const transport = await transportFor(execOf(await plugin(`cat > /dev/null; ${answer}`)));
  expect((await transport.request({ method: 'GET', path: '/' })).status).toBe(200);
});

// client-node sets no KUBERNETES_EXEC_INFO, which plugins of several clusters need.
test.each([false, true])('a plugin is told what it is for (cluster: %s)', async (isTold) => {
  const command = await plugin(
    `echo "$KUBERNETES_EXEC_INFO $MORE" > "$0.info"; ${credential({}, { token: 'ok' })}`,
  );
  const { exec } = execOf(command);
  const env = [{ name: 'MORE', value: 'more' }];
  const user = { exec: { ...(exec as object), env, provideClusterInfo: isTold } as never };
  const transport = await transportFor(user);
  await transport.request({ method: 'GET', path: '/' });
  const [info, more] = readFileSync(`${command}.info`, 'utf8').trim().split(' ');
  expect(more).toBe('more');
  expect(JSON.parse(String(info))).toEqual({
    kind: 'ExecCredential',
    apiVersion: API,
    spec: {
      interactive: false,
      ...(isTold && {
        cluster: {
          server: expect.stringMatching(/^https?:/),
          'insecure-skip-tls-verify': true,
          config: null,
        },
      }),
    },
  });
});

// With a hanging plugin a request failed after 90 s saying that the server was silent.
test('the error of a request that gives up names the hanging plugin', async () => {
  const clock = new FakeClock();
  const reported: string[] = [];
  const before = setErrorHandler((error) => reported.push((error as Error).message));
  cleanups.push(async () => void setErrorHandler(before));
  const command = await plugin('echo $$ >> "$0.pids"; echo open >&2; exec sleep 600');
  cleanups.push(async () => {
    for (const pid of readFileSync(`${command}.pids`, 'utf8').trim().split('\n'))
      process.kill(Number(pid), 'SIGKILL');
  });
  const transport = await transportFor(execOf(command), clock);
  const client = newClient({
    transport: instrumentTransport(transport, new RestClientMetrics()),
    clock,
  });
  const stop = new AbortController();
  const named = expect.stringMatching(/which waited for the exec plugin ".*cluster-login"/);
  const failing = [
    client.list(ConfigMap, { signal: stop.signal }),
    transport.request({ method: 'GET', path: '/', signal: stop.signal }),
    client.list(ConfigMap),
  ].map((work) =>
    work.then(
      () => 'no error',
      (error: unknown) => error,
    ),
  );
  await clock.run(10_000);
  stop.abort();
  expect(await failing[0]).toMatchObject({ code: 'ABORTED', message: named });
  expect(await failing[1]).toMatchObject({ kind: 'aborted', message: named });
  expect(reported).toEqual([
    expect.stringContaining('cluster-login" has not answered for 10000 ms'),
  ]);
  await clock.run(90_000);
  const silent = (await failing[2]) as Error;
  expect(silent).toMatchObject({ kind: 'refused', message: named });
  expect(silent.message).toContain(HINT);
});
