/** The transport for a URL with fixed headers and fixed TLS material. */
/// <reference lib="esnext.disposable" preserve="true" />

import { invalid } from '../base/errors.ts';
import { requireHeaderLists, requireUnshown } from '../base/http-headers.ts';
import { namesOf, requireNames } from '../base/names.ts';
import { serverURL } from '../base/urls.ts';
import type { Transport } from '../cache/rest/transport.ts';
import { CONNECTION_NAMES, type ConnectionOptions, NodeTransport } from './node-transport.ts';
import { TLS_NAMES, type TlsMaterial, tlsMaterial } from './tls.ts';
import { requireTls } from './tls-check.ts';

export interface HttpTransportOptions extends ConnectionOptions {
  /**
   * Headers of every request, such as `authorization`. Headers of the request itself win. An array
   * is sent as one header for each value, as `impersonate-group` needs.
   */
  headers?: Readonly<Record<string, string | readonly string[]>> | undefined;
  /** TLS options for https servers: `ca`, `cert`, `key`, `servername` and so on, as in node:tls. */
  tls?: TlsMaterial | undefined;
}

const NAMES = namesOf<HttpTransportOptions>()({ ...CONNECTION_NAMES, headers: 1, tls: TLS_NAMES });

/**
 * A transport to one server over node:http2, node:https or node:http. If an https server offers
 * HTTP/2, all requests and watches share a connection, up to the server's limit of streams, and
 * then another one; else connections are pooled and kept alive. Redirects are not followed.
 *
 * A dead connection is detected within 45 s: over HTTP/2 by a PING after 30 s of silence, which
 * must be answered within 15 s; over HTTP/1.1 by TCP keep-alive, after 30 s of silence and ten
 * probes a second apart (Linux, macOS, Windows). A quiet watch is not ended by either.
 *
 * GET, HEAD and OPTIONS are sent once more on a fresh connection if the server had closed the
 * re-used one; so is any request that a server which goes away (GOAWAY) did not process. All other
 * retries are left to the layers above. An answer that is compressed although `identity` was
 * requested is decompressed (gzip) or refused (DECODE).
 *
 * @param server such as `https://10.0.0.1:6443` or `http://localhost:8001/prefix`; a user and
 *   password in it are sent as Basic authorization, unless `headers` say otherwise
 * @throws CapstanError INVALID_ARGUMENT for a server that is not an http(s) URL, for headers that
 *   HTTP does not allow (no value is shown), for TLS material that cannot be used, and for such
 *   with an http URL
 * @example
 * const transport = httpTransport('http://localhost:8001');
 * const response = await transport.request({ method: 'GET', path: '/version' });
 */
export function httpTransport(
  server: string,
  options: HttpTransportOptions = {},
): Transport & AsyncDisposable {
  requireUnshown('options', options);
  requireNames('options', options, 'option of httpTransport()', NAMES);
  const { url, authorization } = serverURL('server', server);
  if (options.tls !== undefined) requireUnshown('options.tls', options.tls);
  const tls = tlsMaterial(options.tls ?? {});
  if (url.protocol === 'http:' && Object.keys(tls).length > 0) {
    throw invalid('server', 'an https URL, because options.tls is given', url.origin);
  }
  requireTls(tls, (option) => `options.tls.${option}`);
  const headers = {
    ...(authorization === undefined ? {} : { authorization }),
    ...requireHeaderLists('options.headers', options.headers),
  };
  const destination = { url, tls, headers };
  return new NodeTransport(() => destination, options);
}
