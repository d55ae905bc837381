/**
 * Credentials that client-node keeps, and failures to read them: renewed after a 401, and errors if
 * none can be read.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { KubeConfig, type User } from '@kubernetes/client-node';
import type { Transport } from 'capstan/cache';
import {
  type ConnectionOptions,
  type KubeConfigLike,
  kubeConfigTransport,
} from 'capstan/client-node';
import { FakeClock } from 'capstan/testing';
import { setErrorHandler } from 'capstan/workqueue';
import { expect, test } from 'vitest';
import { bodyText, certificate } from '../helpers/http-servers.ts';
import { ca, cleanups, getPath, startServer } from './http2-transports.ts';

const base64 = (value: string) => Buffer.from(value).toString('base64');
const clusterAt = (server: string, name = 'c') => ({
  name,
  server,
  caData: base64(ca.cert),
  skipTLSVerify: false,
});

function configFor(url: string, user: Partial<User>): KubeConfig {
  const config = new KubeConfig();
  config.loadFromClusterAndUser(clusterAt(url), { name: 'u', ...user });
  return config;
}

function transportOf(config: KubeConfigLike, options?: ConnectionOptions): Transport {
  const transport = kubeConfigTransport(config, options);
  cleanups.push(() => transport.close?.());
  return transport;
}

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'capstan-'));
  cleanups.push(() => rm(path, { recursive: true }));
  return path;
}

/** Status and body. */
async function ask(transport: Transport): Promise<string> {
  const { status, body } = await getPath(transport);
  return `${status} ${await bodyText(body)}`;
}

/** Answers 401 to all tokens but one. */
async function guarded(valid: string) {
  const state = { valid };
  const { url } = await startServer((request, response) => {
    const { authorization = 'none' } = request.headers;
    response.writeHead(authorization === `Bearer ${state.valid}` ? 200 : 401).end(authorization);
  });
  return { url, state };
}

/** The reports to handleError. */
function reportedErrors(): string[] {
  const reported: string[] = [];
  const before = setErrorHandler((error, what) =>
    reported.push(`${what}: ${(error as Error).message}`),
  );
  cleanups.push(async () => void setErrorHandler(before));
  return reported;
}

/** An exec plugin that counts its runs, and runs `script` with the count `n`. */
async function plugin(script: string) {
  const count = join(await folder(), 'count');
  writeFileSync(count, '0');
  const code = `const fs = require('node:fs');
    const n = Number(fs.readFileSync('${count}', 'utf8')) + 1;
    fs.writeFileSync('${count}', String(n));
    const say = (x) => console.log(JSON.stringify(x));
    ${script}`;
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: process.execPath,
    args: ['-e', code],
  };
  return { exec, runs: () => Number(readFileSync(count, 'utf8')) };
}

// An exec credential without expirationTimestamp was kept for ever, although the server rejected
// it.
test('after a 401 an exec plugin is run again, once a second at most', async () => {
  const { url, state } = await guarded('run-1');
  const { exec, runs } = await plugin(`say({ status: { token: 'run-' + n } })`);
  const clock = new FakeClock();
  const transport = transportOf(configFor(url, { exec }), { clock });
  for (let i = 0; i < 2; i++) expect(await ask(transport)).toBe('200 Bearer run-1');
  state.valid = 'run-2';
  // They were sent before the credential was renewed: together they cause one renewal.
  expect(await Promise.all([ask(transport), ask(transport)])).toEqual(
    Array(2).fill('401 Bearer run-1'),
  );
  for (let i = 0; i < 2; i++) expect(await ask(transport)).toBe('200 Bearer run-2');
  state.valid = 'nobody';
  for (let i = 0; i < 3; i++) expect(await ask(transport)).toBe('401 Bearer run-2');
  expect(runs()).toBe(2);
  await clock.run(1000);
  for (let i = 0; i < 3; i++) expect(await ask(transport)).toBe('401 Bearer run-3');
  expect(runs()).toBe(3);
});

// For up to a minute a rotated ServiceAccount token was not read, although the server rejected the
// old one.
test('after a 401 the token file is read again', async () => {
  const { url, state } = await guarded('first');
  const tokenFile = join(await folder(), 'token');
  writeFileSync(tokenFile, 'first\n');
  const transport = transportOf(
    configFor(url, { authProvider: { name: 'tokenFile', config: { tokenFile } } }),
  );
  expect(await ask(transport)).toBe('200 Bearer first');
  writeFileSync(tokenFile, 'second\n');
  state.valid = 'second';
  expect(await ask(transport)).toBe('401 Bearer first');
  expect(await ask(transport)).toBe('200 Bearer second');
});

test('a KubeConfig with other or no internal fields works as before', async () => {
  const { url } = await guarded('nobody');
  const none = { getCurrentCluster: () => clusterAt(url), getCurrentUser: () => ({ name: 'u' }) };
  const inside: object[] = [
    { authenticators: undefined },
    { authenticators: [null, 1, {}, { isAuthProvider: () => true, tokenCache: 'none' }] },
    { authenticators: [{ isAuthProvider: () => JSON.parse('') }] },
  ];
  for (const fields of inside) {
    const applyToHTTPSOptions = async (options: object) =>
      void Object.assign(options, { ca: ca.cert });
    const transport = transportOf({ ...none, ...fields, applyToHTTPSOptions });
    for (let i = 0; i < 3; i++) expect(await ask(transport)).toBe('401 none');
  }
});

// Fails if an upgrade of client-node renames the fields that auth-cache.ts uses: the tests above
// show the effect.
test('client-node keeps credentials in the expected fields', () => {
  const { authenticators, agentCache } = new KubeConfig() as unknown as {
    authenticators: object[];
    agentCache: unknown;
  };
  expect(agentCache).toEqual(new Map());
  expect(authenticators.filter((one) => 'tokenCache' in one)).toEqual([
    expect.objectContaining({ tokenCache: {} }),
  ]);
  expect(authenticators.filter((one) => 'lastRead' in one)).toEqual([
    expect.objectContaining({ token: null, lastRead: null }),
  ]);
});

// During a read of credentials, a request after setCurrentContext went to the former cluster with
// its credentials: a DELETE, for example.
test('requests share a read only within the context in which they start', async () => {
  const servers = await Promise.all(
    ['a', 'b'].map((name) => startServer((_, response) => response.end(name))),
  );
  const config = new KubeConfig();
  const contexts = ['a', 'b'].map((name) => ({ name, cluster: name, user: name }));
  const clusters = servers.map(({ url }, i) => clusterAt(url, contexts[i]!.name));
  config.loadFromOptions({
    clusters,
    users: [{ name: 'a' }, { name: 'b' }],
    contexts,
    currentContext: 'a',
  });
  const slow = Promise.withResolvers<void>();
  const apply = config.applyToHTTPSOptions.bind(config);
  let readings = 0;
  config.applyToHTTPSOptions = async (options) => {
    const isFirst = ++readings === 1;
    await apply(options);
    if (isFirst) await slow.promise;
  };
  const clock = new FakeClock();
  const transport = transportOf(config, { clock });
  const first = [ask(transport), ask(transport)];
  config.setCurrentContext('b');
  const second = [ask(transport), ask(transport)];
  expect(await Promise.all(second)).toEqual(['200 b', '200 b']);
  await clock.run(60_000); // the waiting requests read again, and get time for it
  expect(await ask(transport)).toBe('200 b');
  slow.resolve();
  expect(await Promise.all(first)).toEqual(['200 a', '200 a']);
  expect(readings).toBe(3);
});

// {} was kept for ever and failed with "Cannot read properties of undefined"; with null and an
// empty status requests were sent without credentials.
test.each([
  [{}, 'answered without "status"'],
  [null, 'answered without "status"'],
  [{ status: null }, 'answered without "status"'],
  [
    { status: {} },
    'answered without "status.token", and without "status.clientCertificateData" and',
  ],
  [{ status: { token: 7 } }, 'answered without "status.token", and'],
  [
    { status: { token: 'x', clientCertificateData: 'y' } },
    'answered without "status.clientKeyData"',
  ],
  [{ status: { clientKeyData: 'y' } }, 'answered without "status.clientCertificateData"'],
])(
  'a plugin that answers %j has no credential: the next request runs it again',
  async (answer, message) => {
    const { url } = await guarded('run-2');
    const { exec } = await plugin(
      `say(n === 1 ? ${JSON.stringify(answer)} : { status: { token: 'run-' + n } })`,
    );
    const transport = transportOf(configFor(url, { exec }));
    await expect(ask(transport)).rejects.toMatchObject({
      kind: 'unknown',
      message: expect.stringContaining(
        `credentials for ${url}: the exec plugin ${JSON.stringify(process.execPath)} ${message}`,
      ),
    });
    expect(await ask(transport)).toBe('200 Bearer run-2');
  },
);

// The message ended with a colon if a plugin exited with 3 and no output. An earlier expired answer
// is not the error.
test('the error quotes a failed plugin, or says that it has failed', async () => {
  const { url } = await guarded('run-1');
  const status = `{ token: 'run-' + n, expirationTimestamp: '2001-01-01T00:00:00Z' }`;
  const script =
    `if (n === 1) say({ status: ${status} }); else { if (n === 3) ` +
    "console.error('log in first'); process.exit(3); }";
  const { exec } = await plugin(script);
  const transport = transportOf(configFor(url, { exec }));
  expect(await ask(transport)).toBe('200 Bearer run-1');
  await expect(ask(transport)).rejects.toThrow(/: the exec plugin ".*" ended with code 3$/);
  await expect(ask(transport)).rejects.toThrow(
    /for https:\/\/127.0.0.1:\d+: the exec plugin ".*" ended with code 3: log in first$/,
  );
});

// An empty file made the requests of a minute anonymous; without the file each of them failed.
test('while a token file is empty or missing the former token is used', async () => {
  const { url, state } = await guarded('first');
  const tokenFile = join(await folder(), 'token');
  const clock = new FakeClock();
  const config = configFor(url, { authProvider: { name: 'tokenFile', config: { tokenFile } } });
  const transport = transportOf(config, { clock });
  const reported = reportedErrors();
  await expect(ask(transport)).rejects.toMatchObject({
    kind: 'unknown',
    cause: { code: 'ENOENT' },
  });
  writeFileSync(tokenFile, '\n');
  await expect(ask(transport)).rejects.toThrow(/: the file of the token is empty$/);
  writeFileSync(tokenFile, 'first');
  expect(await ask(transport)).toBe('200 Bearer first');
  expect(reported).toEqual([]);

  state.valid = 'second'; // from now on it is read for each request
  writeFileSync(tokenFile, '');
  for (let i = 0; i < 3; i++) expect(await ask(transport)).toBe('401 Bearer first');
  // Another transport of the KubeConfig does not take it for another user's.
  expect(await ask(transportOf(config, { clock }))).toBe('401 Bearer first');
  expect(reported.splice(1)).toHaveLength(1);
  rmSync(tokenFile);
  for (let i = 0; i < 3; i++) expect(await ask(transport)).toBe('401 Bearer first');
  expect(reported).toEqual([
    expect.stringMatching(
      /credentials for .*, going on with the former ones: the file of the token/,
    ),
  ]);
  writeFileSync(tokenFile, 'second');
  expect(await ask(transport)).toBe('200 Bearer second');
});

// client-node keeps one token for all users: that of the former context was sent to the next
// cluster.
test('the token of one user is never sent for another', async () => {
  const { url } = await guarded('nobody');
  const path = await folder();
  const users = ['a', 'b', 'none'].map((name) => {
    const tokenFile = join(path, name);
    if (name !== 'none') writeFileSync(tokenFile, name);
    return { name, authProvider: { name: 'tokenFile', config: { tokenFile } } };
  });
  const config = new KubeConfig();
  const contexts = users.map(({ name }) => ({ name, cluster: 'c', user: name }));
  config.loadFromOptions({ clusters: [clusterAt(url)], users, contexts, currentContext: 'a' });
  const transport = transportOf(config);
  expect(await ask(transport)).toBe('401 Bearer a');
  config.setCurrentContext('b');
  expect(await ask(transport)).toBe('401 Bearer b');
  config.setCurrentContext('none');
  await expect(ask(transport)).rejects.toMatchObject({ cause: { code: 'ENOENT' } });
});

// client-node keeps a plugin's answer by the user's name alone, and a kubeconfig that is loaded
// later often has the same name: the token of the former cluster was sent to the next one.
test("a plugin's credential is never sent for another user of the same name", async () => {
  const servers = await Promise.all(
    ['a', 'b'].map((name) =>
      startServer(({ headers }, response) =>
        response.end(`${name} was sent ${headers.authorization}`),
      ),
    ),
  );
  const plugins = await Promise.all(
    ['a', 'b'].map((name) => plugin(`say({ status: { token: '${name}' + n } })`)),
  );
  const config = new KubeConfig();
  const load = (i: number) =>
    config.loadFromClusterAndUser(clusterAt(servers[i]!.url), {
      name: 'admin',
      exec: plugins[i]!.exec,
    });
  load(0);
  const transport = transportOf(config);
  for (let i = 0; i < 2; i++) expect(await ask(transport)).toBe('200 a was sent Bearer a1');
  load(1);
  for (let i = 0; i < 2; i++) expect(await ask(transport)).toBe('200 b was sent Bearer b1');
  load(0);
  for (let i = 0; i < 2; i++) expect(await ask(transport)).toBe('200 a was sent Bearer a2');
});

test("a credential of client-node's own read is not sent for such a user", async () => {
  const { url } = await startServer(({ headers }, response) =>
    response.end(String(headers.authorization)),
  );
  const [first, second] = await Promise.all(
    ['a', 'b'].map((name) => plugin(`say({ status: { token: '${name}' } })`)),
  );
  const config = configFor(url, { exec: first!.exec });
  await config.applyToHTTPSOptions({ headers: {} });
  config.loadFromClusterAndUser(clusterAt(url), { name: 'u', exec: second!.exec });
  expect(await ask(transportOf(config))).toBe('200 Bearer b');
});

/** The subject of the client certificate, over HTTP/2 and HTTP/1.1. */
async function mutual() {
  const options = { ca: ca.cert, requestCert: true, rejectUnauthorized: true, allowHTTP1: true };
  return startServer(
    (request, response) =>
      response.end(String((request.socket as TLSSocket).getPeerCertificate().subject.CN)),
    options,
  );
}

// Between the two writes of a renewal every request failed as refused, also on open connections.
test.each(['auto', false] as const)(
  'a certificate that does not match its key leaves the former pair in use (http2: %s)',
  async (http2) => {
    const [alice, bob] = await Promise.all([certificate(ca, 'alice'), certificate(ca, 'bob')]);
    const { url, sockets } = await mutual();
    const path = await folder();
    const [certFile, keyFile] = [join(path, 'cert.pem'), join(path, 'key.pem')];
    writeFileSync(certFile, alice.cert);
    writeFileSync(keyFile, bob.key);
    const reported = reportedErrors();
    const transport = transportOf(configFor(url, { certFile, keyFile }), { http2 });
    const error = await ask(transport).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      kind: 'unknown',
      message: expect.stringMatching(/credentials for .*do not fit each other/),
    });
    writeFileSync(keyFile, alice.key);
    expect(await ask(transport)).toBe('200 alice');
    for (const cert of [bob.cert, bob.cert.slice(0, 100)]) {
      writeFileSync(certFile, cert);
      expect(await ask(transport)).toBe('200 alice');
    }
    expect(sockets).toHaveLength(1);
    expect(reported).toEqual([
      expect.stringMatching(/going on with the former ones: .*do not fit each other/),
    ]);
    writeFileSync(certFile, bob.cert);
    writeFileSync(keyFile, bob.key);
    expect(await ask(transport)).toBe('200 bob');
  },
);

// A program that renews files by deleting and writing failed all requests in between, including the
// renewal of its lease; an empty CA file closed the connections too.
test.each([
  ['the certificate is missing', 'cert.pem', undefined, /: ENOENT/],
  ['the key is missing', 'key.pem', undefined, /: ENOENT/],
  ['the CA is missing', 'ca.pem', undefined, /: ENOENT/],
  ['the CA is empty', 'ca.pem', '', /: "certificate-authority" expected a certificate in PEM/],
])('while %s the former ones are used, which is reported once', async (_, name, left, why) => {
  const alice = await certificate(ca, 'alice');
  const { url, sockets } = await mutual();
  const path = await folder();
  const [certFile, keyFile, caFile] = [
    join(path, 'cert.pem'),
    join(path, 'key.pem'),
    join(path, 'ca.pem'),
  ];
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: 'c', server: url, caFile, skipTLSVerify: false },
    { name: 'u', certFile, keyFile },
  );
  const transport = transportOf(config);
  const reported = reportedErrors();
  await expect(ask(transport)).rejects.toMatchObject({
    kind: 'unknown',
    cause: { code: 'ENOENT' },
  });
  const write = (): void => {
    for (const [file, pem] of [
      [certFile, alice.cert],
      [keyFile, alice.key],
      [caFile, ca.cert],
    ] as const)
      writeFileSync(file, pem);
  };
  write();
  expect(await ask(transport)).toBe('200 alice');
  if (left === undefined) rmSync(join(path, name));
  else writeFileSync(join(path, name), left);
  for (let i = 0; i < 3; i++) expect(await ask(transport)).toBe('200 alice');
  expect(reported).toEqual([
    expect.stringMatching(/credentials for .*, going on with the former ones/),
  ]);
  expect(reported[0]).toMatch(why);
  write();
  expect(await ask(transport)).toBe('200 alice');
  expect([reported.length, sockets.length]).toEqual([1, 1]);
});

// The error blamed the request, as an invalid argument.
test('a token that no header can hold is a credential error, not quoted', async () => {
  const { url } = await guarded('run-2');
  const { exec } = await plugin(`say({ status: { token: n === 1 ? 'zq-1\\nzq-2' : 'run-2' } })`);
  const transport = transportOf(configFor(url, { exec }));
  const error = await ask(transport).catch((reason: unknown) => reason);
  expect(error).toMatchObject({
    kind: 'unknown',
    message: expect.stringMatching(/credentials for .*Authorization/),
  });
  expect(String(error)).not.toContain('zq-'); // which no path of a checkout has
  expect(await ask(transport)).toBe('200 Bearer run-2');
});

// Several values were joined by a comma, as one group; a name beyond ASCII was rejected by Node, or
// arrived in Latin-1.
test.each(['auto', false] as const)(
  'impersonation has several groups, and names in UTF-8 (http2: %s)',
  async (http2) => {
    const { url } = await startServer(
      (request, response) =>
        response.end(Buffer.from(JSON.stringify(request.rawHeaders), 'latin1')),
      { allowHTTP1: true },
    );
    const config = configFor(url, { impersonateUser: 'jürgen иван' });
    config.addAuthenticator({
      isAuthProvider: () => true,
      applyAuthentication: async (_, options) => {
        Object.assign(options.headers ?? {}, { 'Impersonate-Group': ['g1', 'g2'] });
      },
    });
    const { body } = await getPath(transportOf(config, { http2 }));
    const raw = JSON.parse(await bodyText(body)) as string[];
    const values = (name: string) => raw.filter((_, i) => i % 2 === 1 && raw[i - 1] === name);
    expect(values('impersonate-user')).toEqual(['jürgen иван']);
    expect(values('impersonate-group')).toEqual(['g1', 'g2']);
  },
);

// close() did not end the wait for a hanging plugin, nor did requests after it, and all later
// requests waited for it. Then later requests got another plugin, but not the earlier ones:
// informers waited for minutes without a report.
test('a hanging read is shared for 30 s and reported; close() ends the wait', async () => {
  const { url } = await guarded('late');
  const reported = reportedErrors();
  const clock = new FakeClock();
  const config = configFor(url, {});
  let readings = 0;
  config.applyToHTTPSOptions = async (options) => {
    if (++readings !== 2) return new Promise(() => undefined);
    Object.assign(options, { ca: ca.cert, headers: { Authorization: 'Bearer late' } });
  };
  const transport = transportOf(config, { clock });
  const waiting = [ask(transport), ask(transport)];
  await clock.run(29_999);
  waiting.push(ask(transport));
  expect(readings).toBe(1);
  await clock.run(1);
  expect(readings).toBe(2);
  expect(await Promise.all(waiting.splice(0))).toEqual(Array(3).fill('200 Bearer late'));
  const slow =
    `reading the kubeconfig's credentials for ${url}: the KubeConfig has ` +
    'not answered for 10000 ms: requests wait for it';
  expect(reported).toEqual([slow]);
  waiting.push(ask(transport), ask(transport));
  expect(readings).toBe(3);
  const ends = Promise.allSettled(waiting);
  await transport.close?.();
  const refused = { status: 'rejected', reason: expect.objectContaining({ kind: 'refused' }) };
  expect(await ends).toEqual(Array(2).fill(refused));
  await expect(ask(transport)).rejects.toThrow(/transport is closed/);
  expect(readings).toBe(3);
});

/** Requests whose credentials are read when and as the test says. */
async function slow() {
  const { url } = await guarded('nobody');
  reportedErrors();
  const clock = new FakeClock();
  const config = configFor(url, {});
  const readings: PromiseWithResolvers<string>[] = [];
  config.applyToHTTPSOptions = async (options) => {
    const reading = Promise.withResolvers<string>();
    readings.push(reading);
    Object.assign(options, { ca: ca.cert, headers: { Authorization: await reading.promise } });
  };
  const transport = transportOf(config, { clock });
  const states: string[] = [];
  const request = () => {
    const i = states.push('waits') - 1;
    return ask(transport).then(
      (answer) => (states[i] = answer),
      (error: Error) => (states[i] = error.message.replace(/.*: /, '')),
    );
  };
  return { clock, readings, request, states };
}

// The request got the failure of the second read, which no request needed, while a user was still
// logging in for the first one.
test('a request is rejected when its last read has failed, with that failure', async () => {
  const { clock, readings, request, states } = await slow();
  const first = request();
  await clock.run(31_000);
  expect(readings).toHaveLength(2);
  readings[1]?.reject(new Error('another login is running'));
  await clock.run(9000);
  expect(states).toEqual(['waits']);
  readings[0]?.resolve('first');
  expect(await first).toBe('401 first');

  const second = request();
  await clock.run(31_000);
  readings[2]?.reject(new Error('one'));
  await clock.settle();
  readings[3]?.reject(new Error('the other'));
  expect(await second).toBe('the other');
  expect(readings).toHaveLength(4);
});

// Requests after the start of the second read waited for that one alone, even when the first was
// answered.
test('the first answer resolves all waiting requests, and later answers none', async () => {
  const { clock, readings, request } = await slow();
  const waiting = [request()];
  await clock.run(31_000);
  waiting.push(request());
  await clock.run(4000);
  readings[0]?.resolve('first');
  expect(await Promise.all(waiting)).toEqual(['401 first', '401 first']);
  const later = request();
  expect(readings).toHaveLength(3);
  readings[1]?.resolve('second');
  readings[2]?.resolve('third');
  expect(await later).toBe('401 third');
});

// A request that waited for ten minutes started a plugin every thirty seconds, none of which ended.
test('at most two reads hang', async () => {
  const { clock, readings, request, states } = await slow();
  request();
  for (let i = 0; i < 60; i++) await clock.run(10_000);
  const last = request();
  expect([readings.length, states]).toEqual([2, ['waits', 'waits']]);
  readings[1]?.reject(new Error('killed'));
  await clock.run(10_000);
  expect(readings).toHaveLength(3);
  readings[2]?.resolve('third');
  expect(await last).toBe('401 third');
});
