/** Bind addresses with Go's syntax, and whether other machines can reach them. */
import { describe, expect, test } from 'vitest';
import { isLoopback, parseBindAddress } from '../../bindings/manager/bind-address.ts';

describe('a bind address', () => {
  test.each([
    [':8080', { host: undefined, port: 8080 }],
    ['127.0.0.1:0', { host: '127.0.0.1', port: 0 }],
    ['localhost:65535', { host: 'localhost', port: 65_535 }],
    ['[::1]:8080', { host: '::1', port: 8080 }],
    ['0', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('is read: %s', (text, address) => {
    expect(parseBindAddress('bindAddress', text)).toEqual(address);
  });

  test.each(['8080', 'a:b', ':65536', '::1:80', '[a]:80', 'http://a:80', 8080, null])(
    'is refused: %s',
    (text) => {
      expect(() => parseBindAddress('options.bindAddress', text)).toThrow(
        '"options.bindAddress" expected an address',
      );
    },
  );
});

describe('an address of this machine alone', () => {
  test.each([
    '127.0.0.1',
    '127.8.8.8',
    '127.255.0.9',
    '::1',
    '0:0:0:0:0:0:0:1',
    '::ffff:127.0.0.1',
    'localhost',
    'LOCALHOST',
    'a.localhost',
  ])('is %s', (host) => {
    expect(isLoopback(host)).toBe(true);
  });

  test.each([
    undefined, // every interface, or a socket that is closed
    '0.0.0.0',
    '::',
    '10.0.0.1',
    '10.127.0.1',
    '::ffff:10.0.0.1',
    'fe80::1',
    '::2',
    '1::1',
    'localhost.example.com',
    '127.0.0.1.nip.io',
    '128.0.0.1',
  ])('is not %s', (host) => {
    expect(isLoopback(host)).toBe(false);
  });
});
