/**
 * The program. It runs until SIGTERM or SIGINT, in a cluster or with the kubeconfig of the user who
 * starts it.
 */
import { KubeConfig } from '@kubernetes/client-node';
import { kubeConfigTransport } from 'capstan/client-node';
import { newManager, setupSignalHandler } from 'capstan/manager';
import { setupWithManager } from './reconcile.ts';

const {
  POD_NAMESPACE = 'default',
  HEALTH_ADDRESS = ':8081',
  METRICS_ADDRESS = ':8080',
} = process.env;
const { DEBUG_ADDRESS = '127.0.0.1:8082' } = process.env;

const config = new KubeConfig();
config.loadFromDefault();

const manager = newManager({
  transport: kubeConfigTransport(config),
  client: { fieldOwner: 'greeting-controller' },
  logger: { ...console, debug: () => undefined },
  leaderElection: { id: 'greeting-controller', namespace: POD_NAMESPACE, releaseOnCancel: true },
  healthProbe: { bindAddress: HEALTH_ADDRESS },
  metrics: { bindAddress: METRICS_ADDRESS },
  // To see why an object is not reconciled: kubectl port-forward, then open
  // http://localhost:8082/debug/capstan.
  debugPage: { bindAddress: DEBUG_ADDRESS },
});
setupWithManager(manager);

try {
  await manager.start({ signal: setupSignalHandler() });
  process.exit(0);
} catch (error) {
  console.error(error);
  process.exit(1); // stop all work: another process may lead now
}
