/**
 * Makes a client of the cluster that a kubeconfig names. The optional peer
 * `@kubernetes/client-node` reads the kubeconfig.
 */

import type { Transport } from 'capstan/cache';
import { type Client, newClient } from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import { CapstanError } from 'capstan/workqueue';
import { attempt } from './attempt.ts';
import { text } from './command.ts';

/** Names a cluster. Default: that of `KUBECONFIG`, `~/.kube/config` or the own Pod. */
export interface ClusterChoice {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
}

/** The flags of {@link ClusterChoice}. */
export const CLUSTER_FLAGS = { kubeconfig: text, context: text } as const;

/** The field manager of what commands write. */
export const FIELD_OWNER = 'capstan';

/** Calls a function with a client, and closes its connections when the function has ended. */
export async function onCluster<T>(
  { kubeconfig, context }: ClusterChoice,
  use: (client: Client, transport: Transport) => Promise<T>,
): Promise<T> {
  const { KubeConfig } = await peer();
  const config = new KubeConfig();
  await attempt('the kubeconfig could not be read', () =>
    kubeconfig === undefined ? config.loadFromDefault() : config.loadFromFile(kubeconfig),
  );
  if (context !== undefined) {
    const names = config.getContexts().map(({ name }) => name);
    if (!names.includes(context))
      throw new CapstanError(
        'INVALID_ARGUMENT',
        `--context expected one of the kubeconfig, ${names.join(', ')}, got ${context}`,
      );
    config.setCurrentContext(context);
  }
  await using transport = kubeConfigTransport(config);
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
