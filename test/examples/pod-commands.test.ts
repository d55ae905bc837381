/**
 * Logs, commands and ports of Pods against a server that speaks the protocol: what is asked for,
 * what comes back, and how each ends when it is cut, refused or aborted.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { KubeConfig } from '@kubernetes/client-node';
import { connectCluster } from 'capstan/client-node';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { lastLines, openPort, run } from '../../examples/pod-commands/commands.ts';
import { connectProxy } from '../helpers/connect-proxy.ts';
import { type Channels, podServer } from './pod-server.ts';

const target = { namespace: 'default', pod: 'web-0', container: 'nginx' };
const { signal: never } = new AbortController();

afterEach(() => {
  vi.unstubAllEnvs();
});

function connected(server: string) {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-pods-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const kubeconfig = join(folder, 'config');
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      'current-context': 'a',
      contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
      clusters: [{ name: 'a', cluster: { server, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'a', user: { token: 'mine' } }],
    }),
  );
  const { config, transport } = connectCluster(KubeConfig, { kubeconfig });
  onTestFinished(() => transport.close?.());
  return { config, transport };
}

const ended = (exitCode: number) =>
  JSON.stringify(
    exitCode === 0
      ? { metadata: {}, status: 'Success' }
      : {
          metadata: {},
          status: 'Failure',
          reason: 'NonZeroExitCode',
          message: `command terminated with exit code ${exitCode}`,
          details: { causes: [{ reason: 'ExitCode', message: `${exitCode}` }] },
        },
  );

describe.each(['v5.channel.k8s.io', 'v4.channel.k8s.io'])('a command over %s', (protocol) => {
  async function answered(answer: (channels: Channels) => void) {
    const server = await podServer(protocol, answer);
    return { ...server, ...connected(server.url) };
  }

  test('gives its output and its exit code, and is asked for with the token', async () => {
    const { config, requests } = await answered(({ send }) => {
      send(1, 'one ');
      send(2, 'to stderr');
      send(1, 'two');
      send(3, ended(0));
    });
    expect(await run(config, target, ['sh', '-c', 'echo "a b"'], never)).toEqual({
      stdout: 'one two',
      stderr: 'to stderr',
      exitCode: 0,
    });
    const [request] = requests;
    const { pathname, searchParams } = new URL(`http://host${request?.url}`);
    expect(pathname).toBe('/api/v1/namespaces/default/pods/web-0/exec');
    expect([...searchParams]).toEqual([
      ['stdout', 'true'],
      ['stderr', 'true'],
      ['stdin', 'false'],
      ['tty', 'false'],
      ['command', 'sh'],
      ['command', '-c'],
      ['command', 'echo "a b"'],
      ['container', 'nginx'],
    ]);
    expect(request?.headers.authorization).toBe('Bearer mine');
  });

  test('that fails has its exit code', async () => {
    const { config } = await answered(({ send }) => {
      send(2, 'no such file');
      send(3, ended(2));
    });
    const outcome = await run(config, target, ['cat', 'none'], never);
    expect(outcome).toEqual({ stdout: '', stderr: 'no such file', exitCode: 2 });
  });

  test('that could not be run is an error', async () => {
    const message = 'container not found ("nginx")';
    const { config } = await answered(({ send }) =>
      send(3, JSON.stringify({ status: 'Failure', reason: 'InternalError', message })),
    );
    await expect(run(config, target, ['ls'], never)).rejects.toThrow(message);
  });

  test('whose connection is cut is an error', async () => {
    const { config } = await answered(({ send, socket }) => {
      send(1, 'half');
      setImmediate(() => socket.destroy());
    });
    await expect(run(config, target, ['ls'], never)).rejects.toThrow('the connection was cut');
  });

  test.each(['while it connects', 'later'])('ends with the signal, %s', async (when) => {
    const controller = new AbortController();
    const closed = Promise.withResolvers<void>();
    const { config } = await answered(({ socket, send }) => {
      socket.once('close', () => closed.resolve());
      if (when === 'later') send(1, 'begun');
      const abort = () => controller.abort(new Error('enough'));
      if (when === 'later') setImmediate(abort);
      else abort();
    });
    await expect(run(config, target, ['sleep', '9'], controller.signal)).rejects.toThrow('enough');
    await closed.promise;
  });
});

test('a command that the server refuses is an error with its status', async () => {
  const { url } = await podServer('other', () => undefined);
  await expect(run(connected(url).config, target, ['ls'], never)).rejects.toThrow(
    'ls in default/web-0: Unexpected server response: 400',
  );
});

test('a command goes through the proxy of the environment', async () => {
  const { url } = await podServer('v5.channel.k8s.io', ({ send }) => send(3, ended(0)));
  const proxy = await connectProxy({ to: new URL(url).port });
  onTestFinished(() => proxy.stop());
  vi.stubEnv('HTTP_PROXY', `http://127.0.0.1:${proxy.port}`);
  const { config } = connected('http://api.invalid:8080');
  expect((await run(config, target, ['ls'], never)).exitCode).toBe(0);
  expect(proxy.asked).toEqual(['api.invalid:8080 nobody']);
});

describe('a log', () => {
  test('is asked for by lines, and given as text', async () => {
    const { url, requests } = await podServer(
      '',
      () => undefined,
      (_, response) => response.end('one\ntwo\n'),
    );
    expect(await lastLines(connected(url).transport, target, 2, never)).toBe('one\ntwo\n');
    expect(requests[0]?.url).toBe(
      '/api/v1/namespaces/default/pods/web-0/log?container=nginx&tailLines=2&limitBytes=1000000',
    );
  });

  test('that is refused, cut or aborted is an error', async () => {
    const { url } = await podServer(
      '',
      () => undefined,
      (request, response) => {
        if (request.url?.includes('tailLines=1&')) response.writeHead(400).end('is not running');
        else response.write('half', () => setImmediate(() => response.destroy()));
      },
    );
    const { transport } = connected(url);
    const refused = lastLines(transport, target, 1, never);
    await expect(refused).rejects.toThrow('the log of default/web-0: 400 is not running');
    await expect(lastLines(transport, target, 2, never)).rejects.toMatchObject({ kind: 'reset' });
    const gone = AbortSignal.abort(new Error('enough'));
    await expect(lastLines(transport, target, 2, gone)).rejects.toThrow('enough');
  });
});

test('a port is a stream in both directions', async () => {
  const server = await podServer('v5.channel.k8s.io', ({ send, onMessage, close }) => {
    const port = Buffer.from([0x90, 0x1f]); // 8080, little-endian, first on each channel
    send(0, port);
    send(1, port);
    onMessage((channel, data) => {
      send(channel, `got ${data}`);
      close();
    });
  });
  const input = new PassThrough();
  const output = await openPort(connected(server.url).config, target, 8080, input);
  input.write('PING');
  expect(await text(output)).toBe('got PING');
  expect(server.requests[0]?.url).toBe(
    '/api/v1/namespaces/default/pods/web-0/portforward?ports=8080',
  );
  input.end();
  await once(input, 'end').catch(() => undefined);
});
