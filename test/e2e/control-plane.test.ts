/**
 * The control plane of the other tests. A killed test run must not leave an etcd and an API server
 * running on the machine.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { eventually, within } from '../helpers/control-plane/conditions.ts';

test('a control plane and its folder are removed when its parent process is killed', async () => {
  const script = fileURLToPath(new URL('./start-control-plane.ts', import.meta.url));
  const child = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    const lines = createInterface(child.stdout);
    const [line] = (await within(100_000, 'the control plane starts', once(lines, 'line'))) as [
      string,
    ];
    const { url, folder } = JSON.parse(line) as { url: string; folder: string };
    const port = Number(new URL(url).port);
    expect(await connects(port), 'the API server is there').toBe(true);
    expect(existsSync(folder)).toBe(true);

    child.kill('SIGKILL');

    await eventually('the API server is gone', async () => !(await connects(port)), 20_000);
    await eventually('its folder is gone', () => !existsSync(folder), 20_000);
  } finally {
    child.kill('SIGKILL');
  }
});

async function connects(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
