/** startTestServer() on the embedded server, and what startEnvtest() refuses before it starts. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineCustomResource, newClient } from 'capstan/client';
import { ConfigMap } from 'capstan/kinds';
import { startEnvtest, startTestServer, type TestServerOptions } from 'capstan/testing';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import * as z from 'zod';

const Website = defineCustomResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Website',
  scope: 'Namespaced',
  spec: z.object({ host: z.string() }),
});

afterEach(() => void vi.unstubAllEnvs());

describe('startTestServer()', () => {
  const start = async (options?: TestServerOptions) => {
    vi.stubEnv('CAPSTAN_TEST_SERVER', '');
    const server = await startTestServer(options);
    onTestFinished(() => server.stop());
    return server;
  };

  test('is the embedded server, with definitions that are served', async () => {
    const server = await start({ crds: [Website] });
    const client = newClient({ transport: server.transport() });
    expect((await client.list(Website.resource)).items).toEqual([]);
    const unknown = { ...Website.resource, plural: 'gadgets', kind: 'Gadget' };
    await expect(client.list(unknown)).rejects.toMatchObject({ status: 404 });
    expect(JSON.parse(server.kubeconfig()).clusters[0].cluster.server).toBe(server.url);
  });

  test('authorizes by Roles: an account, a user with a token, the administrator', async () => {
    const server = await start({ users: { 'ann-token': { name: 'ann' } } });
    const account = await server.addServiceAccount({ namespace: 'shop', name: 'web' });
    await server.addServiceAccount({ namespace: 'shop', name: 'web' });
    expect(account.name).toBe('system:serviceaccount:shop:web');
    const list = (transport: ReturnType<typeof server.transport>) =>
      newClient({ transport }).list(ConfigMap);
    const message = (user: string) => expect.stringContaining(`User "${user}" cannot list`);
    await expect(list(account.transport())).rejects.toMatchObject({
      message: message(account.name),
    });
    const ann = server.transport({ headers: { authorization: 'Bearer ann-token' } });
    await expect(list(ann)).rejects.toMatchObject({ message: message('ann') });
    const other = server.transport({ as: account.name });
    await expect(list(other)).rejects.toMatchObject({ message: message(account.name) });
    await list(server.transport());
    const { users } = JSON.parse(account.kubeconfig());
    expect(users).toEqual([{ name: account.name, user: { token: account.token } }]);
  });

  test('ends by its signal', async () => {
    const end = new AbortController();
    const server = await start({ signal: end.signal });
    end.abort();
    await server.stop();
    await expect(
      newClient({ transport: server.transport() }).list(ConfigMap),
    ).rejects.toMatchObject({ code: 'TRANSPORT' });
  });

  test('refuses an unknown switch and unknown options', async () => {
    vi.stubEnv('CAPSTAN_TEST_SERVER', 'kind');
    await expect(startTestServer()).rejects.toThrow(
      '"CAPSTAN_TEST_SERVER" expected "embedded" or "envtest", got "kind"',
    );
    await expect(startTestServer({ server: 'real' as 'envtest' })).rejects.toThrow(
      '"server" expected',
    );
    await expect(startTestServer({ crd: [] } as object)).rejects.toThrow('did you mean "crds"');
    await expect(startTestServer({ server: 'embedded', crds: [{}] })).rejects.toThrow('"crds[]"');
  });

  test('is a real one by the environment variable', async () => {
    vi.stubEnv('CAPSTAN_TEST_SERVER', 'envtest');
    vi.stubEnv('KUBEBUILDER_ASSETS', '/nowhere');
    await expect(startTestServer()).rejects.toMatchObject({ code: 'ENVTEST_BINARIES' });
  });
});

describe('startEnvtest()', () => {
  test('says which program is missing, where it looked, and where to get it', async () => {
    vi.stubEnv('KUBEBUILDER_ASSETS', '/nowhere');
    await expect(startEnvtest()).rejects.toMatchObject({
      code: 'ENVTEST_BINARIES',
      message: expect.stringMatching(
        /\/nowhere \(KUBEBUILDER_ASSETS\), but etcd is .*setup-envtest use/,
      ),
    });
    await expect(startEnvtest({ assets: '/elsewhere' })).rejects.toThrow(
      '/elsewhere (the option assets)',
    );
    vi.stubEnv('KUBEBUILDER_ASSETS', '');
    await expect(startEnvtest()).rejects.toThrow('/usr/local/kubebuilder/bin (the default');
  });

  test.runIf(process.platform !== 'win32')(
    'a program that ends is an error with the end of its log',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'capstan-assets-'));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      for (const name of ['etcd', 'kube-apiserver']) {
        writeFileSync(join(folder, name), '#!/bin/sh\necho no space left >&2\nexit 3\n');
        chmodSync(join(folder, name), 0o700);
      }
      await expect(startEnvtest({ assets: folder })).rejects.toMatchObject({
        code: 'ENVTEST',
        message: 'etcd ended (3) instead of becoming ready. The end of its log:\nno space left',
      });
    },
  );

  test.each([
    [{ crds: {} }, '"crds"'],
    [{ webhooks: [1] }, '"webhooks[]"'],
    [{ flags: ['v=2'] }, '"flags[]"'],
    [{ timeout: -1 }, '"timeout"'],
    [{ authorization: 'ABAC' }, '"authorization"'],
    [{ users: { t: { name: 'a', extra: {} } } }, 'extra'],
    [{ users: { t: { name: 'a', groups: ['x,y'] } } }, 'without a comma'],
    [{ asets: 'x' }, 'did you mean "assets"'],
  ])('refuses %j', async (options, message) => {
    await expect(startEnvtest(options as object)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(message),
    });
  });
});
