/**
 * One measurement of embedded-server.ts, in a process of its own, as a JSON line:
 *
 *     node --expose-gc bench/server/embedded-server-load.ts
 *       --peer P --writes N --live N --watchers N
 *
 * The server and its client share the process for the peers `memory` and `http`, as in a test.
 * Every write's answer is checked, and every watcher has to read every event.
 */
import type { Transport } from 'capstan/cache';
import { flagsOrExit } from '../measure/flags.ts';
import { SERVER_PEERS, type ServerFigures } from './embedded-server-peers.ts';

const { peer, writes, live, watchers } = flagsOrExit('server/embedded-server-load.ts', {
  peer: SERVER_PEERS,
  writes: 5_000,
  live: 100_000,
  watchers: 10,
});
/** The number of concurrent requests. */
const WORKERS = 16;

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const configMap = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels: { app: 'web' } },
  data: { a: 'x'.repeat(200) },
});
const deployment = (name: string): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, labels: { app: 'web' } },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'web', image: 'web:1', ports: [{ containerPort: 80 }] }] },
    },
  },
});

interface Server {
  transport: Transport;
  stop(): Promise<void>;
}

async function embedded(): Promise<Server> {
  const { ApiServer } = await import('capstan/testing');
  loaded = performance.now();
  const server = await ApiServer.start({ historySize: 1000 });
  const transport =
    peer === 'memory'
      ? server.transport()
      : (await import('capstan/client-node')).httpTransport(server.url);
  return { transport, stop: () => server.stop() };
}

async function real(): Promise<Server> {
  const { ControlPlane } = await import('../../test/helpers/control-plane/control-plane.ts');
  const { readKubeConfig } = await import('../../test/e2e/same-answers/servers.ts');
  const { kubeConfigTransport } = await import('capstan/client-node');
  loaded = performance.now();
  const plane = await ControlPlane.start();
  const transport = kubeConfigTransport(await readKubeConfig(plane));
  return { transport, stop: () => plane.stop() };
}

/** Reads the answer to a write, which must be 200 or 201. */
async function call(method: string, path: string, body?: object): Promise<Uint8Array[]> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const answer = await server.transport.request({
    method,
    path,
    headers: { 'content-type': type, accept: 'application/json' },
    body: body && JSON.stringify(body),
  });
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.body) chunks.push(chunk);
  if (answer.status > 201)
    throw new Error(`${method} ${path}: ${answer.status} ${Buffer.concat(chunks)}`);
  return chunks;
}

/** Makes `count` calls by several workers. Returns the calls a second. */
async function rate(count: number, each: (index: number) => Promise<unknown>): Promise<number> {
  const start = performance.now();
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) await each(next++);
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
  return (count / (performance.now() - start)) * 1000;
}

/** As `rate`, with watchers; it ends when all of them have read all events. */
async function watched(
  path: string,
  count: number,
  each: (index: number) => Promise<unknown>,
): Promise<number> {
  const { resourceVersion } = JSON.parse(String(Buffer.concat(await call('GET', path)))).metadata;
  const stop = new AbortController();
  const readers = Array.from({ length: watchers }, async () => {
    const { body } = await server.transport.request({
      method: 'GET',
      path,
      query: { watch: 'true', resourceVersion },
      signal: stop.signal,
    });
    let events = 0;
    for await (const chunk of body) {
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) events++;
      if (events === count) return;
    }
    throw new Error(`${path}: a watch ended after ${events} of ${count} events`);
  });
  const started = performance.now();
  await Promise.all([rate(count, each), ...readers]);
  const took = performance.now() - started;
  stop.abort();
  return (count / took) * 1000;
}

async function timed(action: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await action();
  return performance.now() - start;
}

const collect = globalThis.gc;
if (collect === undefined) throw new Error('expected node --expose-gc');
const begun = performance.now();
let loaded = begun;
const server = await (peer === 'kube-apiserver' ? real() : embedded());
const started = performance.now();
const answer = await timed(() => call('GET', '/version'));
const create = await watched(CONFIG_MAPS, writes, (i) =>
  call('POST', CONFIG_MAPS, configMap(`w${i}`)),
);
const patch = await watched(CONFIG_MAPS, writes, (i) =>
  call('PATCH', `${CONFIG_MAPS}/w${i}`, { data: { b: 'y' } }),
);
const deployments = await watched(DEPLOYMENTS, writes, (i) =>
  call('POST', DEPLOYMENTS, deployment(`d${i}`)),
);
const figures: ServerFigures = {
  peer,
  load: loaded - begun,
  start: started - loaded,
  answer,
  create,
  patch,
  deployment: deployments,
};
if (peer !== 'kube-apiserver') {
  collect();
  const before = process.memoryUsage().heapUsed;
  await rate(live, (i) => call('POST', CONFIG_MAPS, configMap(`m${i}`)));
  collect();
  figures.bytes = (process.memoryUsage().heapUsed - before) / live;
  figures.list = await timed(() => call('GET', CONFIG_MAPS));
  figures.page = await timed(() => call('GET', `${CONFIG_MAPS}?limit=500`));
}
console.log(JSON.stringify(figures));
await server.transport.close?.();
await server.stop();
process.exit(0);
