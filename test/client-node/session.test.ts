/**
 * An HTTP/2 session distinguishes a dead connection from a busy reader, on a stream whose bytes
 * arrive when the test says so.
 */
import { EventEmitter } from 'node:events';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { FakeClock, macrotask } from '../../bindings/base/clock.ts';
import { answerBody } from '../../bindings/client-node/body.ts';
import { Session } from '../../bindings/client-node/session.ts';

/** The parts of Node's session that are used. */
class Connection extends EventEmitter {
  closed = false;
  destroyed = false;
  pings = 0;
  readonly remoteSettings = { maxConcurrentStreams: 100 };
  readonly stream = new Readable({ read: () => undefined, highWaterMark: 65_536 });
  request(): Readable {
    return this.stream;
  }
  ping(): boolean {
    this.pings++;
    return true;
  }
  destroy(): void {
    this.destroyed = true;
  }
  ref(): void {}
  unref(): void {}
  close(): void {}
}

test.each([false, true])(
  'old bytes do not answer a PING; the reader continues meanwhile: %s',
  async (goesOn) => {
    const clock = new FakeClock();
    const connection = new Connection();
    const { stream } = connection;
    const session = new Session(connection as unknown as ClientHttp2Session, {
      clock,
      readIdleTimeout: 30_000,
      pingTimeout: 15_000,
    });
    session.reserve();
    const opened: ClientHttp2Stream = session.request({}, undefined);
    let body: AsyncIterator<Uint8Array> | undefined;
    opened.once('response', () => {
      const source = {
        stream,
        whole: () => true,
        cut: () => undefined,
        what: 'x',
        signal: undefined,
        transient: false,
      };
      body = answerBody(source)[Symbol.asyncIterator]();
    });
    stream.emit('response', {});
    for (let i = 0; i < 6; i++) stream.push(new Uint8Array(16_384));
    const turns = async (): Promise<void> => {
      for (let i = 0; i < 3; i++) await macrotask();
    };
    await turns();
    await clock.run(30_000);
    expect(connection.pings).toBe(1);
    await clock.run(14_000);
    if (goesOn) {
      for (let i = 0; i < 6; i++) expect((await body?.next())?.done).toBe(false);
    }
    await turns();
    await clock.run(2_000);
    await turns();
    expect(connection.destroyed).toBe(true);
  },
);
