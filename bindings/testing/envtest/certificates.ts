/**
 * Makes the keys of a control plane: a certificate authority, the certificates that it signs, and
 * the key for tokens of ServiceAccounts. By the optional peer `selfsigned`.
 */
import { generateKeyPairSync } from 'node:crypto';
import { CapstanError } from '../../base/errors.ts';
import { MASTERS, type ServerUser } from '../server/auth/users.ts';

/** A private key and its certificate, as PEM text. */
export interface Pair {
  key: string;
  cert: string;
}

/** The keys of one control plane. */
export interface ServerKeys {
  ca: Pair;
  server: Pair;
  /** Of the group `system:masters`, which has all permissions. */
  admin: Pair;
  serviceAccountKey: string;
}

type Extension = NonNullable<
  NonNullable<Parameters<typeof import('selfsigned').generate>[1]>['extensions']
>[number];

const P256 = { keyType: 'ec', curve: 'P-256', algorithm: 'sha256' } as const;

const leaf = (...more: Extension[]): Extension[] => [
  { name: 'basicConstraints', cA: false, critical: true },
  { name: 'keyUsage', digitalSignature: true, critical: true },
  ...more,
];

/**
 * Makes the keys of a control plane for 127.0.0.1 and localhost.
 *
 * @throws CapstanError ENVTEST without the peer `selfsigned`
 */
export async function serverKeys(): Promise<ServerKeys> {
  const { generate } = await peer();
  const authority = await generate([{ name: 'commonName', value: 'envtest-ca' }], {
    ...P256,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      {
        name: 'keyUsage',
        keyCertSign: true,
        cRLSign: true,
        digitalSignature: true,
        critical: true,
      },
    ],
  });
  const ca = { key: authority.private, cert: authority.cert };
  const server = await generate([{ name: 'commonName', value: 'kube-apiserver' }], {
    ...P256,
    ca,
    extensions: leaf(
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 7, ip: '127.0.0.1' },
          { type: 2, value: 'localhost' },
        ],
      },
    ),
  });
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    ca,
    server: { key: server.private, cert: server.cert },
    admin: await clientCertificate(ca, { name: 'admin', groups: [MASTERS] }),
    // kube-apiserver reads this format both as the private and as the public key.
    serviceAccountKey: privateKey.export({ type: 'sec1', format: 'pem' }).toString(),
  };
}

/** A client certificate: the common name is the user name, and the organisations are the groups. */
export async function clientCertificate(ca: Pair, { name, groups }: ServerUser): Promise<Pair> {
  const { generate } = await peer();
  const subject = [
    { name: 'commonName', value: name },
    ...(groups ?? []).map((value) => ({ name: 'organizationName', value })),
  ];
  const made = await generate(subject, {
    ...P256,
    ca,
    extensions: leaf({ name: 'extKeyUsage', clientAuth: true }),
  });
  return { key: made.private, cert: made.cert };
}

async function peer(): Promise<typeof import('selfsigned')> {
  try {
    return await import('selfsigned');
  } catch (cause) {
    throw new CapstanError(
      'ENVTEST',
      'startEnvtest() makes its certificates with the package selfsigned, which could not be ' +
        'loaded: npm install --save-dev selfsigned',
      { cause },
    );
  }
}
