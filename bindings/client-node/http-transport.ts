/** The transport for a URL with fixed headers and fixed TLS material. */

import { invalid } from '../base/errors.ts';
import { requireHeaders, requireUnshown } from '../base/http-headers.ts';
import { namesOf, requireNames } from '../base/names.ts';
import { serverURL } from '../base/urls.ts';
import type { Transport } from '../cache/rest/transport.ts';
import { CONNECTION_NAMES, type ConnectionOptions, NodeTransport } from './node-transport.ts';
import { TLS_NAMES, type TlsMaterial, tlsMaterial } from './tls.ts';
import { requireTls } from './tls-check.ts';

export interface HttpTransportOptions extends ConnectionOptions {
  /** Headers of every request, such as `authorization`. Headers of the request itself win. */
  headers?: Record<string, string> | undefined;
  /** TLS options for https servers: `ca`, `cert`, `key`, `servername` and so on, as in node:tls. */
  tls?: TlsMaterial | undefined;
}

const NAMES = namesOf<HttpTransportOptions>()({ ...CONNECTION_NAMES, headers: 1, tls: TLS_NAMES });

/**
 * A transport over node:http2, node:https or node:http to one server. Where an https server offers
 * HTTP/2, all requests and watches share a connection, up to as many as the server allows at a
 * time, and then another; else connections are pooled and kept alive. Redirects are not followed.
 *
 * A connection that died without a word is found within 45 s: HTTP/2's by a PING after 30 s of
 * silence that must be answered within 15 s; HTTP/1.1's by the kernel, which probes after 30 s of
 * silence and gives up 10 s later (Linux, macOS, Windows). Neither cuts a watch because it is
 * quiet.
 *
 * GET, HEAD and OPTIONS are sent once more, on a fresh connection, when a re-used connection turns
 * out to be closed by the server, and any request that a server which goes away (GOAWAY) did not
 * look at. Everything else is left to the layers above. An answer that is compressed although
 * `identity` was asked for is decompressed (gzip) or refused (DECODE).
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
export function httpTransport(server: string, options: HttpTransportOptions = {}): Transport {
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
    ...requireHeaders('options.headers', options.headers),
  };
  const destination = { url, tls, headers };
  return new NodeTransport(() => destination, options);
}
