/**
 * A Node that is too old gets one clear error. Node 20 failed with an internal message, such as
 * "buffer.transfer is not a function", at the first list.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { httpTransport, kubeConfigTransport } from 'capstan/client-node';
import { newManager } from 'capstan/manager';
import { ApiServer, fakeTransport } from 'capstan/testing';
import { afterEach, expect, test } from 'vitest';
import { main } from '../../bin/cli.ts';

const own = process.versions;
const become = (versions: object): void => {
  Object.defineProperty(process, 'versions', { value: versions, configurable: true });
};
afterEach(() => become(own));

const config = {
  getCurrentCluster: () => ({ server: 'https://a' }),
  applyToHTTPSOptions: async () => undefined,
};
const ENTRIES: [string, () => unknown][] = [
  ['capstan/client-node', () => httpTransport('http://a')],
  ['capstan/client-node', () => kubeConfigTransport(config)],
  ['capstan/manager', () => newManager({ transport: fakeTransport() })],
  ['capstan/testing', () => ApiServer.start().then((server) => server.stop())],
];

test.each(ENTRIES)('%s names the required and the running version of Node', async (name, make) => {
  for (const node of ['20.20.2', '18.0.0', '22.18.0', '21.9.9']) {
    become({ ...own, node });
    await expect((async () => make())()).rejects.toMatchObject({
      code: 'NODE_TOO_OLD',
      message:
        `${name} needs Node 22.19 or later, and this is Node ${node}: ` +
        'install a newer one, such as the LTS of https://nodejs.org',
    });
  }
  for (const versions of [{ node: '22.19.0' }, { node: '24.0.0' }, { node: '20.0.0', bun: '1' }]) {
    become({ ...own, ...versions });
    await (async () => make())();
  }
});

test('the command line reports a Node that is too old before it loads a module', async () => {
  const lines: string[] = [];
  const output = { out: () => undefined, err: (text: string) => void lines.push(text) };
  expect(await main(['crd', 'src/website.ts'], output, '20.20.2')).toBe(1);
  expect(lines).toEqual([
    'capstan: crd needs Node >=22.19, and this is Node 20.20.2: ' +
      'install a newer one, such as the LTS of https://nodejs.org (NODE_TOO_OLD)\n',
  ]);
});

// An install script that did not run left the system's Node 20 to the scripts: npm run demo ended
// with "Unknown file extension .ts".
test('the scripts of the repository report a Node that is too old, in one line', () => {
  const become20 = `Object.defineProperty(process, 'versions', { value: { node: '20.20.2' } })`;
  const run = (...options: string[]) =>
    spawnSync(process.execPath, [...options, 'scripts/require-node.mjs'], { encoding: 'utf8' });
  const { status, stderr } = run('--import', `data:text/javascript,${become20}`);
  expect(stderr).toMatch(
    /^Capstan's scripts need Node 22\.19 or later, and this is Node 20\.20\.2 /,
  );
  expect(stderr.trimEnd()).not.toContain('\n');
  expect(status).toBe(1);
  expect(run().status).toBe(0);
});

test('each script that needs a build begins with that check', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    scripts: Record<string, string>;
  };
  expect(scripts.build).toMatch(/^node scripts\/require-node\.mjs && /);
  for (const name of ['demo', 'test', 'bench']) expect(scripts[name]).toMatch(/^npm run -s build /);
});

test('the required version is that of package.json', () => {
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(engines.node).toBe('>=22.19');
});
