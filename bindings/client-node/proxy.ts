/**
 * Agents for the `proxy-url` of a kubeconfig. client-node makes the agent; this fixes what differs
 * from client-go: SOCKS5 proxies get the server's name, and an https proxy may have an IP address,
 * which hpagent passes to node:tls as a name.
 */
import { Agent as HttpAgent, request as httpRequest, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIPv6 } from 'node:net';
import type { Duplex } from 'node:stream';
import { CapstanError } from '../base/errors.ts';
import { basicOf } from '../base/urls.ts';
import { connectOptions, hostOf } from './tls.ts';

const SCHEMES = ['http:', 'https:', 'socks:', 'socks4:', 'socks4a:', 'socks5:', 'socks5h:'];

/**
 * Parses a `proxy-url`. No error contains its user and password.
 *
 * @throws CapstanError INVALID_ARGUMENT
 */
export function proxyURL(text: unknown): URL {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !SCHEMES.includes(url.protocol) || url.hostname === '')
    throw new CapstanError(
      'INVALID_ARGUMENT',
      '"the cluster\'s proxy-url" expected a URL of http, https ' +
        'or socks5 such as "http://proxy:3128"',
    );
  basicOf("the cluster's proxy-url", url);
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

/** The agent to use instead of client-node's. An unknown agent is kept. */
export function throughProxy(agent: HttpAgent & ProxyAgent, proxy: URL, secure: boolean) {
  const { proxyRequestOptions, proxy: socks } = agent;
  if (isSocks(agent)) {
    // golang.org/x/net: internal/socks. socks4 has no names.
    if (proxy.protocol === 'socks5:') agent.shouldLookup = false;
    if (socks !== undefined) socks.host = hostOf(proxy);
  } else if (proxyRequestOptions !== undefined) {
    const tunnel = new Tunnel(proxy, proxyRequestOptions);
    return secure ? new SecureAgent(tunnel) : new PlainAgent(tunnel);
  }
  return agent;
}

type ConnectArguments = Parameters<HttpAgent['createConnection']>;
/** Set by exchange.ts: fires when no request needs the connection any more. */
type Options = ConnectArguments[0] & { tunnelSignal?: AbortSignal };

/** Opens connections through a proxy by CONNECT. */
class Tunnel {
  readonly #proxy: URL;
  readonly #more: RequestOptions;

  constructor(proxy: URL, more: RequestOptions) {
    this.#proxy = proxy;
    this.#more = more;
  }

  open(
    { host, port, tunnelSignal }: Options,
    done: (error: Error | null, socket?: Duplex) => void,
  ): void {
    const proxy = this.#proxy;
    const more = this.#more;
    const isSecure = proxy.protocol === 'https:';
    const to = `${isIPv6(host ?? '') ? `[${host}]` : host}:${port}`;
    const authorization = basicOf("the cluster's proxy-url", proxy);
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

class PlainAgent extends HttpAgent {
  readonly #tunnel: Tunnel;

  constructor(tunnel: Tunnel) {
    super();
    this.#tunnel = tunnel;
  }

  override createConnection(...[options, done]: ConnectArguments): undefined {
    this.#tunnel.open(options, done as Parameters<Tunnel['open']>[1]);
  }
}

class SecureAgent extends HttpsAgent {
  readonly #tunnel: Tunnel;

  constructor(tunnel: Tunnel) {
    super();
    this.#tunnel = tunnel;
  }

  override createConnection(...[options, done]: ConnectArguments): undefined {
    const callback = done as Parameters<Tunnel['open']>[1];
    this.#tunnel.open(options, (error, socket) => {
      if (error !== null || socket === undefined) callback(error);
      else callback(null, super.createConnection({ ...options, socket } as Options) as Duplex);
    });
  }
}
