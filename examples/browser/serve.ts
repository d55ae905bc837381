/**
 * A live view of a cluster in a browser. Run it with `node examples/browser/serve.ts` after a
 * build: it shows an embedded API server under churn.
 *
 *     --kubeconfig          the cluster of your kubeconfig's current context, read-only
 *     --port 8090           the port of the page, on 127.0.0.1 only
 *     --every 250           milliseconds between two changes of the embedded server
 *     --drop 0              milliseconds between two cuts of all its connections; 0: never
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
/** The value of a flag. The default limit is that of `setTimeout`. */
const number = (name: 'port' | 'every' | 'drop', most = 2 ** 31 - 1): number => {
  const value = Number(values[name]);
  if (Number.isInteger(value) && value >= 0 && value <= most) return value;
  throw new Error(`--${name} expected a number from 0 to ${most}, got ${values[name]}`);
};

/** Cleanup functions, run in reverse order at the end and after an error. */
const cleanups: (() => unknown)[] = [];
try {
  await serve(number('port', 65_535), number('every'), number('drop'));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  for (const cleanup of cleanups.reverse()) await cleanup();
}

async function serve(port: number, every: number, drop: number): Promise<void> {
  const signal = setupSignalHandler();
  const cluster = values.kubeconfig ? undefined : await SimulatedCluster.start();
  cleanups.push(() => cluster?.stop());
  const transport = cluster?.server.transport() ?? yours();
  cleanups.push(() => transport.close?.());
  const folder = mkdtempSync(join(tmpdir(), 'capstan-view-'));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  await buildView(folder);
  const view = await serveView({ transport, resources: [Pod, Node], folder, port });
  cleanups.push(() => view.stop());
  console.log(view.url);

  const dropping =
    cluster && drop > 0 ? setInterval(() => cluster.server.dropConnections(), drop) : undefined;
  cleanups.push(() => clearInterval(dropping));
  if (cluster) await cluster.churn(every, signal);
  else await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}

function yours(): Transport {
  const config = new KubeConfig();
  config.loadFromDefault();
  return kubeConfigTransport(config);
}
