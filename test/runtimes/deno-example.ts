/**
 * Runs examples/deno as a reader does, on the packed package, with only the permissions that the
 * example states; also examples/hello-controller.ts with its embedded server, and a manager, as the
 * documentation says.
 */
import { once } from 'node:events';
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ApiServer } from 'capstan/testing';
import { root } from '../helpers/repository.ts';
import { outputOf, resultsOf, type Tools } from './checks.ts';
import { finishesWithin, launch } from './launch.ts';
import { managerEnds } from './manager-program.ts';
import type { Result } from './shim/registry.ts';

const LIMIT_MS = 60_000;

export function checkDenoExample({ project, runtimes }: Tools): Promise<Result[]> {
  return resultsOf(async (run, skip) => {
    const deno = runtimes.get('deno');
    if (deno === undefined) {
      skip('examples/deno', 'no deno');
      return;
    }
    const cwd = join(project.folder, 'deno-example');
    mkdirSync(cwd, { recursive: true });
    cpSync(join(root, 'examples/deno'), cwd, { recursive: true });
    cpSync(join(root, 'examples/hello-controller.ts'), join(cwd, 'hello-controller.ts'));
    const env = { NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1' };
    // Instead of the registry: `npm:/capstan` resolves to the package installed in the folder
    // above.
    const installed = ['--node-modules-dir=manual', '--no-lock'];

    await run('examples/deno passes the type check of Deno', async () => {
      await outputOf({ command: deno, args: ['check', ...installed, 'main.ts'], cwd, env });
    });
    await run(
      'examples/deno greets what is there and what comes with its label and ' +
        'writes to nothing else, with access to its server alone',
      async () => {
        const server = await ApiServer.start();
        try {
          await create(server, 'alone'); // without the label; the first in the list
          await create(server, 'first', { greet: 'world' });
          const address = new URL(server.url).host;
          const args = [
            'run',
            ...installed,
            '--no-prompt',
            `--allow-net=${address}`,
            'main.ts',
            server.url,
          ];
          const greeted: string[] = [];
          const both = new EventTarget();
          const running = launch({ command: deno, args, cwd, env }, (line) => {
            if (!line.startsWith('greeted ')) return;
            greeted.push(line);
            if (greeted.length === 1) void create(server, 'second', { greet: 'world' });
            else both.dispatchEvent(new Event('greeted'));
          });
          try {
            const ended = running.ended.then((code) => {
              throw new Error(`ended with ${code}: ${running.tail}`);
            });
            const late = (): string =>
              `greeted ${greeted.length} of 2; written last:${running.tail}`;
            await finishesWithin(LIMIT_MS, Promise.race([once(both, 'greeted'), ended]), late);
          } finally {
            running.end();
          }
          const said = greeted.join();
          if (said !== 'greeted default/first,greeted default/second')
            throw new Error(`it said ${said}`);
        } finally {
          await server.stop();
        }
      },
    );
    await run('examples/hello-controller.ts runs as it is, its server included', async () => {
      const args = ['run', ...installed, '--allow-all', 'hello-controller.ts'];
      const output = await outputOf({ command: deno, args, cwd, env });
      if (output.split('\n').sort().join() !== 'greeted default/first,greeted team-a/last')
        throw new Error(`it said ${output}`);
    });
    await run('a manager elects, serves and ends in order', async () => {
      await managerEnds({ command: deno, args: ['run', ...installed, '--allow-all'], cwd, env });
    });
  });
}

async function create(server: ApiServer, name: string, labels = {}): Promise<void> {
  const body = JSON.stringify({ metadata: { name, labels } });
  const headers = { 'content-type': 'application/json' };
  await fetch(`${server.url}/api/v1/namespaces/default/configmaps`, {
    method: 'POST',
    headers,
    body,
  });
}
