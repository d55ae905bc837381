/**
 * An API server of Pods for the measurements of the cache, over plain HTTP:
 *
 *     node bench/cache/pods-server.ts PODS [same|varied] PORT
 *
 * It lists PODS Pods, those of pod-bytes.ts or of varied-pods.ts, whole or in pages, streams them
 * as the reader takes them and keeps none. A
 * watch is silent until `POST /start?rate=R`: from then on it sends R random updates a second, and
 * makes up for what it could not send; `&count=C` ends that after C of them. `POST /expire` ends
 * every watch with 410; the list has a new version then, but the same Pods, or with `?changed=yes`
 * every one changed. A streamed list is refused, as by servers that do not know it.
 * `GET /counts` tells what was served.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { chunksOf, frameText, listTexts, NODES, podText, randomUpdates } from './pod-bytes.ts';
import { variedPodText } from './varied-pods.ts';

const pods = Number(process.argv[2]);
const port = Number(process.argv.at(-1));
const textOf =
  process.argv[3] === 'varied'
    ? (i: number): string => variedPodText(i, versionOf(i))
    : (i: number): string => podText(i, versionOf(i), (i + generation) % NODES);
const versionOf = (i: number): number => i + 1 + generation * 1_000_000;
const TICK_MS = 1;
/** Frames of one write: about 64 KiB. */
const FRAMES_PER_WRITE = 14;

let version = pods;
/** How often every Pod has changed. */
let generation = 0;
let lists = 0;
let sent = 0;
const watches = new Set<ServerResponse>();

function status(code: number, reason: string, message: string): string {
  return JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    code,
  });
}

function refuse(response: ServerResponse, code: number, reason: string, message: string): void {
  response
    .writeHead(code, { 'content-type': 'application/json' })
    .end(status(code, reason, message));
}

async function drained(response: ServerResponse): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}

async function list(query: URLSearchParams, response: ServerResponse): Promise<void> {
  const limit = Number(query.get('limit') ?? '0') || pods;
  const from = Number(query.get('continue') ?? '0');
  const count = Math.min(limit, pods - from);
  const token = from + count < pods ? String(from + count) : '';
  if (token === '') lists++;
  response.writeHead(200, { 'content-type': 'application/json' });
  for (const chunk of chunksOf(listTexts(from, count, version, token, textOf))) {
    if (response.destroyed) return;
    if (!response.write(chunk)) await drained(response);
  }
  response.end();
}

function watch(query: URLSearchParams, response: ServerResponse): void {
  if (query.has('sendInitialEvents')) {
    refuse(
      response,
      422,
      'Invalid',
      'sendInitialEvents: Forbidden: the server does not stream lists',
    );
    return;
  }
  if (Number(query.get('resourceVersion') || version) < version) {
    refuse(response, 410, 'Expired', 'too old resource version');
    return;
  }
  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  watches.add(response);
  response.on('close', () => watches.delete(response));
}

function expire(): void {
  version++;
  const gone = status(410, 'Expired', 'too old resource version');
  for (const response of watches) response.end(`{"type":"ERROR","object":${gone}}\n`);
  watches.clear();
}

async function send(response: ServerResponse, rate: number, most: number): Promise<void> {
  const next = randomUpdates(pods);
  const start = performance.now();
  for (let made = 0; made < most && !response.destroyed; ) {
    const due = Math.min(Math.floor(((performance.now() - start) * rate) / 1000), most);
    while (made < due && !response.destroyed) {
      let text = '';
      for (let i = 0; i < FRAMES_PER_WRITE && made < due; i++, made++) text += frameText(next());
      if (!response.write(text)) await drained(response);
      sent = made;
    }
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  }
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://host');
  if (pathname === '/api/v1/pods') {
    if (searchParams.get('watch') === 'true') watch(searchParams, response);
    else await list(searchParams, response);
    return;
  }
  if (pathname === '/start')
    for (const each of watches)
      void send(
        each,
        Number(searchParams.get('rate')),
        Number(searchParams.get('count') ?? Infinity),
      );
  else if (pathname === '/expire') {
    if (searchParams.get('changed') === 'yes') generation++;
    expire();
  } else if (pathname !== '/counts') return refuse(response, 404, 'NotFound', `no ${pathname}`);
  response.end(JSON.stringify({ version, lists, sent, watches: watches.size }));
}

createServer((request, response) => void answer(request, response)).listen(port, '127.0.0.1', () =>
  console.log(`ready on http://127.0.0.1:${port}`),
);
