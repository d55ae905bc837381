/**
 * A headless Chromium driven over its DevTools protocol through a pipe: no port, no package,
 * nothing left behind. Waiting is done in the page, by its own mutations; the runner's time limit
 * is the only clock.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';

const PLACES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** The program: CHROMIUM, or the first of the usual names in the PATH. */
export function findChromium(): string | undefined {
  const given = process.env.CHROMIUM;
  if (given) return given;
  const folders = (process.env.PATH ?? '').split(':');
  return folders
    .flatMap((folder) => PLACES.map((name) => join(folder, name)))
    .find((path) => existsSync(path));
}

interface Message {
  id?: number;
  method?: string;
  params?: Record<string, unknown>;
  sessionId?: string;
  result?: Record<string, unknown>;
  error?: { message: string };
}

type Answer = Record<string, unknown>;

/**
 * What a page has said that it should not have: errors of the console, exceptions, refusals of its
 * policy, failed loads.
 */
export type Complaint = string;

export class Chromium {
  readonly #process: ChildProcess;
  readonly #profile: string;
  readonly #waiting = new Map<
    number,
    { resolve(result: Answer): void; reject(error: Error): void }
  >();
  readonly #listeners = new Map<string, (method: string, params: Answer) => void>();
  #id = 0;
  #rest = '';

  private constructor(program: string) {
    this.#profile = mkdtempSync(join(tmpdir(), 'capstan-chromium-'));
    const flags = [
      '--headless',
      '--remote-debugging-pipe',
      `--user-data-dir=${this.#profile}`,
      '--no-first-run',
      '--disable-extensions',
      '--disable-component-update',
      '--disable-background-networking',
      '--disable-dev-shm-usage',
      '--disable-gpu',
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
    ];
    this.#process = spawn(program, [...flags, 'about:blank'], {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
    });
    const output = this.#process.stdio[4] as Readable;
    output.setEncoding('utf8');
    output.on('data', (text: string) => this.#read(text));
    this.#process.once('exit', (code) => this.#fail(new Error(`Chromium ended with ${code}`)));
    this.#process.once('error', (error) => this.#fail(error));
  }

  static async start(program: string): Promise<Chromium> {
    const browser = new Chromium(program);
    await browser.send('Browser.getVersion');
    return browser;
  }

  /** A page of its own, with cookies, storage and permissions of its own. */
  async open(url: string, options: OpenOptions = {}): Promise<Page> {
    const { browserContextId } = await this.send('Target.createBrowserContext');
    const { targetId } = await this.send('Target.createTarget', {
      url: 'about:blank',
      browserContextId,
    });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    const page = new Page(this, String(sessionId), String(targetId));
    this.#listeners.set(String(sessionId), (method, params) => page.heard(method, params));
    await page.begin(url, options);
    return page;
  }

  send(method: string, params: Answer = {}, sessionId?: string): Promise<Answer> {
    const id = ++this.#id;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      (this.#process.stdio[3] as Writable).write(
        `${JSON.stringify({ id, method, params, sessionId })}\0`,
      );
    });
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      const ended = once(this.#process, 'exit');
      this.send('Browser.close').catch(() => {}); // its answer may be cut off by its end
      await ended;
    }
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }

  #read(text: string): void {
    const parts = (this.#rest + text).split('\0');
    this.#rest = parts.pop() ?? '';
    for (const part of parts) this.#hear(JSON.parse(part) as Message);
  }

  #hear({ id, method, params = {}, sessionId, result = {}, error }: Message): void {
    if (id === undefined) {
      if (method !== undefined && sessionId !== undefined)
        this.#listeners.get(sessionId)?.(method, params);
      return;
    }
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error) waiting?.reject(new Error(`DevTools: ${error.message}`));
    else waiting?.resolve(result);
  }

  #fail(error: Error): void {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

export interface OpenOptions {
  width?: number;
  height?: number;
  dark?: boolean;
  /** A script to run before those of the page. */
  before?: string;
}

export class Page {
  readonly complaints: Complaint[] = [];
  readonly #browser: Chromium;
  readonly #session: string;
  readonly #target: string;
  #loaded: (() => void) | undefined;

  constructor(browser: Chromium, session: string, target: string) {
    this.#browser = browser;
    this.#session = session;
    this.#target = target;
  }

  async begin(
    url: string,
    { width = 1200, height = 900, dark = false, before }: OpenOptions,
  ): Promise<void> {
    for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await this.send(`${domain}.enable`);
    await this.resize(width, height);
    await this.send('Emulation.setEmulatedMedia', {
      features: [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }],
    });
    if (before !== undefined)
      await this.send('Page.addScriptToEvaluateOnNewDocument', { source: before });
    const loaded = new Promise<void>((resolve) => {
      this.#loaded = resolve;
    });
    await this.send('Page.navigate', { url });
    await loaded;
  }

  async resize(width: number, height: number): Promise<void> {
    await this.send('Emulation.setDeviceMetricsOverride', {
      width,
      height,
      deviceScaleFactor: 1,
      mobile: width < 600,
    });
  }

  /** The value of an expression in the page; a promise is awaited. Rejects with what it threw. */
  async evaluate<T = unknown>(expression: string): Promise<T> {
    const { result, exceptionDetails } = (await this.send('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
      userGesture: true,
    })) as {
      result: { value: T };
      exceptionDetails?: { text: string; exception?: { description?: string } };
    };
    if (exceptionDetails)
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Resolves when the expression is true: now, or after a change of the document. */
  async until(condition: string): Promise<void> {
    await this.evaluate(`new Promise((resolve) => {
      const holds = () => Boolean(${condition});
      if (holds()) return resolve();
      const observer = new MutationObserver(() => {
        if (!holds()) return;
        observer.disconnect();
        resolve();
      });
      observer.observe(document, {
        subtree: true, childList: true, attributes: true, characterData: true,
      });
    })`);
  }

  /** A real click in the middle of an element. */
  async click(selector: string): Promise<void> {
    const [x, y] = await this.evaluate<[number, number]>(`(() => {
      const element = document.querySelector(${JSON.stringify(selector)});
      element.scrollIntoView({ block: 'center', behavior: 'instant' });
      const { left, top, width, height } = element.getBoundingClientRect();
      return [left + width / 2, top + height / 2];
    })()`);
    for (const type of ['mousePressed', 'mouseReleased']) {
      await this.send('Input.dispatchMouseEvent', { type, x, y, button: 'left', clickCount: 1 });
    }
  }

  async press(key: string): Promise<void> {
    const text = { Enter: '\r', ' ': ' ' }[key];
    await this.send('Input.dispatchKeyEvent', {
      type: 'keyDown',
      key,
      code: key === ' ' ? 'Space' : key,
      text,
      windowsVirtualKeyCode: { Enter: 13, ' ': 32, Tab: 9 }[key],
    });
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', key });
  }

  /** PNG bytes; of the whole page where asked. */
  async screenshot(whole = false): Promise<Buffer> {
    const { data } = await this.send('Page.captureScreenshot', {
      format: 'png',
      captureBeyondViewport: whole,
    });
    return Buffer.from(String(data), 'base64');
  }

  async close(): Promise<void> {
    await this.#browser.send('Target.closeTarget', { targetId: this.#target });
  }

  send(method: string, params: Answer = {}): Promise<Answer> {
    return this.#browser.send(method, params, this.#session);
  }

  heard(method: string, params: Answer): void {
    if (method === 'Page.loadEventFired') this.#loaded?.();
    else if (method === 'Runtime.exceptionThrown')
      this.complaints.push(`exception: ${JSON.stringify(params.exceptionDetails)}`);
    else if (method === 'Log.entryAdded')
      this.complaints.push(`log: ${JSON.stringify(params.entry)}`);
    else if (method === 'Network.loadingFailed' && params.canceled !== true)
      this.complaints.push(`load: ${JSON.stringify(params)}`);
    else if (
      method === 'Runtime.consoleAPICalled' &&
      /error|warning|assert/.test(String(params.type))
    ) {
      this.complaints.push(`console: ${JSON.stringify(params.args)}`);
    }
  }
}
