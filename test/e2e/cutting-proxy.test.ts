/** Tests the proxy of the end-to-end tests. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const PROXY = new URL('./history/cutting-proxy.ts', import.meta.url).href;

/** Cuts a connection while it is being shut down. */
const PROGRAM = `
import { subscribe } from 'node:diagnostics_channel';
import { connect, createServer } from 'node:net';
import { CuttingProxy } from ${JSON.stringify(PROXY)};

const server = createServer((socket) => socket.end());
server.listen(0, '127.0.0.1', async () => {
  const proxy = await CuttingProxy.start(server.address().port);
  subscribe('net.server.socket', ({ socket }) => {
    if (socket.localPort !== proxy.port) return;
    const { end } = socket;
    socket.end = () => {
      end.call(socket);
      proxy.stop().then(() => server.close(() => console.log('stopped')));
    };
  });
  connect(proxy.port, '127.0.0.1').on('error', () => undefined);
});
`;

it('lets the process exit after it has cut a connection that was ending', async () => {
  const program = ['--input-type=module', '--eval', PROGRAM];
  const { stdout } = await promisify(execFile)(process.execPath, program, { timeout: 60_000 });
  expect(stdout).toBe('stopped\n');
});
