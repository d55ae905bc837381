/**
 * Story: Node's agents have an option for TCP keep-alive, and Node 22 ignored it for connections
 * over TLS, so that no watch on a cluster was probed. The test reads the kernel's timer of a
 * socket.
 */
import { readFileSync } from 'node:fs';
import { Agent } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Transport } from 'capstan/cache';
import { httpTransport, type KubeConfigLike, kubeConfigTransport } from 'capstan/client-node';
import { afterEach, describe, expect, test } from 'vitest';
import { authority, certificate, serve } from '../helpers/http-servers.ts';
import { serveH2 } from './http2-servers.ts';

const cleanups: (() => Promise<unknown> | undefined)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

/**
 * `02:` and the hundredths of seconds until the first probe: the timer of a connection, at the
 * client's end.
 */
function timerOf(serverSide: Socket): string {
  const port = (number: number | undefined) =>
    `:${Number(number).toString(16).toUpperCase().padStart(4, '0')}`;
  const ours = port(serverSide.remotePort);
  const theirs = port((serverSide.address() as AddressInfo).port);
  const lines = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((path) =>
    readFileSync(path, 'utf8').trim().split('\n'),
  );
  const fields = lines.map((line) => line.trim().split(/\s+/));
  const line = fields.find(([, from, to]) => from?.endsWith(ours) && to?.endsWith(theirs));
  return line?.[5] ?? 'no such connection';
}

async function firstByte(transport: Transport): Promise<void> {
  cleanups.push(() => transport.close?.());
  const { body } = await transport.request({ method: 'GET', path: '/' });
  await body[Symbol.asyncIterator]().next();
}

const isProbed = expect.stringMatching(/^02:00000[0-9AB]/); // at most 0xBFF hundredths

describe.runIf(process.platform === 'linux')('the kernel probes', () => {
  test('a watch over HTTP/1.1', async () => {
    const { url, sockets, stop } = await serve((_, response) => response.write('x'));
    cleanups.push(stop);
    await firstByte(httpTransport(url));
    expect(timerOf(sockets[0]!)).toEqual(isProbed);
  });

  test('a watch over HTTP/1.1 and TLS, with our agent or another one', async () => {
    const ca = await authority();
    const { url, sockets, stop } = await serve(
      (_, response) => response.write('x'),
      await certificate(ca, 'server'),
    );
    cleanups.push(stop);
    const transport = httpTransport(url, { tls: { ca: ca.cert } });
    await firstByte(transport);
    await firstByte(transport);
    await firstByte(httpTransport(url, { tls: { ca: ca.cert }, http2: false }));
    const config: KubeConfigLike = {
      getCurrentCluster: () => ({ server: url, proxyUrl: 'http://proxy.example' }),
      applyToHTTPSOptions: async (options) => {
        options.agent = new Agent({ ca: ca.cert });
      },
    };
    await firstByte(kubeConfigTransport(config));
    expect(sockets.map(timerOf)).toEqual(Array(4).fill(isProbed));
  });

  test('a connection of HTTP/2', async () => {
    const ca = await authority();
    const server = await serveH2(await certificate(ca, 'server'), (_, response) =>
      response.write('x'),
    );
    cleanups.push(() => server.stop());
    await firstByte(httpTransport(server.url, { tls: { ca: ca.cert } }));
    expect(timerOf(server.sockets[0]!)).toEqual(isProbed);
  });
});
