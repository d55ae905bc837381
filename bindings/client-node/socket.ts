/** Socket options and checks for HTTP/1.1 and HTTP/2. */
import type { Socket } from 'node:net';

/**
 * TCP keep-alive, in milliseconds: the kernel probes a silent connection after this time and gives
 * up after ten probes, one a second (libuv's TCP_KEEPCNT and TCP_KEEPINTVL on Linux, macOS and
 * Windows). A half-open watch fails after 40 s with ETIMEDOUT; a quiet healthy one never does.
 * Probes wait while sent bytes are unacknowledged, which happens only for a request on a dead
 * connection: `idleTimeout` of ListWatch and HTTP/2's PING end those.
 */
export const KEEP_ALIVE_DELAY = 30_000;

/**
 * Set on the socket, because agents before Node 24 do not set it on TLS connections, and agents of
 * proxies do not set it at all.
 */
export function keepAlive(socket: Socket): void {
  socket.setKeepAlive?.(true, KEEP_ALIVE_DELAY);
}

/** Whether HTTP can be sent on it: connected, and the TLS handshake is over. */
export function isConnected(socket: Socket): boolean {
  return !socket.connecting && (socket as { secureConnecting?: boolean }).secureConnecting !== true;
}

/**
 * Deno and Bun report a Node version, but their node:http2 is young and their sockets have no
 * `onread`.
 */
export const IS_NODE = process.versions.deno === undefined && process.versions.bun === undefined;
