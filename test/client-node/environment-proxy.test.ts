/** Which proxy the environment names for which server. */
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { environmentProxy } from '../../bindings/client-node/environment-proxy.ts';

const through = (server: string, env: Record<string, string>): string =>
  environmentProxy(new URL(server), env)?.href ?? 'straight';

describe('NO_PROXY', () => {
  // Each answer is that of golang.org/x/net/http/httpproxy v0.40.0.
  test.each<[noProxy: string, straight: string[], proxied: string[]]>([
    ['', ['localhost', '127.0.0.1', '127.9.9.9', '[::1]'], ['10.0.0.1', 'sub.localhost']],
    ['*', ['a.example', '10.0.0.1:6443'], []],
    ['other, * ', ['a.example'], []],
    ['*:443', [], ['a.example']],
    ['example.com', ['example.com', 'a.example.com', 'a.b.example.com:6443'], ['notexample.com']],
    ['EXAMPLE.com', ['example.com', 'API.Example.COM'], ['example.org']],
    ['.example.com', ['a.example.com'], ['example.com']],
    ['*.example.com', ['a.example.com'], ['example.com']],
    ['*example.com', [], ['aexample.com', 'a.example.com']],
    ['example.com:6443', ['example.com:6443', 'a.example.com:6443'], ['example.com']],
    ['example.com:443', ['example.com'], ['example.com:6443']],
    ['.svc,.cluster.local', ['kubernetes.default.svc'], ['kubernetes', 'svc']],
    ['10.0.0.1', ['10.0.0.1', '[::ffff:10.0.0.1]'], ['10.0.0.2', '10.0.0.1.nip.io']],
    ['10.0.0.1:6443', ['10.0.0.1:6443'], ['10.0.0.1']],
    ['10.0.0.0/8', ['10.1.2.3', '10.1.2.3:6443', '[::ffff:10.1.2.3]'], ['11.0.0.1', '10.nip.io']],
    ['10.0.0.7/8', ['10.1.2.3'], []],
    ['10.0.0.0/33', [], ['10.0.0.1']],
    ['10.0.0.0/8:443', [], ['10.0.0.1']],
    ['0.0.0.0/0', ['8.8.8.8'], ['[2001:db8::1]', 'a.example']],
    ['::/0', ['[2001:db8::1]'], ['8.8.8.8']],
    ['::ffff:0:0/96', ['8.8.8.8'], ['[2001:db8::1]']],
    ['2001:db8::/32', ['[2001:db8::1]', '[2001:DB8:0::9]:6443'], ['[2001:db9::1]']],
    ['2001:db8::1', ['[2001:db8::1]'], ['[2001:db8::2]']],
    ['[2001:db8::1]:6443', ['[2001:db8::1]:6443'], ['[2001:db8::1]']],
    ['bücher.example', ['bücher.example', 'a.xn--bcher-kva.example'], ['bucher.example']],
    ['a.example.', [], ['a.example']],
    [':443, , ..,a b', [], ['a.example']],
  ])('%s', (NO_PROXY, straight, proxied) => {
    const env = { HTTPS_PROXY: 'http://proxy:3128', NO_PROXY };
    const found = [...straight, ...proxied].map((host) => [host, through(`https://${host}`, env)]);
    expect(found).toEqual([
      ...straight.map((host) => [host, 'straight']),
      ...proxied.map((host) => [host, 'http://proxy:3128/']),
    ]);
  });
});

test('each scheme has its variable, in capitals first', () => {
  const both = { HTTPS_PROXY: 'http://secure', HTTP_PROXY: 'http://plain' };
  expect(through('https://a.example', both)).toBe('http://secure/');
  expect(through('http://a.example', both)).toBe('http://plain/');
  expect(through('https://a.example', { HTTP_PROXY: 'http://plain' })).toBe('straight');
  expect(through('https://a.example', { https_proxy: 'http://small' })).toBe('http://small/');
  expect(through('https://a.example', { https_proxy: 'http://small', HTTPS_PROXY: '' })).toBe(
    'http://small/',
  );
  expect(through('https://a.example', { https_proxy: 'http://small', ...both })).toBe(
    'http://secure/',
  );
  expect(through('https://a.example', { ...both, no_proxy: 'a.example' })).toBe('straight');
  expect(through('https://a.example', { ALL_PROXY: 'http://all' })).toBe('straight');
});

test('a proxy may be without scheme, over TLS, of SOCKS, and with a password', () => {
  const at = (HTTPS_PROXY: string) => through('https://a.example', { HTTPS_PROXY });
  expect(at('proxy:3128')).toBe('http://proxy:3128/');
  expect(at('jane:p%40ss@proxy:3128')).toBe('http://jane:p%40ss@proxy:3128/');
  expect(at('https://proxy')).toBe('https://proxy/');
  expect(at('socks5://proxy:1080')).toBe('socks5://proxy:1080');
});

test.each(['ftp://jane:secret@proxy', 'http://jane:secret@pro xy', 'http://jane:secret%zz@proxy'])(
  '%s is an error that does not quote it',
  (HTTPS_PROXY) => {
    let thrown: unknown;
    try {
      through('https://a.example', { HTTPS_PROXY });
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(/^"HTTPS_PROXY" expected/),
    });
    expect(inspect(thrown, { depth: 9, showHidden: true })).not.toContain('secret');
  },
);
