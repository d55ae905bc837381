/**
 * Stopping a server. A client that had not finished its TLS handshake delayed a server's end past
 * its shutdownTimeout, and kill() too; one that had sent half a request delayed it for the whole
 * grace period: node's server does not close either connection.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect as connectTLS } from 'node:tls';
import { HTTPServer } from 'capstan/manager';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Authority, authority, certificate } from '../helpers/http-servers.ts';
import { managerOf } from './recording-runnables.ts';

let tls: Authority;
beforeAll(async () => {
  tls = await certificate(await authority(), 'server');
});

async function run(options: Partial<ConstructorParameters<typeof HTTPServer>[0]>) {
  const { clock } = managerOf();
  const server = new HTTPServer({
    bindAddress: '127.0.0.1:0',
    handler: (_, response) => void response.end('hi'),
    clock,
    ...options,
  });
  const stopper = new AbortController();
  const done = server.start({ signal: stopper.signal });
  const clients: Socket[] = [];
  onTestFinished(() => {
    stopper.abort();
    for (const client of clients) client.destroy();
  });
  await server.listening();
  const port = server.address?.port as number;
  const open = async (over: 'tcp' | 'tls', says: string) => {
    const client =
      over === 'tcp'
        ? connect(port, '127.0.0.1')
        : connectTLS({ port, host: '127.0.0.1', rejectUnauthorized: false });
    clients.push(client.on('error', () => undefined));
    await once(client, over === 'tcp' ? 'connect' : 'secureConnect');
    client.write(says);
    return client;
  };
  return { server, clock, done, stop: () => stopper.abort(), open };
}

/** With or without an error, because the socket may be reset. */
async function closed(socket: Socket): Promise<void> {
  if (!socket.closed) await new Promise((resolve) => socket.resume().once('close', resolve));
}

const HALF = 'GET / HT';
const WHOLE = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

describe('a server that is stopped', () => {
  test.each([
    ['plain', 'tcp', HALF],
    ['plain', 'tcp', 'GET / HTTP/1.1\r\nHost: a\r\n'],
    ['TLS', 'tcp', ''],
    ['TLS', 'tcp', '\x16\x03\x01'],
    ['TLS', 'tls', ''],
    ['TLS', 'tls', HALF],
  ] as const)(
    'cuts a connection that carries no request: %s, over %s, %j',
    async (kind, over, says) => {
      const { clock, done, stop, open } = await run(kind === 'TLS' ? { tls } : {});
      const silent = await open(over, says);
      await clock.settle(); // it has arrived
      stop();
      await done;
      await closed(silent);
    },
  );

  test.each(['plain', 'TLS'] as const)('still finishes responses in progress: %s', async (kind) => {
    const arrived = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    const { done, stop, open } = await run({
      ...(kind === 'TLS' ? { tls } : {}),
      handler: async (_, response) => {
        arrived.resolve();
        await finish.promise;
        response.end('answered');
      },
    });
    const client = await open(kind === 'TLS' ? 'tls' : 'tcp', WHOLE);
    const silent = await open(kind === 'TLS' ? 'tls' : 'tcp', HALF);
    const answer = text(client);
    await arrived.promise;
    stop();
    await closed(silent); // a server on the same port that does not respond
    finish.resolve();
    expect(await answer).toMatch(/answered$/);
    await done;
  });

  // http's own close() treated a connection as idle whose response was written but not sent yet.
  test.each(['plain', 'TLS'] as const)(
    'sends to the end what it has answered: %s',
    async (kind) => {
      const given = Promise.withResolvers<void>();
      const much = Buffer.alloc(20_000_000, 'x');
      const { done, stop, open } = await run({
        ...(kind === 'TLS' ? { tls } : {}),
        handler: (_, response) => {
          response.setHeader('content-length', much.length).end(much);
          given.resolve();
        },
      });
      const client = await open(kind === 'TLS' ? 'tls' : 'tcp', WHOLE);
      await given.promise;
      stop();
      expect((await text(client)).length).toBeGreaterThan(much.length);
      await done;
    },
  );

  test.each(['its shutdownTimeout', 'kill()'])(
    'is over after %s, whatever a client over TLS does',
    async (which) => {
      const arrived = Promise.withResolvers<void>();
      const { server, clock, done, stop, open } = await run({
        tls,
        shutdownTimeout: 1000,
        handler: () => arrived.resolve(),
      });
      await open('tls', WHOLE);
      await arrived.promise;
      stop();
      if (which === 'kill()') await server.kill();
      else await clock.run(1000);
      await done;
      expect(clock.timers()).toBe(0);
    },
  );
});
