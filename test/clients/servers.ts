/**
 * The two servers on which a client runs, each with a kubeconfig: the embedded one with default
 * options and a user for the token, and a real kube-apiserver if there is one.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiServer } from 'capstan/testing';
import { serverKeys } from '../../bindings/testing/envtest/certificates.ts';
import { ControlPlane, TOKEN } from '../helpers/control-plane/control-plane.ts';

export interface Served {
  url: string;
  /** The CA certificate as PEM text. */
  authority: string;
  token: string;
  /** A folder for the files of the client. */
  folder: string;
  stop(): Promise<void>;
}

const folderFor = (name: string): string => mkdtempSync(join(tmpdir(), `capstan-clients-${name}-`));

export async function startEmbedded(): Promise<Served> {
  const users = { [TOKEN]: { name: 'token-user', uid: 'token-user', groups: ['system:masters'] } };
  // clientcmd sends a token only over TLS.
  const { ca, server: tls } = await serverKeys();
  const server = await ApiServer.start({ users, tls: { ...tls, ca: ca.cert } });
  const folder = folderFor('embedded');
  const stop = async (): Promise<void> => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { url: server.url, authority: ca.cert, token: TOKEN, folder, stop };
}

/** Undefined without KUBEBUILDER_ASSETS. */
export async function startReal(): Promise<Served | undefined> {
  if (!process.env.KUBEBUILDER_ASSETS) return undefined;
  const plane = await ControlPlane.start();
  const folder = folderFor('real');
  const stop = async (): Promise<void> => {
    await plane.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { url: plane.url, authority: plane.authority, token: TOKEN, folder, stop };
}

/** A kubeconfig for the server, as JSON, which is valid YAML. */
export function kubeConfigFor({ url, authority, token }: Served, namespace: string): string {
  const trust = { 'certificate-authority-data': Buffer.from(authority).toString('base64') };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'cluster', cluster: { server: url, ...trust } }],
    users: [{ name: 'user', user: { token } }],
    contexts: [{ name: 'context', context: { cluster: 'cluster', user: 'user', namespace } }],
    'current-context': 'context',
  });
}

/** Writes the kubeconfig to a file in the server's folder, and returns the path. */
export function kubeConfigFile(server: Served, namespace: string): string {
  const path = join(server.folder, `${namespace}.kubeconfig`);
  writeFileSync(path, kubeConfigFor(server, namespace));
  return path;
}
