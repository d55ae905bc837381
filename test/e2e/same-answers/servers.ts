/** Prepares servers for the exchanges. */
import type { KubeConfig } from '@kubernetes/client-node';
import type { Transport } from 'capstan/cache';
import { kubeConfigTransport } from 'capstan/client-node';
import { eventually } from '../../helpers/control-plane/conditions.ts';
import type { ControlPlane } from '../../helpers/control-plane/control-plane.ts';
import { Api } from './api.ts';
import {
  type ResourceType,
  siteDefinition,
  sites,
  widgetDefinition,
  widgets,
} from './resources.ts';

/** A client of the real server, prepared for the exchanges. */
export async function prepareRealServer(
  config: KubeConfig,
  namespaces: readonly string[],
): Promise<Transport> {
  const transport = kubeConfigTransport(config);
  await prepare(transport, namespaces);
  return transport;
}

/** Creates the definitions of `widgets` and `sites`, and the namespaces. */
export async function prepare(transport: Transport, namespaces: readonly string[]): Promise<void> {
  const api = new Api(transport, 'default');
  const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  for (const body of [widgetDefinition, siteDefinition])
    await expectStatus(201, api.call('POST', crds, { body }));
  for (const type of [widgets, sites]) {
    await eventually(`the server serves ${type.plural}`, async () => {
      const { status } = await api.of(type).list();
      return status === 200 || `status ${status}`;
    });
  }
  for (const name of namespaces) await createNamespace(api, name);
}

/**
 * Resolves when a new server has filled its watch caches; before that it answers watches with 429.
 */
export async function watchCachesFilled(
  transport: Transport,
  types: readonly ResourceType[],
): Promise<void> {
  const api = new Api(transport, 'default');
  for (const type of types) {
    await eventually(`the real server watches ${type.plural}`, async () => {
      const query = { watch: 'true', timeoutSeconds: '1' };
      const { status } = await api.call('GET', api.of(type).path, { query });
      return status === 200 || `status ${status}`;
    });
  }
}

export async function createNamespace(api: Api, name: string): Promise<void> {
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
  await expectStatus(201, api.call('POST', '/api/v1/namespaces', { body }));
}

async function expectStatus(status: number, answer: ReturnType<Api['call']>): Promise<void> {
  const got = await answer;
  if (got.status !== status)
    throw new Error(`expected ${status}, got ${got.status}: ${JSON.stringify(got.body)}`);
}

/** Reads the kubeconfig as a user's program does. */
export async function readKubeConfig(plane: ControlPlane): Promise<KubeConfig> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  config.loadFromFile(plane.kubeconfig);
  return config;
}
