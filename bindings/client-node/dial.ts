/**
 * Opens one TLS connection and detects the HTTP version that the server chose (ALPN). A dial ends
 * in a session, a socket or an error within a time. Many requests may wait for one dial; it is
 * abandoned when the last of them has left. Certificates are checked by node:tls.
 */

import { type ClientHttp2Session, connect as http2Connect } from 'node:http2';
import type { Socket } from 'node:net';
import { type TLSSocket, connect as tlsConnect } from 'node:tls';
import { onAbort } from '../base/wait.ts';
import { kindOfHostError, type TransportErrorKind } from '../cache/rest/transport.ts';
import type { Tunnel } from './proxy.ts';
import { type Health, Session } from './session.ts';
import { keepAlive } from './socket.ts';
import { SocketTap } from './socket-tap.ts';
import { connectOptions, hostOf, type TlsMaterial } from './tls.ts';

/** A session if the server speaks HTTP/2, else a connected socket for HTTP/1.1. */
export type Dialed = { session: Session } | { socket: TLSSocket };

/** Where a connection leads, with which TLS material, and through which proxy. */
export interface Way {
  readonly url: URL;
  readonly tls: TlsMaterial;
  readonly tunnel?: Tunnel | undefined;
}

/** The reason why there is no connection. */
export class DialError extends Error {
  readonly kind: TransportErrorKind;

  constructor(kind: TransportErrorKind, message: string, cause: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

/**
 * The limit for TCP, TLS and the server's SETTINGS together, in milliseconds. client-go:
 * transport/cache.go, Dialer.Timeout.
 */
export const DIAL_TIMEOUT = 30_000;

/**
 * The unread bytes of one answer: a list that is not read blocks its own stream, not the watches on
 * the same connection. At 20 ms to the server a stream carries 50 MB/s; Node's default of 64 KiB
 * allows 3 MB/s.
 */
const STREAM_WINDOW = 1024 * 1024;
/**
 * Larger than all streams together may need; Node gives it back as bytes arrive.
 * golang.org/x/net/http2: transportDefaultConnFlow.
 */
const CONNECTION_WINDOW = 2 ** 30;
/**
 * In megabytes. Node's default of 10 is less than the windows of a few streams; beyond it Node
 * refuses new streams.
 */
const SESSION_MEMORY = 1024;

export class Dial {
  readonly result: Promise<Dialed>;
  #waiting = 0;
  #giveUp: (error: Error) => void = () => undefined;

  constructor(way: Way, health: Health) {
    this.result = new Promise((resolve, reject) => this.#start(way, health, resolve, reject));
    this.result.catch(() => undefined); // wait() rejects with it
  }

  /** The result; undefined if the signal fires first. */
  wait(signal: AbortSignal | undefined): Promise<Dialed | undefined> {
    this.#waiting++;
    return new Promise((resolve, reject) => {
      const unlisten = onAbort(signal, () => {
        this.#waiting--;
        if (this.#waiting === 0)
          this.abandon(new Error('no request waits for the connection any longer'));
        resolve(undefined);
      });
      this.result.then(resolve, reject).then(unlisten);
    });
  }

  /** Abandons the dial. No effect after its end. */
  abandon(why: Error): void {
    this.#giveUp(why);
  }

  #start(
    way: Way,
    health: Health,
    resolve: (dialed: Dialed) => void,
    reject: (error: DialError) => void,
  ): void {
    const unneeded = new AbortController();
    let socket: TLSSocket | undefined;
    let session: ClientHttp2Session | undefined;
    let timer: unknown;
    const done = (): void => {
      this.#giveUp = () => undefined;
      health.clock.clearTimer(timer);
      socket?.off('error', fail);
      socket?.off('close', closed);
    };
    const fail = (error: Error): void => {
      done();
      const kind =
        session === undefined ? (kindOfHostError(error) ?? 'refused') : kindInPreface(error);
      reject(new DialError(kind, error.message, error));
      unneeded.abort();
      socket?.on('error', () => undefined);
      session?.on('error', () => undefined);
      session?.destroy();
      socket?.destroy();
    };
    const closed = (): void =>
      fail(new Error('the server closed the connection before it was ready'));
    this.#giveUp = fail;
    timer = health.clock.setTimer(
      () => fail(new Error(`no connection within ${DIAL_TIMEOUT} ms`)),
      DIAL_TIMEOUT,
    );
    const secured = (secure: TLSSocket): void => {
      if (secure.alpnProtocol !== 'h2') {
        done();
        secure.on('error', () => undefined); // until a request takes it over
        resolve({ socket: secure });
        return;
      }
      const options = {
        createConnection: () => secure,
        settings: { enablePush: false, initialWindowSize: STREAM_WINDOW },
        maxSessionMemory: SESSION_MEMORY,
      };
      const opened = http2Connect(way.url.origin, options);
      session = opened;
      opened.on('error', fail);
      opened.on('close', closed);
      // The first frame of a server. With TLS 1.3 it also shows that the server accepted our
      // certificate.
      opened.once('remoteSettings', () => {
        done();
        opened.off('error', fail);
        opened.off('close', closed);
        opened.setLocalWindowSize(CONNECTION_WINDOW);
        resolve({ session: new Session(opened, health) });
      });
    };
    const begun = (secure: TLSSocket): void => {
      socket = secure;
      keepAlive(secure);
      secure.on('error', fail);
      secure.on('close', closed);
      secure.once('secureConnect', () => secured(secure));
    };
    begin(way, unneeded.signal, begun, fail);
  }
}

/** Begins TLS: at once, or when the tunnel is open. Nothing is called once the signal has fired. */
function begin(
  { url, tls, tunnel }: Way,
  signal: AbortSignal,
  begun: (socket: TLSSocket) => void,
  fail: (error: Error) => void,
): void {
  const host = hostOf(url);
  const options = {
    servername: host,
    ...connectOptions(tls, host),
    host,
    port: Number(url.port || 443),
    ALPNProtocols: ['h2', 'http/1.1'],
  };
  if (tunnel === undefined) {
    begun(SocketTap.on((onread) => tlsConnect({ ...options, ...onread })));
    return;
  }
  tunnel.open({ ...options, tunnelSignal: signal }, (error, through) => {
    if (through === undefined || signal.aborted) {
      through?.destroy();
      if (!signal.aborted) fail(error ?? new Error('the proxy opened no connection'));
      return;
    }
    keepAlive(through as Socket);
    begun(tlsConnect({ ...options, socket: through }));
  });
}

/**
 * A server that chose HTTP/2 and sends something else is not an API server. One that hangs up has
 * refused us, for example our certificate.
 */
function kindInPreface(error: Error): TransportErrorKind {
  return (error as NodeJS.ErrnoException).code === 'ERR_HTTP2_ERROR' ? 'unknown' : 'refused';
}
