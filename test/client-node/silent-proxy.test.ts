/**
 * A proxy that accepts connections and does not answer CONNECT, or SOCKS, gave Node's request
 * neither a socket nor an error: an abort had no effect, close() waited for ever, and each try left
 * a connection behind that kept the process alive.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { FakeClock } from 'capstan';
import { kubeConfigTransport } from 'capstan/client-node';
import { afterEach, describe, expect, test } from 'vitest';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

async function behind(scheme: string, server = 'https://10.1.2.3:6443') {
  const sockets: Socket[] = [];
  const proxy = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined).resume();
    proxy.emit('met');
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  cleanups.push(async () => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  const config = new KubeConfig();
  const proxyUrl = `${scheme}://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  config.loadFromClusterAndUser(
    { name: 'c', server, proxyUrl, skipTLSVerify: true },
    { name: 'u', token: 't' },
  );
  const clock = new FakeClock();
  const transport = kubeConfigTransport(config, { clock });
  cleanups.push(async () => transport.close?.());
  /** A request that the proxy has received. */
  const begin = async (signal?: AbortSignal) => {
    const met = once(proxy, 'met');
    const answer = transport.request({ method: 'GET', path: '/', signal }).then(
      () => 'answered',
      (error: unknown) => error,
    );
    await met;
    return { answer };
  };
  /** Another connection, after all that were begun before. */
  const knock = async () => {
    const own = connect((proxy.address() as AddressInfo).port, '127.0.0.1');
    cleanups.push(async () => own.on('error', () => undefined).destroy());
    await once(own, 'connect');
    while (!sockets.some(({ remotePort }) => remotePort === own.localPort))
      await once(proxy, 'met');
  };
  return { sockets, clock, transport, begin, knock };
}

const isGone = (socket: Socket | undefined) => socket?.closed || (socket && once(socket, 'close'));

describe.each(['https://10.1.2.3:6443', 'http://10.1.2.3:6443'])(
  'a proxy that does not answer, before %s',
  (server) => {
    test('blocks neither an abort nor its connection', async () => {
      const { sockets, clock, begin } = await behind('http', server);
      for (let i = 0; i < 3; i++) {
        const controller = new AbortController();
        const { answer } = await begin(controller.signal);
        controller.abort(new Error('enough'));
        expect(await answer).toMatchObject({
          kind: 'aborted',
          message: expect.stringContaining('enough'),
        });
        await isGone(sockets[i]);
      }
      expect(clock.timers()).toBe(0);
    });

    test('does not block close()', async () => {
      const { sockets, transport, begin } = await behind('http', server);
      const { answer } = await begin();
      await transport.close?.();
      expect(await answer).toMatchObject({ kind: /^https/.test(server) ? 'refused' : 'reset' });
      await isGone(sockets[0]);
    });

    test('is given up after the time limit of a connection', async () => {
      const { sockets, clock, begin } = await behind('http', server);
      const { answer } = await begin();
      clock.step(30_000);
      expect(await answer).toMatchObject({
        kind: 'refused',
        message: expect.stringContaining('within 30000 ms'),
      });
      await isGone(sockets[0]);
    });
  },
);

test('an agent with unreachable connections blocks neither an abort nor close()', async () => {
  const { transport, begin } = await behind('socks5');
  const controller = new AbortController();
  const { answer } = await begin(controller.signal);
  const other = await begin();
  controller.abort();
  expect(await answer).toMatchObject({ kind: 'aborted' });
  await transport.close?.();
  expect(await other.answer).toMatchObject({ kind: 'reset' });
});

// The request existed by then: its error had no listener, which ends a process.
test('a clock that throws leaves no connection behind', async () => {
  const { sockets, clock, transport, knock } = await behind('http');
  clock.setTimer = () => {
    throw new Error('clock');
  };
  await expect(transport.request({ method: 'GET', path: '/' })).rejects.toThrow('clock');
  await knock();
  expect(sockets.length).toBe(1);
});
