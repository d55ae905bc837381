/**
 * A live view of a cluster in a browser. `node examples/browser/serve.ts` after a build: an embedded API server under churn.
 *
 *     --kubeconfig          your cluster: the current context of your kubeconfig, with its credentials, read-only
 *     --port 8090           where the page is, on this machine alone
 *     --every 250           milliseconds between two changes of the embedded server
 *     --drop 0              cuts all of its connections each so many milliseconds; the view goes on
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { KubeConfig } from '@kubernetes/client-node';
import type { Transport } from 'capstan/cache';
import { kubeConfigTransport } from 'capstan/client-node';
import { setupSignalHandler } from 'capstan/manager';
import { buildView } from './build.ts';
import { serveView } from './proxy.ts';
import { Node, Pod } from './resources.ts';
import { SimulatedCluster } from './simulated-cluster.ts';

const { values } = parseArgs({
  options: {
    kubeconfig: { type: 'boolean', default: false },
    port: { type: 'string', default: '8090' },
    every: { type: 'string', default: '250' },
    drop: { type: 'string', default: '0' },
  },
});
const number = (name: 'port' | 'every' | 'drop'): number => {
  const value = Number(values[name]);
  if (Number.isInteger(value) && value >= 0) return value;
  throw new Error(`--${name} expected a number, got ${values[name]}`);
};
const [port, every, drop] = [number('port'), number('every'), number('drop')];

const signal = setupSignalHandler();
const cluster = values.kubeconfig ? undefined : await SimulatedCluster.start();
const transport = cluster?.server.transport() ?? yours();
const folder = mkdtempSync(join(tmpdir(), 'capstan-view-'));
await buildView(folder);
const view = await serveView({ transport, resources: [Pod, Node], folder, port });
console.log(view.url);

const dropping = cluster && drop > 0 ? setInterval(() => cluster.server.dropConnections(), drop) : undefined;
if (cluster) await cluster.churn(every, signal);
else await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));

clearInterval(dropping);
await view.stop();
await transport.close?.();
await cluster?.stop();
rmSync(folder, { recursive: true, force: true });

function yours(): Transport {
  const config = new KubeConfig();
  config.loadFromDefault();
  return kubeConfigTransport(config);
}
