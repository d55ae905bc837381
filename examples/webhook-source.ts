/**
 * Events from outside of the cluster: a build system posts the images that it has built to a
 * webhook. A channel passes the events to a controller, which sets the new image on every Site that
 * uses it. Run it with `node examples/webhook-source.ts` after a build.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { defineResource, newSharedInformerFactory, waitForCacheSync } from 'capstan/cache';
import {
  channelSource,
  createController,
  EventChannel,
  enqueueRequestForObject,
  enqueueRequestsFromMapFunc,
  generationChangedPredicate,
  kindSource,
} from 'capstan/controller';
import { ApiServer } from 'capstan/testing';

interface Site {
  apiVersion?: string;
  kind?: string;
  metadata: { name: string; namespace?: string };
  spec: { image: string };
  status?: { digest?: string };
}

interface Push {
  image: string;
  digest: string;
}

const Sites = defineResource<Site>()({
  group: 'demo.capstan.dev',
  version: 'v1',
  kind: 'Site',
  plural: 'sites',
  namespaced: true,
  indexers: { byImage: 'spec.image' },
});

// on a cluster: kubeConfigTransport(config) of capstan/client-node
const api = await ApiServer.start();
const path = `${api.url}/apis/demo.capstan.dev/v1/namespaces/default/sites`;
const send = async (method: string, url: string, type: string, body: object): Promise<number> => {
  const answer = await fetch(url, {
    method,
    headers: { 'content-type': type },
    body: JSON.stringify(body),
  });
  await answer.text();
  return answer.status;
};
const transport = api.transport();
const cache = newSharedInformerFactory(transport);
const informer = cache.informerFor(Sites);
const sites = informer.getIndexer();

/**
 * The newest image by name. An event says only that something changed; the reconcile reads the
 * image here.
 */
const newest = new Map<string, string>();
/** The number of events that may wait. A push beyond it is rejected and may be sent again. */
const pushes = new EventChannel<Push>({ capacity: 100 });

/** The push in a request body; `undefined` if it is not one. */
function pushOf(text: string): Push | undefined {
  try {
    const { image, digest } = JSON.parse(text) as Record<string, unknown>;
    return typeof image === 'string' && typeof digest === 'string' ? { image, digest } : undefined;
  } catch {
    return undefined;
  }
}

/** The longest push, in characters. */
const MOST = 4096;

const webhook = createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8'); // a character may span two chunks
  request.on('data', (chunk: string) => {
    text += chunk;
    if (text.length > MOST) request.destroy();
  });
  request.on('end', () => {
    const push = pushOf(text);
    if (push !== undefined) newest.set(push.image, push.digest);
    response.writeHead(push === undefined ? 400 : pushes.trySend(push) ? 202 : 503).end();
  });
});
await new Promise<void>((resolve) => webhook.listen(0, '127.0.0.1', resolve));
const hook = `http://127.0.0.1:${(webhook.address() as AddressInfo).port}`;

const left = new Set(['blog sha256:1', 'news sha256:1', 'shop sha256:2']);
const controller = createController({
  transport,
  name: 'site',
  sources: [
    kindSource({
      cache,
      resource: Sites,
      handler: enqueueRequestForObject(),
      predicates: [generationChangedPredicate()],
    }),
    channelSource({
      name: 'webhook',
      events: pushes,
      handler: enqueueRequestsFromMapFunc(({ image }: Push) =>
        sites
          .byIndex('byImage', image)
          .map(({ metadata: { namespace = '', name } }) => ({ namespace, name })),
      ),
    }),
  ],
  async reconcile({ namespace, name }, { causes }) {
    const site = sites.getByKey(`${namespace}/${name}`);
    const digest = newest.get(site?.spec.image ?? '');
    if (digest === undefined || site?.status?.digest === digest) return;
    const status = await send('PATCH', `${path}/${name}/status`, 'application/merge-patch+json', {
      status: { digest },
    });
    // the request is retried after 5 ms, 10 ms …
    if (status !== 200) throw new Error(`the status of ${name} was refused with ${status}`);
    console.log(
      `${name} runs ${digest}, because of ${causes.map(({ source }) => source).join(', ')}`,
    );
    left.delete(`${name} ${digest}`);
    if (left.size === 0) void controller.stop(); // a real controller runs until its process ends
  },
});

for (const [name, image] of Object.entries({ blog: 'press', news: 'press', shop: 'cart' }))
  await send('POST', path, 'application/json', {
    apiVersion: 'demo.capstan.dev/v1',
    kind: 'Site',
    metadata: { name },
    spec: { image },
  });
const running = controller.run();
await waitForCacheSync({}, informer);
for (const [image, digest] of Object.entries({
  press: 'sha256:1',
  cart: 'sha256:2',
  unused: 'sha256:3',
}))
  console.log(
    `pushed ${image}: ${await send('POST', hook, 'application/json', { image, digest })}`,
  );
console.log(`pushed nonsense: ${await send('POST', hook, 'application/json', { tag: 'latest' })}`);
await running;
pushes.close();
webhook.close();
await cache.shutdown();
await api.stop();
