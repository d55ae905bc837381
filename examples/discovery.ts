/**
 * Compares three ways of service discovery: list once at the start, list periodically, or watch.
 * Endpoints of services change on an API server. The transport of each way counts requests and
 * bytes, and the time until each way sees a change is measured. Run it with `node
 * examples/discovery.ts` after a build.
 */
import {
  defineResource,
  type KubeObject,
  ListWatch,
  SharedIndexInformer,
  type Transport,
  waitForCacheSync,
} from 'capstan/cache';
import { ApiServer } from 'capstan/testing';

const SERVICES = 40;
const CHANGES = 60;
const CHANGE_EVERY_MS = 25;
const POLL_EVERY_MS = 250;

type Slice = KubeObject & { endpoints: { addresses: string[] }[] };

const EndpointSlice = defineResource<Slice>()({
  group: 'discovery.k8s.io',
  version: 'v1',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  namespaced: true,
});
const PATH = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';

/** A transport that counts requests and bytes of answers. */
class Counting implements Transport {
  requests = 0;
  bytes = 0;
  readonly #inner = server.transport();

  async request(request: Parameters<Transport['request']>[0]) {
    this.requests++;
    const { body, ...answer } = await this.#inner.request(request);
    return { ...answer, body: this.#count(body) };
  }

  async *#count(body: AsyncIterable<Uint8Array>) {
    for await (const chunk of body) {
      this.bytes += chunk.length;
      yield chunk;
    }
  }

  close = () => this.#inner.close?.() ?? Promise.resolve();
}

/**
 * The state of one way: the resourceVersion of each EndpointSlice that it has seen, and the delay
 * of each change.
 */
class Resolver {
  readonly transport = new Counting();
  readonly stale: number[] = [];
  readonly #versions = new Map<string, number>();

  learn(slices: Iterable<KubeObject>): void {
    for (const { metadata } of slices)
      this.#versions.set(metadata?.name ?? '', Number(metadata?.resourceVersion));
    for (const change of pending.filter(({ waiting }) => waiting.has(this))) {
      if ((this.#versions.get(change.name) ?? 0) < change.version) continue;
      change.waiting.delete(this);
      this.stale.push(performance.now() - change.at);
    }
  }

  async list(): Promise<void> {
    const { body } = await this.transport.request({ method: 'GET', path: PATH });
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    this.learn((JSON.parse(Buffer.concat(chunks).toString()) as { items: Slice[] }).items);
  }
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
// on a cluster: kubeConfigTransport(config) of capstan/client-node
const server = await ApiServer.start();
const pending: { name: string; version: number; at: number; waiting: Set<Resolver> }[] = [];
const ways = { 'list once': new Resolver(), 'list again': new Resolver(), watch: new Resolver() };

async function write(method: 'POST' | 'PATCH', service: number, address: string): Promise<void> {
  const name = `service-${service}`;
  const body = JSON.stringify({
    metadata: { name },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address] }],
  });
  const type = method === 'POST' ? 'application/json' : 'application/merge-patch+json';
  const url = server.url + (method === 'POST' ? PATH : `${PATH}/${name}`);
  const change = { name, at: performance.now(), waiting: new Set(Object.values(ways)) };
  const answer = await fetch(url, { method, body, headers: { 'content-type': type } });
  if (!answer.ok) throw new Error(await answer.text());
  if (method === 'POST') return;
  pending.push({
    ...change,
    version: Number(((await answer.json()) as Slice).metadata?.resourceVersion),
  });
  // the watch event may have arrived before this answer
  for (const way of Object.values(ways)) way.learn([]);
}

const informer = new SharedIndexInformer(
  new ListWatch(ways.watch.transport, EndpointSlice, { namespace: 'default' }),
);
informer.addEventHandler({
  onAdd: (slice) => ways.watch.learn([slice]),
  onUpdate: (_, slice) => ways.watch.learn([slice]),
});
for (let i = 0; i < SERVICES; i++) await write('POST', i, `10.0.0.${i}`);
await Promise.all([ways['list once'].list(), ways['list again'].list()]);
const running = informer.run();
await waitForCacheSync({}, informer);
const polling = setInterval(() => void ways['list again'].list(), POLL_EVERY_MS);

for (let i = 0; i < CHANGES; i++) {
  await write('PATCH', i % SERVICES, `10.0.1.${i}`);
  await sleep(CHANGE_EVERY_MS);
}
clearInterval(polling);
await ways['list again'].list();
while (pending.some(({ waiting }) => waiting.has(ways.watch))) await sleep(1);

console.log(
  `${SERVICES} services, ${CHANGES} changes ${CHANGE_EVERY_MS} ` +
    `ms apart, lists ${POLL_EVERY_MS} ms apart`,
);
for (const [name, { transport, stale }] of Object.entries(ways)) {
  const mean = stale.length === 0 ? 0 : stale.reduce((sum, ms) => sum + ms, 0) / stale.length;
  const age = `stale ${mean.toFixed(1)} ms on average, ${Math.max(0, ...stale).toFixed(1)} at most`;
  const known = stale.length < CHANGES ? `${CHANGES - stale.length} changes never seen` : age;
  console.log(`${name}: ${transport.requests} requests, ${transport.bytes} bytes, ${known}`);
}
await informer.stop();
await running;
for (const { transport } of Object.values(ways)) await transport.close();
await server.stop();
