/** Embedded servers and clients that end with their test. */
import {
  type FactoryOptions,
  newSharedInformerFactory,
  type SharedInformerFactory,
  type Transport,
  type TransportRequest,
} from 'capstan/cache';
import { type Client, type ClientOptions, newClient } from 'capstan/client';
import { ApiServer, type ApiServerOptions } from 'capstan/testing';
import { onTestFinished } from 'vitest';

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
