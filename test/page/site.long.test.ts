/**
 * The site of docs/ as a reader opens it from disk, in Chromium: its links work without scripts,
 * its search without a server, and no page is wider than a phone. Skipped without Chromium
 * (CHROMIUM names one that is not in the PATH). Needs the built package.
 */
import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Chromium, findChromium, type OpenOptions, type Page } from '../helpers/chromium.ts';
import { root } from '../helpers/repository.ts';

const program = findChromium();
const SITE = `${root}/build/site`;
const PHONE = { width: 390, height: 800 };
const address = (page: string): string => pathToFileURL(`${SITE}/${page}`).href;

describe.skipIf(program === undefined)('the site', () => {
  let browser: Chromium;
  const open = (page: string, options?: OpenOptions): Promise<Page> =>
    browser.open(address(page), options);

  beforeAll(async () => {
    for (const script of ['docs.ts', 'docs-site.ts'])
      execFileSync(process.execPath, [`${root}/scripts/${script}`], { stdio: 'pipe' });
    browser = await Chromium.start(program ?? '');
  }, 120_000);
  afterAll(() => browser.stop());

  async function firstResult(query: string): Promise<string> {
    const page = await open('guides/kinds.html');
    await page.evaluate(`(() => {
      const field = document.querySelector('[type=search]');
      field.focus();
      field.value = ${JSON.stringify(query)};
      field.dispatchEvent(new Event('input', { bubbles: true }));
    })()`);
    await page.until(`document.querySelector('.results a, .results p')`);
    const found = await page.evaluate<string>(`(() => {
      const results = document.querySelector('.results');
      return results.querySelector('a')?.href ?? results.textContent;
    })()`);
    expect(page.complaints).toEqual([]);
    await page.close();
    return found;
  }

  it.each([
    ['QUEUE_FULL', 'reference/errors/queue-full.html'],
    ['workqueue_depth', 'reference/metrics/workqueue-depth.html'],
    ['install', 'start/install.html'],
  ])('finds %s from disk', async (query, page) => {
    expect(await firstResult(query)).toMatch(new RegExp(`^${address(page)}`));
  });

  it('says that nothing was found', async () => {
    expect(await firstResult('xyzzyplugh')).toContain('Nothing found');
  });

  it('is read and followed without scripts', async () => {
    const page = await browser.open('about:blank');
    await page.send('Emulation.setScriptExecutionDisabled', { value: true });
    await page.begin(address('index.html'), {});
    const links = await page.evaluate<string[]>(
      `[...document.querySelectorAll('.sections a')].map((link) => link.href)`,
    );
    expect(links.length).toBeGreaterThan(20);
    expect(links.filter((link) => !link.startsWith(address('')))).toEqual([]);
    for (const link of [links[0] ?? '', links.at(-2) ?? '']) {
      await page.begin(link, {});
      const [heading, here, font] = await page.evaluate<string[]>(`[
        document.querySelector('h1').textContent,
        document.querySelector('[aria-current]').href,
        getComputedStyle(document.querySelector('.name')).fontWeight,
      ]`);
      expect(heading).not.toBe('');
      expect([here, font]).toEqual([link, '700']); // the style is loaded too
    }
    await page.close();
  });

  it('has no page that is wider than a phone', async () => {
    const pages = globSync('{*,*/*}.html', { cwd: SITE }).filter(
      (page) => !page.startsWith('api/'),
    );
    expect(pages.length).toBeGreaterThan(30);
    const wide: string[] = [];
    for (const name of pages) {
      const page = await open(name, PHONE);
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      if (width > PHONE.width) wide.push(`${name}: ${width}`);
      await page.close();
    }
    expect(wide).toEqual([]);
  });

  it('is dark where the system is', async () => {
    const grounds = await Promise.all(
      [false, true].map(async (dark) => {
        const page = await open('index.html', { dark });
        return page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
      }),
    );
    expect(grounds).toEqual(['rgb(255, 255, 255)', 'rgb(20, 23, 26)']);
  });
});
