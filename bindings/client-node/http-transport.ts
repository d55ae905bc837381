/** A transport for a plain URL: fixed headers, fixed TLS material. */
import type { Transport } from '../cache/transport.ts';
import { invalid } from '../errors.ts';
import { NodeTransport, serverURL } from './node-transport.ts';
import { type TlsMaterial, tlsMaterial } from './pool.ts';

export interface HttpTransportOptions {
  /** Sent with every request, such as `authorization`. A header of the request itself wins. */
  headers?: Record<string, string>;
  /** For https servers: `ca`, `cert`, `key`, `servername` and so on, as node:tls takes them. */
  tls?: TlsMaterial;
}

/**
 * A transport over pooled node:http or node:https connections to one server. Connections are kept alive and re-used,
 * probed by TCP keep-alive after 30 s of silence, and never cut because a watch is quiet. Redirects are not followed.
 *
 * GET, HEAD and OPTIONS are sent once more, on a fresh connection, when a re-used connection turns out to be closed by
 * the server. Everything else is left to the layers above.
 *
 * @param server such as `https://10.0.0.1:6443` or `http://localhost:8001/prefix`
 * @throws CapstanError INVALID_ARGUMENT for a server that is not an http(s) URL, and for TLS material with an http URL
 * @example
 * const transport = httpTransport('http://localhost:8001');
 * const response = await transport.request({ method: 'GET', path: '/version' });
 */
export function httpTransport(server: string, options: HttpTransportOptions = {}): Transport {
  const url = serverURL('server', server);
  const tls = tlsMaterial(options.tls ?? {});
  if (url.protocol === 'http:' && Object.keys(tls).length > 0) {
    throw invalid('server', 'an https URL, because options.tls is given', server);
  }
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {})) headers[name.toLowerCase()] = value;
  const destination = { url, tls, headers };
  return new NodeTransport(() => destination);
}
