/**
 * The transport for the current context of a KubeConfig. It keeps no credentials: address, TLS
 * material and headers are read from the KubeConfig for every request, so that a rotated token, a
 * renewed certificate or a new answer of an exec plugin is used from the next request on.
 * (client-node reads a token file once a minute, and after a 401.)
 */
/// <reference lib="esnext.disposable" preserve="true" />

import { invalid } from '../base/errors.ts';
import { requireNames } from '../base/names.ts';
import type { Transport } from '../cache/rest/transport.ts';
import { Credentials, clusterOf, type KubeConfigLike } from './credentials.ts';
import { CONNECTION_NAMES, type ConnectionOptions, NodeTransport } from './node-transport.ts';

/**
 * A transport to the cluster of the kubeconfig's current context, over HTTP/2 or pooled HTTP/1.1
 * connections as in {@link httpTransport}. Supported is what `KubeConfig.applyToHTTPSOptions`
 * supports: CA, client certificates, bearer tokens, token files (read again each minute), exec
 * plugins (run again when their credential expires), basic authentication, impersonation,
 * `tls-server-name`, `insecure-skip-tls-verify`, and `proxy-url`. A proxy of http or https gets
 * CONNECT, and HTTP/2 or pooled HTTP/1.1 go through that tunnel. For SOCKS client-node's own agent
 * is used, with HTTP/1.1: SOCKS5 proxies are given the server's name, as in Go, and
 * `tls-server-name` may not be an address. A request ends when it is aborted; a SOCKS proxy that
 * does not answer keeps its connection for up to 30 s more.
 *
 * After a 401, at most once a second, the next request reads the token file again or runs the exec
 * plugin again, also if its credential has no expiry. While a token or CA file is empty or missing,
 * or a client certificate and its key do not match, the former ones are used, and the error handler
 * (`setErrorHandler`) is called once.
 *
 * Each request reads its credentials from the KubeConfig. Requests that start within 30 s of a
 * pending read share it, so that many informers do not start many exec plugins. The error handler
 * is called if the read takes longer than 10 s. A request that still waits after 30 s uses the
 * result of a second try if that comes first. The error of a failed plugin has its command, its
 * stderr and the `installHint`; so has the error of a request that ends while it waits. A request's
 * `signal` and `close()` end the wait but not the plugin: its process keeps this one alive, so a
 * program whose plugin may hang should end by `process.exit()`. When the TLS material changes, new
 * connections replace the idle ones. If the KubeConfig fails, the request rejects with a
 * TransportError of kind 'unknown'.
 *
 * `HTTPS_PROXY` and `NO_PROXY` are not read, unlike in client-go: the proxy is the kubeconfig's
 * `proxy-url`. `connectCluster` reads them.
 *
 * client-node drops some fields when it loads a kubeconfig, which cannot be detected here: a user's
 * `tokenFile` (it reads `token-file` instead, once, at loading), `as-groups`, `as-uid` and
 * `as-user-extra`. With `as-groups` and without `as` requests have all rights of the user. For a
 * token file that is read again give the user an `authProvider` of `{ name: 'tokenFile', config: {
 * tokenFile } }`. For groups set `Impersonate-Group`, a list, in an authenticator of
 * `KubeConfig.addAuthenticator`, which is called for users without `exec` and `authProvider`.
 *
 * @throws CapstanError INVALID_ARGUMENT for a config without a current cluster, and for a server at
 *   http without `insecure-skip-tls-verify` or a `proxy-url`, which client-node does not allow:
 *   such is `http://localhost:8080`, its default where there is no kubeconfig
 * @example
 * const config = new KubeConfig();
 * config.loadFromDefault();
 * const transport = kubeConfigTransport(config);
 */
export function kubeConfigTransport(
  config: KubeConfigLike,
  options: ConnectionOptions = {},
): Transport & AsyncDisposable {
  requireNames('options', options, 'option of kubeConfigTransport()', CONNECTION_NAMES);
  if (
    typeof config?.applyToHTTPSOptions !== 'function' ||
    typeof config.getCurrentCluster !== 'function'
  ) {
    // never show the text of a file
    const got = typeof config === 'object' ? config : typeof config;
    throw invalid('config', 'a KubeConfig of @kubernetes/client-node', got);
  }
  clusterOf(config);
  const credentials = new Credentials(config, options.clock);
  return new NodeTransport(
    (before) => credentials.read(before),
    options,
    () => credentials.waitsFor(),
  );
}
