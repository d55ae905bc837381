/**
 * Headless Chromium: serves a page; what the page posts to /report is the result, and to /begun the
 * current test.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';
import { finishesWithin, launch } from './launch.ts';

export interface Site {
  /** The served files. */
  readonly folder: string;
  /** The page at `/`. */
  readonly html: string;
  /** Headers of every answer. */
  readonly headers?: Readonly<Record<string, string>>;
  /** One file that is answered with its own headers. */
  readonly special?: { readonly path: string; readonly headers: Readonly<Record<string, string>> };
  /** Handles other requests of the page. */
  readonly query?: Readonly<Record<string, string>>;
}

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript',
  '.html': 'text/html',
  '.wasm': 'application/wasm',
  '.json': 'application/json',
};

function answer(
  site: Site,
  request: IncomingMessage,
  response: ServerResponse,
  posted: Readonly<Record<string, (body: string) => void>>,
): void {
  const path = decodeURIComponent(new URL(request.url ?? '/', 'http://localhost').pathname);
  const headers = site.special?.path === path ? site.special.headers : site.headers;
  for (const [name, value] of Object.entries(headers ?? {})) response.setHeader(name, value);
  const take = request.method === 'POST' ? posted[path] : undefined;
  if (take !== undefined) {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (part: string) => {
      body += part;
    });
    request.on('end', () => {
      response.end();
      take(body);
    });
    return;
  }
  if (path === '/') {
    response.setHeader('content-type', 'text/html; charset=utf-8').end(site.html);
    return;
  }
  try {
    const bytes = readFileSync(join(site.folder, normalize(path)));
    response
      .setHeader('content-type', TYPES[extname(path)] ?? 'application/octet-stream')
      .end(bytes);
  } catch {
    response.writeHead(404).end();
  }
}

/** Opens the site in a new browser with a new profile, and resolves with the posted report. */
export async function inBrowser(chromium: string, site: Site, limitMs: number): Promise<string> {
  let reported: (body: string) => void = () => {};
  const report = new Promise<string>((resolve) => {
    reported = resolve;
  });
  let begun = 'nothing';
  const posted = {
    '/report': (body: string) => reported(body),
    '/begun': (body: string) => {
      begun = body;
    },
  };
  const server = createServer((request, response) => answer(site, request, response, posted));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const profile = mkdtempSync(join(site.folder, 'profile-'));
  const browser = launch({
    command: chromium,
    args: [
      '--headless',
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--disable-background-networking',
      '--no-first-run',
      '--js-flags=--expose-gc',
      '--enable-logging=stderr',
      `--user-data-dir=${profile}`,
      `http://127.0.0.1:${port}/?${new URLSearchParams(site.query)}`,
    ],
    cwd: site.folder,
  });
  try {
    const died = browser.ended.then((code) => {
      throw new Error(`the browser ended with ${code}; written last:${browser.tail}`);
    });
    return await finishesWithin(
      limitMs,
      Promise.race([report, died]),
      () => `no report from the page; begun last: ${begun}; the browser wrote last:${browser.tail}`,
    );
  } finally {
    browser.end();
    await browser.ended.catch(() => {});
    server.closeAllConnections();
    server.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
