/**
 * Chapter 9: the program for a cluster. It runs until SIGTERM or SIGINT, in a Pod or with the
 * kubeconfig of the user who starts it: `node examples/tutorial/09-deploy/main.ts` after a build.
 */
import { KubeConfig } from '@kubernetes/client-node';
import { kubeConfigTransport } from 'capstan/client-node';
import { newManager, setupSignalHandler } from 'capstan/manager';
import { addScheduledJobController } from './controller.ts';

const {
  POD_NAMESPACE = 'default',
  HEALTH_ADDRESS = ':8081',
  METRICS_ADDRESS = ':8080',
  DEBUG_ADDRESS = '127.0.0.1:8082',
} = process.env;

const config = new KubeConfig();
config.loadFromDefault();

const manager = newManager({
  transport: kubeConfigTransport(config),
  client: { fieldOwner: 'scheduled-job' },
  logger: console,
  leaderElection: { id: 'scheduled-job', namespace: POD_NAMESPACE, releaseOnCancel: true },
  healthProbe: { bindAddress: HEALTH_ADDRESS },
  metrics: { bindAddress: METRICS_ADDRESS },
  debugPage: { bindAddress: DEBUG_ADDRESS },
});
addScheduledJobController(manager);

try {
  await manager.start({ signal: setupSignalHandler() });
  process.exit(0);
} catch (error) {
  console.error(error);
  // Another process may lead now: all work must end.
  process.exit(1);
}
