/**
 * Two replicas with certificates of their own behind one address, which a real API server calls
 * under load while a certificate is renewed, a new authority replaces the first, and the first is
 * taken away. Connections are cut between the calls, so that each replica's certificate is checked
 * again and again. No call may be refused.
 */
import { createServer, connect as dial, type Server, type Socket } from 'node:net';
import { connect } from 'node:tls';
import type { Transport } from 'capstan/cache';
import { type Client, newClient } from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import type { Logger } from 'capstan/controller';
import { ConfigMap, MutatingWebhookConfiguration, Secret } from 'capstan/kinds';
import { type ControllerManager, newManager } from 'capstan/manager';
import { newWebhookManagedBy } from 'capstan/webhook';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rotationTimes } from '../../bindings/webhook/managed.ts';
import { eventually } from '../helpers/control-plane/conditions.ts';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import { freePort } from '../helpers/http-servers.ts';
import { readKubeConfig } from './same-answers/servers.ts';

/**
 * In milliseconds. Servers and installations look every ten seconds, so what is left of a
 * certificate when it is due, 30 s, is longer than the overlap and both of these.
 */
const TIMES = {
  authority: 120_000,
  serving: 90_000,
  overlap: 8000,
  backdate: 3_600_000,
  read: 1000,
};
const WORKERS = 6;

const errors: unknown[] = [];
const LOGGER: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: (message, fields) => void errors.push({ message, fields }),
};

let plane: ControlPlane;
let balancer: Balancer;
const transports: Transport[] = [];
const managers: ControllerManager[] = [];
const running: Promise<void>[] = [];
const stopper = new AbortController();
let client: Client;
/** Calls by replica. */
const calls = [0, 0];

/** Gives each connection to the next port, as a Service does. */
class Balancer {
  readonly #server: Server;
  /** By the socket of the caller, that of the replica. */
  readonly #open = new Map<Socket, Socket>();
  #next = 0;
  accepted = 0;

  constructor(ports: readonly number[]) {
    this.#server = createServer({ allowHalfOpen: true }, (from) => {
      this.accepted++;
      const to = dial({ host: '127.0.0.1', port: ports[this.#next++ % ports.length] as number });
      this.#open.set(from, to);
      const end = () => {
        this.#open.delete(from);
        from.destroy();
        to.destroy();
      };
      for (const socket of [from, to]) socket.on('error', end).on('close', end);
      from.pipe(to).pipe(from);
    });
  }

  listen(port: number): Promise<void> {
    return new Promise((resolve) => this.#server.listen(port, '127.0.0.1', resolve));
  }

  /** Ends all connections; resolves when the callers have noticed and ended them too. */
  async cut(): Promise<void> {
    const closed = [...this.#open].map(async ([from, to]) => {
      to.unpipe(from);
      const end = new Promise((resolve) => from.once('close', resolve));
      from.end();
      await end;
    });
    await Promise.all(closed);
  }

  async close(): Promise<void> {
    for (const from of this.#open.keys()) from.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

async function transportOf(): Promise<Transport> {
  const transport = kubeConfigTransport(await readKubeConfig(plane));
  transports.push(transport);
  return transport;
}

beforeAll(async () => {
  plane = await ControlPlane.start();
  client = newClient({ transport: await transportOf() });
  const ports = [await freePort(), await freePort()];
  const shared = await freePort();
  balancer = new Balancer(ports);
  await balancer.listen(shared);
  for (const [replica, port] of ports.entries()) {
    const manager = newManager({
      transport: await transportOf(),
      logger: LOGGER,
      healthProbe: { bindAddress: '127.0.0.1:0' },
      webhook: {
        bindAddress: `127.0.0.1:${port}`,
        clientConfig: { url: `https://127.0.0.1:${shared}` },
        selfManaged: {
          namespace: 'default',
          secretName: 'rotated',
          dnsNames: ['127.0.0.1'],
          install: true,
        },
      },
    });
    rotationTimes.set(manager, TIMES);
    newWebhookManagedBy(manager)
      .for(ConfigMap)
      .withDefaulter(
        (map) => {
          calls[replica] = (calls[replica] ?? 0) + 1;
          map.data = { ...map.data, replica: String(replica) };
        },
        { objectSelector: { matchLabels: { load: 'yes' } } },
      )
      .complete();
    managers.push(manager);
    running.push(manager.start({ signal: stopper.signal }));
  }
  for (const one of running) one.catch(() => undefined);
  await eventually('both replicas are ready', async () => {
    for (const manager of managers) {
      const { status } = await fetch(`${manager.url('healthProbe')}/readyz`);
      if (status !== 200) return false;
    }
    return true;
  });
  await eventually('the API server calls the webhook', async () => {
    const { data } = await create('probe');
    return data?.replica !== undefined;
  });
});

afterAll(async () => {
  stopper.abort();
  await Promise.all(running);
  await balancer?.close();
  for (const transport of transports) await transport.close?.();
  await plane?.stop();
});

const create = (name: string) =>
  client.create(
    ConfigMap,
    { metadata: { name, namespace: 'default', labels: { load: 'yes' } } },
    { dryRun: true },
  );

const installed = async (): Promise<string> => {
  const { webhooks } = await client.get(MutatingWebhookConfiguration, { name: 'rotated' });
  return Buffer.from(webhooks?.[0]?.clientConfig.caBundle ?? '', 'base64').toString();
};

const authorities = (bundle: string): string[] =>
  bundle.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];

/** The certificate that a replica serves, by a connection that trusts the bundle. */
const served = (url: string, ca: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port), ca }, () => {
      resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? '');
      socket.destroy();
    });
    socket.once('error', reject);
  });

test('no call is refused during a renewal and a change of the authority', async () => {
  const refused: string[] = [];
  const certificates = [new Set<string>(), new Set<string>()];
  const bundles = new Set<string>();
  const [first = ''] = authorities(await installed());
  let answered = 0;
  let isOver = false;
  let n = 0;

  const load = async (): Promise<void> => {
    while (!isOver) {
      const burst = Array.from({ length: WORKERS }, async () => {
        const { data } = await create(`load-${n++}`);
        if (data?.replica === undefined) throw new Error('the webhook was not called');
        answered++;
      });
      for (const result of await Promise.allSettled(burst))
        if (result.status === 'rejected') refused.push(String(result.reason));
      // Nothing is under way now.
      await balancer.cut();
    }
  };
  const watch = async (): Promise<void> => {
    const ends = performance.now() + 240_000;
    while (performance.now() < ends) {
      const bundle = await installed();
      bundles.add(bundle);
      for (const [replica, manager] of managers.entries())
        certificates[replica]?.add(await served(manager.url('webhook') ?? '', bundle));
      const all = authorities(bundle);
      if (all.length > 0 && !all.includes(first)) return;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    throw new Error('the first authority is still installed after four minutes');
  };
  const loading = load();
  await watch().finally(() => {
    isOver = true;
  });
  await loading;

  const rotation = {
    answered,
    refused: refused.length,
    handshakes: balancer.accepted,
    calls,
    bundles: [...bundles].map((bundle) => authorities(bundle).length),
    certificates: certificates.map(({ size }) => size),
  };
  console.log('rotation under load:', JSON.stringify(rotation));
  expect(refused).toEqual([]);
  expect(errors).toEqual([]);
  // The first authority; both; the second one alone.
  expect(rotation.bundles).toEqual([1, 2, 1]);
  // Each replica has served the same: the first, a renewed one, one of the second authority.
  expect(certificates[0]).toEqual(certificates[1]);
  expect(certificates[0]?.size).toBeGreaterThanOrEqual(3);
  for (const count of calls) expect(count).toBeGreaterThan(100);
  const { data } = await client.get(Secret, { namespace: 'default', name: 'rotated' });
  expect(Buffer.from(data?.['ca.crt'] ?? '', 'base64').toString()).toBe([...bundles].at(-1));
}, 300_000);
