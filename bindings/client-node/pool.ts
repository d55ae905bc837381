/**
 * The connections of one transport: a keep-alive agent of its own, made anew when the TLS material changes, so that a
 * rotated certificate or CA never speaks through a connection (or a TLS session) that the old one opened. Requests that
 * run on the old agent finish there; its idle sockets are closed at once.
 */
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent, type RequestOptions } from 'node:https';

/** What node:tls needs to know of a server and of us. PEM text or bytes, as node:tls takes them. */
export type TlsMaterial = Pick<
  RequestOptions,
  'ca' | 'cert' | 'key' | 'pfx' | 'passphrase' | 'servername' | 'rejectUnauthorized'
>;

const TLS_FIELDS: readonly (keyof TlsMaterial)[] = [
  'ca',
  'cert',
  'key',
  'pfx',
  'passphrase',
  'servername',
  'rejectUnauthorized',
];

/**
 * The kernel probes a silent connection after this long, and gives it up after ten probes a second apart (libuv's
 * TCP_KEEPCNT and TCP_KEEPINTVL): a half-open watch fails after 40 s with ETIMEDOUT, a healthy quiet one never does.
 */
const KEEP_ALIVE_DELAY = 30_000;

/**
 * An idle connection is closed after this long, before load balancers and API servers silently forget it
 * (Go's http.DefaultTransport: IdleConnTimeout). It never applies to a connection in use: see `timeout: 0` in exchange.ts.
 */
const IDLE_TIMEOUT = 90_000;

export class ConnectionPool {
  #agent: HttpAgent | undefined;
  #secure = false;
  #material: TlsMaterial = {};

  /** The agent for this material: the same one as long as the material has the same content. */
  agent(secure: boolean, material: TlsMaterial): HttpAgent {
    if (this.#agent !== undefined && this.#secure === secure && sameMaterial(this.#material, material))
      return this.#agent;
    this.close();
    const options = { keepAlive: true, keepAliveMsecs: KEEP_ALIVE_DELAY, timeout: IDLE_TIMEOUT };
    this.#agent = secure ? new HttpsAgent({ ...options, ...material }) : new HttpAgent(options);
    this.#secure = secure;
    this.#material = { ...material };
    return this.#agent;
  }

  /** Closes the idle connections, and each of the others as soon as its request ends. */
  close(): void {
    if (this.#agent !== undefined) retire(this.#agent);
    this.#agent = undefined;
  }
}

/** `agent.destroy()` would cut running requests too; with no room for free sockets each closes when its request ends. */
function retire(agent: HttpAgent): void {
  agent.maxFreeSockets = 0;
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}

/**
 * The TLS fields of `options` that are set. A field that is present with the value undefined would replace node:tls's
 * own default, such as the environment's for `rejectUnauthorized`.
 */
export function tlsMaterial(options: TlsMaterial): TlsMaterial {
  return Object.fromEntries(
    TLS_FIELDS.filter((field) => options[field] !== undefined).map((field) => [field, options[field]]),
  );
}

/** By content: a KubeConfig reads files anew each time and hands out a new buffer with the same bytes. */
export function sameMaterial(a: TlsMaterial, b: TlsMaterial): boolean {
  return TLS_FIELDS.every((field) => sameValue(a[field], b[field]));
}

function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b) === 0;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((one, i) => sameValue(one, b[i]));
  return false;
}
