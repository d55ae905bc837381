/** What holds for every socket, whichever HTTP it carries. */
import type { Socket } from 'node:net';

/**
 * The kernel probes a silent connection after this long, and gives it up after ten probes a second
 * apart (libuv's TCP_KEEPCNT and TCP_KEEPINTVL; on Linux, macOS and Windows alike): a half-open
 * watch fails after 40 s with ETIMEDOUT, a healthy quiet one never does. Probes wait while sent
 * bytes are unacknowledged, which only a request on a connection that is dead already leaves
 * behind: then byte silence (`idleTimeout` of ListWatch) and HTTP/2's PING are what ends it.
 */
export const KEEP_ALIVE_DELAY = 30_000;

/**
 * On the socket itself: agents of node before 24 keep the option from connections over TLS, and
 * proxies' agents know none.
 */
export function keepAlive(socket: Socket): void {
  socket.setKeepAlive?.(true, KEEP_ALIVE_DELAY);
}

/** Whether bytes of HTTP can be sent on it: connected, and shaken hands where it is over TLS. */
export function isConnected(socket: Socket): boolean {
  return !socket.connecting && (socket as { secureConnecting?: boolean }).secureConnecting !== true;
}

/** Deno and Bun claim to be node: their node:http2 is young, and their sockets know no `onread`. */
export const IS_NODE = process.versions.deno === undefined && process.versions.bun === undefined;
