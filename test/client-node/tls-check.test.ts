/**
 * Unusable TLS material is an error that names the option, before a request is sent, and quotes no
 * material. Otherwise Node's TypeErrors and OpenSSL's messages came with the first request, and for
 * a CA without a certificate only an untrusted server.
 */
import { createPrivateKey } from 'node:crypto';
import { inspect } from 'node:util';
import { KubeConfig } from '@kubernetes/client-node';
import { httpTransport, kubeConfigTransport } from 'capstan/client-node';
import { describe, expect, test } from 'vitest';
import { authority, certificate } from '../helpers/http-servers.ts';
import { ask, ca, cleanups, http2Transport, identity, startServer } from './http2-transports.ts';

const other = await certificate(await authority(), 'other');
const encrypted = createPrivateKey(identity.key).export({
  type: 'pkcs8',
  format: 'pem',
  cipher: 'aes-256-cbc',
  passphrase: 'very-secret',
}) as string;
const BROKEN = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const { cert, key } = identity;

const CASES: [string, object, string][] = [
  ['an object as ca', { ca: { file: 'ca.crt' } }, 'ca'],
  ['a list of objects as ca', { ca: [ca.cert, {}] }, 'ca'],
  ['null as ca', { ca: null }, 'ca'],
  ['a number as ca', { ca: 7 }, 'ca'],
  ['an empty ca', { ca: '' }, 'ca'],
  ['a path as ca', { ca: '/etc/ca.crt' }, 'ca'],
  ['an empty list as ca', { ca: [] }, 'ca'],
  ['a key as ca', { ca: key }, 'ca'],
  ['a broken ca', { ca: Buffer.from(BROKEN) }, 'ca'],
  ['text as cert', { cert: 'very-secret', key }, 'cert'],
  ['a broken cert', { cert: BROKEN, key }, 'cert'],
  ['an object as cert', { cert: { pem: cert }, key }, 'cert'],
  ['a cert without a key', { cert }, 'key'],
  ['a key without a cert', { key }, 'cert'],
  ['text as key', { cert, key: 'very-secret' }, 'key'],
  ['an empty key', { cert, key: '' }, 'key'],
  ['a cert as key', { cert, key: cert }, 'key'],
  ['an object as key', { cert, key: { file: 'very-secret' } }, 'key'],
  ["another's key", { cert, key: other.key }, 'key'],
  ['an encrypted key without passphrase', { cert, key: encrypted }, 'key'],
  ['a wrong passphrase', { cert, key: encrypted, passphrase: 'very-secret-2' }, 'key'],
  ['a number as passphrase', { cert, key: encrypted, passphrase: 123456 }, 'passphrase'],
  ['text as pfx', { pfx: 'very-secret' }, 'pfx'],
  ['an object as pfx', { pfx: {} }, 'pfx'],
  ['a number as servername', { servername: 7 }, 'servername'],
  ['a servername with a space', { servername: 'a b' }, 'servername'],
  ['a servername with NUL', { servername: 'a\0b' }, 'servername'],
  ['text as rejectUnauthorized', { rejectUnauthorized: 'false' }, 'rejectUnauthorized'],
];

function refusal(make: () => unknown): Error {
  try {
    make();
  } catch (error) {
    return error as Error;
  }
  throw new Error('nothing was refused');
}

describe('httpTransport rejects', () => {
  test.each(CASES)('%s', (_what, tls, option) => {
    const error = refusal(() => httpTransport('https://127.0.0.1:1', { tls: tls as never }));
    expect(error).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(`"options.tls.${option}" expected`),
    });
    expect(inspect(error, { depth: 9 })).not.toMatch(/very-secret|123456|PRIVATE KEY/);
  });

  test.each(['ca', null, 7])('%j as tls', (tls) => {
    expect(refusal(() => httpTransport('https://a', { tls: tls as never }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });
});

const NAMES: Record<string, string> = {
  ca: 'certificate-authority',
  cert: 'client-certificate',
  key: 'client-key',
  servername: 'tls-server-name',
};

test.each(CASES)('kubeConfigTransport rejects %s', async (_what, tls, option) => {
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: 'c', server: 'https://127.0.0.1:1', skipTLSVerify: false },
    { name: 'u' },
  );
  config.applyToHTTPSOptions = async (options) => void Object.assign(options, tls);
  const transport = kubeConfigTransport(config);
  const error = await transport.request({ method: 'GET', path: '/' }).catch((e: unknown) => e);
  expect(error).toMatchObject({
    code: 'TRANSPORT',
    kind: 'unknown',
    message: expect.stringContaining(`"${NAMES[option] ?? option}" expected`),
  });
  expect(inspect(error, { depth: 9 })).not.toMatch(/very-secret|123456|PRIVATE KEY/);
});

test.each([
  [
    'bytes',
    { ca: Buffer.from(ca.cert), cert: Buffer.from(cert), key: new Uint8Array(Buffer.from(key)) },
  ],
  ['lists', { ca: [other.cert, BROKEN, ca.cert], cert: [cert], key: [key] }],
  ['a passphrase', { ca: ca.cert, cert, key: encrypted, passphrase: 'very-secret' }],
  ['a key with its passphrase', { cert, key: [{ pem: encrypted, passphrase: 'very-secret' }] }],
  ['a ca that is not used', { ca: 'junk', rejectUnauthorized: false }],
  ['an address as servername', { servername: '127.0.0.1' }],
])('%s can be used', async (_what, tls) => {
  const { url } = await startServer((_, response) => response.end('here'));
  expect(await ask(http2Transport(url, { tls: tls as never }))).toBe('here');
  expect(cleanups.length).toBeGreaterThan(0);
});
