/** The error of a certificate and its key, with the texts of Go's crypto/tls X509KeyPair. */
import { createPrivateKey, X509Certificate } from 'node:crypto';

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----\r?\n?[\s\S]*?-----END \1-----/g;

/** @param certificate and its key, as PEM text; returns undefined if they are valid */
export function keyPairWarning(certificate: string, key: string): string | undefined {
  const [certificates, keys] = [blocksOf(certificate), blocksOf(key)];
  const found = certificates.find(({ type }) => type === 'CERTIFICATE');
  if (found === undefined)
    return missing('certificate', certificates, (type) =>
      type.endsWith('PRIVATE KEY')
        ? 'tls: failed to find certificate PEM data in certificate input, but did find a ' +
          'private key; PEM inputs may have been switched'
        : undefined,
    );
  const given = keys.find(({ type }) => type.endsWith('PRIVATE KEY'));
  if (given === undefined)
    return missing('key', keys, (type) =>
      type === 'CERTIFICATE'
        ? 'tls: found a certificate rather than a key in the PEM for the private key'
        : undefined,
    );
  try {
    return new X509Certificate(found.text).checkPrivateKey(createPrivateKey(given.text))
      ? undefined
      : 'tls: private key does not match public key';
  } catch {
    return 'tls: failed to parse private key';
  }
}

const blocksOf = (pem: string): { type: string; text: string }[] =>
  [...pem.matchAll(BLOCK)].map(([text, type = '']) => ({ text, type }));

function missing(
  what: 'certificate' | 'key',
  found: readonly { type: string }[],
  other: (type: string) => string | undefined,
): string {
  const types = found.map(({ type }) => type);
  const [first] = types;
  if (first === undefined) return `tls: failed to find any PEM data in ${what} input`;
  const wanted =
    what === 'key' ? 'PEM block with type ending in "PRIVATE KEY"' : '"CERTIFICATE" PEM block';
  return (
    (types.length === 1 ? other(first) : undefined) ??
    `tls: failed to find ${wanted} in ${what} input after skipping PEM blocks of the ` +
      `following types: [${types.join(' ')}]`
  );
}
