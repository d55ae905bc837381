/**
 * The program: a provisioner of directories for a cluster, with leader election among any number of
 * replicas; or, without a cluster, a demonstration on the embedded API server. A process that loses
 * the lease exits with an error, and its supervisor restarts it.
 */
import type { Transport } from 'capstan/cache';
import { httpTransport, kubeConfigTransport } from 'capstan/client-node';
import { newManager, setupSignalHandler } from 'capstan/manager';
import { demonstrate } from './demonstration.ts';
import { type ProgramOptions, parseOptions, USAGE, UsageError } from './options.ts';
import { Provisioner } from './provisioner.ts';

try {
  const options = parseOptions(process.argv.slice(2));
  if (options === undefined) console.log(USAGE);
  else if (options.target === undefined) await demonstrate();
  else await provision(await connect(options.target), options);
} catch (error) {
  if (error instanceof UsageError) console.error(`${error.message}\n\n${USAGE}`);
  else console.error(error);
  // exit although work may still run: this process no longer leads
  process.exit(error instanceof UsageError ? 2 : 1);
}

async function provision(transport: Transport, options: ProgramOptions): Promise<void> {
  const { namespace, root, workers, healthProbe, metrics } = options;
  const manager = newManager({
    transport,
    client: { fieldOwner: 'capstan-provisioner' },
    leaderElection: { id: 'capstan-provisioner', namespace, releaseOnCancel: true },
    healthProbe: { bindAddress: healthProbe },
    metrics: { bindAddress: metrics },
    logger: { debug: () => undefined, info: console.log, warn: console.warn, error: console.error },
  });
  manager.add(new Provisioner(manager, { root, workers }));
  await manager.start({ signal: setupSignalHandler() });
  await transport.close?.();
}

async function connect(target: NonNullable<ProgramOptions['target']>): Promise<Transport> {
  if (typeof target === 'object' && 'server' in target) return httpTransport(target.server);
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  if (target === 'in-cluster') config.loadFromCluster();
  else config.loadFromFile(target.kubeconfig);
  return kubeConfigTransport(config);
}
