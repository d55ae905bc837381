/**
 * Draws docs/pictures/cluster-view.png: examples/browser on its simulated cluster after some churn
 * and a cut of all connections. Run it by hand:
 *
 *     npm run build && node test/page/view-screenshot.ts [file.png] [dark] [width]
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildView } from '../../examples/browser/build.ts';
import { serveView } from '../../examples/browser/proxy.ts';
import { Node, Pod } from '../../examples/browser/resources.ts';
import { SimulatedCluster } from '../../examples/browser/simulated-cluster.ts';
import { Chromium, findChromium } from '../helpers/chromium.ts';

const [
  file = fileURLToPath(new URL('../../docs/pictures/cluster-view.png', import.meta.url)),
  theme,
  width = '1200',
] = process.argv.slice(2);
const program = findChromium();
if (program === undefined)
  throw new Error('expected Chromium in the PATH, or its path in CHROMIUM');

const folder = mkdtempSync(join(tmpdir(), 'capstan-view-'));
await buildView(folder);
const cluster = await SimulatedCluster.start(7);
for (let i = 0; i < 40; i++) await cluster.step();
const transport = cluster.server.transport();
const view = await serveView({ transport, resources: [Pod, Node], folder });
const browser = await Chromium.start(program);
const end = new AbortController();
let churning: Promise<void> | undefined;
try {
  const page = await browser.open(view.url, {
    width: Number(width),
    height: 740,
    dark: theme === 'dark',
  });
  await page.until(`document.documentElement.dataset.state === 'synced'`);
  cluster.server.dropConnections();
  await cluster.pods(); // on a new connection
  await cluster.setReady('node-k', false);
  churning = cluster.churn(140, end.signal);
  await page.until(
    'document.querySelector(\'[data-ready="away"]\') && ' +
      "document.querySelectorAll('#log li').length > 20",
  );
  await page.click('.card[data-node="node-c"] .pod[data-state="running"]');
  await page.until(
    `document.querySelectorAll('.pod.changed').length > 3 && document.querySelector('#details dl')`,
  );
  writeFileSync(file, await page.screenshot());
} finally {
  end.abort();
  await churning;
  await browser.stop();
  await view.stop();
  await transport.close?.();
  await cluster.stop();
  rmSync(folder, { recursive: true, force: true });
}
