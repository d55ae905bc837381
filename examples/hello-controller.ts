/** The smallest whole controller: it greets every ConfigMap. Run it with `node examples/hello-controller.ts` after a build. */
import { defineResource, type KubeObject } from 'capstan/cache';
import { createController } from 'capstan/controller';
import { ApiServer } from 'capstan/testing';

const ConfigMap = defineResource<KubeObject & { data?: Record<string, string> }>()({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
});

const server = await ApiServer.start(); // on a cluster: kubeConfigTransport(config) of capstan/client-node
const url = `${server.url}/api/v1/namespaces/default/configmaps`;
const send = (method: string, path: string, type: string, body: object) =>
  fetch(path, { method, headers: { 'content-type': type }, body: JSON.stringify(body) });

const controller = createController({
  transport: server.transport(),
  for: ConfigMap,
  maxConcurrentReconciles: 4,
  async reconcile(request, { get }) {
    const configMap = get(request); // from the cache; undefined: it was deleted
    if (configMap === undefined || configMap.data?.greeting === 'hello') return;
    const patch = { data: { greeting: 'hello' } };
    const answer = await send('PATCH', `${url}/${request.name}`, 'application/merge-patch+json', patch);
    if (!answer.ok) throw new Error(await answer.text()); // comes again after 5 ms, 10 ms, 20 ms …
    console.log(`greeted ${request.namespace}/${request.name}`);
    if (request.name === 'last') void controller.stop(); // a real one runs until its process ends
  },
});

for (const name of ['first', 'last']) await send('POST', url, 'application/json', { metadata: { name } });
await controller.run();
await server.stop();
