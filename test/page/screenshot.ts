/**
 * Draws docs/pictures/bench-page.png: builds the page from the built package, measures a few
 * workloads in Chromium, losses among them, and takes the picture. Run it by hand on an idle
 * machine:
 *
 *     npm run build && node test/page/screenshot.ts
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildPage } from '../../bench/page/build.ts';
import { serveFolder } from '../../bench/page/serve.ts';
import { Chromium, findChromium } from '../helpers/chromium.ts';

const WIDTH = 960;

const program = findChromium();
if (program === undefined)
  throw new Error('expected Chromium in the PATH, or its path in CHROMIUM');
const folder = mkdtempSync(join(tmpdir(), 'capstan-page-'));
await buildPage(folder);
const server = await serveFolder(folder);
const browser = await Chromium.start(program);
try {
  const page = await browser.open(server.url, { width: WIDTH, height: 900 });
  await page.until(`!document.querySelector('#start').disabled`);
  await page.click('#start');
  await page.until(`['done', 'failed'].includes(document.documentElement.dataset.state)`);
  // What is said first, and the summary: a part of the works could say something else.
  const [from, to] = await page.evaluate<[number, number]>(`(() => {
    const others = '.share, .how, #controls, .go';
    for (const part of document.querySelectorAll(others)) part.style.display = 'none';
    const { top } = document.querySelector('#winner').getBoundingClientRect();
    const { bottom } = document.querySelector('#summary').getBoundingClientRect();
    return [top + scrollY - 24, bottom + scrollY + 24];
  })()`);
  // without the scroll bar
  const clip = { x: 0, y: from, width: WIDTH - 15, height: to - from, scale: 1 };
  await page.resize(WIDTH, Math.ceil(to));
  const { data } = await page.send('Page.captureScreenshot', { format: 'png', clip });
  const docs = fileURLToPath(new URL('../../docs/pictures/', import.meta.url));
  mkdirSync(docs, { recursive: true });
  writeFileSync(`${docs}bench-page.png`, Buffer.from(String(data), 'base64'));
  console.log(await page.evaluate(`document.querySelector('#status').textContent`));
} finally {
  await browser.stop();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
