/** TLS material: which fields count, and when two of them are the same. */
import type { RequestOptions } from 'node:https';
import { isIP } from 'node:net';
import { type ConnectionOptions, checkServerIdentity } from 'node:tls';
import { namesOf } from '../base/names.ts';

/** What node:tls needs to know of a server and of us. PEM text or bytes, as node:tls takes them. */
export type TlsMaterial = Pick<
  RequestOptions,
  'ca' | 'cert' | 'key' | 'pfx' | 'passphrase' | 'servername' | 'rejectUnauthorized'
>;

export const TLS_NAMES = namesOf<TlsMaterial>()({
  ca: 1,
  cert: 1,
  key: 1,
  pfx: 1,
  passphrase: 1,
  servername: 1,
  rejectUnauthorized: 1,
});

const TLS_FIELDS = Object.keys(TLS_NAMES) as readonly (keyof TlsMaterial)[];

/**
 * The TLS fields of `options` that are set. A field that is present with the value undefined would
 * replace node:tls's own default, such as the environment's for `rejectUnauthorized`.
 */
export function tlsMaterial(options: TlsMaterial): TlsMaterial {
  return Object.fromEntries(
    TLS_FIELDS.filter((field) => options[field] !== undefined).map((field) => [
      field,
      options[field],
    ]),
  );
}

/** Of IPv6 without the URL's brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

/**
 * What node:tls is given for a server at `host`. SNI carries names only, and node refuses an
 * address as a server's name: nothing is sent of it, and the certificate is checked against it
 * here, also where an agent for SOCKS forgets the host, for which node would take "localhost".
 */
export function connectOptions(tls: TlsMaterial, host: string): ConnectionOptions {
  const name = tls.servername ?? host;
  if (isIP(name) === 0) return tls as ConnectionOptions;
  const check: ConnectionOptions['checkServerIdentity'] = (_, certificate) =>
    checkServerIdentity(name, certificate);
  return { ...(tls as ConnectionOptions), servername: '', checkServerIdentity: check };
}

/**
 * By content: a KubeConfig reads files anew each time and hands out a new buffer with the same
 * bytes.
 */
export function sameMaterial(a: TlsMaterial, b: TlsMaterial): boolean {
  return TLS_FIELDS.every((field) => sameValue(a[field], b[field]));
}

function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b) === 0;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((one, i) => sameValue(one, b[i]));
  return false;
}
