/** TLS material: which fields count, and when two of them are the same. */
import type { RequestOptions } from 'node:https';

/** What node:tls needs to know of a server and of us. PEM text or bytes, as node:tls takes them. */
export type TlsMaterial = Pick<
  RequestOptions,
  'ca' | 'cert' | 'key' | 'pfx' | 'passphrase' | 'servername' | 'rejectUnauthorized'
>;

const TLS_FIELDS: readonly (keyof TlsMaterial)[] = [
  'ca',
  'cert',
  'key',
  'pfx',
  'passphrase',
  'servername',
  'rejectUnauthorized',
];

/**
 * The TLS fields of `options` that are set. A field that is present with the value undefined would replace node:tls's
 * own default, such as the environment's for `rejectUnauthorized`.
 */
export function tlsMaterial(options: TlsMaterial): TlsMaterial {
  return Object.fromEntries(
    TLS_FIELDS.filter((field) => options[field] !== undefined).map((field) => [field, options[field]]),
  );
}

/** By content: a KubeConfig reads files anew each time and hands out a new buffer with the same bytes. */
export function sameMaterial(a: TlsMaterial, b: TlsMaterial): boolean {
  return TLS_FIELDS.every((field) => sameValue(a[field], b[field]));
}

function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b) === 0;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((one, i) => sameValue(one, b[i]));
  return false;
}
