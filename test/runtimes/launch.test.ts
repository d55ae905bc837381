/** Runtimes that crash, lie, hang or are missing: each is a failure that says what happened. */
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { finishesWithin, launch, onPath, type RuntimeProgram, suiteIn } from './launch.ts';
import { MARK, type SuiteMessage } from './report.ts';

const cwd = fileURLToPath(new URL('.', import.meta.url));
const node = (script: string): RuntimeProgram => ({
  command: process.execPath,
  args: ['-e', script],
  cwd,
});
const say = (message: SuiteMessage): string =>
  `console.log(${JSON.stringify(MARK + JSON.stringify(message))});`;

const report: SuiteMessage = { kind: 'report', version: '1', results: [] };
const progress: SuiteMessage = { kind: 'progress', path: ['queue', 'a drain'] };

describe('a suite in a program', () => {
  test('is read as a report among other output and in any order of the streams', async () => {
    const program = node(
      `console.log('hello'); console.error('careful'); ${say(progress)} ${say(report)}`,
    );
    expect(await suiteIn(program, 20_000)).toEqual(report);
  });

  test.each([
    [
      'ends without a report',
      `${say(progress)} console.log('out of words')`,
      new RegExp(
        'ended with 0 and without a report; begun last: queue > a drain; ' +
          'written last:\\s+out of words',
      ),
    ],
    [
      'ends with a code after its report',
      `${say(report)} process.exitCode = 3`,
      /ended with 3 after its report/,
    ],
    [
      'is ended by a signal',
      `process.kill(process.pid, 'SIGTERM'); for (;;);`,
      /ended with SIGTERM/,
    ],
    [
      'says that it could not run',
      say({ kind: 'failure', message: 'expected to run on deno' }),
      /expected to run on deno/,
    ],
    ['writes a broken message', `console.log('${MARK}{')`, /ended with 0 and without a report/],
  ])('that %s has failed', async (_what, script, message) => {
    await expect(suiteIn(node(script), 20_000)).rejects.toThrow(message);
  });

  test('that hangs is ended, and the report names the hanging test', async () => {
    const hang = node(`${say(progress)} setInterval(() => {}, 1e6)`);
    let begun = () => {};
    const started = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const running = launch(hang, () => begun());
    await started;
    await expect(finishesWithin(10, running.ended, () => 'queue > a drain')).rejects.toThrow(
      'not done after 0.01 s: queue > a drain',
    );
    running.end();
    expect(await running.ended).toBe('SIGKILL');
    running.end();
  });

  test('that is missing is reported as a failure', async () => {
    const missing = { command: `${cwd}/no-such-runtime`, args: [], cwd };
    await expect(suiteIn(missing, 20_000)).rejects.toThrow(/no-such-runtime could not be started/);
  });
});

test('programs are found on PATH by the first of their names', () => {
  expect(onPath('no-such-runtime', 'sh')).toMatch(/\/sh$/);
  expect(onPath('no-such-runtime')).toBeUndefined();
});
