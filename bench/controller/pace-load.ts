/**
 * One reader of pace-server.ts, in a process of its own, as a JSON line:
 *
 *     node bench/controller/pace-load.ts URL READER KIND WIRE OBJECTS EVENTS
 *
 * `null-reader` counts lines, also over HTTP/2 (client-node has HTTP/1.1 only); `informer` and
 * `client-node` have a handler that reads the version of each object; `controller` is ours, and
 * `client-node-queue` is a controller made of client-node's informer and the queue of
 * ../peers/naive-ts. Both read name and version of the object from the cache in each reconcile.
 */
import { get as httpGet } from 'node:http';
import { connect } from 'node:http2';
import { get as httpsGet } from 'node:https';
import type { Readable } from 'node:stream';
import type { KubeObject } from 'capstan/cache';
import { PACE_READERS, type PaceKind, type PaceReader, PaceRun, pluralOf } from './pace-objects.ts';

const [url = '', name = '', kind = 'ConfigMap', wire = 'http', ...counts] = process.argv.slice(2);
const [objects = 0, events = 0] = counts.map(Number);
const plural = pluralOf(kind as PaceKind);
const tls = url.startsWith('https:') ? { rejectUnauthorized: false } : undefined;
const run = new PaceRun(name as PaceReader, objects, events);

async function ours() {
  const { defineResource } = await import('capstan/cache');
  const { httpTransport } = await import('capstan/client-node');
  const resource = defineResource<KubeObject>()({
    group: '',
    version: 'v1',
    kind,
    plural,
    namespaced: true,
  });
  return { resource, transport: httpTransport(url, { tls }) };
}

async function peers() {
  const { CoreV1Api, KubeConfig, makeInformer } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: [{ name: 'c', server: url, skipTLSVerify: true }],
    users: [{ name: 'u' }],
    contexts: [{ name: 'x', cluster: 'c', user: 'u' }],
    currentContext: 'x',
  });
  const core = config.makeApiClient(CoreV1Api);
  return makeInformer<KubeObject>(config, `/api/v1/${plural}`, () =>
    kind === 'Pod' ? core.listPodForAllNamespaces() : core.listConfigMapForAllNamespaces(),
  );
}

const readers: Record<PaceReader, () => Promise<void>> = {
  async 'null-reader'() {
    run.begin();
    const get = tls === undefined ? httpGet : httpsGet;
    const session = wire === 'http2' ? connect(url, { ...tls }) : undefined;
    const open = (path: string, use: (body: Readable) => void): unknown =>
      session === undefined
        ? get(`${url}${path}`, { ...tls }, use)
        : use(session.request({ ':path': path }));
    const read = (query: string, onLines: (count: number) => void): Promise<void> =>
      new Promise((resolve) => {
        open(`/api/v1/${plural}${query}`, (body) => {
          body.on('data', (chunk: Buffer) => {
            let lines = 0;
            for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++;
            onLines(lines);
          });
          body.on('end', resolve);
        });
      });
    await read('', () => undefined);
    let seen = 0;
    await read('?watch=true', (lines) => {
      if (lines > 0) run.started();
      seen += lines;
      if (seen === events) run.end(seen);
    });
  },

  async informer() {
    const { ListWatch, SharedIndexInformer } = await import('capstan/cache');
    const { resource, transport } = await ours();
    const informer = new SharedIndexInformer(new ListWatch(transport, resource), {
      watchList: false,
    });
    informer.addEventHandler({ onUpdate: (_, now) => run.saw(now.metadata?.resourceVersion) });
    run.begin();
    await informer.run();
  },

  async controller() {
    const { newControllerManagedBy } = await import('capstan/controller');
    const { newManager } = await import('capstan/manager');
    const { resource, transport } = await ours();
    const manager = newManager({ transport, cache: { watchList: false } });
    newControllerManagedBy(manager)
      .for(resource)
      .complete((request, { get }) => {
        const object = get(request);
        if (object === undefined) throw new Error('an object is not in the cache');
        if (object.metadata?.name !== request.name)
          throw new Error('the object of another request');
        run.saw(object.metadata.resourceVersion);
      });
    run.begin();
    await manager.start();
  },

  async 'client-node'() {
    const informer = await peers();
    informer.on('update', (object) => run.saw(object.metadata?.resourceVersion));
    informer.on('error', fail);
    run.begin();
    await informer.start();
  },

  async 'client-node-queue'() {
    const { NaiveDelayingQueue, NaiveLimiter } = await import('../peers/naive-ts/naive.mjs');
    const informer = await peers();
    interface Request {
      namespace: string;
      name: string;
    }
    const keyOf = ({ namespace, name }: Request): string => `${namespace}/${name}`;
    const queue = new NaiveDelayingQueue(keyOf);
    const limiter = new NaiveLimiter(5, 1_000_000);
    let wake = (): void => undefined;
    const enqueue = ({ metadata }: KubeObject): void => {
      queue.add({ namespace: metadata?.namespace ?? '', name: metadata?.name ?? '' });
      wake();
    };
    const reconcile = async ({ namespace, name }: Request): Promise<void> => {
      const object = informer.get(name, namespace);
      if (object === undefined) throw new Error('an object is not in the cache');
      if (object.metadata?.name !== name) throw new Error('the object of another request');
      run.saw(object.metadata.resourceVersion);
    };
    const work = async (): Promise<void> => {
      for (;;) {
        const request = queue.tryGet();
        if (request === undefined) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
          continue;
        }
        try {
          await reconcile(request);
          limiter.forget(keyOf(request));
        } catch (error) {
          fail(error);
        } finally {
          queue.done(request);
        }
      }
    };
    informer.on('add', enqueue);
    informer.on('update', enqueue);
    informer.on('delete', enqueue);
    informer.on('error', fail);
    run.begin();
    await informer.start();
    await work();
  },
};

function fail(error: unknown): void {
  console.error(error);
  process.exit(1);
}

if (!PACE_READERS.includes(name as PaceReader)) throw new Error(`no reader ${name}`);
await readers[name as PaceReader]();
