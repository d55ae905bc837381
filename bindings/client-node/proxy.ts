/**
 * Ways through the `proxy-url` of a kubeconfig. A proxy of http or https gets CONNECT, and HTTP/2
 * or pooled HTTP/1.1 go through that tunnel: client-node's hpagent opens one for each request, and
 * may not have an IP address at https. For SOCKS client-node's agent is used, and SOCKS5 proxies
 * get the server's name, as in client-go.
 */
import { type Agent as HttpAgent, request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIPv6 } from 'node:net';
import type { Duplex } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import { CapstanError } from '../base/errors.ts';
import { basicOf } from '../base/urls.ts';
import { connectOptions, hostOf } from './tls.ts';

const SCHEMES = ['http:', 'https:', 'socks:', 'socks4:', 'socks4a:', 'socks5:', 'socks5h:'];

/** Where the proxy of a kubeconfig is written, for messages. */
const PROXY_URL = "the cluster's proxy-url";

/**
 * Parses the URL of a proxy. No error contains its user and password.
 *
 * @param what where it is written, for messages
 * @throws CapstanError INVALID_ARGUMENT
 */
export function proxyURL(text: unknown, what = PROXY_URL): URL {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !SCHEMES.includes(url.protocol) || url.hostname === '')
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `"${what}" expected a URL of http, https or socks5 such as "http://proxy:3128"`,
    );
  basicOf(what, url);
  return url;
}

/** The members of client-node's proxy agents that are used. */
interface ProxyAgent {
  /** hpagent: the options of its CONNECT request besides the proxy's URL. */
  readonly proxyRequestOptions?: RequestOptions;
  /** socks-proxy-agent: whether the name is resolved locally. */
  shouldLookup?: boolean;
  readonly proxy?: { host?: string };
}

/** Whether it is a SOCKS agent. */
export function isSocks(agent: object | undefined): boolean {
  return agent !== undefined && 'shouldLookup' in agent;
}

/**
 * What to use instead of client-node's agent: a tunnel in place of hpagent. Another agent is kept.
 */
export function throughProxy(agent: HttpAgent & ProxyAgent, proxy: URL): Tunnel | HttpAgent {
  const { proxyRequestOptions, proxy: socks } = agent;
  if (isSocks(agent)) {
    // golang.org/x/net: internal/socks. socks4 has no names.
    if (proxy.protocol === 'socks5:') agent.shouldLookup = false;
    if (socks !== undefined) socks.host = hostOf(proxy);
    return agent;
  }
  return proxyRequestOptions === undefined ? agent : new Tunnel(proxy, proxyRequestOptions);
}

/** Where a tunnel leads. */
export interface TunnelEnd {
  readonly host?: string | null | undefined;
  readonly port?: string | number | null | undefined;
  /** Fires when no request needs the tunnel any more. */
  readonly tunnelSignal?: AbortSignal | undefined;
}

/** Opens connections through a proxy by CONNECT. */
export class Tunnel {
  readonly #proxy: URL;
  readonly #more: RequestOptions;

  constructor(proxy: URL, more: RequestOptions) {
    this.#proxy = proxy;
    this.#more = more;
  }

  /** Whether both lead through the same proxy in the same way. */
  equals(other: Tunnel | undefined): boolean {
    return (
      other !== undefined &&
      this.#proxy.href === other.#proxy.href &&
      isDeepStrictEqual(this.#more, other.#more)
    );
  }

  /** Opens a connection; `done` is called once. */
  open(
    { host, port, tunnelSignal }: TunnelEnd,
    done: (error: Error | null, socket?: Duplex) => void,
  ): void {
    const proxy = this.#proxy;
    const more = this.#more;
    const isSecure = proxy.protocol === 'https:';
    const to = `${isIPv6(host ?? '') ? `[${host}]` : host}:${port}`;
    const authorization = basicOf(PROXY_URL, proxy);
    const name = hostOf(proxy);
    const request = (isSecure ? httpsRequest : httpRequest)({
      ...more,
      ...(isSecure ? connectOptions({ servername: name, ...more }, name) : {}),
      method: 'CONNECT',
      host: name,
      port: proxy.port,
      path: to,
      setHost: false,
      headers: {
        ...(more.headers as object | undefined),
        host: to,
        ...(authorization === undefined ? {} : { 'proxy-authorization': authorization }),
      },
      agent: false,
      ...(tunnelSignal === undefined ? {} : { signal: tunnelSignal }),
    });
    request.once('connect', ({ statusCode }, socket, head: Buffer) => {
      request.removeAllListeners().on('error', () => undefined);
      if (statusCode === 200) {
        if (head.length > 0) socket.unshift(head);
        done(null, socket);
        return;
      }
      socket.destroy();
      done(new Error(`the proxy at ${proxy.host} answered CONNECT with ${statusCode}`));
    });
    request.once('error', (cause) => {
      request.on('error', () => undefined);
      done(new Error(`the proxy at ${proxy.host}: ${cause.message}`, { cause }));
    });
    request.end();
  }
}
