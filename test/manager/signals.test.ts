/** Signals of the operating system, sent to a child process. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';

const program = fileURLToPath(new URL('signal-process.ts', import.meta.url));

/** Starts the program; `line` is its next line. */
function run(...args: string[]) {
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const exit = once(child, 'exit');
  return { child, line: async () => (await lines.next()).value, exit };
}

describe('setupSignalHandler', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)(
    'asks for an end in order at the first %s',
    async (name) => {
      const { child, line, exit } = run('ends');
      expect(await line()).toBe('ready');
      child.kill(name);
      expect(await line()).toBe(`told: the process was told to end by ${name}`);
      expect(await exit).toEqual([0, null]);
    },
  );

  test('exits with 1 at the second, whichever it is', async () => {
    const { child, line, exit } = run('hangs');
    expect(await line()).toBe('ready');
    child.kill('SIGTERM');
    expect(await line()).toBe('told: the process was told to end by SIGTERM');
    child.kill('SIGINT');
    expect(await exit).toEqual([1, null]);
  });

  test('is called once, and does not keep a process alive', async () => {
    const { line, exit } = run('twice');
    expect(await line()).toBe('ALREADY_STARTED');
    expect(await exit).toEqual([0, null]);
  });
});
