/**
 * The program as a shell runs it: stdout, stderr, exit code, and when it exits. Needs the built
 * package (`npm test` builds it).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { loadYaml } from '@kubernetes/client-node';
import { afterAll, describe, expect, it } from 'vitest';

const place = mkdtempSync(join(tmpdir(), 'capstan-program-'));
afterAll(() => rmSync(place, { recursive: true, force: true }));

const program = fileURLToPath(new URL('../../bin/capstan.ts', import.meta.url));
const start = (...args: string[]) =>
  spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 50_000,
  });

/** More than the buffer of a pipe. */
const crd = {
  kind: 'CustomResourceDefinition',
  metadata: { name: 'bears.acme.io', annotations: { long: 'x'.repeat(1_000_000) } },
};
const noisy = join(place, 'noisy.mjs');
writeFileSync(
  noisy,
  `import { createServer } from 'node:http';
   createServer().listen(0, '127.0.0.1');
   console.log('listening');
   process.stdout.write('still loading\\n');
   export const bears = ${JSON.stringify(crd)};`,
);

describe('capstan crd', () => {
  // It waited for ever for a server that the module had started, and the YAML began with what the
  // module had printed.
  it('exits after its output although a module prints and keeps a server open', async () => {
    const child = start('crd', noisy);
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit'),
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'listening\nstill loading\n' });
    expect(loadYaml(stdout)).toEqual(crd);
  });

  // Node's default is a stack trace of ten lines.
  it('reports a closed pipe only by its exit code', async () => {
    const child = start('crd', noisy);
    child.stdout.once('data', () => child.stdout.destroy());
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'listening\nstill loading\n' });
  });

  it('exits with 1 and one line on failure, although a module keeps a server open', async () => {
    const fails = join(place, 'fails.mjs');
    writeFileSync(fails, `import './noisy.mjs'; export const n = 1;`);
    const child = start('crd', fails);
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit'),
    ]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^listening\nstill loading\ncapstan: .* expected an export .*\n$/);
  });
});
