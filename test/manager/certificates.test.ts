/**
 * Which certificates count as renewed. Only cert, key and ca were compared, with the object that
 * the function had returned: a renewed pfx was never set, nor was a pair that was replaced within
 * the same object.
 */
import type { Server } from 'node:https';
import type { SecureContextOptions } from 'node:tls';
import { FakeClock } from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { renewCertificates } from '../../bindings/manager/certificates.ts';

const bytes = (text: string) => Buffer.from(text);

describe('a server gets', () => {
  test.each<
    [what: string, first: SecureContextOptions, next: SecureContextOptions, isNew: boolean]
  >([
    [
      'a renewed pfx',
      { pfx: bytes('old'), passphrase: 'x' },
      { pfx: bytes('new'), passphrase: 'x' },
      true,
    ],
    [
      'a passphrase that was changed',
      { pfx: bytes('a'), passphrase: 'x' },
      { pfx: bytes('a'), passphrase: 'y' },
      true,
    ],
    ['keys of a list', { key: [{ pem: 'old' }] }, { key: [{ pem: 'new' }] }, true],
    ['a list that was revoked', { cert: 'a' }, { cert: 'a', crl: 'b' }, true],
    [
      'not the same bytes',
      { cert: bytes('a'), key: bytes('b') },
      { cert: bytes('a'), key: bytes('b') },
      false,
    ],
    ['not the same lists', { pfx: [{ buf: bytes('a') }] }, { pfx: [{ buf: bytes('a') }] }, false],
  ])('%s', async (_, first, next, isNew) => {
    expect(await given(first, () => next)).toEqual(isNew ? [next] : []);
  });

  test('a pair that was set in the same object, each time', async () => {
    const pair = { cert: 'old', key: 'old' };
    let asked = 0;
    expect(await given(pair, () => Object.assign(pair, { cert: `new ${++asked}` }))).toEqual([
      pair,
      pair,
      pair,
    ]);
  });
});

/** The certificates that a server gets within half a minute. */
async function given(first: SecureContextOptions, next: () => SecureContextOptions) {
  const clock = new FakeClock();
  const set: SecureContextOptions[] = [];
  const server = { setSecureContext: (options: SecureContextOptions) => void set.push(options) };
  const end = renewCertificates(server as unknown as Server, next, first, clock);
  await clock.run(30_000);
  end();
  expect(clock.timers()).toBe(0);
  return set;
}
