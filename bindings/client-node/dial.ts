/**
 * One new TLS connection, and which HTTP the server chose for it (ALPN). What this file keeps true:
 * it ends in a session, a socket or an error, within a time; many may wait for one dial, and it is
 * given up when the last of them has left; certificates are checked as node:tls checks.
 */

import { type ClientHttp2Session, connect as http2Connect } from 'node:http2';
import { type TLSSocket, connect as tlsConnect } from 'node:tls';
import { onAbort } from '../base/wait.ts';
import { kindOfHostError, type TransportErrorKind } from '../cache/rest/transport.ts';
import { type Health, Session } from './session.ts';
import { keepAlive } from './socket.ts';
import { SocketTap } from './socket-tap.ts';
import { connectOptions, hostOf, type TlsMaterial } from './tls.ts';

/** A session where the server speaks HTTP/2, or else a connected socket for HTTP/1.1. */
export type Dialed = { session: Session } | { socket: TLSSocket };

/** Why there is no connection. */
export class DialError extends Error {
  readonly kind: TransportErrorKind;

  constructor(kind: TransportErrorKind, message: string, cause: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

/** TCP, TLS and the server's SETTINGS together. client-go: transport/cache.go, Dialer.Timeout. */
export const DIAL_TIMEOUT = 30_000;

/**
 * How much of one answer may be on the way or unread: a list that nobody reads keeps this much of
 * its stream and nothing of the connection, so that it cannot stall the watches beside it. At 20 ms
 * to the server one stream can carry 50 MB/s. node's own 64 KiB would allow 3.
 */
const STREAM_WINDOW = 1024 * 1024;
/**
 * Beyond what any streams together may have on the way; node gives it back as bytes arrive.
 * golang.org/x/net/http2: transportDefaultConnFlow.
 */
const CONNECTION_WINDOW = 2 ** 30;
/**
 * In megabytes. node's 10 are less than the windows of a few streams, and beyond them it refuses
 * new ones.
 */
const SESSION_MEMORY = 1024;

export class Dial {
  readonly result: Promise<Dialed>;
  #waiting = 0;
  #giveUp: (error: Error) => void = () => undefined;

  constructor(url: URL, tls: TlsMaterial, health: Health) {
    this.result = new Promise((resolve, reject) => this.#start(url, tls, health, resolve, reject));
    this.result.catch(() => undefined); // whoever waits is told
  }

  /** What it ends in; undefined when the signal fires first. */
  wait(signal: AbortSignal | undefined): Promise<Dialed | undefined> {
    this.#waiting++;
    return new Promise((resolve, reject) => {
      const unlisten = onAbort(signal, () => {
        this.#waiting--;
        if (this.#waiting === 0)
          this.abandon(new Error('nobody waits for the connection any longer'));
        resolve(undefined);
      });
      this.result.then(resolve, reject).then(unlisten);
    });
  }

  /** Gives it up. No effect on one that has ended. */
  abandon(why: Error): void {
    this.#giveUp(why);
  }

  #start(
    url: URL,
    tls: TlsMaterial,
    health: Health,
    resolve: (dialed: Dialed) => void,
    reject: (error: DialError) => void,
  ): void {
    const host = hostOf(url);
    const socket = SocketTap.on((onread) =>
      tlsConnect({
        servername: host,
        ...connectOptions(tls, host),
        ...onread,
        host,
        port: Number(url.port || 443),
        ALPNProtocols: ['h2', 'http/1.1'],
      }),
    );
    keepAlive(socket);
    let session: ClientHttp2Session | undefined;
    let timer: unknown;
    const done = (): void => {
      this.#giveUp = () => undefined;
      health.clock.clearTimer(timer);
      socket.off('error', fail);
      socket.off('close', closed);
    };
    const fail = (error: Error): void => {
      done();
      const kind =
        session === undefined ? (kindOfHostError(error) ?? 'refused') : kindInPreface(error);
      reject(new DialError(kind, error.message, error));
      socket.on('error', () => undefined);
      session?.on('error', () => undefined);
      session?.destroy();
      socket.destroy();
    };
    const closed = (): void =>
      fail(new Error('the server closed the connection before it was ready'));
    this.#giveUp = fail;
    timer = health.clock.setTimer(
      () => fail(new Error(`no connection within ${DIAL_TIMEOUT} ms`)),
      DIAL_TIMEOUT,
    );
    socket.on('error', fail);
    socket.on('close', closed);
    socket.once('secureConnect', () => {
      if (socket.alpnProtocol !== 'h2') {
        done();
        socket.on('error', () => undefined); // until a request takes it over
        resolve({ socket });
        return;
      }
      const options = {
        createConnection: () => socket,
        settings: { enablePush: false, initialWindowSize: STREAM_WINDOW },
        maxSessionMemory: SESSION_MEMORY,
      };
      const opened = http2Connect(url.origin, options);
      session = opened;
      opened.on('error', fail);
      opened.on('close', closed);
      // The first thing a server says; with TLS 1.3 it is also the first sign that it took our
      // certificate.
      opened.once('remoteSettings', () => {
        done();
        opened.off('error', fail);
        opened.off('close', closed);
        opened.setLocalWindowSize(CONNECTION_WINDOW);
        resolve({ session: new Session(opened, health) });
      });
    });
  }
}

/**
 * A server that agreed on HTTP/2 and says something else is no server of ours; one that hangs up
 * has refused us (our certificate, say).
 */
function kindInPreface(error: Error): TransportErrorKind {
  return (error as NodeJS.ErrnoException).code === 'ERR_HTTP2_ERROR' ? 'unknown' : 'refused';
}
