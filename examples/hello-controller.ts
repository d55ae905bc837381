/**
 * The smallest complete controller: it greets the ConfigMaps with a label `greet`. Run it with
 * `node examples/hello-controller.ts` after a build.
 */
import { newClient } from 'capstan/client';
import { createController, labelSelectorPredicate } from 'capstan/controller';
import { ConfigMap } from 'capstan/kinds';
import { ApiServer } from 'capstan/testing';

const server = await ApiServer.start();
// on a cluster: kubeConfigTransport(config) of capstan/client-node
const transport = server.transport();
const client = newClient({ transport });

const controller = createController({
  transport,
  for: ConfigMap,
  predicates: [labelSelectorPredicate('greet')],
  maxConcurrentReconciles: 4,
  async reconcile(request, { get, signal }) {
    const configMap = get(request); // from the cache; undefined if it was deleted
    const name = configMap?.metadata.labels?.greet;
    const greeting = `Hello, ${name}!`;
    if (name === undefined || configMap?.data?.greeting === greeting) return;
    const body = { data: { greeting } };
    // after an error the request is retried after 5 ms, 10 ms …
    await client.patch(ConfigMap, request, { type: 'merge', body }, { signal });
    console.log(`greeted ${request.namespace}/${request.name}`);
    // a real controller runs until its process ends
    if (request.name === 'last') void controller.stop();
  },
});

for (const [namespace, name] of [
  ['default', 'first'],
  ['team-a', 'last'],
] as const)
  await client.create(ConfigMap, { metadata: { namespace, name, labels: { greet: 'world' } } });
await controller.run();
await server.stop();
