/**
 * The program. It runs until SIGTERM or SIGINT, in a cluster or with the kubeconfig of the user who
 * starts it (see --help), and logs JSON lines to stdout.
 */
import { KubeConfig } from '@kubernetes/client-node';
import { connectCluster, mainFlags } from 'capstan/client-node';
import { pinoLogger } from 'capstan/controller';
import { newManager, setupSignalHandler } from 'capstan/manager';
import { pino, stdSerializers, stdTimeFunctions } from 'pino';
import * as controllers from './controllers.ts';

const {
  HEALTH_ADDRESS = ':8081',
  METRICS_ADDRESS = ':8080',
  DEBUG_ADDRESS = '127.0.0.1:8082',
  LOG_LEVEL = 'info',
} = process.env;

const log = pino({
  level: LOG_LEVEL,
  timestamp: stdTimeFunctions.isoTime,
  serializers: { err: stdSerializers.errWithCause }, // with its code and its causes
});

try {
  const flags = mainFlags({ summary: 'greeting-controller' });
  if (flags.help !== undefined) {
    process.stdout.write(flags.help);
    process.exit(0);
  }
  const { transport, namespace } = connectCluster(KubeConfig, flags.cluster);
  const manager = newManager({
    transport,
    client: { fieldOwner: 'greeting-controller' },
    logger: pinoLogger(log),
    leaderElection: { id: 'greeting-controller', namespace, releaseOnCancel: true },
    healthProbe: { bindAddress: HEALTH_ADDRESS },
    metrics: { bindAddress: METRICS_ADDRESS },
    // To see why an object is not reconciled: kubectl port-forward, then open
    // http://localhost:8082/debug/capstan.
    debugPage: { bindAddress: DEBUG_ADDRESS },
  });
  for (const { setupWithManager } of Object.values(controllers)) setupWithManager(manager);
  await manager.start({ signal: setupSignalHandler() });
  process.exit(0);
} catch (err) {
  log.fatal({ err }, 'the program has failed');
  process.exit(1); // stop all work: another process may lead now
}
