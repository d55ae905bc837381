/**
 * Checks TLS material and names the wrong option. node:tls accepts a CA without a certificate and
 * then trusts no server; its other errors name no option. Errors show no content.
 */
import { X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { CapstanError, requireObject } from '../base/errors.ts';
import type { TlsMaterial } from './tls.ts';
import { messageOf } from './wire.ts';

const CERTIFICATE = /-----BEGIN ((?:TRUSTED |X509 )?CERTIFICATE)-----[^-]*-----END \1-----/g;

/**
 * Checks the fields that are set.
 *
 * @param nameOf what an option is called where it was given
 * @throws CapstanError INVALID_ARGUMENT
 */
export function requireTls(tls: TlsMaterial, nameOf: (option: keyof TlsMaterial) => string): void {
  const wrong = (option: keyof TlsMaterial, expected: string, cause?: unknown): CapstanError => {
    const why = cause === undefined ? '' : `: ${messageOf(cause)}`;
    return new CapstanError('INVALID_ARGUMENT', `"${nameOf(option)}" expected ${expected}${why}`, {
      cause,
    });
  };
  requireObject(nameOf('ca'), tls);
  const { ca, cert, key, pfx, passphrase, servername, rejectUnauthorized } = tls;
  for (const option of ['ca', 'cert', 'key', 'pfx'] as const)
    if (!list(tls[option]).every((one) => isMaterial(one, option)))
      throw wrong(option, 'text or bytes (the content of the file), or a list of those');
  if (passphrase !== undefined && typeof passphrase !== 'string')
    throw wrong('passphrase', 'a string');
  if (servername !== undefined && !(typeof servername === 'string' && !/[\s\0]/.test(servername)))
    throw wrong('servername', 'the name of a host, or an address');
  if (rejectUnauthorized !== undefined && typeof rejectUnauthorized !== 'boolean')
    throw wrong('rejectUnauthorized', 'true or false');
  if (ca !== undefined && rejectUnauthorized !== false && !hasCertificate(ca))
    throw wrong('ca', 'a certificate in PEM (its content, not the path of a file)');
  if (cert !== undefined && !hasCertificate(cert))
    throw wrong('cert', 'a certificate in PEM (its content, not the path of a file)');
  if (cert !== undefined && key === undefined) throw wrong('key', `one beside ${nameOf('cert')}`);
  if (key !== undefined && cert === undefined) throw wrong('cert', `one beside ${nameOf('key')}`);
  const attempt = (option: keyof TlsMaterial, expected: string, some: TlsMaterial): void => {
    try {
      createSecureContext(some as SecureContextOptions);
    } catch (cause) {
      throw wrong(option, expected, cause);
    }
  };
  const secret = passphrase === undefined ? {} : { passphrase };
  if (key !== undefined) {
    if (list(key).every((one) => isEmpty(one))) throw wrong('key', 'a private key in PEM');
    attempt('key', 'a private key in PEM, with its passphrase if it has one', { key, ...secret });
    attempt('key', `the key of ${nameOf('cert')}, but they do not fit each other`, {
      cert,
      key,
      ...secret,
    });
  }
  if (pfx !== undefined)
    attempt('pfx', 'PKCS #12, with its passphrase if it has one', { pfx, ...secret });
  attempt('ca', 'certificates in PEM', tls);
}

function list(value: unknown): unknown[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

function isBytes(value: unknown): value is string | NodeJS.ArrayBufferView {
  return typeof value === 'string' || ArrayBuffer.isView(value);
}

/** A key may be `{ pem, passphrase }`, a PFX `{ buf, passphrase }`. */
function isMaterial(value: unknown, option: 'ca' | 'cert' | 'key' | 'pfx'): boolean {
  if (isBytes(value)) return true;
  if (typeof value !== 'object' || value === null || option === 'ca' || option === 'cert')
    return false;
  const { pem, buf, passphrase } = value as { pem?: unknown; buf?: unknown; passphrase?: unknown };
  const own = option === 'key' ? pem : buf;
  return isBytes(own) && (passphrase === undefined || typeof passphrase === 'string');
}

function isEmpty(value: unknown): boolean {
  return isBytes(value) && textOf(value).trim() === '';
}

/** Whether at least one certificate can be parsed, as in Go's AppendCertsFromPEM. */
function hasCertificate(material: unknown): boolean {
  const found = list(material).flatMap((one) => textOf(one).match(CERTIFICATE) ?? []);
  return found.some((pem) => {
    try {
      return new X509Certificate(pem.replace(/TRUSTED |X509 /g, '')) !== undefined;
    } catch {
      return false;
    }
  });
}

function textOf(value: unknown): string {
  return ArrayBuffer.isView(value)
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('latin1')
    : String(value);
}
