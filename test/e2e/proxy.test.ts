/**
 * The way of a program through `HTTPS_PROXY` to a real API server: a manager whose watches are cut
 * and whose proxy refuses for a while misses nothing.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { newClient, until } from 'capstan/client';
import { connectCluster } from 'capstan/client-node';
import { newControllerManagedBy } from 'capstan/controller';
import { ConfigMap } from 'capstan/kinds';
import { newManager } from 'capstan/manager';
import { type Envtest, startEnvtest } from 'capstan/testing';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { type ConnectProxy, connectProxy } from '../helpers/connect-proxy.ts';

let server: Envtest;
let proxy: ConnectProxy;
let folder = '';

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'capstan-proxy-'));
  server = await startEnvtest();
  proxy = await connectProxy({ to: new URL(server.url).port });
});

afterEach(() => {
  vi.unstubAllEnvs();
});

afterAll(async () => {
  await proxy?.stop();
  await server?.stop();
  rmSync(folder, { recursive: true });
});

/** The cluster by a name that is known behind the proxy alone. */
function throughProxy(http2: 'auto' | false) {
  const config = JSON.parse(server.kubeconfig()) as {
    clusters: { cluster: Record<string, unknown> }[];
  };
  for (const { cluster } of config.clusters) {
    cluster.server = 'https://api.cluster.invalid:6443';
    cluster['tls-server-name'] = 'localhost';
  }
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, JSON.stringify(config));
  vi.stubEnv('HTTPS_PROXY', `http://jane:secret@127.0.0.1:${proxy.port}`);
  vi.stubEnv('NO_PROXY', '10.0.0.0/8,.svc');
  return connectCluster(KubeConfig, { kubeconfig }, { http2 });
}

test.each(['auto', false] as const)(
  'a manager works through a proxy that cuts and refuses (http2: %s)',
  async (http2) => {
    const { transport } = throughProxy(http2);
    const before = proxy.asked.length;
    const manager = newManager({ transport });
    newControllerManagedBy(manager)
      .for(ConfigMap)
      .complete(async (request, { get }) => {
        const found = get(request);
        if (found?.data?.wanted === undefined || found.data.seen === found.data.wanted) return;
        const body = { data: { seen: found.data.wanted } };
        await manager.client.patch(ConfigMap, request, { type: 'merge', body });
      });
    const stop = new AbortController();
    const running = manager.start({ signal: stop.signal });
    await manager.elected();

    await using direct = server.transport();
    const client = newClient({ transport: direct });
    const key = { namespace: 'default', name: `through-${http2}` };
    await client.create(ConfigMap, { metadata: key, data: { wanted: '0' } });
    const seen = async (wanted: string) => {
      const isSeen = (one?: { data?: Record<string, string> }) => one?.data?.seen === wanted;
      await until(client, ConfigMap, key, isSeen, { timeout: 60_000 });
    };
    await seen('0');
    for (let round = 1; round <= 4; round++) {
      if (round === 3) proxy.refusal = '503 Service Unavailable';
      for (const { client: socket } of proxy.tunnels.splice(0)) socket.resetAndDestroy();
      const body = { data: { wanted: `${round}` } };
      await client.patch(ConfigMap, key, { type: 'merge', body });
      if (round === 3) {
        await vi.waitFor(() => expect(proxy.asked.length - before).toBeGreaterThan(4), 30_000);
        proxy.refusal = undefined;
      }
      await seen(`${round}`);
    }
    const basic = `Basic ${Buffer.from('jane:secret').toString('base64')}`;
    expect(new Set(proxy.asked.slice(before))).toEqual(
      new Set([`api.cluster.invalid:6443 ${basic}`]),
    );
    console.log(`${proxy.asked.length - before} tunnels asked, ${proxy.bytes()} bytes led on`);
    stop.abort();
    await running;
    await transport.close?.();
  },
);
