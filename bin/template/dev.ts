/**
 * Runs the controllers without a cluster, on an API server in this process that has their
 * definitions and the objects of deploy/samples/. `npm run dev` restarts it after each change.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { loadAllYaml } from '@kubernetes/client-node';
import { Discovery, installCRDs, newClient } from 'capstan/client';
import { newManager, setupSignalHandler } from 'capstan/manager';
import { ApiServer } from 'capstan/testing';
import * as controllers from './src/controllers.ts';

const { API_PORT = '8001', METRICS_PORT = '8080' } = process.env;
const all = Object.values(controllers);

const server = await ApiServer.start({ port: Number(API_PORT) });
const transport = server.transport();
const user = newClient({ transport, fieldOwner: 'dev' });
await installCRDs(
  user,
  all.map(({ crd }) => crd),
);
const samples = new URL('deploy/samples/', import.meta.url);
const discovery = new Discovery(transport);
for (const file of readdirSync(samples)) {
  for (const object of loadAllYaml(readFileSync(new URL(file, samples), 'utf8'))) {
    const [version = '', group = ''] = object.apiVersion.split('/').reverse();
    await user.apply(await discovery.resourceFor({ group, version, kind: object.kind }), object);
  }
}

const manager = newManager({
  transport,
  client: { fieldOwner: 'greeting-controller' },
  logger: console,
  metrics: { bindAddress: `127.0.0.1:${METRICS_PORT}` }, // also serves the live page
});
for (const { setupWithManager } of all) setupWithManager(manager);
void manager.serving().then(() => {
  console.log(`live page   ${manager.url('metrics')}/debug/capstan`);
  console.log(`API server  kubectl --server ${server.url} get greetings,configmaps`);
});
await manager.start({ signal: setupSignalHandler() });
await server.stop();
