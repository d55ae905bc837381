/**
 * The connections of one transport: HTTP/2 sessions that requests share, or a keep-alive agent for
 * HTTP/1.1, as the server chose. They are replaced when the server's address, the TLS material or
 * the proxy changes, so that no request uses a connection (or TLS session) of the old material.
 * Running requests finish on the old connections; idle ones are closed at once.
 */
import { type AgentOptions, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { Dial, DialError, type Way } from './dial.ts';
import type { Tunnel } from './proxy.ts';
import type { Health, Session } from './session.ts';
import { KEEP_ALIVE_DELAY } from './socket.ts';
import { SocketTap } from './socket-tap.ts';
import { connectOptions, hostOf, sameMaterial } from './tls.ts';

/**
 * Milliseconds after which an idle connection is closed, before load balancers and API servers
 * forget it (Go's http.DefaultTransport: IdleConnTimeout). It does not apply to a connection in
 * use: see `timeout: 0` in exchange.ts.
 */
const IDLE_TIMEOUT = 90_000;
const AGENT_OPTIONS = { keepAlive: true, keepAliveMsecs: KEEP_ALIVE_DELAY, timeout: IDLE_TIMEOUT };

export class ConnectionPool {
  readonly #health: Health;
  /** Pending dials, including those of former material. */
  readonly #dials = new Set<Dial>();
  #connections: Connections | undefined;

  constructor(health: Health) {
    this.#health = health;
  }

  /** The connections for this way; the same object while it does not change. */
  for(way: Way): Connections {
    if (this.#connections?.serves(way)) return this.#connections;
    this.#connections?.retire();
    this.#connections = new Connections(way, this.#health, this.#dials);
    return this.#connections;
  }

  /** Closes idle connections and pending dials at once, and the others when their requests end. */
  close(): void {
    for (const dial of this.#dials) dial.abandon(new Error('the transport is closed'));
    this.#connections?.close();
    this.#connections = undefined;
  }
}

/** The connections to one server with one TLS material, straight or through one proxy. */
export class Connections {
  readonly #way: Way;
  readonly #health: Health;
  readonly #agent: HttpAgent;
  /** Sockets whose server chose HTTP/1.1, for the agent's next connections. */
  readonly #dialed: TLSSocket[] = [];
  readonly #sessions = new Set<Session>();
  readonly #dials: Set<Dial>;
  #dial: Dial | undefined;
  /**
   * Whether the server chose HTTP/1.1. Asked again after a failure to connect: it may be another
   * server.
   */
  #plain = false;
  #retired = false;

  constructor({ url, tls, tunnel }: Way, health: Health, dials: Set<Dial>) {
    this.#way = { url, tls: { ...tls }, tunnel };
    this.#health = health;
    this.#dials = dials;
    this.#agent = this.#newAgent(AGENT_OPTIONS, this.#dialed);
  }

  serves({ url, tls, tunnel }: Way): boolean {
    const mine = this.#way;
    return (
      mine.url.origin === url.origin &&
      sameMaterial(mine.tls, tls) &&
      (tunnel === undefined ? mine.tunnel === undefined : tunnel.equals(mine.tunnel))
    );
  }

  /** The agent for HTTP/1.1. */
  get agent(): HttpAgent {
    return this.#agent;
  }

  /** For a connection of its own, outside of the pool; false is Node's own agent for one. */
  freshAgent(): HttpAgent | false {
    return this.#way.tunnel === undefined ? false : this.#newAgent({}, []);
  }

  #newAgent(options: AgentOptions, dialed: TLSSocket[]): HttpAgent {
    const { url, tls, tunnel } = this.#way;
    return url.protocol === 'https:'
      ? new DialedAgent({ ...options, ...connectOptions(tls, hostOf(url)) }, dialed, tunnel)
      : new TappedAgent(options, tunnel);
  }

  /**
   * A session with a reserved place; opens one if needed. Undefined if the server speaks only
   * HTTP/1.1, and if the signal fires. Rejects with {@link DialError}.
   *
   * @param fresh a session that has not been used before
   */
  async session(signal: AbortSignal | undefined, fresh: boolean): Promise<Session | undefined> {
    if (this.#plain) return undefined;
    for (let mayReuse = !fresh; ; mayReuse = true) {
      for (const session of this.#sessions) {
        if (!session.usable || session.closedAsIdle()) this.#sessions.delete(session);
      }
      for (const session of this.#sessions) if (mayReuse && session.reserve()) return session;
      const dial = this.#dialOnce();
      const dialed = await dial.wait(signal);
      if (dialed === undefined || 'socket' in dialed) return undefined;
      const { session } = dialed;
      if (session.reserve()) {
        if (this.#retired) session.retire();
        return session;
      }
      if (session.limit === 0) {
        session.retire();
        throw new DialError('refused', 'the server allows no HTTP/2 streams', undefined);
      }
      if (!session.usable)
        throw new DialError('refused', 'the server closed the connection at once', undefined);
      // Other waiters took all places.
    }
  }

  /** Forgets the server's protocol after a failure to connect. */
  forgetProtocol(): void {
    this.#plain = false;
  }

  /** Closes the connections when no request uses or waits for them. */
  retire(): void {
    this.#retired = true;
    for (const session of this.#sessions) session.retire();
    this.#sessions.clear();
    // `agent.destroy()` would cut running requests. Without free sockets each closes when its
    // request ends.
    this.#agent.maxFreeSockets = 0;
    for (const sockets of Object.values(this.#agent.freeSockets))
      for (const socket of sockets ?? []) socket.destroy();
    for (const socket of this.#dialed.splice(0)) socket.destroy();
  }

  /** The streams have been ended. Nothing waits for a server that may not answer. */
  close(): void {
    for (const session of this.#sessions) session.destroy();
    this.retire();
  }

  #dialOnce(): Dial {
    if (this.#dial !== undefined) return this.#dial;
    const dial = new Dial(this.#way, this.#health);
    this.#dial = dial;
    this.#dials.add(dial);
    const over = (): void => {
      this.#dials.delete(dial);
      if (this.#dial === dial) this.#dial = undefined;
    };
    dial.result.then((dialed) => {
      over();
      if ('session' in dialed) {
        if (!this.#retired) this.#sessions.add(dialed.session);
        return;
      }
      this.#plain = true;
      const { socket } = dialed;
      this.#dialed.push(socket);
      socket.unref();
      socket.once('close', () => {
        const at = this.#dialed.indexOf(socket);
        if (at >= 0) this.#dialed.splice(at, 1);
      });
    }, over);
    return dial;
  }
}

type ConnectArguments = Parameters<HttpAgent['createConnection']>;
type Opened = Parameters<Tunnel['open']>[1];

/** An agent whose sockets have a tap, which bypasses Node's parser for bodies, or a tunnel. */
class TappedAgent extends HttpAgent {
  readonly #tunnel: Tunnel | undefined;

  constructor(options: AgentOptions, tunnel: Tunnel | undefined) {
    super(options);
    this.#tunnel = tunnel;
  }

  override createConnection(...[options, done]: ConnectArguments): Duplex | null | undefined {
    const tunnel = this.#tunnel;
    if (tunnel === undefined)
      return SocketTap.on((onread) => super.createConnection({ ...options, ...onread }, done));
    tunnel.open(options, done as Opened);
    return undefined;
  }
}

/** The same for https. Its next connections may already be open. */
class DialedAgent extends HttpsAgent {
  readonly #dialed: TLSSocket[];
  readonly #tunnel: Tunnel | undefined;

  constructor(
    options: ConstructorParameters<typeof HttpsAgent>[0],
    dialed: TLSSocket[],
    tunnel: Tunnel | undefined,
  ) {
    super(options);
    this.#dialed = dialed;
    this.#tunnel = tunnel;
  }

  override createConnection(...[options, done]: ConnectArguments): Duplex | null | undefined {
    let socket = this.#dialed.pop();
    while (socket?.destroyed) socket = this.#dialed.pop();
    if (socket !== undefined) {
      socket.ref();
      return socket;
    }
    const tunnel = this.#tunnel;
    if (tunnel === undefined)
      return SocketTap.on((onread) => super.createConnection({ ...options, ...onread }, done));
    const opened = done as Opened;
    tunnel.open(options, (error, through) => {
      if (through === undefined) opened(error);
      else opened(null, super.createConnection({ ...options, socket: through } as never) as Duplex);
    });
    return undefined;
  }
}
