/**
 * The benchmark page in Chromium, from a plain static host at a subpath. Skipped without Chromium
 * (CHROMIUM names one that is not in the PATH). Needs the built package (`npm test` builds it).
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { buildPage, POLICY } from '../../bench/page/build.ts';
import { HEADERS, type PageServer, serveFolder } from '../../bench/page/serve.ts';
import { encodeResult } from '../../bench/page/share.ts';
import { Chromium, findChromium, type OpenOptions, type Page } from '../helpers/chromium.ts';
import { resultOf } from './samples.ts';

const folder = mkdtempSync(join(tmpdir(), 'capstan-page-'));
beforeAll(() => buildPage(folder));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the built page', () => {
  const files = (): Record<string, string> =>
    Object.fromEntries(
      readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
    );

  it('is a few files that refer to each other by relative paths only', () => {
    const all = files();
    expect(Object.keys(all).sort()).toEqual([
      'app.js',
      'charts.css',
      'icon.svg',
      'index.html',
      'style.css',
      'worker.js',
    ]);
    const page = all['index.html'] ?? '';
    const named = [...page.matchAll(/(?:src|href)="([^"]*)"/g)].map((match) => match[1]);
    expect(named.sort()).toEqual(['app.js', 'charts.css', 'icon.svg', 'style.css']);
    expect(Object.values(all).join('\n')).not.toMatch(
      /https?:\/\/(?!www\.w3\.org\/)[a-z]|@import|\/\/cdn/i,
    );
    expect(page).toContain(POLICY);
    expect(page).not.toMatch(/<script>|<style|style="| on\w+="/);
  });

  it('is served from its folder only', async () => {
    const server = await serveFolder(folder);
    const status = async (path: string): Promise<number> =>
      (await fetch(new URL(path, server.url))).status;
    expect(await status('')).toBe(200);
    expect(await status('worker.js')).toBe(200);
    expect(await status('..%2fpackage.json')).toBe(404);
    expect(await status('missing.js')).toBe(404);
    expect(await status('%00.js')).toBe(404);
    await server.stop();
  });
});

const program = findChromium();

describe.skipIf(program === undefined)('the page in Chromium', { timeout: 60_000 }, () => {
  /** A short run of one line and a second of steady load. */
  const SHORT = '?works=cycle-same&n=1000&rounds=3&steady=1000&seconds=1';
  const STATE = 'document.documentElement.dataset.state';
  let browser: Chromium;
  let server: PageServer;
  const pages: Page[] = [];

  beforeAll(async () => {
    browser = await Chromium.start(program ?? '');
    // a minimal static host
    server = await serveFolder(folder, { path: '/some/where/', headers: {} });
  });
  afterAll(async () => {
    await browser?.stop();
    await server?.stop();
  });
  afterEach(async () => {
    for (const page of pages.splice(0)) await page.close();
  });

  async function open(address: string, options: OpenOptions = {}): Promise<Page> {
    const page = await browser.open(new URL(address, server.url).href, {
      before: WATCH,
      ...options,
    });
    pages.push(page);
    await page.until(`!['loading', undefined].includes(${STATE})`);
    return page;
  }

  const text = (page: Page, selector: string): Promise<string> =>
    page.evaluate(
      `document.querySelector(${JSON.stringify(selector)}).textContent.replace(/\\s+/g, ` +
        "' ').trim()",
    );
  const state = (page: Page): Promise<string> => page.evaluate(STATE);
  const topOf = (page: Page, selector: string): Promise<number> =>
    page.evaluate(`document.querySelector('${selector}').getBoundingClientRect().top + scrollY`);
  /**
   * Records what goes to the clipboard, which a headless browser denies, and counts the running
   * workers.
   */
  const WATCH = `
    window.workers = new Set();
    const { terminate } = Worker.prototype;
    Worker.prototype.terminate = function () { workers.delete(this); terminate.call(this); };
    window.Worker = class extends Worker {
      constructor(...of) { super(...of); workers.add(this); }
    };
    Object.defineProperty(navigator, 'clipboard', {
      configurable: true,
      value: { writeText: async (text) => { window.copied = text; } },
    });`;

  async function fitsItsWidth(page: Page, where?: string): Promise<void> {
    const [content, window] = await page.evaluate<[number, number]>(
      '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
    );
    expect(content, where).toBeLessThanOrEqual(window);
  }

  it('measures both peers, draws them, and shares the result by a link', async () => {
    const page = await open(SHORT);
    expect(await state(page)).toBe('idle');
    const before = await topOf(page, '#machine');
    await page.click('#start');
    await page.until(`document.querySelector('#status').textContent.includes('round 2 of 3')`);
    expect(await page.evaluate(`document.querySelector('.line[aria-current]').dataset.row`)).toBe(
      'cycle-same 1000',
    );
    await page.until(`${STATE} === 'done'`);

    const row = await text(page, '[data-row="cycle-same 1000"]');
    expect(row).toMatch(
      new RegExp(
        '^1k keys ?capstan [\\d.]+ [Mk]/s [\\d.]+ ns ?naive [\\d.]+ [Mk]/s [\\d.]+ ' +
          'ns ?([\\d.]+× (faster|slower)|even|no winner)',
      ),
    );
    expect(await text(page, '#winner')).toMatch(
      /^On this browser (Capstan|the naive port|neither side) wins.*cycle-same([\d.]+×|even|noise)/,
    );
    expect(await text(page, '#summary')).toMatch(/Geometric mean([\d.]+× (faster|slower)|even)/);
    expect(await text(page, '#summary')).toMatch(
      /Longest pause[\d.]+ (µs|ms)naive port [\d.]+ (µs|ms); 1k live keys, 1 s each/,
    );
    expect(await text(page, '#steady')).toMatch(
      /Latency, p99\.9.*Longest pause.*Rate held[\d.]+ k\/s[\d.]+ k\/s/,
    );
    expect(await text(page, '#machine')).toMatch(
      /Chromium \d+.*Keys are hashed byJavaScript.*not cross-origin isolated/,
    );

    const drawn = await page.evaluate<Record<string, number[]>>(`Object.fromEntries(
      ['.bars .fill-capstan', '.bars .fill-naive', '.balance-bar', '.strip-capstan',
       '.strip-naive', '.dot-capstan', '.dot-naive'].map((name) => {
        const element = document.querySelector(name);
        const { width, height } = element.getBoundingClientRect();
        return [name, [width, height, Number(getComputedStyle(element).fill !== 'none')]];
      }))`);
    for (const [name, [width = 0, height = 0, filled]] of Object.entries(drawn)) {
      expect(width, name).toBeGreaterThan(0.5);
      expect(height, name).toBeGreaterThan(0.5);
      expect(filled, name).toBe(1);
    }
    expect(drawn['.strip-naive']?.[0]).toBeGreaterThan(100);
    expect(await topOf(page, '#machine')).toBe(before); // no layout shift
    await fitsItsWidth(page);

    expect(await page.evaluate('workers.size')).toBe(0);

    await page.click('#copy-markdown');
    const markdown = await page.evaluate<string>('copied');
    expect(markdown).toMatch(/\| cycle-same \| 1k \| [\d.]+ \([\d.–]+\) \|/);
    await page.click('#copy-link');
    const link = await page.evaluate<string>('copied');
    expect(link.startsWith(`${server.url}#r1.`)).toBe(true);
    expect(page.complaints).toEqual([]);

    const reader = await open(link, { width: 390, height: 844, dark: true });
    await reader.until(`${STATE} === 'shared'`);
    expect(await text(reader, '#shared')).toMatch(
      /^Measured elsewhere, not on this machine: .*Chromium \d+.* on Linux, 20/,
    );
    expect(await text(reader, '[data-row="cycle-same 1000"]')).toBe(row);
    await fitsItsWidth(reader);
    await reader.click('#copy-markdown');
    const lines = (all: string): string[] =>
      all.split('\n').filter((line) => line.startsWith('| cycle-same'));
    expect(lines(await reader.evaluate<string>('copied'))).toEqual(lines(markdown));
    await reader.click('#own');
    expect(await state(reader)).toBe('idle');
    expect(await reader.evaluate('location.hash')).toBe('');
    expect(reader.complaints).toEqual([]);
  });

  it('stops at once in the middle of a round, keeps its results, and can restart', async () => {
    const page = await open('?works=cycle-same,cycle-fresh&n=100000&rounds=99&steady=0');
    // A choice by keyboard redraws the charts; the focus was once lost with the old ones.
    await page.evaluate(`document.querySelector('[value="limiter"]').focus()`);
    await page.press(' ');
    await page.until(`document.querySelector('[data-row="limiter 100000"]')`);
    expect(await page.evaluate('document.activeElement.value')).toBe('limiter');
    await page.evaluate(`document.querySelector('#start').focus()`);
    await page.press('Enter');
    await page.until(`document.querySelector('#status').textContent.includes('round 3 of 99')`);
    expect(await page.evaluate('document.activeElement.id')).toBe('stop');
    expect(await page.evaluate('workers.size')).toBe(2);
    await page.press(' ');
    await page.until(`${STATE} === 'stopped'`);
    expect(await page.evaluate('workers.size')).toBe(0);
    expect(await text(page, '#status')).toMatch(/^Stopped after/);
    expect(await text(page, '[data-row="cycle-same 100000"]')).toMatch(/[\d.]+ ns/);
    expect(await text(page, '[data-row="cycle-fresh 100000"]')).not.toMatch(/ns/);
    expect(await page.evaluate('document.activeElement.id')).toBe('start');
    await page.press('Enter');
    await page.until(`document.querySelector('#status').textContent.includes('warm-up')`);
    await page.click('#stop');
    await page.until(`${STATE} === 'stopped'`);
    expect(await text(page, '#status')).toMatch(/Nothing was measured yet/);
    expect(page.complaints).toEqual([]);
  });

  it('rejects a fragment without a result, and still runs', async () => {
    const page = await open('#r1.PGltZyBzcmM9eCBvbmVycm9yPWFsZXJ0KDEpPg');
    await page.until(`!document.querySelector('#notice').hidden`);
    expect(await text(page, '#notice')).toMatch(
      /^This link holds no result that can be shown: it is cut short/,
    );
    expect(await state(page)).toBe('idle');
    expect(await page.evaluate(`document.querySelector('#start').disabled`)).toBe(false);
    expect(page.complaints).toEqual([]);
  });

  it('shows the text to copy by hand if the clipboard is denied', async () => {
    const page = await open(await encodeResult(resultOf()));
    await page.until(`${STATE} === 'shared'`);
    // as over http:
    await page.evaluate(`Object.defineProperty(navigator, 'clipboard', { value: undefined })`);
    await page.click('#copy-link');
    await page.until(`!document.querySelector('#share-text').hidden`);
    expect(await page.evaluate(`document.querySelector('#share-text').value`)).toMatch(
      /^http.*#r1\./,
    );
    expect(await text(page, '#share-status')).toMatch(/copy it from the field/);
    await fitsItsWidth(page);
  });

  it('escapes words in a shared result', async () => {
    const result = resultOf();
    result.environment.browser =
      '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';
    result.environment.version = '"><b id=injected>';
    const page = await open(await encodeResult(result));
    await page.until(`${STATE} === 'shared'`);
    expect(await text(page, '#shared')).toContain('<img src=x onerror="window.hacked=1">');
    expect(
      await page.evaluate(
        `[typeof hacked, document.querySelector('#injected, main img, main script')]`,
      ),
    ).toEqual(['undefined', null]);
    expect(page.complaints).toEqual([]);
  });

  // With steps of 100 µs the median of a fast peer was 0, which was taken for "not measured": its
  // column stayed empty.
  it('shows times below the step of the clock as such, not as missing', async () => {
    const result = resultOf();
    result.environment.resolutionMs = 0.1;
    for (const side of [result.steady?.capstan, result.steady?.naive])
      if (side) side.latencies[0] = 0;
    const page = await open(await encodeResult(result));
    await page.until(`${STATE} === 'shared'`);
    expect(await text(page, '#steady')).toContain(
      'Latency, p50< 100 µs< 100 µs–Latency, p90100 µs',
    );
  });

  it('takes a result that arrives while it runs, and reports unknown parameters', async () => {
    const page = await open('?works=cycle-same&n=nine&rounds=99&steady=0');
    expect(await text(page, '#notice')).toContain(
      '“n” in the address expected at most 8 whole numbers',
    );
    await page.click('#start');
    await page.until(`document.querySelector('#status').textContent.includes('warm-up')`);
    await page.evaluate(`location.hash = ${JSON.stringify(await encodeResult(resultOf()))}`);
    await page.until(`${STATE} === 'shared'`);
    expect(await text(page, '[data-row="limiter 1000"]')).toContain('2.00× slower');
    expect(await page.evaluate(`document.querySelector('#stop').disabled`)).toBe(true);
    expect(page.complaints).toEqual([]);
  });

  it('fits windows from 320 pixels on', async () => {
    const query = '?works=cycle-same,cycle-request,limiter&n=1000,100000';
    const page = await open(`${query}${await encodeResult(resultOf())}`);
    await page.until(`${STATE} === 'shared'`);
    for (const width of [1600, 1000, 901, 900, 600, 481, 480, 390, 320]) {
      await page.resize(width, 800);
      await fitsItsWidth(page, `${width} pixels`);
    }
    await page.click('#own');
    await fitsItsWidth(page, 'no result, 320 pixels');
  });

  it('reports with the code a policy without WebAssembly, and a missing worker', async () => {
    const strict = await serveFolder(folder, {
      headers: { ...HEADERS, 'content-security-policy': POLICY.replace(" 'wasm-unsafe-eval'", '') },
    });
    const page = await open(`${strict.url}${SHORT}`);
    await page.click('#start');
    await page.until(`${STATE} === 'failed'`);
    expect(await text(page, '#notice')).toMatch(
      /^The run failed \(WASM_UNAVAILABLE\): .*'wasm-unsafe-eval'/,
    );
    expect(await page.evaluate(`document.querySelector('#start').disabled`)).toBe(false);
    await strict.stop();
    await page.click('#start');
    await page.until(
      `${STATE} === 'failed' && ` +
        "document.querySelector('#notice').textContent.includes('worker.js')",
    );
  });

  it('runs isolated on a telephone under the header of its server, without motion', async () => {
    const own = await serveFolder(folder);
    const page = await open(`${own.url}?works=limiter&n=10&rounds=1&steady=1000&seconds=1`, {
      width: 390,
    });
    const before = await topOf(page, '#machine');
    await page.click('#start');
    await page.until(`${STATE} === 'done'`);
    expect(await topOf(page, '#machine')).toBe(before);
    expect(await text(page, '#machine')).toMatch(/ µs, cross-origin isolated/);
    expect(page.complaints).toEqual([]);
    await own.stop();
  });
});
