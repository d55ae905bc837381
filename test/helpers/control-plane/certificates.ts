/**
 * The keys of a control plane, made in memory: a certificate authority, the server's certificate
 * and an administrator's, both signed by it, and the key that signs service account tokens. No
 * external program.
 */
import { generateKeyPairSync } from 'node:crypto';
import { generate } from 'selfsigned';

export interface Pair {
  key: string;
  cert: string;
}

export interface Certificates {
  ca: Pair;
  server: Pair;
  /** Organisation `system:masters`: may do everything, under any authorizer. */
  admin: Pair;
  serviceAccountKey: string;
}

export async function certificates(): Promise<Certificates> {
  const common = { keyType: 'ec', curve: 'P-256', algorithm: 'sha256' } as const;
  const authority = await generate([{ name: 'commonName', value: 'capstan-e2e-ca' }], {
    ...common,
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
    ...common,
    ca,
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 7, ip: '127.0.0.1' },
          { type: 2, value: 'localhost' },
        ],
      },
    ],
  });
  const admin = await generate(
    [
      { name: 'commonName', value: 'admin' },
      { name: 'organizationName', value: 'system:masters' },
    ],
    {
      ...common,
      ca,
      extensions: [
        { name: 'basicConstraints', cA: false, critical: true },
        { name: 'keyUsage', digitalSignature: true, critical: true },
        { name: 'extKeyUsage', clientAuth: true },
      ],
    },
  );
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    ca,
    server: { key: server.private, cert: server.cert },
    admin: { key: admin.private, cert: admin.cert },
    // the one form read as private and as public key
    serviceAccountKey: privateKey.export({ type: 'sec1', format: 'pem' }).toString(),
  };
}
