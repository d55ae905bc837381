/**
 * `capstan/client-node`: transports over node:http2, node:https and node:http, by kubeconfig or by
 * plain URL; and the flags by which a program finds its cluster.
 */
import { requireNode } from '../base/environment.ts';

export type { Transport } from '../cache/rest/transport.ts';
export {
  type ClusterChoice,
  type ConnectedCluster,
  connectCluster,
  type LoadableKubeConfig,
} from './connect-cluster.ts';
export type { KubeConfigLike } from './credentials.ts';
export { type HttpTransportOptions, httpTransport } from './http-transport.ts';
export { kubeConfigTransport } from './kube-config-transport.ts';
export {
  type MainFlag,
  type MainFlagOptions,
  type MainFlagTable,
  type MainFlagValues,
  mainFlags,
  type ParsedMainFlags,
} from './main-flags.ts';
export type { ConnectionOptions } from './node-transport.ts';
export type { TlsMaterial } from './tls.ts';

requireNode('capstan/client-node');
