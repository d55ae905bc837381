/** The cluster of a program by its flags and its environment, and the proxy to it. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { inspect } from 'node:util';
import { KubeConfig } from '@kubernetes/client-node';
import { type ClusterChoice, connectCluster } from 'capstan/client-node';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { connectProxy } from '../helpers/connect-proxy.ts';
import { expectError } from '../helpers/expect-error.ts';
import { bodyText, serve } from '../helpers/http-servers.ts';
import { ca, cleanups, startServer } from './http2-transports.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'capstan-connect-'));
  cleanups.push(async () => rmSync(folder, { recursive: true }));
  vi.stubEnv('HOME', folder);
  for (const name of ['KUBECONFIG', 'KUBERNETES_SERVICE_HOST', 'KUBERNETES_SERVICE_PORT'])
    vi.stubEnv(name, '');
  for (const name of ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'POD_NAMESPACE'])
    for (const each of [name, name.toLowerCase()]) vi.stubEnv(each, '');
});
afterEach(() => {
  vi.unstubAllEnvs();
});

interface Entries {
  /** Contexts with the server of each, `https://NAME.invalid` by default. */
  readonly contexts: Readonly<Record<string, string | undefined>>;
  readonly current?: string;
  readonly namespace?: string;
  readonly proxyUrl?: string;
  readonly insecure?: boolean;
}

function kubeconfig(name: string, entries: Entries): string {
  const { contexts, current, namespace, proxyUrl, insecure = false } = entries;
  const names = Object.keys(contexts);
  const trust = insecure
    ? { 'insecure-skip-tls-verify': true }
    : { 'certificate-authority-data': Buffer.from(ca.cert).toString('base64') };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': current,
    clusters: names.map((one) => ({
      name: one,
      cluster: {
        server: contexts[one] ?? `https://${one}.invalid`,
        ...trust,
        ...(proxyUrl === undefined ? {} : { 'proxy-url': proxyUrl }),
      },
    })),
    users: [{ name: 'user', user: { token: `of-${name}` } }],
    contexts: names.map((one) => ({
      name: one,
      context: { cluster: one, user: 'user', namespace },
    })),
  };
  const file = join(folder, name);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, JSON.stringify(config));
  return file;
}

function connected(choice?: ClusterChoice) {
  const cluster = connectCluster(KubeConfig, choice);
  cleanups.push(() => cluster.transport.close?.());
  return cluster;
}

const serverOf = (choice?: ClusterChoice) => connected(choice).config.getCurrentCluster()?.server;
const refused = (choice: ClusterChoice | undefined, ...parts: (string | RegExp)[]) =>
  expectError(() => connected(choice), 'INVALID_ARGUMENT', ...parts);

/** A KubeConfig whose Pod has its service account in a folder of the test. */
class InPod extends KubeConfig {
  override loadFromCluster(): void {
    super.loadFromCluster(folder);
  }
}

function pod(namespace = 'of-the-pod') {
  vi.stubEnv('KUBERNETES_SERVICE_HOST', '10.96.0.1');
  vi.stubEnv('KUBERNETES_SERVICE_PORT', '443');
  const account = join(folder, 'var/run/secrets/kubernetes.io/serviceaccount');
  mkdirSync(account, { recursive: true });
  for (const [name, text] of Object.entries({ token: 'secret', 'ca.crt': ca.cert, namespace }))
    writeFileSync(join(account, name), text);
  return account;
}

function inPod(choice?: ClusterChoice) {
  const cluster = connectCluster(InPod, choice);
  cleanups.push(() => cluster.transport.close?.());
  return cluster;
}

describe('the first counts of', () => {
  test('--kubeconfig, KUBECONFIG, the Pod, ~/.kube/config', () => {
    refused(
      undefined,
      'the cluster: KUBECONFIG is not set, and this is no Pod, and there is no ' +
        `${folder}/.kube/config; give --kubeconfig`,
    );
    kubeconfig('.kube/config', { contexts: { home: undefined }, current: 'home' });
    expect(serverOf()).toBe('https://home.invalid');
    pod();
    expect(inPod()).toMatchObject({ context: 'inClusterContext', namespace: 'of-the-pod' });
    expect(inPod().config.getCurrentCluster()?.server).toBe('https://10.96.0.1:443');
    vi.stubEnv('KUBECONFIG', kubeconfig('env', { contexts: { env: undefined }, current: 'env' }));
    expect(inPod().context).toBe('env');
    const file = kubeconfig('flag', { contexts: { flag: undefined }, current: 'flag' });
    expect(inPod({ kubeconfig: file })).toMatchObject({
      context: 'flag',
      source: `the kubeconfig ${file}`,
    });
  });

  test('a context is not looked for in a Pod', () => {
    pod();
    kubeconfig('.kube/config', { contexts: { a: undefined, b: undefined }, current: 'a' });
    expect(inPod({ context: 'b' }).context).toBe('b');
  });

  test('a Pod without a token is none', () => {
    const account = pod();
    rmSync(join(account, 'token'));
    expectError(() => inPod(), 'INVALID_ARGUMENT', `the Pod has no ${account}/token`);
    kubeconfig('.kube/config', { contexts: { home: undefined }, current: 'home' });
    expect(inPod().context).toBe('home');
  });

  test('files of KUBECONFIG, entry by entry; what does not exist is left out', async () => {
    const one = kubeconfig('one', { contexts: { a: 'https://one.invalid' } });
    const two = kubeconfig('two', {
      contexts: { a: 'https://two.invalid', b: undefined },
      current: 'a',
    });
    const three = kubeconfig('three', { contexts: { c: undefined }, current: 'c' });
    vi.stubEnv('KUBECONFIG', [join(folder, 'none'), one, two, one, three].join(delimiter));
    const { config, context, source } = connected();
    expect(source).toBe(`the kubeconfig ${one}, ${two}, ${three}`);
    expect(context).toBe('a');
    expect(config.getCurrentCluster()?.server).toBe('https://one.invalid');
    expect(config.getContexts().map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    expect(config.getCurrentUser()?.token).toBe('of-one');
    expect(serverOf({ context: 'b' })).toBe('https://b.invalid');
    vi.stubEnv('KUBECONFIG', join(folder, 'none'));
    kubeconfig('.kube/config', { contexts: { home: undefined }, current: 'home' });
    refused(undefined, `no file of KUBECONFIG exists (${folder}/none)`);
  });
});

describe('the namespace is', () => {
  test('that of the flag, the context, or default', () => {
    const file = kubeconfig('a', { contexts: { a: undefined }, current: 'a' });
    expect(connected({ kubeconfig: file }).namespace).toBe('default');
    const own = kubeconfig('b', { contexts: { a: undefined }, current: 'a', namespace: 'web' });
    vi.stubEnv('POD_NAMESPACE', 'other');
    expect(connected({ kubeconfig: own }).namespace).toBe('web');
    expect(connected({ kubeconfig: own, namespace: 'mine' }).namespace).toBe('mine');
  });

  test('that of the Pod, where POD_NAMESPACE comes first', () => {
    pod('in-file\n');
    expect(inPod().namespace).toBe('in-file');
    vi.stubEnv('POD_NAMESPACE', 'in-env');
    expect(inPod().namespace).toBe('in-env');
    expect(inPod({ namespace: 'flag' }).namespace).toBe('flag');
  });
});

describe('what is wrong is told:', () => {
  test('a context that does not exist, or none', () => {
    const file = kubeconfig('a', { contexts: { a: undefined, b: undefined } });
    refused(
      { kubeconfig: file, context: 'c' },
      `--context: there is no context "c" in the kubeconfig ${file}, which has a, b`,
    );
    refused({ kubeconfig: file }, 'it has no current context; give --context, one of a, b');
    const gone = kubeconfig('b', { contexts: { a: undefined }, current: 'gone' });
    refused({ kubeconfig: gone }, 'there is no context "gone"');
  });

  test('a context without a cluster', () => {
    const file = join(folder, 'a');
    const context = { name: 'a', context: { cluster: 'gone', user: 'u' } };
    writeFileSync(file, JSON.stringify({ contexts: [context], 'current-context': 'a' }));
    refused({ kubeconfig: file }, 'the context "a" of', 'there is no cluster "gone"');
  });

  test.each([
    ['', /it is no kubeconfig/],
    ['just a secret', /it is no kubeconfig|no current context/],
    ['users:\n  - name: u\n    user: { token: secret, : }\n  bad', /it is no YAML: .* in line \d/],
    ['clusters: [{ cluster: { server: secret } }]', /it is no kubeconfig/],
  ])('the file %j, whose text is not shown', (text, message) => {
    const file = join(folder, 'a');
    writeFileSync(file, text);
    const error = refused({ kubeconfig: file }, message);
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('secret');
  });

  test('a file that does not exist, or is a folder', () => {
    refused(
      { kubeconfig: join(folder, 'none') },
      `the kubeconfig ${folder}/none: it does not exist`,
    );
    refused({ kubeconfig: folder }, 'it cannot be read (EISDIR)');
  });

  test('arguments of another kind', () => {
    expectError(() => connectCluster({} as never), 'INVALID_ARGUMENT', '"KubeConfig" expected');
    refused({ kubeConfig: 'a' } as never, 'did you mean "kubeconfig"?');
    refused({ context: 7 } as never, '"choice.context" expected a text');
    refused({ namespace: '' }, '"choice.namespace" expected a text');
  });
});

describe('the proxy', () => {
  /** A server that is known as `api.invalid` behind a proxy alone. */
  async function behind(scheme: 'http' | 'https') {
    const server =
      scheme === 'https'
        ? await startServer(({ httpVersion }, response) => response.end(httpVersion), {
            allowHTTP1: true,
          })
        : await serve(({ httpVersion }, response) => response.end(httpVersion));
    if (scheme === 'http') cleanups.push(() => server.stop());
    const { port } = new URL(server.url);
    const proxy = await connectProxy({ to: port });
    cleanups.push(() => proxy.stop());
    const file = kubeconfig('a', {
      contexts: { a: `${scheme}://api.invalid:6443` },
      current: 'a',
      insecure: true,
    });
    return {
      proxy,
      choice: { kubeconfig: file },
      address: `http://j:p%40s@127.0.0.1:${proxy.port}`,
    };
  }
  const asked = async (choice: ClusterChoice): Promise<string> =>
    connected(choice)
      .transport.request({ method: 'GET', path: '/version' })
      .then(
        ({ body }) => bodyText(body),
        ({ kind }) => kind,
      );
  const basic = `Basic ${Buffer.from('j:p@s').toString('base64')}`;

  test.each(['http', 'https'] as const)(
    'of the environment serves a server at %s',
    async (scheme) => {
      const { proxy, choice, address } = await behind(scheme);
      vi.stubEnv(scheme === 'http' ? 'HTTP_PROXY' : 'HTTPS_PROXY', address);
      expect(await asked(choice)).toBe(scheme === 'http' ? '1.1' : '2.0');
      expect(proxy.asked).toEqual([`api.invalid:6443 ${basic}`]);
      vi.stubEnv('NO_PROXY', '.invalid');
      expect(await asked(choice)).toBe('refused'); // there is no such host
      expect(proxy.asked).toHaveLength(1);
    },
  );

  test('of the kubeconfig comes first, whatever NO_PROXY says', async () => {
    const { proxy, choice, address } = await behind('https');
    const own = kubeconfig('b', {
      contexts: { b: 'https://api.invalid:6443' },
      current: 'b',
      insecure: true,
      proxyUrl: address,
    });
    vi.stubEnv('HTTPS_PROXY', 'http://127.0.0.1:1');
    vi.stubEnv('NO_PROXY', '*');
    expect(await asked({ kubeconfig: own })).toBe('2.0');
    expect(await asked(choice)).toBe('refused');
    expect(proxy.asked).toHaveLength(1);
  });

  test("of the environment is in the KubeConfig, for client-node's own classes", async () => {
    const { choice, address } = await behind('https');
    vi.stubEnv('HTTPS_PROXY', address);
    expect(connected(choice).config.getCurrentCluster()?.proxyUrl).toBe(`${address}/`);
  });

  test('that is no URL is told', async () => {
    const { choice } = await behind('https');
    vi.stubEnv('HTTPS_PROXY', 'ftp://proxy');
    refused(choice, '"HTTPS_PROXY" expected a URL of http, https or socks5');
  });
});
