/** TLS material: its fields and its equality. */
import type { RequestOptions } from 'node:https';
import { isIP } from 'node:net';
import { type ConnectionOptions, checkServerIdentity } from 'node:tls';
import { namesOf } from '../base/names.ts';

/** The TLS options of a connection: PEM text or bytes, as in node:tls. */
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
 * Picks the TLS fields that are set. A field with the value undefined would replace Node's own
 * default, such as the environment's for `rejectUnauthorized`.
 */
export function tlsMaterial(options: TlsMaterial): TlsMaterial {
  return Object.fromEntries(
    TLS_FIELDS.filter((field) => options[field] !== undefined).map((field) => [
      field,
      options[field],
    ]),
  );
}

/** The host name; an IPv6 address without the URL's brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

/**
 * The options of node:tls for a server at `host`. SNI has names only, and Node rejects an address
 * as server name: then none is sent and the certificate is checked against the address here. That
 * also covers SOCKS agents that forget the host, for which Node would check "localhost".
 */
export function connectOptions(tls: TlsMaterial, host: string): ConnectionOptions {
  const name = tls.servername ?? host;
  if (isIP(name) === 0) return tls as ConnectionOptions;
  const check: ConnectionOptions['checkServerIdentity'] = (_, certificate) =>
    checkServerIdentity(name, certificate);
  return { ...(tls as ConnectionOptions), servername: '', checkServerIdentity: check };
}

/**
 * Compares by content, because a KubeConfig reads files each time and returns a new buffer with the
 * same bytes.
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
