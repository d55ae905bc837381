/** `capstan/client-node`: transports over node:http and node:https, by kubeconfig or by plain URL. */
export { type HttpTransportOptions, httpTransport } from './http-transport.ts';
export { type KubeConfigLike, kubeConfigTransport } from './kube-config-transport.ts';
export type { TlsMaterial } from './pool.ts';
