/** Resources, objects, servers and clients of the client's tests; all of them end with the test. */
import {
  defineResource,
  type FactoryOptions,
  newSharedInformerFactory,
  type SharedInformerFactory,
  type Transport,
  type TransportRequest,
} from 'capstan/cache';
import { type Client, type ClientOptions, newClient } from 'capstan/client';
import { ApiServer, type ApiServerOptions } from 'capstan/testing';
import { onTestFinished } from 'vitest';

export interface Metadata {
  name?: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  deletionTimestamp?: string;
  managedFields?: { manager?: string; operation?: string; subresource?: string }[];
}

export interface ConfigMap {
  apiVersion?: string;
  kind?: string;
  metadata: Metadata;
  data?: Record<string, string>;
}

export interface Widget {
  apiVersion?: string;
  kind?: string;
  metadata: Metadata;
  spec?: { size?: number; color?: string; parts?: string[] };
  status?: { ready?: boolean; size?: number };
}

export const ConfigMaps = defineResource<ConfigMap>()({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
  indexers: { byPage: 'data.page' },
});

export const Widgets = defineResource<Widget>()({
  group: 'example.com',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  namespaced: true,
  indexers: { byColor: 'spec.color' },
});

export const Namespaces = defineResource<{
  apiVersion?: string;
  kind?: string;
  metadata: Metadata;
}>()({
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
});

export const at = (name: string, namespace = 'default') => ({ namespace, name });

export const configMap = (
  name: string,
  data?: Record<string, string>,
  metadata: Metadata = {},
): ConfigMap => ({
  metadata: { namespace: 'default', name, ...metadata },
  ...(data === undefined ? {} : { data }),
});

export const widget = (name: string, spec?: Widget['spec'], metadata: Metadata = {}): Widget => ({
  metadata: { namespace: 'default', name, ...metadata },
  ...(spec === undefined ? {} : { spec }),
});

export interface Setup {
  server: ApiServer;
  client: Client;
  /** What went over the wire, in order; watches included. */
  requests: TransportRequest[];
  transport: Transport;
}

/** A server, and a client that asks it each time. */
export async function live(
  options: Partial<ClientOptions> = {},
  serverOptions: ApiServerOptions = {},
): Promise<Setup> {
  const server = await ApiServer.start(serverOptions);
  const { transport, requests } = recordedTransport(server.transport());
  onTestFinished(async () => {
    await transport.close?.();
    await server.stop();
  });
  return { server, client: newClient({ transport, ...options }), requests, transport };
}

/**
 * A server, and a client that reads from caches. The caches have a transport of their own, as they
 * have pools of their own.
 */
export async function cached(
  options: Partial<ClientOptions> & { factoryOptions?: FactoryOptions } = {},
  serverOptions: ApiServerOptions = {},
): Promise<Setup & { factory: SharedInformerFactory }> {
  const { factoryOptions = {}, ...rest } = options;
  const setup = await live({}, serverOptions);
  const { transport, requests } = setup;
  const factory = newSharedInformerFactory(transport, factoryOptions);
  onTestFinished(() => factory.shutdown());
  return { ...setup, factory, requests, client: newClient({ transport, cache: factory, ...rest }) };
}

export function recordedTransport(inner: Transport): {
  transport: Transport;
  requests: TransportRequest[];
} {
  const requests: TransportRequest[] = [];
  return {
    requests,
    transport: {
      request: (request) => {
        requests.push(request);
        return inner.request(request);
      },
      close: async () => inner.close?.(),
    },
  };
}

/** In short: `POST /api/v1/…`. */
export const lines = (requests: readonly TransportRequest[]): string[] =>
  requests.map(({ method, path, query = {} }) => {
    const asked = new URLSearchParams(query).toString();
    return asked === '' ? `${method} ${path}` : `${method} ${path}?${asked}`;
  });
