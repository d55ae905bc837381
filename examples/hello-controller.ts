/** A controller in thirty lines: every ConfigMap that is labelled `greet` gets a greeting. Run: node examples/hello-controller.ts */
import { defineResource } from 'capstan/cache';
import { createController } from 'capstan/controller';
import { ApiServer } from 'capstan/testing';

interface Greeting {
  metadata: { name: string; namespace: string; labels?: Record<string, string> };
  data?: Record<string, string>;
}
const ConfigMap = defineResource<Greeting>()({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
});

const server = await ApiServer.start(); // for a cluster: kubeConfigTransport(config) of capstan/client-node
const transport = server.transport();
const url = '/api/v1/namespaces/default/configmaps';
const send = (method: string, path: string, type: string, body: object) =>
  transport.request({ method, path, headers: { 'content-type': type }, body: JSON.stringify(body) });

const done = new AbortController();
const controller = createController({
  transport,
  for: ConfigMap,
  async reconcile({ name }, { get, attempt }) {
    const map = get({ namespace: 'default', name });
    const wanted = map?.metadata.labels?.greet;
    if (wanted === undefined || map?.data?.greeting === `Hello, ${wanted}!`) return;
    const patch = { data: { greeting: `Hello, ${wanted}!` } };
    const answer = await send('PATCH', `${url}/${name}`, 'application/merge-patch+json', patch);
    console.log(`${name}: Hello, ${wanted}! (attempt ${attempt}, status ${answer.status})`);
    if (answer.status !== 200) throw new Error(`status ${answer.status}`); // comes again, after a growing delay
    done.abort(); // this example ends; a controller runs until its process does
  },
});

await send('POST', url, 'application/json', { metadata: { name: 'first', labels: { greet: 'world' } } });
await controller.run({ signal: done.signal });
await transport.close?.();
await server.stop();
