/** Tokens of service accounts of a control plane with RBAC, and clients that use them. */
import { readFileSync } from 'node:fs';
import { KubeConfig, loadYaml } from '@kubernetes/client-node';
import { defineResource, type Transport } from 'capstan/cache';
import type { Client, ObjectMeta } from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import type { ControlPlane } from '../helpers/control-plane/control-plane.ts';

export interface Account {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta & { name: string };
}

interface TokenRequest {
  status: { token: string };
}

export const ServiceAccount = defineResource<Account>()({
  ...{ group: '', version: 'v1', namespaced: true },
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
});

/** A token of an existing account. */
export async function tokenOf(
  admin: Client,
  key: { namespace: string; name: string },
): Promise<string> {
  const request = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: 3600 },
  };
  const answer = await admin
    .subResource('token')
    .create<Account, object>(ServiceAccount, key, request);
  return (answer as TokenRequest).status.token;
}

export function kubeconfigWith(plane: ControlPlane, token: string): object {
  const admins = loadYaml<{ clusters: { name: string }[] }>(readFileSync(plane.kubeconfig, 'utf8'));
  const [cluster] = admins.clusters;
  return {
    clusters: [cluster],
    users: [{ name: 'account', user: { token } }],
    contexts: [{ name: 'account', context: { cluster: cluster?.name, user: 'account' } }],
    'current-context': 'account',
  };
}

export function transportWith(plane: ControlPlane, token: string): Transport {
  const config = new KubeConfig();
  config.loadFromString(JSON.stringify(kubeconfigWith(plane, token)));
  return kubeConfigTransport(config);
}
