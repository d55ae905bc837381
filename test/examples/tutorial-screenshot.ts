/**
 * Draws docs/pictures/tutorial-live-page.png: the live page of the program of the tutorial's
 * chapter 8. By hand:
 *
 *     npm run build && node test/examples/tutorial-screenshot.ts [file.png] [dark] [width]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { Chromium, findChromium } from '../helpers/chromium.ts';
import { root } from '../helpers/repository.ts';

const [file = `${root}/docs/pictures/tutorial-live-page.png`, theme, width = '1080'] =
  process.argv.slice(2);
const chromium = findChromium();
if (chromium === undefined)
  throw new Error('expected Chromium in the PATH, or its path in CHROMIUM');

const program = spawn(process.execPath, [`${root}/examples/tutorial/08-operations/main.ts`], {
  env: { ...process.env, METRICS_ADDRESS: '127.0.0.1:0' },
});
let output = '';
program.stdout.on('data', (data: Buffer) => {
  output += String(data);
});
while (!output.includes('/metrics')) await once(program.stdout, 'data');
const [, address = ''] = /the live page: (\S+)/.exec(output) ?? [];

const browser = await Chromium.start(chromium);
try {
  const page = await browser.open(`${address}#default/cleanup`, {
    width: Number(width),
    height: 900,
    dark: theme === 'dark',
  });
  const text = 'document.body.textContent';
  await page.until(
    `/Recent runs\\s*([5-9]|\\d\\d)/.test(${text}) && ${text}.includes('s more, as its last run')`,
  );
  await page.send('Emulation.setScrollbarsHidden', { hidden: true });
  await page.resize(Number(width), 960);
  writeFileSync(file, await page.screenshot());
} finally {
  await browser.stop();
  program.kill('SIGKILL');
}
