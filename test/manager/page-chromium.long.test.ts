/**
 * The live page in a real Chromium, on reports that the tests change. Skipped without a Chromium in
 * the PATH or in CHROMIUM. Needs the page that `npm run build:page` makes.
 */
import type { ControllerReport } from 'capstan/controller';
import type { LivePageOptions, ManagerReport } from 'capstan/manager';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Chromium, findChromium, type OpenOptions, type Page } from '../helpers/chromium.ts';
import { controllerOf, reportOf, runOf, sampleKey, shardsOf } from './page-samples.ts';
import { type PageServer, servePage } from './page-server.ts';

const program = findChromium();

describe.skipIf(program === undefined)('the live page in Chromium', { timeout: 60_000 }, () => {
  let browser: Chromium;
  let server: PageServer;
  const pages: Page[] = [];
  /** The server's next response; `undefined`: it fails. */
  let report: ManagerReport | undefined;
  let find: LivePageOptions['find'];

  beforeAll(async () => {
    browser = await Chromium.start(program ?? '');
    server = await servePage({
      state() {
        if (report === undefined) throw new Error('no report');
        return report;
      },
      find: (text, limit) => find?.(text, limit) ?? [],
    });
  }, 90_000); // the first start of Chromium on a busy machine
  afterAll(async () => {
    await browser?.stop();
    await server?.stop();
  });
  beforeEach(() => {
    report = reportOf();
    find = undefined;
  });
  afterEach(async () => {
    for (const page of pages.splice(0)) {
      expect(page.complaints).toEqual([]);
      await page.close();
    }
  });

  const STATE = 'document.documentElement.dataset.state';
  const FILTER = 'document.documentElement.dataset.filter';

  async function open(key = '', options: OpenOptions = {}): Promise<Page> {
    const page = await browser.open(
      `${server.url}${key === '' ? '' : `#${encodeURIComponent(key)}`}`,
      options,
    );
    pages.push(page);
    await page.until(`${STATE} !== 'loading' && ${FILTER} === ${JSON.stringify(key)}`);
    return page;
  }

  function show(more: Partial<ControllerReport>): void {
    report = reportOf({ controllers: [controllerOf(more)] });
  }

  const text = (page: Page, selector: string): Promise<string> =>
    page.evaluate(
      `document.querySelector(${JSON.stringify(selector)})?.textContent.replace(/\\s+/g, ` +
        "' ').trim() ?? ''",
    );
  const type = async (page: Page, words: string): Promise<void> => {
    await page.send('Input.insertText', { text: words });
  };
  const focused = (page: Page): Promise<string> =>
    page.evaluate(`document.activeElement.id || document.activeElement.textContent`);

  it('shows with the keyboard alone why an object is not reconciled', async () => {
    const page = await open();
    await page.press('/');
    await type(page, 'demo/shop');
    await page.until(`document.querySelector('.verdict')`);
    expect(await text(page, '.verdict h3')).toBe('failing in website');
    expect(await text(page, '.verdict .said')).toBe('It waits 42 s more, after 7 failures.');
    expect(await text(page, '.verdict .error')).toContain(
      '409 Conflict: the object has been modified',
    );
    expect(await text(page, '.verdict .why')).toMatch(
      /^Asked for by ?update of Deployment shop, 1 min 30 s ago ?retry 8 after an error, 21 s ago$/,
    );
    expect(
      await page.evaluate(
        `[...document.querySelectorAll('#view .key')].map((each) => each.textContent)`,
      ),
    ).toEqual(['demo/shop', 'demo/shop']);
    expect(await page.evaluate(`[location.hash, document.title]`)).toEqual([
      '#demo%2Fshop',
      'demo/shop · capstan',
    ]);
    await page.press('Escape');
    await page.until(`${FILTER} === ''`);
    expect(await text(page, '.verdict')).toBe('');
  });

  it('shows hot loops with what they write, and nothing where there are none', async () => {
    const loop = { namespace: 'demo', name: 'shop', agoMs: 1200, writes: 312 };
    show({ hotLoops: [{ ...loop, object: 'NetworkPolicy demo/shop', paths: ['spec.ingress'] }] });
    const page = await open();
    const table = 'table[aria-label="Hot loops"]';
    expect(await text(page, `${table} tbody`)).toMatch(
      /^demo\/shop ?NetworkPolicy demo\/shop ?spec.ingress ?312 ?1.2 s ago$/,
    );
    show({});
    await page.until(`!document.querySelector('${table}')`);
  });

  it('shows who owns which slots, and which are on their way', async () => {
    report = reportOf({ shards: shardsOf() });
    const page = await open();
    expect(await text(page, '#lead')).toContain('Has 30 of 64 slots as web-6d8f-2kq4x-81c0');
    expect(await page.evaluate(`document.querySelectorAll('.slots li').length`)).toBe(64);
    expect(await page.evaluate(`document.querySelectorAll('.slots .ours').length`)).toBe(28);
    expect(await text(page, '.slots .moving')).toBe('1→3');
    expect(await page.evaluate(`document.querySelector('.slots .free').title`)).toBe(
      'slot 63: no owner',
    );
    expect(await text(page, '#shards tbody')).toContain('web-6d8f-9nd7p-4be2 · coordinator');
    report = reportOf({ shards: shardsOf({ isValid: false, map: 'newer' }) });
    await page.until(`document.querySelector('#shards .said')`);
    expect(await text(page, '#lead')).toContain('Works on nothing');
    expect(await text(page, '#shards .said')).toContain('later release');
    report = reportOf();
    await page.until(`!document.querySelector('#shards')`);
  });

  it('lists the matches if there are several, and uses the one that is clicked', async () => {
    const page = await open('demo/');
    expect(await text(page, '#answer')).toMatch(/^Which one\?.*demo\/docs.*demo\/shop/);
    await page.click('#answer li:nth-child(2) .key');
    await page.until(`document.querySelector('.verdict')`);
    expect(await text(page, '#answer h2')).toBe('demo/shop');
    expect(await focused(page)).toBe('filter');
  });

  it('says whether an object that nothing requested is cached', async () => {
    const gone = await open('demo/gone');
    expect(await text(gone, '.verdict.idle .said')).toMatch(
      /^It is not in the cache of “for Website”: it does not exist/,
    );
    const there = { namespace: 'demo', name: 'there', informer: 'websites.demo.capstan.dev/v1' };
    find = (text) => (text === 'demo/there' ? [there] : []);
    const known = await open('demo/there');
    expect(await text(known, '.verdict.idle .said')).toMatch(
      new RegExp(
        '^It is in the cache of “for Website”, but neither in the queue nor ' +
          'among the last 100 runs\\. It may have been',
      ),
    );
    expect(await text(known, '#answer')).toContain('Cached as: websites.demo.capstan.dev/v1.');
    expect(await text(known, '#informers')).toContain('websites.demo.capstan.dev/v1 · has it');
    const nothing = await open('xyz');
    expect(await text(nothing, '#answer')).toMatch(/^Nothing that is known here contains “xyz”/);
  });

  it('updates and keeps focus, selection, scrolling and open details', async () => {
    const long = Array.from({ length: 60 }, (_, i) => sampleKey(`site-${i}`));
    const message = `line one\n${'and more '.repeat(40)}`;
    const failing = sampleKey('failing', {
      failures: 2,
      lastError: { name: 'Error', message, agoMs: 500 },
    });
    show({ keys: [failing, ...long] });
    const page = await open('', { height: 400 });
    await page.evaluate(`(() => {
      document.querySelector('details.error').open = true;
      const keys = [...document.querySelectorAll('.key')];
      const button = keys.find((each) => each.textContent === 'demo/site-9');
      button.focus();
      window.before = button;
      getSelection().selectAllChildren(document.querySelector('h2'));
    })()`);
    const scrolled = await page.evaluate('scrollY');
    expect(scrolled).toBeGreaterThan(0);
    // The focused row moves, others are added and removed; the queue has other counts.
    show({
      keys: [failing, sampleKey('site-new'), ...long.slice(2, 40).reverse()],
      totals: { success: 777, requeue: 0, requeueAfter: 0, error: 0, terminal: 0, aborted: 0 },
    });
    await page.until(`document.querySelector('.figures').textContent.includes('777')`);
    expect(await focused(page)).toBe('demo/site-9');
    expect(
      await page.evaluate(`[
        before === document.activeElement,
        document.querySelector('details.error').open,
        getSelection().toString().startsWith('website'),
      ]`),
    ).toEqual([true, true, true]);
    expect(await page.evaluate('scrollY')).toBeGreaterThan(0);
    // The row with the focus is gone: the focus stays in its section, not at the top of the page.
    show({ keys: [failing] });
    await page.until(`document.querySelectorAll('.key').length < 10`);
    expect(await page.evaluate('document.activeElement.id')).toBe('controller-website');
  });

  /**
   * Replaces the page's timers: `tick()` ends a second, `round()` resolves when the page shows the
   * result.
   */
  const TIMERS = `
    window.setTimeout = (run, ms) => {
      window.due = run;
      window.wait = ms;
      window.shown?.();
      return 1;
    };
    window.clearTimeout = () => { window.due = undefined; };
    window.tick = () => {
      const run = window.due;
      window.due = undefined;
      run?.();
      return run !== undefined;
    };
    window.round = () => new Promise((resolve) => { window.shown = resolve; tick(); });`;

  async function openByHand(key = ''): Promise<Page> {
    const page = await browser.open(`${server.url}${key === '' ? '' : `#${key}`}`, {
      before: TIMERS,
    });
    pages.push(page);
    await page.evaluate('round()');
    return page;
  }

  it('changes nothing in the document while nothing changes', async () => {
    const page = await openByHand('demo/shop');
    await page.evaluate(`(() => {
      window.changes = [];
      const note = (records) =>
        changes.push(...records.map(({ target, type }) => type + ' of ' + target.nodeName));
      const all = { subtree: true, childList: true, attributes: true, characterData: true };
      new MutationObserver(note).observe(document, all);
    })()`);
    const before = server.asked.length;
    report = reportOf();
    await page.evaluate('round()');
    await page.evaluate('round()');
    expect(server.asked.length).toBe(before + 2);
    expect(await page.evaluate('changes')).toEqual([]);
    show({ name: 'renamed' });
    await page.evaluate('round()');
    expect(await page.evaluate('changes')).not.toEqual([]);
  });

  it('shows two controllers with one name as two on each update', async () => {
    report = reportOf({ controllers: [controllerOf(), controllerOf({ keys: [] })] });
    const page = await openByHand('demo/shop');
    const counts =
      "['#view > section', '.verdict'].map((each) => document.querySelectorAll(each).length)";
    const before = await page.evaluate(counts);
    expect(before).toEqual([5, 2]);
    for (let i = 0; i < 3; i++) await page.evaluate('round()');
    expect(await page.evaluate(counts)).toEqual(before);
    report = reportOf();
    await page.evaluate('round()');
    expect(await page.evaluate(counts)).toEqual([4, 1]);
  });

  it('pauses and resumes', async () => {
    const page = await openByHand();
    await page.press('p');
    await page.until(`${STATE} === 'paused'`);
    expect(await page.evaluate('tick()')).toBe(false);
    expect([await text(page, '#pause'), await text(page, '#status')]).toEqual(['Resume', 'Paused']);
    // A search gets its response once, all the same.
    await page.press('/');
    await type(page, 'demo/shop');
    expect(await page.evaluate('tick()')).toBe(true);
    await page.until(`document.querySelector('.verdict') && ${STATE} === 'paused'`);
    expect(await page.evaluate('tick()')).toBe(false);
    show({ name: 'renamed' });
    await page.click('#pause');
    expect(await page.evaluate('tick()')).toBe(true);
    await page.until(`document.querySelector('#controller-renamed')`);
    expect(await text(page, '#status')).toBe('Live');
  });

  it('shows that the process does not respond, keeps its data, and continues', async () => {
    const page = await openByHand('demo/shop');
    report = undefined;
    await page.evaluate('tick()');
    await page.until(`${STATE} === 'lost'`);
    expect(await text(page, '#status')).toMatch(
      new RegExp(
        "^No answer from the process \\(500: the manager's report failed: " +
          'Error: no report\\)\\. What is shown is [\\d.]+ m?s old\\.$',
      ),
    );
    expect(await text(page, '.verdict .said')).toContain('after 7 failures');
    report = reportOf();
    expect(await page.evaluate('tick()')).toBe(true);
    await page.until(`${STATE} === 'live'`);
    const refused = page.complaints.splice(0);
    expect(refused.length).toBe(1);
    expect(refused[0]).toContain('500');
  });

  it('shows the error of a request that keeps failing once', async () => {
    const error = { name: 'Error', message: 'no luck', agoMs: 5 };
    const run = (attempt: number, more = {}) =>
      runOf('shop', { outcome: 'error', attempt, agoMs: 100 - attempt, error, ...more });
    show({
      keys: [],
      recent: [
        run(4),
        run(3),
        run(2, { error: { ...error, message: 'another' } }),
        run(1, { name: 'docs' }),
      ],
    });
    const page = await open();
    const rows =
      '[...document.querySelectorAll(\'table[aria-label="Recent ' +
      'runs"] .error\')].map((each) => each.textContent)';
    expect(await page.evaluate(rows)).toEqual([
      'Error, 5 ms ago no luck',
      'Error, 5 ms ago another',
      'Error, 5 ms ago no luck',
    ]);
  });

  it('requests a state less often if it takes long', async () => {
    const page = await openByHand();
    await page.evaluate(`(() => {
      const { now } = performance;
      let late = 0;
      performance.now = () => now.call(performance) + late;
      const { fetch } = window;
      window.fetch = async (...all) => {
        const answer = await fetch(...all);
        late += window.takes;
        return answer;
      };
    })()`);
    const waits = async (ms: number): Promise<number> =>
      page.evaluate(`(takes = ${ms}, round().then(() => wait))`);
    expect(await waits(150)).toBeGreaterThanOrEqual(3000);
    expect(await waits(60_000)).toBe(5000);
  });

  // Failed requests were counted with the queue: "7" where four waited, and with a filter "3 of 4"
  // where none of the four matched.
  it('counts failed requests separately from the queue', async () => {
    const keys = [1, 2, 3].map((i) => sampleKey(`bad-${i}`, { state: 'failed' }));
    const queue = { ready: 0, waiting: 4, processing: 0, hasPriorities: true };
    const waiting = [1, 2, 3, 4].map((i) => sampleKey(`shop-${i}`, { state: 'waiting' }));
    const heading =
      "[...document.querySelectorAll('h3')].find((each) => " +
      "each.textContent.startsWith('Queue')).textContent";
    for (const [listed, more, said] of [
      [waiting, false, 'Queue 4'],
      [[...keys, ...waiting], false, 'Queue 4, and 3 given up'],
      [keys, false, 'Queue 0 of 4, and 3 given up'],
      [[...keys, ...waiting.slice(1)], true, 'Queue 3 of 4, and at least 3 given up'],
    ] as const) {
      show({ keys: listed, queue, more });
      const page = await open();
      expect(await page.evaluate(heading)).toBe(said);
    }
  });

  it('requests more keys if there are more, up to a thousand', async () => {
    show({ keys: Array.from({ length: 1001 }, (_, i) => sampleKey(`site-${i}`)) });
    const page = await openByHand();
    const rows = `document.querySelectorAll('table[aria-label=Queue] .key').length`;
    expect(await page.evaluate(rows)).toBe(50);
    await page.click('.more');
    await page.evaluate('tick()');
    await page.until(`${rows} === 250`);
    await page.click('.more');
    await page.evaluate('tick()');
    await page.until(`${rows} === 1000 && document.querySelector('.more') === null`);
    expect(await text(page, '#controller-website .note')).toBe(
      'Only 1 000 are listed: ask for one by its name.',
    );
  });

  it('shows untrusted texts as text', async () => {
    const name = '<img src=x onerror="window.hacked=1"><b id=injected>';
    const error = {
      name: '<script>hacked=1</script>',
      message: `</style><svg onload="hacked=1">${'\u2028'}`,
      agoMs: 5,
    };
    show({
      name,
      groupKind: name,
      keys: [sampleKey(name, { lastError: error, failures: 1 }), sampleKey('__proto__')],
      recent: [runOf(name, { error, outcome: 'error' })],
      sources: [
        { name, synced: false, events: { handled: 0, filtered: 0, failed: 0 }, problem: name },
      ],
    });
    for (const key of ['', `demo/${name}`, 'demo/__proto__']) {
      const page = await open(key);
      expect(await text(page, '#view')).toContain(name);
      expect(
        await page.evaluate(
          "[typeof hacked, document.querySelector('#injected, " +
            "#view img, #view script, #view svg')]",
        ),
      ).toEqual(['undefined', null]);
    }
  });

  it('requests only the state of its own server', async () => {
    const before = server.asked.length;
    const page = await open('demo/shop');
    const loaded = await page.evaluate<string[]>(
      `performance.getEntriesByType('resource').map((each) => each.name)`,
    );
    expect(loaded.length).toBeGreaterThan(0);
    for (const address of loaded)
      expect(address.startsWith(`${server.url}/state?filter=demo%2Fshop&limit=50`)).toBe(true);
    for (const path of server.asked.slice(before))
      expect(path).toMatch(/^\/debug\/capstan(\/state\?.*)?$/);
    await expect(
      page.evaluate(`fetch('http://127.0.0.1:9/').then(() => 'sent')`),
    ).rejects.toThrow();
    expect(
      await page.evaluate(
        "(() => { try { document.body.innerHTML = '<i>'; return 'set'; " +
          '} catch (error) { return error.name; } })()',
      ),
    ).toBe('TypeError');
    expect(page.complaints.splice(0).join()).toContain('Content Security Policy');
  });

  it('fits windows of 320 pixels and more, with long names and errors', async () => {
    const name = 'a-name-as-long-as-they-may-be-'.repeat(8).slice(0, 253);
    const lastError = {
      name: 'StatusError STATUS',
      message: `${'x'.repeat(300)} ${'word '.repeat(300)}`,
      agoMs: 1,
    };
    show({
      name: 'c'.repeat(200),
      keys: [sampleKey(name, { namespace: 'n'.repeat(63), lastError, failures: 12_345 })],
      recent: [
        runOf(name, { error: lastError, outcome: 'error', requeueAfterMs: 1e9, attempt: 99 }),
      ],
    });
    for (const key of ['', `${'n'.repeat(63)}/${name}`]) {
      const page = await open(key, { width: 400 });
      await page.evaluate(
        `for (const each of document.querySelectorAll('details')) each.open = true`,
      );
      for (const width of [1600, 1200, 961, 960, 600, 400, 320]) {
        await page.resize(width, 800);
        const [content, inner] = await page.evaluate<[number, number]>(
          '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
        );
        expect(content, `${width} pixels`).toBeLessThanOrEqual(inner);
      }
    }
  });

  it('keeps the order of words after a name with bidirectional characters', async () => {
    show({ name: 'web\u202e' });
    const page = await open();
    const left = (part: string) =>
      page.evaluate<number>(
        `document.querySelector('#view h2 ${part}').getBoundingClientRect().left`,
      );
    expect(await left('.kind')).toBeLessThan(await left('.state'));
  });

  it('distinguishes states by shapes and words, with enough contrast', async () => {
    for (const dark of [false, true]) {
      const page = await open('', { dark });
      const states = await page.evaluate<string[]>(
        "[...document.querySelectorAll('.state')].map((each) => " +
          "each.className + ': ' + each.textContent)",
      );
      expect(new Set(states.map((each) => each.split(':')[0])).size).toBeGreaterThan(4);
      expect(states.filter((each) => /: *$/.test(each))).toEqual([]);
      const ratios = await page.evaluate<number[]>(CONTRAST);
      expect(Math.min(...ratios)).toBeGreaterThan(4.5); // WCAG 2.2, 1.4.3
    }
  });
});

/** The contrast of each text with its background, by WCAG's formula. */
const CONTRAST = `(() => {
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b]
    .map((c) => c / 255).map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = numbers(getComputedStyle(at).backgroundColor);
      if (color[3] !== 0) return color;
    }
    return [255, 255, 255];
  };
  const ratios = [];
  for (const element of document.querySelectorAll('body *')) {
    const isText = (node) => node.nodeType === 3 && node.nodeValue.trim() !== '';
    if (![...element.childNodes].some(isText)) continue;
    if (['SCRIPT', 'STYLE'].includes(element.tagName)) continue;
    const a = luminance(numbers(getComputedStyle(element).color));
    const b = luminance(behind(element));
    ratios.push((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
  }
  return ratios;
})()`;
