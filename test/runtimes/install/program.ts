/**
 * What a new user's project has: a queue, a cache and a controller on the embedded server. Compiled
 * and run by main.ts in empty folders that have installed the packed package.
 */
import type { V1ConfigMap } from '@kubernetes/client-node';
import { CapstanError } from 'capstan';
import { Indexer, metaNamespaceKeyFunc, type Resource } from 'capstan/cache';
import { mergeFrom, newClient } from 'capstan/client';
import { httpTransport } from 'capstan/client-node';
import { newControllerManagedBy } from 'capstan/controller';
import { ConfigMap } from 'capstan/kinds';
import { LeaseLock } from 'capstan/leaderelection';
import { newManager } from 'capstan/manager';
import { ApiServer, FakeClock } from 'capstan/testing';
import { WorkQueue } from 'capstan/workqueue';

const said: string[] = [];

const queue = new WorkQueue<string>();
for (const key of ['web', 'db', 'web']) queue.add(key);
said.push(`queue ${queue.len()}`);

const indexer = new Indexer<V1ConfigMap>(metaNamespaceKeyFunc);
indexer.add({ metadata: { namespace: 'default', name: 'web' } });
said.push(`cache ${indexer.listKeys()}`);

try {
  Reflect.construct(WorkQueue, [{ nmae: 'a misspelt option' }]);
} catch (error) {
  said.push(`error ${error instanceof CapstanError && error.code}`);
}
said.push(`clock ${new FakeClock(5).now()}, lease ${typeof LeaseLock}`);

const server = await ApiServer.start();
const transport = httpTransport(server.url);
const kind: Resource<V1ConfigMap> = ConfigMap;
const manager = newManager({ transport });
const end = new AbortController();
newControllerManagedBy(manager)
  .for(kind)
  .complete(async (request, { get, signal }) => {
    const map = get(request);
    if (map === undefined || map.data?.greeting !== undefined) return;
    const greeted = { ...map, data: { ...map.data, greeting: 'Hello!' } };
    await manager.client.patch(kind, request, mergeFrom(map).to(greeted), { signal });
    end.abort();
  });
const client = newClient({ transport });
await client.create(kind, { metadata: { namespace: 'default', name: 'first' } });
await manager.start({ signal: end.signal });
const first = await client.get(kind, { namespace: 'default', name: 'first' });
said.push(`controller ${first.data?.greeting}`);
await transport.close?.();
await server.stop();
console.log(said.join(', '));
