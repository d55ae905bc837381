/**
 * Starts servers that send to a measured process over loopback. Each is a process of its own, which
 * is stopped after the measurement.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { at } from './programs.ts';

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no TCP port on loopback');
  return address.port;
}

/**
 * Starts a script of this folder with these arguments and a port as the last; it is ready when it
 * has printed a line.
 */
export async function withServer<R>(
  script: string,
  args: readonly string[],
  use: (url: string) => Promise<R>,
): Promise<R> {
  const port = await freePort();
  const server = spawn(process.execPath, [at(script), ...args, String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const stop = (): void => void server.kill();
  process.once('exit', stop);
  try {
    const exited = once(server, 'exit').then(([code]) => {
      throw new Error(`${script} ended with ${code} before it was ready`);
    });
    exited.catch(() => {});
    await Promise.race([once(createInterface({ input: server.stdout }), 'line'), exited]);
    return await use(`http://127.0.0.1:${port}`);
  } finally {
    process.off('exit', stop);
    stop();
  }
}
