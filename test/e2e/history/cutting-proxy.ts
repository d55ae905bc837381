/**
 * A TCP proxy on loopback between informers and API server, which can cut connections and hold back
 * what is sent. TLS passes through it unread, so that a cut can fall within a record, an event or a
 * character.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export class CuttingProxy {
  cuts = 0;
  /** The bytes that the server has sent through it. */
  sent = 0;
  readonly #server: Server;
  readonly #target: number;
  readonly #pairs = new Set<{ near: Socket; far: Socket }>();
  #refusing = false;
  /** What clients have sent while it is held back, by the connection to the server. */
  #held: Map<Socket, Buffer[]> | undefined;
  #bytesLeft = Number.POSITIVE_INFINITY;

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer((socket) => this.#join(socket));
  }

  /** A proxy to that port on loopback. */
  static async start(target: number): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Cuts all connections. New ones are accepted. */
  cut(): void {
    this.cuts++;
    this.#bytesLeft = Number.POSITIVE_INFINITY;
    for (const { near, far } of this.#pairs) {
      reset(near);
      far.destroy();
    }
  }

  /** Cuts all connections after the server has sent that many more bytes. */
  cutAfter(bytes: number): void {
    this.#bytesLeft = bytes;
  }

  /** Cuts all connections, and new ones at once, until `open`. */
  shut(): void {
    this.#refusing = true;
    this.cut();
  }

  open(): void {
    this.#refusing = false;
  }

  /** Holds back what clients send, until `release`. */
  hold(): void {
    this.#held ??= new Map();
  }

  /** Delivers what was held back. Resolves when the server has answered on each connection. */
  async release(): Promise<void> {
    const held = this.#held ?? new Map<Socket, Buffer[]>();
    this.#held = undefined;
    await Promise.all(
      [...held].map(async ([far, chunks]) => {
        if (far.destroyed) return;
        const answered = Promise.race([once(far, 'data'), once(far, 'close')]);
        for (const chunk of chunks) far.write(chunk);
        await answered;
      }),
    );
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.cut();
    await once(this.#server, 'close');
  }

  #join(near: Socket): void {
    if (this.#refusing) {
      reset(near);
      return;
    }
    const far = connect(this.#target, '127.0.0.1');
    const pair = { near, far };
    this.#pairs.add(pair);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.#pairs.delete(pair);
        to.destroy();
      });
      from.on('end', () => to.end());
    }
    near.on('data', (chunk: Buffer) => {
      if (this.#held === undefined) far.write(chunk);
      else this.#held.set(far, [...(this.#held.get(far) ?? []), chunk]);
    });
    far.on('data', (chunk: Buffer) => this.#toClient(near, chunk));
  }

  #toClient(near: Socket, chunk: Buffer): void {
    this.sent += chunk.length;
    if (chunk.length < this.#bytesLeft) {
      this.#bytesLeft -= chunk.length;
      near.write(chunk);
      return;
    }
    near.write(chunk.subarray(0, this.#bytesLeft));
    this.cut();
  }
}

/**
 * Resets a connection. Node cannot reset one while it is being shut down: `resetAndDestroy` then
 * fails with EINVAL and leaves the handle open, and the process does not exit but spins.
 */
function reset(socket: Socket): void {
  if (socket.writableEnded && !socket.writableFinished) socket.destroy();
  else socket.resetAndDestroy();
}
