/** The cluster of the demo: the embedded API server, or a new namespace of a real one. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Transport, TransportError } from 'capstan/cache';
import { httpTransport, kubeConfigTransport } from 'capstan/client-node';
import { Website, type WebsiteObject, websiteCRD } from '../website/resources.ts';
import { Api, isConflict, pathOf } from './api.ts';
import { CuttingTransport } from './cutting-transport.ts';
import { EmbeddedServer } from './embedded-server.ts';
import type { DemoOptions } from './options.ts';

export interface Cluster {
  title: string;
  namespaces: string[];
  /** The controller's namespace; `undefined` for all. */
  namespace: string | undefined;
  /** Whether to pause Deployments, so that no Pods start. */
  paused: boolean;
  /** The embedded server, for its faults. */
  server: EmbeddedServer | undefined;
  controllerTransport: Transport;
  /** Cuts all connections of the controller. */
  disconnect(): void;
  api: Api;
  /** Deletes what `connect` created, and closes connections. */
  close(): Promise<void>;
}

export async function connect(options: DemoOptions, signal: AbortSignal): Promise<Cluster> {
  if (options.server !== undefined)
    return real(httpTransport(options.server), options.server, options, signal);
  if (options.kubeconfig !== undefined) {
    const { KubeConfig } = await import('@kubernetes/client-node');
    const config = new KubeConfig();
    config.loadFromFile(options.kubeconfig);
    return real(
      kubeConfigTransport(config),
      config.getCurrentCluster()?.server ?? '',
      options,
      signal,
    );
  }
  return embedded();
}

async function embedded(): Promise<Cluster> {
  const server = await EmbeddedServer.start();
  const transport = httpTransport(server.url);
  const controllerTransport = httpTransport(server.url);
  const api = new Api(transport);
  await api.create(crdPath, websiteCRD);
  return {
    title: `embedded API server at ${server.url}`,
    namespaces: Array.from({ length: 8 }, (_, i) => `team-${i}`),
    namespace: undefined,
    paused: false,
    server,
    controllerTransport,
    disconnect: () => server.dropConnections(),
    api,
    async close() {
      await Promise.all([transport.close?.(), controllerTransport.close?.()]);
      await server.stop();
    },
  };
}

async function real(
  transport: Transport,
  url: string,
  options: DemoOptions,
  signal: AbortSignal,
): Promise<Cluster> {
  const api = new Api(transport);
  const version = await reach(api, url, signal);
  const namespace = `capstan-demo-${options.seed.toString(16)}`;
  let createdCRD = false;
  const clean = async (): Promise<void> => {
    await removeWebsites(api, namespace);
    await api.delete(`/api/v1/namespaces/${namespace}`);
    if (createdCRD) await removeCRD(api);
    await transport.close?.();
  };
  try {
    await api.create('/api/v1/namespaces', { metadata: { name: namespace } }, signal);
    createdCRD = await installCRD(api, signal);
  } catch (error) {
    await clean().catch(() => undefined);
    throw error;
  }
  const cutting = new CuttingTransport(transport);
  return {
    title: `Kubernetes ${version} at ${url}, namespace ${namespace}`,
    namespaces: [namespace],
    namespace,
    paused: true,
    server: undefined,
    controllerTransport: cutting,
    disconnect: () => cutting.cut(),
    api,
    close: clean,
  };
}

const crdPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

async function reach(api: Api, url: string, signal: AbortSignal): Promise<string> {
  try {
    const { gitVersion } = await api.send<{ gitVersion: string }>('GET', '/version', { signal });
    return gitVersion;
  } catch (error) {
    const reason =
      error instanceof TransportError
        ? `no connection (${error.kind})`
        : 'it answers, but not with its version';
    throw new Error(`The API server at ${url} cannot be used: ${reason}`, { cause: error });
  }
}

/**
 * Creates the definition if it is missing, and waits until Websites are served. Returns whether it
 * was missing.
 */
async function installCRD(api: Api, signal: AbortSignal): Promise<boolean> {
  let created = true;
  try {
    await api.create(crdPath, websiteCRD, signal);
  } catch (error) {
    if (!isConflict(error)) throw error;
    created = false;
  }
  for (let tries = 1; ; tries++) {
    try {
      await api.list(pathOf(Website), signal);
      return created;
    } catch (error) {
      if (signal.aborted || tries === 100) throw error;
      await sleep(100, undefined, { signal });
    }
  }
}

/** Deletes the definition. The server first deletes the remaining objects of it. */
async function removeCRD(api: Api): Promise<void> {
  const path = `${crdPath}/${websiteCRD.metadata.name}`;
  await api.delete(path);
  for (let tries = 0; tries < 100 && (await api.get(path)) !== undefined; tries++) await sleep(100);
}

/**
 * Removes finalizers that the controller has left: they would block the deletion of the namespace
 * and the definition for ever.
 */
async function removeWebsites(api: Api, namespace: string): Promise<void> {
  for (const { metadata } of await api
    .list<WebsiteObject>(pathOf(Website, namespace))
    .catch(() => [])) {
    const path = pathOf(Website, namespace, metadata.name ?? '');
    await api.patch(path, { metadata: { finalizers: null } }).catch(() => undefined);
    await api.delete(path);
  }
}
