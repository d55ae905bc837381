/**
 * JSR publishes the sources, so they must pass its rules (no slow types, every import resolved).
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from '../helpers/repository.ts';
import { outputOf, resultsOf, type Tools } from './checks.ts';
import type { Result } from './shim/registry.ts';

/** Generated files cannot be fetched later: they must be published, although git ignores them. */
const WANTED = [
  'bindings/generated/core-wasm.ts',
  'bindings/generated/version.ts',
  'bindings/workqueue/index.ts',
  'README.md',
  'LICENSE',
  'jsr.json',
];

const PROGRAM = `
import { WorkQueue } from '../../bindings/workqueue/index.ts';
const queue = new WorkQueue();
queue.add('web');
console.log(queue.tryGet());
`;

/** A dry run of publishing, which needs no network, and the sources used without a build. */
export function checkJsr({ runtimes }: Tools): Promise<Result[]> {
  return resultsOf(async (run, skip) => {
    const deno = runtimes.get('deno');
    if (deno === undefined) {
      skip('publishing on JSR', 'no deno');
      return;
    }
    const env = { NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1' };
    await run('publishing on JSR passes its dry run', async () => {
      const args = [
        'publish',
        '--dry-run',
        '--allow-dirty',
        '--no-lock',
        '--node-modules-dir=manual',
      ];
      const output = await outputOf({ command: deno, args, cwd: root, env });
      const missing = WANTED.filter((file) => !output.includes(`/${file} `));
      if (missing.length > 0)
        throw new Error(`not among the published files: ${missing.join(', ')}`);
    });
    await run('the sources run as they are published', async () => {
      const program = join(root, 'build/from-sources/program.ts');
      mkdirSync(dirname(program), { recursive: true });
      writeFileSync(program, PROGRAM);
      const args = [
        'run',
        '--no-lock',
        '--node-modules-dir=manual',
        '--config',
        'jsr.json',
        program,
      ];
      const output = await outputOf({ command: deno, args, cwd: root, env });
      if (output !== 'web') throw new Error(`expected "web", got ${output}`);
    });
  });
}
