/** A folder with the certificate of a webhook server, as a Secret is mounted, and its authority. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Authority, authority, certificate } from './http-servers.ts';

export interface CertificateFolder {
  readonly path: string;
  readonly ca: Authority;
  /** Writes another certificate of the same authority. */
  renew(name: string): Promise<void>;
  remove(): void;
}

/** Makes a folder with `tls.crt`, `tls.key` and `ca.crt`. The caller removes it. */
export async function certificateFolder(name = 'webhooks'): Promise<CertificateFolder> {
  const path = mkdtempSync(join(tmpdir(), 'capstan-certs-'));
  const ca = await authority();
  const renew = async (name: string): Promise<void> => {
    const { cert, key } = await certificate(ca, name);
    writeFileSync(join(path, 'tls.crt'), cert);
    writeFileSync(join(path, 'tls.key'), key);
  };
  await renew(name);
  writeFileSync(join(path, 'ca.crt'), ca.cert);
  return { path, ca, renew, remove: () => rmSync(path, { recursive: true, force: true }) };
}
