/**
 * A transport for the current context of a KubeConfig. It keeps no credential: address, TLS material and headers are
 * asked of the KubeConfig for every request, so that a rotated token, a renewed certificate or a new answer of an exec
 * plugin counts from the next request on. (A file of a token client-node reads once a minute.)
 */
import type { Agent as HttpAgent } from 'node:http';
import type { RequestOptions } from 'node:https';
import { type Transport, TransportError } from '../cache/transport.ts';
import { CapstanError, invalid } from '../errors.ts';
import { type ConnectionOptions, type Destination, NodeTransport, serverURL } from './node-transport.ts';
import { tlsMaterial } from './tls.ts';
import { messageOf } from './wire.ts';

/** The two methods that are used of a `KubeConfig` of @kubernetes/client-node; anything that has them will do. */
export interface KubeConfigLike {
  getCurrentCluster(): {
    readonly server: string;
    readonly proxyUrl?: string | undefined;
    readonly skipTLSVerify?: boolean | undefined;
  } | null;
  applyToHTTPSOptions(options: RequestOptions): Promise<void>;
}

/**
 * A transport to the cluster of the kubeconfig's current context, over HTTP/2 or pooled HTTP/1.1 connections as in
 * {@link httpTransport}. Supported is what `KubeConfig.applyToHTTPSOptions` supports: CA, client certificates, bearer
 * tokens, token files (read again each minute), exec plugins (run again when their credential expires), basic
 * authentication, impersonation, `tls-server-name`, `insecure-skip-tls-verify`, and `proxy-url`, for which client-node's
 * own agent is used, with HTTP/1.1. A request ends when it is aborted; a SOCKS proxy that does not answer keeps its connection for up to 30 s more.
 *
 * The KubeConfig is asked for its credentials for each request; requests that start while it is being asked share the answer, so that
 * many informers do not start many exec plugins. When the TLS material changes, new connections replace the idle ones; not so behind a
 * `proxy-url`, where client-node's agent keeps the certificate that it was made with. Where the KubeConfig fails to answer, that is a TransportError of kind 'unknown'.
 *
 * @throws CapstanError INVALID_ARGUMENT for a config without a current cluster, and for a server at http without `insecure-skip-tls-verify` or a
 *   `proxy-url`, which client-node does not allow: such is `http://localhost:8080`, its default where there is no kubeconfig
 * @example
 * const config = new KubeConfig();
 * config.loadFromDefault();
 * const transport = kubeConfigTransport(config);
 */
export function kubeConfigTransport(config: KubeConfigLike, options: ConnectionOptions = {}): Transport {
  if (typeof config?.applyToHTTPSOptions !== 'function' || typeof config.getCurrentCluster !== 'function') {
    throw invalid('config', 'a KubeConfig of @kubernetes/client-node', config);
  }
  clusterOf(config);
  let reading: Promise<Destination> | undefined;
  return new NodeTransport(() => {
    reading ??= readDestination(config).finally(() => {
      reading = undefined;
    });
    return reading;
  }, options);
}

async function readDestination(config: KubeConfigLike): Promise<Destination> {
  const { url, proxied } = clusterOf(config);
  const options: RequestOptions & { agent?: HttpAgent | boolean; headers: Record<string, string> } = { headers: {} };
  try {
    await config.applyToHTTPSOptions(options);
  } catch (error) {
    throw new TransportError('unknown', `reading the kubeconfig's credentials for ${url.origin}: ${messageOf(error)}`, {
      cause: error,
    });
  }
  return {
    url,
    tls: tlsMaterial(options),
    headers: headersOf(options),
    agent: proxied && typeof options.agent === 'object' ? options.agent : undefined,
  };
}

function clusterOf(config: KubeConfigLike): { url: URL; proxied: boolean } {
  const cluster = config.getCurrentCluster();
  if (!cluster) throw invalid('config', 'a KubeConfig whose current context names a cluster', undefined);
  const url = serverURL("the cluster's server", cluster.server);
  const proxied = Boolean(cluster.proxyUrl);
  if (url.protocol === 'http:' && !proxied && !cluster.skipTLSVerify)
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `"config" expected a server at https, got ${url.origin}: there may be no kubeconfig, for which client-node takes http://localhost:8080; use httpTransport(url) for kubectl proxy`,
    );
  return { url, proxied };
}

function headersOf(options: RequestOptions & { headers: Record<string, string> }): Record<string, string> {
  const headers: Record<string, string> = {};
  // A token file often ends with a line feed, which no header may hold. client-go: transport/token_source.go trims too.
  for (const [name, value] of Object.entries(options.headers)) headers[name.toLowerCase()] = String(value).trim();
  if (typeof options.auth === 'string') {
    headers.authorization ??= `Basic ${Buffer.from(options.auth).toString('base64')}`;
  }
  return headers;
}
