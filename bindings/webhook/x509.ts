/**
 * Makes a certificate authority, and certificates that it signs: ECDSA on P-256, by the optional
 * peer `@peculiar/x509` and WebCrypto.
 */
import { CapstanError } from '../base/errors.ts';

type Library = typeof import('@peculiar/x509');

/** A certificate as PEM, and its fields. Times are milliseconds since 1970. */
export interface Certificate {
  readonly pem: string;
  readonly notBefore: number;
  readonly notAfter: number;
  /** The DNS names and IP addresses. */
  readonly names: readonly string[];
  /** The public key, to compare. */
  readonly key: string;
}

/** A certificate with its private key, both PEM. */
export interface KeyPair {
  readonly certificate: Certificate;
  readonly key: string;
}

/** The validity of a new certificate, in milliseconds since 1970. */
export interface Validity {
  readonly notBefore: number;
  readonly notAfter: number;
}

export interface CertificateMaker {
  authority(commonName: string, validity: Validity): Promise<KeyPair>;
  sign(by: KeyPair, names: readonly string[], validity: Validity): Promise<KeyPair>;
  /** The certificates in a PEM text; those that cannot be read are left out. */
  read(pem: string): Promise<Certificate[]>;
  /** The pair; `undefined` if the key does not belong to the certificate. */
  pair(certificate: Certificate, key: string): Promise<KeyPair | undefined>;
  isSignedBy(certificate: Certificate, authority: Certificate): Promise<boolean>;
}

const CURVE = { name: 'ECDSA', namedCurve: 'P-256' } as const;
const SIGNING = { name: 'ECDSA', hash: 'SHA-256' } as const;
const { subtle } = globalThis.crypto;

let loading: Promise<CertificateMaker> | undefined;

/** Loads the peer. Rejects with CapstanError INVALID_ARGUMENT if it is not installed. */
export function loadMaker(): Promise<CertificateMaker> {
  loading ??= import('@peculiar/x509').then(makerWith, (cause) => {
    loading = undefined;
    throw new CapstanError(
      'INVALID_ARGUMENT',
      'webhook.selfManaged needs the package @peculiar/x509: npm install @peculiar/x509@1',
      { cause },
    );
  });
  return loading;
}

function makerWith(x509: Library): CertificateMaker {
  const certificateOf = async (certificate: InstanceType<Library['X509Certificate']>) => {
    const alternative = certificate.getExtension(x509.SubjectAlternativeNameExtension);
    return {
      pem: `${certificate.toString('pem').trim()}\n`,
      notBefore: certificate.notBefore.getTime(),
      notAfter: certificate.notAfter.getTime(),
      names: alternative?.names.toJSON().map(({ value }) => String(value)) ?? [],
      key: publicText(await subtle.exportKey('jwk', await certificate.publicKey.export())),
    };
  };
  const keysOf = () => subtle.generateKey(CURVE, true, ['sign', 'verify']);
  const pemOf = async (key: CryptoKey) =>
    `${x509.PemConverter.encode(await subtle.exportKey('pkcs8', key), 'PRIVATE KEY').trim()}\n`;
  const keyOf = (pem: string) => {
    const [bytes = new ArrayBuffer(0)] = x509.PemConverter.decode(pem);
    return subtle.importKey('pkcs8', bytes, CURVE, true, ['sign']);
  };
  const parse = (pem: string) => new x509.X509Certificate(pem);
  const common = ({ notBefore, notAfter }: Validity) => ({
    serialNumber: serialNumber(),
    notBefore: new Date(notBefore),
    notAfter: new Date(notAfter),
    signingAlgorithm: SIGNING,
  });
  return {
    async authority(commonName, validity) {
      const keys = await keysOf();
      const made = await x509.X509CertificateGenerator.createSelfSigned({
        ...common(validity),
        name: [{ CN: [commonName] }],
        keys,
        extensions: [
          new x509.BasicConstraintsExtension(true, 0, true),
          new x509.KeyUsagesExtension(
            x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign,
            true,
          ),
          await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
        ],
      });
      return { certificate: await certificateOf(made), key: await pemOf(keys.privateKey) };
    },
    async sign(by, names, validity) {
      const keys = await keysOf();
      const issuer = parse(by.certificate.pem);
      const made = await x509.X509CertificateGenerator.create({
        ...common(validity),
        // A common name has at most 64 characters. Clients check the alternative names.
        subject: [{ CN: ['capstan-webhook'] }],
        issuer: issuer.subjectName,
        publicKey: keys.publicKey,
        signingKey: await keyOf(by.key),
        extensions: [
          new x509.BasicConstraintsExtension(false, undefined, true),
          new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
          new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
          new x509.SubjectAlternativeNameExtension(
            names.map((value) => ({
              type: isAddress(value) ? ('ip' as const) : ('dns' as const),
              value,
            })),
          ),
          await x509.AuthorityKeyIdentifierExtension.create(await issuer.publicKey.export()),
        ],
      });
      return { certificate: await certificateOf(made), key: await pemOf(keys.privateKey) };
    },
    async read(pem) {
      const found: Certificate[] = [];
      for (const [block] of pem.matchAll(CERTIFICATE))
        try {
          found.push(await certificateOf(parse(block)));
        } catch {
          // a certificate with another kind of key, or a damaged one
        }
      return found;
    },
    async pair(certificate, key) {
      try {
        const jwk = await subtle.exportKey('jwk', await keyOf(key));
        return publicText(jwk) === certificate.key ? { certificate, key } : undefined;
      } catch {
        return undefined;
      }
    },
    async isSignedBy(certificate, authority) {
      const { publicKey } = parse(authority.pem);
      return parse(certificate.pem).verify({ publicKey, signatureOnly: true });
    },
  };
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Whether it is an IPv4 or IPv6 address. A DNS name has no colon and a letter in its last part. */
const isAddress = (name: string): boolean => name.includes(':') || /^[\d.]+$/.test(name);

const publicText = ({ x, y }: JsonWebKey): string => `${x} ${y}`;

/** 127 random bits, as hexadecimal text. RFC 5280: positive, at most 20 bytes. */
function serialNumber(): string {
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(16));
  bytes[0] = ((bytes[0] as number) & 0x7f) | 0x40;
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
