/**
 * A Node that is too old gets one clear error. Node 20 failed with an internal message, such as
 * "buffer.transfer is not a function", at the first list.
 */
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
      message: `${name} needs Node 22.19 or later, and this is Node ${node}`,
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
    'capstan: crd needs Node >=22.19, and this is Node 20.20.2 (NODE_TOO_OLD)\n',
  ]);
});

test('the required version is that of package.json', () => {
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(engines.node).toBe('>=22.19');
});
