/**
 * Makes a client of the cluster that a kubeconfig names. The optional peer
 * `@kubernetes/client-node` reads the kubeconfig.
 */

import type { Transport } from 'capstan/cache';
import { type Client, newClient } from 'capstan/client';
import { type ClusterChoice, connectCluster } from 'capstan/client-node';
import { CapstanError } from 'capstan/workqueue';
import { text } from './command.ts';

/** The flags that name a cluster. */
export const CLUSTER_FLAGS = { kubeconfig: text, context: text } as const;

/** The field manager of what commands write. */
const FIELD_OWNER = 'capstan';

/** Calls a function with a client, and closes its connections when the function has ended. */
export async function onCluster<T>(
  { kubeconfig, context }: ClusterChoice,
  use: (client: Client, transport: Transport) => Promise<T>,
): Promise<T> {
  const { KubeConfig } = await peer();
  await using transport = connectCluster(KubeConfig, { kubeconfig, context }).transport;
  return await use(newClient({ transport, fieldOwner: FIELD_OWNER }), transport);
}

async function peer(): Promise<typeof import('@kubernetes/client-node')> {
  try {
    return await import('@kubernetes/client-node');
  } catch (cause) {
    throw new CapstanError(
      'INVALID_ARGUMENT',
      'a kubeconfig is read by the package "@kubernetes/client-node": ' +
        'npm install -D @kubernetes/client-node',
      { cause },
    );
  }
}
