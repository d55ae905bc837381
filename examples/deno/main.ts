/**
 * A controller in Deno: it greets the ConfigMaps that ask for it by a label (`kubectl label
 * configmap NAME greet=world`), writes to no other, and may talk to one address and to nothing
 * else. `kubectl proxy` and `deno task start`, or any server: `deno run --allow-net=HOST:PORT
 * main.ts http://HOST:PORT`. Ctrl-C ends it in order.
 */
import { fetchTransport } from 'capstan/cache';
import { newClient } from 'capstan/client';
import { createController, labelSelectorPredicate } from 'capstan/controller';
import { ConfigMap } from 'capstan/kinds';

const [server = 'http://127.0.0.1:8001'] = Deno.args;
const transport = fetchTransport(server);
const client = newClient({ transport, fieldOwner: 'hello-controller' });

const controller = createController({
  transport,
  for: ConfigMap,
  predicates: [labelSelectorPredicate('greet')],
  maxConcurrentReconciles: 4,
  logger: console,
  async reconcile(request, { get, signal }) {
    const configMap = get(request); // from the cache; undefined: it was deleted
    const name = configMap?.metadata.labels?.greet;
    const greeting = `Hello, ${name}!`;
    if (name === undefined || configMap?.data?.greeting === greeting) return;
    const body = { data: { greeting } };
    // what it throws comes again after 5 ms, 10 ms …
    await client.patch(ConfigMap, request, { type: 'merge', body }, { signal });
    console.log(`greeted ${request.namespace}/${request.name}`);
  },
});

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  Deno.addSignalListener(signal, () => void controller.stop());
await controller.run();
Deno.exit(0); // signal listeners keep a process alive
