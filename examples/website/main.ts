/**
 * The Website controller as a program for a cluster: `node examples/website/main.ts [kubeconfig]`
 * after a build; without an argument it uses the default kubeconfig. It installs its
 * CustomResourceDefinition, takes part in leader election, and serves probes, metrics and the live
 * page (http://127.0.0.1:8080/debug/capstan) until SIGTERM or SIGINT. Without a cluster, `npm run
 * demo` runs the same controller.
 */
import { KubeConfig } from '@kubernetes/client-node';
import { installCRDs, newClient } from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import { newManager, setupSignalHandler } from 'capstan/manager';
import { addWebsiteController } from './controller.ts';
import { websiteCRD } from './resources.ts';

const config = new KubeConfig();
const [file] = process.argv.slice(2);
if (file === undefined) config.loadFromDefault();
else config.loadFromFile(file);
const transport = kubeConfigTransport(config);
const signal = setupSignalHandler();

try {
  await installCRDs(newClient({ transport }), [websiteCRD], { signal, timeout: 60_000 });
  const manager = newManager({
    transport,
    leaderElection: { id: 'website-controller', namespace: 'default', releaseOnCancel: true },
    healthProbe: { bindAddress: process.env.HEALTH_ADDRESS ?? '127.0.0.1:8081' },
    metrics: { bindAddress: process.env.METRICS_ADDRESS ?? '127.0.0.1:8080' },
    logger: { debug: () => undefined, info: console.log, warn: console.warn, error: console.error },
  });
  addWebsiteController(manager);
  await manager.start({ signal });
  await transport.close?.();
} catch (error) {
  console.error(error);
  // exit although work may still run: this process no longer leads; its supervisor restarts it
  process.exit(1);
}
