/**
 * Draws docs/pictures/live-page.png: the live page of a real manager that runs the Website
 * controller of the examples on the embedded API server, where the finalizer of one website cannot
 * be written. By hand:
 *
 *     npm run build && node test/manager/page-screenshot.ts [file.png] [dark] [width]
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { newManager } from 'capstan/manager';
import { ApiServer } from 'capstan/testing';
import { setErrorHandler } from 'capstan/workqueue';
import { addWebsiteController } from '../../examples/website/controller.ts';
import { Chromium, findChromium } from '../helpers/chromium.ts';

const [
  file = fileURLToPath(new URL('../../docs/pictures/live-page.png', import.meta.url)),
  theme,
  width = '1080',
] = process.argv.slice(2);
/** The height of the part of the page that the README shows. */
const TOP = 670;
const program = findChromium();
if (program === undefined)
  throw new Error('expected Chromium in the PATH, or its path in CHROMIUM');

setErrorHandler(() => {}); // failures are expected
const server = await ApiServer.start();
const manager = newManager({
  transport: server.transport(),
  leaderElection: {
    id: 'website-controller',
    namespace: 'demo',
    identity: 'website-7c9f-x2x1p',
    releaseOnCancel: true,
  },
  debugPage: { bindAddress: '127.0.0.1:0' },
});
addWebsiteController(manager, { maxConcurrentReconciles: 4 });
const stop = new AbortController();
const running = manager.start({ signal: stop.signal });
await manager.elected();

const path = `${server.url}/apis/demo.capstan.dev/v1/namespaces/demo/websites`;
server.inject({ do: 'status', status: 403, verb: 'patch', path: '/websites/shop' });
server.inject({ do: 'delay', ms: 8000, verb: 'patch', path: '/websites/news/status' });
const websites = ['landing', 'docs', 'blog', 'shop', 'wiki', 'status', 'news'];
for (const name of websites) {
  const body = {
    apiVersion: 'demo.capstan.dev/v1',
    kind: 'Website',
    metadata: { name },
    spec: { image: 'web:1', replicas: name === 'wiki' ? 'two' : 2, port: 8080 },
  };
  await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

const browser = await Chromium.start(program);
try {
  const page = await browser.open(`${manager.url('debugPage')}/debug/capstan#demo/shop`, {
    width: Number(width),
    height: 900,
    dark: theme === 'dark',
  });
  await page.until(`document.querySelector('.verdict')?.textContent.includes('after 10 failures')`);
  await page.send('Emulation.setScrollbarsHidden', { hidden: true });
  const height = await page.evaluate<number>(
    `document.querySelector('main').getBoundingClientRect().bottom + scrollY`,
  );
  await page.resize(Number(width), Math.ceil(height) + 16);
  writeFileSync(file, await page.screenshot());
  await page.resize(Number(width), TOP);
  writeFileSync(file.replace(/\.png$/, '-top.png'), await page.screenshot());
} finally {
  await browser.stop();
  stop.abort();
  await running;
  await server.stop();
}
