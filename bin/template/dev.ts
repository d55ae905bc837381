/**
 * Runs the controller without a cluster, on an API server in this process with the definition and
 * one object. `npm run dev` restarts it after each change.
 */
import { installCRDs, newClient } from 'capstan/client';
import { newManager, setupSignalHandler } from 'capstan/manager';
import { ApiServer } from 'capstan/testing';
import { Greeting } from './src/greeting.ts';
import { setupWithManager } from './src/reconcile.ts';

const server = await ApiServer.start();
const transport = server.transport();
const fieldOwner = 'greeting-controller';
const user = newClient({ transport, fieldOwner: 'dev' });
await installCRDs(user, [Greeting.crd]);
await user.create(
  Greeting.resource,
  await Greeting.parse({
    metadata: { name: 'hello', namespace: 'default' },
    spec: { message: 'Hello, world' },
  }),
);

const manager = newManager({
  transport,
  client: { fieldOwner },
  logger: { ...console, debug: () => undefined },
  metrics: { bindAddress: '127.0.0.1:0' }, // also serves the live page
});
setupWithManager(manager);
void manager.serving().then(() => {
  console.log(`live page   ${manager.url('metrics')}/debug/capstan`);
  console.log(`API server  kubectl --server ${server.url} get greetings,configmaps`);
});
await manager.start({ signal: setupSignalHandler() });
await server.stop();
